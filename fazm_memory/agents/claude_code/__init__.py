"""Claude Code: its transcripts (`reader`, `transcript`), the calls in them, and its hooks."""
