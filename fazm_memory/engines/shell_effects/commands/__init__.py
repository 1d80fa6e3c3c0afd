"""The external commands that the library follows, and what each does to files.

`COMMANDS` maps a command name to a function that takes a `CommandCall` and reports the effects on it.
"""

from __future__ import annotations

from fazm_memory.engines.shell_effects.commands.archives import (
    PACKERS,
    UNPACKERS,
    compress,
    download,
    tar,
    unzip,
    zip_files,
)
from fazm_memory.engines.shell_effects.commands.basic import FILE_COMMANDS, Command, git
from fazm_memory.engines.shell_effects.commands.editors import perl, sed
from fazm_memory.engines.shell_effects.commands.readers import READERS, read_files
from fazm_memory.engines.shell_effects.commands.search import find, xargs

__all__ = ["COMMANDS"]

COMMANDS: dict[str, Command] = {
    **FILE_COMMANDS,
    **dict.fromkeys(READERS, read_files),
    **dict.fromkeys(("sed", "gsed"), sed),
    **dict.fromkeys(("tar", "gtar", "bsdtar"), tar),
    **dict.fromkeys((*PACKERS, *UNPACKERS), compress),
    **dict.fromkeys(("curl", "wget"), download),
    "perl": perl,
    "git": git,
    "find": find,
    "gfind": find,
    "xargs": xargs,
    "unzip": unzip,
    "zip": zip_files,
}
