"""The page on a port of the loopback: guard, keys, address, and other applications beside it if asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from starlette.applications import Starlette

from fazm_memory.loopback.announced import announced, page_url
from fazm_memory.loopback.guard import Guard
from fazm_memory.loopback.listening import ADDRESS, PORT, Beside, Server, bound, port_of
from fazm_memory.loopback.page_keys import PageKeys
from fazm_memory.loopback.token import PAGE_TOKEN, token_of
from fazm_memory.web.app import page_app, together
from fazm_memory.web.desk import MemoryFactory


class PageServer:
    """Listens from the beginning; serves while `run` or `beside` lasts."""

    def __init__(
        self,
        factory: MemoryFactory,
        home: Path,
        *,
        port: int = PORT,
        otherwise_any: bool = False,
        new_token: bool = False,
        apps: Callable[[int], dict[str, Starlette]] = lambda port: {},
    ) -> None:
        self.home = home
        self.token_file, agents_token = token_of(home, new=new_token)  # what agents are told of
        self.token = token_of(home, PAGE_TOKEN)[1]
        self.listener = bound(port, otherwise_any=otherwise_any)
        self.port = port_of(self.listener)
        self.keys = PageKeys(self.port)
        self.page = page_app(factory)
        beside = apps(self.port)
        guard = Guard(
            together(self.page, beside), token=self.token, port=self.port, pages=self.keys,
            agents=dict.fromkeys(beside, agents_token),
        )  # fmt: skip
        self.server = Server(guard, ending=self.page.stop)

    @property
    def origin(self) -> str:
        return f"http://{ADDRESS}:{self.port}"

    def door(self) -> str:
        """An address that opens the page once."""
        return page_url(self.port, self.keys.code())

    def run(self, started: Callable[[], None] = lambda: None) -> None:
        """Serve in this thread until a signal ends it."""
        with self.listener, announced(self.home, self.port):
            started()
            self.server.run(sockets=[self.listener])

    @contextmanager
    def beside(self) -> Iterator[PageServer]:
        """Serve in a thread of its own while the block lasts."""
        with announced(self.home, self.port), Beside(self.server, self.listener):
            yield self
