# What we use of rumps' own module, by hand.
from typing import Any

from AppKit import NSStatusItem
from Foundation import NSObject

class NSApp(NSObject):
    _ns_to_py_and_callback: dict[Any, Any]
    nsstatusitem: NSStatusItem
