"""The handover: the chosen items as a note that reads like a colleague's.

It opens with what is live, what waits for the user and what comes next. Then come the threads, the latest
first, each with its request, decisions, results and open points; older days have a line each. The user's
rules and the commands to resume stand at the end.

Sessions share a thread when they are on the same branch, follow the same plan or ticket, change the same
files, or when one continues the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from fazm_memory.agents import native_resume_command
from fazm_memory.clock import to_datetime
from fazm_memory.lazy import lazy_regex
from fazm_memory.recall.dialogue import ANSWERED, PLAN_PROMPT, shortened
from fazm_memory.recall.digest import Request, SessionDigest
from fazm_memory.recall.items import Item
from fazm_memory.recall.lines import GOAL, PASTED, UNDONE, with_short_quote
from fazm_memory.recall.quoting import neutral, plain_name, quote
from fazm_memory.records import dataclass

GROUPS = (
    "asked", "why", "naming", "done", "added", "cause", "failed", "plan", "earlier", "known",
    "read", "apps", "commits", "run", "todo", "waiting", "open", "files",
)  # fmt: skip
JOINED = {"added": ", ", "earlier": "; ", "commits": "; "}  # groups on one line
SPOKEN = frozenset({"asked", "why", "done", "cause", "plan"})  # shown by turn, if they are from the dialogue
PLAN = lazy_regex(r"(?i)^plan:\s*")
RULES = "USER RULES"
HABITS = "HABITS"
RESUME = "RESUME"
ALSO = "Also"
CHANGING = frozenset({"plan", "request"})
MAX_RESUME = 6
ROOM_PER_RESUME = 2000  # characters of a context
BRIEF = 70  # characters of what a thread is for, if it is only named
MAX_NEXT = 4
MAX_PLAN = 5  # lines of a plan
LAST_TURN = "more on NOW"  # on the last request
PARTS = {"plan": "planned: ", "cause": "cause: "}  # what stands before such a sentence
LONGEST_NOW = 110  # characters of the last request in NOW
NO_TASK = "no open task; "
NOTHING_OPEN = "no open task is recorded"


def handover_lines(
    threads: Sequence[Thread],
    chosen: Collection[Item],
    own: Sequence[Item],
    pinned: Collection[str],
    folder: str | None,
    room: int = 8000,
    brief: Sequence[Thread] = (),
) -> list[str]:
    """The lines of a handover with these items. `own` are the user's preferences.

    The `brief` threads are only named.

    In little `room` only the latest threads have a command to resume them.
    """
    shown = {item.id for item in chosen}
    top = _top(threads, shown)
    above = {item.id for _, items in top for _, item in items}
    lines = [f"{title:<8}{text}" for title, text in _top_lines(threads, top)]
    trivial: list[str] = []
    rules = [("", item) for item in own if item.id in shown and item.kind != "habit"]
    habits = [item.text for item in own if item.id in shown and item.kind == "habit"]
    older: dict[str, list[str]] = {}
    label = None
    agent = _usual_agent(threads)
    for number, thread in enumerate(threads, 1):
        items = [item for task in thread.tasks for item in task.items if item.id in shown]
        rules += [(str(number), item) for item in items if item.label == "rule"]
        goals = goal_ids([thread])
        rest = [
            item for item in items if item.label != "rule" and item.id not in above and item.id not in goals
        ]
        if thread.older:
            older.setdefault(thread.tasks[-1].label, []).append(
                f"{older_text(thread, rest)}{_machines(thread)}"
            )
            continue
        told = any(item.id not in goals for item in items)
        if not told and any(other is not thread and _worked(other) for other in threads):
            trivial.append(f"{number} {_times(thread)}{_machines(thread)} {goal_text(thread)}")
            continue
        day = thread.tasks[-1].label
        if day != label:
            label = day
            lines.append(f"{day[0].upper()}{day[1:]}:")
        last = {(item.session, item.turn) for item in items if item.id in above and item.latest}
        lines += [f"{number} {heading(thread, folder, agent)}", *_groups(thread, rest, pinned, last)]
    trivial += [f"{_times(thread)}{_machines(thread)} {goal_text(thread, BRIEF)}" for thread in brief]
    lines += [f"{day[0].upper()}{day[1:]}: {' | '.join(texts)}" for day, texts in older.items()]
    if trivial:
        lines.append(f"{ALSO}: {'; '.join(trivial)}")
    if rules:
        lines.append(RULES)
        lines += [
            f"- {item.text}{f' ({number})' if number and len(threads) > 1 else ''}" for number, item in rules
        ]
    if habits:
        lines += [HABITS, *(f"- {text}" for text in habits)]
    return lines + resume_lines(threads, max(1, min(MAX_RESUME, room // ROOM_PER_RESUME)))


def _worked(thread: Thread) -> bool:
    return not thread.older and any(task.items for task in thread.tasks)


def top_ids(threads: Iterable[Thread]) -> set[str]:
    """The items of the first lines.

    What came of the last request, and what waits for the user.
    """
    recent = [thread for thread in threads if not thread.older]
    ids = {item.id for item in recent[0].tasks[-1].items if item.latest} if recent else set()
    checks = (
        [item for task in recent[0].tasks for item in task.items if item.kind == "checks"] if recent else []
    )
    ids |= {item.id for item in checks[-1:]}
    return ids | {item.id for thread in recent for item in thread.tasks[-1].items if item.label == "waiting"}


def _top(threads: Sequence[Thread], shown: Collection[str]) -> list[tuple[str, list[tuple[int, Item]]]]:
    """The first lines: what came last, what waits for the user, what comes next.

    Of the threads of the last active days.
    """
    waiting: list[tuple[int, Item]] = []
    following: list[tuple[int, Item]] = []
    only_older = all(thread.older for thread in threads)
    for number, thread in enumerate(threads, 1):
        items = [item for task in thread.tasks for item in task.items if item.id in shown]
        for item in items:
            if item.label == "waiting" and not thread.older:
                waiting.append((number, item))
            elif (
                item.label == "todo"
                and (not thread.older or only_older)
                and len(following) < MAX_NEXT
                and _new(item, number, following)
            ):
                following.append((number, item))
        if number == 1 and not following and not thread.older:
            following += [(number, item) for item in items if item.kind == "uncommitted"][-1:]
    now: list[tuple[int, Item]] = []
    for thread in threads[:1]:
        if not thread.older:
            last = thread.tasks[-1].items
            now = [(1, item) for item in last if item.latest and item.id in shown]
            checks = [item for task in thread.tasks for item in task.items if item.kind == "checks"]
            now += [(1, item) for item in checks[-1:]]
    return [("NOW", now), ("WAITING", waiting), ("NEXT", following)]


def _new(item: Item, number: int, listed: Iterable[tuple[int, Item]]) -> bool:
    """Whether no listed item of the same thread says the same."""
    return all((number, item.text) != (other, known.text) for other, known in listed)


def _top_lines(
    threads: Sequence[Thread], top: Iterable[tuple[str, list[tuple[int, Item]]]]
) -> Iterable[tuple[str, str]]:
    recent = [thread for thread in threads if not thread.older]
    waits = False
    for title, items in top:
        if title == "NOW":
            if recent:
                about = "" if recent[0].branch or len(recent) < 2 else goal_text(recent[0], 70)
                ended = f"until {to_datetime(recent[0].ended):%H:%M}{_by(threads)}"
                told = _last_words(recent[0], [item for _, item in items if item.latest])
                told = told or _last_request(recent[0])
                runs = [f"last run: {item.text}" for _, item in items if item.kind == "checks"]
                last = "; ".join([*(text.rstrip(".") if runs else text for text in told), *runs])
                yield (
                    title,
                    f"{', '.join(filter(None, ('thread 1', about, ended)))}{f': {last}' if last else ''}",
                )
            continue
        texts = _joined_todos(items, threads)
        if title == "NEXT" and items and items[0][1].kind == "uncommitted" and not waits:
            texts[0] = texts[0].replace(": ", f": {NO_TASK}", 1)
        elif title == "NEXT" and items and recent and items[0][0] != 1 and not waits:
            texts.insert(0, f"1: {NOTHING_OPEN}")
        waits = waits or (title == "WAITING" and bool(items))
        if title == "NEXT" and recent and not texts and not waits:
            texts = [NOTHING_OPEN]
        for nth, text in enumerate(texts):
            yield "" if nth else title, text


def _last_words(thread: Thread, items: Sequence[Item]) -> list[str]:
    """The last request and what came of it. The heading may show the request already."""
    answers = [item.text.rstrip(".") for item in items if item.kind == "said"]
    headed = goal_ids([thread]) if len(thread.tasks) == 1 else set()
    asked = [_last_asked(item) for item in items if item.kind != "said" and item.id not in headed]
    return [ANSWERED.join([*asked[:1], *answers[:1]])] if answers else []


def _last_asked(item: Item) -> str:
    """The last request in a few words."""
    if item.kind == "plan":
        return f"plan {quote(PLAN.sub('', item.text), LONGEST_NOW)}"
    return with_short_quote(item.text, LONGEST_NOW)


def _last_request(thread: Thread) -> list[str]:
    """The last request of a thread, unless its heading shows it."""
    asked = thread.tasks[-1].requests[1:] if len(thread.tasks) == 1 else thread.tasks[-1].requests
    return [_request(request, BRIEF) for request in asked[-1:]]


def _joined_todos(items: Iterable[tuple[int, Item]], threads: Sequence[Thread]) -> list[str]:
    """The lines of these items. Steps of one thread stand on one line.

    Those of another thread than the first begin with the time when it ended.
    """
    texts: dict[tuple[int, str, str], list[str]] = {}
    for number, item in items:
        before, mark, words = item.text.partition('"')
        words, end, after = words.rpartition('"')
        step = item.kind == "pending" and mark and end
        key = (number, before, after) if step else (number, item.text, "")
        texts.setdefault(key, []).append(f'"{words}"' if step else "")
    return [
        f"{_place(number, threads)}: {before}{', '.join(filter(None, words))}{after}"
        for (number, before, after), words in texts.items()
    ]


def _place(number: int, threads: Sequence[Thread]) -> str:
    """The number of a thread and when it ended, which NOW tells of the first."""
    thread = threads[number - 1]
    ended = "" if number == 1 or thread.older else f" (until {to_datetime(thread.ended):%H:%M})"
    return f"{number}{ended}"


def _by(threads: Sequence[Thread]) -> str:
    agent = _usual_agent(threads)
    return f" ({plain_name(agent)})" if agent else ""


def heading(thread: Thread, folder: str | None, agent: str = "") -> str:
    """The first line of a thread: branch, times and what it is for.

    `agent` need not be named.
    """
    branch = f"{neutral(thread.branch)}, " if thread.branch else ""
    last = thread.tasks[-1]
    place = last.session.workspace
    where = f" in {quote(place, 160)}" if place and place != folder else ""
    done, total = last.todos
    machines = _machines(thread)
    named = machines or last.session.agent != agent
    notes = [
        f"{plain_name(last.session.agent)}{machines}" if named else "",
        f"{len(thread.tasks)} sessions" if len(thread.tasks) > 1 else "",
        f"{done} of {total} steps done" if done < total else "",
    ]
    about = ", ".join(filter(None, notes))
    notes_text = f" ({about})" if about else ""
    return f"{branch}{_times(thread)}{notes_text}{where}: {goal_text(thread)}{_since(thread)}"


def _since(thread: Thread) -> str:
    """When a thread began, if on an earlier day, and with which request."""
    task = next((task for task in thread.tasks if task.began_on), None)
    if task is None:
        return ""
    first = f": {_request(task.first, BRIEF)}" if task.first is not None and task.goal is not None else ""
    return f" (since {task.began_on}{first})"


def _machines(thread: Thread) -> str:
    """Where a thread was worked on, latest first; nothing if only on this machine."""
    rows = [task.session for task in reversed(thread.tasks)]
    names = list(dict.fromkeys(row.device_name or row.device for row in rows))
    if names == [None]:
        return ""
    return " " + " and ".join("here" if name is None else f"on {quote(name, 60)}" for name in names)


def _usual_agent(threads: Sequence[Thread]) -> str:
    """The agent of all these threads, or an empty string if there are several."""
    agents = {thread.tasks[-1].session.agent for thread in threads}
    return agents.pop() if len(agents) == 1 else ""


def _times(thread: Thread) -> str:
    began, ended = to_datetime(thread.began), to_datetime(thread.ended)
    day = "" if began.date() == ended.date() else f"{began:%A} "
    return f"{day}{began:%H:%M}-{ended:%H:%M}"


def goal_ids(threads: Iterable[Thread]) -> set[str]:
    """The items that the headings of these threads show."""
    firsts = [thread.shown[0] for thread in threads if not thread.older]
    return {task.goal.id for task in firsts if task.goal is not None}


def goal_text(thread: Thread, longest: int = GOAL) -> str:
    """What a thread is for, in the user's words if possible."""
    for task in thread.shown:
        if task.plan_title and task.goal is None:
            return f"plan {quote(PLAN.sub('', task.plan_title), longest)}"
        if task.goal is not None and task.goal.kind == "plan":
            return f"plan {quote(PLAN.sub('', task.goal.text), longest)}"
        if task.goal is not None:
            return _asked(task.goal.text, task.goal.trust, longest)
        if task.first is not None:
            return _request(task.first, longest)
        if task.requests:
            return _request(task.requests[0], longest)
    title = next((task.session.title for task in thread.tasks if task.session.title), None)
    return f"about {quote(title, longest)}" if title else "no request recorded"


