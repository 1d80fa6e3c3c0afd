"""The hook that answers: spools the event and prints the context of a new session.

Run as `python -I -S start.py HOME AGENT "" [EVENT]` (inside the Mac app with PYTHONHOME) when a session
starts, at each prompt and, if it is to ask for a note, when the agent stops. With the file of an event that
is spooled already instead of "", when the hook script is not sure of its answer, and before a call that a
reminder may be about. A copy lies in the data folder and uses only the standard library. The context was
rendered before; this only finds the file for the session's folder. It always exits with 0 and prints nothing
or a valid envelope. Errors go to a file that `doctor` reads.
"""

from __future__ import annotations

import os
import sys
import time

MOST_CHARACTERS = 10_000  # clients cut longer texts or replace them by a file
GIVEN = "given"
WAITING = "waiting"
FRESH = ("startup", "clear", "compact")
# Agents with an envelope of their own, and the event at which it gives a session its context, once.
ENVELOPES = {
    "copilot": ("sessionStart", '{{"additionalContext":{}}}'),
    "cursor": ("sessionStart", '{{"additional_context":{}}}'),
    "hermes": ("pre_llm_call", '{{"context":{}}}'),
    "cline": ("PreToolUse", '{{"cancel":false,"contextModification":{}}}'),
    "antigravity": ("PreInvocation", '{{"injectSteps":[{{"ephemeralMessage":{}}}]}}'),
    "qwen": (
        "UserPromptSubmit",
        '{{"hookSpecificOutput":{{"hookEventName":"UserPromptSubmit","additionalContext":{}}}}}',
    ),
}
AGAIN = ("resume", "fork")  # these have a context already and get only the changes
PROMPTS = ("UserPromptSubmit", "BeforeAgent")
REMINDERS_AT_A_CALL = 2
REMINDERS_IN_A_SESSION = 5
CHANGED = ("old_string", "new_string", "content", "new_source", "edits")
WORDS_IN_A_CHANGE = 2  # of a reminder's words; one with a plus sign is enough
READING = ("Read", "Grep", "Glob", "LS")


def main(home: str, agent: str, name: str) -> None:
    data = sys.stdin.buffer.read()
    if os.path.exists(os.path.join(home, "recording-paused.json")):
        return
    if agent in ENVELOPES:
        give_once(home, agent, name, parsed(data.decode()))
        return
    drop(home, agent, data)
    respond(home, data)


def respond(home: str, data: bytes) -> None:
    """Answer an event that is in the spool."""
    event = parsed(data.decode())
    name = str(event["hook_event_name"])
    if name == "PreToolUse":
        remind(home, event)
        return
    if name == "Stop":
        ask_for_note(home, event)
        return
    text = answer(home, name, event)
    if text:
        inner = f'{{"hookEventName":{quoted(name)},"additionalContext":{quoted(text)}}}'
        sys.stdout.write(f'{{"hookSpecificOutput":{inner}}}')
        sys.stdout.flush()


def ask_for_note(home: str, event: dict[str, object]) -> None:
    """Ask the agent, once in a session, to leave a note before it stops.

    The text was rendered before.
    """
    session = _digest(str(event.get("session_id") or ""))
    mark = os.path.join(home, "context", GIVEN, f"{session}.note")
    text = _read(os.path.join(home, "context", f"note-{session}.md"))
    if text and event.get("stop_hook_active") is not True and not os.path.exists(mark):
        _write(mark, GIVEN)
        sys.stdout.write(f'{{"decision":"block","reason":{quoted(text)}}}')
        sys.stdout.flush()


