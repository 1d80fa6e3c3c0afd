"""The commands, grouped by subject. `cli.main.GROUPS` lists them."""
