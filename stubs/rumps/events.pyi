# What we use of rumps' events, by hand.
from collections.abc import Callable

class EventEmitter:
    def register(self, callback: Callable[[], object], /) -> Callable[[], object]: ...
    def unregister(self, callback: Callable[[], object], /) -> bool: ...

before_start: EventEmitter
before_quit: EventEmitter
on_sleep: EventEmitter
on_wake: EventEmitter
