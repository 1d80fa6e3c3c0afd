"""Parsing: words, quoting, here-documents, commands and syntax errors."""

from __future__ import annotations

import pytest

from fazm_memory.engines.shell_effects.expansion import expand_braces
from fazm_memory.engines.shell_effects.parser import (
    AndOr,
    Arithmetic,
    Case,
    CommandGroup,
    CountingFor,
    DoubleBracket,
    For,
    Function,
    If,
    Node,
    Param,
    Parser,
    Pipeline,
    Redirected,
    Simple,
    Substitution,
    Text,
    While,
    Word,
    parse,
    plain,
)


def single_command(text: str) -> Node:
    parsed = parse(text)
    assert parsed.complete
    assert len(parsed.script.items) == 1
    return parsed.script.items[0][0]


def simple(text: str) -> Simple:
    node = single_command(text)
    assert isinstance(node, Simple)
    return node


def words(text: str) -> list[str | None]:
    return [plain(word) for word in simple(text).words]


def word(text: str) -> Word:
    return simple("x " + text).words[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a'b c'd", (Text("a"), Text("b c", True), Text("d"))),
        ('"a $x b"', (Text("a ", True), Param("x", quoted=True), Text(" b", True))),
        ("a\\ b", (Text("a"), Text(" ", True), Text("b"))),
        ("''", (Text("", True),)),
        ('""', (Text("", True),)),
        ("$'a\\tb'", (Text("a\tb", True),)),
        ('"\\$x \\a"', (Text("$", True), Text("x \\a", True))[:0] or (Text("$x \\a", True),)),
        ("a\\\nb", (Text("ab"),)),
        ("${f%.txt}", (Param("f", "%", ((Text(".txt"),),)),)),
        ("${f//a/b}", (Param("f", "//", ((Text("a"),), (Text("b"),))),)),
        ("${f:1:2}", (Param("f", ":", ((Text("1"),), (Text("2"),))),)),
        ("${#f}", (Param("f", "length"),)),
        ("${a[@]}", (Param("a", "unknown"),)),
        ("${f:t:r}", (Param("f", "unknown"),)),
        ("$1$10", (Param("1"), Param("1"), Text("0"))),
        ("a$", (Text("a$"),)),
        ("$((1+2))", (Arithmetic((Text("1+2", True),)),)),
        ("@(a|b)*", (Text("@(a|b)*"),)),
    ],
)
def test_words_keep_their_quoting_and_name_their_expansions(text: str, expected: Word) -> None:
    assert expected == word(text)


def test_a_substitution_holds_the_commands_in_it() -> None:
    (part,) = word("\"$(cat <<'EOF'\nit's ) here\nEOF\n)\"")
    assert isinstance(part, Substitution)
    assert part.quoted
    (inner, _) = part.body.items[0]
    assert isinstance(inner, Simple)
    assert (Text("it's ) here\n", True),) == inner.redirects[0].body


def test_nested_parentheses_that_are_no_arithmetic_are_commands() -> None:
    (part,) = word("$((a); b)")
    assert isinstance(part, Substitution)
    assert len(part.body.items) == 2


def test_a_here_document_ends_at_its_delimiter_and_is_expanded_unless_quoted() -> None:
    parsed = parse("cat <<A <<-'B' > f\n$x\nA\n\t$y\n\tB\nrm z")
    first, second = (node for node, _ in parsed.script.items)
    assert isinstance(first, Simple)
    assert isinstance(second, Simple)
    assert [(Param("x", quoted=True), Text("\n", True)), (Text("$y\n", True),), None] == [
        redirect.body for redirect in first.redirects
    ]
    assert plain(second.words[0]) == "rm"


def test_comments_are_skipped_and_hashes_in_words_are_not() -> None:
    assert words("echo a#b # rm x") == ["echo", "a#b"]


def test_redirections_are_distinguished_from_words() -> None:
    found = [(redirect.fd, redirect.op) for redirect in simple("a 2>&1 >>f 3<g &>h >|i <<<w").redirects]
    assert found == [("2", ">&"), ("", ">>"), ("3", "<"), ("", "&>"), ("", ">|"), ("", "<<<")]
    assert words("echo 2 > f") == ["echo", "2"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a && b || c", AndOr),
        ("a | b |& c", Pipeline),
        ("! a", Pipeline),
        ("time -p a", Simple),
        ("(a; b)", CommandGroup),
        ("{ a; b; } > f", Redirected),
        ("if a; then b; elif c; then d; else e; fi", If),
        ("for f in a b; do c; done", For),
        ("for f; do c; done", For),
        ("for f (a b) c", For),
        ("for ((i=0; i<3; i++)); do a; done", CountingFor),
        ("while a; do b; done", While),
        ("until a\ndo b\ndone", While),
        ("case $x in a|b) c;; (d) e;& *) f; esac", Case),
        ("f() { a; }", Function),
        ("function f { a; }", Function),
        ("[[ -f a && ( $b == c* || $d =~ ^(x|y)$ ) ]]", DoubleBracket),
        ("a=1 b+=2 c[0]=3 d=(x [1]=y) cmd", Simple),
        ("a &", Simple),
    ],
)
def test_every_form_of_command_is_read(text: str, kind: type[Node]) -> None:
    assert isinstance(single_command(text), kind)


def test_a_background_command_is_marked() -> None:
    assert [background for _, background in parse("a & b").script.items] == [True, False]


@pytest.mark.parametrize(
    "text",
    ["'", '"', "$(", "${", "`", "(", "if a", "for", "a |", "a &&", "case x in", "{ a", ")", "a >", "fi"],
)
def test_a_script_with_a_syntax_error_is_incomplete(text: str) -> None:
    parsed = parse("rm x; " + text)
    assert not parsed.complete
    assert len(parsed.script.items) <= 1


def test_deep_nesting_is_refused() -> None:
    assert parse("$(" * 10 + "a" + ")" * 10).complete
    assert not parse("$(" * 100 + "a" + ")" * 100).complete


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a{b,c{d,e}}f", ["abf", "acdf", "acef"]),
        ("{1..3}", ["1", "2", "3"]),
        ("{03..1}", ["03", "02", "01"]),
        ("{a..e..2}", ["a", "c", "e"]),
        ("x{,.bak}", ["x", "x.bak"]),
        ("{one}", ["{one}"]),
        ("{a,b", ["{a,b"]),
        ("{1..999999}", None),
    ],
)
def test_braces_become_several_words(text: str, expected: list[str] | None) -> None:
    found = expand_braces(Parser(text).word())
    assert expected == (None if found is None else [plain(single_command) for single_command in found])