def _request(request: Request, longest: int) -> str:
    if plan := PLAN_PROMPT.match(request.text):
        title = request.text[plan.end() :].strip().partition("\n")[0]
        return f"plan {quote(PLAN.sub('', title.lstrip('# ')), longest)}"
    return _asked(quote(request.text, 2 * longest), request.trust, longest)


def _asked(quoted: str, trust: str, longest: int) -> str:
    """A quoted request, shortened inside its quotes."""
    pasted = PASTED if quoted.startswith(PASTED) else ""
    words = quoted.partition('"')[2].rpartition('"')[0]
    return f'{pasted}"{shortened(words, longest)}"{"" if trust == "user" else f" [{trust}]"}'


def _groups(
    thread: Thread,
    items: Sequence[Item],
    pinned: Collection[str],
    last: Collection[tuple[str, int]] = (),
) -> list[str]:
    """The lines of a thread: its turns in order, then what is known besides by group.

    The `last` turn is the one that NOW is about.
    """
    order = {task.session.id: nth for nth, task in enumerate(thread.tasks)}
    goals = {(task.session.id, task.goal.turn) for task in thread.shown[:1] if task.goal is not None}
    turns: dict[tuple[int, int], list[Item]] = {}
    for item in items:
        if item.label in SPOKEN and item.turn >= 0:
            turns.setdefault((order.get(item.session, 0), item.turn), []).append(item)
    lines: list[str] = []
    undone = undone_changes(thread.shown)
    for _, turn in sorted(turns.items()):
        place = (turn[0].session, turn[0].turn)
        lines += turn_lines(
            turn,
            headed=place in goals,
            above=place in last,
            undone=place in undone or any(item.undone for item in turn),
        )
    rest = [item for item in items if item.label not in SPOKEN or item.turn < 0]
    for group in dict.fromkeys((*GROUPS, *(item.label for item in rest))):
        rows = [item for item in rest if item.label == group]
        rows.sort(
            key=lambda item: (
                item.id not in pinned, order.get(item.session, 0), item.message, item.place, -item.score
            )
        )  # fmt: skip
        texts = list(dict.fromkeys(item.text for item in rows))
        if group in JOINED and texts:
            texts = [JOINED[group].join(text.rstrip(".") for text in texts)]
        begin = "-" if group == "done" else f"{group}:"  # what was done says so itself
        lines += [f"  {begin} {text}" for text in texts]
    return lines


