"""Measures what Countersign costs, beside what it is compared with: `make bench`. It judges nothing."""
