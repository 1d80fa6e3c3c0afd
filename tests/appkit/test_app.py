"""The whole app over the stand-in and the real rumps: from a click to its effect in the store."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.capture.instance import only_one, running
from fazm_memory.errors import StoreBusy
from tests.appkit.office import Office
from tests.appkit.standin.app import items
from tests.appkit.standin.mac import Mac
from tests.appkit.standin.runtime import taught


@pytest.fixture
def office(mac: Mac, tmp_path: Path) -> Iterator[Office]:
    made = Office(mac, tmp_path)
    yield made
    made.memory.close()


@taught("NSTextField", "-stringValue")
def _typed(mac: Mac, field: Any) -> str:
    return str(mac.defaults.get("typed", ""))


def submenu(mac: Mac, *path: str) -> list[str]:
    return mac.titles(mac.item(*path)._p["submenu"])


# -- every item of the menu, clicked -----------------------------------------------------------------------


def test_it_launches_shows_its_menu_and_quits_in_order(office: Office) -> None:
    office.work()
    office.play(lambda: office.until(lambda: "Resume “Rename the invoices”" in office.mac.titles()))
    assert office.left == ["left"]
    assert office.said == []
    assert running(office.config.home) is None
    assert [one.name for one in threading.enumerate() if one.name in ("companion", "menu bar worker")] == []


def test_looking_opens_the_window_and_copies_the_context(office: Office) -> None:
    session, mac = office.work(), office.mac

    def script() -> None:
        office.choose("Timeline…")
        (window,) = mac.windows
        (view,) = mac.web_views
        assert window._p["visible"]
        assert mac.singleton("NSApplication")._p["activationPolicy"] == 0  # regular
        office.choose("Search…")
        office.choose("Settings…")
        office.choose(next(one for one in mac.titles() if one.startswith("Yesterday")))
        latest = submenu(mac, "Latest Sessions")[0]
        office.choose("Latest Sessions", latest, "Show in Timeline")
        assert [script.split("=", 1)[-1].strip() for script in view._p["scripts"]] == [
            "document.querySelector('fm-search input')?.focus()",
            '"#/settings"',
            view._p["scripts"][2].split("=", 1)[-1].strip(),
            f'"#/s/{session}"',
        ]
        assert "#/day/" in view._p["scripts"][2]
        window.performClose_(None)
        assert mac.singleton("NSApplication")._p["activationPolicy"] == 1  # accessory
        office.choose("Copy Context")
        office.choose("Open Context File")

    office.play(script)
    assert "Rename the invoices" in next(iter(mac.pasteboard.values()))
    assert mac.opened == [f"file://{office.config.home}/context/context.md"]


def test_resume_opens_a_terminal_with_the_agents_own_command(office: Office) -> None:
    office.work("agent-session")
    office.play(lambda: office.choose("Resume “Rename the invoices”"))
    (opened,) = office.mac.opened
    script = Path(opened.removeprefix("file://"))
    assert script.read_text().endswith("exec claude --resume agent-session\n")


def test_resume_from_the_list_of_sessions_names_the_one_that_was_clicked(office: Office) -> None:
    office.work("first", "Sort the photos")
    office.work("second")

    def script() -> None:
        older = submenu(office.mac, "Latest Sessions")[1]
        office.choose("Latest Sessions", older, "Resume")

    office.play(script)
    assert "claude --resume first" in Path(office.mac.opened[0].removeprefix("file://")).read_text()


def test_pausing_for_each_span_and_resuming(office: Office) -> None:
    told: list[tuple[bool, bool]] = []

    def script() -> None:
        for span in ("15 Minutes", "1 Hour", "Until Tomorrow", "Until I Resume"):
            office.choose("Pause Recording" if not told else "Pause For", span)
            status = office.memory.recording()
            told.append((status["recording"], status["paused_until"] is None))
        assert office.mac.titles()[0] == "Paused until you resume"
        office.choose("Resume Recording")
        assert office.mac.titles()[0] == "Recording"

    office.play(script)
    assert told == [(False, False), (False, False), (False, False), (False, True)]
    assert [one["what"] for one in office.kept("gap")] == ["paused"]


def test_an_app_is_not_recorded_any_more_after_a_click(office: Office) -> None:
    office.front("Chat")

    def script() -> None:
        office.app.refresh()
        office.settle()
        office.choose("Don’t Record Chat")
        assert "Don’t Record Chat" not in office.mac.titles()

    office.play(script)
    assert json.loads((office.config.home / "excluded-apps.json").read_text()) == ["com.example.chat"]


@pytest.mark.parametrize("span", ["Last 5 Minutes", "Last Hour", "Today"])
def test_forgetting_asks_first_and_then_forgets(office: Office, span: str) -> None:
    session = office.work()

    def script() -> None:
        office.mac.answers.append("Cancel")
        office.choose("Forget", span)
        assert next(office.memory.events(session, kind="prompt"))["payload"] is not None
        office.mac.answers.append("Forget")
        office.choose("Forget", span)

    office.play(script)
    assert "cannot be undone" in str(office.mac.alerts[0].message)
    assert [one["payload"] for one in office.memory.events(session, kind="prompt")] == [None]


def test_a_question_is_answered_in_words(office: Office) -> None:
    session = office.work()
    office.memory.handoff(session, to="human", note="Which folder?")
    office.mac.defaults["typed"] = "The second"

    def script() -> None:
        office.mac.answers.append("Answer")
        office.choose("? Which folder?")
        assert "? Which folder?" not in office.mac.titles()

    office.play(script)
    (answer,) = office.memory.events(session, kind="handoff.answer")
    assert (answer["payload"]["answer"], answer["actor"], answer["source"]) == (
        "The second",
        "person",
        "menubar",
    )


def test_an_agent_is_connected_after_its_edits_were_shown(office: Office) -> None:
    settings = office.user / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")

    def script() -> None:
        row = next(one for one in submenu(office.mac, "Connected Agents") if one.startswith("claude-code"))
        office.mac.answers.append("Connect")
        office.choose("Connected Agents", row)
        assert any("connected by hooks" in one for one in submenu(office.mac, "Connected Agents"))

    office.play(script)
    assert "hooks" in json.loads(settings.read_text())


def test_launch_at_login_is_turned_on_and_off(office: Office) -> None:
    states: list[int] = []

    def script() -> None:
        for _ in range(2):
            office.choose("Launch at Login")
            states.append(int(office.mac.item("Launch at Login")._p.get("state", 0)))

    office.play(script)
    assert states == [1, 0]


def test_a_login_item_that_waits_for_approval_says_where(office: Office) -> None:
    office.mac.login_item_needs_approval = True
    office.play(lambda: office.choose("Launch at Login"))
    assert office.mac.opened == ["login items"]
    assert "System Settings" in str(office.mac.notifications[-1].body)


def test_the_version_is_told(office: Office) -> None:
    office.play(lambda: office.choose("About Fazm Memory"))
    assert str(office.mac.notifications[-1].title).startswith("Fazm Memory ")


def test_quit_says_that_recording_stops_and_ends_the_app(office: Office) -> None:
    def script() -> None:
        office.mac.choose("Quit Fazm Memory (Recording Stops)")
        office.mac.wait_for(lambda: office.mac.terminated)

    office.play(script)
    assert office.left == ["left"]


def test_no_item_of_the_menu_was_forgotten_by_these_tests(office: Office) -> None:
    """Every command that a full menu offers is clicked here by its title, or above."""
    session = office.work()
    office.memory.handoff(session, to="human", note="Which?")
    office.front("Chat")
    office.world.trusted = False
    office.mac.defaults["typed"] = "yes"
    office.mac.answers.extend(["Not Now", *["OK", "Answer", "Forget", "Forget", "Forget"]])

    missed: list[str] = []

    def script() -> None:
        office.app.refresh()
        office.settle()
        office.mac.answers.clear()
        ids = [id_ for id_ in office.app.item.shown.commands() if id_ != "quit"]
        assert len(ids) >= 20
        # A question first, since nothing is answered while paused; last what takes other items away with it.
        for id_ in sorted(
            ids, key=lambda id_: (not id_.startswith("question"), id_[:6] in ("exclud", "forget"))
        ):
            office.mac.answers.append(
                "Answer" if id_.startswith("question") else "Forget" if id_.startswith("forget") else "OK"
            )
            item = _native(office, id_)
            if item is None:
                missed.append(id_)
            else:
                item._p["target"].callback_(item)
                office.settle()
            office.mac.answers.clear()

    office.play(script)
    assert (missed, office.said) == ([], [])


def _native(office: Office, id_: str) -> Any:
    """The item of the screen that has this id now, if it is still there."""

    def find(holder: Any) -> Any:
        for key in holder:
            if key == id_:
                return holder[key]._menuitem
            found = find(holder[key]) if hasattr(holder[key], "keys") else None
            if found is not None:
                return found
        return None

    return find(office.app.item.app.menu)


# -- what goes wrong ---------------------------------------------------------------------------------------


def test_a_click_that_fails_is_shown_and_the_next_one_works(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fazm_memory.menubar import commands

    def broken(*_: Any) -> None:
        raise RuntimeError("the disk is on fire")

    def script() -> None:
        with monkeypatch.context() as patch:
            patch.setitem(commands.DOES, "about", broken)
            office.choose("About Fazm Memory")
        office.choose("About Fazm Memory")

    office.play(script)
    titles = [str(one.title) for one in office.mac.notifications]
    assert titles[0] == "That did not work"
    assert titles[1].startswith("Fazm Memory ")
    assert office.said == ["RuntimeError: the disk is on fire"]


def test_every_verb_survives_what_it_calls(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    from fazm_memory.menubar import commands
    from fazm_memory.menubar.menu import Command

    def broken(*_: Any) -> None:
        raise StoreBusy("the store is busy", hint="try again")

    def script() -> None:
        for verb in list(commands.DOES):
            monkeypatch.setitem(commands.DOES, verb, broken)
            office.app.clicked(Command(verb))  # type: ignore[arg-type]
            office.settle()

    office.play(script)
    said = {(one.title, one.body) for one in office.mac.notifications}
    assert said == {("The store is busy", "the store is busy. try again")}


def test_without_a_bundle_trouble_is_told_in_a_box(tmp_path: Path) -> None:
    with Mac(bundle_identifier=None).installed() as mac:
        office = Office(mac, tmp_path)

        def script() -> None:
            mac.answers.append("OK")
            office.choose("About Fazm Memory")
            assert "Launch at Login" not in mac.titles()

        office.play(script)
        office.memory.close()
        assert [str(one.title).split()[0] for one in mac.alerts] == ["Fazm"]
        assert mac.notifications == []


def test_when_the_status_cannot_be_read_the_menu_says_so(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise OSError("no such device")

    def script() -> None:
        monkeypatch.setattr("fazm_memory.macos.app.gather", broken)
        office.app.refresh()
        office.settle()
        assert office.mac.titles()[0].startswith("Attention: the status cannot be read: OSError")

    office.play(script)


def test_when_recording_stops_over_a_mistake_of_ours_the_menu_says_so(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fazm_memory.companion import Companion

    def broken(*_: Any) -> None:
        raise ValueError("a mistake")

    monkeypatch.setattr(Companion, "run", broken)

    def script() -> None:
        office.until(lambda: "recording has stopped" in office.mac.titles()[0])

    office.play(script)
    assert office.said == ["recording has stopped: ValueError: a mistake"]


def test_a_second_app_says_that_one_is_enough_and_ends(office: Office) -> None:
    office.mac.answers.append("OK")
    with only_one(office.config.home):
        office.play(lambda: office.mac.wait_for(lambda: office.mac.terminated), settled=False)
    assert [one.title for one in office.mac.alerts] == ["Fazm Memory is already running"]


# -- other ways in -----------------------------------------------------------------------------------------


def test_opened_again_from_finder_the_window_comes(office: Office) -> None:
    office.play(lambda: office.mac.reopen())
    assert [one._p["title"] for one in office.mac.windows] == ["Fazm Memory"]


def test_a_link_resumes_only_after_a_yes_and_a_hostile_one_is_refused(office: Office) -> None:
    session = office.work()

    def script() -> None:
        office.mac.answers.append("Cancel")
        office.mac.open_url(f"fazm-memory://resume/{session}")
        office.settle()
        assert office.mac.opened == []
        office.mac.answers.append("Resume")
        office.mac.open_url(f"fazm-memory://resume/{session}")
        office.settle()
        office.mac.open_url("fazm-memory://resume/../../etc/passwd;rm -rf ~")
        office.settle()

    office.play(script)
    assert len(office.mac.opened) == 1
    assert office.mac.notifications[-1].body is not None
    assert "that link is not one of ours" in office.mac.notifications[-1].body


def test_a_new_question_is_a_notification_and_a_click_on_it_opens_the_session(office: Office) -> None:
    session = office.work()

    def script() -> None:
        question = office.memory.handoff(session, to="human", note="Which folder?")["question"]
        office.app.refresh()
        office.settle()
        office.mac.tap(f"question-{session}-{question}")
        office.mac.settle()

    office.play(script)
    assert [(one.title, one.body) for one in office.mac.notifications] == [
        ("Rename the invoices waits for your answer", "Which folder?")
    ]
    (view,) = office.mac.web_views
    assert view._p["URL"]._p["text"] == f"fazm://app/#/s/{session}"


def test_the_permission_is_explained_and_asked_for_once(office: Office) -> None:
    office.world.trusted = False
    office.mac.answers.append("Continue")
    office.play(lambda: office.choose("Fix Permissions…"))
    assert office.world.prompts == 1
    assert office.mac.opened == [
        "x-apple.systempreferences:com.apple.preference.security?Privacy_Accessibility"
    ]
    assert [one.title for one in office.mac.alerts] == ["May Fazm Memory see which windows you work in?"]
    assert items(office.mac.menu()) != []


def test_asked_before_nobody_is_asked_again(office: Office) -> None:
    (office.config.home / "permission-asked").write_text("asked once\n")
    office.world.trusted = False
    office.play(lambda: None)
    assert office.mac.alerts == []
    assert office.world.prompts == 0
