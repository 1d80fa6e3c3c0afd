"""The chooser: how much a line of the dialogue is worth to the next session, and which lines fit.

The worth of a line is a weighted sum of what can be seen in it: who said it, where it stands, what it names.
Lines are then taken by worth per token. What repeats a chosen line counts little, and every thread gets its
share. The same input gives the same choice, and `line_reason` says why.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from fazm_memory.lazy import lazy_regex
from fazm_memory.recall.dialogue import ANSWERED, Line
from fazm_memory.recall.sentences import compact_statement
from fazm_memory.records import dataclass, field

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
NARRATION = lazy_regex(
    r"(?i)(?:(?:now|first|next|also|then|so|good|ok|okay|great|perfect|alright|right)[,.!: -]*)*"
    r"(?:i (?:need|should|can|will|want|have to|see|also)|i'?ll|let me|let's|we need|need to|there (?:is|are)"
    r" (?:also|still)|the (?:file|test|tests|build|lint|linter|diagnostics?)\b)"
)
CHATTER = lazy_regex(
    r"(?i)\W*(?:sorry|thanks?|thank you|hi|hello|great|perfect|nice|cool|continue|stop|go on|proceed"
    r"|no response requested|api error|you'?re right|good (?:question|catch|point)|i understand|done)\b"
    r"[^a-z]*(?:continue|go on|please|you|very much|again)?\W*"
)
CHECK = (
    r"(?:all |the |both |every |\d+ |of |unit |integration |e2e |existing |new |other |race )*"
    r"(?:tests?|checks?|lint\w*|builds?|formatting|fmt|everything|race detect\w+|type ?checks?)"
    r"(?:(?:,| and| &)+ (?:all )?(?:lint\w*|tests?|formatting|builds?))*"
    r"(?: (?:is|are|now|still|all|also))* (?:pass(?:es|ed|ing)?|green|clean|ok|fine|succeeds?)"
    r"(?: (?:and|with) [^.,]{0,40}(?:clean|pass\w*|issues)| cleanly)?"
)
PASSED = lazy_regex(
    r"(?i)\W*all (?:is |are )?(?:green|passing|good|clean|done|set)\W*"
    rf"|\W*{CHECK}(?:(?:[,;]| and| &)+ {CHECK})*(?:\s*[—–:(-]\s*[^.]{{0,90}})?\W*"
)  # told by the last run of the checks
PASTED_WORD = lazy_regex(r"(?<!\S)(?!https?:)[^\s]{90,}")
DIAGNOSTICS = lazy_regex(
    r"(?i)\b(?:diagnostics?|lsp|gopls|linter (?:warning|hint)s?)\b.*\b(?:stale|false positives?|transient"
    r"|just style|suggestions|will clear|cached?|outdated|ignor\w+|pre-?existing|unrelated|catch up"
    r"|not (?:real|related))\b"
)  # of an editor, of the moment
COMMAND = lazy_regex(r"/[a-z][\w:-]*")
CORRECTION = lazy_regex(
    r"(?i)\b(?:don'?t|do not|never|always|instead|rather|should(?:n'?t)?|must|prefer|wrong|not what|no,"
    r"|actually|only|keep|remove|simple|simplest|i want|i think|why)\b"
)
RULE = lazy_regex(
    r"(?i)(?:^|[.;:!(\n] ?|\b(?:please|just) |^(?:and|but|so|ok|no),? )"
    r"(?:(?:don'?t|do not)(?! (?:we|you|i|they|have|think|know|understand|see|get|want to know)\b)|never"
    r"|always|no need to)\b"
    r"|\b(?:you (?:must|should|can'?t|may not)|must (?:not|never|always)|we should (?:not|never|always|only)"
    r"|(?<!this )(?<!that )(?<!it )shouldn'?t(?! (?:we|you|it|this|that|i)\b)"
    r"|i(?:'d)? prefer|from now on|without asking|only way)\b"
)
CAUSE = lazy_regex(
    r"(?i)\b(?:because|since|root cause|the (?:issue|problem|bug|fix|reason)|instead of|so that|rather than"
    r"|due to|caused|fails?|failed|broken|missing|limitation|gap|trade-?off|decision|decided|chose|kept)\b"
)
FINDING = lazy_regex(
    r"(?i)\b(?:see|found|find|understand|identified|here's|that's|this is)\b.{0,25}"
    r"\b(?:the|an?|real|actual)\b.{0,20}\b(?:issue|problem|bug|cause|culprit|gap)\b|\broot cause"
    r"|\bturns out\b"
    r"|\bthe (?:issue|problem|bug|cause|reason|fix|solution|gap) (?:is|was)\b"
    r"|\bwas (?:wrong|missing|broken|caused)|\bactually\b"
)
FAULT = lazy_regex(
    r"(?i)\broot cause|\bturns out\b"
    r"|\bthe (?:real |actual |main )?(?:issue|problem|bug|cause|culprit|reason) (?:is|was)\b"
    r"|\b(?:was|is|were) (?:caused|broken) by\b"
)  # the cause of a fault, told while at work
HEDGED = lazy_regex(
    r"(?i)\b(?:likely|probably|perhaps|maybe|might|seems?|appears?|i (?:think|suspect|believe)"
    r"|possibly|could be)\b"
)  # a guess
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
REQUEST = lazy_regex(
    r"(?i)\b(?:can you|could you|let'?s|i want|i'd|we (?:should|need|want)|please|make sure|add|remove|fix"
    r"|change|update|why|how|what)\b"
)
WANTS_TO_KNOW = lazy_regex(
    r"(?i)(?:(?:ok|okay|and|but|so|hm+|wait|one|last|another|question|please|can you|could you)[,:.]*\s+)*"
    r"(?:why|what|how|where|which|who|when|is|are|was|were|does|do|did|has|have|isn'?t|aren'?t"
    r"|doesn'?t|don'?t"
    r"|didn'?t|explain|check|double check|show|see|tell|help me understand|list|look)\b"
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
SHORT_LEAD = 60
PLAIN_WORD = lazy_regex(r"(?<![\w/.\-:'])[A-Za-z][a-z]{2,}(?![\w/(]|[.:\-]\w)")
FEWEST_WORDS = 3
LAST_OF_PLAN = 6  # its goal and design stand in its first lines
TEST_NAME = lazy_regex(r"'?`?Test\w+(?:_\w+)*`?'?\.?$")


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


# A weight for each feature of a line. Fitted on days with known notes, then rounded.
FEATURES: dict[str, float] = {
    "": -0.34,
    "length": 0.55,
    "names": 0.10,
    "user's words": 0.16,
    "named again": 0.05,
    "depth": -0.04,
    "digit": -0.04,
    "long text": -0.08,
    "last turn": 0.05,
    "talk only": -0.1,
    "wants to know": -0.25,
    # who said it
    "first": -0.01,
    "asked": -0.16,
    "reply": 0.0,
    "refusal": 0.35,
    "verdict": 0.35,
    "answer": 0.15,
    "plan": 0.01,
    "summary": -0.05,
    "closing": -0.09,
    "interim": -0.12,
    # a prompt
    "prompt: whole": 0.30,
    "prompt: corrects": 0.24,
    "prompt: wants": 0.05,
    "prompt: work": 0.10,
    "prompt: begins": 0.08,
    "prompt: short": -0.05,
    "prompt: asks": -0.05,
    "prompt: names": -0.08,
    # an answer
    "last question": 0.41,
    "last answer, unfinished": 0.41,
    "final: names": 0.28,
    "final: result": 0.1,
    "interim: finding": 0.14,
    "interim: result": 0.08,
    "interim: names": 0.07,
    "closing: finding": 0.04,
    "answer: begins": 0.14,
    "final: begins": 0.10,
    "closing: work": 0.10,
    "narrates": -0.08,
    "answer: early": 0.03,
    "answer: short": 0.09,
    "answer: late": -0.04,
    "answer: ends": -0.05,
    # a plan
    "plan: title": 0.42,
    "plan: begins": 0.12,
    "plan: early": 0.04,
    "plan: ends": -0.05,
    # what it tells
    "choice": 0.15,
    "unfinished": 0.16,
    "cause": 0.03,
    "result": -0.06,
    "form list": 0.07,
    "form heading": 0.04,
    "form row": -0.08,
    "short heading": -0.05,
    "hedged": -0.1,
    "test name": -0.1,
}


@dataclass(frozen=True)
class Scene:
    """What a line is judged against: the words of the user, and how often later lines repeat a name."""

    user_terms: frozenset[str] = frozenset()
    later: Mapping[int, Collection[str]] = field(default_factory=dict)
    recency: int = 0  # 0 for the newest session
    added: frozenset[str] = frozenset()  # names that the session added to code, in lower case


def line_features(line: Line, terms: frozenset[str], scene: Scene) -> dict[str, float]:
    """The features of a line by name, each 0 to about 1."""
    text, role, form = line.text, line.role, line.form
    names = {name.lower() for name in names_in(text)} | {term for term in terms if not term.isalpha()}
    later = scene.later.get(line.seq, ())
    found: dict[str, float] = {
        role: 1, f"form {form}": 1, "length": math.log(20 + len(text)) / 5,
        "names": min(len(names), 4) / 4, "depth": line.depth, "recency": min(scene.recency, 6) / 6,
        "user's words": len(terms & scene.user_terms) / max(1, len(terms)),
        "named again": sum(name in later for name in names) / len(names) if names else 0,
        "long text": min(line.count, 30) / 30, "digit": any(char.isdigit() for char in text),
        "last turn": line.turns_left == 0, "late turn": 1 <= line.turns_left <= 2, "work": line.work,
        "talk only": line.talk_only and role in ("asked", "reply", "closing", "interim"),
        "wants to know": line.talk_only and role == "asked" and bool(WANTS_TO_KNOW.match(text)),
        "added names": min(2, sum(name in scene.added for name in names)) / 2,
    }  # fmt: skip
    if role in ("first", "asked"):
        found |= {
            "prompt: begins": line.place == 0, "prompt: far down": line.place >= 6,
            "prompt: corrects": bool(CORRECTION.search(text)), "prompt: asks": text.endswith("?"),
            "prompt: short": len(text) < 40, "prompt: wants": bool(REQUEST.search(text)),
            "prompt: whole": line.count == 1, "prompt: names": bool(names), "prompt: work": line.work,
            "prompt: long": min(1.0, len(text) / 200),
        }  # fmt: skip
    else:
        found |= {
            "narrates": bool(NARRATION.match(text)), "cause": bool(CAUSE.search(text)),
            "result": bool(RESULT.search(text)), "choice": bool(CHOICE.search(text)),
            "unfinished": bool(UNFINISHED.search(text)), "test name": bool(TEST_NAME.fullmatch(text)),
            "short heading": form == "heading" and len(text) < 22,
            "hedged": bool(HEDGED.search(text)),
        }  # fmt: skip
    if role in ("final", "closing", "interim"):
        asks = text.endswith("?")
        found |= {
            "answer: begins": line.place == 0, "answer: early": 1 <= line.place <= 4,
            "answer: ends": line.from_end == 0, "answer: late": line.from_end in (1, 2),
            "last question": asks and line.from_end == 0 and (role == "final" or not line.turns_left),
            "other question": asks,
            "answer: short": line.count <= 8 and role != "interim",
            f"{role}: finding": bool(FINDING.search(text)), f"{role}: result": bool(RESULT.search(text)),
            f"{role}: names": bool(names), f"{role}: begins": line.place == 0, f"{role}: work": line.work,
            "last answer, unfinished": role == "final" and found["unfinished"],
        }  # fmt: skip
    if role == "plan":
        found |= {
            "plan: title": line.place == 0, "plan: begins": 1 <= line.place <= 6,
            "plan: early": 6 < line.place <= 14, "plan: ends": line.from_end <= 4,
        }  # fmt: skip
    if role == "summary":
        wanted = re.search(r"(?i)user|feedback|error|pending|current|next|request|intent", line.heading)
        found |= {"summary: section": bool(wanted), "summary: user": "user" in text.lower()[:40]}
    return {name: float(value) for name, value in found.items() if value}


def line_worth(features: Mapping[str, float]) -> float:
    return sum(FEATURES.get(name, 0.0) * value for name, value in features.items()) + FEATURES.get("", 0.0)


def is_boilerplate(line: Line) -> bool:
    """Whether a line says nothing to a successor: chatter, a lead-in, an order to a model."""
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
        if line.role == "reply" and YES.fullmatch(answer) and not names_in(question):
            return True
        return PASTED_WORD.search(line.text) is not None
    if DIAGNOSTICS.search(line.text):
        return True
    if line.form == "heading" and line.place and not names_in(line.text):
        return True  # the title of a part
    if line.role == "closing" and line.text.endswith("?"):  # settled by what the user said next
        return True
    if not compact_statement(line.text):
        return True
    if line.form == "lead" and not (RESULT.search(line.text) and tells(line.text)):
        return True  # what it announces is not in it
    if line.role == "plan" and line.place > LAST_OF_PLAN:
        return True
    if line.role == "interim" and THOUGHT.search(line.text) and not FINDING.search(line.text):
        return True
    return bool(LEAD_INS.match(line.text)) and not FAULT.search(line.text)


def tells(text: str) -> bool:
    """Whether a text says something in words, besides names, paths and the promise of a summary."""
    text = compact_statement(text)
    if LEAD_INS.match(text) or (SUMMARY.search(text) and len(text) <= SHORT_LEAD):
        return False
    return len(PLAIN_WORD.findall(text)) >= FEWEST_WORDS


def is_working_thought(line: Line) -> bool:
    """Whether a line was said between two calls and names no cause of a fault."""
    return line.role == "interim" and (THOUGHT.search(line.text) is not None or not FAULT.search(line.text))


@dataclass(frozen=True)
class Candidate:
    """Something that may be chosen. Lines of one message or turn compete with each other."""

    id: str
    worth: float
    cost: int
    terms: frozenset[str]
    thread: int
    message: tuple[str, int] = ("", 0)
    new_words: float = 0.5  # how much of the worth goes when its words are known already


COST_POWER = 0.5
SAME = 0.62  # share of the words that makes two lines the same
MESSAGE_DECAY = 0.8
MOST_OF_MESSAGE = 8  # lines of one message, which else becomes a wall of text
THIN = 0.6  # of the worth depends on having something to say
ENOUGH = 22.0  # of rarity of its words, about five rare ones
FLOOR = 0.1


def choose(
    candidates: Sequence[Candidate], room: int, shares: Mapping[int, int], taken: Iterable[Candidate] = ()
) -> list[int]:
    """The positions of the candidates that fit into `room`, by worth per token.

    `shares` is the most that a thread may take, `taken` are the candidates that are in already.
    """
    counts = Counter(term for candidate in candidates for term in candidate.terms)
    rarity = {term: math.log(1 + len(candidates) / count) for term, count in counts.items()}
    mass = [sum(rarity[term] for term in candidate.terms) or 1.0 for candidate in candidates]
    known: set[str] = set()
    chosen: list[int] = []
    used: Counter[int] = Counter()
    messages: Counter[tuple[str, int]] = Counter()
    similar: dict[str, list[frozenset[str]]] = {}

    def add(candidate: Candidate) -> None:
        known.update(candidate.terms)
        messages[candidate.message] += 1
        for term in candidate.terms:
            similar.setdefault(term, []).append(candidate.terms)

    def gain(nth: int) -> float:
        candidate = candidates[nth]
        new = sum(rarity[term] for term in candidate.terms if term not in known) / mass[nth]
        part = candidate.new_words
        factor = 1 - part + part * new
        if new < 0.12 and part:
            factor *= 0.2
        if part:
            factor *= 1 - THIN + THIN * min(1.0, mass[nth] / ENOUGH)
        decay = MESSAGE_DECAY ** messages[candidate.message] if candidate.message[0] else 1.0
        return float(candidate.worth * factor * decay / candidate.cost**COST_POWER)

    for candidate in taken:
        add(candidate)
    heap = [
        (-gain(nth), nth)
        for nth, candidate in enumerate(candidates)
        if candidate.worth > FLOOR or not candidate.new_words
    ]
    heapq.heapify(heap)
    while heap:
        _, nth = heapq.heappop(heap)
        candidate, now = candidates[nth], gain(nth)
        if heap and -now > heap[0][0] + 1e-12:
            heapq.heappush(heap, (-now, nth))
            continue
        if candidate.cost > room or used[candidate.thread] + candidate.cost > shares.get(
            candidate.thread, room
        ):
            continue
        if candidate.message[0] and messages[candidate.message] >= MOST_OF_MESSAGE:
            continue
        if candidate.new_words and _repeats(candidate.terms, similar):
            continue
        room -= candidate.cost
        used[candidate.thread] += candidate.cost
        chosen.append(nth)
        add(candidate)
    return chosen


def _repeats(terms: frozenset[str], similar: Mapping[str, list[frozenset[str]]]) -> bool:
    """Whether a chosen line has nearly the same words, and not far fewer."""
    if len(terms) < 3:
        return False
    shared = Counter(id(other) for term in terms for other in similar.get(term, ()))
    others = {id(other): other for term in terms for other in similar.get(term, ())}
    return any(
        count >= max(3, SAME * min(len(terms), len(others[key]))) and len(terms) <= 1.3 * len(others[key])
        for key, count in shared.items()
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
