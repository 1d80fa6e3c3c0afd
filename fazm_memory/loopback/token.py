"""The tokens of our servers, each in a private file of the data folder, never printed, in no address.

There are two, since they are two authorities: an agent that was given the one for MCP must not answer for the
person who has the page.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from fazm_memory.errors import StoreUnsafe
from fazm_memory.private import private_folder, write_private

TOKEN = "serve-token"  # opens MCP over HTTP, and nothing else
PAGE_TOKEN = "page-token"  # opens the page and its API, and nothing else
SHORTEST_TOKEN = 32  # characters: of those we make, 192 bits


def token_of(home: Path, name: str = TOKEN, *, new: bool = False) -> tuple[Path, str]:
    """The token file and what it holds; made when there is none, or when a new one is asked for."""
    private_folder(home)
    path = home / name
    if new or not path.exists():
        write_private(path, secrets.token_urlsafe(32).encode())
    if path.is_symlink() or path.stat().st_mode & 0o077:
        raise StoreUnsafe(f"{path} can be read by others", hint="delete it; the next start makes a new one")
    token = path.read_text().strip()
    if len(token) < SHORTEST_TOKEN:
        raise StoreUnsafe(f"{path} holds no token", hint="delete it; the next start makes a new one")
    return path, token
