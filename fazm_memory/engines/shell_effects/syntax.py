"""The syntax tree of a script.

A word is a tuple of parts. Quoted parts stay marked, because only unquoted text is later split, expanded as
braces or matched as a glob.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Param:
    """`$name` and `${name…}`.

    `op` is the operator as written, `length`, or `unknown` (arrays, `${!x}`, zsh `${f:t:r}`).
    """

    name: str
    op: str = ""
    args: tuple[Word, ...] = ()
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Substitution:
    """`$(…)` and backquotes. With a direction: the process substitutions `<(…)` and `>(…)`."""

    body: Script
    quoted: bool = False
    direction: str = ""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    source: Word
    quoted: bool = False


Part: TypeAlias = Text | Param | Substitution | Arithmetic
Word: TypeAlias = tuple[Part, ...]


@dataclass(slots=True)
class Redirect:
    """A redirection. `body` is the text of a here-document, which is read after the line: not frozen."""

    fd: str
    op: str
    target: Word
    body: Word | None = None


@dataclass(frozen=True, slots=True)
class Assign:
    name: str
    value: Word
    append: bool = False


@dataclass(frozen=True, slots=True)
class Simple:
    assigns: tuple[Assign, ...] = ()
    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    stages: tuple[Node, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class AndOr:
    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Script:
    items: tuple[tuple[Node, bool], ...]
    """Each command, and whether it runs in the background."""


@dataclass(frozen=True, slots=True)
class CommandGroup:
    body: Script
    subshell: bool


@dataclass(frozen=True, slots=True)
class If:
    branches: tuple[tuple[Script, Script], ...]
    otherwise: Script | None


@dataclass(frozen=True, slots=True)
class For:
    name: str
    words: tuple[Word, ...] | None
    body: Script


@dataclass(frozen=True, slots=True)
class CountingFor:
    """`for ((start; condition; step))`."""

    start: Word
    condition: Word
    step: Word
    body: Script


@dataclass(frozen=True, slots=True)
class While:
    condition: Script
    body: Script
    until: bool


@dataclass(frozen=True, slots=True)
class Case:
    subject: Word
    arms: tuple[tuple[tuple[Word, ...], Script], ...]


@dataclass(frozen=True, slots=True)
class DoubleBracket:
    tokens: tuple[str | Word, ...]


@dataclass(frozen=True, slots=True)
class Calculation:
    source: Word


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    body: Node


@dataclass(frozen=True, slots=True)
class Redirected:
    node: Node
    redirects: tuple[Redirect, ...]


Loop: TypeAlias = For | CountingFor | While
Node: TypeAlias = (
    Simple
    | Pipeline
    | AndOr
    | CommandGroup
    | If
    | Loop
    | Case
    | DoubleBracket
    | Calculation
    | Function
    | Redirected
)


def plain(word: Word) -> str | None:
    """Return the text of a word that has only unquoted text, else None."""
    if len(word) == 1 and isinstance(word[0], Text) and not word[0].quoted:
        return word[0].text
    return None
