# Made by tests/appkit/sdk/stubs.py from pyobjc 12.2.2: run "make stubs", do not edit.
# mypy: disable-error-code="override,misc"
from typing import Any

from Foundation import NSError as NSError
from Foundation import NSObject as NSObject

SMAppServiceStatusEnabled: int
SMAppServiceStatusRequiresApproval: int

class SMAppService(NSObject):
    def registerAndReturnError_(self, _0: None, /) -> tuple[bool, NSError | Any]: ...
    def status(self) -> int: ...
    def unregisterAndReturnError_(self, _0: None, /) -> tuple[bool, NSError | Any]: ...
    @classmethod
    def mainAppService(cls) -> SMAppService: ...
    @classmethod
    def openSystemSettingsLoginItems(cls) -> None: ...
