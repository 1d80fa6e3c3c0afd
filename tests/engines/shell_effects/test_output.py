"""Effects read from the output: verbose lines, printed names, error messages, exit status."""

from __future__ import annotations

import pytest

from fazm_memory.engines.shell_effects import FileEffect, file_effects
from fazm_memory.engines.shell_effects.output import CommandOutput, Pair, unquoted


def effects_of(command: str, output: str, *, ok: bool = True) -> list[str]:
    effects = file_effects(command, cwd="/w", output=output, ok=ok)
    return [line(effect) for effect in effects]


def line(effect: FileEffect) -> str:
    origin = f" from {effect.origin.removeprefix('/w/')}" if effect.origin else ""
    return f"{effect.change} {effect.path.removeprefix('/w/')}{origin}{'?' if effect.inferred else ''}"


@pytest.mark.parametrize(
    ("output", "pair"),
    [
        ("renamed 'a b' -> 'c'", Pair("renamed", "a b", "c")),
        ("renamed \"it's\" -> 'its'", Pair("renamed", "it's", "its")),
        ("renamed ‘a’ -> ‘b’", Pair("renamed", "a", "b")),
        ("'a' -> 'b'", Pair("", "a", "b")),
        ("`a' -> `b'", Pair("", "a", "b")),
        ("a -> b", Pair("", "a", "b")),
        ("renamed 'a' -> 'b' (backup: 'b~')", Pair("renamed", "a", "b")),
        ("renamed 'x -> y' -> 'z'", Pair("renamed", "x -> y", "z")),
        ("copied 'a' -> '/mnt/a'", Pair("copied", "a", "/mnt/a")),
        ("Renaming a to b", Pair("renamed", "a", "b")),
        ("a renamed as b", Pair("renamed", "a", "b")),
    ],
)
def test_every_format_of_a_reported_move_is_read(output: str, pair: Pair) -> None:
    assert [pair] == CommandOutput(output).pairs


def test_names_are_read_as_tools_quote_them() -> None:
    assert unquoted("'a'$'\\n''b'") == "a\nb"
    assert unquoted("'say \"hi\"'") == 'say "hi"'
    assert unquoted("bare name") == "bare name"
    assert unquoted("'unclosed") == "'unclosed"


def test_a_listing_of_links_is_not_taken_for_moves() -> None:
    assert CommandOutput("lrwxrwxrwx 1 me me 4 Jan  1 10:00 link -> target").pairs == []


def test_moves_by_glob_are_read_from_the_verbose_output() -> None:
    output = "renamed 'a.jpg' -> 'pics/a.jpg'\nrenamed 'b c.jpg' -> 'pics/b c.jpg'\n"
    expected = ["renamed pics/a.jpg from a.jpg?", "renamed pics/b c.jpg from b c.jpg?"]
    assert expected == effects_of("mv -v *.jpg pics/", output)
    assert expected == effects_of("mv -v *.jpg pics/", output.replace("renamed ", "").replace("'", ""))
    assert expected == effects_of('for f in *.jpg; do mv -v "$f" pics/; done', output)
    assert expected == effects_of("find . -name '*.jpg' | xargs -I{} mv -v {} pics/", output)
    reasons = {effect.why for effect in file_effects("mv -v *.jpg pics/", cwd="/w", output=output)}
    assert {"glob not expanded: files named in output"} == reasons


def test_only_names_that_fit_the_glob_are_taken() -> None:
    assert effects_of("mv -v *.jpg p/", "a.jpg -> p/a.jpg\nx.png -> p/x.png\n") == [
        "renamed p/a.jpg from a.jpg?"
    ]


def test_verbose_output_shows_whether_the_target_was_a_folder() -> None:
    assert effects_of("mv -v report there", "renamed 'report' -> 'there/report'\n") == [
        "renamed there/report from report"
    ]
    assert effects_of("mv -v report there", "renamed 'report' -> 'there'\n") == ["renamed there from report"]


def test_removed_and_created_names_are_read_from_the_output() -> None:
    assert effects_of("rm -v *.o", "removed 'x.o'\nremoved 'y.o'\n") == ["deleted x.o?", "deleted y.o?"]
    assert effects_of("rm -v *.o", "x.o\n") == ["deleted x.o?"]
    assert effects_of("rm -rfv build", "removed 'build/a'\nremoved directory 'build'\n") == ["deleted build"]
    assert effects_of("mkdir -pv out", "mkdir: created directory 'out'\n") == ["created out"]
    assert effects_of('mkdir -v "$YEAR"', "mkdir: created directory '2024'\n") == ["created 2024?"]
    assert effects_of("find . -name '*.log' -print -delete", "./x.log\n./keep.txt\n") == ["deleted x.log?"]


