"""Outcomes: what came of a request, and which points of an answer the user did not take up.

An answer is read as its author laid it out: the sentence that says what was done or found comes first, a list
or a table is told by its first entries, and a long report by its headings. What describes the fault or the
state before the change is never told as the result.

After a review with three issues and "fix issue 1", two issues are open, unless somebody came back to them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from fazm_memory.lazy import lazy_regex
from fazm_memory.recall.chooser import (
    DIAGNOSTICS,
    PASSED,
    RESULT,
    SUMMARY,
    is_boilerplate,
    names_in,
    tells,
    terms_of_text,
)
from fazm_memory.recall.dialogue import ANSWERS, USER_ROLES, Line, Utterance
from fazm_memory.recall.quoting import neutral
from fazm_memory.recall.sentences import compact_statement, plain_markdown, shortened
from fazm_memory.records import dataclass

CLOSING = ("closing", "final")
LISTED = ("item", "list", "row")
FIRST_LINES = 8  # of an answer, where it says what came of the request
FEWEST_HEADINGS = 2
NUMBERED = lazy_regex(
    r"\W*(?:(?i:issue|problem|bug|gap|finding|concern|fix|step|option) *#?)?(?:\d{1,2}|[A-Z])[.):] "
)
PART = lazy_regex(r"(?<=[.!?]) (?=[A-Z0-9`\"'(])")
WEAK = lazy_regex(
    r"(?i)(?:(?:ah|oh|so),? (?:that'?s|this is) (?:a|an|the)\b|(?:that'?s|this is) (?:a|an"
    r"|the) (?:\w+ )?(?:detail|clue|insight)"
    r"|this is an? (?:great|good|excellent|interesting)|i(?:'ve| have)? (?:done|completed?"
    r"|finished|now have|reviewed|looked"
    r"|analy[sz]ed)|based on|looking at|thorough|comprehensive|done a|now i|i (?:now )?(?:see"
    r"|understand|have)|let me|that's (?:a|an) "
    r"(?:clean|good|great|excellent)|the (?:changes|implementation|work|refactoring) (?:is"
    r"|are) (?:now )?(?:complete|done|finished))\b"
)  # an opening that says little by itself
INTENDS = lazy_regex(
    r"(?i)\W*(?:(?:ok|great|good|perfect|now|so|first|next),? )*(?:i'?ll|i will|i'?m going to|i need to"
    r"|i should|let me"
    r"|let's|this is a (?:new|separate) task|the (?:existing|previous|current) plan\b"
    r"|i (?:now )?see (?:the|an?|that|now|what)"
    r"|i found (?:\w+ )?issues? to fix)\b"
)  # what the agent is about to do
IDLE = lazy_regex(
    r"(?i)(?:all (?:the )?work (?:for|on|in|from)[^.!?]{0,60} (?:complete|done|finished)|all (?:done"
    r"|fixed|set)|done|fixed|perfect|great|good|clean|excellent|the (?:changes?"
    r"|implementation|fix|refactor\w*|work|feature|code) (?:is|are)"
    r" (?:now )?(?:complete|done|ready|in place|finished)(?: and all tests pass)?"
    r"|everything (?:is )?(?:works?|passes|clean|done)"
    r"|implementation complete|complete|you'?re (?:absolutely |completely )?right[^.!?]*"
    r"|that'?s a (?:great|good|fair|valid) (?:point|question|catch|idea)|i understand)[.!]?"
)
HEADING_NUMBER = lazy_regex(r"^\W*\d{1,2}[.)]\s+")
ENDINGS = lazy_regex(r"((?:[.!?;]|:) )")
DANGLING = lazy_regex(
    r"(?i)\b(?:was|is|are|were|shows?|reads?|looks? like|see|sees|output|with|becomes?|includes?"
    r"|following|now|to|has"
    r"|have|because|that|will)"
    r"[:\s]*$"
)  # the end of a lead-in
ANNOUNCES = lazy_regex(
    r"(?i)(?:(?<=[.!?]) |^)(?:here(?:'s| is| are)|below (?:is|are)|the following|this is"
    r"|let me) (?:a |an |the |my |what |how )*"
    r"(?:quick |brief |full |complete |final |detailed |short |comprehensive )*"
    r"(?:summary|overview|list|breakdown|what|changes?|analysis|summari[sz]e|i found|i did"
    r"|was (?:done|changed|added|implemented)"
    r"|changed|happen\w*|findings?|plan|design|result)\b[^.!?:]*(?::\s*|$)"
)  # of what follows
BEFORE = lazy_regex(
    r"(?i)(?!\W*(?:issue|problem|bug)s? *(?:#?\d|found|remaining|to fix))\W*(?:\d+[.)]\s*)?"
    r"(?:(?:the |current |original |old |actual )*(?:problem|issue|bug|symptom"
    r"|situation|behaviou?r)s?"
    r"(?: (?:statement|summary|description))?|root cause|before|background|context|why (?:it"
    r"|this) (?:happen|fail)\w*"
    r"|what (?:was wrong|happened|went wrong)|error|cause)\b(?!.*\b(?:fixed|solved|resolved|after|new|now)\b)"
)  # a heading of what was wrong
FILE_LINE = lazy_regex(r"(?i)\W*(?:files?|location|function|test)\b[^.:]{0,20}:")
BEFORE_LINE = lazy_regex(
    r"(?i)(?!\W*(?:issue|problem|bug) *#?\d)\W*(?:(?:the )?(?:problem|issue|bug|symptom"
    r"|old code)s?(?: was)?|root cause|before"
    r"|previously|was|files?|location"
    r"|function|test)\b[^.:]{0,20}:"
)
AFTER = lazy_regex(
    r"(?i)\W*(?:\d+[.)]\s*)?(?:the |a |my |key |main )*(?:fix|fixes|solution|result|results"
    r"|conclusion|verdict|outcome|answer"
    r"|summary|recommendation|bottom line|assessment|tl;?dr|what (?:changed|i did|was done)"
    r"|changes?(?: made)?)\b"
)  # a heading of what came of it
VERDICT = lazy_regex(
    r"(?i)\W*(?:(?:the|my|overall|final|short) )*(?:verdict|conclusion|assessment|bottom line|tl;?dr"
    r"|short answer|in short|in summary|to summari[sz]e|net (?:result|effect)"
    r"|answer|recommendation|root cause|\w+ resolved|decision)\b\W*"
    r"|(?i:so,? you'?re right)\b\W+"
)
SHORT_RESULT = lazy_regex(
    r"(?i)\W*((?:reverted|undone|undid|rolled back|restored|removed|deleted|committed|pushed|merged"
    r"|squashed|rebased"
    r"|renamed|closed|sent)\b[^.!?:]{0,60})[.!](?=\s|$)"
)  # a first sentence of few words that says what was done
YES_OR_NO = lazy_regex(
    r"(?i)\W*(?:(yes|yep|correct|exactly|that'?s (?:right|correct)|you(?:'re| are) (?:absolutely "
    r"|completely )?(?:right|correct))"
    r"|(no|nope|not (?:yet|quite|really|exactly|currently)|unfortunately not))\b(?!\s+(?:problem"
    r"|worries|need))"
)  # an answer that begins with its verdict
CLOSED_QUESTION = lazy_regex(
    r"(?i)(?:^|[.!?,:;] |\b(?:but|and|so|or|check|know) )(?:if |whether )?(?:is|are|was|were|does|do"
    r"|did|has|have|can|could|will"
    r"|would|should|isn'?t|aren'?t|doesn'?t|don'?t|didn'?t|won'?t|shouldn'?t)\b[^?]*\?|, (?:right|or"
    r"|correct)\?|\b(?:right|correct)\?"
)
PLAIN_HEADING = lazy_regex(
    r"(?i)\W*(?:\d+[.)]\s*)?(?:the |a |key |main |updated |final |all |new |other |more |quick "
    r"|detailed |overall )*"
    r"(?:summary|changes?|fix(?:es)?|files?|tests?|testing|overview|flow|usage|features?|example"
    r"|examples|results?|verification"
    r"|details?|notes?|implementation|how (?:it|this|to)|what (?:changed|it|this|i)|structure"
    r"|commands?|output|steps?"
    r"|next steps?|options?|approach(?:es)?|summary of|analysis|findings?|review|recommendations?"
    r"|conclusion|trade-?offs?"
    r"|pros|cons|benefits?|documentation|docs|code|behaviou?r|actions?|questions?|after|before"
    r"|problem|issue|solution|why)\b"
    r"[\w\s/&:()'’,-]{0,34}"
)  # a heading that names a part of an answer, not what was done


@dataclass(frozen=True)
class TurnOutcome:
    """What came of a request: the text, the lines it is made of, and the worth of the best of them."""

    text: str
    lines: tuple[Line, ...]
    score: float


def outcomes_by_turn(
    judged: Iterable[tuple[Line, float]], lines: Sequence[Line], closed: Collection[int], longest: int
) -> dict[int, TurnOutcome]:
    """The outcome of each turn that has one.

    In a turn that no answer closed, it is what the agent said at work.
    """
    worth = dict(judged)
    by_turn: dict[int, list[Line]] = {}
    asked: dict[int, str] = {}
    for line in lines:
        if line.by_user:
            asked[line.turn] = line.text  # the last sentence of a request
        if line.role in CLOSING or (line.role == "interim" and line.turn not in closed):
            by_turn.setdefault(line.turn, []).append(line)
    found = {}
    for turn, answer in by_turn.items():
        if (outcome := _outcome(answer, worth, longest, asked.get(turn, ""))) is not None:
            found[turn] = outcome
    return found


def _verdict_word(answer: Sequence[Line], asked: str) -> str:
    """What the first words of an answer say in short: yes or no to a question, or "Reverted." """
    begin = answer[0].text
    if answer[0].role == "interim":
        return ""
    if (done := SHORT_RESULT.match(begin)) is not None:
        return f"{done[1]}. "
    said = YES_OR_NO.match(begin)
    if said is None or CLOSED_QUESTION.search(asked) is None:
        return ""
    return "yes: " if said[1] else "no: "


def _outcome(
    answer: Sequence[Line], worth: dict[Line, float], longest: int, asked: str
) -> TurnOutcome | None:
    first = _best(answer, worth) if answer[0].role == "interim" else _first(answer)
    outline = _outline(answer)
    if first is None:
        if not outline:
            return None
        first, outline = outline[0], outline[1:]
    text, taken = _plain(first), [first]
    for line in outline or _following(answer, first):
        added = _plain(line)
        if not added or added in text:
            continue
        joined = f"{_ended(text, taken[-1], line)} {added}"
        if len(joined) > longest and taken[-1].form != "lead":
            break
        text = joined
        taken.append(line)
    text = _without_lead(text)
    word = _verdict_word(answer, asked)
    if text.lower().startswith(word.rstrip(": ").lower()):
        word = ""
    text = f"{word}{text}"
    if word and answer[0] not in taken:
        taken.append(answer[0])
    best = max((worth.get(line, 0.0) for line in (*taken, *answer[:FIRST_LINES])), default=0.0)
    return TurnOutcome(shortened(text, longest), tuple(taken), best)


def _ended(text: str, line: Line, after: Line) -> str:
    """A text with a mark at its end, before the next line of the answer."""
    if text.endswith((".", "!", "?", ":", ";", "…")):
        return text
    if line.form == "lead" or (line.form != "heading" and after.form == "heading"):
        return f"{text}:"
    return f"{text}{';' if after.form in ('item', 'list', 'row', 'heading') else '.'}"


def _best(answer: Sequence[Line], worth: dict[Line, float]) -> Line | None:
    """The line that says most, of what an agent said at work: a result, not what it looks at or plans."""
    able = [
        line for line in answer
        if line in worth and tells(line.text) and not line.text.endswith("?")
        and RESULT.search(line.text) and not INTENDS.match(compact_statement(line.text))
    ]  # fmt: skip
    return max(able, key=lambda line: worth[line], default=None)


def _first(answer: Sequence[Line]) -> Line | None:
    """The first line of an answer that says what came of the request."""
    if (verdict := _verdict(answer)) is not None:
        return verdict
    weak: Line | None = None
    seen = 0
    before = False  # in a part about the fault or the state before
    for nth, line in enumerate(answer):
        if line.form in ("heading", "lead"):
            before = BEFORE.match(line.text) is not None
        if before or line.form == "heading" or announces_code(line, answer[nth + 1 : nth + 2]):
            continue
        seen += 1
        if seen > FIRST_LINES:
            break
        text = _plain(line)
        if not tells(text) or text.endswith("?") or tells_before(line) or DIAGNOSTICS.search(text):
            continue
        if INTENDS.match(text):
            continue
        if WEAK.match(text):
            weak = weak or line
            continue
        return line
    return weak


def _verdict(answer: Sequence[Line]) -> Line | None:
    """The line that the answer itself calls its conclusion."""
    for nth, line in enumerate(answer):
        if (found := VERDICT.match(line.text)) is None:
            continue
        if len(line.text) > found.end() + 2:
            return line
        after = answer[nth + 1] if nth + 1 < len(answer) else None
        if (
            line.form in ("heading", "lead")
            and after is not None
            and after.form != "heading"
            and tells(after.text)
        ):
            return after
    return None


def announces_code(line: Line, after: Sequence[Line]) -> bool:
    """Whether a lead-in announces a block of code, which is not among the lines."""
    listed = after and after[0].seq == line.seq and after[0].form in LISTED
    return line.form == "lead" and not listed and DANGLING.search(line.text) is not None


def tells_before(line: Line) -> bool:
    """Whether a line of an answer describes the fault or the state before, not what came of the request."""
    return BEFORE_LINE.match(line.text) is not None or (
        BEFORE.match(line.heading) is not None and not RESULT.match(compact_statement(line.text))
    )


def _outline(answer: Sequence[Line]) -> list[Line]:
    """The headings of an answer that say themselves what was done or found."""
    found = [
        line
        for line in answer
        if line.form == "heading"
        and len(line.text.split()) >= 2
        and not PLAIN_HEADING.fullmatch(line.text)
        and not BEFORE.match(line.text)
        and not line.text.endswith("?")
        and (NUMBERED.match(line.text) or RESULT.search(line.text) or names_in(line.text))
    ]
    return found if len(found) >= FEWEST_HEADINGS else []


def _following(answer: Sequence[Line], first: Line) -> list[Line]:
    """The lines right after the first, as long as they belong to it."""
    after = [line for line in answer if line.seq == first.seq and line.place > first.place]
    found: list[Line] = []
    for nth, line in enumerate(after):
        if announces_code(line, after[nth + 1 : nth + 2]):
            continue
        if line.form == "heading":
            if found or not (AFTER.match(line.text) or line.place == first.place + 1):
                break
            continue
        if line.text.endswith("?") or tells_before(line):
            break
        if PASSED.fullmatch(compact_statement(line.text)) or (line.form != "lead" and is_boilerplate(line)):
            continue
        if line.form == "lead" and (SUMMARY.search(line.text) or not tells(line.text)):
            continue
        found.append(line)
    return found


def _plain(line: Line) -> str:
    """What a line says, without remarks, passed checks and announcements."""
    said = HEADING_NUMBER.sub("", line.text) if line.form == "heading" else line.text
    text = compact_statement(ANNOUNCES.sub("", compact_statement(said))).rstrip(" :;")
    parts = [
        part for part in PART.split(text) if part and not PASSED.fullmatch(part) and not IDLE.fullmatch(part)
    ]
    return " ".join(parts)


def _without_lead(text: str) -> str:
    """A text without a last sentence that only announces what is not in it."""
    parts = [part for part in ENDINGS.split(text) if part]
    while len(parts) > 2 and DANGLING.search(parts[-1]):
        parts = parts[:-2]
    return "".join(parts)


POINT = lazy_regex(
    r"^[ \t]*(?:#{1,6}[ \t]+|\*\*|[-*][ \t]+\*\*)(?:Issue|Problem|Bug|Finding|Concern|Gap"
    r"|Suggestion)[ \t]*#?(\d{1,2})"
    r"\*{0,2}[ \t]*[.:)—–-]+[ \t]*(\S[^\n]*)$",
    re.I | re.M,
)
HEADED = lazy_regex(
    r"^[ \t]*(?:#{1,6}[ \t]+|\*\*)[^\n]{0,40}\b(?:issues|problems|bugs|concerns|gaps|what's broken"
    r"|still missing|findings)\b"
    r"[^\n]{0,30}$",
    re.I | re.M,
)
HEADING = lazy_regex(r"^[ \t]*#{1,6}[ \t]+(?!\**\d)|^-{3,}[ \t]*$", re.M)
NUMBERED_POINT = lazy_regex(r"^[ \t]{0,3}(?:#{1,6}[ \t]+)?\**(\d{1,2})[.)]\**[ \t]+(\S[^\n]*)$", re.M)
NAMES_POINT = lazy_regex(
    r"(?i)(?:\b(?:issues?|problems?|bugs?|points?|findings?|fix|numbers?|nr|no)\b\.?[ \t]*|#|^\W*)"
    r"(\d{1,2}\b(?![.:/]\d)(?:(?:[ ,&+#]|\band\b)+\d{1,2}\b(?![.:/]\d))*)"
)  # one or several: "issue 1", "1, 2 and 4"
ALL = lazy_regex(r"(?i)\b(?:all|both|each|every|everything|them)\b")
SETTLED = lazy_regex(
    r"(?i)\b(?:not an? (?:issue|problem|bug)|no (?:issue|problem|change)|correct as|fine as|acceptable"
    r"|harmless|works as|already (?:fixed|handled|done))\b|✅"
)
TAKEN = 0.5  # share of the words of a point that later words repeat
FEWEST_WORDS = 2  # of a point that later words repeat
FEWEST_POINTS = 2
LONGEST_POINT = 90
MAX_POINTS = 4


@dataclass(frozen=True)
class Untaken:
    """The points of an answer that were left, and where it stands."""

    text: str
    seq: int
    at: int
    trust: str


def untaken_points(talk: Sequence[Utterance]) -> Untaken | None:
    """The points of the last list of which the user took up some."""
    for nth in range(len(talk) - 1, -1, -1):
        said = talk[nth]
        if said.role not in ANSWERS or len(points := listed_points(said.text)) < FEWEST_POINTS:
            continue
        later = talk[nth + 1 :]
        asked = next((other for other in later if other.role in USER_ROLES), None)
        if asked is None or ALL.search(asked.text):
            return None
        taken = _named_points(asked.text) & points.keys()
        if not taken or len(taken) == len(points):
            return None
        words = [terms_of_text(other.text) for other in later]
        left = [
            f"{label} {shortened(plain_markdown(text), LONGEST_POINT)}"
            for label, text in points.items()
            if label not in taken and not _came_up(text, label, words, later)
        ]
        if not left:
            return None
        return Untaken(neutral("; ".join(left[:MAX_POINTS])), said.seq, said.at, said.trust)
    return None


def listed_points(text: str) -> Mapping[str, str]:
    """The issues that an answer lists by number."""
    points = dict(POINT.findall(text))
    if len(points) >= FEWEST_POINTS:
        return points
    headed = next(reversed(list(HEADED.finditer(text))), None)
    if headed is None:
        return {}
    part = text[headed.end() :]
    end = HEADING.search(part)
    found = NUMBERED_POINT.findall(part[: end.start()] if end is not None else part)
    return {label: words for label, words in found if not SETTLED.search(words)}


def _named_points(text: str) -> set[str]:
    return {number for found in NAMES_POINT.findall(text) for number in re.findall(r"\d+", found)}


def _came_up(text: str, label: str, words: Sequence[frozenset[str]], later: Sequence[Utterance]) -> bool:
    """Whether something that was said later is about a point."""
    terms = terms_of_text(text)
    if any(other.role in USER_ROLES and label in _named_points(other.text) for other in later):
        return True
    enough = max(FEWEST_WORDS, TAKEN * len(terms))
    return any(len(terms & found) >= enough for found in words)
