# What we use of AppKit in pyobjc 12.2.2.
from Foundation import NSNotificationCenter, NSObject

NSWorkspaceApplicationKey: str
NSWorkspaceDidActivateApplicationNotification: str
NSWorkspaceDidLaunchApplicationNotification: str
NSWorkspaceDidTerminateApplicationNotification: str
NSWorkspaceDidWakeNotification: str
NSWorkspaceSessionDidBecomeActiveNotification: str
NSWorkspaceSessionDidResignActiveNotification: str
NSWorkspaceWillSleepNotification: str

class NSRunningApplication(NSObject):
    def localizedName(self) -> str | None: ...
    def bundleIdentifier(self) -> str | None: ...
    def processIdentifier(self) -> int: ...

class NSWorkspace(NSObject):
    @classmethod
    def sharedWorkspace(cls) -> NSWorkspace: ...
    def notificationCenter(self) -> NSNotificationCenter: ...
    def frontmostApplication(self) -> NSRunningApplication | None: ...
