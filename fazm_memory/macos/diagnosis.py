"""The doctor on a Mac: everything we name is looked up in the running system, and each part is tried once.

The code was checked against Apple's SDK on another machine; this is where a Mac says whether it agrees. The
report is made to be pasted into an issue: no titles, no names of documents, nothing that was recorded.
"""

from __future__ import annotations

import secrets
import subprocess
from importlib import import_module
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

from fazm_memory.doctor import Check, Look
from fazm_memory.macos.bundle import bundle_identifier, bundle_path
from fazm_memory.macos.login_item import login_state
from fazm_memory.macos.permissions import permitted
from fazm_memory.macos.symbols import CLASSES, NAMES
from fazm_memory.memory import Memory

FINDER = "com.apple.finder"
SERVICE = "fazm-memory-doctor"
PATIENCE = 60.0
SHOWN = 8


def _symbols(memory: Memory) -> Check:
    """Every class, function, constant and selector that the macOS room uses."""
    missing, looked = [], 0
    for module, names in NAMES.items():
        framework = import_module(module)
        missing += [f"{module}.{name}" for name in names if not hasattr(framework, name)]
        looked += len(names)
    for module, classes in CLASSES.items():
        framework = import_module(module)
        for name, selectors in classes.items():
            cls = getattr(framework, name, None)
            if cls is None:
                missing.append(name)
            else:
                missing += [f"{name}.{one}" for one in selectors if not _answers(cls, one)]
            looked += 1 + len(selectors)
    if missing:
        shown = ", ".join(missing[:SHOWN]) + (" …" if len(missing) > SHOWN else "")
        return Check(
            "macOS symbols", "broken", f"{len(missing)} of {looked} are not here: {shown}", "report this"
        )
    return Check("macOS symbols", "ok", f"all {looked} that we use are here")


def _answers(cls: Any, name: str) -> bool:
    """Whether a class, or what it makes, answers to a selector, given as Python writes it."""
    return hasattr(cls, name) or bool(cls.instancesRespondToSelector_(name.replace("_", ":")))


def _bundle(memory: Memory) -> Check:
    identifier = bundle_identifier()
    if identifier is None:
        return Check(
            "app bundle", "warning", "run by a plain Python: no notifications, no launch at login",
            "the app has both",
        )  # fmt: skip
    return Check("app bundle", "ok", f"{identifier} at {bundle_path()}")


def _signing(memory: Memory) -> Check:
    if bundle_identifier() is None:
        return Check("signature", "not here", "only the app is signed")
    path = bundle_path()
    checked = _run("codesign", "--verify", "--strict", "--deep", path)
    if checked.returncode != 0:
        return Check("signature", "broken", checked.stderr.strip()[:300], "install the app again")
    told = _run("codesign", "--display", "--verbose=2", path).stderr
    if "Signature=adhoc" in told:
        hint = "permissions are lost with the next build, though System Settings still shows them on"
        return Check("signature", "warning", "valid, but made for this machine alone (ad hoc)", hint)
    authority = next(
        (line for line in told.splitlines() if line.startswith("Authority=")), "Authority=unknown"
    )
    return Check("signature", "ok", f"valid, by {authority.removeprefix('Authority=')}")


def _permission(memory: Memory) -> Check:
    if permitted():
        return Check("accessibility permission", "ok", "given: windows and documents in front are remembered")
    return Check(
        "accessibility permission",
        "warning",
        "missing: apps are remembered, their windows and documents are not",
        "System Settings → Privacy & Security → Accessibility; if it is on there, turn it off and on",
    )


def _accessibility(memory: Memory) -> Check:
    """Ask the Finder for its name: the shortest round trip there is."""
    name = "accessibility round trip"
    if not permitted():
        return Check(name, "not here", "not tried without the permission")
    finder = list(NSRunningApplication.runningApplicationsWithBundleIdentifier_(FINDER))
    if not finder:
        return Check(name, "not here", "the Finder is not running")
    element = AXUIElementCreateApplication(finder[0].processIdentifier())
    AXUIElementSetMessagingTimeout(element, 2.0)
    error, title = AXUIElementCopyAttributeValue(element, kAXTitleAttribute, None)
    if error != kAXErrorSuccess or not title:
        hint = "turn the permission off and on again in System Settings"
        return Check(name, "broken", f"the Finder did not answer (error {error})", hint)
    return Check(name, "ok", "the Finder answered")


def _login(memory: Memory) -> Check:
    state = login_state()
    if state is None:
        return Check("login item", "not here", "only the app can be launched at login")
    return Check("login item", "ok", "launched at login" if state else "off: the menu turns it on")


def _keychain(memory: Memory) -> Check:
    """Put something there, read it, take it away."""
    word = secrets.token_hex(8)
    try:
        keyring.set_password(SERVICE, SERVICE, word)
        read = keyring.get_password(SERVICE, SERVICE)
        keyring.delete_password(SERVICE, SERVICE)
    except KeyringError as error:
        hint = "unlock the login keychain; until then the key is a file that only you can read"
        return Check("Keychain", "warning", f"not usable: {error}", hint)
    if read != word:
        return Check("Keychain", "broken", "what was put there came back different", "please report this")
    return Check(
        "Keychain", "ok", f"written, read and removed through {type(keyring.get_keyring()).__name__}"
    )


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


MAC_CHECKS: list[tuple[str, Look]] = [
    ("macOS symbols", _symbols),
    ("app bundle", _bundle),
    ("signature", _signing),
    ("accessibility permission", _permission),
    ("accessibility round trip", _accessibility),
    ("login item", _login),
    ("Keychain", _keychain),
]