def turn_lines(
    turn: Sequence[Item], *, headed: bool = False, above: bool = False, undone: bool = False
) -> list[str]:
    """The lines of a turn: the user's words or a plan, and what came of them.

    `headed`: the request stands in the heading of the thread. `above`: NOW tells the request and its outcome.
    `undone`: a later session changed that again.
    """
    said = sorted(turn, key=lambda item: (item.message, item.place))
    plan = [item for item in said if item.label == "plan"]
    title = f'plan "{PLAN.sub("", plan[0].text)}"' if plan and not plan[0].place else ""
    words = _as_one_quote([item for item in said if item.label == "asked"])
    answers = [item.text for item in said if item.label == "why" and item.kind == "answer"]
    request = "; ".join(filter(None, (title, words, *answers)))
    outcome = ""
    more: list[str] = []
    for item in said:
        text = item.text.rstrip(".;")
        if item.label == "asked" or item.kind == "answer" or (item in plan and not item.place):
            continue
        if item.outcome and not outcome:
            outcome = text
        elif item not in plan[MAX_PLAN:] and text != outcome:
            more.append(f"{PARTS.get(item.label, '')}{text}")
    if undone:
        told = next(filter(None, (outcome, *more)), "")
        return [f"  - {request}{ANSWERED}{UNDONE}"] if request else [f"  - {UNDONE}: {told}"] if told else []
    if not request and above and more:
        request = LAST_TURN
    if not request and not outcome:
        outcome = more.pop(0) if more else ""
    lines = [f"  - {ANSWERED.join(filter(None, (request, outcome)))}"]
    return [*lines, *(f"    {text}" for text in dict.fromkeys(more))]


