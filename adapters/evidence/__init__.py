"""The evidence store: content-addressed blobs, beside the folder that people see."""
