"""Items from the dialogue of a session: its lines, judged, labelled and quoted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from fazm_memory.lazy import lazy_regex
from fazm_memory.recall.chooser import (
    CHOICE,
    FEATURES,
    FINDING,
    FLOOR,
    RESTRICTION,
    RESULT,
    RULE,
    UNFINISHED,
    YES,
    Scene,
    is_boilerplate,
    is_working_thought,
    line_features,
    line_worth,
    tells,
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
LONGEST_OPEN = 220
UNFINISHED_WORTH = 1.4
ASKING = ("first", "asked", "refusal", "plan")
BROKEN_OFF = lazy_regex(
    r"(?is)(?:(?:now|good|great|perfect|ok|okay|excellent|alright)[,.!]* )*(?:now )?"
    r"(?:let me|let's|i'?ll|i will|i need to|i'?m going to)\b[^\n]{0,200}[.:]?\s*\Z"
)  # a last message that only announces the next call
SAME_PLAN = 0.7  # share of the words of two titles
SAME_REQUEST = 0.5
FEWEST_TERMS = 5
FIRST_LINES = 6  # of an answer, where it says what came of the request
ALSO_TOLD = 0.3  # of the lesser worth of a request and its outcome
PERSONAL = lazy_regex(
    r"(?i)\b(?:i|i'm|i'd|we|you|my|our|me|us|please|let's|why|how|what|can|could|should|need|want|add|fix|make"
    r"|check|look|review|update|write|remove|change|use|implement|create|find|explain|show)\b"
)  # in words to somebody
ERROR = lazy_regex(r"(?i)\b(?:error|fail\w*|exception|cannot|can't|denied|panic|not found|fatal)\b")
TALK_ONLY = 0.7  # of the worth of what only led to a later change
DECIDING = lazy_regex(
    r"(?i)\b(?:don'?t|do not|never|always|instead|rather|must|wrong|not correct|let'?s|prefer|keep|root cause"
    r"|turns out|decid\w+|option \w|on purpose|revert)\b"
)
RESULT_BONUS = 0.15
FIRST_BONUS = {0: 0.3, 1: 0.2, 2: 0.1}  # by place in the answer
FORM_BONUS = {"row": -0.3, "heading": -0.2, "item": -0.1}
PROBLEM_MALUS = 0.4
PROBLEM = lazy_regex(
    r"(?i)\W*(?:(?:the )?(?:problem|issue|bug|symptom)s?|root cause|before|files?|location|test)\b[^.]{0,20}:"
)
LONG_ANSWER = 3  # lines
LONGEST_OUTCOME = 200
BRIEF_OUTCOME = 130  # of a turn that only led to a later change
BRIEF_REQUEST = 150
LAST_LINES = 10  # of an answer, where it asks something
TELLING_TERMS = 6  # of a question that can be understood alone
FEW_AFTER = 2  # sentences after a question
MAX_OPTIONS = 5
LONGEST_OPTION = 70
OFFER = lazy_regex(
    r"(?i)\blet me know (?:if|whether|which|what|how|when)\b"
    r"|\bready (?:to|for you to) (?:commit|merge|push|test|review)"
    r"|\bif you(?:'d| would)? (?:like|want|prefer)\b|\bi can (?:also )?[^.]* if\b"
    r"|\b(?:wait\w*|ready) for your\b"
)  # what an agent offers at the end
BARE = 3  # characters of a reply that picks an option
CLOSING = ("closing", "final")
REQUESTS = ("first", "asked", "reply", "answer", "refusal", "plan")
Judged = tuple[Line, dict[str, float], float]  # a line, its features and its worth
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
    edits: Sequence[int] = (),
) -> Dialogue:
    """The items of a dialogue that are worth showing.

    `superseded` are positions that no longer hold, `added` the names that the session added to code, `edits`
    the positions of its changes.
    """
    old = {*superseded, *replaced_plans(talk), *known_summaries(talk)}
    lines = dialogue_lines(session, [said for said in talk if said.seq not in old], edits)
    terms = [terms_of_text(line.text) for line in lines]
    user_terms = frozenset(
        term for line, found in zip(lines, terms, strict=True) if line.by_user for term in found
    )
    scene = Scene(user_terms, _later(lines, terms), recency, frozenset(name.lower() for name in added))
    items: list[Item] = []
    goal: Item | None = None
    closed = {line.turn for line in lines if _closes(line)}
    judged = [
        (line, features, line_worth(features))
        for line, found in zip(lines, terms, strict=True)
        if not is_boilerplate(line)
        and not (line.turn in closed and is_working_thought(line))
        and (features := line_features(line, found, scene))
    ]
    outcomes = _outcomes(judged, lines, closed)
    goal_line = _goal_line(judged)
    joined = _joined_requests(judged, outcomes, goal_line)
    told = {outcomes[turn][0] for turn in joined}
    waiting = closing_question_lines(lines)
    last = max((line.turn for line in lines), default=0)
    for line, features, score in judged:
        item = _item(line, score * worth, features, folder)
        if line in waiting:
            text = _with_options(item.text, waiting[line]) + _subject(item.text, line, judged)
            item = replace(item, label="waiting", section="OPEN", text=text)
        if line.turn == last and line in (joined.get(last), outcomes.get(last, (None,))[0]):
            item = replace(item, latest=True)
        if line is goal_line:
            goal = item
        if joined.get(line.turn) is line:
            told_by, of_outcome = outcomes[line.turn]
            if "wants to know" in features:  # what was done with the answer says more
                of_outcome += FEATURES["wants to know"]
            longest = BRIEF_OUTCOME if line.talk_only else LONGEST_OUTCOME
            item = _with_outcome(item, (told_by, of_outcome), score, worth, folder, longest)
        elif line in told:
            continue
        if line.talk_only and not DECIDING.search(item.text):
            item = replace(item, score=item.score * TALK_ONLY)
        if item.score > FLOOR * worth:
            items.append(item)
    items = _latest_wording(items)
    if (left := _unfinished(session, talk, folder, worth)) is not None:
        items.append(left)
    best = sorted(items, key=lambda item: -item.score)[:MAX_LINES]
    names = sorted(weigh_names(lines).items(), key=lambda entry: (-entry[1], entry[0]))[:60]
    return Dialogue(tuple(sorted(best, key=lambda item: item.seq)), goal, tuple(names))


def _goal_line(judged: Iterable[Judged]) -> Line | None:
    """The line of the first request that says what it is about. In a pasted log that is the error."""
    asked = [
        line
        for line, _, _ in judged
        if line.role in ("first", "asked") or (line.role, line.place) == ("plan", 0)
    ]
    first = [line for line in asked if line.seq == asked[0].seq]
    if not first or first[0].role == "plan":
        return first[0] if first else None
    for wanted in (PERSONAL, ERROR) if len(first) > 1 else ():
        if (found := next((line for line in first if wanted.search(line.text)), None)) is not None:
            return found
    return first[0]


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


def closing_question_lines(lines: Sequence[Line]) -> dict[Line, tuple[str, ...]]:
    """The question or offer with which the last answer ends, if any, and the options after it."""
    end = [line for line in lines if line.role == "final" and not line.turns_left][-LAST_LINES:]
    for nth, line in reversed(list(enumerate(end))):
        after = end[nth + 1 :]
        options = tuple(other.text for other in after if other.form in ("item", "list", "row"))
        if line.text.rstrip(":").endswith("?") and len(after) - len(options) <= FEW_AFTER:
            return {line: options}
        if OFFER.search(line.text) and len(after) <= 1:
            return {line: ()}
    return {}


def _with_options(question: str, options: Sequence[str]) -> str:
    if not options or len(options) > MAX_OPTIONS:
        return question
    return f"{question} ({'; '.join(neutral(shortened(option, LONGEST_OPTION)) for option in options)})"


def _subject(question: str, line: Line, judged: Iterable[Judged]) -> str:
    """The request that a question is about, if the question alone says too little."""
    if len(terms_of_text(question)) >= TELLING_TERMS:
        return ""
    asked = [other for other, _, _ in judged if other.turn == line.turn and other.role in ("first", "asked")]
    return f' (on "{neutral(shortened(compact_request(asked[0].text), LONGEST_OPTION))}")' if asked else ""


def _closes(line: Line) -> bool:
    """Whether a line is of an answer that tells what came of a request, rather than a remark at work."""
    if line.role not in CLOSING or BROKEN_OFF.match(line.text):
        return False
    telling = line.text.endswith("?") or any(
        pattern.search(line.text) for pattern in (RESULT, CHOICE, FINDING, UNFINISHED)
    )
    return telling or line.count >= LONG_ANSWER


def _outcomes(
    judged: Iterable[Judged], lines: Iterable[Line], closed: Collection[int]
) -> dict[int, tuple[Line, float]]:
    """By turn, the line of the answer that says best what came of it.

    In a turn that no answer closed, it is what the agent said at work.
    """
    best: dict[int, tuple[Line, float]] = {}
    for line, _, score in judged:
        if not (line.role in CLOSING or (line.role == "interim" and line.turn not in closed)):
            continue
        if line.place >= FIRST_LINES or line.text.endswith("?") or not tells(line.text):
            continue
        score += FIRST_BONUS.get(line.place, 0.0) + FORM_BONUS.get(line.form, 0.0)
        score += RESULT_BONUS * bool(RESULT.search(line.text))
        score -= PROBLEM_MALUS * bool(PROBLEM.match(line.text))
        if line.turn not in best or score > best[line.turn][1]:
            best[line.turn] = (line, score)
    for line in lines:  # a lead-in of code says what the code is
        if line.role in CLOSING and line.form == "lead" and line.turn not in best and tells(line.text):
            best[line.turn] = (line, 0.0)
    return best


def _joined_requests(
    judged: Iterable[Judged], outcomes: Mapping[int, tuple[Line, float]], goal: Line | None
) -> dict[int, Line]:
    """For each turn, the best line of its request, which is shown with the outcome."""
    best: dict[int, tuple[Line, float]] = {}
    for line, _, score in judged:
        if line.role not in REQUESTS or line.turn not in outcomes or line_label(line) == "rule":
            continue
        if line.role == "plan" and line.place:
            continue
        if line is goal:  # it is in the heading
            continue
        if line.turn not in best or score > best[line.turn][1]:
            best[line.turn] = (line, score)
    return {turn: line for turn, (line, _) in best.items()}


def _with_outcome(
    request: Item,
    outcome: tuple[Line, float],
    score: float,
    worth: float,
    folder: str | None,
    longest: int,
) -> Item:
    """A request together with its outcome, which scores higher than either alone.

    An answer that only agrees or picks a number says nothing beside what came of it.
    """
    line, of_outcome = outcome
    text = shortened(neutral(compact_statement(without_prefix(line.text, folder))), longest)
    both = max(score, of_outcome) + ALSO_TOLD * max(0.0, min(score, of_outcome))
    said = request.text.rpartition(ANSWERED)[2].strip('"') if request.kind == "answer" else request.text
    bare = request.kind == "answer" and (len(said) <= BARE or YES.fullmatch(said))
    return replace(
        request, text=text if bare else f"{request.text}{ANSWERED}{text}", score=both * worth,
        label="done" if bare else request.label, kind="said" if bare else request.kind,
    )  # fmt: skip


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
    if line.role == "asked" and line.talk_only and not RULE.search(text):
        text = shortened(text, BRIEF_REQUEST)
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
    if line.role == "final" and UNFINISHED.search(text) and not RESULT.search(text):
        return "open"
    return "found" if FINDING.search(text) else "why" if CHOICE.search(text) else "done"


def without_prefix(text: str, folder: str | None) -> str:
    """A text with paths inside the folder as relative ones."""
    if folder and len(folder) > 3:
        text = re.sub(rf"{re.escape(folder.rstrip('/'))}/(?=\S)", "", text)
    return text
