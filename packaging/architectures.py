"""`architectures.py FOLDER arm64 x86_64`: whether everything compiled in a folder runs on all of these."""

from __future__ import annotations

import sys
from pathlib import Path

from macho import native_files


def lacking(folder: Path, wanted: list[str]) -> dict[Path, list[str]]:
    """The files that lack a processor, with what they lack."""
    found = {path: [one for one in wanted if one not in has] for path, has in native_files(folder).items()}
    return {path: missing for path, missing in found.items() if missing}


def main() -> int:
    folder, wanted = Path(sys.argv[1]), sys.argv[2:]
    short = lacking(folder, wanted)
    for path, missing in short.items():
        print(f"{path.relative_to(folder)} is not for {', '.join(missing)}")
    if not short:
        print(f"{len(native_files(folder))} compiled files, all for {' and '.join(wanted)}")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