def _as_one_quote(asked: Sequence[Item]) -> str:
    """The chosen sentences of the user's messages, each message in one pair of quotes."""
    texts: list[str] = []
    before: Item | None = None
    for item in asked:
        begin = f'{PASTED}"' if item.text.startswith(PASTED) else '"'
        if (
            before is not None and before.message == item.message
            and before.text.endswith('"') and before.text.startswith(begin) and item.text.startswith(begin)
        ):  # fmt: skip
            gap = " " if item.place == before.place + 1 else " … "
            texts[-1] = f"{texts[-1][:-1]}{gap}{item.text.removeprefix(begin)}"
        else:
            texts.append(item.text)
        before = item
    return "; ".join(dict.fromkeys(texts))


def older_text(thread: Thread, items: Sequence[Item]) -> str:
    """Work of an older day, as part of a line."""
    texts = "; ".join(item.text for item in sorted(items, key=lambda item: -item.score))
    return f"{goal_text(thread, 70)}{f'; {texts}' if texts else ''}"


def resume_lines(threads: Sequence[Thread], most: int = MAX_RESUME) -> list[str]:
    """How to resume the latest session of each thread of the last active days."""
    commands: list[str] = []
    before = ""
    for number, thread in enumerate(threads, 1):
        command = resume_command(thread.tasks[-1])
        if command and not thread.older and len(commands) < most:
            program, _, name = command.rpartition(" ")
            commands.append(f"{number}: {neutral(name if program == before else command)}")
            before = program
    return [f"{RESUME} {', '.join(commands)}"] if commands else []


