"""Checks that a designer and a strategist draft for an order that has none: what becomes of each, and why."""