@pytest.mark.parametrize(
    ("body", "output"),
    [
        ('echo "Renaming $f"; mv "$f" "${f%.png}.PNG"', "Renaming a b.png\nRenaming c.png\n"),
        ('n="${f%.png}.PNG"; echo "$f -> $n"; mv "$f" "$n"', "a b.png -> a b.PNG\nc.png -> c.PNG\n"),
        ('mv "$f" "${f%.png}.PNG" && printf "%s done (%d)\\n" "$f" 1', "a b.png done (1)\nc.png done (1)\n"),
        ('if true; then echo "$f"; mv "$f" "${f%.png}.PNG"; fi', "a b.png\nc.png\nunrelated\n"),
    ],
)
def test_names_that_a_loop_prints_are_its_values(body: str, output: str) -> None:
    expected = ["renamed a b.PNG from a b.png?", "renamed c.PNG from c.png?"]
    assert expected == effects_of(f"for f in *.png; do {body}; done", output)


def test_names_that_a_reading_loop_prints_are_its_input() -> None:
    command = 'while read -r f; do echo "removing: $f"; rm "$f"; done < list'
    assert effects_of(command, "removing: a\nremoving: b c\n") == ["read list", "deleted a?", "deleted b c?"]


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("mv a x.d; rm b c", "mv: cannot stat 'a': No such file or directory", ["deleted b?", "deleted c?"]),
        ("mv a x.d; rm b c", "mv: rename a to x.d: No such file or directory", ["deleted b?", "deleted c?"]),
        ("rm a b c", "rm: cannot remove 'b': No such file or directory", ["deleted a?", "deleted c?"]),
        ("rm a b c", "rm: b: No such file or directory", ["deleted a?", "deleted c?"]),
        ("rm ab a", "rm: cannot remove 'ab': Permission denied", ["deleted a?"]),
        (
            "mkdir a; touch b c",
            "mkdir: cannot create directory ‘a’: File exists",
            ["created b?", "created c?"],
        ),
        ("echo x > no/x", "bash: line 1: no/x: No such file or directory", []),
        ("echo x > no/x", "zsh: no such file or directory: no/x", []),
        ("cd no && rm a", "bash: line 1: cd: no: No such file or directory", []),
        ("cd no && rm a", "(eval):cd:1: no such file or directory: no", []),
        ("cat a b", "cat: a: No such file or directory", ["read b?"]),
        ("git mv a b", "fatal: bad source, source=a, destination=b", []),
        ("cp a b && rm a", "cp: cannot create regular file 'b': Permission denied", []),
    ],
)
def test_what_an_error_message_names_was_not_done(command: str, output: str, expected: list[str]) -> None:
    assert expected == effects_of(command, output + "\n", ok=False)


def test_an_expected_failure_does_not_affect_another_command_on_the_same_file() -> None:
    output = "mv: cannot stat 'a.txt': No such file or directory\n"
    assert effects_of("mv a.txt b.txt; mv a.txt c.txt; true", output) == ["renamed b.txt from a.txt"]


def test_warnings_and_questions_are_no_failures() -> None:
    assert effects_of("rm a; true", "rm: warning: 'a' is odd\n") == ["deleted a"]


def test_all_effects_of_a_failed_command_are_inferred() -> None:
    assert effects_of("mkdir d && mv a d/ && unheard_of", "", ok=False) == [
        "created d?",
        "renamed d/a from a?",
    ]
    effects = file_effects("mkdir d; unheard_of", cwd="/w", ok=False)
    assert [effect.why for effect in effects] == ["the command failed"]


def test_a_single_command_that_failed_did_nothing() -> None:
    assert effects_of("mv a b", "", ok=False) == []
    assert effects_of("mkdir d; mv a b", "", ok=False) == ["created d?"]
    assert effects_of("mv a b || rm c", "", ok=False) == []


def test_a_command_that_failed_for_no_named_file_did_nothing() -> None:
    assert effects_of("mv a b d/", "Exit code 1", ok=False) == []
    assert effects_of("mv a b d", "usage: mv [-f | -i | -n] [-hv] source target", ok=False) == []
    assert effects_of("mv a b d/", "mv: rename a to d/a: Permission denied", ok=False) == [
        "renamed d/b from b?"
    ]


@pytest.mark.parametrize(("command", "tool"), [("mv a b", "mv"), ("sudo mv a b", "mv"), ("rm a", "rm")])
def test_an_error_message_counts_also_if_the_agent_reports_no_failure(command: str, tool: str) -> None:
    assert effects_of(command, f"{tool}: cannot stat 'a': No such file or directory") == []


def test_success_of_an_and_list_proves_each_step() -> None:
    assert effects_of("unheard_of && mv x.c dist/ && unheard_of_too", "") == ["renamed dist/x.c from x.c"]
    assert effects_of("unheard_of && mv x.c dist/; true", "") == ["renamed dist/x.c from x.c?"]
