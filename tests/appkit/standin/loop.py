"""The run loop on a virtual clock: timers in their modes, what is called after, and the notification centers.

While a menu is open only the common modes run, as on a Mac: a timer of the default mode waits.
"""

from __future__ import annotations

import heapq
import itertools
import queue
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.appkit.standin.runtime import taught

if TYPE_CHECKING:
    from tests.appkit.standin.mac import Mac

DEFAULT, COMMON = "NSDefaultRunLoopMode", "NSRunLoopCommonModes"
MODES = {DEFAULT: DEFAULT, COMMON: COMMON, "kCFRunLoopDefaultMode": DEFAULT, "kCFRunLoopCommonModes": COMMON}
PATIENCE = 30.0  # real seconds; only ever spent by a test that fails


class Loop:
    def __init__(self) -> None:
        self.now = 0.0
        self.tracking = 0  # menus open
        self._calls: queue.SimpleQueue[Callable[[], Any]] = queue.SimpleQueue()
        self._timers: list[tuple[float, int, Any]] = []
        self._order = itertools.count()

    def call_after(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        self._calls.put(lambda: function(*arguments, **named))

    def settle(self) -> None:
        """Run what was handed to the main thread, and what that hands on."""
        while not self._calls.empty():
            self._calls.get()()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Run what other threads hand over until it holds."""
        self.settle()
        while not condition():
            try:
                self._calls.get(timeout=PATIENCE)()
            except queue.Empty:
                raise AssertionError("it never came to pass on the main thread") from None
            self.settle()

    def schedule(self, timer: Any, due: float, mode: str) -> None:
        timer._p["modes"] = {*timer._p.get("modes", ()), MODES[mode]}
        heapq.heappush(self._timers, (due, next(self._order), timer))

    def timers(self) -> list[Any]:
        """Those that will still fire."""
        return [timer for _, _, timer in sorted(self._timers, key=lambda one: one[:2]) if timer._p["valid"]]

    def advance(self, seconds: float) -> None:
        until, waiting = self.now + seconds, []
        self.settle()
        while self._timers and self._timers[0][0] <= until:
            due, order, timer = heapq.heappop(self._timers)
            if not timer._p["valid"]:
                continue
            if self.tracking and COMMON not in timer._p["modes"]:
                waiting.append((due, order, timer))
                continue
            self.now = max(self.now, due)
            _fire(timer)
            if timer._p["valid"] and timer._p["repeats"]:
                heapq.heappush(self._timers, (self.now + timer._p["timeInterval"], next(self._order), timer))
            else:
                timer._p["valid"] = False
            self.settle()
        for one in waiting:
            heapq.heappush(self._timers, one)
        self.now = until


def _fire(timer: Any) -> None:
    if (block := timer._p.get("block")) is not None:
        block(timer)
    else:
        send(timer._p["target"], timer._p["selector"], timer)


def send(target: Any, selector: str, *arguments: Any) -> Any:
    return getattr(target, selector.replace(":", "_"))(*arguments)


def answers(target: Any, selector: str) -> bool:
    """Whether a delegate of ours has this method."""
    return target is not None and hasattr(type(target), selector.replace(":", "_"))


# -- timers ----------------------------------------------------------------------------------------------


def _timer(made: Any, due: float, seconds: float, repeats: bool, **more: Any) -> Any:
    made._p.update(due=due, timeInterval=seconds, repeats=bool(repeats), valid=True, **more)
    return made


def _target(target: Any, selector: str) -> dict[str, Any]:
    if not callable(getattr(target, selector.replace(":", "_"), None)):
        raise AttributeError(f"{target!r} does not answer to {selector!r}")
    return {"target": target, "selector": selector}


@taught("NSTimer", "-initWithFireDate:interval:target:selector:userInfo:repeats:")
def _init(
    mac: Mac, timer: Any, date: Any, seconds: float, target: Any, sel: str, info: Any, repeats: bool
) -> Any:
    due = date._p["at"]
    return _timer(timer, due, seconds, repeats, userInfo=info, **_target(target, sel))


@taught("NSTimer", "+timerWithTimeInterval:target:selector:userInfo:repeats:")
def _with_target(mac: Mac, cls: Any, seconds: float, target: Any, sel: str, info: Any, repeats: bool) -> Any:
    due = mac.loop.now + seconds
    return _timer(cls.alloc(), due, seconds, repeats, userInfo=info, **_target(target, sel))


@taught("NSTimer", "+scheduledTimerWithTimeInterval:target:selector:userInfo:repeats:")
def _scheduled(mac: Mac, cls: Any, seconds: float, target: Any, sel: str, info: Any, repeats: bool) -> Any:
    made = _with_target(mac, cls, seconds, target, sel, info, repeats)
    mac.loop.schedule(made, made._p["due"], DEFAULT)
    return made


@taught("NSTimer", "+timerWithTimeInterval:repeats:block:")
def _with_block(mac: Mac, cls: Any, seconds: float, repeats: bool, block: Any) -> Any:
    return _timer(cls.alloc(), mac.loop.now + seconds, seconds, repeats, block=block)


@taught("NSTimer", "+scheduledTimerWithTimeInterval:repeats:block:")
def _scheduled_block(mac: Mac, cls: Any, seconds: float, repeats: bool, block: Any) -> Any:
    made = _with_block(mac, cls, seconds, repeats, block)
    mac.loop.schedule(made, made._p["due"], DEFAULT)
    return made


@taught("NSTimer", "-invalidate")
def _invalidate(mac: Mac, timer: Any) -> None:
    timer._p.update(valid=False, target=None, block=None)


@taught("NSTimer", "-isValid")
def _valid(mac: Mac, timer: Any) -> bool:
    return bool(timer._p["valid"])


@taught("NSRunLoop", "+currentRunLoop", "+mainRunLoop")
def _run_loop(mac: Mac, cls: Any) -> Any:
    return mac.singleton("NSRunLoop")


@taught("NSRunLoop", "-addTimer:forMode:")
def _add_timer(mac: Mac, loop: Any, timer: Any, mode: str) -> None:
    mac.loop.schedule(timer, timer._p["due"], mode)


@taught("NSDate", "+date")
def _date(mac: Mac, cls: Any) -> Any:
    return mac.make("NSDate", at=mac.loop.now)


@taught("NSDate", "+dateWithTimeIntervalSinceNow:")
def _date_from_now(mac: Mac, cls: Any, seconds: float) -> Any:
    return mac.make("NSDate", at=mac.loop.now + seconds)


@taught("NSDate", "-timeIntervalSinceNow")
def _since_now(mac: Mac, date: Any) -> float:
    return float(date._p["at"] - mac.loop.now)


@taught("NSObject", "-performSelectorOnMainThread:withObject:waitUntilDone:")
def _on_main(mac: Mac, receiver: Any, selector: str, argument: Any, wait: bool) -> None:
    if wait:
        raise AssertionError("waiting for the main thread is how an app hangs")
    mac.loop.call_after(send, receiver, selector, *([argument] if ":" in selector else []))


@taught("NSObject", "-respondsToSelector:")
def _responds(mac: Mac, receiver: Any, selector: str) -> bool:
    ours = any(selector.replace(":", "_") in vars(one) for one in type(receiver).__mro__)
    return ours or mac.runtime.find(receiver.native, "-" + selector) is not None


@taught("NSOperationQueue", "-addOperationWithBlock:")
def _operation(mac: Mac, operations: Any, block: Any) -> None:
    if operations is not mac.singletons.get(("NSOperationQueue", "+mainQueue")):
        raise AssertionError("only the main queue is played")
    mac.loop.call_after(block)


# -- notification centers --------------------------------------------------------------------------------


@taught("NSDistributedNotificationCenter", "+defaultCenter")
def _distributed(mac: Mac, cls: Any) -> Any:
    return mac.singleton("NSDistributedNotificationCenter")


@taught("NSNotificationCenter", "-addObserver:selector:name:object:")
def _add_observer(mac: Mac, center: Any, observer: Any, selector: str, name: Any, sender: Any) -> None:
    _target(observer, selector)
    # Not kept alive by being registered.
    center._p.setdefault("observers", []).append((weakref.ref(observer), selector, name, sender))


@taught("NSNotificationCenter", "-removeObserver:")
def _remove_observer(mac: Mac, center: Any, observer: Any) -> None:
    center._p["observers"] = [one for one in center._p.get("observers", ()) if one[0]() is not observer]


@taught("NSNotificationCenter", "-removeObserver:name:object:")
def _remove_one(mac: Mac, center: Any, observer: Any, name: Any, sender: Any) -> None:
    center._p["observers"] = [
        one
        for one in center._p.get("observers", ())
        if one[0]() is not observer or name not in (None, one[2])
    ]


@taught("NSNotificationCenter", "-postNotificationName:object:userInfo:")
def _post(mac: Mac, center: Any, name: str, sender: Any, info: Any) -> None:
    note = mac.make("NSNotification", name=name, object=sender, userInfo=info)
    for observer, selector, wanted, whose in list(center._p.get("observers", ())):
        listening = observer() is not None and wanted in (None, name)
        if listening and (whose is None or whose is sender):
            send(observer(), selector, note)


@taught("NSNotificationCenter", "-postNotificationName:object:")
def _post_plain(mac: Mac, center: Any, name: str, sender: Any) -> None:
    _post(mac, center, name, sender, None)
