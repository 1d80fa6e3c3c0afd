"""The database from what pyobjc published: `python -m tests.appkit.sdk.make FOLDER`; downloads stay there.

The same files always give the same database: everything is sorted, and nothing of this machine is in it.
"""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path
from typing import Any

from tests.appkit.sdk.database import FILE
from tests.appkit.sdk.metadata import Noted, note
from tests.appkit.sdk.published import VERSION, Published, fetch
from tests.appkit.sdk.scan import FRAMEWORKS, Raw, Types, definitions

METADATA = {"Quartz": "Quartz.CoreGraphics"}  # else the module of the framework's name
PARENTS = {
    "Foundation": ["CoreFoundation"],
    "AppKit": ["Foundation"],
    "Cocoa": ["AppKit"],
    "HIServices": ["AppKit"],
    "Quartz": ["AppKit"],
    "ApplicationServices": ["Quartz", "HIServices"],
    "WebKit": ["AppKit"],
    "UserNotifications": ["Foundation"],
    "ServiceManagement": ["Foundation"],
}
# Written in C or Python in pyobjc itself, so in no metadata: name → framework, arguments.
BY_HAND = {
    "NSLog": ("Foundation", "v", ["@NSString"], "v"),
    "NSMakeRect": ("Foundation", "*", ["f", "f", "f", "f"], ""),
    "NSMakePoint": ("Foundation", "*", ["f", "f"], ""),
    "NSMakeSize": ("Foundation", "*", ["f", "f"], ""),
    "NSMakeRange": ("Foundation", "*", ["i", "i"], ""),
    "AXValueCreate": ("HIServices", "*", ["i", "*"], ""),
    "AXValueGetValue": ("HIServices", "*", ["@", "i", "out"], ""),
}
STRUCTS = {"NSRect": "Foundation", "NSPoint": "Foundation", "NSSize": "Foundation", "NSApp": "AppKit"}
# The root class is part of the runtime, whose headers are in no framework.
ROOT = {
    "+alloc": ("self", []), "+new": ("self", []), "+class": ("#", []), "+superclass": ("#", []),
    "-init": ("self", []), "-copy": ("@", []), "-mutableCopy": ("@", []), "-dealloc": ("v", []),
    "-class": ("#", []), "-superclass": ("#", []), "-description": ("@NSString", []), "-hash": ("i", []),
    "-retain": ("self", []), "-release": ("v", []), "-autorelease": ("self", []),
    "-isEqual:": ("B", ["@"]), "-isKindOfClass:": ("B", ["#"]), "-conformsToProtocol:": ("B", ["@"]),
    "-respondsToSelector:": ("B", [":"]), "+instancesRespondToSelector:": ("B", [":"]),
    "-performSelector:": ("@", [":"]), "-performSelector:withObject:": ("@", [":", "@"]),
}  # fmt: skip
WEAK = {"weak", "assign", "unsafe_unretained"}
NEVER = "100000"  # Apple's way to say: some day


