"""Terminals in which a session can be resumed, and the script that one runs.

The script is a private file that removes itself. It runs the agent in the user's login shell, because agents
are often installed as an alias or in a folder that only the shell's settings add to PATH.
"""

from __future__ import annotations

import secrets
import shlex
from pathlib import Path

from fazm_memory.paths import private_folder, write_private
from fazm_memory.records import dataclass

FOLDER = "resume"
AUTO = "auto"


@dataclass(frozen=True)
class Terminal:
    """An app, and the arguments before the script. None: the app opens the script as a document."""

    bundle: str
    arguments: tuple[str, ...] | None = None


TERMINALS: dict[str, Terminal] = {
    "terminal": Terminal("com.apple.Terminal"),
    "iterm2": Terminal("com.googlecode.iterm2"),
    "warp": Terminal("dev.warp.Warp-Stable"),
    "ghostty": Terminal("com.mitchellh.ghostty", ("-e",)),
    "wezterm": Terminal("com.github.wez.wezterm", ("start", "--")),
    "kitty": Terminal("net.kovidgoyal.kitty", ()),
}

# zsh and bash read the command like sh. Another shell, such as fish, may not, so it only starts sh, which
# then has the PATH of the login shell.
SCRIPT = """\
#!/bin/sh
# Written by Fazm Memory to resume a session. It removes itself.
rm -f -- "$0"
{cd}FAZM_MEMORY_RESUME={command}
case "${{SHELL##*/}}" in
    zsh | bash) exec "$SHELL" -l -i -c "$FAZM_MEMORY_RESUME" ;;
esac
export FAZM_MEMORY_RESUME
exec "${{SHELL:-/bin/sh}}" -l -c 'exec /bin/sh -c "$FAZM_MEMORY_RESUME"'
"""


def script(command: str, cwd: str | None) -> str:
    """A script for a terminal. `command` must be quoted already."""
    program = shlex.split(command)[0]
    missing = quoted(f"{program} was not found. The briefing is on the clipboard.")
    whole = f"{command}\ncode=$?\n[ $code -ne 127 ] || echo {missing}\nexit $code"
    cd = "" if cwd is None else f"cd -- {quoted(cwd)} || exit 1\n"
    return SCRIPT.format(cd=cd, command=quoted(whole))


def quoted(text: str) -> str:
    """The text as one word for `sh`, without NUL, which no argument can hold."""
    return shlex.quote(text.replace("\0", ""))


def keep_script(home: Path, text: str) -> Path:
    """Write the script to a private file with a random name."""
    folder = private_folder(home / FOLDER)
    for old in folder.glob("*.command"):  # scripts that no terminal has run
        old.unlink(missing_ok=True)
    path = folder / f"resume-{secrets.token_hex(8)}.command"
    write_private(path, text.encode("utf-8", "surrogateescape"), sync=False)
    path.chmod(0o700)
    return path
