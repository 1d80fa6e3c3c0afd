"""The command line inside the app: Contents/MacOS/fazm-memory, which hooks and agents are pointed at."""

from __future__ import annotations

import sys

from fazm_memory.cli.main import main

sys.exit(main())
