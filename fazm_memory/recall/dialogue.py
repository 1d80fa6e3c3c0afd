"""The dialogue of a session: what the user and the agent said.

Every sentence of it is a line that the context may show. A line knows who said it, where it stands and what
it names, which is what `chooser` judges it by.

Markdown is taken apart into headings, sentences, list items and table rows. Code blocks are left out, and a
lead-in such as "The harness now creates:" is joined with a short list that follows it.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, zip_longest
from types import MappingProxyType
from typing import Any

from fazm_memory.events import Event
from fazm_memory.lazy import lazy_regex
from fazm_memory.records import dataclass, replace
from fazm_memory.session import chosen_options, listed_options
from fazm_memory.store import EVENT_COLUMNS, SessionRow, Store, effective_ranges, event_id, to_event

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
NOT_SPACE = lazy_regex(r"\S+")
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
    r"(?i)(?:(?:(?:all )?done|perfect|great|good|clean|excellent|exactly|right|ok|okay|sure|alright"
    r"|absolutely|got it"
    r"|fixed)\s*[.!,:–—-]+\s+|(?:great|good) (?:question|catch|point|thinking|idea|call)\w*\s*[.!,:–—-]*\s+"
    r"|you'?re (?:absolutely |completely )?right(?: to ask| again)?\s*[.!,:–—-]+\s+"
    r"|(?:ah,? |ok,? |now |wait,? |aha[!,]? )*i (?:can |now |clearly )*(?:see|understand|found|get it)"
    r"(?: now)?(?: (?:the|what the|why the) (?:issue|problem|bug|cause)(?: is)?)?(?: now)?\s*[.!:–—-]+\s+"
    r"|(?:ah,? |now |so )?found (?:it|(?:the|an?) (?:issue|problem|bug|cause))\s*[.!:–—-]+\s+"
    r"|(?:let me|let's) [^.!?:]{3,40}[.!]\s+(?=\S)"
    r"|(?:based on|looking at|after (?:reading|reviewing|looking)) [^,.:]{3,80},\s+"
    r"|(?:that|this) (?:clarifies|explains) (?:everything|it)\s*[.!:–—-]+\s+(?:so:?\s+)?"
    r"|(?:now|so|also|then|and|but|next|finally)(?:[,:]\s+|\s+)(?=[a-z\w](?!hat\b))"
    r"|i(?:'ve| have) (?:also |now )?(?=[a-z]+(?:ed|t)\b|made\b|written\b))"
)  # an opening that says nothing to a successor
CHECK = (
    r"(?:all |the |both |every |\d+ |of |unit |integration |e2e |existing |new |other |race )*"
    r"(?:tests?|checks?|lint\w*|builds?|formatting|fmt|everything|race detect\w+|type ?checks?)"
    r"(?:(?:,| and| &)+ (?:all )?(?:lint\w*|tests?|formatting|builds?))*"
    r"(?: (?:is|are|now|still|all|also))* (?:pass(?:es|ed|ing)?|green|clean|ok|fine|succeeds?)"
    r"(?: (?:and|with) [^.,]{0,40}(?:clean|pass\w*|issues)| cleanly)?"
)
PASSED = lazy_regex(
    r"(?i)\W*all (?:is |are )?(?:green|passing|good|clean|done|set)\W*"
    rf"|\W*{CHECK}(?:(?:[,;]| and| &)+ {CHECK})*(?:\s*(?:[—–:(-]|including|across)\s*[^.]{{0,90}})?\W*"
)  # told by the last run of the checks
PASSED_BEGIN = lazy_regex(rf"(?i)\W*{CHECK}(?:(?:[,;]| and| &)+ {CHECK})*\s*[.!]\s+(?=\S)")
ANNOUNCES_LIST = lazy_regex(
    r"(?i)(?:^|(?<=[.!:]\s))(?:so,? )?(?:here(?:'s| is| are)|below (?:is|are)|the following (?:is|are)"
    r"|(?:to )?summar(?:y|i[sz]e))\b[^.:!?]*(?:[.:]+\s*|$)"
)  # "Here's a summary of the changes:"
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


@lru_cache(maxsize=4096)
def compact_statement(text: str) -> str:
    """A sentence of an agent without remarks, announcements and marks around names.

    It is empty if it says nothing else.
    """
    text = CODE.sub(r"\1", text).replace('`"', "`").replace('"`', "`")
    shorter = ANNOUNCES_LIST.sub("", ANNOUNCEMENT.sub("", text)).strip()
    while found := REMARK.match(f"{shorter} ") or PASSED_BEGIN.match(shorter):
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
    """The first line of a short code block: a command or a commit message.

    Others are left out.
    """
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


MAX_UTTERANCES = 300  # of one session, the latest
MAX_SCANNED = 20_000  # events at the end of a session that are searched for them
MAX_LINES = 150  # of one text: its first and its last
WHOLE_PROMPT = 160  # a prompt of this length is one line
WHOLE_DECISION = 280  # or of this length, if it corrects or decides
LONGEST_LEAD = 260  # characters of a lead-in with what it announces
DECIDES = lazy_regex(
    r"(?i)\b(?:no|not|don'?t|never|always|instead|rather|should(?:n'?t)?|must|let'?s|i'?d (?:go|prefer|like)"
    r"|revert|keep|only|actually|i (?:don'?t )?(?:think|want))\b"
)
SHORT_REPLY = 60
LONGEST_REPLY = 400
LONGEST_QUESTION = 180
LONGEST_PICK = 160  # characters of a request that names an option by its number
LONGEST_OPTION = 90
MAX_PICKED = 3
PICKS = lazy_regex(
    r"(?i)(?:^\W*(?:yes,? |ok,? )?|\b(?:fix|do|implement|take|choose|pick|use|try|with|like|prefer"
    r"|options?|issues?|items?"
    r"|points?|steps?|numbers?)\s+#?)(?=[1-9](?![\d%]|[.:/x]\d)\b)|\b(?=[1-9] is (?:correct|right"
    r"|wrong|fine|good|ok))"
)  # before the number of an option
LEAST_QUOTED = 25  # characters of a line that the user repeats from the agent
QUOTE_MARKS = lazy_regex(r"^[\s>*•\-–]*(?:\d+[.)]\s+)?")
COPY_BEGINS = lazy_regex(r"(?i)(?:\A|[.!?…]|\n|\b(?:wrote|said|mentioned|me)(?: \w+)?\s*:)[^\w\n]*\Z")
LEAST_COPIED = 40  # characters of a run of words that the user copied from the agent
FEWEST_COPIED = 5  # words of it, so that a long path is none
MOST_COMPARED = 60_000  # characters of what the agent said last
MOST_OWN = 4_000  # characters of a message of the user that are compared
WORD_MARKS = "`*_\"'“”‘’>⏺●•│|-–—#"
COPY_LEAD = lazy_regex(
    r"(?i)[\s…]*(?:(?:you|claude) (?:wrote|said|mentioned|told me)|(?:this|that) is what you (?:wrote|said))"
    r"(?: (?:that|this|before|above|earlier))*\W*\Z"
)  # before what the agent said
CONTRADICTS = lazy_regex(
    r"(?i)\W*(?:(?:hm+|well|ok|sorry|yes|ah)\W+)*(?:but|no|nope|wait|are you sure|is ?n'?t (?:it|that|this)"
    r"|(?:can|could) you check again|check again|that'?s not|that is not|you (?:wrote|said))\b"
    r"|.*\b(?:isn'?t (?:it|that)|check again|that'?s not|not (?:correct|right|true)|you wrote)\b",
    re.DOTALL,
)  # of the user, about the answer before
CONCEDES = lazy_regex(
    r"(?i)\W*(?:(?:ah|oh|yes|hm+|good (?:point|question|catch)|sorry)\W+)*"
    r"(?:you(?:'re| are) (?:\w+ )?(?:right|correct)"
    r"|i had (?:it|that|this) (?:backwards|wrong)|i was (?:wrong|mistaken)|good catch|my (?:mistake|bad))\b"
)  # of the agent, at the beginning of its next answer
RETRACTS = lazy_regex(
    r"(?i)\W*(?:[^.!?\n]{0,40}[.!?,:–—]+\s+)?"
    r"(?:i was (?:being |too )?(?:wrong|mistaken|imprecise|incorrect|inaccurate)"
    r"|i (?:misread|misspoke|misunderstood)"
    r"|my (?:earlier|previous|last|first) (?:answer|statement|analysis|explanation|claim)"
    r" was (?:wrong|mistaken|imprecise|incorrect|inaccurate))\b"
)  # of the agent, whatever the user said
VERDICTS = frozenset({"accepted", "rejected", "presented", "revised"})  # on a plan, without words
NO_DECISION: Mapping[str, Any] = MappingProxyType({})
RETYPED = 2  # events between a prompt that was interrupted and the next
RETYPED_WITHIN = 60_000_000  # microseconds
ANSWERED = " -> "  # between a question and its answer
KINDS = ("prompt", "message", "decision", "plan", "evicted")
ANSWERS = frozenset({"final", "closing", "interim"})
LOG_OF_MUCH_WORK = 6.0  # about 400 events
USER_ROLES = frozenset({"first", "asked", "reply", "refusal", "answer", "verdict"})
PLAN_PROMPT = lazy_regex(r"\s*implement the following plan:?\s*", re.IGNORECASE)
PLAN_BOILERPLATE = lazy_regex(r"if you need specific details from before exiting plan mode.*", re.I | re.S)
REPLY = lazy_regex(
    r"(?i)(?:yes|yep|yeah|no|nope|ok|okay|sure|do|go|y|[1-9]|[a-d]|both|all|continue|please|option"
    r"|let'?s|leave|none)\b"
)
PASTED = lazy_regex(
    r"^(?:(?: {4,}|\t|  +[⎿│├└]|\s+at )(?![-*•\d])|===|@@ |[+-]{3} [ab/]|diff --git "
    r"|index [0-9a-f]{7}|[●⏺⎿│├└]"
    r"| ?(?:create|delete) mode \d|/[a-z][\w:-]*(?=\s|$)|go: (?:downloading|finding)|\[\d\d?:\d\d).*$",
    re.MULTILINE,
)
LEAST_PASTED = 100  # characters of a review
ADDRESSED = lazy_regex(
    r"(?i)\b(?:i|i'm|i'd|i've|we|we're|you|my|our|me|us|please|let's|lets)\b|\bcan (?:this|it|that)\b"
)  # in words to somebody
REVIEWS = lazy_regex(
    r"\b(?:Consider|Suggest(?:ion|ed)?)\b|\b(?:Low|Medium|High|Critical) Severity\b|\b[Tt]his (?:could"
    r"|may|might|can"
    r"|means|allows|change|function|test|comment|method|code)\b|\bshould be\b|\brisks?\b"
    r"|\b(?:lacks|is (?:missing|hardcoded|inconsistent|misleading|unused|redundant|inaccurate))\b"
)  # as reviews of code do
INTRODUCES = lazy_regex(
    r"(?i)\b(?:feedback|review(?:er)?s?|comments?|finding|remark|suggestion|(?:cursor|copilot|codex|bugbot"
    r"|coderabbit|greptile)\b)\b[^\n]*:?\s*$"
)
NOT_TYPED = lazy_regex(r"\s*(?:<[a-z][\w-]*>|\[Request interrupted|Caveat:|This session is being continued)")


@dataclass(frozen=True)
class Utterance:
    """One utterance. `role` says who spoke and where in the session."""

    role: str
    text: str
    seq: int
    at: int
    trust: str
    about: str = ""  # the options that it picks, or the call that it refuses
    corrects: bool = False  # it overturns what the agent has just done
    refused: bool = False  # said right after refusing a call
    copied: bool = False  # by the user, from the agent's words, with none of their own


@dataclass(frozen=True)
class Line:
    """One sentence of the dialogue."""

    session: str
    role: str
    form: str
    text: str
    heading: str
    seq: int
    at: int
    trust: str
    place: int  # in its text
    count: int  # lines of its text
    turn: int
    depth: float  # 0 at the beginning of the session, 1 at its end
    work: float = 0.0  # how much was done for it or before it, 0 to 1
    turns_left: int = 0  # after its turn
    talk_only: bool = False  # nothing was changed in its turn, but in a later one
    about: str = ""  # the options that it picks
    corrects: bool = False
    overturned: bool = False  # said by the agent, and overturned by the user's next words
    pasted: bool = False  # by the user, of a review by somebody else, or of the agent's words

    @property
    def by_user(self) -> bool:
        return self.role in USER_ROLES


def read_dialogue(
    store: Store, row: SessionRow, since: int, decisions: Mapping[int, Mapping[str, Any]]
) -> list[Utterance]:
    """What was said in a session from position `since` on.

    Reads a bounded number of events.

    `decisions` are those of the state by position: what answers a question, and what corrects.
    """
    low = max(since, row.head - MAX_SCANNED)
    rows = store.db.execute(
        f"SELECT {EVENT_COLUMNS} FROM event WHERE id >= ? AND id < ?"
        f" AND kind IN ({','.join('?' * len(KINDS))}) ORDER BY id DESC LIMIT ?",
        (event_id(row.n, low), event_id(row.n, row.head), *KINDS, MAX_UTTERANCES),
    ).fetchall()
    events = store.quarantine_view.events(row.n, [to_event(found, row.id, b"") for found in rows[::-1]])
    ranges = effective_ranges(store.db, row.n, row.head, low)
    return utterances(
        [
            event
            for event in events
            if event.payload is not None and any(begin <= event.seq < end for begin, end in ranges)
        ],
        decisions,
    )


def utterances(
    events: Sequence[Event], decisions: Mapping[int, Mapping[str, Any]] = MappingProxyType({})
) -> list[Utterance]:
    """The dialogue of these events, each with its role."""
    rejected = _rejected_plans(events)
    talk = _without_retyped([event for event in events if _spoken(event) and event.seq not in rejected])
    last_message = max((nth for nth, event in enumerate(talk) if event.kind == "message"), default=-1)
    first_prompt = next((nth for nth, event in enumerate(talk) if event.kind == "prompt"), -1)
    found: list[Utterance] = []
    agents = " "  # the words of the agent so far
    for nth, event in enumerate(talk):
        later = talk[nth + 1] if nth + 1 < len(talk) else None
        about, copied = "", False
        text, role = _text(event), event.kind
        decision = decisions.get(event.seq, NO_DECISION) if event.kind == "prompt" else NO_DECISION
        if event.kind == "message":
            answered = later is not None and later.kind in ("prompt", "decision")
            role = "final" if nth == last_message else "closing" if answered else "interim"
        elif event.kind == "prompt":
            before = talk[nth - 1] if nth else None
            about = _picked(text, decision, before)
            if before is not None and before.kind == "message":
                text = without_quoted(text, _text(before))
            if not about and not PLAN_PROMPT.match(text):
                text, copied = without_copied(text, agents)
            role, text = _prompt_role(text, nth == first_prompt, before, decision)
        elif event.kind == "decision":
            role = getattr(event.payload, "form", None) or "decision"
            role = "verdict" if role == "plan" else role
            if role != "answer":
                text, copied = without_copied(text, agents)
            about = getattr(event.payload, "about", None) or ""
            if question := getattr(event.payload, "question", None):
                text = f"{question}{ANSWERED}{text}"
        elif event.kind == "evicted":
            role = "summary"
        corrects = decision.get("form") == "correction"
        found.append(Utterance(role, text, event.seq, event.at, event.trust, about, corrects, copied))
        if role not in USER_ROLES:
            agents = f"{agents}{' '.join(_bare_words(text))} "[-MOST_COMPARED:]
    return found


def _rejected_plans(events: Sequence[Event]) -> set[int]:
    """The presented plans that the user rejected."""
    rejected: set[int] = set()
    presented: dict[str, int] = {}
    for event in events:
        plan: Any = event.payload
        if event.kind == "plan" and plan.status == "presented":
            presented[plan.title] = event.seq
        elif event.kind == "plan" and plan.status == "rejected" and plan.title in presented:
            rejected.add(presented.pop(plan.title))
    return rejected


def without_quoted(text: str, before: str) -> str:
    """A request without the lines that it repeats from the agent's message before it."""
    known = " ".join(plain_markdown(before).split())
    kept = [line for line in text.splitlines() if not _repeats(line, known)]
    return "\n".join(kept) if any(line.strip() for line in kept) else text


