"""Where the page is served just now: a private file that its server keeps locked as long as it lives.

Who finds the lock held may trust the address; a file that a killed server left behind is not locked, and
nothing, least of all the token, is sent to whoever has that port by now.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from fazm_memory.loopback.guard import NEW_CODE, OPEN
from fazm_memory.loopback.listening import ADDRESS
from fazm_memory.loopback.token import PAGE_TOKEN, token_of
from fazm_memory.private import private_file, private_folder

FILE = "page.json"
SECONDS = 5.0


@contextmanager
def announced(home: Path, port: int) -> Iterator[bool]:
    """Say that the page is at this port while the block lasts; False when another server says so already."""
    private_folder(home)
    descriptor = os.open(private_file(home / FILE), os.O_RDWR | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps({"port": port, "process": os.getpid()}).encode(), 0)
        yield True
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def served_at(home: Path) -> int | None:
    """The port at which a living server of this home has the page, if there is one."""
    try:
        descriptor = os.open(home / FILE, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        told = os.read(descriptor, 200)
        return int(json.loads(told)["port"]) if told else None
    finally:
        os.close(descriptor)
    return None


def page_url(port: int, code: str) -> str:
    """The address that opens the page once."""
    return f"http://{ADDRESS}:{port}{OPEN}?code={code}"


def opened_elsewhere(home: Path) -> str | None:
    """An address that opens the page at the server that has it already; None when there is none."""
    port = served_at(home)
    if port is None:
        return None
    connection = HTTPConnection(ADDRESS, port, timeout=SECONDS)
    headers = {"Authorization": f"Bearer {token_of(home, PAGE_TOKEN)[1]}", "Content-Type": "application/json"}
    try:
        connection.request("POST", NEW_CODE, body=b"{}", headers=headers)
        answer = connection.getresponse()
        code = answer.read().decode("ascii", "replace")
        return page_url(port, code) if answer.status == 200 else None
    except (OSError, HTTPException):  # it ended between our look and our call
        return None
    finally:
        connection.close()
