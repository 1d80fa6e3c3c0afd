"""xargs: a command run on names that come through a pipe."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fazm_memory.capture.shell.call import Call, Status, options
from fazm_memory.capture.shell.value import Value, joined, known, unknown

_WORD = re.compile(r"""\s*((?:"[^"\n]*"|'[^'\n]*'|\\.|[^\s"'\\])+)""")
_QUOTED = re.compile(r"""\"([^"]*)"|'([^']*)'|\\(.)""")


def xargs(call: Call) -> Status:
    opts = options(call.args, "InLPdaEs", "max-args", "max-procs", "delimiter", "arg-file", leading=True)
    command = opts.operands or [known("echo")]
    given = call.input.rest()
    marker = opts.value("I")
    items = _items(given, opts.any("0", "null"), opts.value("d", "delimiter"), marker is not None)
    if items is None:
        call.execute([_marked(arg, marker, unknown()) for arg in command] + ([] if marker else [unknown()]))
        return None
    size = opts.value("n", "L", "max-args")
    text = (size.text if size is not None else None) or ""
    step = int(text) if re.fullmatch(r"[1-9]\d{0,5}", text) else len(items)
    with call.doubting(given.doubt):
        if marker is not None:
            for item in items:
                call.execute([_marked(arg, marker, known(item)) for arg in command])
        else:
            for at in range(0, len(items), step or 1):
                call.execute([*command, *(known(item) for item in items[at : at + step])])
    return None


def _marked(arg: Value, marker: Value | None, item: Value) -> Value:
    if marker is None or arg.text is None or not marker.text:
        return arg
    first, *rest = arg.text.split(marker.text)
    return joined([known(first), *(part for text in rest for part in (item, known(text)))])


def _items(given: Value, null: bool, delimiter: Value | None, by_line: bool) -> list[str] | None:
    if given.text is None or (delimiter is not None and not delimiter.text):
        return None
    if null or delimiter is not None:
        end = "\0" if null else (delimiter.text or "").replace("\\n", "\n") if delimiter else "\n"
        return [item for item in given.text.removesuffix(end).split(end) if item]
    if by_line:
        return [line.strip() for line in given.text.split("\n") if line.strip()]
    return list(_words(given.text))


def _words(text: str) -> Iterator[str]:
    """Words at blanks, with quotes undone; an unmatched quote ends the work, as it does for xargs."""
    at = 0
    while found := _WORD.match(text, at):
        at = found.end()
        if text[at : at + 1] in ('"', "'"):
            return
        yield _QUOTED.sub(lambda part: part[1] or part[2] or part[3] or "", found[1])
