"""Search: a typed query with filters, over events and over items of sessions.

Naming conventions and skipped files are in no event: they are learned from a session. When a query asks for
such a thing, the items of the best matching sessions are searched too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from difflib import get_close_matches
from os.path import normpath
from typing import TYPE_CHECKING, Any

from fazm_memory import session as sessions
from fazm_memory.clock import DURATION, TimeError, parse_duration, parse_time, to_datetime, to_micros
from fazm_memory.lazy import lazy_regex
from fazm_memory.records import dataclass, replace
from fazm_memory.store import (
    INDEXED_TEXT,
    NOT_QUARANTINED,
    SEQ_BITS,
    SEQ_MASK,
    FileChangeSince,
    SearchHit,
    SearchScope,
    SearchTerm,
    SessionRow,
    Span,
    Store,
    best_first,
    event_id,
    fts_quote,
    read_quarantine,
    terms_of,
)

if TYPE_CHECKING:
    from fazm_memory.recall.items import Item

KIND_WORDS: dict[tuple[str, ...], str] = {
    ("convention",): "naming name named names convention conventions pattern patterns rename renamed scheme"
    " format called style",
    ("skipped",): "skip skipped skipping ignored ignore alone untouched excluded",
    ("folder", "place"): "folder folders directory directories processed progress",
    ("looked",): "source sources page pages site sites website url link links",
    ("interrupted",): "interrupted unfinished finish finished complete completed running killed hung never"
    " stopped",
    ("files",): "file files changed modified edited",
    ("changed",): "changed edited added himself herself themselves myself person",
    ("evicted",): "evicted context compacted compaction dropped fell lose lost",
    ("failed", "mended", "vain"): "failed failure failures fail fails failing error errors broke broken crash"
    " crashed dead",
}
KINDS_OF: dict[str, frozenset[str]] = {}
for _kinds, _words in KIND_WORDS.items():
    for _word in _words.split():
        KINDS_OF[_word] = KINDS_OF.get(_word, frozenset()) | frozenset(_kinds)
LEARNED = frozenset(kind for kinds in KIND_WORDS for kind in kinds) - INDEXED_TEXT.keys()
FAILURES = frozenset({"failed", "mended", "vain"})  # each is about one call, which is itself a hit
FINDABLE = LEARNED | INDEXED_TEXT.keys()  # what `kind:` may name
# "not renamed", "never been filed": asks for skipped files.
NOT_DONE = lazy_regex(r"\b(?:not|n't|never) (?:been )?\w+ed\b", re.IGNORECASE)


def requested_kinds(text: str, words: list[str]) -> set[str]:
    """The kinds of items that the words of a query ask for."""
    wanted = {kind for word in words for kind in KINDS_OF.get(word.lower(), ())}
    return wanted | {"skipped"} if NOT_DONE.search(text) else wanted


NAMES = {
    "agent": "agent", "tool": "tool", "kind": "kind", "in": "folder", "workspace": "folder",
    "folder": "folder", "session": "session", "since": "since", "after": "since", "before": "until",
    "until": "until", "on": "on", "date": "on",
}  # fmt: skip
FIELD = lazy_regex(rf'(?<!\S)({"|".join(NAMES)}):(?:"([^"]*)"|(\S+))', re.IGNORECASE)
QUOTED = lazy_regex(r'("[^"]*")')
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
          "november", "december")  # fmt: skip
NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
WORDS = lazy_regex(
    r"(?<![\w/.-])(?:(today|(?:the day before )?yesterday|(?:this|last)[ -](?:week|month|year|night|morning)"
    r"|this (?:afternoon|evening))"
    rf"|(?:on|last)[ -]({'|'.join(DAYS)})"
    rf"|(?:in|last|during) ({'|'.join(MONTHS)})(?: (?:of )?(\d{{4}}))?"
    rf"|(\d{{1,3}}|{'|'.join(NUMBERS)}) (day|week|month)s? ago"
    rf"|(?:in )?the (?:last|past) (\d{{1,3}}|{'|'.join(NUMBERS)}) (day|week|month)s?"
    r"|on (\d{4}-\d\d-\d\d))(?![\w/-]|\.\w)",
    re.IGNORECASE,
)
UNIT = lazy_regex(r"\s*(days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\b\s*")
ON_DAY = lazy_regex(r"(?:(.+?)[ ,]+(?:at )?)?(\d{1,2}):(\d\d)", re.IGNORECASE)
LENGTH = {"day": 1, "week": 7, "month": 30}

TimeSpan = tuple[date, date]  # half-open, in days of the user's calendar


@dataclass(frozen=True)
class SearchQuery:
    """The words to look for and the filters. Times are half-open."""

    text: str
    agent: str | None = None
    tool: str | None = None
    kind: str | None = None
    folder: str | None = None
    session: str | None = None
    since: int | None = None
    until: int | None = None
    day_words: str | None = None  # the words that were read as a day
    quarantined: bool = False  # include quarantined events
    notes: tuple[str, ...] = ()  # filters that were searched as words, and why

    @property
    def filtered(self) -> bool:
        return any((self.agent, self.folder, self.session, self.since is not None, self.until is not None))


def parse_query(text: str, *, now: int, home: str = "") -> SearchQuery:
    """The query in a text. What looks like a filter and is none stays a word."""
    query = SearchQuery("")
    text = text.replace("\0", " ")

    def take(found: re.Match[str]) -> str:
        nonlocal query
        name, value = NAMES[found[1].lower()], found[2] if found[2] is not None else found[3]
        filtered = _with(query, name, value, now, home) if value else None
        if filtered is None:
            if value:
                query = replace(query, notes=(*query.notes, _filter_note(found[0], name)))
            return found[0]
        query = filtered
        return " "

    text = FIELD.sub(take, text)
    parts = []
    for part in QUOTED.split(text):
        if not part.startswith('"') and query.day_words is None:
            found = WORDS.search(part)
            if found is not None and (span := _plain(found, to_datetime(now).date())) is not None:
                query = _between(replace(query, day_words=found[0]), span)
                part = part[: found.start()] + " " + part[found.end() :]
        parts.append(part)
    return replace(query, text=" ".join("".join(parts).split()))


def _filter_note(typed: str, name: str) -> str:
    if name == "kind":
        return f"{typed} is not a kind and was searched as words; kinds are {', '.join(sorted(FINDABLE))}"
    return f"{typed} is not a date and was searched as words; use e.g. 2026-11-01, yesterday or last-week"


def _with(query: SearchQuery, name: str, value: str, now: int, home: str) -> SearchQuery | None:
    if name == "folder":
        path = home + value[1:] if home and (value == "~" or value.startswith("~/")) else value
        return replace(query, folder=normpath(path))
    if name == "kind" and value.lower() not in FINDABLE:
        return None
    if name in ("agent", "tool", "kind", "session"):
        value = value.lower() if name == "kind" else value
        change: dict[str, Any] = {name: value}
        return replace(query, **change)
    if name == "on":
        span = _day(value, to_datetime(now).date())
        return None if span is None else _between(query, span)
    try:
        at = parse_start(value, now=now)
    except TimeError:
        return None
    return replace(query, since=at) if name == "since" else replace(query, until=at)


def parse_start(value: str, *, now: int) -> int:
    """Parse the beginning of a range of time.

    A time, a duration ago such as 2h, a day such as yesterday, or a time on that day.
    """
    today = to_datetime(now).date()
    days = _day(value, today)
    if days is not None:
        return _begin(days[0])
    if (clock := ON_DAY.fullmatch(value.strip())) is not None:
        days = _day(clock[1], today) if clock[1] else (today, today)
        if days is not None:
            return parse_time(f"{days[0].isoformat()}T{int(clock[2]):02}:{clock[3]}")
    try:
        return parse_time(value)
    except TimeError:
        ago = UNIT.sub(lambda found: found[1][0], value.strip().lower().removesuffix("ago").rstrip())
        if ago == "now" or DURATION.fullmatch(ago):
            return now - (0 if ago == "now" else parse_duration(ago))
        raise


def _day(value: str, today: date) -> TimeSpan | None:
    """The days that a word names."""
    word = value.lower().replace("_", " ").replace("-", " ") if not value[:1].isdigit() else value
    for spelling in (word, f"on {word}", f"in {word}"):
        found = WORDS.fullmatch(spelling)
        if found is not None:
            return _plain(found, today)
    return None


def _plain(found: re.Match[str], today: date) -> TimeSpan | None:
    word, weekday, month, year, count, unit, past, past_unit, iso = (
        group.lower() if group else group for group in found.groups()
    )
    if word:
        return RELATIVE[word.replace("-", " ")](today)
    if weekday:
        back = (today.weekday() - DAYS.index(weekday)) % 7 or 7
        return _days(today - timedelta(back))
    if month:
        number = MONTHS.index(month) + 1
        return _month(date(int(year) if year else today.year - (number > today.month), number, 1))
    if count:
        back = _number(count) * LENGTH[unit]
        if unit == "day":
            return _days(today - timedelta(back))
        return (today - timedelta(back + LENGTH[unit] // 2), today - timedelta(back - LENGTH[unit] // 2))
    if past:
        return (today - timedelta(_number(past) * LENGTH[past_unit]), today + timedelta(1))
    try:
        return _days(date.fromisoformat(iso))
    except (ValueError, OverflowError):  # the last possible day has no next
        return None


def _number(text: str) -> int:
    return NUMBERS.get(text) or int(text)


def _days(first: date, count: int = 1) -> TimeSpan:
    return (first, first + timedelta(count))


def _month(first: date) -> TimeSpan:
    return (first, (first + timedelta(32)).replace(day=1))


def _monday(today: date) -> date:
    return today - timedelta(today.weekday())


RELATIVE: dict[str, Callable[[date], TimeSpan]] = {
    "today": _days,
    "this morning": _days,
    "this afternoon": _days,
    "this evening": _days,
    "yesterday": lambda today: _days(today - timedelta(1)),
    "the day before yesterday": lambda today: _days(today - timedelta(2)),
    "last night": lambda today: _days(today - timedelta(1), 2),
    "last morning": lambda today: _days(today - timedelta(1)),
    "this night": _days,
    "this week": lambda today: _days(_monday(today), 7),
    "last week": lambda today: _days(_monday(today) - timedelta(7), 7),
    "this month": lambda today: _month(today.replace(day=1)),
    "last month": lambda today: _month((today.replace(day=1) - timedelta(1)).replace(day=1)),
    "this year": lambda today: (date(today.year, 1, 1), date(today.year + 1, 1, 1)),
    "last year": lambda today: (date(today.year - 1, 1, 1), date(today.year, 1, 1)),
}


def _between(query: SearchQuery, span: TimeSpan) -> SearchQuery:
    return replace(query, since=_begin(span[0]), until=_begin(span[1]))


def _begin(day: date) -> int:
    """The beginning of a day in local time."""
    return to_micros(datetime.combine(day, time()).astimezone())


MAX_SESSIONS = 4  # sessions whose items are searched
LEADS = 20  # hits that choose these sessions
MINUTE = 60_000_000
AT_THE_END = {"looked", "interrupted"}  # kinds that need the last events of a session
Keep = Callable[[int], bool]


def search_memory(
    store: Store, text: str, *, limit: int, now: int, home: str = "", quarantined: bool = False
) -> list[SearchHit]:
    """The best hits. Quarantined events only with `quarantined`."""
    query = replace(parse_query(text, now=now, home=home), quarantined=quarantined)
    scope = _scope(store, query)
    hits = _search(store, query, scope, limit, now)
    if query.day_words is None or _that_day(store, query, scope, hits):
        return hits
    plain = _without_the_day(query)
    return _best([*_search(store, plain, _scope(store, plain), limit, now), *hits], limit)


def changed_since(store: Store, hit: SearchHit, number: int) -> FileChangeSince | None:
    """The last recorded change of the file that a hit is about, after the hit."""
    if hit.file is None:
        return None
    return store.search.last_change(hit.file, hit.at, event_id(number, hit.seq), store.as_of)


def search_notes(store: Store, text: str, *, now: int, home: str = "") -> tuple[str, ...]:
    """Notes on a search: filters that are none, match nothing, or were dropped."""
    query = parse_query(text, now=now, home=home)
    notes = list(query.notes)
    about = store.db.execute("SELECT id, agent, agent_session_id FROM session").fetchall()
    if query.agent is not None and not any(_is_agent(query.agent, agent) for _, agent, _ in about):
        known = ", ".join(sorted({agent for _, agent, _ in about}))
        notes.append(f"no session of an agent {query.agent!r}; agents are {known or 'none yet'}")
    if query.session is not None and not any(_is_session(query.session, id_, own) for id_, _, own in about):
        notes.append(f"no session matches {query.session!r}")
    if query.day_words is None:
        return tuple(notes)
    scope = _scope(store, query)
    hits = _search(store, query, scope, 1, now)
    if not _that_day(store, query, scope, hits):
        plain = _without_the_day(query)
        if hits:
            notes.append(
                f"nothing {query.day_words} has all of these words; results of other days are included"
            )
        elif _search(store, plain, _scope(store, plain), 1, now):
            notes.append(f"nothing {query.day_words}; without the day:")
    return tuple(notes)


def _that_day(store: Store, query: SearchQuery, scope: SearchScope | None, hits: list[SearchHit]) -> bool:
    """Whether the named day has a result with all words."""
    return bool(hits) and (not query.text or store.search.has_all(query.text, scope))


def _without_the_day(query: SearchQuery) -> SearchQuery:
    """The query with the words for a day as search words."""
    return replace(
        query, text=f"{query.text} {query.day_words}".strip(), since=None, until=None, day_words=None
    )


def _is_agent(asked: str, agent: str) -> bool:
    return asked.lower() in agent.lower()


def _is_session(asked: str, id_: str, own: str | None) -> bool:
    return id_.startswith(asked) or own == asked


def _best(hits: Iterable[SearchHit], limit: int) -> list[SearchHit]:
    once = {(hit.session, hit.seq, hit.kind, hit.snippet): hit for hit in hits}
    return best_first(once.values())[:limit]


def _scope(store: Store, query: SearchQuery) -> SearchScope | None:
    """The events that a query may find. None is all."""
    spans = _spans(store, query)
    inside = None if spans is None else frozenset(spans)
    mention = ""
    if query.folder is not None:
        working, mention = _in_folder(store, query.folder)
        inside = working if inside is None else inside & working
    book = {} if query.quarantined else read_quarantine(store.db)
    tests: list[Keep] = []
    if spans is not None:
        tests.append(lambda event: _within(spans.get(event >> SEQ_BITS), event & SEQ_MASK))
    if book:
        tests.append(lambda event: not book.get(event >> SEQ_BITS, NOT_QUARANTINED).has(event & SEQ_MASK))
    asked = query.filtered or query.kind is not None or query.tool is not None or store.as_of is not None
    if not asked and not (book and query.text):
        return None
    return SearchScope(_all(tests), query.kind, query.tool, inside, mention, spans)


def _within(span: Span | None, seq: int) -> bool:
    return span is not None and span[0] <= seq <= span[1]


def _all(tests: list[Keep]) -> Keep | None:
    if len(tests) < 2:
        return tests[0] if tests else None
    return lambda event: all(test(event) for test in tests)


def _search(
    store: Store, query: SearchQuery, scope: SearchScope | None, limit: int, now: int
) -> list[SearchHit]:
    if query.kind in LEARNED and scope is not None:
        scope = replace(scope, kind=None)
    terms = terms_of(query.text)
    wanted = requested_kinds(query.text, [term.word for term in terms])
    if query.kind in LEARNED:
        wanted = {query.kind or ""}
    if not wanted or query.tool is not None or query.kind not in (None, *LEARNED):
        return store.search.find(query.text, limit=limit, now=now, scope=scope)
    found = store.search.find(query.text, limit=max(limit, LEADS), now=now, scope=scope)
    hits = [] if query.kind in LEARNED else found[:limit]
    # Words such as "naming convention" say what to return, not what it is about.
    subject = " ".join(fts_quote(term.word) for term in terms if term.word.lower() not in KINDS_OF)
    about = store.search.find(subject, limit=LEADS, now=now, scope=scope) if subject else []
    rows = _leads(store, [*about, *found], scope)
    return _best([*hits, *_item_hits(store, rows, terms, wanted, hits)], limit)


def _leads(store: Store, hits: Iterable[SearchHit], scope: SearchScope | None) -> list[SessionRow]:
    """The sessions of the hits, best first, then the latest in scope."""
    named = [
        store.sessions.resolve(id_) for id_ in list(dict.fromkeys(hit.session for hit in hits))[:MAX_SESSIONS]
    ]
    latest = [
        row
        for row in store.quarantine_view.rows(store.sessions.listing(limit=5 * MAX_SESSIONS))
        if row not in named and (scope is None or scope.has(row.n << SEQ_BITS | max(0, row.head - 1)))
    ]
    return [*named, *latest][:MAX_SESSIONS]


def _item_hits(
    store: Store, rows: list[SessionRow], terms: list[SearchTerm], wanted: set[str], hits: list[SearchHit]
) -> list[SearchHit]:
    """Items of the wanted kinds, ranked among the hits by common words."""
    # Few searches ask for items, and what makes them is slow to load.
    from fazm_memory.recall.items import UNKNOWN_END, read_session_end, session_items

    best = hits[0].score if hits else 1.0
    known = {(hit.session, hit.seq) for hit in hits if hit.kind == "action"}
    found: list[SearchHit] = []
    for place, row in enumerate(rows):
        state = store.quarantine_view.state_at(row.n, row.id, row.head)
        end = read_session_end(store, row, state) if wanted & AT_THE_END else UNKNOWN_END
        for item in session_items(state, sessions.learn_from_session(state), since=0, worth=1.0, end=end):
            if item.kind in wanted and not (item.kind in FAILURES and (row.id, item.seq) in known):
                asked = " ".join([item.text, row.title or "", *_asked(state.requests.values())]).lower()
                share = _share(asked, item, terms)
                score = best * (0.85 + 0.5 * share - 0.05 * place)
                found.append(SearchHit(row.id, item.seq, row.last_at, item.kind, item.text, round(score, 6)))
    return found


def _asked(requests: Iterable[dict[str, object]]) -> list[str]:
    return [str(request["text"] or "") for request in requests]


def _share(text: str, item: Item, terms: list[SearchTerm]) -> float:
    """The share of the terms that a text has.

    Words are compared by their first five letters.
    """
    hit = sum(
        item.kind in KINDS_OF.get(term.word.lower(), ())
        or re.search(rf"(?<!\w){re.escape(term.word.lower()[:5])}", text) is not None
        for term in terms
    )
    return hit / max(1, len(terms))


def _spans(store: Store, query: SearchQuery) -> dict[int, Span] | None:
    """Positions by session that pass the filters on session and time.

    None without such filters.
    """
    if store.as_of is not None:
        query = replace(query, until=min(store.as_of + MINUTE, query.until or 1 << 60))
    timed = query.since is not None or query.until is not None
    if not timed and query.agent is None and query.session is None:
        return None
    if not timed:
        rows = store.db.execute("SELECT n, 0, head FROM standing")
    else:
        rows = store.db.execute(
            "SELECT session, min(first), max(last) FROM minute WHERE minute >= ? AND minute < ?"
            " GROUP BY session",
            (
                -(1 << 60) if query.since is None else query.since // MINUTE,
                1 << 60 if query.until is None else -(-query.until // MINUTE),
            ),
        )
    spans = {number: (first, last) for number, first, last in rows.fetchall()}
    if query.agent is None and query.session is None:
        return spans
    about = store.db.execute("SELECT n, id, agent, agent_session_id FROM session").fetchall()
    return {
        n: spans[n]
        for n, id_, agent, own in about
        if n in spans
        and (query.agent is None or _is_agent(query.agent, agent))
        and (query.session is None or _is_session(query.session, id_, own))
    }


def _in_folder(store: Store, folder: str) -> tuple[frozenset[int], str]:
    """The sessions that work in a folder, and a search text for events that name it.

    The search text may be empty.

    A name that is not a path may be misspelled.
    """
    rows = store.db.execute("SELECT DISTINCT workspace FROM session WHERE workspace IS NOT NULL").fetchall()
    paths = [path for (path,) in rows]
    if folder.startswith("/"):
        inside = [path for path in paths if path == folder or path.startswith(f"{folder}/")]
    else:
        parts = {part.lower() for path in paths for part in path.split("/") if part}
        near = {part for part in parts if folder.lower() in part} or set(
            get_close_matches(folder.lower(), parts, n=2, cutoff=0.75)
        )
        inside = [path for path in paths if near & set(path.lower().split("/"))]
    found = frozenset(
        n
        for path in inside
        for (n,) in store.db.execute("SELECT n FROM session WHERE workspace=?", (path,)).fetchall()
    )
    words = " ".join(re.findall(r"\w+", folder))
    return found, fts_quote(words) if words and (folder.startswith("/") or not found) else ""
