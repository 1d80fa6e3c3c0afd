"""Find out which files a shell command changed.

It reads the command's text, its output and its exit status.

Nothing is run and the disk is not read. The script is followed as a shell would run it. An effect that is
not certain is marked as inferred, with the reason. File names are never guessed. See README.md.
"""

from __future__ import annotations

from fazm_memory.engines.shell_effects.file_commands import Change, FileEffect
from fazm_memory.engines.shell_effects.interpreter import file_effects
from fazm_memory.engines.shell_effects.state import KnownFolders

__all__ = ["Change", "FileEffect", "KnownFolders", "file_effects"]
