"""Items from the dialogue of a session: its lines, judged, labelled and quoted."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence

from fazm_memory.lazy import lazy_regex
from fazm_memory.recall.chooser import (
    CHOICE,
    FINDING,
    PERSONAL,
    RESTRICTION,
    RESULT,
    RULE,
    UNFINISHED,
    VOICES,
    is_boilerplate,
    is_statement,
    is_working_thought,
    line_worth,
    tells,
    terms_of_text,
    weigh_names,
)
from fazm_memory.recall.dialogue import (
    ANSWERED,
    ANSWERS,
    CONCEDES,
    Line,
    Utterance,
    compact_request,
    compact_statement,
    dialogue_lines,
    refuting,
    shortened,
)
from fazm_memory.recall.items import GENERIC_QUESTION, Item, Section, item_id
from fazm_memory.recall.quoting import neutral, quote
from fazm_memory.records import dataclass, replace

MAX_LINES = 250  # of one session, the best
LONGEST_RULE = 260
RULE_WORTH = 1.4
CLOSING = ("closing", "final")
INTENDS = lazy_regex(
    r"(?i)\W*(?:(?:ok|great|good|perfect|now|so|first|next),? )*(?:i'?ll|i will|i'?m going to|i need to"
    r"|i should|let me"
    r"|let's|this is a (?:new|separate) task|the (?:existing|previous|current) plan\b"
    r"|i (?:now )?see (?:the|an?|that|now|what)"
    r"|i found (?:\w+ )?issues? to fix)\b"
)  # what the agent is about to do
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
BROKEN_OFF = lazy_regex(
    r"(?is)(?:(?:now|good|great|perfect|ok|okay|excellent|alright)[,.!]* )*(?:now )?"
    r"(?:let me|let's|i'?ll|i will|i need to|i'?m going to)\b[^\n]{0,200}[.:]?\s*\Z"
)  # a last message that only announces the next call
SAME_PLAN = 0.7  # share of the words of two titles
SAME_REQUEST = 0.5
FEWEST_TERMS = 5
ROOT_CAUSE = lazy_regex(r"(?i)\W*(?:the )?(?:root )?cause\b")
CAUSE = lazy_regex(
    r"(?i)\broot cause\b(?! anal)|\bturns out\b|\b(?:was|is|were) (?:caused|broken) by\b|\bthe bug occurred\b"
    r"|\bthe (?:real |actual |main )?(?:issue|problem|bug|cause|culprit|reason) (?:is|was)\b"
)
NO_CAUSE = lazy_regex(r"(?i)\b(?:issue|problem|bug|cause|culprit|reason) (?:is|was)(?: \w+)? not\b")
ERROR = lazy_regex(r"(?i)\b(?:error|fail\w*|exception|cannot|can't|denied|panic|not found|fatal)\b")
CORRECTS = lazy_regex(
    r"(?i)\b(?:not|no|only|should(?:n'?t)?|wrong|actually|but|because|since|so that|i (?:want|think"
    r"|expect|would)|why)\b"
)
DECIDING = lazy_regex(
    r"(?i)\b(?:don'?t|do not|never|always|instead|rather|must|wrong|not correct|let'?s|prefer|keep|root cause"
    r"|turns out|decid\w+|option \w|on purpose|revert)\b"
)
WORDING = lazy_regex(
    r"(?i)\b(?:like this|something like|says?|print|call it|wording|message|rename|text|label"
    r"|title)\b.*[:'\"]"
)  # a request that dictates words
LONG_ANSWER = 3  # lines
EFFECT = lazy_regex(
    r"(?i)\b(?:wraps?|ensures?|prevents?|handles?|works|no longer|instead|covers?|matches|supports?)\b"
)  # what a change does
LONGEST_QUOTE = 300
LONGEST_REQUEST = 190  # characters of a line of a request
LONGEST_STATEMENT = 200  # characters of a line of an agent
PLAIN_REQUEST = 120  # characters of a request that decides nothing
ORDERS_UNDO = lazy_regex(
    r"(?i)(?:^|[.!,;] )(?:(?:ok|no|actually|please|then|let'?s|can (?:you|we)|could you),? )*(?:revert"
    r"|undo|roll back|take back)\b"
    r"|\b(?:put|change|switch) (?:it|that|this) back\b"
)
UNDID = lazy_regex(
    r"(?i)\W*(?:done[.,!] |ok[.,!] )?(?:i(?:'ve| have)? )?(?:reverted|undone|undid|rolled back)\b"
)
UNDO_WITHIN = 3  # turns
SAME_INQUIRY = 3  # turns
PRAISES = lazy_regex(
    r"(?:This|These|Those|That|It|They) (?:(?:now|also|will|would|should|all) )*(?:ensures?|gives?|makes?"
    r"|allows?|keeps?|provides?|improves?|follows?|matches|guarantees?|confirms?|demonstrates?"
    r"|is (?:much )?(?:cleaner|simpler|better))\b"
    r"|The (?:code|implementation|refactoring|result) is (?:now )?(?:\w+ )?(?:cleaner|simpler|complete)"
)  # what is good about the work
AFTER_REFUSAL = 2  # positions
UNDONE = "undone later"
PASTED = "pasted: "  # before words that the user pasted
CONCLUDES = lazy_regex(
    r"(?i)\W*(?:(?:the |my )?(?:bottom line|conclusion|verdict|short answer|recommendation|tl;?dr)"
    r"|in short)\b"
)  # before the main point of an answer
YES_OR_NO = lazy_regex(r"(?i)\W*(?:yes|no|correct|exactly|not (?:yet|really|quite))\b")
APPROVES = lazy_regex(
    r"(?i)\W*(?:[\w'-]+ ){0,4}(?:pass(?:es|ed)?|looks? (?:good|fine|correct|right|great|clean))"
    r"(?: (?:now|again|to me|overall))*\W*"
)  # an approval that does not say of what
COMPLETION = terms_of_text(
    "all everything implementation implemented work plan task tasks step steps change changes complete"
    " completed done finished successfully fix fixed fixes tests test pass passing lint clean code now"
    " ready ready good phase phases issue issues feature properly fully"
)  # words that say no more than that the work is done
ENOUGH_TERMS = 3  # of an answer that can be understood without its question
BARE = 3  # characters of a reply that picks an option
DECISIONS = ("refusal", "verdict", "answer")  # of the user
REQUESTS = ("first", "asked", "reply", "answer", "refusal", "plan")
GOAL = 180  # characters
KINDS = {
    "first": "request", "asked": "request", "reply": "answer", "answer": "answer", "refusal": "refusal",
    "verdict": "refusal",
    "plan": "plan", "summary": "summary",
}  # fmt: skip
AT_WORK = "said by the agent at work"
REASONS = {
    "first": "the first request",
    "asked": "a request",
    "reply": "the user's answer to a question",
    "answer": "the user's answer to a question",
    "refusal": "the user refused a call and said why",
    "verdict": "the user's words on a plan",
    "plan": "from the plan",
    "summary": "from the agent's summary of a compacted conversation",
    "final": "from the answer that ended the session",
    "closing": "from the answer that closed a turn",
    "interim": AT_WORK,
}


@dataclass(frozen=True)
class Dialogue:
    """What a context uses of a session's dialogue."""

    items: tuple[Item, ...] = ()
    goal: Item | None = None
    names: tuple[tuple[str, int], ...] = ()  # identifiers and how much they matter


