"""Real object stores on this machine: SeaweedFS and rclone's server.

For benchmarks and tests.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fazm_memory.errors import FazmMemoryError
from fazm_memory.sync import open_transport

BIN = Path(sys.executable).parent
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
READY = 180.0  # seconds
OPTIONS = {"access_key_id": "key", "secret_access_key": "secret", "region": "us-east-1"}


def free_port() -> int:
    """A port that is free, also 10,000 above, where SeaweedFS listens too."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            try:
                second.bind(("127.0.0.1", port + 10_000))
            except (OSError, OverflowError):
                continue
            return port


def seaweedfs(folder: Path, port: int) -> list[str]:
    identity = {
        "name": "test",
        "credentials": [{"accessKey": "key", "secretKey": "secret"}],
        "actions": ["Admin", "Read", "Write", "List"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    return [
        str(BIN / "weed"), "server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
        f"-master.port={free_port()}", f"-volume.port={free_port()}", "-filer", f"-filer.port={free_port()}",
        f"-filer.localSocket={folder}/filer.sock", "-s3", f"-s3.port={port}", f"-s3.config={folder}/s3.json",
        "-s3.port.iceberg=0", "-s3.port.lance=0", "-volume.max=3", "-master.volumeSizeLimitMB=64",
    ]  # fmt: skip


def rclone(folder: Path, port: int) -> list[str]:
    (folder / "bucket").mkdir()
    address = f"127.0.0.1:{port}"
    return [str(BIN / "rclone"), "serve", "s3", "--addr", address, "--auth-key", "key,secret", str(folder)]


@contextmanager
def serve(command: Callable[[Path, int], list[str]], folder: Path) -> Iterator[str]:
    """Run a server with its data in a new folder. Yields the URL of a bucket."""
    folder.mkdir()
    port = free_port()
    with folder.with_name(f"{folder.name}.log").open("wb") as log:
        process = subprocess.Popen(
            command(folder, port), stdout=log, stderr=log, cwd=folder,
            env={**os.environ, "HOME": str(folder)},
        )  # fmt: skip
    url = f"s3://bucket/memory?endpoint=http://127.0.0.1:{port}"
    try:
        _wait_for(url, process)
        yield url
    finally:
        process.kill()
        process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    transport = open_transport({"url": url, "options": OPTIONS})
    until = time.monotonic() + READY
    while True:
        assert process.poll() is None, "the server ended"
        try:
            transport.put("ready", b"1")
            transport.delete("ready")
            return
        except FazmMemoryError:
            assert time.monotonic() < until, "the server did not start"
            time.sleep(0.5)