def _repeats(line: str, known: str) -> bool:
    words = plain_markdown(QUOTE_MARKS.sub("", line)).strip("\"'“” ")
    return len(words) >= LEAST_QUOTED and words in known


def without_copied(text: str, agents: str) -> tuple[str, bool]:
    """A message of the user without the sentences copied from the agent.

    And whether it has no words of their own.

    `agents` are the bare words of what the agent said before, each between spaces.
    """
    words = [found for found in NOT_SPACE.finditer(text[:MOST_OWN]) if found[0].strip(WORD_MARKS)]
    bare = _bare_words(text[:MOST_OWN])
    kept, start, nth = list[str](), 0, 0
    while nth < len(words):
        end = nth + FEWEST_COPIED
        while end < len(bare) and sum(map(len, bare[nth:end])) + end - nth - 1 < LEAST_COPIED:
            end += 1
        run = " ".join(bare[nth:end])
        if end > len(bare) or len(run) < LEAST_COPIED or f" {run} " not in agents:
            nth += 1
            continue
        while end < len(bare) and f" {run} {bare[end]} " in agents:
            run = f"{run} {bare[end]}"
            end += 1
        before, last = text[start : words[nth].start()], words[end - 1][0].rstrip("\"'”’`*_)")
        if not COPY_BEGINS.search(before) or not last.endswith((".", "!", "?")):
            nth = end  # named in the user's own sentence
            continue
        kept.append(COPY_LEAD.sub("", before))
        start, nth = words[end - 1].end(), end
    if not start:
        return text, False
    own = "… ".join(part.strip(" ") for part in [*kept, text[start:]]).strip("… \n-–")
    return (own, False) if len(own) >= LEAST else (text, True)


