"""The macOS app: `python setup_app.py py2app` on a Mac makes dist/Fazm Memory.app.

What goes into it is data here, so that it can be checked on any machine: the Info.plist, the packages, the
icons. py2app itself is needed only to build.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
NAME = "Fazm Memory"
IDENTIFIER = "org.fazm.memory"
MINIMUM = "13.0"  # SMAppService, and the oldest system that still gets security updates beside it


def version() -> str:
    text = (ROOT / "fazm_memory" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'__version__ = "([^"]+)"', text)
    if found is None:
        raise SystemExit("fazm_memory/__init__.py names no version")
    return found[1]


def info_plist() -> dict[str, Any]:
    """What the system reads before any of our code runs."""
    return {
        "CFBundleName": NAME,
        "CFBundleDisplayName": NAME,
        "CFBundleIdentifier": IDENTIFIER,
        "CFBundleShortVersionString": version(),
        "CFBundleVersion": version(),
        "CFBundleIconFile": "FazmMemory.icns",
        # Our texts have their own table. These are for what the system adds: panels, menus of text fields.
        "CFBundleDevelopmentRegion": "en",
        "CFBundleLocalizations": ["en", "de"],
        "LSMinimumSystemVersion": MINIMUM,
        "LSUIElement": True,  # a menu bar item, not an app in the Dock
        "LSApplicationCategoryType": "public.app-category.productivity",
        "LSMultipleInstancesProhibited": True,
        "NSHighResolutionCapable": True,
        "NSSupportsAutomaticTermination": False,  # it records: the system must not end it for being idle
        "NSSupportsSuddenTermination": False,
        "NSHumanReadableCopyright": "MIT License",
        "CFBundleURLTypes": [
            {
                "CFBundleURLName": IDENTIFIER,
                "CFBundleTypeRole": "Viewer",
                "CFBundleURLSchemes": ["fazm-memory"],
            }
        ],
        "NSDesktopFolderUsageDescription": "To remember what your agent changes in folders on your desktop.",
        "NSDocumentsFolderUsageDescription": "To remember what your agent changes in your documents.",
        "NSDownloadsFolderUsageDescription": "To remember what your agent changes in your downloads.",
        "NSRemovableVolumesUsageDescription": "To remember what your agent changes on this volume.",
        "NSNetworkVolumesUsageDescription": "To remember what your agent changes on this volume.",
    }


# Whole packages: they find parts of themselves by name, carry data, or hold compiled code.
PACKAGES = (
    "fazm_memory", "ahocorasick_rs", "anyio", "cryptography", "jsonschema", "jsonschema_specifications",
    "keyring", "mcp", "obstore", "orjson", "pathspec", "playhouse", "pydantic", "pydantic_core", "re2",
    "rumps", "sqlcipher3", "starlette", "truststore", "uvicorn", "watchdog", "zstandard",
)  # fmt: skip
MODULES = (
    "peewee",
    "_cffi_backend",  # imported only from inside cryptography's compiled code, where nothing sees it
)
LEFT_OUT = (
    "tkinter", "test", "unittest", "pip", "setuptools", "playwright",
    # Frameworks whose adapters are extras: who uses them has them.
    "agents", "claude_agent_sdk", "langchain_core", "langgraph",
)  # fmt: skip


def resources() -> list[str]:
    """Images of the menu bar, texts of the system's questions, and two scripts.

    One script is the command that Homebrew links to, the other removes the app.
    """
    found = sorted([*(ROOT / "resources" / "menu").glob("*Template*"), *(ROOT / "resources").glob("*.lproj")])
    scripts = ("packaging/bin/fazm-memory", "packaging/uninstall")
    return [*(str(path.relative_to(ROOT)) for path in found), *scripts]


def options() -> dict[str, Any]:
    return {
        "argv_emulation": False,
        "arch": "universal2",
        "iconfile": "resources/FazmMemory.icns",
        "plist": info_plist(),
        "packages": list(PACKAGES),
        "includes": list(MODULES),
        "excludes": list(LEFT_OUT),
        "extra_scripts": ["packaging/fazm-memory.py"],
        "resources": resources(),
        # The working directory stays the caller's: a relative path must not point into the signed bundle.
        "no_chdir": True,
        "strip": True,
    }


def build_command() -> Any:
    """py2app's command, as this project needs it."""
    from py2app.build_app import py2app

    class Build(py2app):  # type: ignore[misc]
        def finalize_options(self) -> None:
            # py2app refuses a project that declares dependencies. Ours come from the lock file.
            self.distribution.install_requires = []
            super().finalize_options()

        def collect_recipedict(self) -> dict[str, Any]:
            # This recipe sets SSL_CERT_FILE to the certificates of the builder's Python, which has none
            # unless somebody installed them. obstore would then trust no server. The system's are used.
            return {name: check for name, check in super().collect_recipedict().items() if name != "sslmod"}

    return Build


def build() -> None:
    from setuptools import setup

    commands = {"py2app": build_command()}
    setup(name=NAME, app=["packaging/app.py"], cmdclass=commands, options={"py2app": options()})


if __name__ == "__main__":
    if sys.platform != "darwin":
        raise SystemExit("the app is built on a Mac; `fazm-memory run` is the same companion without a face")
    build()
