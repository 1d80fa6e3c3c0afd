"""`run` on a Mac: menu bar, window with the real page, and the server for browsers, in one process."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.cli import menu_bar
from fazm_memory.cli.main import OPENED
from fazm_memory.loopback.announced import served_at
from tests.appkit.ax_world import World
from tests.appkit.standin.app import Exited
from tests.appkit.standin.mac import Mac

WAITING = """
import os, sys
from fazm_memory.cli.menu_bar import quit_on_signals
import threading
quit_on_signals(lambda: os._exit(7))
print("ready", flush=True)
threading.Event().wait(60)
"""


def test_the_window_shows_the_real_page_and_writes_through_the_bridge(
    mac: Mac, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    (tmp_path / "user").mkdir()
    monkeypatch.setenv("FAZM_MEMORY_HOME", str(home))
    monkeypatch.setenv("FAZM_MEMORY_KEY", "file")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setattr(menu_bar, "quit_on_signals", lambda quit_: None)
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
        seen["served"] = served_at(home)
        mac.singleton("NSApplication").terminate_(None)
        mac.wait_for(lambda: mac.terminated)

    mac.script = script
    with pytest.raises(Exited):
        menu_bar.run_menu_bar(argparse.Namespace(now=None, json=False, no_page=False, once=False))
    assert seen["page"] == (200, "text/html; charset=utf-8", True)
    assert seen["csp"]
    assert (seen["recording"], seen["paused"][0], seen["after"]) == (True, 200, False)
    assert seen["lost"] == 404
    assert seen["served"] is not None
    assert served_at(home) is None
    for memory in OPENED:
        memory.close()
    OPENED.clear()
    assert "in the menu bar" in capsys.readouterr().out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_is_heard_though_the_main_thread_belongs_to_the_system(number: signal.Signals) -> None:
    process = subprocess.Popen([sys.executable, "-c", WAITING], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(20) == 7
    finally:
        process.kill()
        process.communicate()
