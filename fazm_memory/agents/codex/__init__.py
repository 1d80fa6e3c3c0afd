"""Codex: its rollouts (`reader`, `rollout`, `calls`) and its hooks."""
