"""The doctor on a Mac: it looks up what we really use, and each check tells well from ill."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keyring
import pytest

from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from fazm_memory.watch.foreground_app import DesktopState
from tests.appkit.ax_world import World
from tests.appkit.sdk import symbols
from tests.appkit.standin.mac import Mac
from tests.appkit.standin.runtime import taught


@taught("NSObject", "+instancesRespondToSelector:")
def _instances_respond(mac: Mac, cls: Any, selector: str) -> bool:
    return mac.runtime.find(cls.native, "-" + selector) is not None


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    made = Memory(Config(tmp_path / "home", tmp_path, key="file"), lambda: 1_790_000_000_000_000)
    yield made
    made.close()


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A keychain of the test's own."""
    words: dict[str, str] = {}
    monkeypatch.setattr(keyring, "set_password", lambda service, name, word: words.update({service: word}))
    monkeypatch.setattr(keyring, "get_password", lambda service, name: words.get(service))
    monkeypatch.setattr(keyring, "delete_password", lambda service, name: words.pop(service))
    return words


def checks(memory: Memory) -> dict[str, Any]:
    from fazm_memory.macos.setup import MAC_CHECKS

    return {name: look(memory) for name, look in MAC_CHECKS}


def test_the_list_of_symbols_is_what_the_source_uses() -> None:
    assert symbols.FILE.read_text(encoding="utf-8") == symbols.text(), (
        "make it anew: `make stubs`, then `python -m tests.appkit.sdk.symbols`"
    )


def test_on_a_mac_that_is_well_every_check_says_so(
    mac: Mac, memory: Memory, kept: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World()
    world.join(mac)
    finder = world.app("Finder", "com.apple.finder")
    mac.running.append(
        mac.make("NSRunningApplication", bundleIdentifier="com.apple.finder", processIdentifier=finder.pid)
    )
    mac.functions["AXUIElementCopyAttributeValue"] = lambda element, name, out: (0, "Finder")
    mac.functions["AXUIElementSetMessagingTimeout"] = lambda element, seconds: 0
    from fazm_memory.macos import setup

    monkeypatch.setattr(type(memory.recording), "desktop", lambda self: {"permitted": True, "watching": True})

    def codesign(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 0, "", "Authority=Developer ID Application: Someone\n")

    monkeypatch.setattr(setup, "_run", codesign)
    found = checks(memory)
    assert {name: one.verdict for name, one in found.items()} == dict.fromkeys(found, "ok")
    assert "all " in found["macOS symbols"].detail
    assert "Developer ID" in found["signature"].detail
    assert kept == {}


def test_without_permission_and_bundle_the_report_says_what_that_means(
    tmp_path: Path, memory: Memory, kept: dict[str, str]
) -> None:
    with Mac(bundle_identifier=None).installed() as mac:
        world = World()
        world.join(mac)
        world.trusted = False
        found = checks(memory)
    assert {name: one.verdict for name, one in found.items()} == {
        "macOS symbols": "ok",
        "app bundle": "warning",
        "signature": "not here",
        "accessibility permission": "not here",
        "accessibility round trip": "not here",
        "login item": "not here",
        "Keychain": "ok",
    }
    assert "Open Fazm Memory" in found["accessibility permission"].hint


@pytest.mark.parametrize(("permitted", "verdict"), [(True, "ok"), (False, "warning")])
def test_the_permission_is_that_of_the_companion_not_of_the_terminal(
    mac: Mac, memory: Memory, monkeypatch: pytest.MonkeyPatch, permitted: bool, verdict: str
) -> None:
    world = World()
    world.join(mac)
    world.trusted = not permitted  # what the terminal may do
    from fazm_memory.macos import setup

    state = {"permitted": permitted, "watching": True}
    monkeypatch.setattr(type(memory.recording), "desktop", lambda self: state)
    assert setup._permission(memory).verdict == verdict


def test_a_symbol_that_this_mac_does_not_have_is_named(
    mac: Mac, memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from fazm_memory.macos import setup

    symbols = tmp_path / "symbols.json"
    classes = {"AppKit": {"NSNoSuchClass": [], "NSMenu": ["goAway_"]}}
    symbols.write_text(json.dumps({"names": {"AppKit": ["NSNoSuchConstant"]}, "classes": classes}))
    monkeypatch.setattr(setup, "SYMBOLS", symbols)
    results = setup._symbols(memory)
    assert results.verdict == "broken"
    assert "AppKit.NSNoSuchConstant" in results.detail
    assert "NSNoSuchClass, NSMenu.goAway_" in results.detail


@pytest.mark.parametrize(
    ("code", "expected", "verdict"),
    [(1, "invalid signature", "broken"), (0, "Signature=adhoc\n", "warning")],
)
def test_a_signature_that_is_broken_or_of_this_machine_alone_is_reported(
    mac: Mac, memory: Memory, monkeypatch: pytest.MonkeyPatch, code: int, expected: str, verdict: str
) -> None:
    from fazm_memory.macos import setup

    monkeypatch.setattr(
        setup, "_run", lambda *command: subprocess.CompletedProcess(command, code, "", expected)
    )
    assert setup._signing(memory).verdict == verdict


def test_the_companion_starts_records_and_ends_in_a_home_of_its_own(memory: Memory) -> None:
    from fazm_memory.app.doctor import run_self_test

    result = run_self_test(memory)
    assert result.verdict == "ok", result.detail
    assert not memory.config.home.exists()


def test_a_check_that_fails_says_in_words_what_to_do(
    mac: Mac, memory: Memory, kept: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything that can go wrong at once: nothing is broken without a way on."""
    world = World()
    world.join(mac)
    world.trusted = False

    def refused(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", "a sealed resource is missing or invalid")

    def locked(*_: str) -> None:
        raise keyring.errors.KeyringError("the keychain is locked")

    monkeypatch.setattr("fazm_memory.macos.setup._run", refused)
    monkeypatch.setattr(keyring, "set_password", locked)
    monkeypatch.setattr("fazm_memory.watch.foreground_app.read_state", lambda home: DesktopState(True, False))
    monkeypatch.setattr("fazm_memory.app.recording.companion_pid", lambda home: 1)
    found = checks(memory)
    wrong = {name: check for name, check in found.items() if check.verdict in ("warning", "broken")}
    assert {"signature", "accessibility permission", "Keychain"} <= set(wrong)
    for check in wrong.values():
        assert check.detail
        assert check.hint.endswith(".")
