"""What requests to models cost, in a table of the trail's database."""

from adapters.ledger.sql import SqlLedger

__all__ = ["SqlLedger"]
