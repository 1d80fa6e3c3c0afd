"""A room with no way out: sockets and processes made in it see loopback and nothing else.

A network namespace belongs to a thread. One thread steps into a fresh one and makes everything the clients
need from there, so that the rest of the test run keeps its ordinary network.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, TypeVar

_CLONE_NEWNET = 0x40000000
_SIOCSIFFLAGS = 0x8914
_IFF_UP_LOOPBACK_RUNNING = 0x49

Made = TypeVar("Made")


class Room:
    """Whether it is sealed is for the test report to say: without root it cannot be."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="loopback-only")
        self.open_because: str | None = self._inside(_seal_this_thread)

    def listen(self) -> socket.socket:
        """A listening socket on a free loopback port; it may be served from any thread."""
        return self._inside(lambda: socket.create_server(("127.0.0.1", 0)))

    def spawn(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        stdin: int = subprocess.DEVNULL,
        stdout: IO[bytes] | int = subprocess.DEVNULL,
        stderr: IO[bytes] | int = subprocess.DEVNULL,
    ) -> subprocess.Popen[bytes]:
        """A process in its own session, with this environment and no other.

        The program is looked up in that environment's PATH, as its own shell would.
        """
        program = shutil.which(command[0], path=env.get("PATH", ""))
        if program is None:
            raise FileNotFoundError(f"{command[0]} is not on the PATH given to it")
        return self._inside(
            lambda: subprocess.Popen(
                [program, *command[1:]],
                env=env,
                cwd=cwd,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        )

    def describe(self) -> str:
        if self.open_because is None:
            return "clients run in a network namespace that has only loopback"
        return f"clients run WITHOUT network isolation: {self.open_because}"

    def close(self) -> None:
        self._thread.shutdown()

    def _inside(self, make: Callable[[], Made]) -> Made:
        return self._thread.submit(make).result()


def _seal_this_thread() -> str | None:
    """Step into an empty network namespace and raise its loopback, or say why that is not permitted."""
    if sys.platform != "linux":
        return f"{sys.platform} has no network namespaces"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET) != 0:
        return f"unshare: {os.strerror(ctypes.get_errno())}"
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", _IFF_UP_LOOPBACK_RUNNING))
    return None
