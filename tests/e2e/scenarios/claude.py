"""What the model tells Claude Code to do. Each scenario is made for the workspace it will run in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.e2e.scenarios.script import Call, Outcome, Scenario, Text, Thinking, Turn, do, say


def bash(command: str, outcome: Outcome = "ok") -> Call:
    return Call("Bash", {"command": command}, outcome)


def read(path: Path, outcome: Outcome = "ok") -> Call:
    return Call("Read", {"file_path": str(path)}, outcome)


def write(path: Path, content: str) -> Call:
    return Call("Write", {"file_path": str(path), "content": content})


def edit(path: Path, old: str, new: str) -> Call:
    # The client writes this default into its transcript and hooks even when the model leaves it out.
    words = {"file_path": str(path), "old_string": old, "new_string": new, "replace_all": False}
    return Call("Edit", words)


def file_edits(workspace: Path) -> Scenario:
    plan, notes = workspace / "plan.md", workspace / "notes.txt"
    return Scenario(
        "file edits",
        (
            Turn((Thinking("The plan comes first."), Text("I will draft it."), write(plan, "draft\n"))),
            do(read(notes)),
            do(edit(notes, "beta", "gamma")),
            do(edit(plan, "draft", "final")),
            say("The plan is final."),
        ),
        files={"notes.txt": "alpha\nbeta\n"},
        leaves={"notes.txt": "alpha\ngamma\n", "plan.md": "final\n"},
    )


def shell_moves(workspace: Path) -> Scenario:
    return Scenario(
        "shell moves",
        (
            do(bash("mkdir invoices && mv scan1.txt scan2.txt invoices/")),
            do(bash('cd invoices && for f in scan*.txt; do mv "$f" "2026-03_${f#scan}"; done')),
            say("Two scans filed, the photo left alone."),
        ),
        files={"scan1.txt": "one\n", "scan2.txt": "two\n", "photo.txt": "sea\n"},
        leaves={"invoices/2026-03_1.txt": "one\n", "invoices/2026-03_2.txt": "two\n", "photo.txt": "sea\n"},
    )


def failures(workspace: Path) -> Scenario:
    return Scenario(
        "failures",
        (
            do(bash("echo 'disk is full' >&2; exit 3", "error")),
            do(read(workspace / "missing.txt", "error")),
            do(bash("echo recovered > log.txt")),
            say("It worked the third time."),
        ),
        leaves={"log.txt": "recovered\n"},
    )


def denials(workspace: Path) -> Scenario:
    """One call a rule forbids, and one that nobody is there to allow."""
    fetch = Call("WebFetch", {"url": "http://127.0.0.1:9/", "prompt": "Read it."}, "denied")
    return Scenario(
        "denials",
        (
            do(bash("rm precious.txt", "denied")),
            do(fetch),
            do(bash("cat precious.txt")),
            say("Nothing was deleted."),
        ),
        files={"precious.txt": "keep\n"},
        leaves={"precious.txt": "keep\n"},
        forbidden=("rm",),
    )


def at_once(workspace: Path) -> Scenario:
    """Several calls in one turn; one of them fails and must not take the others with it."""
    return Scenario(
        "at once",
        (
            do(bash("echo a > a.txt"), read(workspace / "old.txt"), bash("exit 4", "error")),
            say("Two of three."),
        ),
        files={"old.txt": "old\n"},
        leaves={"old.txt": "old\n", "a.txt": "a\n"},
    )


def subagent(workspace: Path) -> Scenario:
    prompt = "Count the files in this folder and write the number down."
    words = {"description": "Count files", "prompt": prompt, "subagent_type": "general-purpose"}
    return Scenario(
        "subagent",
        (do(Call("Agent", words)), do(bash("cat count.txt")), say("Counted.")),
        files={"one.txt": "1\n"},
        leaves={"one.txt": "1\n", "count.txt": "1\n"},
        subagents={prompt: (do(bash("ls | wc -l | tr -d ' ' > .n; mv .n count.txt")), say("One file."))},
    )


def ledger(workspace: Path) -> Scenario:
    return Scenario(
        "ledger",
        (
            do(Call("mcp__ledger__look_up", {"item": "rent"})),
            do(Call("mcp__ledger__strike", {"item": "rent"}, "error")),
            say("The rent stays."),
        ),
        mcp=True,
    )


def long_talk(workspace: Path) -> Scenario:
    """The second answer claims a context so full that the client compacts before it goes on."""
    return Scenario(
        "long talk",
        (
            do(bash("echo one > 1.txt")),
            do(bash("echo two > 2.txt"), input_tokens=98_000),
            do(bash("echo three > 3.txt")),
            say("Three files."),
        ),
        leaves={"1.txt": "one\n", "2.txt": "two\n", "3.txt": "three\n"},
        # 100,000 is the least the client accepts.
        settings={"autoCompactWindow": 100_000},
    )


def overload(workspace: Path) -> Scenario:
    """The model is overloaded once: the client tries again, and the call is still made only once."""
    busy = Turn((bash("echo patient >> log.txt"),), failures=(529,))
    return Scenario("overload", (busy, say("Got through.")), leaves={"log.txt": "patient\n"})


def another_look(workspace: Path) -> Scenario:
    """A second prompt for a session that is resumed or forked."""
    return Scenario("another look", (do(bash("ls")), say("Still here.")))


def blocked(workspace: Path, gate_command: str) -> Scenario:
    """The second call does not end by itself: the moment to kill the client in mid-call."""
    calls = (bash("echo begun > begun.txt"), bash(gate_command, "interrupted"))
    return Scenario("blocked", tuple(do(call) for call in calls), leaves={"begun.txt": "begun\n"})


def silence(workspace: Path) -> Scenario:
    """After one call the model never answers again: the moment to kill the client while it waits."""
    return Scenario(
        "silence", (do(bash("echo begun > begun.txt")), Turn((), hangs=True)), leaves={"begun.txt": "begun\n"}
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
