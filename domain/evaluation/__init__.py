"""Accuracy: what rounds say of claims whose truth is known, and what that makes of the verifier."""
