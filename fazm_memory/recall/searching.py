"""Searching as people and agents do it: a typed query with filters, over events and over what they show.

A naming convention or a skipped file is nowhere said in the log: it is learned from what was done. So when a
query asks for such a thing, the sessions it leads to are asked too, and what they show stands beside events.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from difflib import get_close_matches

from fazm_memory.log.quarantine import NOTHING, read
from fazm_memory.log.search import Hit, Scope
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.store import Store
from fazm_memory.log.tables import SEQ_BITS, SEQ_MASK
from fazm_memory.log.terms import Term, quoted, terms_of
from fazm_memory.model.organized import organized
from fazm_memory.recall.items import Item, items_of
from fazm_memory.recall.query import Query, parse_query
from fazm_memory.recall.recent import recent

ASKED = 4  # sessions that are asked what they show
LEADS = 20  # hits that lead to them
MENTIONS = 20_000
MINUTE = 60_000_000
# Kinds of items by the words that ask for them.
SHOWN: dict[tuple[str, ...], str] = {
    ("convention",): "naming name named names convention conventions pattern patterns rename renamed scheme"
    " format called style",
    ("skipped",): "skip skipped skipping ignored ignore alone untouched excluded",
    ("folder", "place"): "folder folders directory directories processed progress",
    ("looked",): "source sources page pages site sites website url link links",
    ("interrupted",): "interrupted unfinished finished running killed hung never stopped",
}
KINDS_OF = {word: kinds for kinds, words in SHOWN.items() for word in words.split()}
LEARNED = frozenset(kind for kinds in SHOWN for kind in kinds)
Keep = Callable[[int], bool]


def search(
    store: Store, text: str, *, limit: int, now: int, home: str = "", quarantined: bool = False
) -> list[Hit]:
    """The best hits for any text; what is quarantined is found only by who asks for it."""
    query = replace(parse_query(text, now=now, home=home), quarantined=quarantined)
    hits = _search(store, query, limit, now)
    if query.said is None or (query.text and hits and store.search.has_all(query.text, _scope(store, query))):
        return hits
    if not query.text and hits:
        return hits
    # "on friday" may have been meant as words after all, and nothing of that day says otherwise.
    plain = replace(query, text=f"{query.text} {query.said}".strip(), since=None, until=None, said=None)
    return _best([*_search(store, plain, limit, now), *hits], limit)


def _best(hits: Iterable[Hit], limit: int) -> list[Hit]:
    once = {(hit.session, hit.seq, hit.kind, hit.snippet): hit for hit in hits}
    return sorted(once.values(), key=lambda hit: (-hit.score, -hit.at))[:limit]


def _scope(store: Store, query: Query) -> Scope | None:
    keep = _kept(store, query)
    asked = keep is not None or query.kind is not None or query.tool is not None
    book = {} if query.quarantined else read(store.db)
    if book and (asked or query.text):
        wanted = keep
        return Scope(
            lambda event: (
                not book.get(event >> SEQ_BITS, NOTHING).has(event & SEQ_MASK)
                and (wanted is None or wanted(event))
            ),
            query.kind,
            query.tool,
        )
    return Scope(keep, query.kind, query.tool) if asked else None


def _search(store: Store, query: Query, limit: int, now: int) -> list[Hit]:
    scope = _scope(store, query)
    if query.kind in LEARNED:
        scope = Scope(scope.keep) if scope is not None and scope.keep else None
    hits = store.search.find(query.text, limit=limit, now=now, scope=scope)
    terms = terms_of(query.text)
    wanted = {kind for term in terms for kind in KINDS_OF.get(term.word.lower(), ())}
    if query.kind in LEARNED:
        wanted, hits = {query.kind or ""}, []
    if not wanted or query.tool is not None or query.kind not in (None, *LEARNED):
        return hits
    wider = store.search.find(query.text, limit=max(limit, LEADS), now=now, scope=scope)
    rows = _leads(store, wider, None if scope is None else scope.keep)
    return _best([*hits, *_shown(store, rows, terms, wanted, hits)], limit)


def _leads(store: Store, hits: Iterable[Hit], keep: Keep | None) -> list[SessionRow]:
    """The sessions that the hits are in, best first; then the latest that may be looked at."""
    named = [store.sessions.resolve(one) for one in list(dict.fromkeys(hit.session for hit in hits))[:ASKED]]
    latest = [
        row
        for row in store.ward.rows(store.sessions.listing(limit=5 * ASKED))
        if row not in named and (keep is None or keep(row.n << SEQ_BITS | max(0, row.head - 1)))
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
        end = recent(store, row, state)
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


def _kept(store: Store, query: Query) -> Keep | None:
    """Whether an event may be found, by the filters on its session, its place and its time."""
    if not query.filtered:
        return None
    rows = store.db.execute("SELECT n, id, agent, agent_session_id, workspace FROM session").fetchall()
    sessions = {
        n
        for n, id_, agent, own, _ in rows
        if (query.agent is None or query.agent.lower() in agent.lower())
        and (query.session is None or id_.startswith(query.session) or own == query.session)
    }
    tests: list[Keep] = [lambda event: event >> SEQ_BITS in sessions]
    if query.folder is not None:
        tests.append(_in_folder(store, query.folder, {n: workspace or "" for n, *_, workspace in rows}))
    if query.since is not None or query.until is not None:
        tests.append(_in_time(store, query.since, query.until))
    return lambda event: all(test(event) for test in tests)


def _in_folder(store: Store, folder: str, workspaces: dict[int, str]) -> Keep:
    """In a session that works there, or mentioning it. A name that is no path may be misspelled."""
    if folder.startswith("/"):
        inside = {n for n, path in workspaces.items() if path == folder or path.startswith(f"{folder}/")}
    else:
        parts = {part.lower() for path in workspaces.values() for part in path.split("/") if part}
        near = {part for part in parts if folder.lower() in part} or set(
            get_close_matches(folder.lower(), parts, n=2, cutoff=0.75)
        )
        inside = {n for n, path in workspaces.items() if near & set(path.lower().split("/"))}
    words = re.findall(r"\w+", folder)
    mentions: set[int] = set()
    if words and (folder.startswith("/") or not inside):
        rows = store.db.execute(
            "SELECT event FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?",
            (quoted(" ".join(words)), MENTIONS),
        )
        mentions = {event for (event,) in rows.fetchall()}
    return lambda event: event >> SEQ_BITS in inside or event in mentions


def _in_time(store: Store, since: int | None, until: int | None) -> Keep:
    """Between two moments, to the minute: the positions of each session then."""
    rows = store.db.execute(
        "SELECT session, min(first), max(last) FROM minute WHERE minute >= ? AND minute < ? GROUP BY session",
        (-(1 << 60) if since is None else since // MINUTE, 1 << 60 if until is None else -(-until // MINUTE)),
    ).fetchall()
    spans = {number: (first, last) for number, first, last in rows}

    def keep(event: int) -> bool:
        span = spans.get(event >> SEQ_BITS)
        return span is not None and span[0] <= event & SEQ_MASK <= span[1]

    return keep
