"""The hot hook: a few lines of sh that drop what an agent tells into the spool, and nothing else.

It runs once or more per tool call, so it starts no interpreter: `cat` to a temporary name, `mv`, done (the
shell's own `read` would take seconds for a megabyte). It never prints, never fails, never blocks; while
recording is paused it drops nothing. Where an agent waits for an answer it hands over to `hook.py`.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from fazm_memory.capture.recording import FILE as PAUSED
from fazm_memory.capture.spool import FOLDER as SPOOL
from fazm_memory.private import private_folder, write_private

FOLDER = "hooks"
SCRIPT = "fazm-memory-hook"
ANSWER = "answer"

# `$$` is unique among the living, and the loop steps over what the dead have left: no two write to one file.
TEXT = """\
#!/bin/sh
# Fazm Memory keeps what an agent tells its hooks. `fazm-memory disconnect AGENT` takes it out again.
# usage: {script} AGENT [{answer}]
umask 077
home={home}
if [ "$2" = {answer} ] && [ -x {python} ]; then
    {python} -I -S "$home/{folder}/hook.py" "$home" "$1" 2>/dev/null
    exit 0
fi
exec 2>/dev/null
[ -e "$home/{paused}" ] && {{ cat >/dev/null; exit 0; }}
cd "$home/{spool}" || {{ cat >/dev/null; exit 0; }}
n=0
while [ -e "$$-$n.part" ] || [ -e "$$-$n.$1.json" ]; do n=$((n + 1)); done
cat >"$$-$n.part" && mv "$$-$n.part" "$$-$n.$1.json"
exit 0
"""


def script_path(home: Path) -> Path:
    return home / FOLDER / SCRIPT


def command(home: Path, agent: str, *, answer: bool = False) -> str:
    """What an agent's configuration runs. Without the script (the folder was thrown away) it does nothing."""
    script = shlex.quote(str(script_path(home)))
    words = f"{script} {agent}{' ' + ANSWER if answer else ''}"
    return f"[ ! -x {script} ] || exec {words}"


def is_ours(told: object) -> bool:
    """Whether a command in an agent's configuration is our hook, from whichever folder."""
    return isinstance(told, str) and f"/{FOLDER}/{SCRIPT}" in told


def write(home: Path, *, python: str = sys.executable) -> Path:
    """Put the script and what it hands over to in place; again whenever they may have changed."""
    private_folder(home)
    private_folder(home / SPOOL)
    folder = private_folder(home / FOLDER)
    text = TEXT.format(
        script=SCRIPT,
        answer=ANSWER,
        home=shlex.quote(str(home)),
        python=shlex.quote(python),
        folder=FOLDER,
        paused=PAUSED,
        spool=SPOOL,
    )
    answering = Path(__file__).with_name("hook.py").read_bytes()
    for path, content in ((folder / "hook.py", answering), (folder / SCRIPT, text.encode())):
        if not path.exists() or path.read_bytes() != content:
            write_private(path, content)
    os.chmod(folder / SCRIPT, 0o700)
    return folder / SCRIPT
