"""Finding things again: by words, by day, by place, by agent, by what was only ever shown."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .conftest import ClockedMemory


@pytest.fixture
def past(memory: ClockedMemory) -> ClockedMemory:
    """Three days of two agents in two folders."""
    memory.at("2026-11-09T10:00:00+00:00")
    memory.say("old", "prompt", workspace="/Users/dana/report", agent="codex", text="draft the tax report")
    memory.say("old", "decision", agent="codex", what="use LaTeX for the report", why="tables break in Word",
             alternatives=["Word"])  # fmt: skip
    memory.at("2026-11-14T16:00:00+00:00")
    memory.say("tidy", "prompt", workspace="/Users/dana", text="file the invoices of the tax report")
    names = [("inv_acme_1102.pdf", "2026-11-02 acme.pdf"), ("inv_hooli_1105.pdf", "2026-11-05 hooli.pdf"),
             ("inv_globex_1109.pdf", "2026-11-09 globex.pdf")]  # fmt: skip
    folder = "/Users/dana/Downloads"
    memory.say("tidy", "seen", folder=folder, files=[*(old for old, _ in names), "notes.txt"])
    for old, new in names:
        memory.say("tidy", "action", tool="Bash", input={"command": f"mv {old} '{new}'"},
                 files=[{"path": f"{folder}/{new}", "change": "renamed",
                         "from": f"{folder}/{old}"}])  # fmt: skip
    memory.say(
        "tidy", "action", tool="Bash", input={"command": "qpdf --check umbrella.pdf"}, error="not found: qpdf"
    )
    memory.say("tidy", "pending", id="u", what="the Umbrella invoice needs a purchase order")
    return memory.at("2026-11-15T09:00:00+00:00")


def kinds(memory: ClockedMemory, query: str, limit: int = 5) -> list[str]:
    return [hit["kind"] for hit in memory.recall.search(query, limit=limit)]


def agents(memory: ClockedMemory, query: str) -> set[str]:
    return {hit["agent"] for hit in memory.recall.search(query)}


def test_the_day_the_agent_and_the_place_narrow_it(past: ClockedMemory) -> None:
    assert agents(past, "tax report") == {"codex", "fazm"}
    assert agents(past, "tax report yesterday") == {"fazm"}
    assert agents(past, "tax report last week") == {"codex", "fazm"}
    assert agents(past, "tax report on monday") == {"codex"}
    assert agents(past, "tax report agent:codex") == {"codex"}
    assert agents(past, "report in:report") == {"codex"}
    assert agents(past, "acme in:/Users/dana/Downloads") == {"fazm"}
    assert agents(past, "report in:reprot") == {"codex"}
    assert past.recall.search("tax report agent:gemini") == []


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("acme yesterday", None),
        ("acme today", "nothing today; without the day:"),
        ("acme on friday", "nothing on friday; without the day:"),
        ("acme last-month", "nothing last-month; without the day:"),
        ("acme this-week", None),
        (
            "LaTeX invoices yesterday",
            "nothing yesterday has all of these words; results of other days are included",
        ),
        ("zebra today", None),  # nothing is found either way, and the answer says so
        ("acme agent:fzam", "no session of an agent 'fzam'; agents are codex, fazm"),
        ("acme session:nope", "no session matches 'nope'"),
        ("acme agent:FAZ", None),
    ],
)
def test_an_answer_that_let_go_of_a_filter_says_so(past: ClockedMemory, query: str, note: str | None) -> None:
    assert past.recall.search_notes(query) == (() if note is None else (note,))
    if note is not None and "day:" in note:
        assert past.recall.search(query)


def test_kinds_and_tools_narrow_it(past: ClockedMemory) -> None:
    assert set(kinds(past, "report kind:decision")) == {"decision"}
    assert set(kinds(past, "acme tool:Bash")) == {"action"}
    assert kinds(past, "acme tool:Write") == []


def test_a_day_alone_tells_what_it_was_about(past: ClockedMemory) -> None:
    assert set(kinds(past, "yesterday")) == {"prompt", "pending"}


def test_questions_find_what_answers_them(past: ClockedMemory) -> None:
    assert kinds(past, "why did we choose LaTeX?")[0] == "decision"
    assert past.recall.search("what failed?")[0]["snippet"].startswith("Bash qpdf")
    assert kinds(past, "what is still left to do with umbrella")[0] == "pending"


def test_what_was_only_shown_is_found_too(past: ClockedMemory) -> None:
    found = past.recall.search("naming convention of the invoices")[0]
    assert (found["kind"], "2026-11-02 acme.pdf" in found["snippet"]) == ("convention", True)
    assert "notes.txt" in past.recall.search("which files were skipped")[0]["snippet"]


def test_beginnings_and_misspellings_of_paths_are_found(past: ClockedMemory) -> None:
    for query in ("Downlaods/globex", "glob", "2026-11-09 glbex.pdf", "Downloads/2026-11-09"):
        assert any("globex" in hit["snippet"] for hit in past.recall.search(query, limit=5)), query


def test_a_phrase_as_it_stands_comes_first(past: ClockedMemory) -> None:
    assert "acme" in past.recall.search("2026-11-02 acme.pdf")[0]["snippet"]


def test_the_same_thing_again_does_not_crowd_out_others(past: ClockedMemory) -> None:
    for _ in range(20):
        past.say("tidy", "action", tool="Bash", input={"command": "ls umbrella"})
    assert "pending" in kinds(past, "umbrella", limit=3)


def test_a_rare_word_is_found_behind_many_common_ones(past: ClockedMemory) -> None:
    for number in range(600):
        past.say("tidy", "action", tool="Bash", input={"command": f"cat report-{number}.txt"})
    assert kinds(past, "report LaTeX Bash", limit=3)[0] == "decision"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    st.text(max_size=60) | st.sampled_from(["NEAR(a b)", '"', "a* OR -b", "col:x", "in:", "^a", "{a b}:c"])
)
def test_any_text_is_safe_to_search_for(past: ClockedMemory, text: str) -> None:
    assert isinstance(past.recall.search(text), list)


def test_what_could_not_be_done_is_found_among_what_failed(past: ClockedMemory) -> None:
    assert past.recall.search("what could not be checked of umbrella.pdf")[0]["snippet"].startswith(
        "Bash qpdf"
    )


def test_files_are_found_by_what_they_were_changed_for(past: ClockedMemory) -> None:
    past.say("leak", "prompt", workspace="/srv/gate", text="find the memory leak")
    past.say("leak", "action", tool="Edit", input={"file_path": "/srv/gate/listen.ts"},
             files=[{"path": "/srv/gate/listen.ts", "change": "modified"}])  # fmt: skip
    found = past.recall.search("which file was changed for the memory leak", limit=5)
    assert any("/srv/gate/listen.ts" in hit["snippet"] for hit in found)


def test_what_was_not_filed_is_what_was_skipped(past: ClockedMemory) -> None:
    assert any(
        "notes.txt" in hit["snippet"] for hit in past.recall.search("which invoices were not filed", limit=5)
    )


def test_a_folder_is_found_where_it_is_only_mentioned(past: ClockedMemory) -> None:
    past.say("other", "prompt", workspace="/elsewhere", text="count the pages in /srv/paper/2026 for me")
    past.say("other", "prompt", text="count the pages again")
    hits = past.recall.search("pages in:/srv/paper/2026")
    assert [hit["snippet"] for hit in hits if hit["kind"] == "prompt"] == [
        "count the pages in /srv/paper/2026 for me"
    ]


def test_a_day_on_which_nothing_was_done_hides_nothing(past: ClockedMemory) -> None:
    assert past.recall.search("report on:2026-11-10") == []
    assert past.recall.search("acme on tuesday") != []


def test_a_hit_says_whether_its_file_has_changed_since(past: ClockedMemory) -> None:
    path = "/Users/dana/Downloads/2026-11-02 acme.pdf"
    (hit,) = [hit for hit in past.recall.search("mv acme") if hit["file"] == path]
    assert (hit["changed_since"], hit["changed_by"]) == (None, None)
    past.say("tidy", "file", source="files", path=path, change="modified", by="person", evidence="on disk")
    (hit,) = [
        hit
        for hit in past.recall.search("mv acme", limit=20)
        if hit["kind"] == "action" and hit["file"] == path
    ]
    assert hit["changed_since"] > hit["at"]
    assert hit["changed_by"] == "person"


def test_a_word_about_a_file_says_whether_it_has_changed_since(past: ClockedMemory) -> None:
    past.say("tidy", "message", text="The totals are in reports/tax.csv now")
    past.at("2026-11-15T09:30:00+00:00")
    edit = {"path": "/Users/dana/reports/tax.csv", "change": "modified"}
    past.say("tidy", "action", tool="Edit", input={"file_path": edit["path"]}, files=[edit])
    (hit,) = [hit for hit in past.recall.search("where are the totals") if hit["kind"] == "message"]
    assert (hit["file"], hit["changed_by"]) == ("reports/tax.csv", "agent")


def test_a_question_about_failures_is_put_to_the_sessions_it_leads_to(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T16:00:00+00:00")
    memory.say("s", "prompt", text="move the receipts of the bakery")
    failed = {"outcome": "error", "error": "No such file or directory"}
    memory.say("s", "action", tool="Bash", input={"command": "mv r-16.pdf shops/"}, **failed)
    hits = memory.at("2026-11-15T09:00:00+00:00").recall.search("failed bakery receipts")
    assert any("No such file or directory" in hit["snippet"] for hit in hits)
