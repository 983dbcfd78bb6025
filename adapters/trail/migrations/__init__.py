"""The database's history, one step a file; run by `adapters.trail.sql`, needs no alembic.ini."""
