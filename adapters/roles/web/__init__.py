"""What a role may see of the web: pages in a real browser, and searches; only what a human has allow-listed."""
