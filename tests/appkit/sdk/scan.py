"""The scan of Apple's headers that pyobjc's sdists carry, C types said in the database's words."""

from __future__ import annotations

import json
import re
from typing import Any

FRAMEWORKS = {
    "CoreFoundation": "cocoa/raw.CoreFoundation",
    "Foundation": "cocoa/raw.Foundation",
    "AppKit": "cocoa/raw.AppKit",
    "HIServices": "applicationservices/raw.HIServices",
    "Quartz": "quartz/raw.CoreGraphics",
    "WebKit": "webkit/raw.wk",
    "UserNotifications": "usernotifications/raw",
    "ServiceManagement": "servicemanagement/raw",
}
QUALIFIERS = re.compile(r"\b(?:__kindof|const|_Nullable|_Nonnull|_Null_unspecified)\b\s*")
PROTOCOL = re.compile(r"id\s*<\s*(\w+)\s*>$")
OBJECT = re.compile(r"(\w+)\s*(?:<.*>)?\s*\*$")

# Core Foundation types that are the same objects as Foundation's.
BRIDGED = {
    "CFArrayRef": "@NSArray",
    "CFDataRef": "@NSData",
    "CFDictionaryRef": "@NSDictionary",
    "CFRunLoopMode": "@NSString",
    "CFStringRef": "@NSString",
    "CFTypeRef": "@",
    "CFURLRef": "@NSURL",
}

Raw = dict[str, Any]


def definitions(text: str) -> Raw:
    """What stands after the comment at its top."""
    found: Raw = json.loads(text[text.index("{") :])["definitions"]
    return found


class Types:
    """C types to our words. Which names stand for which is known when all frameworks have been read."""

    def __init__(self, frameworks: dict[str, Raw]) -> None:
        self._names = {
            name: meant
            for one in frameworks.values()
            for name, meant in one["typedefs"].items()
            if isinstance(meant, str)
        }
        self._protocols = {name for one in frameworks.values() for name in one["formal_protocols"]}
        self._classes = {name for one in frameworks.values() for name in one["classes"]}

    def word(self, argument: Raw, more: Raw | None = None) -> str:
        """`more` is what pyobjc adds: whether it is out, and what a callback is called with."""
        more = more or {}
        modifier = _text(more.get("type_modifier", argument.get("type_modifier")))
        if modifier in ("o", "N"):
            return self._out(argument) if modifier == "o" else "inout"
        code = (_text(more.get("type")) or argument.get("typestr") or "@").lstrip("rnNoORV")
        if callback := (more.get("callable") or argument.get("callable")):
            return _callback(callback, block=code.startswith("@?"))
        if code in ("v", ":", "#"):
            return str(code)
        if code in ("Z", "B"):
            return "B"
        if code in tuple("cCsSiIlLqQ"):
            return "i"
        if code in ("d", "f"):
            return "f"
        if code == "@":
            return self._object(argument)
        return BRIDGED.get(QUALIFIERS.sub("", argument.get("type_name") or "").strip(), "*")

    def _out(self, argument: Raw) -> str:
        """What is returned beside the value is mostly an error, and then it is said."""
        name = QUALIFIERS.sub("", argument.get("type_name") or "").replace(" ", "")
        return "out@NSError" if name == "NSError**" else "out"

    def _object(self, argument: Raw) -> str:
        name = QUALIFIERS.sub("", argument.get("type_name") or "").strip()
        if name.startswith("instancetype") or argument.get("instancetype"):
            return "self"
        for _ in range(6):  # names for names
            if name not in self._names:
                break
            name = QUALIFIERS.sub("", self._names[name]).strip()
        if (follows := PROTOCOL.match(name)) is not None and follows[1] in self._protocols:
            return f"@<{follows[1]}>"
        found = OBJECT.match(name)
        return f"@{found[1]}" if found is not None and found[1] in self._classes else "@"


def _callback(callback: Raw, *, block: bool) -> str:
    given = len(callback.get("arguments", ()))
    back = callback.get("retval", {})
    value = "" if _text(back.get("type", back.get("typestr", "v"))) == "v" else "="
    # A block is itself its first argument, which Python does not see.
    return f"block/{given - 1}{value}" if block else f"closure/{given}"


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
