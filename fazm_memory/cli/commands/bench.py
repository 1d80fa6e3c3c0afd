"""`fazm-memory bench`: how fast it is here, as ratios to floors taken in the same run."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from fazm_memory.bench.figures import Figure
from fazm_memory.bench.suites import DEFAULT, SUITES, Options, suite
from fazm_memory.cli.output import Progress, emit_json, table, talk
from fazm_memory.errors import InvalidRequest

QUICK_SIZES = (5_000, 10_000)


def bench_arguments(parser: argparse.ArgumentParser) -> None:
    known = ", ".join(f"{name} ({text})" for name, (_, text) in SUITES.items())
    usual = " and ".join(DEFAULT)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"{known}; {usual} if none is named")
    parser.add_argument("--events", metavar="N,…", help="sizes of the stores (10000,100000 if not given)")
    parser.add_argument("--quick", action="store_true", help="small stores and few rounds: under 20 seconds")
    parser.add_argument("--peers", action="store_true", help="also other session stores, where installed")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="make the stores in this folder")


def bench_command(chosen: argparse.Namespace) -> int:
    names = chosen.suites or list(DEFAULT)
    for name in names:
        if name not in SUITES:
            raise InvalidRequest(f"there is no suite {name[:40]!r}", hint=f"there are {', '.join(SUITES)}")
    options = Options(_sizes(chosen), quick=chosen.quick, peers=chosen.peers, folder=chosen.folder)
    if chosen.peers:
        _say_who_is_missing()
    found: dict[str, list[Figure]] = {name: list(_run(name, options)) for name in names}
    if chosen.json:
        emit_json({"suites": {name: [one.to_json() for one in figures] for name, figures in found.items()}})
        return 0
    for figures in found.values():
        show(figures)
    return 0


def _say_who_is_missing() -> None:
    from fazm_memory.bench.peers import missing  # it loads the store, which --help must not

    if absent := missing():
        talk(f"not installed, so not measured: {', '.join(absent)}")
        talk("hint: pip install 'fazm-memory[peers]'")


def _sizes(chosen: argparse.Namespace) -> tuple[int, ...]:
    if chosen.events is None:
        return QUICK_SIZES if chosen.quick else Options.sizes
    try:
        sizes = tuple(int(part.replace("_", "")) for part in chosen.events.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1000:
        raise InvalidRequest("--events takes numbers of at least 1000, such as 10000,100000")
    return sizes


def _run(name: str, options: Options) -> Iterator[Figure]:
    """The figures of a suite, with a bar while they are measured."""
    bars: list[Progress] = []

    def tell(what: str, done: int, total: int) -> None:
        if not bars or bars[-1].what != what:
            bars.append(Progress(what, total))
        bars[-1].at(done)

    try:
        yield from suite(name)(options, tell)
    finally:
        if bars:
            bars[-1].__exit__()


def show(figures: list[Figure]) -> None:
    rows = [_row(figure) for figure in figures]
    table(rows, ("what", "events", "ours", "floor", "ratio", "goal", "", "against"))
    short = [figure for figure in figures if figure.ok is False]
    if short:
        talk(f"{len(short)} of {len(figures)} fall short of their goal on this machine, at this moment")


def _row(figure: Figure) -> tuple[str, ...]:
    verdict = {True: "ok", False: "short", None: ""}[figure.ok]
    return (
        figure.what,
        "" if figure.events is None else f"{figure.events:,}",
        f"{_number(figure.ours)} {figure.unit}",
        "" if figure.floor is None else _number(figure.floor),
        "" if figure.ratio is None else f"{figure.ratio:.2f}",
        "" if figure.goal is None else figure.goal.told(figure.unit),
        verdict,
        figure.against,
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