def give_once(home: str, agent: str, name: str, event: dict[str, object]) -> None:
    """Give a session its context at the first event whose answer reaches the model.

    Only the name of the event is spooled: these agents' own records say the rest.
    """
    name = name or str(event.get("hook_event_name") or "")
    session, folder = session_of(event), folder_of(event)
    note = (f'"{key}":{quoted(value)}' for key, value in (("session_id", session), ("cwd", folder)))
    drop(home, agent, f'{{"hook_event_name":{quoted(name)},{",".join(note)}}}'.encode())
    at, envelope = ENVELOPES[agent]
    if name != at or event.get("prompt") == "" or event.get("parent_agent_id"):
        return  # another event, the end of a tool round, or a subagent
    if event.get("invocationNum") not in (None, 1):
        return  # a later call of the same turn
    mark = os.path.join(home, "context", GIVEN, _digest(f"{agent}:{session}"))
    if session and _read(mark):
        return
    if session:
        _write(mark, GIVEN)
    resumed = os.path.join(home, "context", f"resume-{_digest(session)}.md")
    text = _rendered(resumed) if event.get("source") in AGAIN else context(home, folder)
    if text:
        sys.stdout.write(envelope.format(quoted(text)))
        sys.stdout.flush()


def session_of(event: dict[str, object]) -> str:
    about = event.get("sessionContext")
    inner = about.get("rootSessionId") if isinstance(about, dict) else None
    names = ("session_id", "sessionId", "conversation_id", "conversationId")
    return str(inner or next(filter(None, map(event.get, names)), ""))


def folder_of(event: dict[str, object]) -> str:
    roots = next(filter(None, map(event.get, ("workspace_roots", "workspaceRoots", "workspacePaths"))), None)
    first = roots[0] if isinstance(roots, list) else ""
    return str(event.get("cwd") or first)


def remind(home: str, event: dict[str, object]) -> None:
    """Print, before a call, what memory knows about its file or command.

    See `recall/reminders.py`.
    """
    mark = os.path.join(home, "context", GIVEN, f"{_digest(str(event.get('session_id') or ''))}.reminders")
    known = _read(mark).split()
    texts: list[str] = []
    for line in _read(os.path.join(home, "context", "reminders.tsv")).splitlines():
        number, key, folder, words, text = (*line.split("\t", 4), "", "", "", "")[:5]
        if len(texts) == REMINDERS_AT_A_CALL or len(known) >= REMINDERS_IN_A_SESSION:
            break
        if number in known or not _inside(str(event.get("cwd") or ""), folder):
            continue
        if _about(event, key, words.split()):
            known.append(number)
            texts.append(f"Fazm Memory: {text}")
    if texts:
        _write(mark, " ".join(known))
        inner = f'{{"hookEventName":"PreToolUse","additionalContext":{quoted(chr(10).join(texts))}}}'
        sys.stdout.write(f'{{"hookSpecificOutput":{inner}}}')
        sys.stdout.flush()


def _inside(place: str, folder: str) -> bool:
    return not folder or place == folder or place.startswith(f"{folder}/")


def _about(event: dict[str, object], key: str, words: list[str]) -> bool:
    """Whether a call runs the command or changes the file of a reminder.

    If there are `words`, the change must contain one of them.
    """
    given = event.get("tool_input")
    if not isinstance(given, dict):
        return False
    command = given.get("command")
    if isinstance(command, str):
        return begins_command(command, key)
    if event.get("tool_name") in READING:
        return False
    paths = (given.get(name) for name in ("file_path", "notebook_path", "path"))
    if not any(isinstance(path, str) and f"/{path}".endswith(f"/{key}") for path in paths):
        return False
    changed = str([given.get(name) for name in CHANGED]).lower() if words else ""
    certain = any(word[1:] in changed for word in words if word[0] == "+")
    return not words or certain or sum(word in changed for word in words) >= WORDS_IN_A_CHANGE


def begins_command(command: str, key: str) -> bool:
    """Whether one of the commands in a line is `key` with or without more words."""
    for sign in ("&&", "||", ";", "|", "(", "\n"):
        command = command.replace(sign, "\0")
    parts = (part.strip() for part in command.split("\0"))
    return any(part == key or part.startswith(f"{key} ") for part in parts)


