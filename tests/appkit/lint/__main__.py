"""The lint over our macOS room: `python -m tests.appkit.lint`."""

from __future__ import annotations

import sys

from tests.appkit.lint import lint, room_sources

found = lint(room_sources())
print("\n".join(map(str, found)) or "nothing found")
sys.exit(bool(found))
