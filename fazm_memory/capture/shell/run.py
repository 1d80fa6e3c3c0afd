"""A script followed command by command without running it: what it surely did, and what it may have done.

Where a choice cannot be told, every way is followed, and what it does is marked as doubtful.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fazm_memory.capture.shell.builtins import Exit, Leaving, Scope
from fazm_memory.capture.shell.call import Call, Change, FileEffect, Status
from fazm_memory.capture.shell.commands import command
from fazm_memory.capture.shell.expand import fields, pattern_pieces, single
from fazm_memory.capture.shell.follow import follow, follow_script
from fazm_memory.capture.shell.output import Evidence
from fazm_memory.capture.shell.parser import parse
from fazm_memory.capture.shell.pattern import Pieces
from fazm_memory.capture.shell.state import Input, State, Variable
from fazm_memory.capture.shell.syntax import Node, Script, Word
from fazm_memory.capture.shell.told import speaks_alone
from fazm_memory.capture.shell.value import Value, joined, unknown

MOST_STEPS = 60_000
NOT_REACHED = "may not have been reached"
UNREADABLE = "part of the command could not be read"


class Exhausted(Exception):
    """The script is longer to follow than is worth it."""


@dataclass(frozen=True, eq=False, slots=True)
class _Doubt:
    why: str
    until: Scope = Scope.ROUND


class Run:
    def __init__(self, state: State, evidence: Evidence, *, ok: bool) -> None:
        self.state = state
        self.evidence = evidence
        self.ok = ok
        self.effects: list[FileEffect] = []
        self._doubts: list[_Doubt] = []
        self.foreseen: list[tuple[str, str]] = []
        self.out: list[Value] = []
        self.visible = True
        self.reaches_output = True
        self.alone = True
        self.steps = self.rounds = self.nesting = 0
        self._used: set[int] = set()
        self._conditions = self._subshells = 0
        self._is_dry = False
        self._locals: list[dict[str, Variable]] = []

    # What an expansion asks of its shell.

    def fields(self, word: Word) -> list[Value]:
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
        """What a script prints, in a subshell."""
        if self._is_dry:
            return unknown()
        outer, visible, reaches = self.out, self.visible, self.reaches_output
        self.out, self.reaches_output = [], False
        with self.nested(), self.subshell():
            if direction == ">":
                self.state.input = Input()
            self.script(script)
        said, self.out = joined(self.out), outer
        self.visible, self.reaches_output = visible, reaches
        return said

    # What the commands ask of it.

    def say(self, value: Value) -> None:
        self.out.append(value)

    def disturbed(self) -> Status:
        """A program has run of which nothing is known."""
        if not self._is_dry:
            self.state.world.disturb()
            self.state.contents.clear()
        self.say(unknown())
        return None

    def emit(self, path: str, change: Change, origin: str | None, why: str) -> bool:
        reasons = dict.fromkeys(reason for reason in (why, *self.reasons) if reason)
        if not self._is_dry and not path.startswith("/dev/"):
            self.spend()
            self.effects.append(FileEffect(path, change, origin, bool(reasons), "; ".join(reasons)))
        return not self.reasons

    def call(self, name: str, args: list[Value], ended: Status) -> Call:
        return Call(
            name=name,
            args=args,
            state=self.state,
            evidence=self.evidence,
            emit=self.emit,
            ended=ended,
            visible=self.visible,
            alone=self.alone,
            foreseen=self.foreseen,
            used=self._used,
            input=self.state.input,
            say=self.say,
            execute=lambda words: command(self, words, None),
            doubting=self.doubting,
            spend=self.spend,
        )

    @property
    def reasons(self) -> list[str]:
        """Why what happens now may not have happened."""
        return [doubt.why for doubt in self._doubts if doubt.why]

    @contextmanager
    def doubting(self, why: str) -> Iterator[None]:
        doubt = _Doubt(why)
        self._doubts.append(doubt)
        try:
            yield
        finally:
            self._doubts = [other for other in self._doubts if other is not doubt]

    def doubt_from_here(self, why: str, until: Scope) -> None:
        self._doubts.append(_Doubt(why, until))

    @contextmanager
    def scope(self, reach: Scope) -> Iterator[None]:
        """What is left in doubt inside ends with it, unless it reaches further."""
        before = len(self._doubts)
        try:
            yield
        finally:
            self._doubts[before:] = [doubt for doubt in self._doubts[before:] if doubt.until > reach]

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
        """Folder and variables of its own; leaving it leaves nothing else."""
        outer = self.state
        self.state = outer.fork(subshell=True)
        self._subshells += 1
        try:
            with self.scope(Scope.SHELL):
                yield
        except Leaving:
            pass
        finally:
            self.state = outer
            self._subshells -= 1

    @contextmanager
    def dry(self) -> Iterator[None]:
        """Expansions for their text alone."""
        outer, before = self.state, self._is_dry
        self.state, self._is_dry = outer.fork(), True
        try:
            yield
        finally:
            self.state, self._is_dry = outer, before

    @contextmanager
    def locals(self) -> Iterator[None]:
        self._locals.append({})
        try:
            yield
        finally:
            self.state.variables.update(self._locals.pop())

    def keep_local(self, name: str) -> None:
        if self._locals:
            self._locals[-1].setdefault(name, self.state.variables.get(name))

    def text(self, source: Value, ended: Status = None) -> Status:
        """Follows commands that are only now known as text."""
        if source.text is None or self.nesting > 10:
            return self.disturbed()
        parsed = parse(source.text, self.nesting)
        self.alone = speaks_alone(parsed.script)
        with self.nested(), self.doubting(source.doubt or ("" if parsed.complete else UNREADABLE)):
            return self.script(parsed.script, ended if parsed.complete else None)

    def in_subshell(
        self, source: Value, args: tuple[Value, ...], ended: Status, *, errexit: bool = False
    ) -> Status:
        with self.subshell():
            self.state.arguments = args[1:]
            self.state.variables["0"] = args[0] if args else unknown()
            if errexit:
                self.state.options.add("errexit")
            return self.text(source, ended)

    # How it goes on.

    def to_its_end(self, action: Callable[[], Status]) -> None:
        try:
            action()
        except Leaving:
            return  # the shell itself went no further

    def script(self, script: Script, ended: Status = None) -> Status:
        return follow_script(self, script, ended)

    def node(self, node: Node, ended: Status = None) -> Status:
        return follow(self, node, ended)

    def condition(self, script: Script) -> Status:
        """A script whose failure is an answer and ends nothing."""
        self._conditions += 1
        try:
            return self.script(script)
        finally:
            self._conditions -= 1

    @property
    def stops_at_failure(self) -> bool:
        return "errexit" in self.state.options and not self._conditions

    def may(self, action: Callable[[], Status], why: str) -> bool:
        """Follows a way that may have been taken, and forgets what it would have changed.

        Answers whether it may have been: a command that succeeded did not take a way that ends in failure.
        """
        base, effects = self.state, len(self.effects)
        self.spend(1 + len(base.world) // 50)
        self.state = base.fork()
        end = self._way(action, why)
        other, self.state = self.state, base
        if isinstance(end, Exit) and end.levels and self.ok and not self._subshells:
            del self.effects[effects:]
            return False
        self.state.merge(other)
        if end is not None:
            self.doubt_from_here(NOT_REACHED, end.scope)
        return True

    def _way(self, action: Callable[[], Status], why: str) -> Leaving | None:
        """How the way was left, or None when it came to its end."""
        try:
            with self.doubting(why):
                action()
        except Leaving as leaving:
            return leaving
        return None
