"""The truth: an append-only, encrypted event log in SQLite."""