def dialogue_items(
    session: str,
    talk: Sequence[Utterance],
    *,
    folder: str | None,
    worth: float,
    superseded: Collection[int] = (),
    edits: Sequence[int] = (),
    refused: Collection[int] = (),
) -> Dialogue:
    """The items of a dialogue that are worth showing.

    `superseded` are positions that no longer hold, `edits` the positions of its changes, `refused` those of
    calls that the user refused.
    """
    old = {*superseded, *replaced_plans(talk), *known_summaries(talk)}
    talk = [
        replace(said, corrects=True, refused=True) if _after_refusal(said, refused) else said
        for said in talk
        if said.seq not in old
    ]
    lines = dialogue_lines(session, talk, edits)
    refuted = refuted_turns(lines, talk)
    closed = {line.turn for line in lines if _closes(line)}
    told = [
        line
        for line in lines
        if not is_boilerplate(line)
        and not (line.role == "final" and line.text.endswith("?"))  # known from the state
        and not (line.role in CLOSING and tells_before(line) and line_label(line) != "cause")
        and not (line.role in ANSWERS and line.turn in refuted)
        and not (line.turn in closed and is_working_thought(line))
        and not (line.role in ANSWERS and PRAISES.match(compact_statement(line.text)))
        and not (line.role in ANSWERS and INTENDS.match(compact_statement(line.text)))
    ]
    outcomes = outcome_lines(line for line in lines if line.turn not in refuted)
    shown = {id(line) for line in (*told, *outcomes.values())}
    told = [line for line in lines if id(line) in shown]
    replaced = earlier_causes(told, edits)
    told = [line for line in told if id(line) not in replaced]
    undone = undone_turns(lines)
    goal_line = _goal_line(told)
    goal = None if goal_line is None else _item(goal_line, line_worth(goal_line) * worth, folder)
    latest = _latest_lines(told)
    items: list[Item] = []
    for line in told:
        item = _item(line, line_worth(line, outcomes.get(line.turn) is line) * worth, folder)
        if line is goal_line:
            item = goal or item
        if line.turn in undone and not line.by_user:
            continue
        item = replace(item, outcome=outcomes.get(line.turn) is line)
        item = replace(item, undone=line.turn in undone)
        items.append(replace(item, latest=True) if line in latest else item)
    items = _latest_wording(items)
    best = sorted(items, key=lambda item: -item.score)[:MAX_LINES]
    names = sorted(weigh_names(lines).items(), key=lambda entry: (-entry[1], entry[0]))[:60]
    return Dialogue(tuple(sorted(best, key=lambda item: item.seq)), goal, tuple(names))


