"""Items from the dialogue of a session: its lines, judged, labelled and quoted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from fazm_memory.lazy import lazy_regex
from fazm_memory.recall.chooser import (
    CHOICE,
    FINDING,
    FLOOR,
    RESTRICTION,
    RULE,
    UNFINISHED,
    Scene,
    is_boilerplate,
    is_working_thought,
    line_features,
    line_worth,
    terms_of_text,
    weigh_names,
)
from fazm_memory.recall.dialogue import ANSWERED, ANSWERS, Line, Utterance, dialogue_lines
from fazm_memory.recall.items import Item, Section, item_id
from fazm_memory.recall.quoting import neutral, quote
from fazm_memory.recall.sentences import compact_request, compact_statement, plain_markdown, shortened
from fazm_memory.records import dataclass, replace

MAX_LINES = 250  # of one session, the best
LONGEST_RULE = 260
LONGEST_ANSWER = 150
LONGEST_OPEN = 220
UNFINISHED_WORTH = 1.4
FEW_REMARKS = 12  # between calls; an agent that makes more tells each step
ASKING = ("first", "asked", "refusal", "plan")
BROKEN_OFF = lazy_regex(
    r"(?is)(?:(?:now|good|great|perfect|ok|okay|excellent|alright)[,.!]* )*(?:now )?"
    r"(?:let me|let's|i'?ll|i will|i need to|i'?m going to)\b[^\n]{0,200}[.:]?\s*\Z"
)  # a last message that only announces the next call
SAME_PLAN = 0.7  # share of the words of two titles
SAME_REQUEST = 0.5
FEWEST_TERMS = 5
FIRST_LINES = 5  # of an answer, where it says what was asked for
ALSO_ANSWERED = 0.3  # of the lesser worth of a question and its answer
QUESTION = lazy_regex(
    r"(?i)(?:(?:ok|okay|and|but|so|hm+|wait|one question|question)[,:.]*\s+)*"
    r"(?:why|what|how|where|which|who|when|is|are|was|were|does|do|did|has|have|isn'?t|aren'?t|doesn'?t|don'?t|didn'?t|would|should)\b.*\?"
)
GOAL = 200  # characters
KINDS = {
    "first": "request", "asked": "request", "reply": "answer", "answer": "answer", "refusal": "refusal",
    "plan": "plan", "summary": "summary",
}  # fmt: skip
REASONS = {
    "first": "the first request",
    "asked": "a request",
    "reply": "the user's answer to a question",
    "answer": "the user's answer to a question",
    "refusal": "the user refused a call and said why",
    "plan": "from the plan",
    "summary": "from the agent's summary of a compacted conversation",
    "final": "from the answer that ended the session",
    "closing": "from the answer that closed a turn",
    "interim": "said by the agent at work",
}
FEATURE_REASONS = {
    "last question": "an open question of the agent",
    "last answer, unfinished": "says what is left",
    "unfinished": "says what is left",
    "interim: finding": "names a cause",
    "choice": "says what was chosen",
    "prompt: corrects": "corrects or restricts",
    "plan: title": "the title of the plan",
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
    recency: int,
    superseded: Collection[int] = (),
    added: Collection[str] = (),
) -> Dialogue:
    """The items of a dialogue that are worth showing.

    `superseded` are positions that no longer hold, `added` the names that the session added to code.
    """
    old = {*superseded, *replaced_plans(talk), *known_summaries(talk)}
    lines = dialogue_lines(session, [said for said in talk if said.seq not in old])
    terms = [terms_of_text(line.text) for line in lines]
    user_terms = frozenset(
        term for line, found in zip(lines, terms, strict=True) if line.by_user for term in found
    )
    scene = Scene(user_terms, _later(lines, terms), recency, frozenset(name.lower() for name in added))
    items: list[Item] = []
    goal: Item | None = None
    narrated = sum(said.role == "interim" for said in talk) > FEW_REMARKS
    judged = [
        (line, features, line_worth(features))
        for line, found in zip(lines, terms, strict=True)
        if not is_boilerplate(line)
        and not (narrated and is_working_thought(line))
        and (features := line_features(line, found, scene))
    ]
    answers = _answers(judged)
    for line, features, score in judged:
        answer = answers.get(line.turn) if is_question(line) else None
        item = _item(line, score * worth, features, folder)
        if goal is None and (line.role in ("first", "asked") or (line.role, line.place) == ("plan", 0)):
            goal = item
        if answer is not None:
            item = _with_answer(item, answer, score, worth, folder)
        if score > FLOOR:
            items.append(item)
    items = _latest_wording(items)
    if (left := _unfinished(session, talk, folder, worth)) is not None:
        items.append(left)
    best = sorted(items, key=lambda item: -item.score)[:MAX_LINES]
    names = sorted(weigh_names(lines).items(), key=lambda entry: (-entry[1], entry[0]))[:60]
    return Dialogue(tuple(sorted(best, key=lambda item: item.seq)), goal, tuple(names))


def _unfinished(session: str, talk: Sequence[Utterance], folder: str | None, worth: float) -> Item | None:
    """What a session was at when it broke off: a plan or a request without an answer, or half of the work."""
    last = talk[-1] if talk else None
    if last is None or (last.role in ANSWERS and not BROKEN_OFF.match(last.text)):
        return None
    if last.role == "plan" and last.trust == "user":  # a request to implement it
        return None
    asked = next((said for said in reversed(talk) if said.role in ASKING), None)
    recorded = any(said.role in ANSWERS for said in talk)  # not every agent's answers are
    if asked is None or (asked.role != "plan" and not (recorded and asked.trust == "user")):
        return None
    if asked.role == "plan":
        title = plain_markdown(asked.text.strip().partition("\n")[0].lstrip("# "))
        text, label = f"plan {quote(title, 120)}, no answer yet", "waiting"
    else:
        words = compact_request(plain_markdown(without_prefix(" ".join(asked.text.split()), folder)))
        how = "no answer recorded" if last is asked else "broken off"
        text, label = f'{how}: "{neutral(shortened(words, LONGEST_OPEN))}"', "todo"
    return Item(
        item_id(session, "unfinished", str(asked.seq)), "OPEN", "unfinished", text, UNFINISHED_WORTH * worth,
        session, asked.seq, asked.trust, label, "work that was broken off", -1, asked.at, 0, 0,
    )  # fmt: skip


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
        if any(_shared(terms, later) >= SAME_PLAN for _, later in plans[nth + 1 :])
    }


def known_summaries(talk: Sequence[Utterance]) -> set[int]:
    """The positions of summaries of a conversation that is itself in the dialogue."""
    return {said.seq for said in talk[1:] if said.role == "summary"}


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))


def _latest_wording(items: Sequence[Item]) -> list[Item]:
    """The items without requests that the user put again later in nearly the same words."""
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


def is_question(line: Line) -> bool:
    """Whether the user wants to know something, rather than have it done."""
    return line.role in ("first", "asked") and QUESTION.match(line.text) is not None


def _answers(judged: Iterable[tuple[Line, dict[str, float], float]]) -> dict[int, tuple[Line, float]]:
    """By turn, the best of the first lines of the answer that closed it."""
    best: dict[int, tuple[Line, float]] = {}
    for line, _, score in judged:
        if line.role not in ("closing", "final") or line.place >= FIRST_LINES or line.text.endswith("?"):
            continue
        if line.turn not in best or score > best[line.turn][1]:
            best[line.turn] = (line, score)
    return best


def _with_answer(
    question: Item, answer: tuple[Line, float], score: float, worth: float, folder: str | None
) -> Item:
    """A question with the answer to it, which is worth more than either."""
    line, of_answer = answer
    text = shortened(neutral(compact_statement(without_prefix(line.text, folder))), LONGEST_ANSWER)
    both = max(score, of_answer) + ALSO_ANSWERED * max(0.0, min(score, of_answer))
    return replace(question, text=f"{question.text}{ANSWERED}{text}", score=both * worth)


def _later(lines: Sequence[Line], terms: Sequence[frozenset[str]]) -> dict[int, frozenset[str]]:
    """By position of a message, the words of all later ones."""
    later: dict[int, frozenset[str]] = {}
    known: set[str] = set()
    for line, found in zip(reversed(lines), reversed(terms), strict=True):
        if line.seq not in later:
            later[line.seq] = frozenset(known)
        known |= found
    return later


def _item(line: Line, score: float, features: dict[str, float], folder: str | None) -> Item:
    kind = KINDS.get(line.role, "said")
    label = line_label(line)
    text = without_prefix(line.text, folder)
    text = compact_request(text) if line.role in ("first", "asked") else compact_statement(text)
    shown = _in_quotes(text, line) if line.by_user else neutral(text)
    name = (
        str(line.seq)
        if kind in ("request", "refusal", "answer") and not line.place
        else f"{line.seq}.{line.place}"
    )
    why = [
        REASONS.get(line.role, "said"),
        *(FEATURE_REASONS[name] for name in FEATURE_REASONS if name in features),
    ]
    section: Section = "OPEN" if label in ("open", "waiting") else "DONE"
    return Item(
        item_id(line.session, kind, name), section, kind, shown, score + min(line.seq, 10**6) / 10**9,
        line.session, line.seq, line.trust, label, "; ".join(dict.fromkeys(why)), line.seq, line.at,
        line.turn, line.place,
    )  # fmt: skip


def _in_quotes(text: str, line: Line) -> str:
    """The user's words. A question that they answer stands before them."""
    question, arrow, answer = (
        text.rpartition(ANSWERED) if line.role in ("reply", "answer") else ("", "", text)
    )
    quoted = f"{neutral(question)}{ANSWERED}{quote(answer, 300)}" if arrow else quote(text, 300)
    return quoted if line.trust == "user" else f"{quoted} [{line.trust}]"


def line_label(line: Line) -> str:
    """The group in which a line is shown."""
    text = line.text
    if line.by_user:
        if line.role == "refusal" and RESTRICTION.search(text) and "?" not in text:
            return "rule"
        if (
            line.role in ("asked", "first") and line.trust == "user" and len(text) <= LONGEST_RULE
            and RULE.search(text) and "?" not in text
        ):  # fmt: skip
            return "rule"
        return "why" if line.role in ("answer", "reply") else "asked"
    if line.role in ("plan", "summary"):
        return {"plan": "plan", "summary": "earlier"}[line.role]
    if line.role == "final" and text.endswith("?") and line.from_end <= 2 and not line.turns_left:
        return "waiting"
    if line.role == "final" and UNFINISHED.search(text):
        return "open"
    return "found" if FINDING.search(text) else "why" if CHOICE.search(text) else "done"


def without_prefix(text: str, folder: str | None) -> str:
    """A text with paths inside the folder as relative ones."""
    if folder and len(folder) > 3:
        text = re.sub(rf"{re.escape(folder.rstrip('/'))}/(?=\S)", "", text)
    return text
