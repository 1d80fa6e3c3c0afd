"""What the local servers share.

The guard with its tokens, the listener, the port file and lazy loading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports

if TYPE_CHECKING:
    from fazm_memory.loopback.guard import (
        BODY,
        LOOPBACK,
        PAGE_TOKEN,
        App,
        Guard,
        Message,
        PageKeys,
        Receive,
        Scope,
        Send,
        is_under,
        read_token,
    )
    from fazm_memory.loopback.listener import (
        ADDRESS,
        PORT,
        LazyApp,
        Server,
        ServerThread,
        listen_on,
        page_url,
        port_of,
        publish_port,
        url_of_running_page,
    )

__getattr__ = lazy_exports(
    __name__,
    {
        "guard": (
            "App BODY Guard LOOPBACK Message PAGE_TOKEN PageKeys Receive Scope Send is_under read_token"
        ),
        "listener": (
            "ADDRESS LazyApp PORT Server ServerThread listen_on page_url port_of publish_port "
            "url_of_running_page"
        ),
    },
)
