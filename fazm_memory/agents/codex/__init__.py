"""Codex: its rollouts (`rollout`), and the calls in them and in its hooks (`calls`)."""
