"""The real page app behind its real guard, over a story, on a port of its own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn

from fazm_memory.loopback.guard import Guard, PageKeys
from fazm_memory.loopback.listener import page_url
from fazm_memory.web.server import PageApp
from tests.page.story import World, open_memory

TOKEN = "a-token-of-the-tests-0123456789abcdef"


@dataclass
class Server:
    world: World
    port: int
    keys: PageKeys

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def door(self) -> str:
        """An address that lets a browser in, once."""
        return page_url(self.port, self.keys.code())


@contextmanager
def serve(world: World) -> Iterator[Server]:
    """Serve the page of a world, and close the world afterwards."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # clients wait from now on, before the server is up
        port = listening.getsockname()[1]
        keys = PageKeys(port)
        app = PageApp(lambda: open_memory(world.memory.config, world))
        config = uvicorn.Config(
            Guard(app, token=TOKEN, port=port, pages=keys), log_level="error", lifespan="on"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield Server(world, port, keys)
        finally:
            app.stop()
            server.should_exit = True
            thread.join()
            world.memory.close()
