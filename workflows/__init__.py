"""What is durable: Temporal workflows. They hold state and order; rules are `domain`'s, work is `activities`'."""
