"""The command line inside the app: Contents/MacOS/fazm-memory, which hooks and agents are pointed at.

An exception must not leave this file: the program around it would show an alert and wait for an answer, also
where an agent has started it and nobody looks.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":  # a worker process loads this file too, under another name
    try:
        from fazm_memory.cli.main import main

        code = main()
    except KeyboardInterrupt:
        code = 130
    except Exception:
        import traceback

        traceback.print_exc()
        code = 70
    sys.exit(code)
