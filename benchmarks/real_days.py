"""Real days: how much of a handover note is in the next morning's context.

Input is a folder of Claude Code transcripts, laid out as in `~/.claude/projects`, and a file of notes:

    {"cases": [{"id": "mon", "workspace": "/Users/mia/shop", "day": "2026-01-12",
                "now": "2026-01-13T08:00:00Z",
                "facts": [{"q": "Which test was flaky?", "weight": 3, "all": [["test_login", "login test"]]}],
                "noise": [{"all": [["file has not been read yet"]]}]}]}

`q` is what a successor would ask. A fact is present if each group of `all` has one of its spellings in the
text. Weight 3 marks a must-fact. Noise is what a good note leaves out. Each case gets its own store with what
existed at `now`. Beside our context stand two simple ones of the same size, the whole log as the upper bound,
and the five best search hits for each question.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.figures import Options, Report
from fazm_memory.app import Memory, import_agents
from fazm_memory.clock import parse_time, to_datetime
from fazm_memory.config import Config
from fazm_memory.errors import InvalidRequest
from fazm_memory.recall import CHARACTERS_PER_TOKEN, quoted_strings
from fazm_memory.store import event_text

BUDGETS = (1000, 2000, 4000)
DAYS_BEFORE = 21  # sessions that ended earlier are left out
HITS = 5
MUST = 3  # weight of a must-fact
CUT = 1000  # characters of a message in the last messages
RESAMPLES = 2000
CONTEXT, LAST, ENDS = "context", "last messages", "first and last messages"
LOG, HITS_TEXT, HITS_SHOWN = "whole log", "search, first 5 events", "search, first 5 as shown"
NOT_TYPED = ("<command-", "<local-command", "<system-reminder")

Interval = tuple[float, float]


@dataclass(frozen=True)
class DayScore:
    """Shares of one day's note that a text has: weighted facts, must-facts, noise."""

    case: str
    source: str
    budget: int | None
    facts: float
    must: float | None
    noise: float
    tokens: int
    missed: tuple[str, ...]


def score_days(options: Options, report: Report) -> Iterator[DayScore]:
    """Score every case of the notes."""
    cases = [case for case in _cases(options.notes) if options.only is None or options.only in case["id"]]
    for nth, case in enumerate(cases):
        report("scoring real days", nth, len(cases))
        yield from _score_day(case, options)


