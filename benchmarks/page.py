"""Page suite: the page in Chromium, over a large store and a small one.

The server is `fazm-memory timeline`. Measured is what people wait for (first rows, search, jump, zoom) and
what makes a page stutter or grow (long tasks, dropped frames, elements, script memory), by the page's own
clock. Chromium is driven over two pipes with the DevTools protocol.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from benchmarks.events import COMMON, LONG, Workload
from benchmarks.figures import Figure, Goal, Options, Report
from benchmarks.stores import append_batch
from fazm_memory.errors import FazmMemoryError, NotFound
from fazm_memory.store import Store

SMALL = 1000
FLAT = 2.0  # both take a few frames, so a smaller difference means nothing
ROUNDS = (5, 2)
FRAME = 1000 / 60
WHEEL = 400  # pixels
LAP = 12  # turns of the wheel in one direction: 150 rows, fewer than the small store has
LAPS = 5  # back and forth, so that both sessions scroll over equally many rows
# Runs before the page's own scripts. `until` resolves with the time of the first frame at which a condition
# holds, `quiet` with the time at which the last fetch ended.
PROBE = """
window.bench = {tasks: [], pending: 0, last: 0, lanes: 0};
new PerformanceObserver((list) => list.getEntries().forEach((entry) => bench.tasks.push(entry.duration)))
    .observe({type: "longtask", buffered: true});
const plain = window.fetch;
window.fetch = (...options) => {
    bench.pending += 1;
    const ended = () => {
        bench.pending -= 1;
        bench.last = performance.now();
        if (String(options[0]).includes("/lanes?")) bench.lanes += 1;
    };
    return plain(...options).finally(ended);
};
bench.until = (holds) => new Promise((done, fail) => {
    const end = performance.now() + 30000;
    const look = () => {
        if (holds()) done(performance.now());
        else if (performance.now() > end) fail(new Error("never: " + holds));
        else requestAnimationFrame(look);
    };
    look();
});
bench.quiet = () => bench.until(() => bench.pending === 0 && performance.now() - bench.last > 60)
    .then((now) => Math.max(now - 60, 0));
