"""`run` on a Mac: menu bar, window with the real page, and the server for browsers, in one process."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.cli.commands import run
from fazm_memory.cli.main import OPENED
from fazm_memory.errors import ConfigError
from fazm_memory.loopback.listener import published_port
from fazm_memory.translation import set_language
from tests.appkit.ax_world import World
from tests.appkit.standin.app import Exited
from tests.appkit.standin.mac import Mac

ROOT = Path(__file__).parents[2]
# The real `run` on a Mac, with everything that starts a thread, over the stand-in.
RUNNING = """
import argparse, sys, threading
from tests.appkit.ax_world import World
from tests.appkit.standin.app import Exited
from tests.appkit.standin.mac import Mac
from fazm_memory.cli.commands import run

with Mac().installed() as mac:
    World().join(mac)
    def script():
        print("ready", flush=True)
        mac.wait_for(lambda: mac.terminated)
    mac.script = script
    try:
        run.run_menu_bar(argparse.Namespace(now=None, json=False, no_page=False, once=False))
    except Exited:
        left = [one.name for one in threading.enumerate() if one.name in ("companion", "menu bar worker")]
        print("quit", left, flush=True)
"""


def test_the_window_shows_the_real_page_and_writes_through_the_bridge(
    mac: Mac, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    (tmp_path / "user").mkdir()
    monkeypatch.setenv("FAZM_MEMORY_HOME", str(home))
    monkeypatch.setenv("FAZM_MEMORY_KEY", "file")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    World().join(mac)
    seen: dict[str, Any] = {}

    def script() -> None:
        mac.choose("Timeline…")
        mac.wait_for(lambda: bool(mac.web_views))
        view = mac.web_views[0]
        page = mac.fetch(view, "fazm://app/")
        seen["page"] = (page.status, page.headers["content-type"], b"<html" in page.body)
        seen["csp"] = "default-src 'none'" in page.headers["content-security-policy"]
        status = mac.fetch(view, "fazm://app/api/v1/status")
        seen["recording"] = json.loads(status.body)["recording"]
        seen["paused"] = mac.message(view, "fazm", {"path": "/api/v1/recording", "body": '{"pause": 900}'})
        seen["after"] = json.loads(mac.fetch(view, "fazm://app/api/v1/status").body)["recording"]
        seen["lost"] = mac.fetch(view, "fazm://app/../../etc/passwd").status
        seen["served"] = published_port(home)
        mac.singleton("NSApplication").terminate_(None)
        mac.wait_for(lambda: mac.terminated)

    mac.script = script
    with pytest.raises(Exited):
        run.run_menu_bar(argparse.Namespace(now=None, json=False, no_page=False, once=False))
    assert seen["page"] == (200, "text/html; charset=utf-8", True)
    assert seen["csp"]
    assert (seen["recording"], seen["paused"][0], seen["after"]) == (True, 200, False)
    assert seen["lost"] == 404
    assert seen["served"] is not None
    assert published_port(home) is None
    for memory in OPENED:
        memory.close()
    OPENED.clear()
    assert "in the menu bar" in capsys.readouterr().out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_quits_the_app_in_order_though_its_threads_started_before(
    number: signal.Signals, tmp_path: Path
) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "FAZM_MEMORY_KEY": "file"}
    env["FAZM_MEMORY_HOME"] = str(tmp_path / "home")
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNING], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        while "ready" not in (line := process.stdout.readline()):
            assert line, process.wait(20)
        process.send_signal(number)
        assert process.stdout.readline() == "quit []\n"
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()


def test_a_signal_that_comes_before_the_app_is_built_is_not_lost() -> None:
    quit_called = threading.Event()
    with run.QuitSignals() as signals:
        os.kill(os.getpid(), signal.SIGTERM)
        signals.then(quit_called.set)
        assert quit_called.wait(20)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_an_app_that_cannot_start_says_why_instead_of_ending_silently(
    mac: Mac, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text("language = [")
    monkeypatch.setenv("FAZM_MEMORY_HOME", str(home))
    mac.languages = ["de-DE"]
    mac.answers.append("Beenden")
    with pytest.raises(ConfigError):
        run.run_menu_bar(argparse.Namespace(now=None, json=False, no_page=False, once=False))
    (alert,) = mac.alerts
    assert alert.title == "Fazm Memory kann nicht starten"
    assert "config.toml" in str(alert.message)
    set_language("en")
