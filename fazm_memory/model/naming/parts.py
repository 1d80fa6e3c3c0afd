"""A file name taken apart: its folder, its extension, and the anchors a person would point at in its stem.

An anchor is a position with a name: the start of the second word, the end of the date, the first " - " from
the right. Anything between two anchors is a part that a convention can keep, drop or move.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from fazm_memory.model.naming.dates import Slot, scan
from fazm_memory.model.naming.moments import Moment, from_iso
from fazm_memory.model.naming.text import CAMEL

TRIM = " _-.,;–—~+#=&|·"
_LONG = (
    "markdown sqlite sqlite3 torrent numbers keynote webloc crdownload download partial photoslibrary "
    "geojson jsonlines parquet feather properties gradle storyboard xcodeproj playground fountain textbundle "
    "webmanifest backup"
)
_LONG_EXTENSIONS = frozenset(_LONG.split())
_EXTENSION = re.compile(r"\.([A-Za-z0-9]{1,5}|[A-Za-z0-9]{6,13})$")
_DOUBLE = re.compile(r"\.(tar\.(?:gz|bz2|xz|zst|Z)|d\.ts|min\.js|min\.css|user\.js)$", re.IGNORECASE)
_LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_DIGITS = re.compile(r"\d+")
_CHUNK = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_BRACKETS = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]|\{([^{}]*)\}|【([^】]*)】|\"([^\"]*)\"|“([^”]*)”")
_DELIMITERS = re.compile(r" - | – | — | _ | \| |__|--|, |; |: | @ |[_\- .,~+@#=&;!|·–—:/]")
_EPISODE = re.compile(
    r"(?<![^\W_])(?:S\d{1,2}[ ._-]?E\d{1,3}|\d{1,2}x\d{2,3}|Season[ ._]?\d+[ ._,-]*(?:Episode|Ep)[ ._]?\d+"
    r"|E[Pp]?[ ._]?\d{1,4}|Episode[ ._]?\d+)(?![^\W_])",
    re.IGNORECASE,
)
_VERSION = re.compile(r"(?<![^\W_])(?:v|ver|version|rev|r)[ ._]?\d+(?:\.\d+)*(?![^\W_])", re.IGNORECASE)
_QUALITY = re.compile(
    r"(?<![^\W_])(?:\d{3,4}[pi]|[48]k|uhd|hdtv|web-?dl|web-?rip|web|blu-?ray|bdrip|dvdrip|x26[45]|h\.?26[45]"
    r"|\d{3,5}x\d{3,5})(?![^\W_])",
    re.IGNORECASE,
)
_ANCHORED_WORDS = (" - ", "_", "-", ", ", "__", " – ", ".")
_LEFT, _RIGHT = 6, 4
LONGEST = 255  # characters of a file name; nothing longer exists


def split_path(path: str) -> tuple[str, str, str]:
    """Folder, stem and extension (without its dot) of a path, composed the way file systems compare names."""
    path = unicodedata.normalize("NFC", path)
    folder, slash, name = path.rpartition("/")
    if slash and not folder:
        folder = "/"
    match = _DOUBLE.search(name) or _EXTENSION.search(name)
    if match is None or match.start() == 0:
        return folder, name, ""
    extension = match.group(1)
    if not re.search(r"[A-Za-z]", extension) or re.fullmatch(r"v\d+|\d+p|S\d+E\d+", extension, re.IGNORECASE):
        return folder, name, ""
    if len(extension) > 5 and "." not in extension and extension.lower() not in _LONG_EXTENSIONS:
        return folder, name, ""
    return folder, name[: match.start()], extension


@dataclass(frozen=True)
class Stem:
    """A stem (or a folder's name) with its anchors."""

    text: str

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        return scan(self.text)

    def of_kind(self, kind: str) -> list[Slot]:
        return [slot for slot in self.slots if slot.kind == kind]

    def _outside(self, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
        taken = [(slot.start, slot.time_end) for slot in self.slots if slot.kind in ("date", "time")]
        return [span for span in spans if not any(span[0] < end and start < span[1] for start, end in taken)]

    @cached_property
    def words(self) -> list[tuple[int, int]]:
        """Words outside dates, cut at camelCase boundaries."""
        found = []
        for match in _LETTERS.finditer(self.text):
            edges = [0, *(cut.start() for cut in CAMEL.finditer(match.group())), len(match.group())]
            found += [(match.start() + a, match.start() + b) for a, b in pairwise(edges)]
        return self._outside(found)

    @cached_property
    def spans(self) -> dict[str, list[tuple[int, int]]]:
        """Where each kind of thing stands, in order; the keys are the letters anchors are named with."""
        text = self.text
        numbers = [match.span() for match in _DIGITS.finditer(text)]
        brackets = list(_BRACKETS.finditer(text))
        found: dict[str, list[tuple[int, int]]] = {
            "word": self.words,
            "chunk": self._outside([match.span() for match in _CHUNK.finditer(text)]),
            "digits": numbers,
            "number": self._outside(numbers),
            "date": [(slot.start, slot.end) for slot in self.of_kind("date")],
            "time": [
                (slot.start, slot.time_end) for slot in self.of_kind("date") if slot.time_end > slot.end
            ],
            "stamp": [(slot.start, slot.end) for slot in self.of_kind("stamp")],
            "year": [(slot.start, slot.end) for slot in self.of_kind("year")],
            "month": [(slot.start, slot.end) for slot in self.of_kind("month")],
            "inside": [(match.start() + 1, match.end() - 1) for match in brackets],
            "bracket": [match.span() for match in brackets],
            "episode": [match.span() for match in _EPISODE.finditer(text)][:1],
            "version": [match.span() for match in _VERSION.finditer(text)],
            "quality": [match.span() for match in _QUALITY.finditer(text)][:1],
        }
        for start, end in self._outside([match.span() for match in _DELIMITERS.finditer(text)]):
            found.setdefault(f"'{text[start:end]}'", []).append((start, end))
        return {key: spans for key, spans in found.items() if spans}

    @cached_property
    def anchors(self) -> dict[str, int]:
        """Positions by anchor: `word:2<` is where the second word starts, `word:-1>` where the last ends."""
        found = {"start": 0, "end": len(self.text)}
        for kind, spans in self.spans.items():
            count = len(spans)
            for index in range(min(count, _LEFT)):
                found[f"{kind}:{index + 1}<"], found[f"{kind}:{index + 1}>"] = spans[index]
            for index in range(1, min(count, _RIGHT) + 1):
                found[f"{kind}:-{index}<"], found[f"{kind}:-{index}>"] = spans[-index]
        for name in list(found):
            kind, _, rest = name.partition(":")
            if kind in ("date", "time", "year", "inside", "episode") or kind[1:-1] in _ANCHORED_WORDS:
                if rest.endswith(">") or kind == "inside":
                    after = [span for span in self.words if span[0] >= found[name]]
                    found |= {f"{name}+word:{i + 1}>": span[1] for i, span in enumerate(after[:2])}
                if rest.endswith("<") or kind == "inside":
                    before = [span for span in self.words if span[1] <= found[name]]
                    found |= {
                        f"{name}-word:{i + 1}<": span[0] for i, span in enumerate(reversed(before[-2:]))
                    }
        return found

    @cached_property
    def shape(self) -> str:
        """The kinds of things in a row (`W_D` for IMG_20261114): names of one shape were made by one hand."""
        text = list(self.text)
        for slot in self.slots:
            if slot.kind in ("date", "year"):
                text[slot.start : slot.time_end] = ["\0"] * (slot.time_end - slot.start)
        flat = re.sub(r"\d+", "N", re.sub(r"[^\W\d_]+", "W", "".join(text)))
        return re.sub(r"W(?:[ _.\-,']?W)+", "W", re.sub("\0+", "D", flat))

    def position(self, anchor: str) -> int | None:
        if anchor.startswith("text:"):
            at = self.text.lower().find(anchor[5:-1])
            return None if at < 0 else at + (len(anchor) - 6 if anchor.endswith(">") else 0)
        if "anchors" in self.__dict__ or "word:" in anchor[5:]:
            return self.anchors.get(anchor)
        if anchor in ("start", "end"):
            return 0 if anchor == "start" else len(self.text)
        # Most names are only ever asked for one or two anchors: no need to name them all.
        kind, _, index = anchor.rpartition(":")
        spans = self.spans.get(kind, [])
        at = int(index[:-1]) - (1 if index[0] != "-" else 0)
        return spans[at][anchor.endswith(">")] if -len(spans) <= at < len(spans) else None

    def without(self, what: str) -> str | None:
        """The text with its dates, brackets or numbers taken out; None when it has none to lose."""
        spans = {
            "dates": [(slot.start, slot.time_end) for slot in self.slots if slot.kind == "date"],
            "years": [(slot.start, slot.time_end) for slot in self.slots if slot.kind in ("date", "year")],
            "brackets": self.spans.get("bracket", []),
            "numbers": self.spans.get("digits", []),
        }[what]
        text, last = "", 0
        for start, end in spans:
            text, last = text + self.text[last:start].lstrip(TRIM if last else ""), end
        text += self.text[last:].lstrip(TRIM) if not text or text[-1] in TRIM else self.text[last:]
        return text.strip(TRIM)


@lru_cache(maxsize=8192)
def stem(text: str) -> Stem:
    return Stem(text)


@dataclass(frozen=True)
class Subject:
    """A file about to be named: everything a convention may draw on."""

    folder: str
    name: Stem
    extension: str
    modified: Moment | None = None

    @cached_property
    def parents(self) -> tuple[Stem, ...]:
        """The folder's name and its parent's, nearest first."""
        return tuple(stem(part) for part in reversed(self.folder.split("/")[-2:]) if part)

    @property
    def basename(self) -> str:
        return self.name.text + ("." + self.extension if self.extension else "")


def subject(path: str, mtime: str | None = None) -> Subject:
    folder, text, extension = split_path(path)
    return Subject(folder, stem(text), extension, from_iso(mtime) if mtime else None)
