"""Changes to source text that must be noticed: in what tests expect, and in what the worker wrote."""
