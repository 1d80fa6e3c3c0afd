"""Searching as people and agents do it: a typed query with filters, over events and over what they show.

A naming convention or a skipped file is nowhere said in the log: it is learned from what was done. So when a
query asks for such a thing, the sessions it leads to are asked too, and what they show stands beside events.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from difflib import get_close_matches

from fazm_memory.log.documents import Span
from fazm_memory.log.quarantine import NOTHING, read
from fazm_memory.log.scope import Scope
from fazm_memory.log.search import Hit
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.store import Store
from fazm_memory.log.tables import SEQ_BITS, SEQ_MASK
from fazm_memory.log.terms import Term, quoted, terms_of
from fazm_memory.model.organized import organized
from fazm_memory.recall.items import NOTHING as NO_END
from fazm_memory.recall.items import Item, items_of
from fazm_memory.recall.query import Query, parse_query
from fazm_memory.recall.recent import recent
from fazm_memory.recall.shown import KINDS_OF, LEARNED, kinds_asked_for

ASKED = 4  # sessions that are asked what they show
LEADS = 20  # hits that lead to them
MINUTE = 60_000_000
AT_THE_END = {"looked", "interrupted"}  # told by a session's last events, not by its state
Keep = Callable[[int], bool]


def search(
    store: Store, text: str, *, limit: int, now: int, home: str = "", quarantined: bool = False
) -> list[Hit]:
    """The best hits for any text; what is quarantined is found only by who asks for it."""
    query = replace(parse_query(text, now=now, home=home), quarantined=quarantined)
    scope = _scope(store, query)
    hits = _search(store, query, scope, limit, now)
    if query.said is None or _that_day(store, query, scope, hits):
        return hits
    plain = _without_the_day(query)
    return _best([*_search(store, plain, _scope(store, plain), limit, now), *hits], limit)


def notes(store: Store, text: str, *, now: int, home: str = "") -> tuple[str, ...]:
    """What whoever asked should know of the answer: filters that are none, that match nothing, or that
    `search` let go of."""
    query = parse_query(text, now=now, home=home)
    told = list(query.doubts)
    about = store.db.execute("SELECT id, agent, agent_session_id FROM session").fetchall()
    if query.agent is not None and not any(_is_agent(query.agent, agent) for _, agent, _ in about):
        known = ", ".join(sorted({agent for _, agent, _ in about}))
        told.append(f"no session is of an agent {query.agent!r}; there are {known or 'none yet'}")
    if query.session is not None and not any(_is_session(query.session, one, own) for one, _, own in about):
        told.append(f"there is no session {query.session!r}")
    if query.said is None:
        return tuple(told)
    scope = _scope(store, query)
    hits = _search(store, query, scope, 1, now)
    if not _that_day(store, query, scope, hits):
        plain = _without_the_day(query)
        if hits:
            told.append(f"nothing {query.said} has all of these words; other days are among it")
        elif _search(store, plain, _scope(store, plain), 1, now):
            told.append(f"nothing {query.said}; without the day:")
    return tuple(told)


def _that_day(store: Store, query: Query, scope: Scope | None, hits: list[Hit]) -> bool:
    """Whether the day that was named has what was asked for."""
    return bool(hits) and (not query.text or store.search.has_all(query.text, scope))


def _without_the_day(query: Query) -> Query:
    """A day may have been meant as words after all: nothing of that day says otherwise."""
    return replace(query, text=f"{query.text} {query.said}".strip(), since=None, until=None, said=None)


def _is_agent(asked: str, agent: str) -> bool:
    return asked.lower() in agent.lower()


def _is_session(asked: str, id_: str, own: str | None) -> bool:
    return id_.startswith(asked) or own == asked


def _best(hits: Iterable[Hit], limit: int) -> list[Hit]:
    once = {(hit.session, hit.seq, hit.kind, hit.snippet): hit for hit in hits}
    return sorted(once.values(), key=lambda hit: (-hit.score, -hit.at))[:limit]


def _scope(store: Store, query: Query) -> Scope | None:
    """Where a query looks; None for everywhere."""
    spans = _spans(store, query)
    inside = None if spans is None else frozenset(spans)
    mention = ""
    if query.folder is not None:
        working, mention = _in_folder(store, query.folder)
        inside = working if inside is None else inside & working
    book = {} if query.quarantined else read(store.db)
    tests: list[Keep] = []
    if spans is not None:
        tests.append(lambda event: _within(spans.get(event >> SEQ_BITS), event & SEQ_MASK))
    if book:
        tests.append(lambda event: not book.get(event >> SEQ_BITS, NOTHING).has(event & SEQ_MASK))
    asked = query.filtered or query.kind is not None or query.tool is not None
    if not asked and not (book and query.text):
        return None
    return Scope(_all(tests), query.kind, query.tool, inside, mention, spans)


def _within(span: Span | None, seq: int) -> bool:
    return span is not None and span[0] <= seq <= span[1]


def _all(tests: list[Keep]) -> Keep | None:
    if len(tests) < 2:
        return tests[0] if tests else None
    return lambda event: all(test(event) for test in tests)


def _search(store: Store, query: Query, scope: Scope | None, limit: int, now: int) -> list[Hit]:
    if query.kind in LEARNED and scope is not None:
        scope = replace(scope, kind=None)
    terms = terms_of(query.text)
    wanted = kinds_asked_for(query.text, [term.word for term in terms])
    if query.kind in LEARNED:
        wanted = {query.kind or ""}
    if not wanted or query.tool is not None or query.kind not in (None, *LEARNED):
        return store.search.find(query.text, limit=limit, now=now, scope=scope)
    found = store.search.find(query.text, limit=max(limit, LEADS), now=now, scope=scope)
    hits = [] if query.kind in LEARNED else found[:limit]
    # What is asked for is not what it is about: "naming convention" leads to whoever says so.
    subject = " ".join(quoted(term.word) for term in terms if term.word.lower() not in KINDS_OF)
    about = store.search.find(subject, limit=LEADS, now=now, scope=scope) if subject else []
    rows = _leads(store, [*about, *found], scope)
    return _best([*hits, *_shown(store, rows, terms, wanted, hits)], limit)


def _leads(store: Store, hits: Iterable[Hit], scope: Scope | None) -> list[SessionRow]:
    """The sessions that the hits are in, best first; then the latest that may be looked at."""
    named = [store.sessions.resolve(one) for one in list(dict.fromkeys(hit.session for hit in hits))[:ASKED]]
    latest = [
        row
        for row in store.ward.rows(store.sessions.listing(limit=5 * ASKED))
        if row not in named and (scope is None or scope.has(row.n << SEQ_BITS | max(0, row.head - 1)))
    ]
    return [*named, *latest][:ASKED]


def _shown(
    store: Store, rows: list[SessionRow], terms: list[Term], wanted: set[str], hits: list[Hit]
) -> list[Hit]:
    """What these sessions show of the kinds asked for, ranked among the hits by how many words it shares."""
    best = hits[0].score if hits else 1.0
    made = []
    for place, row in enumerate(rows):
        state = store.ward.state_at(row.n, row.id, row.head)
        end = recent(store, row, state) if wanted & AT_THE_END else NO_END
        for item in items_of(state, organized(state), since=0, worth=1.0, end=end):
            if item.kind in wanted:
                asked = " ".join([item.text, row.title or "", *_asked(state.requests.values())]).lower()
                share = _share(asked, item, terms)
                score = best * (0.85 + 0.5 * share - 0.05 * place)
                made.append(Hit(row.id, item.seq, row.last_at, item.kind, item.text, round(score, 6)))
    return made


def _asked(requests: Iterable[dict[str, object]]) -> list[str]:
    return [str(one["text"] or "") for one in requests]


def _share(text: str, item: Item, terms: list[Term]) -> float:
    """How much of what was asked for a text has; words are compared by their beginnings."""
    hit = sum(
        item.kind in KINDS_OF.get(term.word.lower(), ())
        or re.search(rf"(?<!\w){re.escape(term.word.lower()[:5])}", text) is not None
        for term in terms
    )
    return hit / max(1, len(terms))


def _spans(store: Store, query: Query) -> dict[int, Span] | None:
    """Where events may be by the filters on their session and their time: positions by session."""
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
    """The sessions that work in a folder, and what an event says that mentions it (empty: that is not asked
    for). A name that is no path may be misspelled."""
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
    return found, quoted(words) if words and (folder.startswith("/") or not found) else ""