class Maker:
    def __init__(self, published: Published) -> None:
        self.raw = {name: definitions(published.scans[folder]) for name, folder in FRAMEWORKS.items()}
        modules = [METADATA.get(name, name) for name in FRAMEWORKS]
        self.noted: Noted = note(published.metadata, modules)
        self.words = Types(self.raw)
        self.types: dict[str, int] = {}

    def make(self) -> dict[str, Any]:
        classes, protocols = self._classes(), self._protocols()
        functions, constants = self._functions(), self._constants()
        return {
            "pyobjc": VERSION,
            "types": list(self.types),
            "classes": classes,
            "protocols": protocols,
            "functions": functions,
            "constants": {name: constants[name] for name in constants if name not in classes},
            "parents": PARENTS,
        }

    def _type(self, word: str) -> int:
        return self.types.setdefault(word, len(self.types))

    def _classes(self) -> dict[str, Any]:
        made: dict[str, list[Any]] = {}
        for framework, raw in self.raw.items():
            for name, one in sorted(raw["classes"].items()):
                entry = made.setdefault(name, [framework, None, [], {}])
                if one.get("super"):
                    entry[:2] = framework, one["super"]
                entry[2] = sorted({*entry[2], *one.get("protocols", [])})
                categories = [each for each in one.get("categories", []) if isinstance(each, dict)]
                for part in (one, *categories):
                    for key, method in self._methods(name, part).items():
                        entry[3].setdefault(key, method)
        root = made["NSObject"][3]
        for key, (returns, words) in ROOT.items():
            root[key] = [self._type(returns), [self._type(one) for one in words], None, None, None, ""]
        return {name: made[name] for name in sorted(made)}

    def _protocols(self) -> dict[str, Any]:
        made: dict[str, list[Any]] = {}
        for raw in self.raw.values():
            for kind in ("formal_protocols", "informal_protocols"):
                for name, one in sorted(raw[kind].items()):
                    entry = made.setdefault(name, [[], {}])
                    entry[0] = sorted({*entry[0], *one.get("implements", [])})
                    entry[1].update(self._methods("NSObject", one))
        return {name: made[name] for name in sorted(made)}

    def _methods(self, owner: str, part: Raw) -> dict[str, Any]:
        accessors: dict[str, str] = {}
        weak: set[str] = set()
        for one in part.get("properties", []):
            name = one["name"]
            named = {each[0]: each[1] for each in one.get("attributes", []) if isinstance(each, list)}
            accessors[named.get("getter", name)] = name
            accessors[named.get("setter", f"set{name[:1].upper()}{name[1:]}:")] = name
            if one["typestr"] == "@" and WEAK.intersection(map(str, one.get("attributes", []))):
                weak.add(name)
        made = {}
        for method in sorted(part.get("methods", []), key=lambda one: str(one["selector"])):
            selector = method["selector"]
            more = self._more(owner, selector)
            arguments = [
                self._type(self.words.word(one, more.get("arguments", {}).get(number + 2)))
                for number, one in enumerate(method["args"])
            ]
            flags = ("v" if method.get("variadic") else "") + ("r" if method.get("required") else "")
            flags += "w" if accessors.get(selector) in weak else ""
            made[("+" if method["class_method"] else "-") + selector] = [
                self._type(self.words.word(method["retval"], more.get("retval"))),
                arguments,
                method.get("introduced"),
                _deprecated(method),
                accessors.get(selector),
                flags,
            ]
        return made

    def _more(self, owner: str, selector: str) -> dict[str, Any]:
        """What pyobjc adds to the scan. What it says of any NSObject is meant for protocols: a class that has
        such a method too may have other types."""
        if (found := self.noted.selectors.get((owner, selector))) is not None:
            return found
        reply = self.noted.selectors.get(("NSObject", selector), {})
        arguments = reply.get("arguments", {}).items()
        return {"arguments": {number: {**one, "type": None} for number, one in arguments}}

    def _functions(self) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name, (framework, more) in self.noted.functions.items():
            raw = self.raw[framework]["functions"].get(name)
            if raw is None:
                continue
            notes = more.get("arguments", {})
            given = [one for one in raw["args"] if one.get("typestr") != "v"]
            arguments = [
                self._type(self.words.word(one, notes.get(number))) for number, one in enumerate(given)
            ]
            made[name] = [
                framework,
                self._type(self.words.word(raw["retval"], more.get("retval"))),
                arguments,
                raw.get("introduced"),
                _deprecated(raw),
                "v" if raw.get("variadic") else "",
            ]
        for name, (framework, returns, words, flags) in BY_HAND.items():
            made[name] = [
                framework,
                self._type(returns),
                [self._type(one) for one in words],
                None,
                None,
                flags,
            ]
        return {name: made[name] for name in sorted(made)}

    def _constants(self) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name, framework in self.noted.externs.items():
            raw = self.raw[framework]["externs"].get(name, {})
            kind = self._type(self.words.word(raw) if raw else "*")
            made[name] = [framework, kind, None, raw.get("introduced"), _deprecated(raw)]
        for name, (framework, number) in self.noted.numbers.items():
            kind = self._type("f" if isinstance(number, float) else "i")
            made[name] = [framework, kind, number, None, None]
        for name, (framework, value) in self.noted.others.items():
            if value in made:  # another name of a constant
                made[name] = [framework, *made[value][1:]]
            elif isinstance(value, bool | int | float):
                kind = self._type("f" if isinstance(value, float) else "i")
                made.setdefault(name, [framework, kind, value, None, None])
            else:
                text = isinstance(value, str) and value != name and "." not in value
                kind = self._type("@NSString" if text else "*")
                made.setdefault(name, [framework, kind, value if text else None, None, None])
        for name, framework in STRUCTS.items():
            made.setdefault(name, [framework, self._type("*"), None, None, None])
        return {name: made[name] for name in sorted(made) if name.isidentifier()}


def _deprecated(raw: Raw) -> str | None:
    reply = raw.get("deprecated")
    return None if reply is None or str(reply).startswith(NEVER) else str(reply)


def packed(database: dict[str, Any]) -> bytes:
    text = json.dumps(database, separators=(",", ":"), ensure_ascii=False)
    return lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)


def main(folder: Path) -> None:
    database = Maker(fetch(folder)).make()
    FILE.write_bytes(packed(database))
    counts = {name: len(part) for name, part in database.items() if isinstance(part, dict | list)}
    print(f"{FILE.name}: {FILE.stat().st_size:,} bytes, {counts}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
