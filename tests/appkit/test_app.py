"""The whole app over the stand-in and the real rumps: from a click to its effect in the store."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.app.process import companion_pid, single_instance
from fazm_memory.errors import StoreBusy
from tests.appkit.app_env import AppEnv
from tests.appkit.standin.mac import Mac
from tests.appkit.standin.runtime import taught


@pytest.fixture
def env(mac: Mac, tmp_path: Path) -> Iterator[AppEnv]:
    made = AppEnv(mac, tmp_path)
    yield made
    made.memory.close()


@taught("NSTextField", "-stringValue")
def _typed(mac: Mac, field: Any) -> str:
    return str(mac.defaults.get("typed", ""))


def submenu(mac: Mac, *path: str) -> list[str]:
    return mac.titles(mac.item(*path)._p["submenu"])


# -- every item of the menu, clicked -----------------------------------------------------------------------


def test_it_launches_shows_its_menu_and_quits_in_order(env: AppEnv) -> None:
    env.work()
    env.play(lambda: env.until(lambda: "Resume “Rename the invoices”" in env.mac.titles()))
    assert env.left == ["left"]
    assert env.messages == []
    assert companion_pid(env.config.home) is None
    assert [one.name for one in threading.enumerate() if one.name in ("companion", "menu bar worker")] == []


def test_looking_opens_the_window_and_copies_the_context(env: AppEnv) -> None:
    session, mac = env.work(), env.mac

    def script() -> None:
        env.choose("Timeline…")
        (window,) = mac.windows
        (view,) = mac.web_views
        assert window._p["visible"]
        assert mac.singleton("NSApplication")._p["activationPolicy"] == 0  # regular
        env.choose("Search…")
        env.choose("Settings…")
        env.choose(next(one for one in mac.titles() if one.startswith("Yesterday")))
        latest = submenu(mac, "Latest Sessions")[0]
        env.choose("Latest Sessions", latest, "Show in Timeline")
        assert [script.split("=", 1)[-1].strip() for script in view._p["scripts"]] == [
            "document.querySelector('fm-search input')?.focus()",
            '"#/settings"',
            view._p["scripts"][2].split("=", 1)[-1].strip(),
            f'"#/s/{session}"',
        ]
        assert "#/day/" in view._p["scripts"][2]
        window.performClose_(None)
        assert mac.singleton("NSApplication")._p["activationPolicy"] == 1  # accessory
        env.choose("Copy Context")
        env.choose("Open Context File")

    env.play(script)
    assert "Rename the invoices" in next(iter(mac.pasteboard.values()))
    assert mac.opened == [f"file://{env.config.home}/context/context.md"]


def test_resume_opens_a_terminal_with_the_agents_own_command(env: AppEnv) -> None:
    env.work("agent-session")
    env.play(lambda: env.choose("Resume “Rename the invoices”"))
    (opened,) = env.mac.opened
    script = Path(opened.removeprefix("file://"))
    assert "claude --resume agent-session" in script.read_text()


@pytest.mark.parametrize(
    ("terminal", "bundle", "arguments"),
    [("iterm2", "com.googlecode.iterm2", None), ("ghostty", "com.mitchellh.ghostty", ["-e"]),
     ("wezterm", "com.github.wez.wezterm", ["start", "--"]), ("kitty", "net.kovidgoyal.kitty", [])],
)  # fmt: skip
def test_resume_uses_the_chosen_terminal(
    env: AppEnv, terminal: str, bundle: str, arguments: list[str] | None
) -> None:
    env.config = replace(env.config, terminal=terminal)
    env.mac.applications[bundle] = "/Applications/T.app"
    env.work("agent-session")
    env.play(lambda: env.choose("Resume “Rename the invoices”"))
    (opened,) = env.mac.opened
    if arguments is None:
        script, app = opened
        assert (Path(script.removeprefix("file://")).suffix, app) == (
            ".command",
            "file:///Applications/T.app",
        )
    else:
        app, passed = opened
        assert app == "file:///Applications/T.app"
        assert passed[:-1] == arguments
        assert "claude --resume agent-session" in Path(passed[-1]).read_text()


def test_a_terminal_that_is_gone_is_replaced_by_the_systems_choice(env: AppEnv) -> None:
    env.config = replace(env.config, terminal="kitty")
    env.work("agent-session")
    env.play(lambda: env.choose("Resume “Rename the invoices”"))
    assert [Path(opened).suffix for opened in env.mac.opened] == [".command"]


def test_resume_from_the_list_of_sessions_names_the_one_that_was_clicked(env: AppEnv) -> None:
    env.work("first", "Sort the photos")
    env.work("second")

    def script() -> None:
        older = submenu(env.mac, "Latest Sessions")[1]
        env.choose("Latest Sessions", older, "Resume")

    env.play(script)
    assert "claude --resume first" in Path(env.mac.opened[0].removeprefix("file://")).read_text()


def test_pausing_for_each_span_and_resuming(env: AppEnv) -> None:
    results: list[tuple[bool, bool]] = []

    def script() -> None:
        for span in ("15 Minutes", "1 Hour", "Until Tomorrow", "Until I Resume"):
            env.choose("Pause Recording" if not results else "Pause For", span)
            status = env.memory.recording.status()
            results.append((status["recording"], status["paused_until"] is None))
        assert env.mac.titles()[0] == "Paused until you resume"
        env.choose("Resume Recording")
        assert env.mac.titles()[0] == "Recording"

    env.play(script)
    assert results == [(False, False), (False, False), (False, False), (False, True)]
    assert [one["what"] for one in env.kept("gap")] == ["paused"]


def test_an_app_is_not_recorded_any_more_after_a_click(env: AppEnv) -> None:
    env.front("Chat")

    def script() -> None:
        env.app.refresh()
        env.settle()
        env.choose("Don’t Record Chat")
        assert "Don’t Record Chat" not in env.mac.titles()

    env.play(script)
    assert json.loads((env.config.home / "excluded-apps.json").read_text()) == ["com.example.chat"]


@pytest.mark.parametrize("span", ["Last 5 Minutes", "Last Hour", "Today"])
def test_forgetting_asks_first_and_then_forgets(env: AppEnv, span: str) -> None:
    session = env.work()

    def script() -> None:
        env.mac.answers.append("Cancel")
        env.choose("Forget", span)
        assert next(env.memory.history.events(session, kind="prompt"))["payload"] is not None
        env.mac.answers.append("Forget")
        env.choose("Forget", span)

    env.play(script)
    assert "cannot be undone" in str(env.mac.alerts[0].message)
    assert [one["payload"] for one in env.memory.history.events(session, kind="prompt")] == [None]


def test_a_question_is_answered_in_words(env: AppEnv) -> None:
    session = env.work()
    env.memory.sessions.handoff(session, to="human", note="Which folder?")
    env.mac.defaults["typed"] = "The second"

    def script() -> None:
        env.mac.answers.append("Answer")
        env.choose("? Which folder?")
        assert "? Which folder?" not in env.mac.titles()

    env.play(script)
    (answer,) = env.memory.history.events(session, kind="handoff.answer")
    assert (answer["payload"]["answer"], answer["actor"], answer["source"]) == (
        "The second",
        "person",
        "menubar",
    )


def test_an_agent_is_connected_after_its_edits_were_shown(env: AppEnv) -> None:
    settings = env.user / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")

    def script() -> None:
        row = next(one for one in submenu(env.mac, "Connected Agents") if one.startswith("claude-code"))
        env.mac.answers.append("Connect")
        env.choose("Connected Agents", row)
        assert any("connected by hooks" in one for one in submenu(env.mac, "Connected Agents"))

    env.play(script)
    assert "hooks" in json.loads(settings.read_text())


def test_launch_at_login_is_turned_on_and_off(env: AppEnv) -> None:
    states: list[int] = []

    def script() -> None:
        for _ in range(2):
            env.choose("Launch at Login")
            states.append(int(env.mac.item("Launch at Login")._p.get("state", 0)))

    env.play(script)
    assert states == [1, 0]


def test_a_login_item_that_waits_for_approval_says_where(env: AppEnv) -> None:
    env.mac.login_item_needs_approval = True
    env.play(lambda: env.choose("Launch at Login"))
    assert env.mac.opened == ["login items"]
    assert "System Settings" in str(env.mac.notifications[-1].body)


def test_the_version_is_reported(env: AppEnv) -> None:
    env.play(lambda: env.choose("About Fazm Memory"))
    assert env.mac.singleton("NSApplication")._p["aboutPanel"]


def test_quit_says_that_recording_stops_and_ends_the_app(env: AppEnv) -> None:
    def script() -> None:
        env.mac.choose("Quit Fazm Memory (Recording Stops)")
        env.mac.wait_for(lambda: env.mac.terminated)

    env.play(script)
    assert env.left == ["left"]


def test_no_item_of_the_menu_was_forgotten_by_these_tests(env: AppEnv) -> None:
    """Every command that a full menu offers is clicked here by its title, or above."""
    session = env.work()
    env.memory.sessions.handoff(session, to="human", note="Which?")
    env.front("Chat")
    env.world.trusted = False
    env.mac.defaults["typed"] = "yes"
    env.mac.answers.extend(["OK", "Answer", "Forget", "Forget", "Forget"])

    missed: list[str] = []

    def script() -> None:
        env.app.refresh()
        env.settle()
        env.mac.answers.clear()
        ids = [id_ for id_ in env.app.item.shown.commands() if id_ != "quit"]
        assert len(ids) >= 20
        # A question first, since nothing is answered while paused; last what takes other items away with it.
        for id_ in sorted(
            ids,
            key=lambda id_: (
                not id_.startswith("open-"),
                not id_.startswith("question"),
                id_[:6] in ("exclud", "forget"),
            ),
        ):
            env.mac.answers.append(
                "Answer" if id_.startswith("question") else "Forget" if id_.startswith("forget") else "OK"
            )
            item = _native(env, id_)
            if item is None:
                missed.append(id_)
            else:
                item._p["target"].callback_(item)
                env.settle()
            env.mac.answers.clear()

    env.play(script)
    assert (missed, env.messages) == ([], [])


def _native(env: AppEnv, id_: str) -> Any:
    """The item of the screen that has this id now, if it is still there."""

    def find(holder: Any) -> Any:
        for key in holder:
            if key == id_:
                return holder[key]._menuitem
            found = find(holder[key]) if hasattr(holder[key], "keys") else None
            if found is not None:
                return found
        return None

    return find(env.app.item.app.menu)


# -- what goes wrong ---------------------------------------------------------------------------------------


def test_a_click_that_fails_is_shown_and_the_next_one_works(
    env: AppEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fazm_memory.menubar import commands

    def broken(*_: Any) -> None:
        raise RuntimeError("the disk is on fire")

    def script() -> None:
        with monkeypatch.context() as patch:
            patch.setitem(commands.HANDLERS, "about", broken)
            env.choose("About Fazm Memory")
        env.choose("About Fazm Memory")

    env.play(script)
    titles = [str(one.title) for one in env.mac.notifications]
    assert titles == ["That did not work"]
    assert env.mac.singleton("NSApplication")._p["aboutPanel"]
    assert env.messages == ["RuntimeError: the disk is on fire"]


def test_every_verb_survives_what_it_calls(env: AppEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    from fazm_memory.menubar import commands
    from fazm_memory.menubar.menu import Command

    def broken(*_: Any) -> None:
        raise StoreBusy("the store is busy", hint="try again")

    def script() -> None:
        for verb in list(commands.HANDLERS):
            monkeypatch.setitem(commands.HANDLERS, verb, broken)
            env.app.clicked(Command(verb))  # type: ignore[arg-type]
            env.settle()

    env.play(script)
    reply = {(one.title, one.body) for one in env.mac.notifications}
    assert reply == {("The store is busy", "the store is busy. try again.")}


def test_without_a_bundle_trouble_is_reported_in_a_box(tmp_path: Path) -> None:
    with Mac(bundle_identifier=None).installed() as mac:
        env = AppEnv(mac, tmp_path)

        def script() -> None:
            mac.answers.append("OK")
            env.choose("Copy Context")
            assert "Launch at Login" not in mac.titles()

        env.play(script)
        env.memory.close()
        assert [str(one.title) for one in mac.alerts] == ["The context is on the clipboard"]
        assert mac.notifications == []


def test_when_the_status_cannot_be_read_the_menu_says_so(
    env: AppEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise OSError("no such device")

    def script() -> None:
        monkeypatch.setattr("fazm_memory.macos.app.gather_status", broken)
        env.app.refresh()
        env.settle()
        assert env.mac.titles()[0].startswith("Attention: The status cannot be read: OSError")

    env.play(script)


def test_when_recording_stops_over_a_mistake_of_ours_the_menu_says_so(
    env: AppEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fazm_memory.app.companion import Companion

    def broken(*_: Any) -> None:
        raise ValueError("a mistake")

    monkeypatch.setattr(Companion, "run", broken)

    def script() -> None:
        env.until(lambda: "Recording has stopped" in env.mac.titles()[0])

    env.play(script)
    assert env.messages == ["Recording has stopped: ValueError: a mistake"]


def test_a_second_app_says_that_one_is_enough_and_ends(env: AppEnv) -> None:
    env.mac.answers.append("OK")
    with single_instance(env.config.home):
        env.play(lambda: env.mac.wait_for(lambda: env.mac.terminated), settled=False)
    assert [one.title for one in env.mac.alerts] == ["Fazm Memory is already running"]


# -- other ways in -----------------------------------------------------------------------------------------


def test_opened_again_from_finder_the_window_comes(env: AppEnv) -> None:
    env.play(lambda: env.mac.reopen())
    assert [one._p["title"] for one in env.mac.windows] == ["Fazm Memory"]


def test_a_link_resumes_only_after_a_yes_and_a_hostile_one_is_refused(env: AppEnv) -> None:
    session = env.work()

    def script() -> None:
        env.mac.answers.append("Cancel")
        env.mac.open_url(f"fazm-memory://resume/{session}")
        env.settle()
        assert env.mac.opened == []
        env.mac.answers.append("Resume")
        env.mac.open_url(f"fazm-memory://resume/{session}")
        env.settle()
        env.mac.open_url("fazm-memory://resume/../../etc/passwd;rm -rf ~")
        env.settle()

    env.play(script)
    assert len(env.mac.opened) == 1
    assert env.mac.notifications[-1].body is not None
    assert "not a Fazm Memory link" in env.mac.notifications[-1].body


def test_a_new_question_is_a_notification_and_a_click_on_it_opens_the_session(env: AppEnv) -> None:
    session = env.work()

    def script() -> None:
        question = env.memory.sessions.handoff(session, to="human", note="Which folder?")["question"]
        env.app.refresh()
        env.settle()
        env.mac.tap(f"question-{session}-{question}")
        env.mac.settle()

    env.play(script)
    assert [(one.title, one.body) for one in env.mac.notifications] == [
        ("Rename the invoices is waiting for your answer", "Which folder?")
    ]
    (view,) = env.mac.web_views
    assert view._p["URL"]._p["text"] == f"fazm://app/#/s/{session}"


def test_a_missing_permission_is_fixed_in_the_systems_settings_and_nobody_is_asked_at_launch(
    env: AppEnv,
) -> None:
    env.world.trusted = False
    env.play(lambda: env.choose("Fix Permissions…"))
    assert (env.world.prompts, env.mac.alerts) == (0, [])
    assert env.mac.opened == ["x-apple.systempreferences:com.apple.preference.security?Privacy_Accessibility"]


def test_the_first_launch_shows_the_setup_once_and_asks_nothing_else(mac: Mac, tmp_path: Path) -> None:
    env = AppEnv(mac, tmp_path, fresh=True)
    env.world.trusted = False

    def script() -> None:
        (view,) = mac.web_views
        assert view._p["URL"]._p["text"] == "fazm://app/#/setup"
        assert mac.windows[0]._p["visible"]

    env.play(script)
    assert (env.world.prompts, mac.alerts, mac.notification_requests) == (0, [], 0)
    assert env.memory.setup.finished
    env.memory.close()


# -- manners -----------------------------------------------------------------------------------------------


def test_at_launch_the_focus_stays_where_it_is_and_nobody_is_asked_anything(env: AppEnv) -> None:
    """The app may be launched at login, while the user works in another app."""

    def script() -> None:
        assert not env.mac.singleton("NSApplication")._p.get("active")
        assert env.mac.notification_requests == 0

    env.play(script)
    assert env.mac.alerts == []


def test_the_system_is_told_not_to_slow_the_app_down(env: AppEnv) -> None:
    env.play(lambda: None)
    ((options, reason),) = env.mac.activities
    assert options == 0x00FFFFFF & ~(1 << 20)  # NSActivityUserInitiatedAllowingIdleSystemSleep
    assert reason


def test_logging_out_while_an_alert_waits_for_an_answer_quits_in_order(env: AppEnv) -> None:
    session = env.work()
    env.memory.sessions.handoff(session, to="human", note="Which folder?")

    def script() -> None:
        env.mac.while_alert = lambda: env.mac.singleton("NSApplication").terminate_(None)
        env.mac.choose("? Which folder?")
        env.mac.wait_for(lambda: env.mac.terminated)

    env.play(script)
    assert [one.title for one in env.mac.alerts] == ["An agent asks"]
    assert list(env.memory.history.events(session, kind="handoff.answer")) == []
    assert env.left == ["left"]
    assert env.messages == []  # nothing gave up waiting


def test_an_error_while_quitting_keeps_nobody_from_logging_out(
    env: AppEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise OSError("Carbon is gone")

    app = env.build()
    monkeypatch.setattr(app.hotkeys, "unregister", broken)
    env.play(lambda: None)
    assert env.left == ["left"]
    assert env.messages == ["Error while quitting: OSError: Carbon is gone"]


def test_an_error_on_the_main_thread_is_shown_in_the_menu_and_the_next_refresh_works(
    env: AppEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise RuntimeError("no window server")

    def script() -> None:
        with monkeypatch.context() as broken_system:
            broken_system.setattr(env.app, "_system_state", broken)
            env.pass_time(61)
        env.app.refresh()
        env.settle()
        assert "⚠ Something went wrong: RuntimeError: no window server" in env.mac.titles()

    env.play(script)
    assert env.messages == ["Something went wrong: RuntimeError: no window server"] * len(env.messages)


def test_the_first_notice_asks_for_permission_and_the_next_does_not(env: AppEnv) -> None:
    session = env.work()

    def script() -> None:
        for note in ("Which folder?", "Which name?"):
            env.memory.sessions.handoff(session, to="human", note=note)
            env.app.refresh()
            env.settle()

    env.play(script)
    assert env.mac.notification_requests == 1
    assert [one.body for one in env.mac.notifications] == ["Which folder?", "Which name?"]