def _cases(notes: Path | None) -> list[dict[str, Any]]:
    try:
        cases: list[dict[str, Any]] = json.loads(Path(notes or "").read_bytes())["cases"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidRequest(f"{notes} is not a file of notes: {error}") from error
    return cases


def _score_day(case: dict[str, Any], options: Options) -> Iterator[DayScore]:
    with _morning(case, options) as (memory, sessions):
        for budget in BUDGETS:
            context = memory.recall.context(case["workspace"], budget=budget).text
            texts = {
                CONTEXT: context,
                LAST: last_messages(sessions, budget * CHARACTERS_PER_TOKEN),
                ENDS: first_and_last(sessions, budget * CHARACTERS_PER_TOKEN),
            }
            scores = [score(case, source, budget, text) for source, text in texts.items()]
            yield from scores
            if options.show:
                _show(context, scores[0])
        yield score(case, LOG, None, _whole_log(memory))
        yield from _score_search(case, memory)


def _show(context: str, scored: DayScore) -> None:
    figures = f"facts {scored.facts:.2f}, must {scored.must or 0:.2f}, noise {scored.noise:.2f}"
    missed = "\n".join(f"  missed: {question}" for question in scored.missed)
    print(f"== {scored.case}, {scored.budget} tokens: {figures}\n{context}\n{missed}\n")


@contextmanager
def _morning(case: dict[str, Any], options: Options) -> Iterator[tuple[Memory, list[list[Row]]]]:
    """A memory with everything before `now`, and the day's records of each session."""
    kept = options.keep is not None
    folder = (options.keep or Path(tempfile.mkdtemp(prefix="fazm-memory-day-", dir=options.folder))) / (
        re.sub(r"[^\w-]", "-", case["id"]) if kept else "home"
    )
    memory = Memory(
        Config(home=folder / "data", user_home=folder, key="file"), lambda: parse_time(case["now"])
    )
    try:
        new = not (folder / "data").exists()
        sessions = _copy_transcripts(case, options, folder)
        if new:
            for _ in import_agents(memory, agent="claude-code").waves:
                pass
            memory.store.index_all()
        yield memory, sessions
    finally:
        memory.close()
        if not kept:
            shutil.rmtree(folder.parent)


Row = dict[str, Any]


def _copy_transcripts(case: dict[str, Any], options: Options, home: Path) -> list[list[Row]]:
    """Copy what existed at `now` into an agent's home.

    Returns the records of the day by session.
    """
    slug = re.sub(r"[^A-Za-z0-9]", "-", case["workspace"])
    target = home / ".claude" / "projects" / slug
    target.mkdir(parents=True, exist_ok=True)
    now = case["now"][:19]
    oldest = (to_datetime(parse_time(case["now"])) - timedelta(DAYS_BEFORE)).isoformat()[:19]
    sessions = []
    for path in sorted((Path(options.transcripts or "") / slug).glob("*.jsonl")):
        rows, lines = [], []
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            row = _parsed(line)
            if row is not None and str(row.get("timestamp") or "") < now:
                rows.append(row)
                lines.append(line)
        stamps = [row["timestamp"] for row in rows if row.get("timestamp")]
        if not stamps or max(stamps) < oldest:
            continue
        (target / path.name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        day = [row for row in rows if str(row.get("timestamp") or "").startswith(case["day"])]
        if day:
            sessions.append(day)
    if not sessions:
        raise InvalidRequest(f"{options.transcripts} has no transcript of the day of {case['id']!r}.")
    return sessions


def _parsed(line: str) -> Row | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def _messages(rows: Iterable[Row]) -> Iterator[tuple[str, str, str]]:
    """Time, speaker and text of the messages of a session."""
    for row in rows:
        if row.get("type") not in ("user", "assistant") or row.get("isMeta"):
            continue
        content = (row.get("message") or {}).get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        texts = [block.get("text") for block in blocks if isinstance(block, dict) and block["type"] == "text"]
        text = "\n".join(part for part in texts if part).strip()
        if text and not text.startswith(NOT_TYPED):
            yield row.get("timestamp", ""), row["type"], text


def last_messages(sessions: Sequence[Sequence[Row]], room: int) -> str:
    """The newest messages of the day, each cut."""
    chosen: list[str] = []
    for _, speaker, text in sorted((each for rows in sessions for each in _messages(rows)), reverse=True):
        room -= min(len(text), CUT) + 20
        if room < 0:
            break
        chosen.append(f"{speaker}: {text[:CUT]}")
    return "\n".join(reversed(chosen))


def first_and_last(sessions: Sequence[Sequence[Row]], room: int) -> str:
    """The first and last request and the end of the last answer, per session."""
    share = room // max(1, len(sessions))
    parts = []
    for rows in sessions:
        messages = list(_messages(rows))
        asked = [text for _, speaker, text in messages if speaker == "user"]
        answers = [text for _, speaker, text in messages if speaker == "assistant"]
        parts += [asked[0][: share // 3] if asked else "", asked[-1][: share // 6] if len(asked) > 1 else ""]
        parts.append(answers[-1][-(share // 2) :] if answers else "")
    return "\n".join(parts)


def _whole_log(memory: Memory) -> str:
    rows = memory.store.sessions.listing(limit=10_000)
    events = (event for row in rows for event in memory.history.events(row.id))
    return "\n".join(json.dumps(event["payload"], ensure_ascii=False) for event in events)


def _score_search(case: dict[str, Any], memory: Memory) -> Iterator[DayScore]:
    """Each question as a query: is its fact in the first hits?"""
    found: dict[str, list[bool]] = {HITS_TEXT: [], HITS_SHOWN: []}
    for fact in case["facts"]:
        hits = memory.recall.search(fact["q"], limit=HITS)
        found[HITS_SHOWN].append(present(fact, normal("\n".join(hit["snippet"] for hit in hits))))
        found[HITS_TEXT].append(present(fact, normal("\n".join(whole_hit(memory, hit) for hit in hits))))
    for source, has in found.items():
        yield _shares(case, source, None, has, 0.0, 0)


def whole_hit(memory: Memory, hit: dict[str, Any]) -> str:
    """The text of the event behind a hit.

    For an item of a session, its snippet.
    """
    row = memory.store.sessions.resolve(hit["session"])
    event = next(memory.store.log.slice(row.n, row.id, hit["seq"], hit["seq"] + 1), None)
    text = event_text(event) if event is not None and event.kind == hit["kind"] else ""
    return text or "\n".join([hit["snippet"], *quoted_strings(hit["snippet"])])


def normal(text: str) -> str:
    """Lower case, without quotation marks, escapes and runs of white space."""
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    text = unicodedata.normalize("NFKC", text.replace("\\n", " ").replace("\\t", " ")).lower()
    return re.sub(r"\s+", " ", re.sub(r"[`\"'“”‘’*\\]", "", text))


def present(item: dict[str, Any], text: str) -> bool:
    """Whether a normal text has a fact."""
    return all(any(normal(spelling) in text for spelling in group) for group in item["all"])


def score(case: dict[str, Any], source: str, budget: int | None, text: str) -> DayScore:
    plain = normal(text)
    noise = [present(item, plain) for item in case.get("noise", ())]
    has = [present(fact, plain) for fact in case["facts"]]
    tokens = -(-len(text) // CHARACTERS_PER_TOKEN)
    return _shares(case, source, budget, has, fmean(noise) if noise else 0.0, tokens)


def _shares(
    case: dict[str, Any], source: str, budget: int | None, has: list[bool], noise: float, tokens: int
) -> DayScore:
    facts = case["facts"]
    weights = [fact["weight"] for fact in facts]
    must = [is_in for is_in, weight in zip(has, weights, strict=True) if weight == MUST]
    return DayScore(
        case["id"],
        source,
        budget,
        sum(weight for is_in, weight in zip(has, weights, strict=True) if is_in) / sum(weights),
        fmean(must) if must else None,
        noise,
        tokens,
        tuple(fact["q"] for is_in, fact in zip(has, facts, strict=True) if not is_in),
    )


def interval(values: Sequence[float]) -> Interval:
    """The 95 % bootstrap confidence interval of a mean."""
    if not values:
        return (0.0, 0.0)
    chance = random.Random(0)
    means = sorted(fmean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[round(0.025 * RESAMPLES)], means[round(0.975 * RESAMPLES) - 1]