def resume_command(task: SessionDigest) -> str | None:
    row = task.session
    return (
        None if row.lifecycle == "archived" else native_resume_command(row.agent, row.agent_session_id, None)
    )


# -- threads ---------------------------------------------------------------------------------------------

TRUNKS = frozenset({"", "main", "master", "trunk", "develop", "HEAD"})
SHARED_FILES = 0.5  # of the smaller set of changed files


@dataclass(frozen=True)
class Thread:
    """Sessions of the same work, in time.

    `older` if none of them was active on the last active days.
    """

    tasks: tuple[SessionDigest, ...]

    @property
    def ended(self) -> int:
        return max(task.ended for task in self.tasks)

    @property
    def began(self) -> int:
        return min(task.began for task in self.tasks if task.recent or self.older)

    @property
    def older(self) -> bool:
        return not any(task.recent for task in self.tasks)

    @property
    def shown(self) -> tuple[SessionDigest, ...]:
        """The sessions of the last active days, or all if there are none."""
        return tuple(task for task in self.tasks if task.recent or self.older)

    @property
    def branch(self) -> str:
        return next((task.branch for task in reversed(self.tasks) if task.branch), "")


FROM_TO = lazy_regex(r"(?i)\bfrom ['\"]?([\w./-]{2,30})['\"]?(?: back)? to ['\"]?([\w./-]{2,30})")
TO = lazy_regex(r"(?i)(?<!from )\bto ['\"]?([\w./-]{2,30})")


