"""Command line of the benchmarks: `python -m benchmarks [SUITE …]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.figures import Figure, Options, Report
from fazm_memory.cli.output import Progress, echo_err, print_json, table
from fazm_memory.errors import FazmMemoryError, InvalidRequest, NotFound

# name: (module, one line of help)
SUITES: dict[str, tuple[str, str]] = {
    "log": ("log", "appending, reading, searching and verifying the log"),
    "time": ("long_session", "states, differences and forks of one session of any length"),
    "start": ("start", "starting the program and its MCP server; redacting a kilobyte"),
    "redaction": ("redaction", "ordinary text, and a search for the text that takes longest"),
    "hook": ("hooks", "the hooks that an agent waits for"),
    "import": ("imports", "importing a gigabyte of transcripts"),
    "context": ("context", "rendering a context and starting a session with it"),
    "recall": ("recall", "whether the context and search contain the answers"),
    "page": ("page", "the page in Chromium, over a large store and a small one"),
    "watch": ("watch", "thousands of files created and renamed, beside bare watchdog"),
    "sync": ("sync", "first sync, catching up, bytes and requests, over a folder"),
    "load": ("load", "sixteen agents recording at once while others read"),
    "devices": ("sync_devices", "a sync vault of up to 10,000 devices: requests and time of a round"),
    "real": ("real", "everything a person waits for, on a folder of real transcripts: real FOLDER"),
    "walks": ("walks", "modules that a command enters and imports"),
}
QUICK_SIZES = (5_000, 10_000)


def suite(name: str) -> Callable[[Options, Report], Iterator[Figure]]:
    """Load a suite's module and return its `run` function."""
    run: Callable[[Options, Report], Iterator[Figure]] = import_module(f"benchmarks.{SUITES[name][0]}").run
    return run


def main(argv: Sequence[str] | None = None) -> int:
    chosen = _parser().parse_args(argv)
    try:
        return _measure(chosen)
    except FazmMemoryError as error:
        _explain(error)
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    names = "\n".join(f"  {name:<8} {text}" for name, (_, text) in SUITES.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure the program against baselines taken in the same run.",
        epilog=f"suites:\n{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="all of them if none is named")
    parser.add_argument("--events", metavar="N,…", help="sizes of the stores (default 10000,100000)")
    parser.add_argument("--quick", action="store_true", help="small stores and few rounds")
    parser.add_argument("--peers", action="store_true", help="also measure other session stores")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="create the stores in this folder")
    real = parser.add_argument_group("recall on real days (see docs/recall.md)")
    real.add_argument("--notes", type=Path, metavar="FILE", help="handover notes of days, as JSON")
    real.add_argument("--transcripts", type=Path, metavar="DIR", help="the agent's projects folder")
    real.add_argument(
        "--only", metavar="DAY", help="only days with this in their name; no scripted histories"
    )
    real.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the imported days here and use them again"
    )
    real.add_argument("--show", action="store_true", help="print each context and what it misses")
    parser.add_argument("--json", action="store_true", help="print data as JSON")
    return parser


def _measure(chosen: argparse.Namespace) -> int:
    real = _real_folder(chosen.suites)
    for name in chosen.suites:
        if name not in SUITES:
            raise InvalidRequest(f"There is no suite {name[:40]!r}.", hint=f"Suites: {', '.join(SUITES)}.")
    if (chosen.notes is None) != (chosen.transcripts is None):
        raise InvalidRequest("--notes and --transcripts belong together.")
    options = Options(
        _sizes(chosen),
        quick=chosen.quick,
        peers=chosen.peers,
        folder=chosen.folder,
        notes=chosen.notes,
        transcripts=chosen.transcripts,
        only=chosen.only,
        keep=chosen.keep,
        show=chosen.show,
        real=real,
    )
    if chosen.peers:
        _report_missing_peers()
    results: dict[str, list[Figure]] = {}
    for name in chosen.suites or SUITES:
        try:
            results[name] = list(_run(name, options))
        except NotFound as error:
            if chosen.suites:
                raise
            echo_err(f"{name}: skipped")
            _explain(error)
            continue
        if not chosen.json:
            show(results[name])
    if chosen.json:
        print_json({"suites": {name: [figure.to_json() for figure in results[name]] for name in results}})
    return 0


def _real_folder(suites: list[str]) -> Path | None:
    """Take the folder after `real` out of the list of suites."""
    after = suites.index("real") + 1 if "real" in suites else len(suites)
    if after == len(suites) or suites[after] in SUITES:
        return None
    folder = Path(suites.pop(after)).expanduser()
    if not folder.is_dir():
        raise InvalidRequest(f"There is no folder {str(folder)[:200]!r}.")
    return folder


def _explain(error: FazmMemoryError) -> None:
    echo_err(error.message)
    if error.hint:
        echo_err(f"hint: {error.hint}")


def _report_missing_peers() -> None:
    from benchmarks.peers import missing  # imports the store, which --help must not

    if absent := missing():
        echo_err(f"not installed, so not measured: {', '.join(absent)}")
        echo_err("hint: `make bench` installs them")


def _sizes(chosen: argparse.Namespace) -> tuple[int, ...]:
    if chosen.events is None:
        return QUICK_SIZES if chosen.quick else Options.sizes
    try:
        sizes = tuple(int(part.replace("_", "")) for part in chosen.events.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1000:
        raise InvalidRequest("--events takes numbers of at least 1000, such as 10000,100000.")
    return sizes


def _run(name: str, options: Options) -> Iterator[Figure]:
    """Yield the figures of a suite, with a progress bar on stderr."""
    bars: list[Progress] = []

    def report(what: str, done: int, total: int) -> None:
        if not bars or bars[-1].what != what:
            bars.append(Progress(what, total))
        bars[-1].at(done)

    try:
        yield from suite(name)(options, report)
    finally:
        if bars:
            bars[-1].__exit__()


def show(figures: list[Figure]) -> None:
    rows = [_row(figure) for figure in figures]
    table(rows, ("what", "events", "ours", "baseline", "ratio", "goal", "", "against"))
    missed = [figure for figure in figures if figure.ok is False]
    if missed:
        echo_err(f"{len(missed)} of {len(figures)} figures miss their goal")


def _row(figure: Figure) -> tuple[str, ...]:
    verdict = {True: "ok", False: "missed", None: ""}[figure.ok]
    return (
        figure.what,
        "" if figure.events is None else f"{figure.events:,}",
        f"{_number(figure.ours)} {figure.unit}{_interval(figure)}",
        "" if figure.baseline is None else _number(figure.baseline),
        "" if figure.ratio is None else f"{figure.ratio:.2f}",
        "" if figure.goal is None else figure.goal.describe(figure.unit),
        verdict,
        figure.against,
    )


def _interval(figure: Figure) -> str:
    return "" if figure.interval is None else " [{}, {}]".format(*map(_number, figure.interval))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())
