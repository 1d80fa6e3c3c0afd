"""Codex: its rollouts, and the calls in them and in its hooks."""
