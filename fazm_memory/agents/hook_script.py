"""The hook script: a few lines of sh that put an agent's hook event into the spool.

It runs at least once per tool call, so it starts no interpreter, only `cat`. An event is one JSON object, so
its reader knows when it is complete. The script never blocks, and writes nothing while recording is paused.
Where an agent waits for an answer, and before a call that a reminder may be about, it runs `hook.py`. If the
interpreter fails, the event is spooled without an answer.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from fazm_memory.paths import PAUSE_FILE, SPOOL_FOLDER, private_folder, write_private

FOLDER = "hooks"
SCRIPT = "fazm-memory-hook"
ANSWER = "answer"
REMIND = "remind"
KEYS = "context/reminders.keys"  # written by `recall.reminders`
FOUND = 9
TROUBLE = "trouble.txt"
STARTER = "start.py"  # runs `hook.py`

# Copies the event and looks for the keys at once: another process would cost as much as all of this. A call
# that only reads is not looked at. The input of a call is in the first part of an event.
FIND_KEYS = """
BEGIN { ORS = ""; event = ENVIRON["event"]; while ((getline key < ENVIRON["keys"]) > 0) known[key] }
{ line = (NR > 1 ? "\\n" : "") $0
  print line > event
  all = all line
  head = substr($0, 1, 65536)
  for (key in known) if (index(head, key) && head !~ /"tool_name" *: *"(Read|Grep|Glob|LS)"/) found = 1 }
END { if (!NR) print > event
  if (found) print all > ENVIRON["part"]
  exit found ? FOUND : 0 }
""".replace("FOUND", str(FOUND))

# `$$` is unique among running processes. The loop skips files that ended processes left. `hook.py` gets a
# copy of the event, because the companion may take the event at once.
TEXT = """\
#!/bin/sh
# Fazm Memory keeps what an agent tells its hooks. `fazm-memory disconnect AGENT` takes it out again.
# usage: {script} AGENT [{answer}|{remind}] [EVENT]
umask 077
home={home}
exec 2>/dev/null
[ -e "$home/{paused}" ]{or_removed} && {{ cat >/dev/null; exit 0; }}
if [ "$2" = {answer} ] && [ -x {python} ]; then
    {interpreter} "$home/{folder}/{start}" "$home" "$1" "" "$3" && exit 0
    echo "The interpreter of the answering hook failed with exit code $?." >"$home/{folder}/{trouble}"
fi
cd "$home/{spool}" || {{ cat >/dev/null; exit 0; }}
n=0
while [ -e "$$-$n.part" ] || [ -e "$$-$n.$1.json" ]; do n=$((n + 1)); done
if [ "$2" = {remind} ] && [ -s "$home/{keys}" ] && command -v awk >/dev/null; then
    event="$$-$n.$1.json" part="$$-$n.part" keys="$home/{keys}" LC_ALL=C awk '{find_keys}'
    [ $? = {found} ] && {interpreter} "$home/{folder}/{start}" "$home" "$1" "$$-$n.part"
    exit 0
fi
cat >"$$-$n.$1.json"
exit 0
"""
# Python caches the compiled form of an imported module, not of the program it runs.
START = """\
import sys
sys.path[:0] = [__file__.rpartition("/")[0]]
import hook
hook.run(sys.argv)
"""


# Hermes starts the words of a command itself, without a shell. What these others do is not known.
WITHOUT_SHELL = frozenset({"hermes", "cursor", "antigravity"})


def script_path(home: Path) -> Path:
    return home / FOLDER / SCRIPT


def command(home: Path, agent: str, *, answer: bool = False, remind: bool = False, event: str = "") -> str:
    """The command in an agent's configuration. It does nothing if the script was deleted.

    `event` is for agents that do not name it in the input of the hook.
    """
    script = shlex.quote(str(script_path(home)))
    words = " ".join(filter(None, (script, agent, ANSWER if answer else REMIND if remind else "", event)))
    line = f"[ ! -x {script} ] || exec {words}"
    return f"/bin/sh -c {shlex.quote(line)}" if agent in WITHOUT_SHELL else line


def is_ours(command: object) -> bool:
    """Whether a command in an agent's configuration is our hook, in any data folder."""
    return isinstance(command, str) and f"/{FOLDER}/{SCRIPT}" in command


def interpreter(python: str, bundle: str | None) -> str:
    """The shell words that start Python without the user's settings and packages.

    Inside an app bundle the standard library is found only through PYTHONHOME, which `-I` ignores.
    """
    if bundle is None:
        return f"{shlex.quote(python)} -I -S"
    variables = f"PYTHONHOME={shlex.quote(bundle)} PYTHONPATH= PYTHONSAFEPATH=1 PYTHONNOUSERSITE=1"
    return f"{variables} {shlex.quote(python)} -S"


def write(home: Path, *, python: str = sys.executable, bundle: str | None = None) -> Path:
    """Write the script, `hook.py` and what starts it if they are missing or have changed.

    `bundle` is the Resources folder of the app bundle, by default of the one that runs this.
    """
    if bundle is None and getattr(sys, "frozen", None):
        bundle = str(Path(python).parent.parent / "Resources")
    private_folder(home)
    private_folder(home / SPOOL_FOLDER)
    folder = private_folder(home / FOLDER)
    text = TEXT.format(
        script=SCRIPT,
        answer=ANSWER,
        remind=REMIND,
        keys=KEYS,
        find_keys=FIND_KEYS,
        found=FOUND,
        home=shlex.quote(str(home)),
        python=shlex.quote(python),
        interpreter=interpreter(python, bundle),
        # An app that was thrown away reads no spool, so nothing may be spooled for it.
        or_removed="" if bundle is None else f" || [ ! -x {shlex.quote(python)} ]",
        trouble=TROUBLE,
        folder=FOLDER,
        start=STARTER,
        paused=PAUSE_FILE,
        spool=SPOOL_FOLDER,
    )
    answering = Path(__file__).with_name("hook.py").read_bytes()
    contents = {"hook.py": answering, STARTER: START.encode(), SCRIPT: text.encode()}
    for path, content in ((folder / name, content) for name, content in contents.items()):
        if not path.exists() or path.read_bytes() != content:
            write_private(path, content)
    os.chmod(folder / SCRIPT, 0o700)
    return folder / SCRIPT
