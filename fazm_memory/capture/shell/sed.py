"""The edits of sed and of Perl's rename, `s/old/new/flags` and `y/abc/xyz/`, applied to known text."""

from __future__ import annotations

import re
from collections.abc import Callable

from fazm_memory.capture.shell.pattern import Match, Pattern, compiled, is_text, posix_source, substituted

Edit = Callable[[str], str]
_WIDEST = 1_000
_FLAGS = re.compile(r"[gGiIpe0-9]*")


def edited(args: list[str], text: str) -> str | None:
    """What `sed` prints for its input, when its script only substitutes."""
    extended = any(arg in ("-E", "-r") for arg in args)
    rest = [arg for arg in args if arg not in ("-E", "-r", "-u", "--")]
    scripts = [rest[i + 1] for i, arg in enumerate(rest) if arg == "-e" and i + 1 < len(rest)] or rest[:1]
    expected = 2 * len(scripts) if rest[:1] == ["-e"] else 1
    if len(rest) != expected or any(script.startswith("-") for script in scripts):
        return None
    edit = edits("\n".join(scripts), extended=extended)
    if edit is None or not is_text(text):
        return None
    return "".join(edit(line) + "\n" for line in rows(text))


def rows(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def spread(text: str) -> str | None:
    """A set of characters with its ranges written out: `a-e` as `abcde`."""
    out: list[str] = []
    at = 0
    while at < len(text):
        if text[at + 1 : at + 2] == "-" and at + 2 < len(text):
            low, high = ord(text[at]), ord(text[at + 2])
            if high - low > _WIDEST or len(out) > _WIDEST:
                return None
            out += map(chr, range(low, high + 1))
            at += 3
        else:
            out.append(text[at])
            at += 1
    return "".join(out)


def edits(script: str, *, extended: bool, perl: bool = False) -> Edit | None:
    """A script of substitutions as a function of one line; None when it does more than that."""
    steps: list[Edit] = []
    at = 0
    while at < len(script):
        if script[at] in " \t\n;":
            at += 1
            continue
        command, delimiter = script[at], script[at + 1 : at + 2]
        closing = {"{": "}", "(": ")", "[": "]"}.get(delimiter, delimiter)
        if command not in "sy" or not delimiter or delimiter in "\\\n" or delimiter.isalnum():
            return None
        first, at = _until(script, at + 2, closing)
        if closing != delimiter and script[at : at + 1] == delimiter:
            at += 1
        second, at = _until(script, at, closing)
        flags = _FLAGS.match(script, at)
        at = flags.end() if flags else at
        if first is None or second is None or script[at : at + 1] not in ("", ";", "\n", " ", "\t"):
            return None
        if command == "y":
            step = _transliteration(first, second)
        else:
            step = _step(first, second, flags[0] if flags else "", extended, perl)
        if step is None:
            return None
        steps.append(step)

    def run(line: str) -> str:
        for step in steps:
            line = step(line)
        return line

    return run if steps else None


def _until(script: str, at: int, closing: str) -> tuple[str | None, int]:
    out: list[str] = []
    while at < len(script):
        char = script[at]
        if char == closing:
            return "".join(out), at + 1
        if char == "\\" and at + 1 < len(script):
            out.append(script[at + 1] if script[at + 1] == closing else script[at : at + 2])
            at += 2
        else:
            out.append(char)
            at += 1
    return None, at


def _transliteration(first: str, second: str) -> Edit | None:
    old, new = spread(first), spread(second)
    if old is None or new is None or len(old) != len(new):
        return None
    table = str.maketrans(old, new)
    return lambda line: line.translate(table)


def _step(old: str, new: str, flags: str, extended: bool, perl: bool) -> Edit | None:
    if "e" in flags:
        return None  # the result would be run as a command or as code
    source = old if perl else posix_source(old, extended=extended)
    pattern = compiled(source, longest=not perl, ignore_case="i" in flags.lower()) if source else None
    if pattern is None:
        return None
    digits = re.sub(r"\D", "", flags)[:6]
    count = 0 if "g" in flags else 1
    return _substitution(pattern, new, count, int(digits or 1), perl)


def _substitution(pattern: Pattern, new: str, count: int, first: int, perl: bool) -> Edit:
    tokens = re.findall(r"\\.|\$\d|\$\{\d\}|[&]|[^\\&$]+|.", new, re.DOTALL)

    def fill(match: Match) -> str:
        out: list[str] = []
        mode, once = "", ""
        for token in tokens:
            if len(token) == 2 and token[0] == "\\" and token[1] in "LUElu":
                if token[1] in "lu":
                    once = token[1]
                else:
                    mode = token[1].replace("E", "")
                continue
            text = _token(token, match, perl)
            text = text.lower() if mode == "L" else text.upper() if mode == "U" else text
            if once and text:
                text = (text[0].lower() if once == "l" else text[0].upper()) + text[1:]
                once = ""
            out.append(text)
        return "".join(out)

    return lambda line: substituted(pattern, line, fill, count, first)


def _token(token: str, match: Match, perl: bool) -> str:
    if token == "&" and not perl:
        return match.group(0) or ""
    digits = re.fullmatch(r"\\(\d)|\$(\d)|\$\{(\d)\}", token)
    if digits and (digits[1] or perl):
        number = int(digits[1] or digits[2] or digits[3])
        return (match.group(number) or "") if number <= len(match.groups()) else ""
    if len(token) == 2 and token[0] == "\\":
        return {"n": "\n", "t": "\t"}.get(token[1], token[1])
    return token
