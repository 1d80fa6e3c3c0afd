"""The ways a script goes: lists, pipelines, choices and groups, each followed as far as it can be told."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fazm_memory.capture.shell.builtins import Exit, Scope
from fazm_memory.capture.shell.call import Status
from fazm_memory.capture.shell.clauses import DECLARING
from fazm_memory.capture.shell.commands import command
from fazm_memory.capture.shell.conditions import double_bracket, negated
from fazm_memory.capture.shell.loops import counting_loop, for_loop, while_loop
from fazm_memory.capture.shell.parameters import arithmetic
from fazm_memory.capture.shell.pattern import fits, glob_source
from fazm_memory.capture.shell.redirects import redirected
from fazm_memory.capture.shell.state import Input
from fazm_memory.capture.shell.syntax import (
    AndOr,
    Calculation,
    Case,
    Count,
    DoubleBracket,
    For,
    Function,
    Group,
    If,
    Node,
    Pipeline,
    Redirected,
    Script,
    Simple,
    Word,
    plain,
)
from fazm_memory.capture.shell.value import joined
from fazm_memory.capture.shell.variables import assign

if TYPE_CHECKING:
    from fazm_memory.capture.shell.run import Run

IN_CONDITIONAL = "inside a conditional"
ON_SUCCESS = "only if the command before it succeeded"
ON_FAILURE = "only if the command before it failed"
IN_BACKGROUND = "runs in the background"


def follow_script(run: Run, script: Script, ended: Status) -> Status:
    """Each command in turn. How the script `ended` is how its last command did."""
    status: Status = True
    for place, (node, background) in enumerate(script.items):
        if background:
            with run.subshell(), run.doubting(IN_BACKGROUND):
                follow(run, node, None)
            status = True
            continue
        strict = run.stops_at_failure and _can_stop(node)
        last = place == len(script.items) - 1
        status = follow(run, node, True if strict and run.ok else ended if last else None)
        if status is False and strict:
            raise Exit(1)
    return status


def _can_stop(node: Node) -> bool:
    """With `set -e` a failure ends the script, but not one that is negated or stands before `&&` or `||`."""
    return isinstance(node, Simple) or (isinstance(node, Pipeline) and not node.negated)


def follow(run: Run, node: Node, ended: Status) -> Status:
    run.spend()
    if isinstance(node, Simple):
        return _simple(run, node, ended)
    if isinstance(node, AndOr):
        return _and_or(run, node, ended)
    if isinstance(node, Pipeline):
        return _pipeline(run, node, ended)
    if isinstance(node, Redirected):
        with redirected(run, node.redirects) as opened:
            return follow(run, node.node, ended) if opened else False
    if isinstance(node, Group):
        if not node.subshell:
            return follow_script(run, node.body, ended)
        status: Status = None
        with run.subshell():
            status = follow_script(run, node.body, ended)
        return status
    if isinstance(node, If):
        return _if(run, node, ended)
    if isinstance(node, Case):
        return _case(run, node, ended)
    if isinstance(node, DoubleBracket):
        return double_bracket(run, node)
    if isinstance(node, Calculation):
        number = arithmetic(run, run.single(node.source))
        return None if number is None else number != 0
    if isinstance(node, Function):
        run.state.functions[node.name] = node.body
        return True
    with run.scope(Scope.LOOP):
        if isinstance(node, For):
            return for_loop(run, node)
        return counting_loop(run, node) if isinstance(node, Count) else while_loop(run, node)


def _simple(run: Run, node: Simple, ended: Status) -> Status:
    if node.words and plain(node.words[0]) == "let":
        args = [run.single(word) for word in node.words]  # a star is arithmetic here
    else:
        args = [value for word in node.words for value in run.fields(word)]
    doubt = next((value.doubt for value in args if value.doubt), "")
    with run.doubting(doubt), redirected(run, node.redirects) as opened:
        if not opened:
            return False
        variables = run.state.variables
        before = {one.name: variables[one.name] for one in node.assigns if one.name in variables}
        declares = bool(args) and args[0].text in DECLARING
        for assignment in node.assigns:
            if declares and args[0].text == "local":
                run.keep_local(assignment.name)
            if declares and any((arg.text or "").startswith("-") and "A" in (arg.text or "") for arg in args):
                run.state.keyed.add(assignment.name)
            assign(run, assignment)
        if not args:
            return True
        status = command(run, args, ended)
        if not declares:  # before a command, assignments are for it alone
            for assignment in node.assigns:
                run.state.variables.pop(assignment.name, None)
            run.state.variables.update(before)
        return status


def _and_or(run: Run, node: AndOr, ended: Status) -> Status:
    telling = "&&" if ended else "||"
    certain = len(node.rest)
    while certain > 0 and ended is not None and node.rest[certain - 1][0] == telling:
        certain -= 1  # if the whole of `a && b` succeeded both did; if the whole of `a || b` failed both did
    status = follow(run, node.first, ended if certain == 0 else None)
    for place, (op, following) in enumerate(node.rest):
        sure = ended is not None and place >= certain
        if status is None and sure:
            status = ended
        if status is None:
            run.may(partial(follow, run, following, None), ON_SUCCESS if op == "&&" else ON_FAILURE)
        elif status is (op == "&&"):
            status = follow(run, following, ended if sure else None)
    return status


def _pipeline(run: Run, node: Pipeline, ended: Status) -> Status:
    if len(node.stages) == 1:
        return negated(follow(run, node.stages[0], negated(ended)))
    status: Status = None
    given, outer = run.state.input, run.out
    for place, stage in enumerate(node.stages):
        last = place == len(node.stages) - 1
        run.out = outer if last else []
        with run.nested(), run.subshell():
            run.state.input = given
            all_succeeded = ended is True and "pipefail" in run.state.options and not node.negated
            whole = negated(ended) if node.negated else ended
            status = follow(run, stage, whole if last else True if all_succeeded else None)
        given = Input(joined(run.out)) if not last else given
    run.out = outer
    return negated(status) if node.negated else status


def _if(run: Run, node: If, ended: Status) -> Status:
    undecided = False
    for condition, body in node.branches:
        status = run.condition(condition)
        if status is True and not undecided:
            return follow_script(run, body, ended)
        if status is not False:
            undecided = run.may(partial(follow_script, run, body, ended), IN_CONDITIONAL) or undecided
        if status is True:
            return None
    return _last_branch(run, node.otherwise, undecided, ended)


def _last_branch(run: Run, body: Script | None, undecided: bool, ended: Status) -> Status:
    if body is None:
        return None if undecided else True
    if undecided:
        run.may(partial(follow_script, run, body, ended), IN_CONDITIONAL)
        return None
    return follow_script(run, body, ended)


def _case(run: Run, node: Case, ended: Status) -> Status:
    subject = run.single(node.subject).text
    undecided = False
    for patterns, body in node.arms:
        answers = [_fits(run, word, subject) for word in patterns]
        if True in answers:
            return _last_branch(run, body, undecided, ended)
        if None in answers:
            undecided = run.may(partial(follow_script, run, body, ended), IN_CONDITIONAL) or undecided
    return None if undecided else True


def _fits(run: Run, word: Word, subject: str | None) -> Status:
    pieces = run.pieces(word)
    if pieces is not None and [text for text, _ in pieces] == ["*"]:
        return True
    source = None if pieces is None else glob_source(pieces)
    return None if source is None or subject is None else fits(source, subject)
