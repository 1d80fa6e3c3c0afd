"""What the page does is done in the store, as the user's own word; what it may not do is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.web.conftest import Asking, World


def test_a_session_is_paused_resumed_and_closed(ask: Asking, world: World) -> None:
    path = f"sessions/{world.id('tidy')}"
    assert ask.post(f"{path}/pause", reason="lunch")["lifecycle"] == "paused"
    resumed = ask.post(f"{path}/resume")
    assert (resumed["lifecycle"], resumed["resume"]["session"]) == ("resumed", world.id("tidy"))
    assert ask.post(f"{path}/close")["lifecycle"] == "closed"
    assert ask.post(f"{path}/archive")["lifecycle"] == "archived"
    last = ask.get(f"{path}/events", dir="desc", limit=4)["items"]
    assert {(row["actor"], row["source"], row["trust"]) for row in last} == {("person", "web", "user")}
    status, reply = ask.raw("POST", f"{path}/pause", {})
    assert (status, reply["error"]["title"]) == (409, "Not possible in this state")


def test_a_rewind_marks_what_it_went_back_over(ask: Asking, world: World) -> None:
    path = f"sessions/{world.id('tidy')}"
    ask.post(f"{path}/rewind", to=3, reason="try again")
    marks = {row["seq"]: row["marks"] for row in ask.get(f"{path}/events")["items"]}
    assert "rewound" not in marks[2]
    assert all("rewound" in marks[seq] for seq in (3, 4, 5, 6))
    assert marks[7] == ["rewind"]
    assert ask.get(path)["latest_rewind"] == 7
    ask.post(f"{path}/undo")  # and what is taken back is struck out no more
    marks = {row["seq"]: row["marks"] for row in ask.get(f"{path}/events")["items"]}
    assert not any("rewound" in marks[seq] for seq in range(7))


def test_a_rewind_starts_from_an_event_or_the_last_action_that_counts(ask: Asking, world: World) -> None:
    path = f"sessions/{world.id('tidy')}"
    point = ask.get(f"{path}/rewind-point", seq=3)
    assert (point["title"], point["target"], point["actions"]) == ("Bash", "mv a b", 3)
    assert (point["request"], point["request_seq"]) == ("Rename the scans", 1)
    assert ask.get(f"{path}/rewind-point")["seq"] == 5
    ask.post(f"{path}/rewind", to=4)
    last = ask.get(f"{path}/rewind-point")
    assert (last["seq"], last["actions"]) == (3, 1)


def test_a_rewind_says_what_it_did_who_did_it_and_that_it_was_undone(ask: Asking, world: World) -> None:
    path = f"sessions/{world.id('tidy')}"
    assert ask.get(path)["latest_rewind"] is None
    ask.post(f"{path}/rewind", to=4)
    done = ask.get(f"{path}/events/7")
    assert (done["row"]["title"], done["causes"], done["undone_by"]) == ("Rewound to position 4", [], None)
    ask.post(f"{path}/undo")
    undone = ask.get(f"{path}/events/8")
    assert undone["row"]["title"] == "Rewind undone"
    assert ask.get(f"{path}/events/7")["undone_by"] == {"seq": 8, "ms": undone["ms"]}


def test_files_go_back_only_with_the_plan_that_was_shown(ask: Asking, world: World) -> None:
    path = f"sessions/{world.id('tidy')}"
    plan = ask.get(f"{path}/rewind-plan", to=3)
    result = ask.post(f"{path}/rewind", to=3, files=True, force=True, plan=plan["digest"])
    assert result["id"] == world.id("tidy")
    status, reply = ask.raw("POST", f"{path}/rewind", {"to": 2, "files": True, "plan": "another"})
    assert status == 409
    assert reply["error"]["kind"] in ("Conflict", "Declined")


def test_a_question_is_asked_and_answered(ask: Asking, world: World) -> None:
    path = f"sessions/{world.id('tidy')}"
    asked = ask.post(f"{path}/handoff", to="human", note="Which year?", answer_schema={"type": "integer"})
    (question,) = ask.get("questions")["items"]
    assert (question["id"], question["note"]) == (asked["question"], "Which year?")
    status, reply = ask.raw("POST", f"{path}/answer", {"question": asked["question"], "answer": "soon"})
    assert (status, reply["error"]["kind"]) == (400, "InvalidInput")
    ask.post(f"{path}/answer", question=asked["question"], answer=2026)
    assert ask.get("questions")["items"] == []


def test_an_event_is_quarantined_and_released(ask: Asking, world: World) -> None:
    path = f"sessions/{world.id('tidy')}"
    ask.post(f"{path}/quarantine", seq=5, reason="a strange page")
    assert ask.get(f"{path}/events/5")["quarantined"]
    ask.post(f"{path}/quarantine", seq=5, lift=True)
    assert not ask.get(f"{path}/events/5")["quarantined"]


def test_the_calls_that_followed_an_event_are_quarantined_unless_only_words_are(
    ask: Asking, world: World
) -> None:
    session = world.id("tidy")
    calls = [one["seq"] for one in world.memory.history.events(session, kind="action")]
    first = next(seq for seq in calls if ask.post(f"sessions/{session}/quarantine", seq=seq)["calls"])
    result = ask.post(f"sessions/{session}/quarantine", seq=first, lift=True)
    assert result["calls"] > 0
    result = ask.post(f"sessions/{session}/quarantine", seq=first, words_only=True)
    assert (result["calls"], result["changed"][0]) == (0, first)


def test_what_the_context_holds_is_pinned_and_excluded(ask: Asking, world: World) -> None:
    item = ask.get(f"sessions/{world.id('tidy')}/events/2")["context_item"]

    def choice() -> tuple[str, bool]:
        (found,) = [one for one in ask.get("context")["items"] if one["id"] == item]
        return found["choice"], found["given"]

    assert choice() == ("auto", True)
    ask.post("context/choice", item=item, choice="exclude")
    assert choice() == ("exclude", False)
    ask.post("context/choice", item=item, choice="include")
    assert choice() == ("auto", True)
    assert ask.post(f"sessions/{world.id('tidy')}/pin", seq=2) == {"item": item, "choice": "pin"}
    assert choice() == ("pin", True)
    status, _ = ask.raw("POST", f"sessions/{world.id('tidy')}/pin", {"seq": 1})
    assert status == 400
    status, messages = ask.raw("POST", "context/choice", {"item": "a:decision:1", "choice": "pin"})
    assert status == 404
    assert "a:decision:1" in messages["error"]["message"]


def test_forgetting_is_shown_first_and_only_done_when_reported(ask: Asking, world: World) -> None:
    given: dict[str, Any] = {"session": world.id("tidy"), "seqs": [5]}
    counts = {"sessions": 1, "events": 1, "kept": 0, "dry_run": True}
    assert ask.post("forget", **given) == counts | {"copies": {}, "remaining": []}
    path = f"sessions/{world.id('tidy')}/events/5"
    assert ask.get(path)["output"] == "a page"
    assert ask.post("forget", **given, dry_run=False)["events"] == 1
    result = ask.get(path)
    assert (result["output"], result["row"]["marks"][0]) == (None, "forgotten")
    assert ask.get(f"sessions/{world.id('tidy')}/events/4")["output"] == "moved"


def test_recording_is_paused_and_resumed(ask: Asking) -> None:
    assert ask.post("recording", pause=None)["recording"] is False
    assert ask.get("status")["recording"] is False
    status, reply = ask.raw("POST", "recording", {})
    assert (status, reply["error"]["title"]) == (400, "Invalid input")
    assert ask.post("recording", resume=True)["recording"] is True


def test_an_app_is_left_alone_and_looked_at_again(ask: Asking) -> None:
    def own(results: dict[str, Any]) -> list[str]:
        return [one["name"] for one in results["apps"] if not one["seeded"]]

    assert own(ask.post("exclusions", add={"app": "Signal"})) == ["Signal"]
    assert own(ask.get("settings")["exclusions"]) == ["Signal"]
    assert own(ask.post("exclusions", remove={"app": "Signal"})) == []


def test_only_known_paths_are_revealed(ask: Asking, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: started.append(command))
    work = str(world.folder / "work")
    assert ask.post("reveal", path=work, session=world.id("tidy")) == {"revealed": work}
    ask.post("reveal", path=f"{work}/b", session=world.id("tidy"), seq=4)
    assert [command[-1] for command in started] == [work, work]  # the file itself is not there
    for path in ("/etc/passwd", "b", f"{work}/../x", "-h", "https://example.com"):
        status, _ = ask.raw("POST", "reveal", {"path": path, "session": world.id("tidy")})
        assert status == 404
    assert len(started) == 2


def test_a_session_is_exported_into_the_data_folder(ask: Asking, world: World) -> None:
    result = ask.post("export", session=world.id("tidy"))
    path = Path(result["path"])
    assert path.parent == world.memory.config.home / "exports"
    assert path.stat().st_size == result["bytes"] > 0


def test_retention_is_tried_first_and_then_written_beside_other_settings(ask: Asking, world: World) -> None:
    file = world.memory.config.home / "config.toml"
    file.write_text('text_cap = 1000\n[[redact]]\nname = "x"\nregex = "y"\n')
    result = ask.post("settings/retention", days=30, mb=100)
    assert result["would_forget"]["events"] == 0
    assert "retain" not in file.read_text()
    result = ask.post("settings/retention", days=30, mb=None, dry_run=False)
    assert (result["days"], result["mb"]) == (30, None)
    assert file.read_text().startswith(
        "text_cap = 1000\nretain_actions = 30\nretain_megabytes = 0\n[[redact]]"
    )
    ask.post("settings/retention", days=60, mb=None, dry_run=False)
    assert file.read_text().count("retain_actions") == 1


def test_an_agent_is_connected_with_the_edits_shown_first(ask: Asking, world: World) -> None:
    (world.memory.config.user_home / ".claude").mkdir()
    shown = ask.post("settings/agents", agent="claude-code", connect=True)
    assert shown["dry_run"]
    assert shown["changes"]
    assert not shown["agent"]["hooks"]
    assert ask.post("settings/agents", agent="claude-code", connect=True, dry_run=False)["agent"]["hooks"]
    assert not ask.post("settings/agents", agent="claude-code", connect=False, dry_run=False)["agent"][
        "hooks"
    ]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("sessions/{tidy}/rewind", {}),
        ("sessions/{tidy}/rewind", {"to": "3"}),
        ("sessions/{tidy}/rewind", {"to": True}),
        ("sessions/{tidy}/handoff", {"to": "human"}),
        ("sessions/{tidy}/handoff", {"note": 5}),
        ("sessions/{tidy}/answer", {}),
        ("context/choice", {"item": "x", "choice": "maybe"}),
        ("forget", {}),
        ("forget", {"seqs": [1]}),
        ("forget", {"session": "{tidy}", "seqs": ["1"]}),
        ("forget", {"session": "{tidy}", "dry_run": "no"}),
        ("exclusions", {"add": "Mail"}),
        ("settings/retention", {"days": -1}),
    ],
)
def test_a_body_of_the_wrong_shape_is_refused_in_words(
    ask: Asking, world: World, path: str, body: dict[str, Any]
) -> None:
    status, reply = ask.raw("POST", path.format(tidy=world.id("tidy")), body)
    assert status == 400
    assert reply["error"]["message"]


def test_a_folder_is_excluded_and_taken_off_again(ask: Asking) -> None:
    _, reply = ask.raw("POST", "exclusions", {"add": {"folder": "/w/private/"}})
    assert reply["folders"] == [{"path": "/w/private"}]
    status, reply = ask.raw("POST", "exclusions", {"add": {"folder": "not/whole"}})
    assert status == 400
    _, reply = ask.raw("POST", "exclusions", {"remove": {"folder": "/w/private"}})
    assert reply["folders"] == []


def test_revealing_says_so_when_nothing_can_show_it(
    ask: Asking, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(command: list[str], **_: object) -> subprocess.Popen[bytes]:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(subprocess, "Popen", missing)
    status, reply = ask.raw(
        "POST", "reveal", {"path": str(world.folder / "work"), "session": world.id("tidy")}
    )
    assert (status, reply["error"]["title"]) == (501, "Not possible on this system")
