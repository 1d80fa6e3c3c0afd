"""Each route of the page's API says what docs/page-api.md promises, of a real store."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.store.file_versions import FileVersions
from fazm_memory.web import actions, reading, settings
from fazm_memory.web.server import InProcessPage
from tests.web.conftest import HOUR, NOW, SECOND, Asking, World

DOCUMENT = Path(__file__).parents[2] / "docs" / "page-api.md"


def documented() -> dict[str, dict[str, Any]]:
    """The examples of the document by the first word of their heading."""
    found = {}
    for section in DOCUMENT.read_text().split("### GET ")[1:]:
        example = re.search(r"```json\n(.*?)```", section, re.DOTALL)
        if example is not None:
            found[re.split(r"[?\s]", section)[0]] = json.loads(example[1])
    return found


@pytest.mark.parametrize(
    ("name", "path", "params"),
    [
        ("status", "status", {}),
        ("days", "days", {}),
        ("sessions", "sessions", {}),
        ("sessions/ID/events", "sessions/{tidy}/events", {}),
        ("sessions/ID/events/SEQ", "sessions/{tidy}/events/4", {}),
        ("compare", "compare", {"a": "{tidy}@2", "b": "{tidy}"}),
        ("rollup", "rollup", {"bucket": "minute"}),
        ("lanes", "lanes", {}),
        ("search", "search", {"q": "scans"}),
        ("context", "context", {}),
        ("settings", "settings", {}),
    ],
)
def test_an_answer_has_the_fields_of_the_document(
    ask: Asking, world: World, name: str, path: str, params: dict[str, str]
) -> None:
    ids = {"tidy": world.id("tidy")}
    result = ask.get(path.format(**ids), **{key: value.format(**ids) for key, value in params.items()})
    example = documented()[name]
    assert example.keys() <= result.keys()
    for key, value in example.items():
        if isinstance(value, list) and value and isinstance(value[0], dict) and result[key]:
            assert value[0].keys() - {"open"} <= result[key][0].keys(), key
        elif (
            isinstance(value, dict)
            and isinstance(result[key], dict)
            and key not in ("sources", "kinds", "tools")
        ):
            assert value.keys() <= result[key].keys() | {"title"}, key


def test_every_route_is_in_the_document() -> None:
    text = DOCUMENT.read_text()
    routes = {**reading.ROUTES, **actions.ROUTES, **settings.READS, **settings.WRITES}
    named = [path.replace("{id}", "ID").replace("{seq}", "SEQ") for path in routes]
    short = [path.rsplit("/", 1)[-1] for path in named]
    assert [
        path for path, end in zip(named, short, strict=True) if path not in text and f"`{end}`" not in text
    ] == []


def test_a_session_tells_its_parent_its_branches_and_how_to_resume(ask: Asking, world: World) -> None:
    branch = ask.post(f"sessions/{world.id('tidy')}/fork", at=3, title="Another way")
    result = ask.get(f"sessions/{branch['id']}")
    assert result["parent_session"] == {"id": world.id("tidy"), "title": "Tidy the scans"}
    parent = ask.get(f"sessions/{world.id('tidy')}")
    assert branch["id"] in [one["id"] for one in parent["branches"]]
    assert parent["kinds"]["action"] == 3
    assert parent["tools"] == {"Bash": 2, "WebFetch": 1}
    assert ask.get(f"sessions/{world.id('tidy')}/resume")["session"] == world.id("tidy")
    marks = {one["seq"]: one["marks"] for one in ask.get(f"sessions/{world.id('tidy')}/events")["items"]}
    assert "fork" in marks[2]


def test_rows_are_slim_and_marked(ask: Asking, world: World) -> None:
    rows = ask.get(f"sessions/{world.id('tidy')}/events")["items"]
    assert [row["kind"] for row in rows] == [
        "session.open", "prompt", "decision", "action", "action", "action", "evicted",
    ]  # fmt: skip
    failed, again, web = rows[3:6]
    assert (failed["title"], failed["target"], failed["outcome"]) == ("Bash", "mv a b", "error")
    assert failed["marks"] == ["failed"]
    assert (again["retry_of"], again["marks"], again["duration_ms"]) == (3, ["retry"], 500)
    assert web["marks"] == ["untrusted"]
    assert rows[6]["marks"] == ["compaction"]
    assert all(row["ms"] == (NOW - 2 * HOUR + (row["seq"] + 1) * SECOND) // 1000 for row in rows)


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"kind": "decision"}, [2]),
        ({"kind": "session"}, [0]),
        ({"kind": "-action,-session"}, [1, 2, 6]),
        ({"outcome": "failed"}, [3]),
        ({"outcome": "ok"}, [4, 5]),
        ({"tool": "WebFetch"}, [5]),
        ({"trust": "web,unverified"}, [5]),
        ({"file": "b"}, [4]),
        ({"from": 2, "to": 4}, [2, 3]),
        ({"turns": "0"}, [0]),
        ({"turns": "1-1", "limit": 2}, [1, 2]),
        ({"dir": "desc", "limit": 2}, [6, 5]),
        ({"since": (NOW - 2 * HOUR + 6 * SECOND) // 1000}, [5, 6]),
        ({"until": (NOW - 2 * HOUR + 3 * SECOND) // 1000}, [0, 1]),
    ],
)
def test_events_are_found_by_what_is_asked(
    ask: Asking, world: World, params: dict[str, Any], found: list[int]
) -> None:
    results = ask.get(f"sessions/{world.id('tidy')}/events", **params)
    assert [row["seq"] for row in results["items"]] == found


def test_one_event_tells_why_and_what_it_retried(ask: Asking, world: World) -> None:
    results = ask.get(f"sessions/{world.id('tidy')}/events/4")
    assert results["event"]["payload"]["input"] == {"command": "mv a b"}
    assert [one["kind"] for one in results["causes"]] == ["prompt", "decision", "action"]
    assert results["retry"]["of"] == 3
    assert "+moved" in results["retry"]["diff"]
    assert "outcome" in results["retry"]["changed"]
    assert results["files"][0]["change"] == "renamed"
    assert results["provenance"]["words"].startswith("By the agent")
    assert ask.get(f"sessions/{world.id('tidy')}/events/3")["mended_by"] == 4
    assert ask.get(f"sessions/{world.id('tidy')}/events/2")["context_item"].endswith(":decision:2")


def test_a_file_is_shown_before_and_after(ask: Asking, world: World) -> None:
    root = str(world.folder / "work")
    versions = FileVersions(world.memory.config.home, world.memory.store.keys.database)
    versions.keep(root, "notes.md", world.at - SECOND, b"one\ntwo\nthree\n")
    seq = world.tell("tidy", "action", tool="Edit", input={"file_path": f"{root}/notes.md"},
                     files=[{"path": f"{root}/notes.md", "change": "modified"}])  # fmt: skip
    versions.keep(root, "notes.md", world.at, b"one\n2 <b>two</b>\nthree\n")
    versions.close()
    event = ask.get(f"sessions/{world.id('tidy')}/events/{seq}")
    assert [(one["has_before"], one["has_after"]) for one in event["files"]] == [(True, True)]
    results = ask.get(f"sessions/{world.id('tidy')}/events/{seq}/file", path=f"{root}/notes.md")
    assert results["before"]["text"] == "one\ntwo\nthree\n"
    assert results["left_out"] is None
    assert [(line["op"], line["text"]) for line in results["hunks"][0]["lines"]] == [
        (" ", "one"), ("-", "two"), ("+", "2 <b>two</b>"), (" ", "three"),
    ]  # fmt: skip


def test_a_file_that_was_not_kept_says_so(ask: Asking, world: World) -> None:
    path = str(world.folder / "work" / "b")
    results = ask.get(f"sessions/{world.id('tidy')}/events/4/file", path=path)
    assert results["before"] is None
    assert "no version was kept" in results["left_out"]
    status, reply = ask.raw("GET", f"sessions/{world.id('tidy')}/events/4/file", path="/etc/passwd")
    assert (status, reply["error"]["title"]) == (404, "Not found")


def test_the_strip_counts_and_draws_gaps(ask: Asking, world: World) -> None:
    ask.post("recording", pause=60)
    begin = (NOW - 3 * HOUR) // 1000
    results = ask.get("rollup", **{"from": begin, "to": NOW // 1000 + 1, "bucket": "hour"})
    counts = [
        sum(one[name] for one in results["buckets"])
        for name in ("events", "actions", "decisions", "failures")
    ]
    assert counts == [9, 3, 1, 1]
    assert results["gaps"] == []  # it began just now
    only = ask.get("rollup", **{"from": begin, "sessions": world.id("other")})
    assert sum(one["events"] for one in only["buckets"]) == 2


def test_a_past_pause_is_a_gap(ask: Asking, world: World) -> None:
    world.open("watch", agent="fazm-memory", background=True)
    world.tell("watch", "gap", "fazm-memory", what="asleep", since="2026-11-15T10:00:00+00:00",
               until="2026-11-15T11:00:00+00:00")  # fmt: skip
    world.tell("watch", "app", "fazm-memory", app="Mail", title="Inbox")
    results = ask.get("rollup", **{"from": "2026-11-15T10:30:00+00:00", "to": "2026-11-15T16:00:00+00:00"})
    assert [one["why"] for one in results["gaps"]] == ["asleep"]
    assert sum(one["apps"] for one in results["buckets"]) == 1
    assert sum(one["events"] for one in results["buckets"]) == 9  # of sessions that somebody worked in
    lanes = ask.get("lanes", **{"from": "2026-11-15T10:30:00+00:00"})
    assert [one["session"]["background"] for one in lanes["items"]] == [True, False, False]


def test_lanes_hold_what_was_done_and_choose_evenly_from_too_much(ask: Asking, world: World) -> None:
    result = ask.get("lanes", sessions=world.id("tidy"))
    (one,) = result["items"]
    assert {name: len(drawn) for name, drawn in one["lanes"].items()} == {
        "actions": 3, "decisions": 1, "files": 1, "apps": 0, "marks": 3,
    }  # fmt: skip
    drawn = one["lanes"]["actions"][1]
    assert drawn["end_ms"] - drawn["ms"] == 500
    few = ask.get("lanes", sessions=world.id("tidy"), max=3)["items"][0]
    assert few["more"] == 4


def test_where_a_session_stood_at_a_moment(ask: Asking, world: World) -> None:
    begin = NOW - 2 * HOUR
    path = f"sessions/{world.id('tidy')}/position"
    assert ask.get(path, ms=(begin + 3 * SECOND) // 1000)["at"] == 3
    assert ask.get(path, ms=(begin - HOUR) // 1000)["at"] == 0
    assert ask.get(path, ms=NOW // 1000)["at"] == 7
    world.memory.store.index_all()
    assert ask.get(path, ms=(begin + 3 * SECOND) // 1000)["at"] == 3


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"agent": "codex"}, ["other"]),
        ({"q": "SCANS tidy"}, ["tidy"]),
        ({"q": "nowhere"}, []),
        ({"outcome": "failed"}, ["tidy"]),
        ({"outcome": "ok"}, ["other"]),
        ({"workspace": "/elsewhere"}, ["other"]),
        ({"day": "2026-11-15"}, ["other", "tidy"]),
        ({"day": "2026-11-14"}, []),
    ],
)
def test_sessions_are_found_by_what_is_asked(
    ask: Asking, world: World, params: dict[str, str], found: list[str]
) -> None:
    results = ask.get("sessions", **params)
    assert [one["agent_session_id"] for one in results["items"]] == found
    assert results["agents"] == ["codex", "fazm"]


@pytest.mark.parametrize(
    ("path", "params", "status"),
    [
        ("sessions/none", {}, 404),
        ("sessions/{tidy}/events/99", {}, 404),
        ("sessions/{tidy}/events/x", {}, 400),
        ("sessions/{tidy}/events", {"cursor": "e.1;drop"}, 400),
        ("sessions/{tidy}/events", {"kind": "nonsense"}, 400),
        ("sessions/{tidy}/events", {"dir": "up"}, 400),
        ("sessions/{tidy}/state", {"at": "99"}, 404),
        ("sessions", {"day": "someday"}, 400),
        ("sessions", {"cursor": "s.1"}, 400),
        ("rollup", {"from": "9", "to": "1"}, 400),
        ("rollup", {"bucket": "year"}, 400),
        ("search", {}, 400),
        ("nothing", {}, 404),
    ],
)
def test_what_cannot_be_answered_is_reported_in_words(
    ask: Asking, world: World, path: str, params: dict[str, str], status: int
) -> None:
    got, reply = ask.raw("GET", path.format(tidy=world.id("tidy")), **params)
    assert got == status
    assert reply["error"]["message"]
    assert reply["error"]["title"]


def test_every_answer_tells_the_time_of_the_memory(inside: InProcessPage) -> None:
    _, headers, _ = inside("GET", "/api/v1/days", {}, b"")
    assert dict(headers)["x-fazm-now"] == str(NOW // 1000)


def test_a_search_for_a_name_finds_the_changed_files(ask: Asking, world: World) -> None:
    path = str(world.folder / "work" / "form.py")
    for _ in range(2):
        world.tell("tidy", "action", tool="Edit", files=[{"path": path, "change": "modified"}])
    world.tell("other", "action", "codex", tool="Read", files=[{"path": path, "change": "read"}])
    (file,) = ask.get("search", q="form.py")["files"]
    assert (file["path"], file["changes"], file["sessions"]) == (path, 2, 1)
    assert ask.get("search", q="rename the form.py")["files"] == []


def test_the_overview_names_a_running_import_and_leaves_the_rest_for_later(ask: Asking, world: World) -> None:
    assert ask.get("overview")["threads"]
    world.memory.config.home.joinpath("import.json").write_text('{"read": 5, "total": 9}')
    overview = ask.get("overview")
    assert overview["importing"] == {"read": 5, "total": 9}
    assert overview["threads"] == []
    assert overview["totals"] is None


@pytest.mark.parametrize(
    ("moment", "position"),
    [("turn 1", 7), ("event 2", 3), ("start", 0), ("2026-11-15T11:40:04Z", 4)],
)
def test_a_moment_is_named_as_in_the_terminal(ask: Asking, world: World, moment: str, position: int) -> None:
    session = world.id("tidy")
    path = f"sessions/{session}"
    assert world.memory.sessions.position(session, moment) == position
    assert ask.get(f"{path}/state", at=moment) == ask.get(f"{path}/state", at=position)
    assert ask.get("compare", a=f"{session}@{moment}", b=session)["a"]["at"] == position
    shown = {"turn 1": 1, "event 2": 2, "start": 0, "2026-11-15T11:40:04Z": 3}[moment]
    assert ask.get(f"{path}/position", at=moment)["seq"] == shown
    assert ask.get(f"{path}/rewind-plan", to=moment)["to"] == position
    assert ask.post(f"{path}/fork", at=moment)["parent_seq"] == position
    ask.post(f"{path}/rewind", to=moment)
    (event,) = world.memory.history.events(session, kind="rewind")
    assert event["payload"]["to"] == position


def test_a_list_of_events_begins_and_ends_at_moments(ask: Asking, world: World) -> None:
    path = f"sessions/{world.id('tidy')}/events"
    listed = ask.get(path, **{"from": "event 2", "to": "event 4"})["items"]
    assert [row["seq"] for row in listed] == [2, 3]
    for name in ("from", "to"):
        status, reply = ask.raw("GET", path, **{name: "some day"})
        assert (status, "no moment" in reply["error"]["message"]) == (400, True)