def refuted_turns(lines: Iterable[Line], talk: Sequence[Utterance]) -> set[int]:
    """The turns whose answer the user contradicted and the agent took back."""
    contradicted = refuting(talk)
    return {line.turn - 1 for line in lines if line.seq in contradicted}


def earlier_causes(lines: Sequence[Line], edits: Sequence[int]) -> set[int]:
    """The explanations after which a later message explains the same otherwise.

    Of those on one subject between two edits the last one counts.

    The result has the `id` of each line.
    """
    causes = [
        (line, bisect_left(edits, line.seq), terms_of_text(line.text))
        for line in lines
        if line.role in ANSWERS and line_label(line) == "cause" and not NO_CAUSE.search(line.text)
    ]
    return {
        id(line)
        for nth, (line, before, terms) in enumerate(causes)
        if any(
            before == other
            and later.seq > line.seq
            and later.turn - line.turn <= SAME_INQUIRY
            and terms & found
            for later, other, found in causes[nth + 1 :]
        )
    }


def _after_refusal(said: Utterance, refused: Collection[int]) -> bool:
    """Whether the user said something right after refusing a call."""
    return said.role in ("asked", "reply") and any(0 < said.seq - seq <= AFTER_REFUSAL for seq in refused)


def undone_turns(lines: Sequence[Line]) -> set[int]:
    """The turns whose work a later request or answer says to have been undone."""
    words: dict[int, set[str]] = {}
    changing: dict[int, bool] = {}
    undoing: set[int] = set()
    for line in lines:
        words.setdefault(line.turn, set()).update(terms_of_text(line.text))
        changing[line.turn] = changing.get(line.turn, True) and not line.talk_only
        if (line.by_user and not line.pasted and ORDERS_UNDO.search(line.text)) or (
            line.role in CLOSING and not line.place and UNDID.match(line.text)
        ):
            undoing.add(line.turn)
    answered = {line.turn for line in lines if line.role in CLOSING}
    undone: set[int] = set()
    for turn in undoing & answered:
        before = [
            other for other in range(max(0, turn - UNDO_WITHIN), turn)
            if other in answered and changing.get(other) and other not in undoing
        ]  # fmt: skip
        if before:
            undone.add(max(before, key=lambda other: (len(words[other] & words[turn]), other)))
    return undone


