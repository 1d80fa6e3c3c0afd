"""Redirections: the files a command's input comes from and its output goes to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fazm_memory.capture.shell.state import Input
from fazm_memory.capture.shell.syntax import Redirect, Substitution
from fazm_memory.capture.shell.value import Value, joined, known, unknown
from fazm_memory.capture.shell.world import Kind

if TYPE_CHECKING:
    from fazm_memory.capture.shell.run import Run

_WRITING = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})


@contextmanager
def redirected(run: Run, redirects: tuple[Redirect, ...]) -> Iterator[bool]:
    """Opens what is redirected for as long as the command runs; answers whether it can run at all."""
    saved = run.state.input, run.out, run.visible, run.reaches_output
    collected: list[tuple[str, list[Value]]] = []
    opened = True
    for redirect in redirects:
        opened = opened and _open(run, redirect, collected)
    try:
        yield opened
    finally:
        run.state.input, run.out, run.visible, run.reaches_output = saved
    for path, values in collected:
        run.state.contents[path] = joined(values)


def _open(run: Run, redirect: Redirect, collected: list[tuple[str, list[Value]]]) -> bool:
    if redirect.op in ("<<", "<<-", "<<<"):
        given = run.single(redirect.body if redirect.body is not None else redirect.target)
        run.state.input = Input(joined([given, known("\n")]) if redirect.op == "<<<" else given)
        return True
    process = redirect.target[0] if len(redirect.target) == 1 else None
    if isinstance(process, Substitution) and process.direction:
        said = run.capture(process.body, process.direction)
        if redirect.op == "<":
            run.state.input = Input(said)
        return True
    values = run.fields(redirect.target)
    target = values[0] if len(values) == 1 else unknown()
    with run.doubting(target.doubt):
        return _open_file(run, redirect, target, collected)


def _open_file(run: Run, redirect: Redirect, target: Value, collected: list[tuple[str, list[Value]]]) -> bool:
    if redirect.op in ("<&", ">&") and (target.text or "").rstrip("-").isdigit():
        return _duplicate(run, redirect.fd or ("1" if redirect.op == ">&" else "0"), target.text or "")
    if target.text == "-":
        return True
    if redirect.op == "<":
        return _read(run, target)
    return _write(run, redirect, target, collected) if redirect.op in _WRITING else True


def _duplicate(run: Run, fd: str, target: str) -> bool:
    if fd == "2":
        run.visible = run.visible and (target != "1" or run.reaches_output)
    elif fd == "1" and target == "2":
        run.out = []
    return True


def _read(run: Run, target: Value) -> bool:
    path = None if target.text is None else run.state.path(target.text)
    run.state.input = Input(unknown())
    if path is None or target.text is None:
        return True
    if path.startswith("/dev/"):
        run.state.input = Input(known("") if path == "/dev/null" else unknown())
        return True
    call = run.call("shell", [target], ended=None)
    status = call.read(target)
    if path in run.state.contents:
        run.state.input = Input(run.state.contents[path])
    return status is not False


def _write(run: Run, redirect: Redirect, target: Value, collected: list[tuple[str, list[Value]]]) -> bool:
    both = redirect.op.startswith("&") or (redirect.op == ">&" and not redirect.fd)
    append = redirect.op in (">>", "&>>", "<>")
    path = None if target.text is None else run.state.path(target.text)
    values: list[Value] = []
    if both or redirect.fd in ("", "1"):
        run.out = values
        run.reaches_output = False
    if both or redirect.fd == "2":
        run.visible = False
    if path is None or target.text is None or path.startswith("/dev/"):
        return True
    call = run.call("shell", [target], ended=None)
    doubt = call.verdict(target.text, proven=True)
    if doubt is None or call.homeless(path) or call.certain(path, Kind.FOLDER):
        if doubt is not None:
            call.foresee(target.text)
        return False
    before = run.state.contents.get(path) if append else known("")
    call.write(path, append=append)
    if redirect.fd in ("", "1") and before is not None:
        values.append(before)
        collected.append((path, values))
    return True
