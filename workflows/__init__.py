"""What is durable: Temporal workflows. They hold state and order; the rules are `domain`'s, the work is `activities`'."""
