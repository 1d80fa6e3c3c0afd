"""What the app starts: the companion with its face, as `fazm-memory run` does."""

from __future__ import annotations

import sys

from fazm_memory.cli.main import main

sys.exit(main(["run"]))
