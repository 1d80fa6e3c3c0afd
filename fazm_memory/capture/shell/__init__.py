"""What a shell command did to files, told from its text, its output and its exit status alone.

Nothing is run and no file is looked at. The script is followed as a shell would run it; what cannot be told
for certain is marked as inferred, with the reason, and a name that is not known is never made up.

From text to commands: `words`, `clauses`, `parser`, `syntax`. From words to arguments: `braces`, `expand`,
`parameters`, `arithmetic`, `glob`, `pattern`, `value`. What happens: `run`, `follow`, `loops`, `conditions`,
`redirects`, `builtins`, `variables`, `state`. What commands do: `commands`, `call`, `transfers`, `folders`,
`effects`, `editors`, `git`, `archives`, `find`, `xargs`, `reads`, `queries`. What they print: `text`, `sed`.
What is known beside the text: `world` of the files, `known` of the session's folders, `output` and `told` of
what was printed.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from functools import partial

from fazm_memory.capture.shell.call import Change, FileEffect
from fazm_memory.capture.shell.commands import command as follow_command
from fazm_memory.capture.shell.known import Known
from fazm_memory.capture.shell.output import Evidence
from fazm_memory.capture.shell.run import Exhausted, Run
from fazm_memory.capture.shell.state import State
from fazm_memory.capture.shell.value import Value
from fazm_memory.capture.shell.world import World

__all__ = ["Change", "FileEffect", "Known", "file_effects"]

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
    listing: Callable[[str], Sequence[str]] | None = None,
    known: Known | None = None,
) -> tuple[FileEffect, ...]:
    """The files a command read, created, modified, renamed or deleted, in the order it did so.

    `command` is a shell text or the words of one command. `output` is what it printed, errors included, and
    `ok` whether it ended with status 0. `listing` names the entries of a folder as they were before the
    command; a name that ends in a slash is a folder. It may raise FileNotFoundError or NotADirectoryError to
    say so, and LookupError for a folder it does not know. `known` is what the session knew by then, in place
    of a listing: what rests on it is inferred, and when the command went well it learns what that left.
    """
    start = posixpath.normpath("/" + cwd.lstrip("/")) if cwd.startswith("/") else None

    def follow(evidence: Evidence) -> Run:
        told = listing if known is None else known.listing
        world = World(start or "/", told, old=known is not None)
        run = Run(State(start, home, world), evidence, ok=ok)
        _follow(run, command)
        return run

    evidence = Evidence(output)
    if evidence.has_complaints:
        # A failure that can be foreseen explains its complaint, which then says nothing of like commands.
        evidence = Evidence(output, follow(Evidence("")).foreseen)
    run = follow(evidence)
    if known is not None and ok:
        known.after(run.state.world)
    return tuple(run.effects)


def _follow(run: Run, command: str | Sequence[str]) -> None:
    """Follows a command to its end, or as far as the work it may take allows: what was told so far stands."""
    size = len(command) if isinstance(command, str) else sum(map(len, command))
    with run.doubting("" if run.ok else FAILED), run.doubting(CUT if size > LONGEST_COMMAND else ""):
        try:
            if isinstance(command, str):
                run.to_its_end(partial(run.text, Value((command[:LONGEST_COMMAND],)), run.ok))
            elif command and size <= LONGEST_COMMAND:
                words = [Value((word,)) for word in command]
                run.to_its_end(partial(follow_command, run, words, run.ok))
            for trap in run.state.traps:
                run.to_its_end(partial(run.script, trap))
        except Exhausted:
            return
