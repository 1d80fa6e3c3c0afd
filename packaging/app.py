"""What the app starts: the companion with its face, as `fazm-memory run` does."""

from __future__ import annotations

import sys

from fazm_memory.cli.main import main

if __name__ == "__main__":  # a worker process loads this file too, under another name
    sys.exit(main(["run"]))
