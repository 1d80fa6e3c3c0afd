"""The interpreter: follows a script command by command without running it.

Where the outcome of a condition is not known, every branch is followed and its effects are inferred.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from fazm_memory.engines.shell_effects.dispatch import (
    Break,
    Continue,
    ControlFlow,
    Exit,
    FlowScope,
    assign,
    evaluate_double_bracket,
    follow_command,
    negated,
)
from fazm_memory.engines.shell_effects.expansion import (
    LOCALE,
    arithmetic,
    fields,
    order_is_local,
    pattern_pieces,
    single,
)
from fazm_memory.engines.shell_effects.file_commands import NAMED, Change, CommandCall, FileEffect, Status
from fazm_memory.engines.shell_effects.output import CommandOutput, calculates, loop_values, prints_alone
from fazm_memory.engines.shell_effects.parser import (
    DECLARING,
    AndOr,
    Calculation,
    Case,
    CommandGroup,
    CountingFor,
    DoubleBracket,
    For,
    Function,
    If,
    Node,
    Pipeline,
    Redirect,
    Redirected,
    Script,
    Simple,
    Substitution,
    Text,
    While,
    Word,
    parse,
    plain,
)
from fazm_memory.engines.shell_effects.patterns import Pieces, glob_source, matches
from fazm_memory.engines.shell_effects.state import (
    FileKind,
    FileTree,
    Input,
    KnownFolders,
    Listing,
    State,
    Value,
    Variable,
    joined,
    known,
    unknown,
)

MOST_STEPS = 60_000
_EXPANDS = re.compile(r"[*?\[{~@+!]")
NOT_REACHED = "may not have been reached"
UNREADABLE = "part of the command could not be read"


class Exhausted(Exception):
    """The limit on the number of steps is reached."""


@dataclass(frozen=True, eq=False, slots=True)
class _Uncertainty:
    why: str
    until: FlowScope = FlowScope.ROUND


class Interpreter:
    """The state of an interpretation, and its operations.

    Commands and expansions use them.
    """

    def __init__(self, state: State, output: CommandOutput, *, ok: bool) -> None:
        self.state = state
        self.output = output
        self.ok = ok
        self.effects: list[FileEffect] = []
        self._uncertainties: list[_Uncertainty] = []
        self.expected_failures: list[tuple[str, str]] = []
        self.printed: list[Value] = []
        self.errors_visible = True
        self.stdout_visible = True
        self.only_printer = True
        self.steps = self.rounds = self.nesting = 0
        self._used: set[int] = set()
        self._conditions = self._subshells = 0
        self._no_effects = False
        self._locals: list[dict[str, Variable]] = []

    # For expansions.

    def fields(self, word: Word) -> list[Value]:
        part = word[0] if len(word) == 1 else None
        if isinstance(part, Text) and (part.quoted or not _EXPANDS.search(part.text)):
            self.spend()
            return [known(part.text)]
        return fields(self, word)

    def single(self, word: Word) -> Value:
        return single(self, word)

    def pieces(self, word: Word) -> Pieces | None:
        return pattern_pieces(self, word)

    def spend(self, steps: int = 1) -> None:
        self.steps += steps
        if self.steps > MOST_STEPS:
            raise Exhausted

    def capture(self, script: Script, direction: str = "") -> Value:
        """Follow a script in a subshell and return what it prints."""
        if self._no_effects:
            return unknown()
        outer, errors_visible, reaches = self.printed, self.errors_visible, self.stdout_visible
        self.printed, self.stdout_visible = [], False
        with self.nested(), self.subshell():
            if direction == ">":
                self.state.input = Input()
            self.script(script)
        printed_text, self.printed = joined(self.printed), outer
        self.errors_visible, self.stdout_visible = errors_visible, reaches
        return printed_text

    # For commands.

    def print(self, value: Value) -> None:
        self.printed.append(value)

    def unknown_program(self) -> Status:
        """Note that an unknown program ran: files and output may be anything."""
        if not self._no_effects:
            self.state.files.invalidate()
            self.state.contents.clear()
        self.print(unknown())
        return None

    def emit(self, path: str, change: Change, origin: str | None, why: str) -> bool:
        reasons = dict.fromkeys(reason for reason in (why, *self.reasons) if reason)
        if not self._no_effects and not path.startswith("/dev/"):
            self.spend()
            self.effects.append(FileEffect(path, change, origin, bool(reasons), "; ".join(reasons)))
        return not self.reasons

    def call(self, name: str, args: list[Value], succeeded: Status) -> CommandCall:
        return CommandCall(
            name=name,
            args=args,
            state=self.state,
            output=self.output,
            emit=self.emit,
            succeeded=succeeded,
            errors_visible=self.errors_visible,
            only_printer=self.only_printer,
            expected_failures=self.expected_failures,
            used=self._used,
            input=self.state.input,
            print=self.print,
            execute=lambda words: follow_command(self, words, None),
            uncertain=self.uncertain,
            spend=self.spend,
        )

    @property
    def reasons(self) -> list[str]:
        """Why the commands that are followed now may not have run."""
        return [item.why for item in self._uncertainties if item.why]

    @contextmanager
    def uncertain(self, why: str) -> Iterator[None]:
        reason = _Uncertainty(why)
        self._uncertainties.append(reason)
        try:
            yield
        finally:
            self._uncertainties = [other for other in self._uncertainties if other is not reason]

    def uncertain_from_here(self, why: str, until: FlowScope) -> None:
        self._uncertainties.append(_Uncertainty(why, until))

    @contextmanager
    def scope(self, scope: FlowScope) -> Iterator[None]:
        """End the uncertainties that began inside, unless they reach further."""
        before = len(self._uncertainties)
        try:
            yield
        finally:
            self._uncertainties[before:] = [
                item for item in self._uncertainties[before:] if item.until > scope
            ]

    @contextmanager
    def nested(self) -> Iterator[None]:
        self.nesting += 1
        self.spend()
        try:
            yield
        finally:
            self.nesting -= 1

    @contextmanager
    def subshell(self) -> Iterator[None]:
        """Use a copy of folder and variables. `exit` and the like end only the subshell."""
        outer = self.state
        self.state = outer.fork(subshell=True)
        self._subshells += 1
        try:
            with self.scope(FlowScope.SHELL):
                yield
        except ControlFlow:
            pass
        finally:
            self.state = outer
            self._subshells -= 1

    @contextmanager
    def without_effects(self) -> Iterator[None]:
        """Expand words without recording effects or changing the state."""
        outer, before = self.state, self._no_effects
        self.state, self._no_effects = outer.fork(), True
        try:
            yield
        finally:
            self.state, self._no_effects = outer, before

    @contextmanager
    def locals(self) -> Iterator[None]:
        self._locals.append({})
        try:
            yield
        finally:
            self.state.variables.update(self._locals.pop())

    def save_local(self, name: str) -> None:
        if self._locals:
            self._locals[-1].setdefault(name, self.state.variables.get(name))

    def text(self, source: Value, succeeded: Status = None) -> Status:
        """Parse and follow a text."""
        if source.text is None or self.nesting > 10:
            return self.unknown_program()
        parsed = parse(source.text, self.nesting)
        self.only_printer = not self.output.lines or prints_alone(parsed.script)
        with self.nested(), self.uncertain(source.reason or ("" if parsed.complete else UNREADABLE)):
            return self.script(parsed.script, succeeded if parsed.complete else None)

    def in_subshell(
        self, source: Value, args: tuple[Value, ...], succeeded: Status, *, errexit: bool = False
    ) -> Status:
        with self.subshell():
            self.state.arguments = args[1:]
            self.state.variables["0"] = args[0] if args else unknown()
            if errexit:
                self.state.options.add("errexit")
            return self.text(source, succeeded)

    # Control flow.

    def run_to_end(self, action: Callable[[], Status]) -> None:
        try:
            action()
        except ControlFlow:
            return  # the shell ended here

    def script(self, script: Script, succeeded: Status = None) -> Status:
        return follow_script(self, script, succeeded)

    def node(self, node: Node, succeeded: Status = None) -> Status:
        return follow_node(self, node, succeeded)

    def condition(self, script: Script) -> Status:
        """Follow a script used as a condition, where a failure does not end the shell."""
        self._conditions += 1
        try:
            return self.script(script)
        finally:
            self._conditions -= 1

    @property
    def stops_at_failure(self) -> bool:
        return "errexit" in self.state.options and not self._conditions

    def follow_possibly(self, action: Callable[[], Status], why: str) -> bool:
        """Follow a branch that may not have run.

        What it would change is not known afterwards.

        Return whether it may have run: a successful script did not take a branch that ends in failure.
        """
        base, effects = self.state, len(self.effects)
        self.spend(1 + len(base.files) // 50)
        self.state = base.fork()
        end = self._follow_branch(action, why)
        other, self.state = self.state, base
        if isinstance(end, Exit) and end.levels and self.ok and not self._subshells:
            del self.effects[effects:]
            return False
        self.state.merge(other)
        if end is not None:
            self.uncertain_from_here(NOT_REACHED, end.scope)
        return True

    def _follow_branch(self, action: Callable[[], Status], why: str) -> ControlFlow | None:
        """Follow a branch. Return how it was left, None if it came to its end."""
        try:
            with self.uncertain(why):
                action()
        except ControlFlow as leaving:
            return leaving
        return None


# Lists, pipelines and conditions

IN_CONDITIONAL = "inside a conditional"
ON_SUCCESS = "only if the command before it succeeded"
ON_FAILURE = "only if the command before it failed"
IN_BACKGROUND = "runs in the background"


def follow_script(run: Interpreter, script: Script, succeeded: Status) -> Status:
    """Follow each command. `succeeded` is the known status of the last one."""
    status: Status = True
    for place, (node, background) in enumerate(script.items):
        if background:
            with run.subshell(), run.uncertain(IN_BACKGROUND):
                follow_node(run, node, None)
            status = True
            continue
        strict = run.stops_at_failure and _can_stop(node)
        last = place == len(script.items) - 1
        status = follow_node(run, node, True if strict and run.ok else succeeded if last else None)
        if status is False and strict:
            raise Exit(1)
    return status


def _can_stop(node: Node) -> bool:
    """Whether a failure ends the script under `set -e`.

    It does not if negated or before `&&` or `
    """
    return isinstance(node, Simple) or (isinstance(node, Pipeline) and not node.negated)


def follow_node(run: Interpreter, node: Node, succeeded: Status) -> Status:
    run.spend()
    if isinstance(node, Simple):
        return _follow_simple(run, node, succeeded)
    if isinstance(node, AndOr):
        return _follow_and_or(run, node, succeeded)
    if isinstance(node, Pipeline):
        return _follow_pipeline(run, node, succeeded)
    if isinstance(node, Redirected):
        with redirected(run, node.redirects) as opened:
            return follow_node(run, node.node, succeeded) if opened else False
    if isinstance(node, CommandGroup):
        if not node.subshell:
            return follow_script(run, node.body, succeeded)
        status: Status = None
        with run.subshell():
            status = follow_script(run, node.body, succeeded)
        return status
    if isinstance(node, If):
        return _follow_if(run, node, succeeded)
    if isinstance(node, Case):
        return _follow_case(run, node, succeeded)
    if isinstance(node, DoubleBracket):
        return evaluate_double_bracket(run, node)
    if isinstance(node, Calculation):
        number = arithmetic(run, run.single(node.source))
        return None if number is None else number != 0
    if isinstance(node, Function):
        run.state.functions[node.name] = node.body
        return True
    with run.scope(FlowScope.LOOP):
        if isinstance(node, For):
            return for_loop(run, node)
        return counting_loop(run, node) if isinstance(node, CountingFor) else while_loop(run, node)


def _follow_simple(run: Interpreter, node: Simple, succeeded: Status) -> Status:
    if node.words and plain(node.words[0]) == "let":
        args = [run.single(word) for word in node.words]  # a star is a multiplication here
    else:
        args = [value for word in node.words for value in run.fields(word)]
    reason = next((value.reason for value in args if value.reason), "")
    with run.uncertain(reason), redirected(run, node.redirects) as opened:
        if not opened:
            return False
        variables = run.state.variables
        before = {
            assignment.name: variables[assignment.name]
            for assignment in node.assigns
            if assignment.name in variables
        }
        declares = bool(args) and args[0].text in DECLARING
        for assignment in node.assigns:
            if declares and args[0].text == "local":
                run.save_local(assignment.name)
            assign(run, assignment)
        if not args:
            return True
        status = follow_command(run, args, succeeded)
        if not declares:  # an assignment before a command is for that command only
            for assignment in node.assigns:
                run.state.variables.pop(assignment.name, None)
            run.state.variables.update(before)
        return status


def _follow_and_or(run: Interpreter, node: AndOr, succeeded: Status) -> Status:
    conclusive = "&&" if succeeded else "||"
    certain = len(node.rest)
    while certain > 0 and succeeded is not None and node.rest[certain - 1][0] == conclusive:
        certain -= 1  # if `a && b` succeeded, both did; if `a || b` failed, both did
    status = follow_node(run, node.first, succeeded if certain == 0 else None)
    for place, (op, following) in enumerate(node.rest):
        sure = succeeded is not None and place >= certain
        if status is None and sure:
            status = succeeded
        if status is None:
            run.follow_possibly(
                partial(follow_node, run, following, None), ON_SUCCESS if op == "&&" else ON_FAILURE
            )
        elif status is (op == "&&"):
            status = follow_node(run, following, succeeded if sure else None)
    return status


def _follow_pipeline(run: Interpreter, node: Pipeline, succeeded: Status) -> Status:
    if len(node.stages) == 1:
        return negated(follow_node(run, node.stages[0], negated(succeeded)))
    status: Status = None
    stdin, outer = run.state.input, run.printed
    for place, stage in enumerate(node.stages):
        last = place == len(node.stages) - 1
        run.printed = outer if last else []
        with run.nested(), run.subshell():
            run.state.input = stdin
            all_succeeded = succeeded is True and "pipefail" in run.state.options and not node.negated
            whole = negated(succeeded) if node.negated else succeeded
            status = follow_node(run, stage, whole if last else True if all_succeeded else None)
        stdin = Input(joined(run.printed)) if not last else stdin
    run.printed = outer
    return negated(status) if node.negated else status


def _follow_if(run: Interpreter, node: If, succeeded: Status) -> Status:
    undecided = False
    for condition, body in node.branches:
        status = run.condition(condition)
        if status is True and not undecided:
            return follow_script(run, body, succeeded)
        if status is not False:
            undecided = (
                run.follow_possibly(partial(follow_script, run, body, succeeded), IN_CONDITIONAL) or undecided
            )
        if status is True:
            return None
    return _last_branch(run, node.otherwise, undecided, succeeded)


def _last_branch(run: Interpreter, body: Script | None, undecided: bool, succeeded: Status) -> Status:
    if body is None:
        return None if undecided else True
    if undecided:
        run.follow_possibly(partial(follow_script, run, body, succeeded), IN_CONDITIONAL)
        return None
    return follow_script(run, body, succeeded)


def _follow_case(run: Interpreter, node: Case, succeeded: Status) -> Status:
    subject = run.single(node.subject).text
    undecided = False
    for patterns, body in node.arms:
        answers = [_arm_matches(run, word, subject) for word in patterns]
        if True in answers:
            return _last_branch(run, body, undecided, succeeded)
        if None in answers:
            undecided = (
                run.follow_possibly(partial(follow_script, run, body, succeeded), IN_CONDITIONAL) or undecided
            )
    return None if undecided else True


def _arm_matches(run: Interpreter, word: Word, subject: str | None) -> Status:
    pieces = run.pieces(word)
    if pieces is not None and [text for text, _ in pieces] == ["*"]:
        return True
    source = None if pieces is None else glob_source(pieces)
    return None if source is None or subject is None else matches(source, subject)


# Loops

MOST_ROUNDS = 10_000
INPUT_IN_OUTPUT = "input not known: files named in output"
PERHAPS_NEVER = "inside a loop that may not run"
TOO_LONG = "after a loop that was too long to follow to its end"


def _follow_round(run: Interpreter, body: Script) -> bool:
    """Follow a round of a loop. Return whether there may be another."""
    run.rounds += 1
    if run.rounds > MOST_ROUNDS:
        run.uncertain_from_here(TOO_LONG, FlowScope.SHELL)
        return False
    try:
        with run.scope(FlowScope.ROUND):
            run.script(body)
    except Continue as leaving:
        if leaving.levels > 1:
            raise Continue(leaving.levels - 1) from None
    except Break as leaving:
        if leaving.levels > 1:
            raise Break(leaving.levels - 1) from None
        return False
    return True


def for_loop(run: Interpreter, node: For) -> Status:
    if node.words is None:
        items = list(run.state.arguments)
    else:
        items = [value for word in node.words for value in run.fields(word)]
    names = [item.text for item in items if item.text is not None]
    reason = LOCALE if order_is_local(names) and calculates(node.body) else ""
    for item in items:
        if item.is_no_match:
            continue
        if item.text is None:
            if not _rounds_from_output(run, node.name, item, node.body):
                break
            continue
        run.state.variables[node.name] = item
        with run.uncertain(item.reason or reason):
            if not _follow_round(run, node.body):
                break
    return None


def _rounds_from_output(run: Interpreter, name: str, item: Value, body: Script) -> bool:
    """Follow rounds for the names in the output.

    Without any, follow one possible round with an unknown name.
    """
    names = loop_values(run, name, item, body)
    with run.uncertain(NAMED):
        for text in names:
            run.state.variables[name] = known(text)
            if not _follow_round(run, body):
                return False
        if not names:
            run.state.variables[name] = unknown(name, item.pattern)
            run.follow_possibly(lambda: _follow_round(run, body), PERHAPS_NEVER)
    return True


def counting_loop(run: Interpreter, node: CountingFor) -> Status:
    arithmetic(run, run.single(node.start))
    while True:
        go = arithmetic(run, run.single(node.condition)) if node.condition else 1
        if go is None:
            run.follow_possibly(lambda: _follow_round(run, node.body), PERHAPS_NEVER)
            return None
        if not go or not _follow_round(run, node.body):
            return None
        arithmetic(run, run.single(node.step))


def while_loop(run: Interpreter, node: While) -> Status:
    if (name := _reads_unknown(run, node)) and (names := loop_values(run, name, unknown(name), node.body)):
        with run.uncertain(INPUT_IN_OUTPUT):
            for text in names:
                run.state.variables[name] = known(text)
                if not _follow_round(run, node.body):
                    break
        return None
    last: object = None
    while True:
        status = run.condition(node.condition)
        go = negated(status) if node.until else status
        if go is None:
            run.follow_possibly(lambda: _follow_round(run, node.body), PERHAPS_NEVER)
            return None
        done = len(run.effects)
        if not go or not _follow_round(run, node.body):
            return None
        now = run.state.cwd, run.state.input.at, dict(run.state.variables), run.effects[done:]
        if now == last:
            return run.unknown_program()  # it waits for something outside the script
        last = now


def _reads_unknown(run: Interpreter, node: While) -> str:
    """Return the variable of `while read -r name` if the input is not known."""
    first = node.condition.items[0][0] if len(node.condition.items) == 1 else None
    if not isinstance(first, Simple) or not first.words or plain(first.words[0]) != "read":
        return ""
    return (plain(first.words[-1]) or "") if run.state.input.value.text is None else ""


# Redirections

_WRITING = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})


@contextmanager
def redirected(run: Interpreter, redirects: tuple[Redirect, ...]) -> Iterator[bool]:
    """Apply redirections while a command runs. Yield whether the command can run."""
    saved = run.state.input, run.printed, run.errors_visible, run.stdout_visible
    collected: list[tuple[str, list[Value]]] = []
    opened = True
    for redirect in redirects:
        opened = opened and _open_redirect(run, redirect, collected)
    try:
        yield opened
    finally:
        run.state.input, run.printed, run.errors_visible, run.stdout_visible = saved
    for path, values in collected:
        run.state.contents[path] = joined(values)


def _open_redirect(run: Interpreter, redirect: Redirect, collected: list[tuple[str, list[Value]]]) -> bool:
    if redirect.op in ("<<", "<<-", "<<<"):
        value = run.single(redirect.body if redirect.body is not None else redirect.target)
        run.state.input = Input(joined([value, known("\n")]) if redirect.op == "<<<" else value)
        return True
    process = redirect.target[0] if len(redirect.target) == 1 else None
    if isinstance(process, Substitution) and process.direction:
        printed_text = run.capture(process.body, process.direction)
        if redirect.op == "<":
            run.state.input = Input(printed_text)
        return True
    values = run.fields(redirect.target)
    target = values[0] if len(values) == 1 else unknown()
    with run.uncertain(target.reason):
        return _open_target(run, redirect, target, collected)


def _open_target(
    run: Interpreter, redirect: Redirect, target: Value, collected: list[tuple[str, list[Value]]]
) -> bool:
    if redirect.op in ("<&", ">&") and (target.text or "").rstrip("-").isdigit():
        return _duplicate_descriptor(
            run, redirect.fd or ("1" if redirect.op == ">&" else "0"), target.text or ""
        )
    if target.text == "-":
        return True
    if redirect.op == "<":
        return _redirect_input(run, target)
    return _redirect_output(run, redirect, target, collected) if redirect.op in _WRITING else True


def _duplicate_descriptor(run: Interpreter, fd: str, target: str) -> bool:
    if fd == "2":
        run.errors_visible = run.errors_visible and (target != "1" or run.stdout_visible)
    elif fd == "1" and target == "2":
        run.printed = []
    return True


def _redirect_input(run: Interpreter, target: Value) -> bool:
    path = None if target.text is None else run.state.path(target.text)
    run.state.input = Input(unknown())
    if path is None or target.text is None:
        return True
    if path.startswith("/dev/"):
        run.state.input = Input(known("") if path == "/dev/null" else unknown())
        return True
    call = run.call("shell", [target], succeeded=None)
    status = call.read(target)
    if path in run.state.contents:
        run.state.input = Input(run.state.contents[path])
    return status is not False


def _redirect_output(
    run: Interpreter, redirect: Redirect, target: Value, collected: list[tuple[str, list[Value]]]
) -> bool:
    both = redirect.op.startswith("&") or (redirect.op == ">&" and not redirect.fd)
    append = redirect.op in (">>", "&>>", "<>")
    path = None if target.text is None else run.state.path(target.text)
    values: list[Value] = []
    if both or redirect.fd in ("", "1"):
        run.printed = values
        run.stdout_visible = False
    if both or redirect.fd == "2":
        run.errors_visible = False
    if path is None or target.text is None or path.startswith("/dev/"):
        return True
    call = run.call("shell", [target], succeeded=None)
    reason = call.verdict(target.text, proven=True)
    if reason is None or call.lacks_parent(path) or call.certain(path, FileKind.FOLDER):
        if reason is not None:
            call.must_fail(target.text)
        return False
    before = run.state.contents.get(path) if append else known("")
    call.write(path, append=append)
    if redirect.fd in ("", "1") and before is not None:
        values.append(before)
        collected.append((path, values))
    return True


# Entry point

LONGEST_COMMAND = 256 * 1024
CUT = "the command was too long to be read to its end"
FAILED = "the command failed"


def file_effects(
    command: str | Sequence[str],
    *,
    cwd: str,
    output: str = "",
    ok: bool = True,
    home: str | None = None,
    listing: Listing | None = None,
    known: KnownFolders | None = None,
) -> tuple[FileEffect, ...]:
    """Return what a command did to files, in the order it did so.

    `command` is a shell script or the words of a single command. `output` is what it printed, with errors.
    `ok` says whether it ended with status 0. `home` is the home folder, for `~` and `$HOME`.

    `listing` returns the names in a folder before the command ran; folder names end in a slash. It may raise
    FileNotFoundError, NotADirectoryError, or LookupError for a folder that it does not know.

    `known` is what the session knew of its folders and replaces `listing`. Effects that rest on it are
    inferred. After a successful command it is updated.
    """
    start = posixpath.normpath("/" + cwd.lstrip("/")) if cwd.startswith("/") else None

    def interpret(command_output: CommandOutput) -> Interpreter:
        files = FileTree(start or "/", listing if known is None else known.listing, old=known is not None)
        run = Interpreter(State(start, home, files), command_output, ok=ok)
        _interpret(run, command)
        return run

    command_output = CommandOutput(output)
    if command_output.has_errors:
        # The first pass finds the failures that must happen. Their error messages then no longer count
        # against other commands on the same file.
        command_output = CommandOutput(output, interpret(CommandOutput("")).expected_failures)
    run = interpret(command_output)
    if known is not None and ok:
        known.learn_from(run.state.files)
    return tuple(run.effects)


def _interpret(run: Interpreter, command: str | Sequence[str]) -> None:
    """Follow a command to its end, or until the limit on the work is reached."""
    size = len(command) if isinstance(command, str) else sum(map(len, command))
    with run.uncertain("" if run.ok else FAILED), run.uncertain(CUT if size > LONGEST_COMMAND else ""):
        try:
            if isinstance(command, str):
                run.run_to_end(partial(run.text, Value((command[:LONGEST_COMMAND],)), run.ok))
            elif command and size <= LONGEST_COMMAND:
                words = [Value((word,)) for word in command]
                run.run_to_end(partial(follow_command, run, words, run.ok))
            for trap in run.state.traps:
                run.run_to_end(partial(run.script, trap))
        except Exhausted:
            return
