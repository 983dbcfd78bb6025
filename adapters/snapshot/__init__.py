"""Freezing of trees: from a directory or a commit to a manifest and blobs, and what of a worker's changes counts."""
