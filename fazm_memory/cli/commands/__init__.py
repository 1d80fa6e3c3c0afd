"""The commands, one module per group; each is imported only when it is called."""
