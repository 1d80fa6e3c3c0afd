"""Claude Code: its transcripts, the calls in them, and its hooks."""
