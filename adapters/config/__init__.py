"""What people write, read into values: orders, `countersign.toml`, environment variables."""
