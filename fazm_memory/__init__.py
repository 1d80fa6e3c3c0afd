"""Fazm Memory: what an agent did, where, how and why, kept for its next session."""

__version__ = "0.1.0"
