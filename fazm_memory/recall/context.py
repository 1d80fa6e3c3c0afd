"""The context for a new session, within a budget.

It has the most useful items that fit, grouped by session, DONE apart from OPEN. One line says how many were
left out and how to find them. The same log at the same time renders the same bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote as url_quote

from fazm_memory.agents import native_resume_command
from fazm_memory.clock import iso
from fazm_memory.errors import InvalidRequest
from fazm_memory.lazy import lazy_regex
from fazm_memory.recall.chooser import Candidate, choose, terms_of_text
from fazm_memory.recall.dialogue import ANSWERED
from fazm_memory.recall.digest import Digest, SessionDigest
from fazm_memory.recall.handover import (
    RESUME as RESUME_LABEL,
)
from fazm_memory.recall.handover import (
    Thread,
    goal_ids,
    goal_text,
    group_threads,
    handover_lines,
    heading,
    older_text,
    resume_command,
    top_ids,
)
from fazm_memory.recall.items import EXCLUDED, Item, inclusion_reason, is_step
from fazm_memory.recall.lines import same_plan
from fazm_memory.recall.quoting import (
    CHARACTERS_PER_TOKEN,
    fenced,
    neutral,
    neutral_json,
    nonce,
    quote,
    size,
)
from fazm_memory.records import dataclass, field, replace
from fazm_memory.text import plural

MOST_CHARACTERS = 9_800  # clients cut at 10,000
SHORT_REQUEST = 40  # characters of a request that says little without what came of it
LINE = 5  # characters around an item
SHARE = 2.0  # of an equal share of the room, for a thread
AMPLE = 5000  # characters from which there is room for older days
OLDER_SHARE = 0.03  # of the room, for a line on work of older days
HEADINGS = 0.5  # of the room, for headings and a little of each thread
LEAST_LINES = 60  # characters of a thread below its heading
MOST_OLDER = 1200  # characters, for work of older days
DAY_LABEL = 30  # characters of the name of a day
CHECKED_AT = lazy_regex(r" \(ok \d\d:\d\d(?:, edited since)?\)")
MAX_LISTED = 150  # items in the data that did not fit

HEAD = "Fazm Memory: what happened before {place}. Requests and rules are the user's words unless marked."
NOTHING = "Fazm Memory: nothing is recorded {place} yet."
FOOT = "Left out for space: {count}. memory_search finds the rest."
PINS = "{count} of them pinned by the user: the pins alone do not fit"


@dataclass(frozen=True)
class Context:
    """A rendered context: the text a model reads, and the same as data."""

    text: str
    included: tuple[Item, ...]
    left_out: tuple[Item, ...]
    data: dict[str, Any] = field(default_factory=dict)


def tokens(text: str) -> int:
    """An estimate: four characters of English are a token (see `size`)."""
    return -(-size(text) // CHARACTERS_PER_TOKEN)


def render_context(
    digest: Digest, *, budget: int, secret: bytes, choices: Mapping[str, str] | None = None, home: str = ""
) -> Context:
    """The context of a digest. `choices` has `pin` or `exclude` by item id."""
    choices = choices or {}
    elsewhere = any(task.session.device for task in digest.tasks)
    place = "on your machines" if elsewhere else "on this machine"
    place = f"in {quote(digest.workspace, 200)}" if digest.workspace else place
    pinned = {item.id for item in digest.items if choices.get(item.id) == "pin"}
    frame = size(HEAD.format(place=place)) + len(fenced([], "0" * 32)) + len(FOOT.format(count=10**6)) + 8
    frame += len(PINS.format(count=10**6)) + 2 if pinned else 0
    room = min(budget * CHARACTERS_PER_TOKEN, MOST_CHARACTERS) - frame
    if room < 0:
        least = -(-frame // CHARACTERS_PER_TOKEN)
        raise InvalidRequest(f"{budget} tokens cannot hold a context", hint=f"give it at least {least}")
    threads = group_threads(digest.tasks)
    stale = _replaced(threads) - pinned
    candidates = [item for item in digest.items if choices.get(item.id) != "exclude" and item.id not in stale]
    threads, chosen, lines = _fitting(digest, threads, candidates, room, pinned)
    mark = nonce(secret, str(digest.now), place, *lines)
    text = f"{HEAD.format(place=place)}\n{fenced(lines, mark)}" if lines else NOTHING.format(place=place)
    included = {item.id for item in chosen}
    left = [item for item in candidates if item.id not in included]
    left.sort(key=lambda item: (item.id not in pinned, -item.score, -item.at, item.seq, item.id))
    pins_left = sum(item.id in pinned for item in left)
    if left:
        more = f", {PINS.format(count=pins_left)}" if pins_left else ""
        text += f"\n{FOOT.format(count=f'{len(left)}{more}')}"
    text += "\n"
    folder = digest.workspace
    data = {
        "workspace": None if folder is None else neutral(folder),
        # The exact path: nothing in it can be taken for markup or a second line.
        "workspace_uri": None if folder is None else f"file://{url_quote(folder, errors='surrogatepass')}",
        "at": iso(digest.now),
        "day": digest.day,
        "text": text,
        "characters": len(text),
        "tokens": tokens(text),
        "budget": budget,
        "tasks": neutral_json([_task_json(task) for task in digest.tasks]),
        "threads": [_thread_json(thread, chosen) for thread in threads],
        "items": _items_json(digest, chosen, choices),
        "left_out": len(left),
        "pins_left_out": pins_left,
    }
    return Context(text, tuple(chosen), tuple(left), data)


def session_lines(digest: Digest, room: int) -> list[str]:
    """The lines of a handover of one session, for its briefing.

    The briefing names the resume command itself.
    """
    threads = group_threads(digest.tasks)
    stale = _replaced(threads)
    items = [item for item in digest.items if item.id not in stale]
    _, chosen, lines = _fitting(digest, threads, items, room, ())
    left = len(items) - len(chosen)
    lines = [line for line in lines if not line.startswith(RESUME_LABEL)]
    return [*lines, f"{plural(left, 'line')} more, left out for space"] if left else lines


def _replaced(threads: Iterable[Thread]) -> set[str]:
    """Items about the state of a repository that a later session reports too.

    Within a thread the latest counts. Checks that a later thread ran in the same way are told once.
    """
    replaced = set()
    run: set[str] = set()
    for thread in threads:
        if checks := [item for task in thread.tasks for item in task.items if item.kind == "checks"]:
            commands = set(CHECKED_AT.sub("", checks[-1].text).split(", "))
            if commands <= run and not thread.older:
                replaced |= {item.id for item in checks}
            run |= commands
        known: set[str] = set()
        for task in () if thread.older else thread.tasks[:-1]:  # the next session went on without an answer
            replaced |= {
                item.id for item in task.items if item.kind in ("asking", "next", "proposed") or is_step(item)
            }
        replaced |= _replaced_plans(thread)
        for task in reversed(thread.tasks):
            latest = [item for item in task.items if item.kind in ("uncommitted", "checks")]
            replaced |= {item.id for item in latest if item.kind in known}
            known |= {item.kind for item in latest}
    return replaced


def _replaced_plans(thread: Thread) -> set[str]:
    """Items of plans that a later session of the thread has too.

    Mostly that session carries the plan out.
    """
    replaced: set[str] = set()
    later: list[frozenset[str]] = []
    for task in reversed(thread.tasks):
        plans = [item for item in task.items if item.kind == "plan"]
        titles = {
            item.message: terms_of_text(item.text.partition(ANSWERED)[0]) for item in plans if not item.place
        }
        same = {
            message for message, title in titles.items() if any(same_plan(title, other) for other in later)
        }
        replaced |= {item.id for item in plans if item.message in same}
        later += titles.values()
    return replaced


def _fitting(
    digest: Digest, threads: list[Thread], items: Sequence[Item], room: int, pinned: Collection[str]
) -> tuple[list[Thread], list[Item], list[str]]:
    """The threads and items that fit, and their lines.

    Pinned items come first. No item is cut.

    Work of older days gets a small part of the room, and what recent work leaves.
    """

    def lines_of(threads: Sequence[Thread], chosen: Sequence[Item]) -> list[str]:
        return handover_lines(threads, chosen, digest.preferences, pinned, digest.workspace, room, brief)

    brief: list[Thread] = []  # those of the last days that have a line together
    of = {task.session.id: nth for nth, thread in enumerate(threads) for task in thread.tasks}
    pins = [item for item in items if item.id in pinned]
    pins.sort(key=lambda item: (-item.score, -item.at, item.seq, item.id))
    threads, older, brief = _affordable(threads, pins, room)
    shown = _sessions(threads) | {""}
    pins = [item for item in pins if item.session in shown]
    headed = goal_ids(threads) | top_ids(threads)
    heads = [item for item in items if item.id in headed and item.id not in pinned]
    rest = [
        item for item in items if item.id not in pinned and item.id not in headed and item.session in shown
    ]
    bare = _length(lines_of(threads, ()))
    reserve = min(int(room * OLDER_SHARE), sum(size(older_text(thread, ())) + 3 for thread in older))
    reserve = reserve if room >= AMPLE or not threads else 0
    room_left = room - bare - reserve - sum(size(item.text) + LINE for item in pins)
    known = [
        Candidate("", 1.0, 0, terms_of_text(goal_text(thread)), -1, turn=goal_turn(thread))
        for thread in threads
    ]
    known += [_candidate(item, of) for item in heads]
    groups = exchanges(rest)
    places = choose(
        [_joined_candidate(group, of) for group in groups], room_left, _shares(threads, of, room_left),
        [*known, *(_candidate(item, of) for item in pins)],
    )  # fmt: skip
    chosen = [*pins, *heads, *(item for nth in places for item in groups[nth])]
    left = room - _length(lines_of(threads, chosen))
    threads, chosen = _with_older(threads, older, items, chosen, left, of)
    lines = lines_of(threads, chosen)
    while chosen and _length(lines) > room:  # headings and titles took more than expected
        chosen.pop()
        lines = lines_of(threads, chosen)
    while threads and _length(lines) > room:
        threads = threads[:-1]
        lines = lines_of(threads, chosen)
    return threads, chosen, lines


def _sessions(threads: Iterable[Thread]) -> set[str]:
    return {task.session.id for thread in threads for task in thread.tasks}


def _with_older(
    threads: list[Thread],
    older: list[Thread],
    items: Sequence[Item],
    chosen: list[Item],
    room: int,
    of: Mapping[str, int],
) -> tuple[list[Thread], list[Item]]:
    """Add the threads of older days that fit into the room that is left."""
    fitting: list[Thread] = []
    room = min(room, MOST_OLDER)
    for thread in older:
        cost = size(older_text(thread, ())) + DAY_LABEL
        if cost > room:
            break
        room -= cost
        fitting.append(thread)
    sessions = _sessions(fitting)
    rest = [item for item in items if item.session in sessions]
    places = choose([_candidate(item, of) for item in rest], room, {})
    return [*threads, *fitting], [*chosen, *(rest[nth] for nth in places)]


def _shares(threads: Sequence[Thread], of: Mapping[str, int], room: int) -> dict[int, int]:
    """The most that each thread may take."""
    each = room if len(threads) < 2 else int(room * SHARE / len(threads))
    return {of[thread.tasks[0].session.id]: each for thread in threads}


def _affordable(
    threads: list[Thread], pins: Sequence[Item], room: int
) -> tuple[list[Thread], list[Thread], list[Thread]]:
    """Sort the threads by the room they get.

    Those with lines of their own, those of older days, and those that share a line.
    """
    sessions = {item.session for item in pins}
    used = 0
    fitting, older, brief = list[Thread](), list[Thread](), list[Thread]()
    recent = any(not thread.older for thread in threads)
    for thread in threads:
        pinned = any(task.session.id in sessions for task in thread.tasks)
        if thread.older and recent and not pinned:
            older.append(thread)
            continue
        used += len(heading(thread, None)) + LEAST_LINES
        (fitting if used <= room * HEADINGS or pinned else brief).append(thread)
    return fitting, older, brief


def _candidate(item: Item, of: Mapping[str, int]) -> Candidate:
    spoken = item.message >= 0
    return Candidate(
        item.id, item.score, size(item.text) + LINE, terms_of_text(item.text), of.get(item.session, -1),
        (item.session if spoken else "", item.message), item.voice, spoken, (item.session, item.turn),
        item.kind == "said" and not item.outcome and item.turn >= 0,
    )  # fmt: skip


def goal_turn(thread: Thread) -> tuple[str, int]:
    """The turn of the request that the heading of a thread shows."""
    goals = ((task.session.id, task.goal.turn) for task in thread.shown if task.goal is not None)
    return next(goals, ("", 0))


def exchanges(items: Sequence[Item]) -> list[list[Item]]:
    """The items, each alone, but a question of the user together with what came of it.

    A question says nothing without its answer. Other requests do.
    """
    questions: dict[tuple[str, int], Item] = {}
    for item in items:
        place = (item.session, item.turn)
        if item.kind == "request" and item.label == "asked" and item.turn >= 0:
            questions[place] = max(item, questions.get(place, item), key=lambda one: one.score)
    questions = {
        place: item
        for place, item in questions.items()
        if item.text.endswith('?"') or len(item.text) < SHORT_REQUEST
    }
    answers = {
        (item.session, item.turn): item
        for item in items
        if item.outcome and (item.session, item.turn) in questions
    }
    paired = {questions[place].id: answer for place, answer in answers.items()}
    told = {answer.id for answer in answers.values()}
    return [[item, paired[item.id]] if item.id in paired else [item] for item in items if item.id not in told]


def _joined_candidate(group: Sequence[Item], of: Mapping[str, int]) -> Candidate:
    parts = [_candidate(item, of) for item in group]
    last = parts[-1]
    cost = sum(part.cost for part in parts) - LINE * (len(parts) - 1)
    worth = sum(part.worth * part.cost for part in parts) / sum(part.cost for part in parts)
    terms = frozenset[str]().union(*(part.terms for part in parts))
    voice = max(part.voice for part in parts)
    return replace(last, worth=worth, cost=cost, terms=terms, voice=voice)


def _length(lines: Iterable[str]) -> int:
    return sum(size(line) + 1 for line in lines)


THREAD_PARTS = {
    "asked": "goal", "why": "decisions", "plan": "decisions", "rule": "preferences", "todo": "open",
    "waiting": "open", "open": "open", "failed": "failed", "cause": "failed",
    "run": "references",
    "read": "references", "known": "references",
}  # fmt: skip


def _thread_json(thread: Thread, chosen: Collection[Item]) -> dict[str, Any]:
    """A thread as data, with the items that are in the text."""
    shown = {item.id for item in chosen}
    parts: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("done", "decisions", "preferences", "open", "failed", "references")
    }
    asked: list[dict[str, Any]] = []
    for task in thread.tasks:
        for item in task.items:
            if item.id in shown:
                why = inclusion_reason(item, label=task.label, choice=None, included=True)
                row = {"id": item.id, "text": item.text, "session": item.session, "seq": item.seq,
                       "at": iso(item.at or task.ended), "trust": item.trust, "why": why}  # fmt: skip
                part = THREAD_PARTS.get(item.label, "done")
                (asked if part == "goal" else parts[part]).append(row)
    return {
        "goal": goal_text(thread),
        "branch": neutral(thread.branch) or None,
        "began": iso(thread.began),
        "ended": iso(thread.ended),
        "sessions": [task.session.id for task in thread.tasks],
        "asked": asked,
        **parts,
        "resume": resume_command(thread.tasks[-1]),
    }


def _items_json(digest: Digest, chosen: Sequence[Item], choices: Mapping[str, str]) -> list[dict[str, Any]]:
    """The items of a context as data.

    First those included, in the order of the choice, then the best of those left out, then excluded ones.
    """
    included = {item.id for item in chosen}
    days = {task.session.id: task.label for task in digest.tasks}
    others = [item for item in digest.items if item.id not in included]
    excluded = [item for item in others if choices.get(item.id) == "exclude"]
    left = [item for item in others if choices.get(item.id) != "exclude"]
    left.sort(key=lambda item: (choices.get(item.id) != "pin", -item.score, -item.at, item.seq, item.id))
    rows = []
    for rank, item in enumerate([*chosen, *left[:MAX_LISTED]], 1):
        why = inclusion_reason(
            item, label=days.get(item.session), choice=choices.get(item.id), included=item.id in included
        )
        rows.append(_item_json(item, item.id in included, rank, why))
    return rows + [_item_json(item, False, None, EXCLUDED) for item in excluded]


def _task_json(task: SessionDigest) -> dict[str, Any]:
    row = task.session
    return {
        "session": row.id,
        "agent": row.agent,
        "title": row.title,
        "workspace": row.workspace,
        "device": row.device_name or row.device,
        "lifecycle": row.lifecycle,
        "day": task.label,
        "began": iso(task.began),
        "ended": iso(task.ended),
        "requests": [dict(request.__dict__) for request in task.requests],
        "first_request": None if task.first is None else dict(task.first.__dict__),
        "began_on": task.began_on,
        "since": task.since,
        "resume": native_resume_command(row.agent, row.agent_session_id, row.workspace),
    }


def _item_json(item: Item, included: bool, rank: int | None, why: str) -> dict[str, Any]:
    return {
        "id": item.id,
        "section": item.section,
        "kind": item.kind,
        "text": item.text,
        "session": item.session,
        "seq": item.seq,
        "trust": item.trust,
        "included": included,
        "score": round(item.score, 3),
        "rank": rank,
        "why": why,
    }
