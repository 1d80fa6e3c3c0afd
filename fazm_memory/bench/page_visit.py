"""One visit to the page: open it, jump, search, zoom, scroll; what each took, by the page's own clock."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from urllib.parse import urlsplit

from fazm_memory.bench.chromium import Tab
from fazm_memory.bench.figures import middle
from fazm_memory.bench.rows import COMMON

FRAME = 1000 / 60
WHEEL = 400  # pixels
LAP = 12  # turns of the wheel one way: 150 rows, which the session of a small store has too
LAPS = 5  # there and back, so that every session is scrolled over the same rows by the same way
# Runs before the page's own scripts. `until` resolves with the moment at which a condition first held at a
# frame, `quiet` with the first at which nothing is being fetched any more.
PROBE = """
window.bench = {tasks: [], pending: 0, last: 0, lanes: 0};
new PerformanceObserver((list) => list.getEntries().forEach((one) => bench.tasks.push(one.duration)))
    .observe({type: "longtask", buffered: true});
const plain = window.fetch;
window.fetch = (...given) => {
    bench.pending += 1;
    const told = () => {
        bench.pending -= 1;
        bench.last = performance.now();
        if (String(given[0]).includes("/lanes?")) bench.lanes += 1;
    };
    return plain(...given).finally(told);
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
# Counts the rows that go by, either way.
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


@dataclass(frozen=True)
class Visit:
    """Medians, in milliseconds; `dropped` in per cent of the frames there should have been, `scrolled` in
    rows, which tells whether two visits can be compared by it."""

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


def better(one: Visit, two: Visit) -> Visit:
    """The lower of each figure."""
    return Visit(*map(min, astuple(one), astuple(two)))


def visit(tab: Tab, address: str, session: str, head: int, rounds: int) -> Visit:
    """All of it, at the page behind a one-time address, in the session given."""
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
    should = sum(max(1, round(one / FRAME)) for one in frames)
    return Visit(
        first=middle(first),
        jump=middle(jumps),
        search=middle(searches),
        zoom=middle(zooms),
        frame=middle(frames),
        dropped=100 * (should - len(frames)) / should,
        scrolled=scrolled,
        longest=float(tab.ask("Math.max(0, ...bench.tasks)")),
        elements=float(tab.ask("document.querySelectorAll('*').length")),
        heap=tab.heap(),
    )


def _ready(tab: Tab) -> None:
    """A navigation has begun, but its page may not be there yet."""
    end = time.monotonic() + 30
    while not tab.ask("Boolean(window.bench && document.querySelector('fm-app'))"):
        if time.monotonic() > end:
            break
        time.sleep(0.02)


def _first(tab: Tab, address: str) -> float:
    """From the request to the first rows of the session, in a new document."""
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
    say: Callable[[str], str] = lambda text: (  # noqa: E731
        f"const box = {SEARCH}; box.focus(); box.value = {json.dumps(text)};"
        " box.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    took = _timed(tab, say(COMMON), f"bench.until(() => {FOUND})")
    tab.ask(f"(() => {{ {say('')} }})()")
    tab.ask(f"bench.until(() => !{FOUND} || !{FOUND}.checkVisibility())")
    return took


def _zoom(tab: Tab, label: str) -> float:
    """Until the lanes of the new stretch are there and a frame was drawn."""
    act = f"const known = bench.lanes; document.querySelector('[aria-label=\"{label}\"]').click()"
    return _timed(tab, act, "bench.until(() => bench.lanes > known)")


def wheels() -> list[int]:
    """Each turn of the wheel: back through the session, on again, back…"""
    return [WHEEL * (1 if lap % 2 else -1) for lap in range(LAPS) for _ in range(LAP)]


def _scroll(tab: Tab) -> tuple[list[float], float]:
    """Wheel back and forth through the session; the length of each frame, and over how many rows."""
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
