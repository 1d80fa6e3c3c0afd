"""MCP on stdio: one client, for as long as it keeps our stdin open.

The SDK is loaded in a thread of its own while the doorway already answers the handshake.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from fazm_memory.mcp_server.doorway import Doorway

if TYPE_CHECKING:
    from fazm_memory.memory import Memory

LISTS = "fazm_memory.mcp_server.early"
LOOP = "fazm_memory.mcp_server.stdio_loop"


def run(open_memory: Callable[[], Memory]) -> None:
    """Serve until the client goes away. stdout belongs to the protocol; what we say goes to stderr."""
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)  # whatever a library prints must not get between the lines of the protocol
    doorway = Doorway(0, wire)
    waiting, done = os.pipe()

    def load() -> None:
        try:
            import_module(LISTS)  # first, since a client asks for it right after the handshake
            import_module(LOOP)
        finally:
            os.close(done)  # readable at its end

    loader = threading.Thread(target=load, name="loading the SDK")
    loader.start()
    doorway.attend(waiting)
    loader.join()
    os.close(waiting)
    import_module(LOOP).serve(open_memory(), doorway)
