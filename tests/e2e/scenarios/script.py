"""What a scripted model says, turn by turn, and what the client is expected to have done by the end.

A scenario is plain data: the same value drives the model server, fills the workspace before the run, and
tells a test which actions must have been recorded, in order, each once, with which outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal["ok", "error", "denied", "interrupted"]
By = Literal["agent", "subagent"]
JsonObject = Mapping[str, Any]


class _AnyAgentId(str):
    """Stands in a script for the id a client gives the subagent it has just spawned.

    No script can know that id beforehand: the model server puts the real one in its place, and for
    `expected == recorded` it equals whatever id was recorded.
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str)

    def __hash__(self) -> int:
        return super().__hash__()


AGENT_ID = _AnyAgentId("the agent just spawned")


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Thinking:
    text: str


@dataclass(frozen=True)
class Call:
    """A tool call as the model words it, with the outcome the client should reach.

    `hook_tool` and `hook_input` are how the client's own hooks word the same call, where they differ: Codex
    shows `exec_command` as `Bash`, Claude Code fills in defaults.
    """

    tool: str
    input: JsonObject | str
    outcome: Outcome = "ok"
    namespace: str | None = None
    hook_tool: str | None = None
    hook_input: JsonObject | None = None


@dataclass(frozen=True)
class Turn:
    """One answer of the model. `failures` are HTTP statuses given to the first tries at this turn."""

    says: tuple[Text | Thinking | Call, ...]
    input_tokens: int | None = None
    failures: tuple[int, ...] = ()
    hangs: bool = False

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(block for block in self.says if isinstance(block, Call))


@dataclass(frozen=True)
class Action:
    """One thing a recorder must know of: what was called, with what, how it ended, and who called it."""

    tool: str
    input: JsonObject | str
    outcome: Outcome
    by: By
    hook_tool: str
    hook_input: JsonObject | str


@dataclass(frozen=True)
class Scenario:
    """A script with its surroundings.

    `files` stand in the workspace before the run and `leaves` are all that stand there after it. `subagents`
    maps the prompt a subagent is given to what the model tells it. `forbidden` are programs the user's rules
    forbid; `settings` are the client's own, handed to it for this run only; `mcp` asks for the tiny MCP
    server.
    """

    name: str
    turns: tuple[Turn, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    leaves: Mapping[str, str] = field(default_factory=dict)
    subagents: Mapping[str, tuple[Turn, ...]] = field(default_factory=dict)
    forbidden: tuple[str, ...] = ()
    settings: JsonObject = field(default_factory=dict)
    mcp: bool = False

    @property
    def expected_actions(self) -> tuple[Action, ...]:
        """Every scripted call in the order it starts: a subagent's calls follow the call that begot it."""
        return tuple(self._actions(self.turns, "agent"))

    def _actions(self, turns: tuple[Turn, ...], by: By) -> Iterator[Action]:
        for turn in turns:
            for call in turn.calls:
                yield _action(call, by)
                for prompt, inner in self.subagents.items():
                    if isinstance(call.input, Mapping) and prompt in call.input.values():
                        yield from self._actions(inner, "subagent")


def _action(call: Call, by: By) -> Action:
    full_name = f"{call.namespace}__{call.tool}" if call.namespace else call.tool
    return Action(
        tool=call.tool,
        input=call.input,
        outcome=call.outcome,
        by=by,
        hook_tool=call.hook_tool or full_name,
        hook_input=call.input if call.hook_input is None else call.hook_input,
    )


def say(text: str) -> Turn:
    return Turn((Text(text),))


def do(*calls: Call, input_tokens: int | None = None) -> Turn:
    return Turn(calls, input_tokens=input_tokens)
