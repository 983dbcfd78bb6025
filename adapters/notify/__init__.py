"""Tells people and machines outside: apprise for people's addresses, signed JSON for machines."""
