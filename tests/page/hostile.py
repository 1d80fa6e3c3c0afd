"""A session in which every field tries to become markup or code."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fazm_memory.events.event import Draft
from tests.page.story import NOW, SECOND, World, record

MARKUP = (
    '<script>window.pwned="script"</script>'
    '<img src=x onerror="window.pwned=`img`">'
    '<svg onload="window.pwned=`svg`"><a href="javascript:window.pwned=1">x</a></svg>'
    "</textarea></pre></title></style><iframe srcdoc='<script>parent.pwned=1</script>'></iframe>"
    "![picture](http://evil.invalid/beacon.png) [link](javascript:alert(1))"
)
BIDI = "\u202egnp.exe\u2066\u200b"
LINK = "javascript:window.pwned=1"
LONG = "<b>x</b>" * (1 << 17)  # a megabyte
TEXTS = (MARKUP, BIDI + MARKUP, LINK)


def record_hostile(world: World) -> None:
    """Record the session through the real recorder."""
    drafts = [Draft("hostile", "session.open", _opening(MARKUP), agent="fazm", at=NOW - 600 * SECOND)]
    for nth, text in enumerate(TEXTS):
        drafts += [Draft("hostile", kind, payload) for kind, payload in _kinds(text, nth)]
    long = {"tool": "Bash", "input": {"command": LONG}, "output": LONG, "error": LONG, "call_id": "long"}
    drafts += [Draft("hostile", "prompt", {"text": LONG}), Draft("hostile", "action", long)]
    timed = [replace(draft, agent="fazm", at=NOW - (600 - nth) * SECOND) for nth, draft in enumerate(drafts)]
    record(world, timed)
    schema = {
        "type": "object",
        "title": MARKUP,
        "properties": {MARKUP[:60]: {"enum": [MARKUP], "title": MARKUP}},
    }
    session = str(world.memory.sessions.get("hostile")["id"])
    world.memory.sessions.handoff(session, to="human", note=MARKUP, answer_schema=schema)
    world.memory.recall.add_fact(f"hostile {MARKUP}", MARKUP)
    world.ids["hostile"] = session


def _opening(text: str) -> dict[str, Any]:
    return {"agent": "fazm", "workspace": f"/tmp/{text}", "title": text}


def _kinds(text: str, nth: int) -> list[tuple[str, dict[str, Any]]]:
    path = f"/tmp/{text}"
    return [
        ("prompt", {"text": text}),
        ("message", {"text": text}),
        ("seen", {"folder": path, "files": [text, f"{text}.pdf"]}),
        ("action", {"tool": text, "input": {text: text, "file_path": path}, "output": text, "error": text,
                    "call_id": f"{text}{nth}",
                    "files": [{"path": path, "change": "renamed", "from": f"{path}.old"}]}),
        ("action", {"tool": "Bash", "input": {"command": text}, "output": [text], "call_id": f"b{nth}"}),
        ("action", {"tool": "Bash", "input": {"command": text}, "error": text, "call_id": f"c{nth}"}),
        ("action", {"tool": "Bash", "input": {"command": text}, "output": text, "call_id": f"d{nth}"}),
        ("action", {"tool": "WebFetch", "input": {"url": text}, "output": text, "call_id": f"w{nth}"}),
        ("action.start", {"tool": text, "input": text, "call_id": f"s{nth}"}),
        ("decision", {"what": text, "why": text, "alternatives": [text]}),
        ("fact", {"key": text, "value": {text: text}}),
        ("pending", {"id": f"{nth}{text}", "what": text}),
        ("file", {"path": path, "change": "modified", "by": "person", "evidence": text}),
        ("evicted", {"keys": [text], "summary": text, "trigger": text}),
        ("app", {"app": text, "title": text, "document": text}),
        ("gap", {"what": text, "since": "2026-11-15T16:00:00+00:00", "until": "2026-11-15T16:10:00+00:00",
                 "note": text}),
        ("session.title", {"title": text}),
    ]  # fmt: skip
