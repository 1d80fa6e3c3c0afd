"""The hook script, which puts an agent's hook event into the spool.

It is a few lines of sh.

It runs at least once per tool call, so it starts no interpreter, only `cat` or `awk`. An event is one JSON
object, so its reader knows when it is complete. The script never blocks, and writes nothing while recording
is paused. When a session starts, awk prints the context of its folder. What awk cannot answer for certain,
and a call that a reminder may be about, is left to `hook.py`. If the interpreter fails, the event is spooled
without an answer.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from fazm_memory.agents.hook import ENVELOPES, MOST_CHARACTERS
from fazm_memory.paths import PAUSE_FILE, SPOOL_FOLDER, private_folder, write_private

FOLDER = "hooks"
SCRIPT = "fazm-memory-hook"
ANSWER = "answer"
REMIND = "remind"
KEYS = "context/reminders.keys"  # written by `recall.reminders`
FOLDERS = "context/folders.tsv"  # written by `recall.context`
NOTES = "context/note-"  # written by `recall.context`
FOUND = 9
UNSURE = 10
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

# Copies the event. Prints the context of a new session's folder, as `hook.py` would. It is sure only of a
# flat object without escapes, of a session that Fazm did not start in advance, and of a context that was
# rendered today and fits. Everything else is left to `hook.py`, with a copy of the event. In the C locale a
# character is a byte, so the continuation bytes of UTF-8 are not counted. Backslashes are doubled by `&&`,
# and quotes escaped by joining pieces, because awks read backslashes in replacements differently.
ANSWER_START = r"""
BEGIN { ORS = ""; event = ENVIRON["event"]; home = ENVIRON["home"] }
{ line = (NR > 1 ? "\n" : "") $0; print line > event; all = all line }
END {
  if (!NR) print > event
  close(event)
  if (is("UserPromptSubmit|BeforeAgent") && !ENVIRON["fazm"]) exit 0
  if (is("Stop") && !ENVIRON["notes"]) exit 0
  if (!flat() || !started()) { print all > ENVIRON["part"]; exit UNSURE }
}
function is(names) { return all ~ ("\"hook_event_name\" *: *\"(" names ")\"") }
function flat(   n, i, rest) {
  if (NR > 1 || index(all, "\\")) return 0
  n = split(all, piece, "\"")
  if (n < 3 || piece[1] !~ /^[ \t]*[{][ \t]*$/) return 0
  for (i = 2; i < n;) {
    rest = piece[i + 1]; gsub(/[ \t]/, "", rest)
    if (rest == ":") {
      value[piece[i]] = piece[i + 2]
      rest = piece[i + 3]; gsub(/[ \t]/, "", rest)
      i += 4
    } else {
      if (rest !~ /^:(true|false|null|-?[0-9.]+)[,}]$/) return 0
      value[piece[i]] = ""
      rest = substr(rest, length(rest))
      i += 2
    }
    if (rest == "}") return i == n + 1
    if (rest != ",") return 0
  }
  return 0
}
function started(   row, cell, folder, shown) {
  if (value["hook_event_name"] != "SessionStart") return 0
  if (value["source"] !~ /^(startup|clear|compact)$/) return 0
  if (ENVIRON["fazm"]) {
    if (ENVIRON["CLAUDE_CODE_ENTRYPOINT"] ~ /^sdk-ts/) return 0
    if (value["session_id"] == "") return 0
    while ((getline row < ENVIRON["listed"]) > 0) if (index(row, value["session_id"])) return 0
  }
  folder = value["cwd"]
  if (folder !~ /^\// || (folder "/") ~ /\/(\/|\.\/|\.\.\/)/) return 0
  while ((getline row < (home "/FOLDERS")) > 0) {
    if (split(row, cell, "\t") != 3) return 0
    day[cell[3]] = cell[1]; file[cell[3]] = cell[2]
  }
  for (;;) {
    if (folder in file) {
      shown = rendered(home "/context/" file[folder])
      if (shown < 0 || (shown && day[folder] != ENVIRON["today"])) return 0
      if (shown) break
    }
    if (folder == "") return 0
    sub(/\/[^\/]*$/, "", folder)
  }
  print "{\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\",\"additionalContext\":\"" text "\"}}"
  return 1
}
function rendered(path,   row, size, n, i, quote) {
  text = ""; size = 0
  while ((getline row < path) > 0) {
    if (row ~ /[\001-\037\177]/) return -1
    gsub(/\\/, "&&", row)
    n = split(row, quote, "\"")
    for (i = 1; i <= n; i++) text = text (i > 1 ? "\\\"" : "") quote[i]
    text = text "\\n"
    gsub(/[\200-\277]/, "", row)
    size += length(row) + 1
  }
  return size > MOST ? -1 : size
}
"""
for _name, _value in (("UNSURE", str(UNSURE)), ("FOLDERS", FOLDERS), ("MOST", str(MOST_CHARACTERS))):
    ANSWER_START = ANSWER_START.replace(_name, _value)

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
run() {{
    {interpreter} "$home/{folder}/{start}" "$home" "$@" && return
    echo "The interpreter of the answering hook failed with exit code $?." >"$home/{folder}/{trouble}"
    return 1
}}
mode=$2 direct=
[ "$mode" != {answer} ] || [ -x {python} ] || mode=
if [ "$mode" = {answer} ]; then
    case $1 in {with_envelopes}) direct=1 ;; *) command -v awk >/dev/null || direct=1 ;; esac
    [ -z "$direct" ] || {{ run "$1" "" "$3" && exit 0; mode=; }}
fi
cd "$home/{spool}" || {{ cat >/dev/null; exit 0; }}
n=0
while [ -e "$$-$n.part" ] || [ -e "$$-$n.$1.json" ]; do n=$((n + 1)); done
if [ "$mode" = {answer} ]; then
    fazm=
    [ -d "$HOME/.fazm" ] && fazm=1
    for notes in "$home"/{notes}; do [ -e "$notes" ] || notes=; break; done
    event="$$-$n.$1.json" part="$$-$n.part" home="$home" fazm="$fazm" notes="$notes" \\
        listed="$HOME/.fazm/acp-sessions.json" today="$(date +%Y-%m-%d)" LC_ALL=C awk '{answer_start}'
    case $? in
        0) ;;
        {unsure}) run "$1" "$$-$n.part" || rm "$$-$n.part" ;;
        *) cat >>"$$-$n.$1.json" ;; # an awk that cannot run this
    esac
    exit 0
fi
if [ "$mode" = {remind} ] && [ -s "$home/{keys}" ] && command -v awk >/dev/null; then
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
    """The command in an agent's configuration.

    It does nothing if the script was deleted.

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
    """Write the script, `hook.py` and its starter if missing or changed.

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
        answer_start=ANSWER_START,
        unsure=UNSURE,
        with_envelopes="|".join(sorted(ENVELOPES)),
        notes=f"{NOTES}*.md",
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
