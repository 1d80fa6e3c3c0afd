"""What the model tells Codex to do: the same days as in `claude`, in the words of Codex's own tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.e2e.scenarios.script import AGENT_ID, Call, Outcome, Scenario, Text, Thinking, Turn, do, say


def shell(command: str, outcome: Outcome = "ok") -> Call:
    return Call("exec_command", {"cmd": command}, outcome, hook_tool="Bash", hook_input={"command": command})


def patch(*lines: str, outcome: Outcome = "ok") -> Call:
    text = "\n".join(("*** Begin Patch", *lines, "*** End Patch", ""))
    return Call("apply_patch", text, outcome, hook_input={"command": text})


def file_edits(workspace: Path) -> Scenario:
    return Scenario(
        "file edits",
        (
            Turn(
                (
                    Thinking("The plan comes first."),
                    Text("I will draft it."),
                    patch("*** Add File: plan.md", "+draft"),
                )
            ),
            do(shell("cat notes.txt")),
            do(patch("*** Update File: notes.txt", "@@", " alpha", "-beta", "+gamma")),
            do(patch("*** Update File: plan.md", "*** Move to: final.md", "@@", "-draft", "+final")),
            say("The plan is final."),
        ),
        files={"notes.txt": "alpha\nbeta\n"},
        leaves={"notes.txt": "alpha\ngamma\n", "final.md": "final\n"},
    )


def shell_moves(workspace: Path) -> Scenario:
    return Scenario(
        "shell moves",
        (
            do(shell("mkdir invoices && mv scan1.txt scan2.txt invoices/")),
            do(shell('cd invoices && for f in scan*.txt; do mv "$f" "2026-03_${f#scan}"; done')),
            say("Two scans filed, the photo left alone."),
        ),
        files={"scan1.txt": "one\n", "scan2.txt": "two\n", "photo.txt": "sea\n"},
        leaves={"invoices/2026-03_1.txt": "one\n", "invoices/2026-03_2.txt": "two\n", "photo.txt": "sea\n"},
    )


def failures(workspace: Path) -> Scenario:
    return Scenario(
        "failures",
        (
            do(shell("echo 'disk is full' >&2; exit 3", "error")),
            do(patch("*** Update File: missing.txt", "@@", "-a", "+b", outcome="error")),
            do(shell("echo recovered > log.txt")),
            say("It worked the third time."),
        ),
        leaves={"log.txt": "recovered\n"},
    )


def denials(workspace: Path) -> Scenario:
    return Scenario(
        "denials",
        (do(shell("rm precious.txt", "denied")), do(shell("cat precious.txt")), say("Nothing was deleted.")),
        files={"precious.txt": "keep\n"},
        leaves={"precious.txt": "keep\n"},
        forbidden=("rm",),
    )


def at_once(workspace: Path) -> Scenario:
    """Several calls in one turn; one of them fails and must not take the others with it."""
    return Scenario(
        "at once",
        (do(shell("echo a > a.txt"), shell("cat old.txt"), shell("exit 4", "error")), say("Two of three.")),
        files={"old.txt": "old\n"},
        leaves={"old.txt": "old\n", "a.txt": "a\n"},
    )


def subagent(workspace: Path) -> Scenario:
    """Codex goes on while its subagent works, so the script waits for it by the id it was given."""
    prompt = "Count the files in this folder and write the number down."
    spawn = Call("spawn_agent", {"message": prompt}, namespace="multi_agent_v1", hook_tool="spawn_agent")
    wait = Call(
        "wait_agent",
        {"targets": [AGENT_ID], "timeout_ms": 20_000},
        namespace="multi_agent_v1",
        # Spelt so by Codex 0.166, without a separator.
        hook_tool="multi_agent_v1wait_agent",
    )
    return Scenario(
        "subagent",
        (do(spawn), do(wait), do(shell("cat count.txt")), say("Counted.")),
        files={"one.txt": "1\n"},
        leaves={"one.txt": "1\n", "count.txt": "1\n"},
        subagents={prompt: (do(shell("ls | wc -l | tr -d ' ' > .n; mv .n count.txt")), say("One file."))},
    )


def ledger(workspace: Path) -> Scenario:
    return Scenario(
        "ledger",
        (
            do(Call("look_up", {"item": "rent"}, namespace="mcp__ledger")),
            do(Call("strike", {"item": "rent"}, "error", namespace="mcp__ledger")),
            say("The rent stays."),
        ),
        mcp=True,
    )


def long_talk(workspace: Path) -> Scenario:
    """The second answer claims a context so full that the client compacts before it goes on."""
    return Scenario(
        "long talk",
        (
            do(shell("echo one > 1.txt")),
            do(shell("echo two > 2.txt"), input_tokens=98_000),
            do(shell("echo three > 3.txt")),
            say("Three files."),
        ),
        leaves={"1.txt": "one\n", "2.txt": "two\n", "3.txt": "three\n"},
        settings={"model_auto_compact_token_limit": 90_000},
    )


def overload(workspace: Path) -> Scenario:
    """The model fails once: the client tries again, and the call is still made only once."""
    busy = Turn((shell("echo patient >> log.txt"),), failures=(503,))
    return Scenario(
        "overload",
        (busy, say("Got through.")),
        leaves={"log.txt": "patient\n"},
        settings={"model_providers": {"scripted": {"request_max_retries": 2}}},
    )


def another_look(workspace: Path) -> Scenario:
    """A second prompt for a session that is resumed or forked."""
    return Scenario("another look", (do(shell("ls")), say("Still here.")))


def blocked(workspace: Path, gate_command: str) -> Scenario:
    """The second call does not end by itself: the moment to kill the client in mid-call."""
    calls = (shell("echo begun > begun.txt"), shell(gate_command, "interrupted"))
    return Scenario("blocked", tuple(do(call) for call in calls), leaves={"begun.txt": "begun\n"})


def silence(workspace: Path) -> Scenario:
    """After one call the model never answers again: the moment to kill the client while it waits."""
    return Scenario(
        "silence",
        (do(shell("echo begun > begun.txt")), Turn((), hangs=True)),
        leaves={"begun.txt": "begun\n"},
    )


# Those that run from a first prompt to a last word.
COMPLETE: tuple[Callable[[Path], Scenario], ...] = (
    file_edits,
    shell_moves,
    failures,
    denials,
    at_once,
    subagent,
    ledger,
    long_talk,
    overload,
)
