"""Real suite: what a person waits for, on a folder of real transcripts.

The folder is an agent's projects folder (Claude Code). It is copied, imported by the real command, then used:
commands, MCP, search, hooks, the page, the companion. Every figure stands beside a floor that was taken in
turns with it. Times are medians. Processor time counts the processes that a command starts.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.figures import Figure, Goal, Options, Report, percentile_95, timed
from fazm_memory.errors import InvalidRequest, NotFound

MEGABYTE = 1_000_000
PROGRAM = (sys.executable, "-m", "fazm_memory.cli.main")
PASS = (sys.executable, "-c", "pass")
NOTHING = "true"
ROUNDS = (9, 3)  # usually and when quick
HOOKS = (80, 15)
QUERIES = (60, 12)
IDLE_SECONDS = (30.0, 4.0)
GROWTH_SECONDS = (40.0, 5.0)
LINES_A_SECOND = 2
TIMESTAMP = re.compile(rb'"timestamp": ?"(\d{4}-\d\d-\d\dT[\d:.]+Z)"')
LAST_RECORDS = 256 << 10  # bytes
WORD = re.compile(r"[A-Za-z][a-z]{4,14}")
PAGE_MISSING = "the page (Chromium is not installed)"


@dataclass
class Spent:
    """What a command took: seconds, processor seconds, and memory in MB.

    The memory is the most of all its processes.
    """

    wall: float = 0.0
    processor: float = 0.0
    memory: float = 0.0
    output: str = ""
    # Until something was seen.
    until: dict[str, float] = field(default_factory=dict)
    processor_until: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """A home folder with the transcripts, and our data folder."""

    user: Path
    home: Path

    @property
    def projects(self) -> Path:
        return self.user / ".claude" / "projects"

    @property
    def environment(self) -> dict[str, str]:
        settings = {
            "HOME": self.user, "FAZM_MEMORY_HOME": self.home, "FAZM_MEMORY_KEY": "file",
            "PYTHONPYCACHEPREFIX": self.user.parent / "compiled", "PYTHONDONTWRITEBYTECODE": "",
        }  # fmt: skip
        return {**os.environ, **{name: str(value) for name, value in settings.items()}}


def run(options: Options, report: Report) -> Iterator[Figure]:
    if options.real is None:
        raise NotFound(
            "The real suite needs a folder of transcripts.",
            hint='For example: make bench ARGS="real ~/.claude/projects"',
        )
    quick = options.quick
    with tempfile.TemporaryDirectory(prefix="fazm-memory-bench-", dir=options.folder) as name:
        place = Place(Path(name) / "user", Path(name) / "home")
        raw = _copy(options.real, place)
        report("importing", 0, 8)
        yield from _importing(place, raw, options)
        report("running commands", 1, 8)
        yield from _commands(place, ROUNDS[quick])
        report("calling MCP", 2, 8)
        yield _mcp(place, ROUNDS[quick])
        report("searching", 3, 8)
        yield from _searching(place, QUERIES[quick])
        report("running hooks", 4, 8)
        yield from _hooks(place, HOOKS[quick])
        report("opening the page", 5, 8)
        yield from _page(place, ROUNDS[quick])
        report("watching the companion", 6, 8)
        yield from _companion(place, IDLE_SECONDS[quick], GROWTH_SECONDS[quick])
        if options.peers:
            report("importing with others", 7, 8)
            yield from _peers(place, raw)


def _copy(folder: Path, place: Place) -> float:
    """Copy the transcripts into the home folder, and compile the program.

    Returns the megabytes.

    A copy gets the time of its last record: what is newest is imported first.
    """
    shutil.copytree(folder, place.projects)
    for path in place.projects.rglob("*.jsonl"):
        if found := TIMESTAMP.findall(path.read_bytes()[-LAST_RECORDS:]):
            os.utime(path, (datetime.fromisoformat(max(found).decode()).timestamp(),) * 2)
    package = str(Path(__file__).parents[1] / "fazm_memory")
    spend([sys.executable, "-m", "compileall", "-q", package], place.environment)
    size = sum(path.stat().st_size for path in place.projects.rglob("*.jsonl"))
    if not size:
        raise InvalidRequest(f"There are no transcripts (*.jsonl) in {folder}.")
    return size / MEGABYTE


# Importing.


def _importing(place: Place, raw: float, options: Options) -> Iterator[Figure]:
    parsing = _parsing(place.projects)
    context = place.home / "context" / "context.md"
    folders = len([path for path in place.projects.iterdir() if any(path.glob("*.jsonl"))])
    watch = {"context": context.exists, "every": lambda: _contexts(context.parent) > folders}
    first = spend([*PROGRAM, "import", "--json"], place.environment, watch=watch)
    events = int(json.loads(first.output)["events"])
    what = f"first import of {raw:,.0f} MB"
    yield Figure(what, "MB/s", raw / first.wall, events=events, goal=Goal(least=25))
    yield Figure(
        "the same, processor time", "s", first.processor, parsing, "parsing with orjson", events=events
    )
    yield Figure("the same, memory of all processes", "MB", first.memory, goal=Goal(limit=250))
    until = first.until.get("context", first.wall)
    yield Figure("the same, until a context is there", "s", until, goal=Goal(limit=2))
    every = first.until.get("every", first.wall)
    yield Figure("the same, until that of every folder is there", "s", every)
    processor = first.processor_until
    yield Figure("the same, processor time until a context is there", "s", processor.get("context", 0))
    yield Figure("the same, processor time until that of every folder", "s", processor.get("every", 0))
    size = _bytes_of(place.home / "store.noindex" / "memory.db") / 1000
    yield Figure("store without native copies", "KB per raw MB", size / raw, goal=Goal(limit=110))
    copies = _bytes_of(place.home / "store.noindex" / "transcripts.db") / 1000
    yield Figure("native copies", "KB per raw MB", copies / raw)
    yield from _beside_pass(place, "import, nothing new", ["import"], ROUNDS[options.quick])


def _contexts(folder: Path) -> int:
    """The number of contexts: that of the machine, and one for each folder."""
    return sum(not path.name.startswith(("resume-", "note-")) for path in folder.glob("*.md"))


def _parsing(folder: Path) -> float:
    """Processor seconds for reading the lines and parsing them, nothing else."""
    import orjson

    began = time.process_time()
    for path in folder.rglob("*.jsonl"):
        with path.open("rb") as file:
            for line in file:
                try:
                    orjson.loads(line)
                except orjson.JSONDecodeError:
                    continue  # a broken line is read once too
    return time.process_time() - began


def _bytes_of(path: Path) -> int:
    return sum(part.stat().st_size for part in path.parent.glob(f"{path.name}*"))


def spend(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    watch: Mapping[str, Callable[[], bool]] | None = None,
) -> Spent:
    """Run a command to its end and measure it.

    `watch` notes when something becomes true.
    """
    spent, began = Spent(), time.monotonic()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, env=dict(environment), stdout=output, stderr=subprocess.DEVNULL)
        while watch is not None and process.poll() is None:
            spent.memory = max(spent.memory, sum(memory_of(pid) for pid in family(process.pid)))
            for name, holds in watch.items():
                if name not in spent.until and holds():
                    spent.until[name] = time.monotonic() - began
                    spent.processor_until[name] = processor_of(process.pid)
            time.sleep(0.02)
        if process.wait() != 0:
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
        spent.wall = time.monotonic() - began
        output.seek(0)
        spent.output = output.read()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent.processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent


def family(pid: int) -> list[int]:
    """A process and its descendants. Only the process itself where there is no /proc."""
    found = [pid]
    for parent in found:  # grows
        try:
            children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        except OSError:
            continue
        found += map(int, children)
    return found


def memory_of(pid: int) -> float:
    """Megabytes that a process has for itself, with its share of what several have.

    0 if unknown.
    """
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return 0.0 if found is None else int(found[1]) * 1024 / MEGABYTE


def processor_of(pid: int) -> float:
    """Processor seconds of a process and its descendants so far."""
    total = 0.0
    for one in family(pid):
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


# Commands and MCP.


def _commands(place: Place, rounds: int) -> Iterator[Figure]:
    listed = spend([*PROGRAM, "sessions", "--json"], place.environment)
    session = json.loads(listed.output)[0]["id"]
    for name, arguments, most in (
        ("--version", ["--version"], None),
        ("status", ["status"], 4),
        ("sessions", ["sessions"], 4),
        ("show", ["show", session], 4),
        ("search", ["search", "tests"], 4),
        ("context", ["context"], None),
    ):
        goal = None if most is None else Goal(at_most=most)
        yield from _beside_pass(place, name, arguments, rounds, goal=goal)


def _beside_pass(
    place: Place, what: str, arguments: Sequence[str], rounds: int, *, goal: Goal | None = None
) -> Iterator[Figure]:
    """Wall time and processor time of a command, beside Python that does nothing."""
    pairs = [
        (spend([*PROGRAM, *arguments], place.environment), spend(PASS, place.environment))
        for _ in range(rounds)
    ]
    for unit, attribute, its_goal in (("ms", "wall", None), ("ms of processor", "processor", goal)):
        ours, bare = (
            median(getattr(one, attribute) for one in column) * 1e3 for column in zip(*pairs, strict=True)
        )
        yield Figure(what, unit, ours, bare, "python -c pass", goal=its_goal)


def _mcp(place: Place, rounds: int) -> Figure:
    """The first `memory_search`, from the start of the server to the answer."""
    pairs = [(timed(_first_call, place), timed(spend, PASS, place.environment)) for _ in range(rounds)]
    ours, bare = (median(column) * 1e3 for column in zip(*pairs, strict=True))
    return Figure("MCP, first search", "ms", ours, bare, "python -c pass", goal=Goal(limit=150))


def _first_call(place: Place) -> None:
    client = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    }
    requests = (
        {"method": "initialize", "params": client},
        {"method": "tools/call", "params": {"name": "memory_search", "arguments": {"query": "tests"}}},
    )
    with subprocess.Popen(
        [*PROGRAM, "mcp"],
        env=place.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for number, request in enumerate(requests):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, **request}).encode() + b"\n")
            server.stdin.flush()
            answer = json.loads(server.stdout.readline())
            if answer.get("id") != number or "error" in answer:
                raise RuntimeError(f"the MCP server did not answer {request['method']}: {answer}")
        server.kill()


# Searching.


def _searching(place: Place, count: int) -> Iterator[Figure]:
    from fazm_memory.app import Memory
    from fazm_memory.config import Config

    memory = Memory(Config(place.home, place.user, key="file"), lambda: time.time_ns() // 1000)
    try:
        texts = list(_texts(memory))
        queries = queries_from([text for _, kind, text in texts if kind == "prompt"], count)
        if not queries:
            raise InvalidRequest("No prompt of the transcripts has words to search for.")
        bare = bare_index(texts)
        ours_taken, bare_taken, fullest, doubles = [], [], [], []
        for query in queries:
            memory.recall.search(query, limit=10)  # both from a warm cache
            bare_search(bare, query)
            ours_taken.append(timed(memory.recall.search, query))
            bare_taken.append(timed(bare_search, bare, query))
            hits = memory.recall.search(query, limit=10)
            sessions = [hit["session"] for hit in hits]
            fullest.append(max(map(sessions.count, sessions), default=0))
            doubles.append(len(hits) - len({hit["snippet"] for hit in hits}))
        bare.close()
    finally:
        memory.close()
    events, against = len(texts), "bare FTS5, bm25 over all hits"
    yield Figure(
        "search in process, half within",
        "ms",
        median(ours_taken) * 1e3,
        median(bare_taken) * 1e3,
        against,
        events,
        goal=Goal(at_most=3),
    )
    yield Figure(
        "… 95 of 100 within",
        "ms",
        percentile_95(ours_taken) * 1e3,
        percentile_95(bare_taken) * 1e3,
        against,
        events,
    )
    yield Figure("… hits of one session among ten, at most", "", max(fullest), events=events)
    yield Figure("… the same, median", "", median(fullest), events=events, goal=Goal(limit=3))
    yield Figure("… hits with the text of another, of ten", "", sum(doubles) / len(doubles), events=events)


def _texts(memory: Any) -> Iterator[tuple[int, str, str]]:
    """Number, kind and text of every event that can be found."""
    from fazm_memory.store.search_text import plain_text

    store = memory.store
    for row in store.sessions.listing(limit=100_000):
        for event in store.log.slice(row.n, row.id):
            if text := plain_text(event):
                yield (row.n << 32 | event.seq), event.kind, text


def queries_from(prompts: Sequence[str], count: int) -> list[str]:
    """Queries of one to three words that stand together in prompts.

    The same for the same prompts.
    """
    chooser = random.Random(24)
    candidates = sorted({" ".join(words) for text in prompts if (words := WORD.findall(text[:2000]))})
    found: list[str] = []
    for text in chooser.choices(candidates, k=count) if candidates else ():
        words = text.split()
        length = chooser.choice((1, 2, 3))
        start = chooser.randrange(max(1, len(words) - length))
        found.append(" ".join(words[start : start + length]))
    return found


def bare_index(texts: Sequence[tuple[int, str, str]]) -> sqlite3.Connection:
    """The same texts in an FTS5 table in memory: no encryption, no ranking but bm25."""
    index = sqlite3.connect(":memory:")
    index.execute("CREATE VIRTUAL TABLE words USING fts5 (body, tokenize='porter unicode61')")
    index.executemany("INSERT INTO words (rowid, body) VALUES (?,?)", ((id_, text) for id_, _, text in texts))
    index.execute("INSERT INTO words (words) VALUES ('optimize')")
    return index


def bare_search(index: sqlite3.Connection, query: str) -> list[Any]:
    match = " OR ".join(f'"{word}"' for word in query.split())
    return index.execute(
        "SELECT rowid, snippet(words, 0, '', '', '…', 40) FROM words WHERE words MATCH ?"
        " ORDER BY rank LIMIT 10",
        (match,),
    ).fetchall()


# Hooks, as agents run them: through `sh -c`.


def _hooks(place: Place, rounds: int) -> Iterator[Figure]:
    from fazm_memory.agents import hook_script
    from fazm_memory.ingest import Spool

    hook_script.write(place.home)
    spool = Spool(place.home)
    for what, event, most in (
        ("tool hook, with the agent's shell", "PostToolUse", 4),
        ("tool hook that may remind", "PreToolUse", 4),
        ("SessionStart hook", "SessionStart", 15),
    ):
        words = hook_script.command(
            place.home, "claude-code", answer=event == "SessionStart", remind=event == "PreToolUse"
        )
        command = ["/bin/sh", "-c", words]
        payload = _hook_event(place, event)
        ours, bare = [], []
        for _ in range(rounds):
            ours.append(_hook(command, payload, place.environment))
            bare.append(_hook([NOTHING], b"", place.environment))
            spool.done(spool.take())
        for unit, attribute, goal in (
            ("ms", "wall", None),
            ("ms of processor", "processor", Goal(at_most=most)),
        ):
            its, floor = (median(getattr(one, attribute) for one in column) * 1e3 for column in (ours, bare))
            yield Figure(what, unit, its, floor, NOTHING, goal=goal)


def _hook_event(place: Place, name: str) -> bytes:
    """An event of Claude Code, with the fields that it has there."""
    folder = next((path for path in place.projects.iterdir() if path.is_dir()), place.projects)
    event: dict[str, Any] = {
        "session_id": "bench",
        "transcript_path": str(folder / "bench.jsonl"),
        "cwd": _cwd(folder),
        "hook_event_name": name,
    }
    if name == "SessionStart":
        event["source"] = "startup"
    else:
        event |= {"tool_name": "Bash", "tool_input": {"command": "x" * 900}}
    return json.dumps(event).encode()


def _cwd(folder: Path) -> str:
    """The folder where the sessions of a projects folder worked."""
    for path in sorted(folder.rglob("*.jsonl")):
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                if found := re.search(r'"cwd":"([^"\\]+)"', line):
                    return found[1]
    return "/"


def _hook(command: list[str], data: bytes, environment: Mapping[str, str]) -> Spent:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, input=data, stdout=subprocess.DEVNULL, check=True, env=dict(environment))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(time.monotonic() - began, spent)


# The page.


def _page(place: Place, rounds: int) -> Iterator[Figure]:
    from benchmarks import page

    try:
        page.find_chromium()
    except NotFound:
        yield Figure(f"not measured: {PAGE_MISSING}", "", 0)
        return
    listed = spend([*PROGRAM, "sessions", "--json"], place.environment)
    longest = max(json.loads(listed.output), key=lambda session: session["actions"])
    with page.served_page(place.home) as address, page.chromium() as tab:
        first = page.first_rows(tab, address, longest["id"], rounds)
    yield Figure("page, first rows", "ms", median(first[1:] or first), goal=Goal(limit=300))
    yield Figure("page, first rows of the first visit", "ms", first[0])


# The companion.


@contextmanager
def _running(place: Place) -> Iterator[int]:
    """The companion, once it has stopped working on what it found."""
    process = subprocess.Popen(
        [*PROGRAM, "run"], env=place.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        settled = time.monotonic() + 60
        while time.monotonic() < settled:
            before = processor_of(process.pid)
            time.sleep(3)
            if processor_of(process.pid) - before < 0.03:
                break
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def _companion(place: Place, idle: float, growing: float) -> Iterator[Figure]:
    if not Path("/proc/self/stat").exists():
        yield Figure("not measured: the companion (no /proc)", "", 0)
        return
    with _running(place) as pid:
        before = processor_of(pid)
        time.sleep(idle)
        quiet = (processor_of(pid) - before) / idle
        lines = _conversation(_cwd(place.projects))
        path = next(path for path in place.projects.iterdir() if path.is_dir()) / f"{uuid.uuid4()}.jsonl"
        before, began = processor_of(pid), time.monotonic()
        with path.open("a", encoding="utf-8") as file:
            while time.monotonic() < began + growing:
                file.write(next(lines))
                file.flush()
                time.sleep(1 / LINES_A_SECOND)
        busy = (processor_of(pid) - before) / (time.monotonic() - began)
        memory = sum(memory_of(one) for one in family(pid))
    yield Figure("companion, idle", "% of a core", quiet * 100, goal=Goal(limit=0.15))
    yield Figure(f"companion, {LINES_A_SECOND} lines a second", "% of a core", busy * 100, goal=Goal(limit=2))
    yield Figure("companion, memory", "MB", memory, goal=Goal(limit=80))


def _conversation(cwd: str) -> Iterator[str]:
    """Lines of an invented session that goes on now.

    Requests, calls and their results.
    """
    session, number = str(uuid.uuid4()), 0
    about = {
        "cwd": cwd,
        "sessionId": session,
        "version": "2.1.197",
        "gitBranch": "main",
        "userType": "external",
    }
    parent: str | None = None

    def line(kind: str, message: dict[str, Any], **more: Any) -> str:
        nonlocal parent
        name = str(uuid.uuid4())
        record = {
            **about,
            "parentUuid": parent,
            "isSidechain": False,
            "type": kind,
            "message": message,
            "uuid": name,
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
            **more,
        }
        parent = name
        return json.dumps(record) + "\n"

    yield line("user", {"role": "user", "content": "Sort the invoices of March by vendor."})
    while True:
        number += 1
        call = f"toolu_bench{number:08d}"
        block = {
            "type": "tool_use",
            "id": call,
            "name": "Bash",
            "input": {"command": f"ls invoices/{number}"},
        }
        usage = {"input_tokens": 900, "output_tokens": 60}
        yield line(
            "assistant",
            {
                "id": f"msg_{number}",
                "role": "assistant",
                "model": "bench",
                "content": [block],
                "usage": usage,
            },
        )
        answer = {"type": "tool_result", "tool_use_id": call, "content": f"invoice_{number}.pdf\n" * 20}
        yield line(
            "user",
            {"role": "user", "content": [answer]},
            toolUseResult={"stdout": answer["content"], "stderr": "", "interrupted": False},
        )


# Others that import the same files, if their programs are on the path.


def _peers(place: Place, raw: float) -> Iterator[Figure]:
    program = shutil.which("agentsview")
    if program is None:
        yield Figure("not measured: agentsview (not on the path)", "", 0)
        return
    environment = {**place.environment, "AGENTSVIEW_NO_DAEMON": "1", "HOME": str(place.user)}
    first = spend([program, "sync"], environment, watch={})
    yield Figure("agentsview: first import", "MB/s", raw / first.wall)
    yield Figure("agentsview: the same, processor time", "s", first.processor)
    yield Figure("agentsview: the same, memory", "MB", first.memory)
    again = [spend([program, "sync"], environment).wall for _ in range(3)]
    yield Figure("agentsview: import, nothing new", "ms", median(again) * 1e3)
    size = _bytes_of(place.user / ".agentsview" / "sessions.db") / 1000
    yield Figure("agentsview: store", "KB per raw MB", size / raw)
