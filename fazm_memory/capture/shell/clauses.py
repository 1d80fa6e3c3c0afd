"""The clauses of a simple command: assignments, words, redirections and here-documents."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fazm_memory.capture.shell.syntax import Assign, Redirect, Simple, Text, Word, plain
from fazm_memory.capture.shell.words import Reader, Unreadable

DECLARING = frozenset({"declare", "typeset", "local", "export", "readonly"})
_REDIRECT = re.compile(r"(\d+|\{[A-Za-z_]\w*\})?(&>>|&>|<<<|<<-|<<|<>|<&|>>|>\||>&|<|>)")
_ASSIGN = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[|\+?=)")
_BLANK = re.compile(r"(?:[ \t\r]|\\\n)+")
_INDEXED = re.compile(r"\](\+?=)")


@dataclass(frozen=True, slots=True)
class _Heredoc:
    redirect: Redirect
    delimiter: str
    quoted: bool


class Clauses(Reader):
    def __init__(self, text: str, depth: int = 0, budget: list[int] | None = None) -> None:
        super().__init__(text, depth, budget)
        self.heredocs: list[_Heredoc] = []

    def _at(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.pos)
        return found[0] if found else ""

    def _blank(self) -> None:
        self.pos += len(self._at(_BLANK))
        if self.peek() == "#" and self.text[self.pos - 1 : self.pos] in ("", *" \t\r\n;&|()"):
            end = self.text.find("\n", self.pos)
            self.pos = end if end >= 0 else len(self.text)

    def _newlines(self) -> None:
        self._blank()
        while self.peek() == "\n":
            self.pos += 1
            for here in self.heredocs:
                self._read_heredoc(here)
            self.heredocs.clear()
            self._blank()

    def _read_heredoc(self, here: _Heredoc) -> None:
        lines = []
        while self.pos < len(self.text):
            end = self.text.find("\n", self.pos)
            end = len(self.text) if end < 0 else end
            line = self.text[self.pos : end]
            self.pos = min(end + 1, len(self.text))
            line = line.lstrip("\t") if here.redirect.op == "<<-" else line
            if line == here.delimiter:
                break
            lines.append(line + "\n")
        body = "".join(lines)
        here.redirect.body = (Text(body, True),)
        if not here.quoted:
            here.redirect.body = self.quoted_word(body)

    def _words(self) -> tuple[Word, ...]:
        words: list[Word] = []
        while True:
            self._blank()
            start = self.pos
            word = self.word()
            if self.pos == start:
                return tuple(words)
            words.append(word)

    def _simple(self) -> Simple:
        self.spend()
        assigns: list[Assign] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            self._blank()
            if self._redirect(redirects):
                continue
            declares = bool(words) and plain(words[0]) in DECLARING
            if (not words or declares) and self._assign(assigns):
                continue
            start = self.pos
            word = self.word()
            if self.pos == start:
                break
            words.append(word)
        if not (assigns or words or redirects):
            raise Unreadable(f"a command is missing at {self.pos}")
        return Simple(tuple(assigns), tuple(words), tuple(redirects))

    def _assign(self, assigns: list[Assign]) -> bool:
        start = self.pos
        found = _ASSIGN.match(self.text, start)
        if found is None:
            return False
        self.pos = found.end()
        op, index = found[2], None
        if op == "[":
            index = self.word(frozenset("]\n"))
            after = _INDEXED.match(self.text, self.pos)
            if after is None:
                self.pos = start
                return False
            self.pos, op = after.end(), after[1]
        if self.peek() == "(":
            assigns.append(Assign(found[1], (), op == "+=", index, self._array()))
        else:
            assigns.append(Assign(found[1], self.word(), op == "+=", index))
        return True

    def _array(self) -> tuple[tuple[Word | None, Word], ...]:
        self.pos += 1
        items: list[tuple[Word | None, Word]] = []
        while True:
            self._newlines()
            if self.peek() == ")":
                self.pos += 1
                return tuple(items)
            start, key = self.pos, None
            if self.peek() == "[":
                self.pos += 1
                key = self.word(frozenset("]\n"))
                if self.peek(2) == "]=":
                    self.pos += 2
                else:
                    self.pos, key = start, None
            word = self.word()
            if self.pos == start:
                raise Unreadable("unclosed array")
            items.append((key, word))

    def _redirect(self, redirects: list[Redirect]) -> bool:
        found = _REDIRECT.match(self.text, self.pos)
        if found is None or (found[0] in "<>" and self.text.startswith("(", found.end())):
            return False
        self.pos = found.end()
        self._blank()
        start = self.pos
        redirect = Redirect(found[1] or "", found[2], self.word())
        if self.pos == start:
            raise Unreadable("a redirection leads nowhere")
        redirects.append(redirect)
        if found[2] in ("<<", "<<-"):
            texts = [part.text for part in redirect.target if isinstance(part, Text)]
            quoted = any(isinstance(part, Text) and part.quoted for part in redirect.target)
            self.heredocs.append(_Heredoc(redirect, "".join(texts), quoted))
        return True
