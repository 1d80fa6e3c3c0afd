"""What the macOS room imports of pyobjc is a dependency there, of the one release we checked against."""

from __future__ import annotations

import ast
import re
import tomllib

from tests.appkit.sdk.published import VERSION
from tests.appkit.sdk.stubs import ROOM, ROOT

PACKAGES = {
    "objc": "pyobjc-core",
    "PyObjCTools": "pyobjc-core",
    "AppKit": "pyobjc-framework-Cocoa",
    "CoreFoundation": "pyobjc-framework-Cocoa",
    "Foundation": "pyobjc-framework-Cocoa",
    "ApplicationServices": "pyobjc-framework-ApplicationServices",
    "HIServices": "pyobjc-framework-ApplicationServices",
    "Quartz": "pyobjc-framework-Quartz",
    "ServiceManagement": "pyobjc-framework-ServiceManagement",
    "UserNotifications": "pyobjc-framework-UserNotifications",
    "WebKit": "pyobjc-framework-WebKit",
    "rumps": "rumps",
}


def wanted() -> dict[str, str]:
    """Package → version, of what is wanted on macOS only."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    found = (re.fullmatch(r"([\w-]+)==([\d.]+); sys_platform == 'darwin'", one) for one in listed)
    return {one[1]: one[2] for one in found if one is not None}


def imported() -> set[str]:
    modules: set[str] = set()
    for path in ROOM.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                modules.add(str(node.module))
            elif isinstance(node, ast.Import):
                modules |= {one.name for one in node.names}
    return {one.partition(".")[0] for one in modules}


def test_what_the_macos_room_imports_is_installed_on_macos() -> None:
    needed = {PACKAGES[module] for module in imported() & PACKAGES.keys()}
    assert needed <= wanted().keys()


def test_all_of_pyobjc_is_of_the_release_that_the_database_was_made_from() -> None:
    versions = {version for name, version in wanted().items() if name.startswith("pyobjc")}
    assert versions == {VERSION}