def _bare_words(text: str) -> list[str]:
    """The words of a text without the marks around them."""
    return [bare for word in text.split() if (bare := word.strip(WORD_MARKS))]


def _picked(text: str, decision: Mapping[str, Any], before: Event | None) -> str:
    """The texts of the options that a reply names by number or letter."""
    chosen = decision.get("chosen") or ()
    if not chosen and len(text) <= LONGEST_PICK and before is not None and before.kind == "message":
        found = PICKS.search(text)
        chosen = chosen_options(text[found.start() :], listed_options(_text(before))) if found else ()
    return "; ".join(shortened(plain_markdown(option), LONGEST_OPTION) for option in chosen[:MAX_PICKED])


def _without_retyped(talk: list[Event]) -> list[Event]:
    """Without short prompts that were interrupted at once and typed anew."""
    retyped = {
        event.seq
        for event, later in pairwise(talk)
        if event.kind == later.kind == "prompt"
        and event.source == later.source == "transcript"
        and event.turn != later.turn
        and len(_text(event)) <= SHORT_REPLY
        and later.seq - event.seq <= RETYPED
        and later.at - event.at <= RETYPED_WITHIN
    }
    return [event for event in talk if event.seq not in retyped]


def _spoken(event: Event) -> bool:
    """Whether an event is part of the dialogue.

    Decisions without a form are items of the state.
    """
    if event.kind == "decision":
        form = getattr(event.payload, "form", None)
        return form in ("refusal", "answer") or (form == "plan" and event.payload.what not in VERDICTS)
    text = _text(event)
    return bool(text.strip()) and not (event.kind == "prompt" and NOT_TYPED.match(text))


