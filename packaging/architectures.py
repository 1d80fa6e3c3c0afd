"""`architectures.py FOLDER arm64 x86_64`: whether everything compiled in a folder runs on all of these.

Also whether it runs on the oldest system that the app names, with no library but the system's and its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

from macho import native_files, requirements

OLDEST = (13, 0)  # LSMinimumSystemVersion in setup_app.py


def lacking(folder: Path, wanted: list[str]) -> dict[Path, list[str]]:
    """The files that lack a processor, with what they lack."""
    found = {path: [one for one in wanted if one not in has] for path, has in native_files(folder).items()}
    return {path: missing for path, missing in found.items() if missing}


def unloadable(folder: Path) -> dict[Path, list[str]]:
    """The files that would not load, with why."""
    found = {
        path: [
            f"{why} ({name})"
            for name, needs in requirements(path.read_bytes()).items()
            for why in needs.problems(OLDEST)
        ]
        for path in native_files(folder)
    }
    return {path: problems for path, problems in found.items() if problems}


def main() -> int:
    folder, wanted = Path(sys.argv[1]), sys.argv[2:]
    short, broken = lacking(folder, wanted), unloadable(folder)
    for path, missing in short.items():
        print(f"{path.relative_to(folder)} is not for {', '.join(missing)}")
    for path, problems in broken.items():
        print(f"{path.relative_to(folder)} {', '.join(problems)}")
    if not short and not broken:
        print(f"{len(native_files(folder))} compiled files, all for {' and '.join(wanted)}")
    return 1 if short or broken else 0


if __name__ == "__main__":
    sys.exit(main())
