"""The grammar of a shell text as values: lists, pipelines, loops, conditions, functions and redirections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Param:
    """`$name` and `${name…}`. `op` is the operator as written, or one of `length`, `keys`, `indirect`,
    `modifiers` (zsh `${f:t:r}`) and `unknown`."""

    name: str
    op: str = ""
    args: tuple[Word, ...] = ()
    index: Word | None = None
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Substitution:
    """`$(…)` and backquotes; with a direction, the process substitutions `<(…)` and `>(…)`."""

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
    """`body` is the text of a here-document: known only once the line is over, hence not frozen."""

    fd: str
    op: str
    target: Word
    body: Word | None = None


@dataclass(frozen=True, slots=True)
class Assign:
    name: str
    value: Word
    append: bool = False
    index: Word | None = None
    items: tuple[tuple[Word | None, Word], ...] | None = None


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
    """Each command with whether it runs in the background."""


@dataclass(frozen=True, slots=True)
class Group:
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
class Count:
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


Loop: TypeAlias = For | Count | While
Node: TypeAlias = (
    Simple | Pipeline | AndOr | Group | If | Loop | Case | DoubleBracket | Calculation | Function | Redirected
)


def plain(word: Word) -> str | None:
    """The text of a word that holds nothing but unquoted text: how keywords are told from words."""
    if len(word) == 1 and isinstance(word[0], Text) and not word[0].quoted:
        return word[0].text
    return None