def _text(event: Event) -> str:
    payload: Any = event.payload
    if event.kind == "decision":
        return str(payload.what)
    if event.kind == "evicted":
        return payload.summary or ""
    return str(payload.text or "")


def _prompt_role(
    text: str, first: bool, before: Event | None, decision: Mapping[str, Any]
) -> tuple[str, str]:
    """The role of a prompt and its text.

    A short reply is joined with the question that it answers.
    """
    if plan := PLAN_PROMPT.match(text):
        return "plan", PLAN_BOILERPLATE.sub("", text[plan.end() :])
    if decision.get("question") and decision.get("form") == "answer" and len(text) <= LONGEST_REPLY:
        asked = closing_question(decision["question"]) or shortened(decision["question"], LONGEST_QUESTION)
        return "reply", f"{plain_markdown(asked)}{ANSWERED}{text}"
    asked = closing_question(_text(before)) if before is not None and before.kind == "message" else ""
    if asked and not first and len(text) < SHORT_REPLY and REPLY.match(text):
        return "reply", f"{asked}{ANSWERED}{text}"
    return "first" if first else "asked", text


def closing_question(text: str) -> str:
    """The question with which a message ends, or an empty string."""
    lines = split_sentences(text[-2000:])
    for line in lines[-1:-4:-1]:
        if line.text.endswith("?"):
            return shortened(line.text, LONGEST_QUESTION)
    return ""


