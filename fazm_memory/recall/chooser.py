"""The chooser: which lines of the dialogue the next session is given.

The worth of a line is a weighted sum of what can be seen in it: who said it, where it stands, what it names.
Lines are then taken by worth per token. What repeats a chosen line counts little, and every thread gets its
share. The same input gives the same choice, and `line_reason` says why.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from fazm_memory.lazy import lazy_regex
from fazm_memory.recall.dialogue import ANSWERED, PASSED, Line, compact_statement
from fazm_memory.recall.quoting import CHARACTERS_PER_TOKEN
from fazm_memory.records import dataclass

WORD = lazy_regex(r"[^\W\d_][\w]*(?:[-./:][\w]+)*|\d+(?:[.,]\d+)*|--?[a-z][\w-]+")
NAMES = lazy_regex(
    r"[A-Za-z_]\w*(?:[./:-]\w+)*\(?|--[a-z][\w-]+"  # candidates; `is_name` decides
)
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a an the of to in on for and or is are was were be been it its this that these those with as at by
        from i you we they he she my your our their not no do does did done have has had will would can could
        should may might must so if then than but also just now let me im ill lets there here what which when
        where how why all any some each one two into out up down over under only very more most such about
        after before same new own yes ok okay please want need like get got make made use used using via""",
    )
)
LEAD_INS = lazy_regex(
    r"(?i)(?:(?:now|first|next|good|great|perfect|ok|okay|alright|i see|excellent|right|done|sure)[,.! ]*)*"
    r"(?:let me|let's (?:check|look|see|run|verify)|now (?:i|let)|looking at|checking|running|waiting"
    r"|i (?:now )?have (?:a |the )?(?:good|full|complete|clear|comprehensive) (?:understanding|picture|view)"
    r"|sources?:|i'?(?:ll| will) (?:now |also )?(?:continue|proceed|address|check|look|read|run"
    r"|search|explore|start|verify|find|launch|see"
    r"|wait))\b"
)
CHATTER = lazy_regex(
    r"(?i)\W*(?:sorry|thanks?|thank you|hi|hello|great|perfect|nice|cool|continue|stop|go on|proceed"
    r"|no response requested|api error|you'?re right|good (?:question|catch|point)|i understand|done)\b"
    r"[^a-z]*(?:continue|go on|please|you|very much|again)?\W*"
)
PASTED_WORD = lazy_regex(r"(?<!\S)(?!https?:)[^\s]{90,}")
DIAGNOSTICS = lazy_regex(
    r"(?i)\b(?:diagnostics?|lsp|gopls|linter (?:warning|hint)s?)\b.*\b(?:stale|false positives?|transient"
    r"|just style|suggestions|will clear|cached?|outdated|ignor\w+|pre-?existing|unrelated|catch up"
    r"|not (?:real|related))\b"
)  # of an editor, of the moment
COMMAND = lazy_regex(r"/[a-z][\w:-]*")
RULE = lazy_regex(
    r"(?i)(?:^|[.;:!(\n] ?|\b(?:please|just) |^(?:and|but|so|ok|no),? )"
    r"(?:(?:don'?t|do not)(?! (?:we|you|i|they|have|think|know|understand|see|get|want to know)\b)|never"
    r"|always|no need to)\b"
    r"|\b(?:you (?:must|should|can'?t|may not)|must (?:not|never|always)|we should (?:not|never|always|only)"
    r"|(?<!this )(?<!that )(?<!it )shouldn'?t(?! (?:we|you|it|this|that|i)\b)"
    r"|i(?:'d)? prefer|from now on|without asking|only way)\b"
)
FINDING = lazy_regex(
    r"(?i)\b(?:see|found|find|understand|identified|here's|that's|this is)\b.{0,25}"
    r"\b(?:the|an?|real|actual)\b.{0,20}\b(?:issue|problem|bug|cause|culprit|gap)\b|\broot cause"
    r"|\bturns out\b"
    r"|\bthe (?:issue|problem|bug|cause|reason|fix|solution|gap) (?:is|was)\b"
    r"|\bwas (?:wrong|missing|broken|caused)|\bactually\b"
)
PERSONAL = lazy_regex(
    r"(?i)\b(?:i|i'm|i'd|we|you|my|our|me|us|please|let's|why|how|what|can|could|should|need|want|add"
    r"|fix|make"
    r"|check|look|review|update|write|remove|change|use|implement|create|find|explain|show)\b"
)  # in words to somebody
FAULT = lazy_regex(
    r"(?i)\broot cause|\bturns out\b"
    r"|\bthe (?:real |actual |main )?(?:issue|problem|bug|cause|culprit|reason) (?:is|was)\b"
    r"|\b(?:was|is|were) (?:caused|broken) by\b"
)  # the cause of a fault, told while at work
CHOICE = lazy_regex(
    r"(?i)\b(?:kept|keep|stays?|left|unchanged|instead of|rather than|no longer|not needed|deliberately"
    r"|intentional|on purpose|by design|decid\w+|chose|chosen|option \w)\b"
)
RESULT = lazy_regex(
    r"(?i)\b(?:added|removed|fixed|created|updated|implemented|renamed|moved|changed|replaced"
    r"|refactored|wrote"
    r"|extracted|split|committed|pushed|merged|filed|sent|booked|filled|now (?:uses?|returns?|shows?|handles?"
    r"|checks?))\b"
)
THOUGHT = lazy_regex(
    r"(?i)^(?:(?:now|so|next|first|then|also|but|ok|wait|hm+)[,:.]* )*"
    r"(?:let me|let's|i (?:need|should|can|must|will|have to|notice)|i'?ll|i'?m (?:going|about)"
    r"|we (?:need|should|have)|need to|update|check|run|look|add|remove|fix|step \d)\b"
    r"|\b(?:diagnostics?|i just (?:added|changed|made)|needs? to be|we need to|i need to|let me)\b"
)  # of the agent at work, about its next call
UNFINISHED = lazy_regex(
    r"(?i)\b(?:not (?:yet|run|tested|done|implemented|covered|included|committed|pushed)|remaining"
    r"|still (?:need\w*|to|open|fails?|missing)|todo|next steps?|follow-?up|open question|later|pending"
    r"|(?<!was )(?<!were )missing|manual(?:ly)? test|would you like|want me to|should i|shall i|limitation"
    r"|caveat|known issue)\b"
)
RESTRICTION = lazy_regex(r"(?i)\b(?:don'?t|do not|never|always|not|no|only|instead|too|rather|stop|avoid)\b")
YES = lazy_regex(
    r"(?i)\W*(?:yes|yep|yeah|sure|ok(?:ay)?|do (?:it|that|so)|go(?: ahead| on)?|please(?: do)?|continue"
    r"|proceed|y|1|let'?s (?:do (?:it|that|this)|give it a try|go))"
    r"(?:[,.! ]+(?:please|do|it|that|so|this|go|ahead|thanks?|exactly|let'?s (?:do (?:it|that|this)"
    r"|give it a try|go)|implement|fix|both|all|for me|sounds good|great))*\W*"
)  # an answer that only agrees
INJECTION = lazy_regex(
    r"(?i)\b(?:ignore|disregard|forget) (?:all |any |the |your )*(?:previous|prior|above|earlier|other)\b"
    r"|\bsystem prompt\b|\bnew instructions?\b|\byou are now\b"
)
SUMMARY = lazy_regex(
    r"(?i)\bsummary\b|\bhere(?:'s| is| are)\b|\bto check\b|\bfollowing\b|\blooking back\b|\bchanges made\b"
)  # a short line that only leads to what follows
UNFINISHED_LEAD = lazy_regex(
    r"(?i)\b(?:like|as|with|is|are|was|were|be|do|does|have|has|these|this|that|to|of|in|into|by|for|reads?"
    r"|says?|shows?|checks?|includes?|contains?|called|follows?|following|below|above|because|if|when|it|and"
    r"|or)$"
)  # it ends in a word that needs what follows
SHORT_LEAD = 60
PLAIN_WORD = lazy_regex(r"(?<![\w/.\-:'])[A-Za-z][a-z]{2,}(?![\w/(]|[.:\-]\w)")
FEWEST_WORDS = 3
FEWEST_TERMS = 4  # of a line of an agent that names and counts nothing
DECIDING_TERMS = 6  # of a question
LAST_OF_PLAN = 6  # its goal and design stand in its first lines