def _goal_line(lines: Iterable[Line]) -> Line | None:
    """The line of the first request that says what it is about.

    In a pasted log that is the error.
    """
    asked = [
        line for line in lines if line.role in ("first", "asked") or (line.role, line.place) == ("plan", 0)
    ]
    first = [line for line in asked if line.seq == asked[0].seq]
    if not first or first[0].role == "plan":
        return first[0] if first else None
    for wanted in (PERSONAL, ERROR) if len(first) > 1 else ():
        if (found := next((line for line in first if wanted.search(line.text)), None)) is not None:
            return found
    return first[0]


def replaced_plans(talk: Sequence[Utterance]) -> set[int]:
    """The positions of plans that a later plan of the same title replaced."""
    plans = [
        (said.seq, terms_of_text(said.text.strip().partition("\n")[0]))
        for said in talk
        if said.role == "plan"
    ]
    return {
        seq
        for nth, (seq, terms) in enumerate(plans)
        if any(same_plan(terms, later) for _, later in plans[nth + 1 :])
    }


def same_plan(title: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two plans have nearly the same words in their titles."""
    return _shared(title, other) >= SAME_PLAN


def known_summaries(talk: Sequence[Utterance]) -> set[int]:
    """The positions of summaries of a conversation that is itself in the dialogue."""
    return {said.seq for said in talk[1:] if said.role == "summary"}


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))


def _latest_wording(items: Sequence[Item]) -> list[Item]:
    """The items without requests that the user put again in nearly the same words."""
    kept: list[Item] = []
    later: list[frozenset[str]] = []
    for item in reversed(items):
        if item.kind == "request" and item.label == "asked":
            terms = terms_of_text(item.text)
            if len(terms) >= FEWEST_TERMS and any(_shared(terms, known) >= SAME_REQUEST for known in later):
                continue
            later.append(terms)
        kept.append(item)
    return kept[::-1]


def tells_before(line: Line) -> bool:
    """Whether a line of an answer describes the state before the request.

    That is mostly the fault, and not what came of the request.
    """
    return BEFORE_LINE.match(line.text) is not None or (
        BEFORE.match(line.heading) is not None and not RESULT.match(compact_statement(line.text))
    )


def _closes(line: Line) -> bool:
    """Whether a line is of an answer that ends a turn, not of a remark at work."""
    if line.role not in CLOSING or BROKEN_OFF.match(line.text):
        return False
    telling = line.text.endswith("?") or any(
        pattern.search(line.text) for pattern in (RESULT, CHOICE, FINDING, UNFINISHED, EFFECT)
    )
    return telling or line.count >= LONG_ANSWER


def _latest_lines(lines: Sequence[Line]) -> list[Line]:
    """The last request and the line of its answer that says best what came of it."""
    last = max((line.turn for line in lines), default=0)
    asked = [
        line for line in lines
        if line.turn == last and line.role in REQUESTS and not (line.role == "plan" and line.place)
    ]  # fmt: skip
    best = outcome_lines(lines).get(last)
    return [] if best is None else [*sorted(asked, key=line_worth)[-1:], best]


def outcome_lines(lines: Iterable[Line]) -> dict[int, Line]:
    """By turn, the line of its answer that says what came of the request.

    A line under a heading such as "Bottom line", else the first one that says something.
    """
    answers: dict[int, list[Line]] = {}
    for line in lines:
        if line.role in CLOSING and not BROKEN_OFF.match(line.text):
            answers.setdefault(line.turn, []).append(line)
    found = {turn: _outcome(answer) for turn, answer in answers.items()}
    return {turn: line for turn, line in found.items() if line is not None}


def _outcome(answer: Sequence[Line]) -> Line | None:
    possible = [line for line in answer if _may_be_outcome(line)]
    concluding = [line for line in possible if CONCLUDES.match(line.text) or CONCLUDES.match(line.heading)]
    telling = [line for line in possible if line.form != "heading" and not _only_completes(line)]
    return next(iter([*concluding, *telling, *possible]), None)


def _may_be_outcome(line: Line) -> bool:
    if line.form == "code" or line.text.endswith("?") or tells_before(line):
        return False
    text = compact_statement(line.text)
    if CONCEDES.match(text) or APPROVES.fullmatch(text):
        return False
    if not line.place and YES_OR_NO.match(text):
        return True
    if line.form == "lead":
        return is_statement(line.text) and not INTENDS.match(text)
    return not is_boilerplate(line) and not INTENDS.match(text) and tells(text)


def _only_completes(line: Line) -> bool:
    """Whether a line only says that the work is done."""
    return all(term in COMPLETION for term in terms_of_text(compact_statement(line.text)))


def with_short_quote(text: str, longest: int) -> str:
    """A text with the words in its quotes cut."""
    before, _, words = text.partition('"')
    words, _, after = words.rpartition('"')
    return f'{before}"{shortened(words, longest)}"{after}'


def _item(line: Line, score: float, folder: str | None) -> Item:
    kind = KINDS.get(line.role, "said")
    label = line_label(line)
    text = without_prefix(line.text, folder)
    if line.role in ("first", "asked"):
        text = shortened(compact_request(text), PLAIN_REQUEST if is_plain(line) else LONGEST_REQUEST)
    elif not line.by_user:
        text = shortened(compact_statement(text), LONGEST_STATEMENT)
    shown = _in_quotes(text, line) if line.by_user else neutral(text)
    if label == "rule":
        score = max(score, RULE_WORTH)
    name = (
        str(line.seq)
        if kind in ("request", "refusal", "answer") and not line.place
        else f"{line.seq}.{line.place}"
    )
    why = REASONS.get(line.role, "said")
    section: Section = "OPEN" if label == "open" else "DONE"
    return Item(
        item_id(line.session, kind, name), section, kind, shown, score + min(line.seq, 10**6) / 10**9,
        line.session, line.seq, line.trust, label, why, line.seq, line.at,
        line.turn, line.place, voice=VOICES.get(line.role, 1.0),
    )  # fmt: skip


def is_plain(line: Line) -> bool:
    """Whether a request decides, corrects and forbids nothing."""
    return not (
        line.corrects or line.about
        or any(pattern.search(line.text) for pattern in (DECIDING, CORRECTS, WORDING))
    )  # fmt: skip


def _in_quotes(text: str, line: Line) -> str:
    """The user's words.

    A question that they answer stands before them, the options they pick after them.
    """
    question, arrow, answer = (
        text.rpartition(ANSWERED) if line.role in ("reply", "answer") else ("", "", text)
    )
    if GENERIC_QUESTION.fullmatch(question) and len(terms_of_text(answer)) >= ENOUGH_TERMS:
        arrow, text = "", answer
    quoted = (
        f"{neutral(question)}{ANSWERED}{quote(answer, LONGEST_QUOTE)}"
        if arrow
        else quote(text, LONGEST_QUOTE)
    )
    if line.role == "verdict" and not line.place:
        quoted = f"on the plan: {quoted}"
    if line.about and line.role != "refusal" and not line.place:
        quoted += f" ({neutral(line.about)})"
    if line.pasted:
        quoted = f"{PASTED}{quoted}"
    return quoted if line.trust == "user" else f"{quoted} [{line.trust}]"


def line_label(line: Line) -> str:
    """The group in which a line is shown."""
    text = line.text
    if line.by_user:
        if line.pasted:
            return "asked"
        if line.role == "refusal" and RESTRICTION.search(text) and "?" not in text:
            return "rule"
        if (
            line.role in ("asked", "first") and line.trust == "user" and len(text) <= LONGEST_RULE
            and RULE.search(text) and "?" not in text
        ):  # fmt: skip
            return "rule"
        return "why" if line.role in ("answer", "reply") else "asked"
    if line.role == "summary":
        return "earlier"
    if ROOT_CAUSE.match(line.heading) or CAUSE.search(text):
        return "cause"
    if line.role == "plan":
        return "plan"
    if line.role == "final" and UNFINISHED.search(text) and not RESULT.search(text):
        return "open"
    return "why" if CHOICE.search(text) else "done"


def without_prefix(text: str, folder: str | None) -> str:
    """A text with paths inside the folder as relative ones."""
    if folder and len(folder) > 3:
        text = re.sub(rf"{re.escape(folder.rstrip('/'))}/(?=\S)", "", text)
    return text