def dialogue_lines(session: str, talk: Sequence[Utterance], edits: Sequence[int] = ()) -> list[Line]:
    """The sentences of a dialogue in order.

    `edits` are the positions of changes, in order.
    """
    lines: list[Line] = []
    turn = 0
    asking = [said.seq for said in talk if _asks(said)]
    correcting = {said.seq for said in talk if said.corrects and not said.refused} | refuting(talk)
    end = talk[-1].seq if talk else 0
    for nth, said in enumerate(talk):
        if _asks(said):
            turn += 1
        begin = asking[turn - 1] if turn else said.seq
        until = said.seq if said.role in ANSWERS else asking[turn] if turn < len(asking) else end
        work = min(1.0, math.log(1 + max(0, until - begin)) / LOG_OF_MUCH_WORK)
        depth = nth / max(1, len(talk) - 1)
        after = asking[turn] if turn < len(asking) else end + 1
        changed = bisect_left(edits, after)
        talk_only = changed < len(edits) and changed == bisect_left(edits, begin)
        overturned = said.role in ANSWERS and turn < len(asking) and asking[turn] in correcting
        sentences = _spoken_sentences(said)
        count = len(sentences)
        pasted = pasted_from(said)
        ends = [*sentences[: MAX_LINES * 2 // 3], *sentences[MAX_LINES * 2 // 3 :][-MAX_LINES // 3 :]]
        lines += [
            Line(session, said.role, one.form, one.text, one.heading, said.seq, said.at, said.trust,
                 one.place, count, turn, depth, work, len(asking) - turn, talk_only, said.about,
                 said.corrects, overturned, pasted is not None and one.place >= pasted)
            for one in ends
        ]  # fmt: skip
    return lines


def refuting(talk: Sequence[Utterance]) -> set[int]:
    """The positions where the agent took its answer back.

    Because the user contradicted it, or in so many words.
    """
    return {
        said.seq
        for said, answer in pairwise(talk)
        if said.role in USER_ROLES
        and answer.role in ANSWERS
        and (
            RETRACTS.match(answer.text)
            or (CONTRADICTS.match(said.text.rpartition(ANSWERED)[2]) and CONCEDES.match(answer.text))
        )
    }


def pasted_from(said: Utterance) -> int | None:
    """The place from which a request is a review that the user pasted, or None."""
    if said.copied:
        return 0
    if said.role not in ("first", "asked") or len(said.text) < LEAST_PASTED:
        return None
    begin, _, rest = said.text.strip().partition("\n")
    if INTRODUCES.search(begin) and len(rest) >= LEAST_PASTED and ADDRESSED.search(begin):
        return 1
    whole = REVIEWS.search(said.text) and not ADDRESSED.search(said.text) and "?" not in said.text
    return 0 if whole else None


def _asks(said: Utterance) -> bool:
    """Whether an utterance begins a turn."""
    return said.role in USER_ROLES or said.role == "plan"


def _spoken_sentences(said: Utterance) -> Sequence[Sentence]:
    whole = WHOLE_DECISION if DECIDES.search(said.text) else WHOLE_PROMPT
    if said.role in USER_ROLES and len(said.text) <= whole and "\n\n" not in said.text.strip():
        text = plain_markdown(PASTED.sub("", said.text)) or plain_markdown(said.text)
        return [Sentence(text, "sentence", 0)] if text else []
    if said.role in USER_ROLES:  # an indented line is part of something pasted
        return _with_announced(split_sentences(PASTED.sub("", said.text)))
    return split_sentences(said.text)


def _with_announced(sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences of a request.

    A lead-in and the sentence that it announces are one.
    """
    found: list[Sentence] = []
    lead: Sentence | None = None
    for sentence in sentences:
        if lead is not None:
            text = shortened(f"{lead.text.rstrip(':')}: {sentence.text}", LONGEST_LEAD)
            sentence, lead = replace(lead, text=text, form="sentence"), None
        elif sentence.form == "lead":
            lead = sentence
            continue
        found.append(sentence)
    return [*found, lead] if lead is not None else found
