"""The histories of the recall benchmark, by sort."""
