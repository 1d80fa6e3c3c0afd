"""The hook that answers: keeps what the agent told and gives a new session its context.

Run as `python -I -S hook.py HOME AGENT` when a session starts and when its user speaks. Standard library
only, nothing of ours: it works without the companion, from a copy beside the hot hook. The context was
rendered before; this only finds the file of the folder the session is in. It always ends with 0 and says
nothing or a valid envelope; what goes wrong is written where `doctor` finds it.
"""

from __future__ import annotations

import os
import sys
import time

MOST_CHARACTERS = 10_000  # clients cut beyond this, or hand the model a file instead
GIVEN = "given"
WAITING = "waiting"
FRESH = ("startup", "clear", "compact")
AGAIN = ("resume", "fork")  # its context is in its past: it is told only what changed since
PROMPTS = ("UserPromptSubmit", "BeforeAgent")


def main(home: str, agent: str) -> None:
    data = sys.stdin.buffer.read()
    if os.path.exists(os.path.join(home, "recording-paused.json")):
        return
    drop(home, agent, data)
    told = parsed(data.decode())
    name = str(told["hook_event_name"])
    text = answer(home, name, told)
    if text:
        inner = f'{{"hookEventName":{quoted(name)},"additionalContext":{quoted(text)}}}'
        sys.stdout.write(f'{{"hookSpecificOutput":{inner}}}')
        sys.stdout.flush()


def drop(home: str, agent: str, data: bytes) -> None:
    """Into the spool under a name nobody else has: written aside, then renamed."""
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


def answer(home: str, name: str, told: dict[str, object]) -> str:
    """The context, once: at a session's start or, where sessions are made in advance, at its first prompt."""
    session = str(told.get("session_id") or "")
    mark = os.path.join(home, "context", GIVEN, _digest(session))
    if name == "SessionStart":
        fresh = told.get("source") in FRESH
        waits = fresh and made_in_advance(session)
        _write(mark, WAITING if waits else GIVEN)
        if told.get("source") in AGAIN:
            return _rendered(os.path.join(home, "context", f"resume-{_digest(session)}.md"))
        return context(home, str(told.get("cwd") or "")) if fresh and not waits else ""
    if name in PROMPTS and _read(mark) == WAITING:
        _write(mark, GIVEN)
        return context(home, str(told.get("cwd") or ""))
    return ""


def made_in_advance(session: str) -> bool:
    """Fazm starts sessions hours before anybody speaks: what they were given then would be old."""
    place = os.path.join(os.path.expanduser("~"), ".fazm")
    listed = _read(os.path.join(place, "acp-sessions.json"))
    if session and session in listed:
        return True
    # A session is listed only after it has started; until then it shows by what started it.
    return os.path.isdir(place) and os.environ.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk-ts")


def context(home: str, folder: str) -> str:
    """What was rendered for the folder, for one above it, or for the whole machine."""
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
    made = time.localtime(os.stat(path).st_mtime)
    if made[:3] != time.localtime()[:3]:
        # The companion has not run today: the text's own "yesterday" is of the day it was made.
        text = (
            f"Rendered on {time.strftime('%A, %Y-%m-%d at %H:%M', made)}; days below count from then.\n{text}"
        )
    return text if len(text) <= MOST_CHARACTERS else text[: text.rfind("\n", 0, MOST_CHARACTERS)]


# The agent waits for us. `json` and `hashlib` bring in regular expressions and OpenSSL: twice the time.
# The C parts that do the work are a private matter of CPython, so the whole modules stand behind them.


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
    """How the scanner is to read: as `json.loads` does."""

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


if __name__ == "__main__":
    os.umask(0o077)
    try:
        main(sys.argv[1], sys.argv[2])
    except BaseException:
        # The agent must not hear of it; `doctor` reads this file and tells.
        import traceback

        _write(os.path.join(sys.argv[1], "hooks", "trouble.txt"), traceback.format_exc())
    sys.exit(0)
