"""pyobjc as it is published: the sdists, which carry the scan of Apple's SDK, and the macOS wheels, which
carry the metadata pyobjc itself reads. Neither can be installed here, so they are fetched as files.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import tomllib
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VERSION = "12.2.2"
SCAN = "arm64-26.5.fwinfo"
PACKAGES = (
    "pyobjc-framework-ApplicationServices",
    "pyobjc-framework-Cocoa",
    "pyobjc-framework-Quartz",
    "pyobjc-framework-ServiceManagement",
    "pyobjc-framework-UserNotifications",
    "pyobjc-framework-WebKit",
)


@dataclass(frozen=True)
class Published:
    """All packages together: `scans` by package and folder (`cocoa/raw.AppKit`), `metadata` by module."""

    scans: dict[str, str]
    metadata: dict[str, str]


def fetch(folder: Path) -> Published:
    """Whatever is not in `folder` yet is fetched into it, from the index that uv is set up with."""
    folder.mkdir(parents=True, exist_ok=True)
    scans: dict[str, str] = {}
    metadata: dict[str, str] = {}
    for package in _resolved(folder):
        short = package["name"].removeprefix("pyobjc-framework-")
        with tarfile.open(fileobj=io.BytesIO(_file(folder, package["sdist"]))) as sdist:
            for member in sdist.getmembers():
                path = Path(member.name)
                if path.name == SCAN and (file := sdist.extractfile(member)) is not None:
                    scans[f"{short}/{path.parent.name}"] = file.read().decode()
        with zipfile.ZipFile(io.BytesIO(_file(folder, package["wheels"][0]))) as wheel:
            for name in wheel.namelist():
                if name.endswith("/_metadata.py"):
                    metadata[".".join(Path(name).parent.parts)] = wheel.read(name).decode()
    return Published(scans, metadata)


def _resolved(folder: Path) -> list[dict[str, Any]]:
    wanted = folder / "requirements.in"
    wanted.write_text("".join(f"{name}=={VERSION}\n" for name in PACKAGES))
    lock = folder / "pylock.toml"
    options = (
        "--no-deps --quiet --format pylock.toml --python-platform aarch64-apple-darwin --python-version 3.12"
    )
    uv = Path(sys.executable).with_name("uv")
    subprocess.run(
        [uv, "pip", "compile", wanted, "-o", lock, *options.split()], check=True, stdout=subprocess.DEVNULL
    )
    packages: list[dict[str, Any]] = tomllib.loads(lock.read_text())["packages"]
    return packages


def _file(folder: Path, entry: dict[str, Any]) -> bytes:
    address, wanted = str(entry["url"]), entry["hashes"]["sha256"]
    kept = folder / address.rpartition("/")[2]
    if not kept.exists():
        with urllib.request.urlopen(address) as answer:
            kept.write_bytes(answer.read())
    content = kept.read_bytes()
    if hashlib.sha256(content).hexdigest() != wanted:
        raise ValueError(f"{kept} is not the file that was published: remove it and try again")
    return content