def terms_of_text(text: str) -> frozenset[str]:
    """The words of a text that carry meaning, without endings."""
    found = set()
    for word in WORD.findall(text):
        low = word.lower().strip("-./:")
        if len(low) > 1 and low not in STOP_WORDS:
            found.add(_stem(low) if low.isalpha() else low)
    return frozenset(found)


def _stem(word: str) -> str:
    for ending in ("ing", "edly", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


# How much a line is worth by who said it. What the user says decides most.
WORTH: dict[str, float] = {
    "first": 1.0, "asked": 0.9, "reply": 0.75, "answer": 1.4, "refusal": 1.4, "verdict": 1.4,
    "title": 1.2, "plan": 0.7, "final": 0.8, "closing": 0.5, "interim": 0.4, "summary": 0.2,
    "outcome of final": 1.0, "outcome of closing": 0.6,
}  # fmt: skip
LATER_LINES: dict[str, float] = {"final": 0.12, "closing": 0.05, "plan": 0.12}  # less for each line before
OF_USER = 0.15
LEAST = 0.35  # of the worth, however far down
FAULT_FACTOR = 1.3
FRAGMENT = 0.6  # of a request, in words to nobody: mostly pasted output
CORRECTS = 1.3
LAST_TURN = 1.1
PASTED_FACTOR = 0.5
OVERTURNED = 0.25
MERE_TALK = ("asked", "reply", "closing", "interim")
TALK_ONLY = 0.75  # nothing was changed in its turn, but in a later one
# How much a word matters by who says it.
VOICES: dict[str, float] = {
    "first": 2, "asked": 2, "reply": 2, "answer": 3, "refusal": 3, "verdict": 3,
    "final": 2, "closing": 1.2, "plan": 1, "summary": 0.7, "interim": 0.4,
}  # fmt: skip


def line_worth(line: Line, outcome: bool = False) -> float:
    """The worth of a line by who said it and where it stands in its message."""
    role = "title" if line.role == "plan" and not line.place else line.role
    if outcome:
        role = f"outcome of {role}"
    worth = WORTH.get(role, 0.3)
    worth *= max(LEAST, 1 - (OF_USER if line.by_user else LATER_LINES.get(role, 0.0)) * line.place)
    if not line.by_user and FAULT.search(line.text):
        worth *= FAULT_FACTOR
    if line.talk_only and line.role in MERE_TALK and not (line.by_user and not line.text.endswith("?")):
        worth *= TALK_ONLY
    if line.by_user and line.place and not PERSONAL.search(line.text):
        worth *= FRAGMENT
    if line.corrects:
        worth *= CORRECTS
    if not line.turns_left:
        worth *= LAST_TURN
    return worth * (PASTED_FACTOR if line.pasted else 1) * (OVERTURNED if line.overturned else 1)


def is_boilerplate(line: Line) -> bool:
    """Whether a line says nothing to a successor.

    That is chatter, a lead-in, or an order to a model.
    """
    if INJECTION.search(line.text) and not line.by_user:
        return True
    if (
        CHATTER.fullmatch(line.text)
        or PASSED.fullmatch(compact_statement(line.text))
        or COMMAND.fullmatch(line.text)
        or len(line.text) < (3 if line.by_user else 6)
    ):
        return True
    if line.by_user:
        question, _, answer = line.text.rpartition(ANSWERED)
        if line.role == "reply" and YES.fullmatch(answer) and not _decides(question):
            return True
        return PASTED_WORD.search(line.text) is not None or (line.pasted and says_nothing(line))
    if DIAGNOSTICS.search(line.text):
        return True
    if line.form == "heading" and line.place and not names_in(line.text):
        return True  # the title of a part
    if line.role == "closing" and line.text.endswith("?"):  # settled by what the user said next
        return True
    if says_nothing(line):
        return True
    if line.form == "lead" and not (RESULT.search(line.text) and is_statement(line.text)):
        return True  # what it announces is not in it
    if line.role == "plan" and line.place > LAST_OF_PLAN:
        return True
    if line.role == "interim" and THOUGHT.search(line.text) and not FINDING.search(line.text):
        return True
    return bool(LEAD_INS.match(line.text)) and not FAULT.search(line.text)


def _decides(question: str) -> bool:
    """Whether a question says by itself what a "yes" to it decides."""
    return bool(names_in(question)) or len(terms_of_text(question)) >= DECIDING_TERMS


def says_nothing(line: Line) -> bool:
    """Whether a line has hardly a word that means something.

    For example "All changes are complete". A line with a name or a number says something.
    """
    said = terms_of_text(compact_statement(line.text))
    thin = len(said) < FEWEST_TERMS and all(term.isalpha() for term in said)
    return thin and not line.text.endswith("?")


def is_statement(text: str) -> bool:
    """Whether a line that leads to a list says something by itself."""
    text = compact_statement(text)
    return tells(text) and not UNFINISHED_LEAD.search(text) and not SUMMARY.search(text)


def tells(text: str) -> bool:
    """Whether a text says something in words, not only in names and paths.

    The promise of a summary says nothing.
    """
    text = compact_statement(text)
    if LEAD_INS.match(text) or (SUMMARY.search(text) and len(text) <= SHORT_LEAD):
        return False
    return len(PLAIN_WORD.findall(text)) >= FEWEST_WORDS


def is_working_thought(line: Line) -> bool:
    """Whether a line was said between two calls and names no cause of a fault."""
    return line.role == "interim" and (THOUGHT.search(line.text) is not None or not FAULT.search(line.text))


@dataclass(frozen=True)
class Candidate:
    """Something that may be chosen. Lines of one message compete with each other."""

    id: str
    worth: float
    cost: int
    terms: frozenset[str]
    thread: int
    message: tuple[str, int] = ("", 0)
    voice: float = 1.0  # how much its words matter by who says them
    spoken: bool = True  # a sentence, and not something known from the state
    turn: tuple[str, int] = ("", 0)  # the request that it belongs to
    detail: bool = False  # means little before its request or the outcome of it is chosen


COST_POWER = 0.75  # of the tokens of a line
SAME = 0.62  # share of the words that makes two lines the same
MESSAGE_DECAY = 0.8
MOST_OF_MESSAGE = 6  # lines of one message, which else becomes a wall of text
SAID_AGAIN = 0.2  # of the weight of a word, each time it was told before
FAMILIAR = 3  # times told, after which a word adds nothing
BASE = 10.0  # weight of a line besides its words


def choose(
    candidates: Sequence[Candidate], room: int, shares: Mapping[int, int], taken: Iterable[Candidate] = ()
) -> list[int]:
    """The positions of the candidates that fit into `room`, by worth per token.

    A line covers words. A word weighs more if few lines have it and many messages of the user and closing
    answers come back to it, and less each time it was told. `shares` is the most that a thread may take,
    `taken` are the candidates that are in already.
    """
    taken = list(taken)
    weights = word_weights([*candidates, *taken])
    # `fsum` does not depend on the order of a set, which differs between processes.
    usual = math.fsum(weights[term] for one in candidates for term in one.terms) / max(1, len(candidates))
    told: Counter[str] = Counter()
    chosen: list[int] = []
    used: Counter[int] = Counter()
    messages: Counter[tuple[str, int]] = Counter()
    similar: dict[str, list[Candidate]] = {}

    def add(candidate: Candidate) -> None:
        told.update(candidate.terms)
        messages[candidate.message] += 1
        for term in candidate.terms:
            similar.setdefault(term, []).append(candidate)

    def gain(nth: int) -> float:
        candidate = candidates[nth]
        new = BASE + math.fsum(
            weights[term] * SAID_AGAIN ** told[term] for term in candidate.terms if told[term] < FAMILIAR
        )
        if not candidate.spoken:
            new = max(new, usual)
        decay = MESSAGE_DECAY ** messages[candidate.message] if candidate.message[0] else 1.0
        tokens = -(-candidate.cost // CHARACTERS_PER_TOKEN)  # of about equal lines the later one comes first
        return float(candidate.worth * new * decay / max(1, tokens) ** COST_POWER)

    for candidate in taken:
        add(candidate)
    begun = {candidate.turn for candidate in taken}
    headed = {candidate.turn for candidate in candidates if not candidate.detail}
    waiting: dict[tuple[str, int], list[int]] = {}
    heap = []
    for nth, candidate in enumerate(candidates):
        if candidate.detail and candidate.turn in headed and candidate.turn not in begun:
            waiting.setdefault(candidate.turn, []).append(nth)
        else:
            heap.append((-gain(nth), nth))
    heapq.heapify(heap)
    most = MOST_OF_MESSAGE
    more: list[int] = []
    while heap or more:
        if not heap:  # there is room for more of the same messages
            heap, more, most = [(-gain(nth), nth) for nth in more], [], len(candidates)
            heapq.heapify(heap)
        _, nth = heapq.heappop(heap)
        candidate, now = candidates[nth], gain(nth)
        if heap and -now > heap[0][0] + 1e-12:
            heapq.heappush(heap, (-now, nth))
            continue
        if candidate.cost > room or used[candidate.thread] + candidate.cost > shares.get(
            candidate.thread, room
        ):
            continue
        if candidate.message[0] and messages[candidate.message] >= most:
            more.append(nth)
            continue
        if candidate.spoken and _repeats(candidate, similar):
            continue
        room -= candidate.cost
        used[candidate.thread] += candidate.cost
        chosen.append(nth)
        add(candidate)
        for other in waiting.pop(candidate.turn, ()):
            heapq.heappush(heap, (-gain(other), other))
    return chosen


def word_weights(candidates: Sequence[Candidate]) -> dict[str, float]:
    """The weight of each word of the candidates.

    A word weighs more if few lines have it and the dialogue often comes back to it.
    """
    lines = Counter(term for candidate in candidates for term in candidate.terms)
    voices: dict[str, dict[tuple[str, int], float]] = {}
    for candidate in candidates:
        message = candidate.message if candidate.message[0] else (candidate.id, 0)
        for term in candidate.terms:
            heard = voices.setdefault(term, {})
            heard[message] = max(heard.get(message, 0.0), candidate.voice)
    return {
        term: math.log(1 + sum(heard.values())) * math.log(1 + len(candidates) / lines[term])
        for term, heard in voices.items()
    }


def _repeats(candidate: Candidate, similar: Mapping[str, Sequence[Candidate]]) -> bool:
    """Whether a chosen line has nearly the same words, and not far fewer.

    What came of a request may have its words.
    """
    terms = candidate.terms
    if len(terms) < 3:
        return False
    others = {id(other): other for term in terms for other in similar.get(term, ())}
    return any(
        len(terms & other.terms) >= max(3, SAME * min(len(terms), len(other.terms)))
        and len(terms) <= 1.3 * len(other.terms)
        for other in others.values()
        if candidate.detail or other.turn != candidate.turn or not candidate.turn[0]
    )


IDENTIFIER = lazy_regex(
    r"[a-z][a-z0-9]*(?:[A-Z]\w*)+|[A-Z][a-z0-9]+(?:[A-Z]\w*)+|[a-z0-9]+(?:_[a-z0-9]+)+|[\w-]+\.[a-z]{1,5}"
)


def names_in(text: str) -> set[str]:
    """The identifiers and file names in a text."""
    found = (name.rstrip("(").rsplit("/", 1)[-1] for name in NAMES.findall(text))
    return {name for name in found if 5 <= len(name) <= 40 and IDENTIFIER.fullmatch(name)}


NAME_WEIGHTS = {"final": 3, "closing": 2, "asked": 3, "first": 2, "reply": 3, "refusal": 3}


def weigh_names(lines: Iterable[Line]) -> Counter[str]:
    """How much the names in these lines matter."""
    counts: Counter[str] = Counter()
    for line in lines:
        for name in names_in(line.text):
            counts[name] += NAME_WEIGHTS.get(line.role, 1)
    return counts