bench.frames = (count) => new Promise((done) => {
    const taken = [];
    let before = performance.now();
    const next = () => {
        const now = performance.now();
        taken.push(now - before);
        before = now;
        if (taken.length < count) requestAnimationFrame(next); else done(taken);
    };
    requestAnimationFrame(next);
});
"""
ROWS = "document.querySelector('[role=listbox][aria-label=Events] [role=option]')"
# Counts the rows scrolled over, in both directions.
WAY = f"""(() => {{
    const list = {ROWS}.closest("[role=listbox]"), row = {ROWS}.offsetHeight;
    let before = list.scrollTop;
    bench.way = 0;
    list.addEventListener("scroll", () => {{
        bench.way += Math.abs(list.scrollTop - before) / row;
        before = list.scrollTop;
    }});
}})()"""
FOUND = "document.querySelector('[aria-label=\"Search results\"] [role=option]')"
SEARCH = "document.querySelector('[aria-label=\"Search everything recorded\"]')"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-pipe", "--window-size=1280,860",
)  # fmt: skip
TIMEOUT = 60.0  # seconds for one answer


@dataclass(frozen=True)
class PageStore:
    """A store for the page, and its longest session."""

    home: Path
    session: str
    head: int


def run(options: Options, report: Report) -> Iterator[Figure]:
    find_chromium()  # before anything is built
    largest = max(options.sizes)
    with tempfile.TemporaryDirectory(prefix="fazm-memory-bench-", dir=options.folder) as name:
        stores = [_write(Path(name), events, report) for events in (SMALL, largest)]
        # Each store is visited twice. The lower figures count: other work on the machine only adds.
        visits: list[Visit] = []
        for store in (*stores, *reversed(stores)):
            report("visiting the page", len(visits), 2 * len(stores))
            with served_page(store.home) as address, chromium() as tab:
                visits.append(visit(tab, address, store.session, store.head, ROUNDS[options.quick]))
        yield from _figures(better(visits[0], visits[3]), better(visits[1], visits[2]), largest)


def _write(folder: Path, events: int, report: Report) -> PageStore:
    home = folder / f"of-{events}"
    home.mkdir(mode=0o700)
    store = Store(home, key="file")
    try:
        store.db.execute("PRAGMA synchronous=off")  # the log suite measures writing
        numbers: dict[int, int] = {}
        done = 0
        for batch in Workload(events).batches():
            append_batch(store, numbers, batch)
            done += len(batch.entries)
            report(f"writing {events:,} events", done, events)
        store.index_all()
        store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        row = next(row for row in store.sessions.listing(limit=1000) if row.n == numbers[LONG])
        return PageStore(home, row.id, row.head)
    finally:
        store.close()


@contextmanager
def served_page(home: Path) -> Iterator[str]:
    """Serve the page. Yields its one-time address."""
    command = [sys.executable, "-m", "fazm_memory.cli.main", "timeline", "--no-open", "--port", "0"]
    env = {**os.environ, "FAZM_MEMORY_HOME": str(home), "FAZM_MEMORY_KEY": "file"}
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    output = []
    try:
        for line in process.stdout:
            output.append(line)
            found = next((word for word in line.split() if urlsplit(word).scheme == "http"), None)
            if found:
                yield found
                return
        raise FazmMemoryError(f"the page's server did not start: {''.join(output)[-400:]}")
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _figures(small: Visit, large: Visit, events: int) -> Iterator[Figure]:
    flat = Goal(at_most=FLAT)
    for what, unit, ours, baseline in (
        ("first rows", "ms", large.first, small.first),
        ("jump to an event", "ms", large.jump, small.jump),
        ("search, a word in 40 %", "ms", large.search, small.search),
        ("zoom of the lanes", "ms", large.zoom, small.zoom),
        ("scroll, a frame", "ms", large.frame, small.frame),
        ("elements", "", large.elements, small.elements),
        ("memory of scripts", "MB", large.heap / 1e6, small.heap / 1e6),
    ):
        yield Figure(what, unit, ours, baseline, f"the same at {SMALL:,} events", events, goal=flat)
    # No goal: these are often 0 in the small store.
    for what, unit, ours, baseline in (
        ("longest task while used", "ms", large.longest, small.longest),
        ("frames dropped in a scroll", "%", large.dropped, small.dropped),
        ("rows scrolled over", "", large.scrolled, small.scrolled),
    ):
        yield Figure(what, unit, ours, baseline, f"the same at {SMALL:,} events", events)


@dataclass(frozen=True)
class Visit:
    """Medians in milliseconds.

    `dropped` in per cent of the expected frames, `scrolled` in rows.
    """

    first: float
    jump: float
    search: float
    zoom: float
    frame: float
    dropped: float
    scrolled: float
    longest: float
    elements: float
    heap: float


def better(first: Visit, second: Visit) -> Visit:
    """The lower of each figure."""
    return Visit(*map(min, astuple(first), astuple(second)))


def visit(tab: Tab, address: str, session: str, head: int, rounds: int) -> Visit:
    """Open the page at a one-time address; jump, search, zoom and scroll."""
    parts = urlsplit(address)
    origin = f"{parts.scheme}://{parts.netloc}"
    tab.send("Page.addScriptToEvaluateOnNewDocument", source=PROBE)
    tab.go(address)
    _ready(tab)
    place = f"#/s/{session}"
    first = [_first(tab, f"{origin}/{place}") for _ in range(rounds)]
    tab.ask("bench.quiet()")
    tab.ask("bench.tasks.length = 0")
    jumps = [_jump(tab, session, head * (nth + 1) // (rounds + 1)) for nth in range(rounds)]
    tab.ask(f"location.hash = {json.dumps(place)}; bench.quiet()")
    searches = [_search(tab) for _ in range(rounds)]
    zooms = [_zoom(tab, label) for _ in range(rounds) for label in ("Zoom in", "Zoom out")]
    frames, scrolled = _scroll(tab)
    should = sum(max(1, round(length / FRAME)) for length in frames)
    return Visit(
        first=median(first),
        jump=median(jumps),
        search=median(searches),
        zoom=median(zooms),
        frame=median(frames),
        dropped=100 * (should - len(frames)) / should,
        scrolled=scrolled,
        longest=float(tab.ask("Math.max(0, ...bench.tasks)")),
        elements=float(tab.ask("document.querySelectorAll('*').length")),
        heap=tab.heap(),
    )


def first_rows(tab: Tab, address: str, session: str, rounds: int) -> list[float]:
    """Milliseconds until the first rows of a session, by visit."""
    parts = urlsplit(address)
    tab.send("Page.addScriptToEvaluateOnNewDocument", source=PROBE)
    tab.go(address)
    _ready(tab)
    return [_first(tab, f"{parts.scheme}://{parts.netloc}/#/s/{session}") for _ in range(rounds)]


def _ready(tab: Tab) -> None:
    """Wait until the page of the last navigation is there."""
    end = time.monotonic() + 30
    while not tab.ask("Boolean(window.bench && document.querySelector('fm-app'))"):
        if time.monotonic() > end:
            break
        time.sleep(0.02)


def _first(tab: Tab, address: str) -> float:
    """Time from the request to the first rows of the session, in a new document."""
    tab.go("about:blank")
    tab.go(address)
    _ready(tab)
    return float(tab.ask(f"bench.until(() => {ROWS})"))


def _timed(tab: Tab, act: str, until: str) -> float:
    code = f"(async () => {{ const start = performance.now(); {act}; return (await {until}) - start; }})()"
    return float(tab.ask(code))


def _jump(tab: Tab, session: str, seq: int) -> float:
    there = (
        f"document.querySelector('[aria-label=Event]:not([hidden])')?.innerText.includes('position {seq}')"
    )
    return _timed(tab, f"location.hash = '#/s/{session}@{seq}'", f"bench.until(() => {there})")


def _search(tab: Tab) -> float:
    type_text: Callable[[str], str] = lambda text: (  # noqa: E731
        f"const box = {SEARCH}; box.focus(); box.value = {json.dumps(text)};"
        " box.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    took = _timed(tab, type_text(COMMON), f"bench.until(() => {FOUND})")
    tab.ask(f"(() => {{ {type_text('')} }})()")
    tab.ask(f"bench.until(() => !{FOUND} || !{FOUND}.checkVisibility())")
    return took


def _zoom(tab: Tab, label: str) -> float:
    """Time until the lanes of the new range are drawn."""
    act = f"const known = bench.lanes; document.querySelector('[aria-label=\"{label}\"]').click()"
    return _timed(tab, act, "bench.until(() => bench.lanes > known)")


def wheels() -> list[int]:
    """Pixels of each turn of the wheel: back through the session, forward, back…"""
    return [WHEEL * (1 if lap % 2 else -1) for lap in range(LAPS) for _ in range(LAP)]


def _scroll(tab: Tab) -> tuple[list[float], float]:
    """Scroll back and forth. Returns the length of each frame, and the number of rows."""
    box = tab.ask(
        f"(() => {{ const at = {ROWS}.closest('[role=listbox]').getBoundingClientRect();"
        " return [at.x + at.width / 2, at.y + at.height / 2]; })()"
    )
    turns = wheels()
    tab.ask(f"{WAY}; window.taken = bench.frames({len(turns) * 2}); true")
    for by in turns:
        tab.wheel(box[0], box[1], by)
    frames: list[float] = tab.ask("window.taken")
    return frames, float(tab.ask("bench.way"))


class Tab:
    """One page. Commands and answers are JSON, each followed by a zero byte."""

    def __init__(self, write: int, read: int) -> None:
        self.write, self.read = write, read
        self.rest = b""
        self.number = 0
        self.session: str | None = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Performance"):
            self.send(f"{part}.enable")

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its answer. Events before it are ignored."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + TIMEOUT
        while True:
            answer = self._next(end, method)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise FazmMemoryError(f"the browser refused {method}: {answer['error'].get('message')}")
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self, end: float, method: str) -> dict[str, Any]:
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.read], [], [], max(0.0, end - time.monotonic()))
            got = os.read(self.read, 1 << 16) if ready else b""
            if not got:
                raise FazmMemoryError(f"the browser did not answer {method}")
            self.rest += got
        line, _, self.rest = self.rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def ask(self, code: str) -> Any:
        """Evaluate an expression in the page. Promises are awaited."""
        answer = self.send("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            words = answer["exceptionDetails"].get("exception", {}).get("description", "an error")
            raise FazmMemoryError(f"the page failed: {words}")
        return answer["result"].get("value")

    def go(self, address: str) -> None:
        self.send("Page.navigate", url=address)

    def wheel(self, x: float, y: float, by: float) -> None:
        self.send("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=by)

    def heap(self) -> float:
        """Bytes of script memory after a garbage collection."""
        self.send("HeapProfiler.collectGarbage")
        metrics = self.send("Performance.getMetrics")["metrics"]
        return float(next(metric["value"] for metric in metrics if metric["name"] == "JSHeapUsedSize"))


def find_chromium() -> str:
    for name in NAMES:
        if found := shutil.which(name):
            return found
    raise NotFound(
        "The page suite needs Chromium, which is not on the path.",
        hint="Install it (on Debian: apt-get install chromium), then try again.",
    )


@contextmanager
def chromium() -> Iterator[Tab]:
    """A browser with one page and a temporary profile."""
    program = find_chromium()
    to_browser, write = os.pipe()
    read, from_browser = os.pipe()
    with tempfile.TemporaryDirectory(prefix="fazm-memory-browser-", ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            ["/bin/sh", "-c", f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}', program, *FLAGS,
             f"--user-data-dir={Path(profile)}"],
            pass_fds=[to_browser, from_browser],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        try:
            yield Tab(write, read)
        finally:
            os.close(write)
            os.close(read)
            process.terminate()
            process.wait()
