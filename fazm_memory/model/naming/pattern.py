"""A program as people read it: `{date:%Y-%m-%d} {before " - "|slug}.{ext}`.

In braces stands what varies. `{name}` is the whole old name, `{word 2}` its second word and `{word -1}` its
last, `{number 1}` a number, `{before "_"}` and `{after "_" 2}` what stands before the first and after the
second underscore, `{in brackets}` what brackets hold, `{name without dates}` what is left of a name.
`{date:…}` is the date in the name and `{modified:…}` the file's time, with strftime's codes (`%-d` without
zeros, `%^b` in capitals, `%q` the quarter, `%h` the month in three English letters, `%o` the day as 14th,
`%B(de)` in German). `{folder}` is the folder's name, `{counter:001}` a counter from its first value, `{ext}`
the extension. After a bar stands what is done to it: `lower`, `slug`, `"_" to " "`, `digits 3`. The rest is
written as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from fazm_memory.model.naming.program import Const, Counter, Part, Program, Segment, count_text
from fazm_memory.model.naming.text import How

_NAMED = {
    ("words", "-", "lower"): "slug",
    ("quotes", "-", "lower"): "slug",
    ("camel", "-", "lower"): "kebab",
    ("words", "_", "lower"): "snake",
    ("camel", "_", "lower"): "snake",
    ("words", "", "title"): "PascalCase",
    ("camel", "", "title"): "PascalCase",
    ("words", "", "camel"): "camelCase",
    ("camel", "", "camel"): "camelCase",
}
_CASE = {
    "lower": "lower",
    "upper": "UPPER",
    "title": "Title",
    "initial": "Capitals",
    "first": "Sentence",
    "small": "Title with small words",
    "camel": "camelCase",
}
_FOLD = {"ascii": "without accents", "german": "ä as ae", "unquote": "%20 decoded"}
_SPLIT = {"punct": "without punctuation", "squeeze": "single spaces", "and": "& as and"}
_CUT = {"first": "first ", "last": "last ", "max": "at most ", "pad": "digits ", "plus": "plus "}
_WHOLE_CUT = {
    "int": "without zeros",
    "initials": "initials",
    "dotted": "initials with dots",
    "roman": "roman",
}
_KINDS = {"inside": "bracket", "digits": "number"}
_TOKENS = {"inside": "in brackets", "digits": "number", "chunk": "piece"}


def _split(how: How) -> str:
    if len(how.split) == 1:
        return f'"{how.split}" to "{how.join}"'
    joined = f'words joined by "{how.join}"' if how.join else "words joined"
    return _SPLIT.get(how.split, joined) if how.split != "and" else f"{_SPLIT['and']}, {joined}"


def _cut(cut: str) -> str:
    for word, text in _CUT.items():
        if cut.startswith(word):
            return text + cut[len(word) :].partition(":")[0]
    return _WHOLE_CUT[cut]


def _how(how: How) -> str:
    said = [_FOLD[how.fold]] if how.fold else []
    named = _NAMED.get((how.split, how.join, how.case))
    if named:
        said.append(named)
    else:
        said += [_split(how)] if how.split else []
        said += [_CASE[how.case]] if how.case else []
    said += [_cut(how.cut)] if how.cut else []
    return "".join("|" + word for word in said)


def _anchor(name: str) -> str:
    for mark, text in (("+word:", "word {} after "), ("-word:", "word -{} before ")):
        head, found, tail = name.partition(mark)
        if found:
            return text.format(tail.rstrip("<>")) + _anchor(head)
    if name.startswith("text:"):
        return f'"{name[5:-1]}"'
    kind, _, index = name.rpartition(":")
    label = f'"{kind[1:-1]}"' if kind.startswith("'") else _KINDS.get(kind, kind)
    return label if index[:-1] == "1" else f"{label} {index[:-1]}"


def _between(part: Part) -> str:
    a, b = part.a, part.b
    if (a, b) == ("start", "end"):
        return "name"
    if a[:-1] == b[:-1] and not a.startswith("text:"):
        kind, _, index = a[:-1].rpartition(":")
        alone = index == "1" and kind in ("date", "inside", "episode", "version", "year")
        label = _TOKENS.get(kind, kind)
        return label if alone else f"{label} {index}"
    if a == "start":
        return f"to {_anchor(b)}" if b.endswith(">") else f"before {_anchor(b)}"
    if b == "end":
        return f"after {_anchor(a)}" if a.endswith(">") else f"from {_anchor(a)}"
    return f"from {_anchor(a)} to {_anchor(b)}"


def _part(part: Part) -> str:
    if part.where == "ext":
        return "{ext" + _how(part.how) + "}"
    text = f"name without {part.a}" if part.what == "without" else _between(part)
    if part.where != "name":
        folder = "folder" if part.where == "folder" else "folder above"
        text = folder if text == "name" else f"{folder} {text}"
    return "{" + text + _how(part.how) + "}"


def _date_label(part: Part) -> str:
    if part.where == "modified":
        return "modified"
    kind, _, index = part.a.partition(" ")[0].partition(":")
    label = kind if index == "1" else f"{kind} {index}"
    return label if part.where == "name" else f"folder {label}"


def _date_code(part: Part) -> str:
    mark = {"upper": "%^", "lower": "%_"}.get(part.how.case, "%")
    return part.b.replace("%", mark) + (f"({part.how.fold})" if part.how.fold else "")


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def segments_text(segments: Iterable[Segment]) -> str:
    """The pattern of a row of segments; components of one date that follow each other are written as one."""
    out: list[tuple[str, str]] = []  # (label of a date or "", text)
    pending = ""
    for segment in segments:
        if isinstance(segment, Const):
            pending += segment.text
            continue
        if isinstance(segment, Part) and segment.what == "date":
            label = _date_label(segment)
            if out and out[-1][0] == label and len(pending) <= 3 and "{" not in pending:
                out[-1] = (label, out[-1][1] + pending + _date_code(segment))
            else:
                out += [("", _literal(pending)), (label, _date_code(segment))]
        elif isinstance(segment, Counter):
            out += [("", _literal(pending)), ("", "{counter:" + count_text(segment, segment.start) + "}")]
        else:
            out += [("", _literal(pending)), ("", _part(segment))]
        pending = ""
    out.append(("", _literal(pending)))
    return "".join("{" + label + ":" + text + "}" if label else text for label, text in out)


def _extension(program: Program) -> str:
    if program.ext == "table":
        new = sorted({ext for _, ext in program.exts})
        if len(new) == 1:
            return "." + new[0] if new[0] else ""
    words = {
        "keep": "",
        "lower": "|lower",
        "upper": "|UPPER",
        "usual": "|usual spelling",
        "table": "|by table",
    }
    return ".{ext" + words[program.ext] + "}"


def pattern(program: Program) -> str:
    """The pattern of the new name, without its folder."""
    return segments_text(choice.first for choice in program.stem) + _extension(program)


def destination(program: Program) -> str:
    """The pattern of the new folder, "" when files stay where they are."""
    if program.folders:
        return "{by extension: " + ", ".join(f"{ext} → {path}" for ext, path in program.folders) + "}"
    return segments_text(choice.first for choice in program.folder)


def _gist(segment: Segment) -> Segment:
    """A segment without what seldom matters: first or last where there is one, which side of a delimiter."""
    if not isinstance(segment, Part) or segment.what == "without":
        return segment
    a, b = (re.sub(r":-?\d+[<>]?", "", anchor) for anchor in (segment.a, segment.b))
    if segment.what == "date":
        return replace(segment, a=a)
    return replace(segment, what="between", a=a, b=b)


def other_readings(program: Program) -> tuple[str, ...]:
    """The patterns of the readings that the examples leave open, at most four."""
    first = [choice.first for choice in program.stem]
    found: list[str] = []
    for index, choice in enumerate(program.stem):
        told = {_gist(choice.first)}
        for other in choice.others:
            if _gist(other) not in told:
                told.add(_gist(other))
                found.append(segments_text([*first[:index], other, *first[index + 1 :]]))
    found += [segments_text(rival) for rival in program.rivals]
    own = segments_text(first)
    return tuple(dict.fromkeys(text + _extension(program) for text in found if text != own))[:4]
