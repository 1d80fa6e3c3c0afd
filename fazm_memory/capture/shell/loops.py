"""Loops, followed round by round where what they go over is known, and otherwise through the output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.capture.shell.builtins import Break, Continue, Scope
from fazm_memory.capture.shell.call import NAMED, Status
from fazm_memory.capture.shell.conditions import negated
from fazm_memory.capture.shell.glob import LOCALE, order_is_local
from fazm_memory.capture.shell.parameters import arithmetic
from fazm_memory.capture.shell.syntax import Count, For, Script, Simple, While, plain
from fazm_memory.capture.shell.told import counts, told_values
from fazm_memory.capture.shell.value import Value, known, unknown

if TYPE_CHECKING:
    from fazm_memory.capture.shell.run import Run

MOST_ROUNDS = 10_000
TOLD = "input not known: files named in output"
PERHAPS_NEVER = "inside a loop that may not run"
TOO_LONG = "after a loop that was too long to follow to its end"


def _round(run: Run, body: Script) -> bool:
    """One round; answers whether there may be another."""
    run.rounds += 1
    if run.rounds > MOST_ROUNDS:
        run.doubt_from_here(TOO_LONG, Scope.SHELL)
        return False
    try:
        with run.scope(Scope.ROUND):
            run.script(body)
    except Continue as leaving:
        if leaving.levels > 1:
            raise Continue(leaving.levels - 1) from None
    except Break as leaving:
        if leaving.levels > 1:
            raise Break(leaving.levels - 1) from None
        return False
    return True


def for_loop(run: Run, node: For) -> Status:
    if node.words is None:
        items = list(run.state.arguments)
    else:
        items = [value for word in node.words for value in run.fields(word)]
    names = [item.text for item in items if item.text is not None]
    doubt = LOCALE if order_is_local(names) and counts(node.body) else ""
    for item in items:
        if item.is_no_match:
            continue
        if item.text is None:
            if not _told_rounds(run, node.name, item, node.body):
                break
            continue
        run.state.variables[node.name] = item
        with run.doubting(item.doubt or doubt):
            if not _round(run, node.body):
                break
    return None


def _told_rounds(run: Run, name: str, item: Value, body: Script) -> bool:
    """Rounds over names that are not known: those the output tells of, or one with the name left open."""
    told = told_values(run, name, item, body)
    with run.doubting(NAMED):
        for text in told:
            run.state.variables[name] = known(text)
            if not _round(run, body):
                return False
        if not told:
            run.state.variables[name] = unknown(name, item.pattern)
            run.may(lambda: _round(run, body), PERHAPS_NEVER)
    return True


def counting_loop(run: Run, node: Count) -> Status:
    arithmetic(run, run.single(node.start))
    while True:
        go = arithmetic(run, run.single(node.condition)) if node.condition else 1
        if go is None:
            run.may(lambda: _round(run, node.body), PERHAPS_NEVER)
            return None
        if not go or not _round(run, node.body):
            return None
        arithmetic(run, run.single(node.step))


def while_loop(run: Run, node: While) -> Status:
    if (name := _reads_unknown(run, node)) and (told := told_values(run, name, unknown(name), node.body)):
        with run.doubting(TOLD):
            for text in told:
                run.state.variables[name] = known(text)
                if not _round(run, node.body):
                    break
        return None
    last: object = None
    while True:
        status = run.condition(node.condition)
        go = negated(status) if node.until else status
        if go is None:
            run.may(lambda: _round(run, node.body), PERHAPS_NEVER)
            return None
        done = len(run.effects)
        if not go or not _round(run, node.body):
            return None
        now = run.state.cwd, run.state.input.at, dict(run.state.variables), run.effects[done:]
        if now == last:
            return run.disturbed()  # it waits for something that others do
        last = now


def _reads_unknown(run: Run, node: While) -> str:
    """The variable of `while read -r name` over an input that is not known."""
    first = node.condition.items[0][0] if len(node.condition.items) == 1 else None
    if not isinstance(first, Simple) or not first.words or plain(first.words[0]) != "read":
        return ""
    return (plain(first.words[-1]) or "") if run.state.input.value.text is None else ""
