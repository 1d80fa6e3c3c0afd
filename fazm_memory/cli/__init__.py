"""The command line: a thin surface over memory.py."""
