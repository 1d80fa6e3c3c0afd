"""The verbs, from the buttons that people press to what the memory then holds."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import OpenPage
from tests.page.serving import Served


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).first.click()


def choose(page: Page, menu: str, name: str) -> None:
    """A command of a menu, once what it belongs to is there."""
    if menu == "Event commands":
        expect(page.get_by_text("Raw event")).to_be_visible()
    expect(page.get_by_role("listbox", name="Events").get_by_role("option").first).to_be_visible()
    press(page, menu)
    page.get_by_role("menuitem", name=name).click()


def sheet(page: Page, name: str | re.Pattern[str]) -> Locator:
    asked = page.get_by_role("dialog", name=name)
    expect(asked).to_be_visible()
    expect(asked.locator("[aria-busy=true]")).to_have_count(0)
    return asked


def told(page: Page, text: str) -> None:
    """As it is written: a toast may hold the same word in another place and in small letters."""
    expect(page.locator(".toast-text").filter(has_text=re.compile(re.escape(text))).last).to_be_visible()


def test_pausing_is_done_at_once_and_undone_from_the_toast(own: Served, open_page: OpenPage) -> None:
    session = own.world.ids["today"]
    page = open_page(own, f"#/s/{session}")
    press(page, "Pause")
    told(page, "Paused.")
    assert own.world.memory.session(session)["lifecycle"] == "paused"
    press(page, "Undo")
    told(page, "Undone")
    assert own.world.memory.session(session)["lifecycle"] == "resumed"


def test_resuming_shows_what_whoever_goes_on_is_told(own: Served, open_page: OpenPage) -> None:
    session = own.world.ids["site"]
    page = open_page(own, f"#/s/{session}")
    press(page, "Resume")
    asked = sheet(page, "Resume this session")
    expect(asked.get_by_text("The briefing", exact=True)).to_be_visible()
    asked.get_by_role("button", name="Resume").click()
    told(page, "Resumed.")
    assert own.world.memory.session(session)["lifecycle"] == "resumed"


def test_a_session_that_waits_for_a_person_is_not_resumed(own: Served, open_page: OpenPage) -> None:
    session = own.world.ids["release"]
    own.world.memory.move(session, "pause")
    page = open_page(own, f"#/s/{session}", refusals=True)  # the refusal shows in the console too
    press(page, "Resume")
    asked = sheet(page, "Resume this session")
    expect(asked.get_by_text("It waits for your answer first")).to_be_visible()
    asked.get_by_role("button", name="Resume").click()
    expect(asked.get_by_role("alert")).to_contain_text("waits for a person")
    assert own.world.memory.session(session)["lifecycle"] == "paused"


def test_a_question_is_answered_in_the_form_its_schema_makes(own: Served, open_page: OpenPage) -> None:
    session = own.world.ids["release"]
    page = open_page(own, f"#/s/{session}")
    press(page, "Answer…")
    asked = sheet(page, "Answer")
    expect(asked.get_by_text("May I push the tag")).to_be_visible()
    asked.get_by_role("button", name="Answer").click()
    expect(asked.get_by_role("alert")).to_have_text("“Name of the release” needs an answer.")
    asked.get_by_label("Push the tag").check()
    asked.get_by_label("Name of the release").select_option(label="2.4.1")
    asked.get_by_role("button", name="Answer").click()
    told(page, "Answered.")
    last = list(own.world.memory.events(session, kind="handoff.answer"))[-1]
    assert last["payload"]["answer"] == {"push": True, "name": "2.4.1"}
    assert last["actor"] == "person"


def test_a_question_is_waived_only_after_asking(own: Served, open_page: OpenPage) -> None:
    session = own.world.ids["release"]
    page = open_page(own, f"#/s/{session}")
    press(page, "Waive")
    asked = sheet(page, "Waive this question?")
    asked.get_by_role("button", name="Cancel").click()
    assert own.world.memory.state(session)["open_questions"]
    press(page, "Waive")
    sheet(page, "Waive this question?").get_by_role("button", name="Waive").click()
    told(page, "Waived.")
    assert not own.world.memory.state(session)["open_questions"]


def test_a_session_is_handed_to_the_agent_with_a_note(own: Served, open_page: OpenPage) -> None:
    session = own.world.ids["today"]
    page = open_page(own, f"#/s/{session}")
    press(page, "Hand off…")
    asked = sheet(page, "Hand off")
    expect(asked.get_by_role("button", name="Hand off")).to_be_disabled()
    asked.get_by_label("Note").fill("Check the totals as well")
    asked.get_by_role("button", name="Hand off").click()
    told(page, "Handed off.")
    (question,) = own.world.memory.state(session)["open_questions"]
    assert (question["to"], question["note"]) == ("agent", "Check the totals as well")


def test_a_rewind_shows_its_plan_then_puts_files_back_and_is_undone(own: Served, open_page: OpenPage) -> None:
    session, folder = own.world.ids["folder"], own.world.folder
    now = (folder / "notes.md").read_text()
    page = open_page(own, f"#/s/{session}@1")
    choose(page, "Event commands", "Rewind to here…")
    asked = sheet(page, "Rewind to position 2")
    expect(asked.get_by_text("2 files would change on disk")).to_be_visible()
    asked.get_by_label("Put the files back too").check()
    expect(asked.get_by_text(str(folder / "notes.md"))).to_be_visible()
    asked.get_by_label("Reason").fill("start over")
    asked.get_by_role("button", name="Rewind").click()
    expect(page.get_by_role("button", name="Undo", exact=True)).to_be_visible()
    assert (folder / "notes.md").read_text() == "- milk\n- stamps\n- call Kim\n"
    assert not (folder / "plan.md").exists()
    press(page, "Undo")
    told(page, "Undone")
    assert (folder / "notes.md").read_text() == now
    assert (folder / "plan.md").exists()


def test_what_a_person_changed_since_goes_only_when_that_is_ticked(own: Served, open_page: OpenPage) -> None:
    session, folder = own.world.ids["folder"], own.world.folder
    (folder / "notes.md").write_text("my own words\n")
    page = open_page(own, f"#/s/{session}@1")
    choose(page, "Event commands", "Rewind to here…")
    asked = sheet(page, "Rewind to position 2")
    asked.get_by_label("Put the files back too").check()
    expect(asked.get_by_text("Changed by somebody else since")).to_be_visible()
    expect(asked.get_by_role("button", name="Rewind")).to_be_disabled()
    asked.get_by_label("Go ahead all the same").check()
    asked.get_by_role("button", name="Rewind").click()
    expect(asked).to_have_count(0)
    assert (folder / "notes.md").read_text() == "- milk\n- stamps\n- call Kim\n"
    press(page, "Undo")
    told(page, "Undone")
    assert (folder / "notes.md").read_text() == "my own words\n"


def test_without_its_folder_a_session_goes_back_without_files(own: Served, open_page: OpenPage) -> None:
    session = own.world.ids["today"]
    page = open_page(own, f"#/s/{session}@3", refusals=True)  # that there is no plan shows in the console too
    choose(page, "Event commands", "Rewind to here…")
    asked = sheet(page, "Rewind to position 4")
    expect(asked.get_by_text("The files stay as they are")).to_be_visible()
    asked.get_by_role("button", name="Rewind").click()
    told(page, "Rewound.")
    (rewound,) = own.world.memory.events(session, kind="rewind")
    assert rewound["payload"]["to"] == 4


def test_a_fork_stands_where_it_was_told_to_and_is_shown(own: Served, open_page: OpenPage) -> None:
    session = own.world.ids["site"]
    page = open_page(own, f"#/s/{session}@7")
    choose(page, "Event commands", "Fork from here…")
    asked = sheet(page, "Fork from position 8")
    asked.get_by_label("Title").fill("The other way")
    asked.get_by_role("button", name="Fork").click()
    expect(page.get_by_role("heading", name="The other way", level=1)).to_be_visible()
    made = next(one for one in own.world.memory.sessions(limit=50) if one["title"] == "The other way")
    assert (made["parent"], own.world.memory.state(made["id"], at=0)["session"]) == (session, made["id"])


def test_the_replay_plan_shows_steps_and_runs_nothing(own: Served, open_page: OpenPage) -> None:
    page = open_page(own, f"#/s/{own.world.ids['invoices']}")
    choose(page, "More", "Replay plan…")
    asked = sheet(page, "Replay plan")
    expect(asked.get_by_role("listitem").first).to_be_visible()
    for step in own.world.memory.replay_plan(own.world.ids["invoices"])["steps"]:
        expect(asked).to_contain_text(step.get("command") or step["what"])
    asked.get_by_text("As a script").click()
    expect(asked.get_by_text("set -eu")).to_be_visible()


def test_an_event_is_forgotten_after_counting_and_a_tick(own: Served, open_page: OpenPage) -> None:
    session = own.world.ids["site"]
    page = open_page(own, f"#/s/{session}@5")
    choose(page, "Event commands", "Forget this event…")
    asked = sheet(page, "Forget the event at position 5")
    expect(asked.get_by_text("1 event of 1 session would be forgotten.")).to_be_visible()
    expect(asked.get_by_role("button", name="Forget")).to_be_disabled()
    asked.get_by_label("I understand that this cannot be undone").check()
    asked.get_by_role("button", name="Forget").click()
    told(page, "1 event forgotten.")
    event = next(own.world.memory.events(session, start=5, stop=6))
    assert event["payload"] is None


def test_a_stretch_of_time_is_counted_before_it_is_forgotten(own: Served, open_page: OpenPage) -> None:
    page = open_page(own, "#/settings")
    press(page, "Forget a stretch of time…")
    asked = sheet(page, "Forget a stretch of time")
    expect(asked.get_by_text("Say from when until when.")).to_be_visible()
    asked.get_by_label("From").fill("2026-11-12T00:00")
    asked.get_by_label("Until").fill("2026-11-13T00:00")
    expect(asked.get_by_text(re.compile(r"\d+ events of 1 session would be forgotten"))).to_be_visible()
    asked.get_by_role("button", name="Cancel").click()
    assert own.world.memory.search("Lisbon fares")


def test_an_event_is_quarantined_and_released(own: Served, open_page: OpenPage) -> None:
    session = own.world.ids["flights"]
    page = open_page(own, f"#/s/{session}@2")
    choose(page, "Event commands", "Quarantine event…")
    asked = sheet(page, "Quarantine the event at position 2")
    asked.get_by_label("Reason").fill("it tells agents what to do")
    asked.get_by_role("button", name="Quarantine").click()
    told(page, "Quarantined.")
    press(page, "Undo")
    told(page, "Undone")
    kinds = [
        event["payload"].get("released", False)
        for event in own.world.memory.events(session, kind="quarantine")
    ]
    assert kinds == [False, True]


def test_a_decision_is_pinned_for_the_next_sessions(own: Served, open_page: OpenPage) -> None:
    session = own.world.ids["invoices"]
    decision = next(own.world.memory.events(session, kind="decision"))["seq"]
    page = open_page(own, f"#/s/{session}@{decision}")
    choose(page, "Event commands", "Pin to context")
    told(page, "Pinned")
    page.goto(f"{own.origin}/#/context")
    expect(
        page.get_by_role("region", name="Given", exact=True).get_by_text("pinned", exact=True)
    ).to_be_visible()


def test_a_session_is_exported_to_a_file_that_is_named(own: Served, open_page: OpenPage) -> None:
    page = open_page(own, f"#/s/{own.world.ids['receipts']}")
    choose(page, "More", "Export…")
    sheet(page, "Export this session").get_by_role("button", name="Export").click()
    done = sheet(page, "Exported")
    expect(done.get_by_text(str(own.world.memory.config.home))).to_be_visible()


def test_a_sheet_is_left_with_escape_and_nothing_has_happened(own: Served, open_page: OpenPage) -> None:
    session = own.world.ids["site"]
    before = own.world.memory.session(session)
    page = open_page(own, f"#/s/{session}")
    press(page, "Fork…")
    sheet(page, re.compile("Fork from"))
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert own.world.memory.session(session) == before