def undone_changes(tasks: Iterable[SessionDigest]) -> set[tuple[str, int]]:
    """The turns of a change "to X" after which a later session changed "from X to Y".

    A turn is a session and a number.
    """
    undone: set[tuple[str, int]] = set()
    later: set[str] = set()  # what was changed away, in sessions that came later
    for task in sorted(tasks, key=lambda task: -task.began):
        for item in task.items:
            request = item.text.partition(ANSWERED)[0]
            if item.kind in CHANGING and {word.lower() for word in TO.findall(request)} & later:
                undone.add((item.session, item.turn))
        for item in task.items:
            if item.kind in CHANGING:
                request = item.text.partition(ANSWERED)[0]
                later |= {before.lower() for before, _ in FROM_TO.findall(request)}
    return undone


def group_threads(tasks: Sequence[SessionDigest]) -> list[Thread]:
    """The threads of these sessions, the latest first, those of older days at the end."""
    parents = list(range(len(tasks)))

    def root(nth: int) -> int:
        while parents[nth] != nth:
            nth = parents[nth]
        return nth

    for nth, task in enumerate(tasks):
        for other in range(nth):
            if belong_together(task, tasks[other]):
                parents[root(nth)] = root(other)
    groups: dict[int, list[SessionDigest]] = {}
    for nth, task in enumerate(tasks):
        groups.setdefault(root(nth), []).append(task)
    threads = [
        Thread(tuple(sorted(group, key=lambda task: (task.began, task.session.opened_at, task.session.n))))
        for group in groups.values()
    ]
    # The tasks are sorted, so the later of two threads that ended in one minute comes first.
    return sorted(threads, key=lambda thread: (thread.older, -thread.ended))


def belong_together(one: SessionDigest, other: SessionDigest) -> bool:
    """Whether two sessions are the same work."""
    if one.session.id == other.session.parent or other.session.id == one.session.parent:
        return True
    if one.branch not in TRUNKS and one.branch == other.branch:
        return True
    if one.tickets & other.tickets or (one.plan_title and one.plan_title == other.plan_title):
        return True
    if one.branch != other.branch or not (one.recent and other.recent):
        return False
    smaller = min(len(one.files), len(other.files))
    return smaller >= 2 and len(one.files & other.files) >= SHARED_FILES * smaller
