"""Sentences: what a message consists of, as lines that can be chosen one by one.

Markdown is taken apart into headings, sentences, list items and table rows. Code blocks are left out, and a
lead-in such as "The harness now creates:" is joined with a short list that follows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest

from fazm_memory.lazy import lazy_regex
from fazm_memory.records import dataclass

LONGEST = 300  # characters of a sentence
LONGEST_LIST = 180  # characters of a list that is joined with its lead-in
LEAST = 12  # characters that are left of a sentence made compact
SPLIT_FROM = 160  # a line of this length is split into its sentences

BLOCK = lazy_regex(r"^([ \t]*)(```|~~~)[^\n]*\n(.*?)(?:^[ \t]*\2[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
BULLET = lazy_regex(r"^\s*(?:[-*•+–]|\(?\d{1,3}[.)]|[a-z][.)]|\[[ xX]\])\s+(?:\[[ xX]\]\s+)?")
HEADING = lazy_regex(r"^\s*#{1,6}\s+")
BOLD_LINE = lazy_regex(r"^\s*(?:\*\*|__)([^*_]{2,90}?)(?:\*\*|__)\s*:?\s*$")
RULE = lazy_regex(r"^[\s|:=─━┄+\-*_]+$")
EMPHASIS = lazy_regex(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
LINK = lazy_regex(r"!?\[([^\]\n]*)\]\(([^)\s]*)\)")
SENTENCE_END = lazy_regex(r"(?<=[.!?])[\"')\]*`]*\s+(?=[A-Z0-9\"'(\[`*$/~])")
ABBREVIATION = lazy_regex(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|No|St|Dr|Mr|Ms|resp)|\b[A-Z])\.$")
NUMBER_AT_END = lazy_regex(r"\s\(?\d{1,2}[.)]\s*\Z")
CLAUSE_END = lazy_regex(r"[;,:)]\s|\s[-–—]\s")
COMMAND = lazy_regex(r"(?:\$ )?[a-z][\w.+/-]*(?: (?:[-\w./=@:,+~*#%]+|\"[^\"]*\"|'[^']*'|&&|\||2>&1))+")
STATUS_MARKS = lazy_regex("[\u2600-\u27bf\u2b50-\u2b55\U0001f300-\U0001faff\ufe0f]+ ?")
TAG = lazy_regex(r"</?[a-zA-Z][\w:-]*(?:\s[^<>]*)?>")
CODE = lazy_regex(r"`([^`\s]+)`")
REMARK = lazy_regex(
    r"(?i)(?:(?:done|perfect|great|good|clean|excellent|exactly|yes|right|ok|okay|sure|alright"
    r"|absolutely|got it"
    r"|fixed)\s*[.!,:–—-]+\s+|(?:great|good) (?:question|catch|point|thinking|idea|call)\w*\s*[.!,:–—-]*\s+"
    r"|you'?re (?:absolutely |completely )?right(?: to ask| again)?\s*[.!,:–—-]+\s+"
    r"|(?:ah,? |ok,? |now |wait,? |aha[!,]? )*i (?:can |now |clearly )*(?:see|understand|found|get it)"
    r"(?: now)?(?: (?:the|what the|why the) (?:issue|problem|bug|cause)(?: is)?)?(?: now)?\s*[.!:–—-]+\s+"
    r"|(?:ah,? |now |so )?found (?:it|(?:the|an?) (?:issue|problem|bug|cause))\s*[.!:–—-]+\s+"
    r"|(?:let me|let's) [^.!?:]{3,40}[.!]\s+(?=\S)"
    r"|based on (?:the|my|this) (?:summary|review|analysis|search|reading)(?: of [^,]{3,40})?,\s+"
    r"|(?:that|this) (?:clarifies|explains) (?:everything|it)\s*[.!:–—-]+\s+(?:so:?\s+)?"
    r"|(?:now|so|also|then|and|but|next|finally)(?:[,:]\s+|\s+)(?=[a-z\w](?!hat\b))"
    r"|i(?:'ve| have) (?:also |now )?(?=[a-z]+(?:ed|t)\b|made\b|written\b))"
)  # an opening that says nothing to a successor
ANNOUNCEMENT = lazy_regex(
    r"(?i)(?<=[.!?])\s+(?:(?:now|so|next|then),? )?(?:let me|let's|i'?ll|i will|i need to|i should)\b"
    r"[^.!?]*[.!?:…]*$"
)  # a closing sentence about the next call
POLITE = lazy_regex(
    r"(?i)(?:(?:ok|okay|yeah|hm+|well|so|and|also|now|btw|cool|great|nice|perfect|thanks?|alright|hey|hi)"
    r"(?:[,.!:…]+|\s+-)?\s+)*"
    r"(?:(?:can|could|would|will) (?:you|we)(?: please)?(?: (?:also|now|just|maybe|quickly))* |please )?"
)  # the opening of a request


@dataclass(frozen=True)
class Sentence:
    """One line of a text. `form` is heading, sentence, item, row, list, lead or code."""

    text: str
    form: str
    place: int  # among the sentences of its text
    heading: str = ""


@lru_cache(maxsize=4096)
def split_sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text in order."""
    found: list[Sentence] = []
    heading = ""
    for form, line in _joined(_lines(text)):
        if form == "heading":
            heading = line
        found.append(Sentence(line, form, len(found), "" if form == "heading" else heading))
    return tuple(found)


