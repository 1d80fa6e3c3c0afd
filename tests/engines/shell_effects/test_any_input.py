"""Properties of any input: no exception, absolute paths, a reason for every inference, bounded work."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fazm_memory.engines.shell_effects import FileEffect, file_effects
from fazm_memory.engines.shell_effects.interpreter import MOST_ROUNDS

SCRIPTS = [
    'for f in *.txt; do mv "$f" "${f%.txt}.md"; done',
    'while IFS=, read -r a b; do mv "$a" "$b"; done <<\'EOF\'\nx,y\nEOF',
    'i=0; for f in {a..c} "x y"; do ((i++)); printf -v n "%03d" $((i*2)); cp "$f" "$n"; done',
    "find . \\( -name '*.md' -o -type d \\) -exec mv -v {} docs/ \\; -print0 | xargs -0 -I% rm %",
    'if [[ $x =~ ^([0-9]+)$ && -f a ]]; then rm "${BASH_REMATCH[1]}"; elif [ -d b ]; then rmdir b; fi',
    'case "$1" in a|b*) rm "$1";; *) touch "${1:-none}";; esac',
    'f() { local n=${1##*/}; mv "$1" "${n// /_}"; return 1; }; f a || f \'b c\'',
    'declare -A m=([a]=b ["c d"]=e); for k in "${!m[@]}"; do git mv "$k" "${m[$k]:0:3}"; done',
    "sed -i.bak -e 's/a/b/g' x.txt; tar xzvf a.tgz -C out; unzip z.zip; gzip -k y",
    "(cd docs && cat > n <<EOF\n$(echo `date`) ${HOME}\nEOF\n) &> log & wait; trap 'rm -f t' EXIT",
    "set -euo pipefail; shopt -s globstar nullglob; rm -rf -- **/x?[!a]*.{o,a} @(p|q) > >(tee l) < <(ls)",
    "sudo env A=1 bash -lc 'mv \"$0\" ~/z && echo $((1<<3 ** 2 ? 4 : 5)) | tee -a k' w",
]
OUTPUTS = [
    "",
    "renamed 'a' -> 'b'\n'c d' -> 'e'\nx -> y\n",
    "removed 'x'\nmkdir: created directory 'd'\nmv: cannot stat 'a': No such file or directory\n",
    "bash: line 3: cd: docs: No such file or directory\n  inflating: out/x\npatching file y\n",
]
SYNTAX = "$(( ${ ${! <<E\n <( [[ )) ;; && || 2>&1 {1..9} } do done if then fi for in case esac while"
FRAGMENTS = st.sampled_from(
    [
        *"\"'`$(){}[]<>|&;!*?#~\\ \n\t=,.:/%^@+-0aZé\0",
        *("\ud800", "\\\n", "; do ", "; done"),
        *(f" {word} " for word in SYNTAX.split(" ")),
    ]
)
TREE = {"/w": ["a", "b.txt", "c d.txt", "docs/", "out/"], "/w/docs": ["x"], "/w/out": []}


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A script with pieces cut out, put in and swapped for others."""
    script = draw(st.sampled_from(SCRIPTS))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(script)))
        cut = draw(st.integers(0, 9))
        new = draw(FRAGMENTS | st.sampled_from(SCRIPTS).map(lambda other: other[:40]))
        script = script[:at] + new + script[at + cut :]
    return script


def holds(effects: tuple[FileEffect, ...]) -> None:
    for effect in effects:
        assert effect.path.startswith("/")
        assert effect.path == posixpath.normpath(effect.path)
        assert effect.inferred == bool(effect.why)
        assert (effect.origin is not None) == (effect.change == "renamed")
        assert not effect.path.startswith("/dev/")


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    mutated() | st.text(max_size=80) | st.lists(FRAGMENTS, max_size=40).map("".join),
    st.sampled_from(OUTPUTS) | st.text(max_size=80),
    st.booleans(),
    st.sampled_from([None, "/home/u"]),
    st.booleans(),
)
def test_no_input_raises_and_every_inferred_effect_has_a_reason(
    command: str, output: str, ok: bool, home: str | None, listed: bool
) -> None:
    listing = TREE.__getitem__ if listed else None
    holds(file_effects(command, cwd="/w", output=output, ok=ok, home=home, listing=listing))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=20), max_size=6), st.booleans())
def test_no_list_of_words_raises(words: list[str], ok: bool) -> None:
    holds(file_effects(words, cwd="/w", ok=ok))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SCRIPTS), st.sampled_from(OUTPUTS))
def test_a_failed_command_leaves_nothing_certain(command: str, output: str) -> None:
    effects = file_effects(command, cwd="/w", output=output, ok=False, listing=TREE.__getitem__)
    assert all(effect.inferred for effect in effects)


@settings(max_examples=100, deadline=None)
@given(
    st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0/"), min_size=1, max_size=12)
)
def test_a_quoted_name_is_unchanged(name: str) -> None:
    quoted = "'" + name.replace("'", "'\\''") + "'"
    effects = file_effects(f"rm ./{quoted}", cwd="/w")
    expected = [] if name in (".", "..") else [FileEffect(f"/w/{name}", "deleted")]
    assert expected == [effect for effect in effects if name not in (".", "..")]


@pytest.mark.parametrize(
    "command",
    [
        "(" * 50_000,
        "$(" * 50_000,
        '"$(' * 30_000,
        "${a:-" * 30_000,
        "{a," * 50_000,
        "echo " + "{a,b}" * 10_000,
        "`" * 50_001,
        "cat <<A\n" * 10_000,
        "$((1+" * 20_000,
        "rm " + "[a" * 50_000,
        "rm " + "*a" * 50_000,
        "if a; then " * 10_000,
        "a&&" * 30_000 + "b",
        "f() { f; f | f; }; f",
        'x=\'eval "$x"\'; eval "$x"',
        "bash -c " * 5_000,
        "x=a; while true; do x=$x$x; touch $x; done",
        "[[ " + "( " * 30_000,
        "x" * (600 * 1024),
        "cat > f <<'E'\n" + "x" * (600 * 1024),
        "for i in {1..100}; do for j in {1..100}; do for k in {1..100}; do touch $i$j$k; done; done; done",
    ],
    ids=lambda command: str(command)[:16],
)
def test_hostile_commands_take_bounded_work(command: str) -> None:
    effects = file_effects(command, cwd="/w")
    holds(effects)
    assert len(effects) <= MOST_ROUNDS


def test_effects_after_a_loop_over_the_limit_are_inferred() -> None:
    effects = file_effects("for i in {1..9000}; do :; done; for i in {1..9000}; do :; done; rm a", cwd="/w")
    assert [(effect.path, effect.inferred) for effect in effects] == [("/w/a", True)]
    assert "too long" in effects[0].why


def test_a_command_over_the_length_limit_is_followed_up_to_it_and_inferred() -> None:
    effects = file_effects("rm a\n" + "#" * (300 * 1024) + "\nrm b", cwd="/w")
    assert [(effect.path, effect.inferred) for effect in effects] == [("/w/a", True)]


def test_commands_before_a_syntax_error_are_inferred() -> None:
    effects = file_effects("rm a\nrm 'b", cwd="/w")
    assert [(effect.path, effect.inferred) for effect in effects] == [("/w/a", True)]
