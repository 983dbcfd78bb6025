"""Secrets are masked wherever anything is shown, stored or sent: one room for how, at each edge one wrapper."""