def shortened(text: str, longest: int = LONGEST) -> str:
    """A text cut at the end of a sentence or clause, with a sign that it goes on."""
    if len(text) <= longest:
        return text
    head = text[: longest - 1]
    ends = [found.end() for found in SENTENCE_END.finditer(head)] or [0]
    if ends[-1] < longest // 2:
        ends = [found.start() for found in CLAUSE_END.finditer(head)] or [0]
    end = ends[-1] if ends[-1] >= longest // 3 else max(head.rfind(" "), longest // 2)
    return NUMBER_AT_END.sub("", head[:end]).rstrip(" ,;:-–—(") + "…"


def plain_markdown(line: str) -> str:
    """A line without emphasis, link targets, emoji and repeated spaces."""
    line = LINK.sub(r"\1", line)
    line = EMPHASIS.sub(r"\2", line)
    line = STATUS_MARKS.sub("", line)
    return " ".join(line.split())


def compact_statement(text: str) -> str:
    """A sentence of an agent without remarks, announcements and marks around names.

    It is empty if it says nothing else.
    """
    text = CODE.sub(r"\1", text).replace('`"', "`").replace('"`', "`")
    shorter = ANNOUNCEMENT.sub("", text)
    while found := REMARK.match(f"{shorter} "):
        shorter = shorter[found.end() :]
    return shorter if len(shorter) >= LEAST or not shorter else text


def compact_request(text: str) -> str:
    """A request without its polite opening. What is left are the user's own words."""
    found = POLITE.match(text)
    shorter = text[found.end() :] if found else text
    return shorter if len(shorter) >= LEAST else text


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """The lines of a text and their forms."""
    lines = BLOCK.sub(_first_code_line, text).splitlines()
    for line, after in zip_longest(lines, lines[1:], fillvalue=""):
        if line.lstrip().startswith("|") and after.lstrip().startswith("|") and RULE.match(after):
            continue  # the names of a table's columns
        if line.startswith("\0"):
            yield "code", line[1:]
            continue
        if len(line.strip()) < 3 or RULE.match(line):
            continue
        if line.lstrip().startswith("|"):
            if row := _row(line):
                yield "row", row
            continue
        yield from _line(line)


def _first_code_line(found: re.Match[str]) -> str:
    """The first line of a short code block: a command or a commit message. Others are left out."""
    lines = [line.strip() for line in found[3].splitlines() if line.strip()]
    wanted = 0 < len(lines) <= 4 and 8 <= len(lines[0]) <= 160 and COMMAND.fullmatch(lines[0])
    return f"\0{lines[0]}\n" if wanted else "\n"


def _row(line: str) -> str:
    cells = [plain_markdown(cell) for cell in line.strip().strip("|").split("|")]
    cells = [cell for cell in cells if cell and cell not in ("-", "–", "—")]
    return f"{cells[0]}: {', '.join(cells[1:])}" if len(cells) > 1 else ""


def _line(line: str) -> Iterator[tuple[str, str]]:
    bold = BOLD_LINE.match(line)
    if HEADING.match(line) or bold:
        text = plain_markdown(bold[1] if bold else HEADING.sub("", line)).rstrip(":")
        if len(text) >= 3:
            yield "heading", text
        return
    form = "item" if BULLET.match(line) else "sentence"
    text = plain_markdown(BULLET.sub("", line.lstrip("> ")))
    if len(text) < 3:
        return
    if text.endswith(":"):
        *before, last = _sentences(text)
        yield from ((form, shortened(part)) for part in before)
        yield "lead", shortened(last)
    elif len(text) < SPLIT_FROM:
        *before, last = _sentences(text)
        if before and last.endswith("?"):  # a question is told apart from what was done
            yield form, " ".join(before)
            yield form, last
        else:
            yield form, text
    else:
        yield from ((form, shortened(part)) for part in _sentences(text))


def _sentences(text: str) -> Iterator[str]:
    start = 0
    for end in SENTENCE_END.finditer(text):
        part = text[start : end.start() + 1].strip()
        if len(part) < 30 or ABBREVIATION.search(part):
            continue
        yield part
        start = end.end()
    if rest := text[start:].strip():
        yield rest


def _list(lead: str, items: Iterable[str]) -> str:
    return f"{lead} {'; '.join(item.rstrip('.;') for item in items)}"


def _fitting(lead: str, items: Sequence[str]) -> int:
    """How many of the first items fit beside the lead-in."""
    return next(
        (nth for nth in range(len(items)) if len(_list(lead, items[: nth + 1])) > LONGEST_LIST), len(items)
    )


def _joined(lines: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The lines, with a lead-in and the items after it as one, as far as they fit."""
    lead, items = "", list[str]()

    def flush() -> Iterator[tuple[str, str]]:
        nonlocal lead, items
        taken = _fitting(lead, items) if lead else 0
        if taken:
            yield "list", _list(lead, items[:taken]) + ("; …" if taken < len(items) else "")
        elif lead:
            yield "lead", lead.rstrip(":")
        items = items[taken:]
        yield from (("item", item) for item in items)
        lead, items = "", []

    for form, line in lines:
        if form == "item":
            items.append(line)
            continue
        yield from flush()
        if form == "lead":
            lead = line
        else:
            yield form, line
    yield from flush()