def drop(home: str, agent: str, data: bytes) -> None:
    """Write the event to the spool under a unique name.

    It is a temporary file first, and then renamed.
    """
    number = 0
    while True:
        stem = os.path.join(home, "spool", f"{os.getpid()}-{number}")
        number += 1
        if os.path.exists(f"{stem}.{agent}.json"):
            continue
        try:
            descriptor = os.open(f"{stem}.part", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.rename(f"{stem}.part", f"{stem}.{agent}.json")
        return


def answer(home: str, name: str, event: dict[str, object]) -> str:
    """The context, once per session.

    It is given at the start or, if the session was prestarted, at its first prompt.
    """
    session = str(event.get("session_id") or "")
    mark = os.path.join(home, "context", GIVEN, _digest(session))
    if name == "SessionStart":
        fresh = event.get("source") in FRESH
        waits = fresh and is_prestarted(session)
        _write(mark, WAITING if waits else GIVEN)
        if event.get("source") in AGAIN:
            return _rendered(os.path.join(home, "context", f"resume-{_digest(session)}.md"))
        return context(home, str(event.get("cwd") or "")) if fresh and not waits else ""
    if name in PROMPTS and _read(mark) == WAITING:
        _write(mark, GIVEN)
        return context(home, str(event.get("cwd") or ""))
    return ""


def is_prestarted(session: str) -> bool:
    """Whether Fazm started the session in advance.

    A context from then would be outdated.
    """
    place = os.path.join(os.path.expanduser("~"), ".fazm")
    listed = _read(os.path.join(place, "acp-sessions.json"))
    if session and session in listed:
        return True
    # A session is listed only after it has started. Until then the entry point shows it.
    return os.path.isdir(place) and os.environ.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk-ts")


def context(home: str, folder: str) -> str:
    """The context of the folder, of a folder above it, or of the whole machine."""
    folder = os.path.normpath(folder) if folder else ""
    while folder and folder != os.path.dirname(folder):
        text = _rendered(os.path.join(home, "context", f"{_digest(folder)}.md"))
        if text:
            return text
        folder = os.path.dirname(folder)
    return _rendered(os.path.join(home, "context", "context.md"))


def _rendered(path: str) -> str:
    text = _read(path)
    if not text:
        return ""
    written = time.localtime(os.stat(path).st_mtime)
    if written[:3] != time.localtime()[:3]:
        # The companion has not run today, so "yesterday" in the text is wrong.
        day = time.strftime("%A, %Y-%m-%d at %H:%M", written)
        text = f"Rendered on {day}; days below count from then.\n{text}"
    return text if len(text) <= MOST_CHARACTERS else text[: text.rfind("\n", 0, MOST_CHARACTERS)]


# The agent waits. Importing `json` and `hashlib` would double the time, so their C modules are used directly.
# These are private to CPython, so the public modules are the fallback.


def parsed(text: str) -> dict[str, object]:
    try:
        from _json import make_scanner
    except ImportError:
        import json

        value = json.loads(text)
    else:
        text = text.strip()
        try:
            value, end = make_scanner(_Plain)(text, 0)  # type: ignore[arg-type]
        except StopIteration:
            raise ValueError("it is not JSON") from None
        if end < len(text):
            raise ValueError("there is more than one value")
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    return value


class _Plain:
    """The scanner's options, as in `json.loads`."""

    strict = True
    object_hook = object_pairs_hook = parse_constant = None
    parse_float = float
    parse_int = int
    memo: dict[str, str] = {}  # noqa: RUF012


def quoted(text: str) -> str:
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        import json

        return json.dumps(text)
    return str(encode_basestring_ascii(text))


def _digest(name: str) -> str:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]
    except ImportError:
        from hashlib import sha256
    return str(sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:24])


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return ""


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def run(argv: list[str]) -> None:
    os.umask(0o077)
    try:
        if "".join(argv[3:4]):  # a copy of the event, only for this
            with open(argv[3], "rb") as file:
                data = file.read()
            os.unlink(argv[3])
            respond(argv[1], data)
        else:
            main(argv[1], argv[2], "".join(argv[4:5]))
    except BaseException:
        # The agent must not fail. `doctor` reports this file.
        import traceback

        _write(os.path.join(argv[1], "hooks", "trouble.txt"), traceback.format_exc())
    sys.exit(0)


if __name__ == "__main__":
    run(sys.argv)
