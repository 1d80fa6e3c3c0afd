"""The command line, a thin layer over `fazm_memory.app`."""
