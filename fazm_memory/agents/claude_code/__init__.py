"""Claude Code: its transcripts (`reader`, `transcript`) and its hooks (`hooks`)."""
