# What we use of Foundation in pyobjc 12.2.2.
from typing import Any, Self

NSRunLoopCommonModes: str

class NSObject:
    @classmethod
    def alloc(cls) -> Any: ...

class NSURL(NSObject):
    def absoluteString(self) -> str | None: ...

class NSNotificationCenter(NSObject):
    def addObserver_selector_name_object_(
        self, observer: NSObject, selector: str, name: str | None, object: Any, /
    ) -> None: ...
    def removeObserver_(self, observer: NSObject, /) -> None: ...

class NSDistributedNotificationCenter(NSNotificationCenter):
    @classmethod
    def defaultCenter(cls) -> Self: ...

class NSTimer(NSObject):
    @classmethod
    def timerWithTimeInterval_target_selector_userInfo_repeats_(
        cls, seconds: float, target: Any, selector: str, userInfo: Any, repeats: bool, /
    ) -> NSTimer: ...
    def setTolerance_(self, seconds: float, /) -> None: ...
    def invalidate(self) -> None: ...

class NSRunLoop(NSObject):
    @classmethod
    def mainRunLoop(cls) -> NSRunLoop: ...
    def addTimer_forMode_(self, timer: NSTimer, mode: str, /) -> None: ...
