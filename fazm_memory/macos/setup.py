"""`SetupSystem` on a Mac, and the doctor's checks.

It knows where the app is, the permission and the login item.

Every symbol that we use is looked up, and each part is tried once. The report can be pasted into an issue: it
contains no titles, no document names and nothing recorded.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import subprocess
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import keyring
from AppKit import NSRunningApplication
from ApplicationServices import (
    AXUIElementCopyAttributeValue,
    AXUIElementCreateApplication,
    AXUIElementSetMessagingTimeout,
    kAXErrorSuccess,
    kAXTitleAttribute,
)
from keyring.errors import KeyringError

from fazm_memory.app import Check, CheckFunction, Memory, PlainSystem, is_temporary_place
from fazm_memory.config import Config
from fazm_memory.errors import InvalidRequest
from fazm_memory.macos.system import (
    bundle_identifier,
    bundle_path,
    call_on_main,
    has_permission,
    login_item_state,
    open_permission_settings,
    prompt_permission,
    set_login_item,
)
from fazm_memory.paths import private_folder, write_private
from fazm_memory.translation import translate

APPLICATIONS = Path("/Applications")
PROMPTED = "permission-prompted"
COPY_SECONDS = 120.0
# Opens the copy when this process has ended: two at once would be refused.
REOPEN = "while kill -0 {pid} 2>/dev/null; do sleep 0.2; done; exec /usr/bin/open {app}"

Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]


def run_command(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=COPY_SECONDS, check=False)


def start_detached(command: Sequence[str]) -> None:
    subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip


class MacSetup(PlainSystem):
    """The setup of the app.

    With `in_app` false it is the command line of the app, in a terminal.

    A terminal has its own permissions, so there the app's are not shown.
    """

    def __init__(
        self,
        config: Config,
        *,
        in_app: bool,
        leave: Callable[[], None] = lambda: None,
        run: Run = run_command,
        start: Callable[[Sequence[str]], None] = start_detached,
        applications: Path = APPLICATIONS,
    ) -> None:
        super().__init__(config)
        self.home, self.user_home = config.home, config.user_home
        self.in_app, self.leave = in_app, leave
        self.run, self.start, self.applications = run, start, applications

    def misplaced(self) -> bool:
        if not self.in_app or bundle_identifier() is None:
            return False
        place = bundle_path()
        return is_temporary_place(place) or place.startswith(f"{self.user_home}/Downloads/")

    def move(self) -> str:
        source = bundle_path()
        target = self.applications / os.path.basename(source)
        if target.exists():
            raise InvalidRequest(
                translate("There is already a copy in {folder}.", folder=self.applications),
                hint=translate("Quit this one, then replace that copy in the Finder and open it."),
            )
        copied = self.run(["/usr/bin/ditto", source, str(target)])
        if copied.returncode != 0:
            raise InvalidRequest(
                translate("The app could not be copied: {why}", why=copied.stderr.strip()[:200]),
                hint=translate("Quit it, then drag it to Applications in the Finder."),
            )
        # Without the mark of a download the copy runs from where it is.
        self.run(["/usr/bin/xattr", "-dr", "com.apple.quarantine", str(target)])
        (self.home / "setup-done").unlink(missing_ok=True)  # the copy goes on with the setup
        script = REOPEN.format(pid=os.getpid(), app=shlex.quote(str(target)))
        self.start(["/bin/sh", "-c", script])
        self.leave()
        return translate("The copy in {folder} opens now.", folder=self.applications)

    def permitted(self) -> bool | None:
        return call_on_main(has_permission) if self.in_app else None

    def ask_permission(self) -> None:
        """The system asks once in the life of an app. After that only its settings help."""
        asked = self.home / PROMPTED
        if asked.exists():
            call_on_main(open_permission_settings)
            return
        write_private(private_folder(self.home) / PROMPTED, b"asked once\n", sync=False)
        call_on_main(prompt_permission)

    def login(self) -> bool | None:
        if bundle_identifier() is None:
            return super().login()
        return call_on_main(login_item_state) if self.in_app else login_item_state()

    def set_login(self, on: bool) -> str:
        if bundle_identifier() is None:
            return super().set_login(on)
        return call_on_main(lambda: set_login_item(on)) if self.in_app else set_login_item(on)


FINDER = "com.apple.finder"
SERVICE = "fazm-memory-doctor"
COMMAND_SECONDS = 60.0
SHOWN = 8
SYMBOLS = Path(__file__).with_name("symbols.json")  # generated by tests/appkit/sdk/symbols.py


def _symbols(memory: Memory) -> Check:
    """Look up every class, function, constant and selector that this package uses."""
    missing, looked = [], 0
    symbols = json.loads(SYMBOLS.read_text(encoding="utf-8"))
    for module, names in symbols["names"].items():
        framework = import_module(module)
        missing += [f"{module}.{name}" for name in names if not hasattr(framework, name)]
        looked += len(names)
    for module, classes in symbols["classes"].items():
        framework = import_module(module)
        for name, selectors in classes.items():
            cls = getattr(framework, name, None)
            if cls is None:
                missing.append(name)
            else:
                missing += [f"{name}.{selector}" for selector in selectors if not _has(cls, selector)]
            looked += 1 + len(selectors)
    if missing:
        shown = ", ".join(missing[:SHOWN]) + (" …" if len(missing) > SHOWN else "")
        return Check(
            "macOS symbols",
            "broken",
            f"{len(missing)} of {looked} are missing: {shown}",
            "Please report this.",
        )
    return Check("macOS symbols", "ok", f"all {looked} symbols are present")


def _has(cls: Any, name: str) -> bool:
    """Whether a class or its instances have a selector, written as in Python."""
    return hasattr(cls, name) or bool(cls.instancesRespondToSelector_(name.replace("_", ":")))


def _bundle(memory: Memory) -> Check:
    identifier = bundle_identifier()
    if identifier is None:
        return Check(
            "app bundle", "warning", "plain Python: no notifications, no launch at login",
            "Use the app for these.",
        )  # fmt: skip
    return Check("app bundle", "ok", f"{identifier} at {bundle_path()}")


def _signing(memory: Memory) -> Check:
    if bundle_identifier() is None:
        return Check("signature", "not here", "only the app is signed")
    path = bundle_path()
    checked = _run("codesign", "--verify", "--strict", "--deep", path)
    if checked.returncode != 0:
        return Check("signature", "broken", checked.stderr.strip()[:300], "Install the app again.")
    details = _run("codesign", "--display", "--verbose=2", path).stderr
    if "Signature=adhoc" in details:
        hint = "The next build loses its permissions, although System Settings still shows them as on."
        return Check("signature", "warning", "valid, but only on this machine (ad hoc)", hint)
    authority = next(
        (line for line in details.splitlines() if line.startswith("Authority=")), "Authority=unknown"
    )
    return Check("signature", "ok", f"valid, by {authority.removeprefix('Authority=')}")


def _permission(memory: Memory) -> Check:
    """Whether the companion has it.

    The permission of this process may be that of the terminal around it.
    """
    name = "accessibility permission"
    state = memory.recording.desktop()
    if state is None:
        return Check(
            name, "not here", "unknown: the app is not running, and only the app can say",
            "Open Fazm Memory, then run the doctor again.",
        )  # fmt: skip
    if state["permitted"]:
        return Check(name, "ok", "given: windows and documents are recorded")
    return Check(
        name,
        "warning",
        "missing: apps are recorded, their windows and documents are not",
        "System Settings → Privacy & Security → Accessibility: turn Fazm Memory on. If it is on, turn it off"
        " and on again.",
    )


def _accessibility(memory: Memory) -> Check:
    """Ask the Finder for its name."""
    name = "accessibility round trip"
    if not has_permission():
        return Check(
            name, "not here", "not tried: the terminal that runs the doctor has no permission of its own"
        )
    finder = list(NSRunningApplication.runningApplicationsWithBundleIdentifier_(FINDER))
    if not finder:
        return Check(name, "not here", "the Finder is not running")
    element = AXUIElementCreateApplication(finder[0].processIdentifier())
    AXUIElementSetMessagingTimeout(element, 2.0)
    error, title = AXUIElementCopyAttributeValue(element, kAXTitleAttribute, None)
    if error != kAXErrorSuccess or not title:
        hint = "Turn the permission off and on again in System Settings."
        return Check(name, "broken", f"the Finder did not answer (error {error})", hint)
    return Check(name, "ok", "the Finder answered")


def _login(memory: Memory) -> Check:
    state = login_item_state()
    if state is None:
        return Check("login item", "not here", "only the app can be launched at login")
    return Check("login item", "ok", "launched at login" if state else "off; can be turned on in the menu")


def _keychain(memory: Memory) -> Check:
    """Write an entry, read it and delete it."""
    word = secrets.token_hex(8)
    try:
        keyring.set_password(SERVICE, SERVICE, word)
        read = keyring.get_password(SERVICE, SERVICE)
        keyring.delete_password(SERVICE, SERVICE)
    except KeyringError as error:
        hint = "Unlock the login keychain. Until then the key is a file that only you can read."
        return Check("Keychain", "warning", f"not usable: {error}", hint)
    if read != word:
        return Check(
            "Keychain",
            "broken",
            "the value that was read differs from what was written",
            "Please report this.",
        )
    return Check(
        "Keychain", "ok", f"written, read and removed through {type(keyring.get_keyring()).__name__}"
    )


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)


MAC_CHECKS: list[tuple[str, CheckFunction]] = [
    ("macOS symbols", _symbols),
    ("app bundle", _bundle),
    ("signature", _signing),
    ("accessibility permission", _permission),
    ("accessibility round trip", _accessibility),
    ("login item", _login),
    ("Keychain", _keychain),
]
