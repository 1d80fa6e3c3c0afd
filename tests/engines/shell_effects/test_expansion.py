"""Expansions compared with bash, and the text tools compared with the real ones."""

from __future__ import annotations

import os
import subprocess

import pytest

from fazm_memory.engines.shell_effects.interpreter import Interpreter
from fazm_memory.engines.shell_effects.output import CommandOutput
from fazm_memory.engines.shell_effects.parser import For, parse
from fazm_memory.engines.shell_effects.state import FileTree, State, Value
from fazm_memory.engines.shell_effects.text_tools import TOOLS

SETUP = r"""f="My Photo.tar.gz"; p=/a/b/c.txt; e=""; n=7; s="  two  words "; arr=(one "two three" four)
declare -A m=([k]=v ["x y"]="z w"); u=Über_ÄÖ; q="it's"; x=abcabc; set -- p1 "p 2" p3"""

EXPRESSIONS = r"""
$f ;; "$f" ;; ${f%.gz} ;; "${f%.*}" ;; "${f%%.*}" ;; "${f#*.}" ;; "${f##*.}" ;; "${p##*/}" ;; "${p%/*}"
"${f// /_}" ;; "${f/ /}" ;; "${f/#My/Your}" ;; "${f/%gz/bz2}" ;; "${x//b/}" ;; "${x/b}"
"${x//[ac]/-}" ;; "${x//a*c/Z}" ;; "${x%b*}" ;; "${x%%b*}" ;; "${x#*b}" ;; "${x##*b}" ;; "${f,,}"
"${f^^}" ;; "${f,}" ;; "${x^}" ;; "${f:0:2}" ;; "${f:3}" ;; "${f: -2}" ;; "${f:0:-3}" ;; "${f:n:3}"
"${#f}" ;; "${e:-default}" ;; "${e-default}" ;; "${n:+set}" ;; "${e:+set}" ;; ${e} ;; "$e" ;; a${e}b
"${arr[@]}" ;; "${arr[1]}" ;; "${#arr[@]}" ;; "${m[k]}" ;; "${!arr[@]}"
"$@" ;; "$*" ;; $@ ;; "$1-$2" ;; "$#" ;; "${@:2}" ;; $((n+1)) ;; $((n*2)) ;; $((n=n-3)) ;; $((n+=2))
$((n*2-3)) ;; $(( (n+1)/2 ))
$((n%4)) ;; $((n**2)) ;; $((n<<2)) ;; $((010)) ;; $((10#08)) ;; $((n==7)) ;; $(( ++n ))
$(echo hi) ;; "$(echo "a  b")" ;; $(echo "a  b") ;; `echo back` ;; "`echo \"q\"`"
$(basename "$p" .txt) ;; $(dirname "$p") ;; $(echo "$f" | tr ' ' '_') ;; "$(echo "$f" | tr 'A-Z' 'a-z')"
$(echo "$f" | sed 's/ /-/g') ;; $(echo "$f" | tr '[:upper:]' '[:lower:]' | tr -d ' ')
$(echo "$f" | sed -E 's/([A-Z])[a-z]+/\1/g') ;; $(echo "$f" | sed 's/\(.*\)\.tar.*/\1/;s/ //')
$(echo "$p" | cut -d/ -f3) ;; $(printf '%03d' "$n") ;; "$(printf '%s-%s\n' a b c d)"
$(printf '%s' "$f" | rev) ;; $(seq 3) ;; $(seq -w 8 11) ;; $(seq 10 -3 1) ;; {a,b,c} ;; {1..5}
{01..03} ;; x{1,2}y{3,4} ;; {a,b{1,2},c} ;; "{a,b}" ;; {a,"b c"} ;; {$n,x} ;; {5..1} ;; pre{,.bak}
{single} ;; {} ;; a{b}c ;; \{a,b\} ;; 'single $f' ;; "dq \$f \" \\ \a" ;; un\ quoted\$x
$'ansi\ttab\x41\'q\u00e9' ;; a'b'"c"d ;; "" ;; '' ;; "a"''"b" ;; $s ;; "$s" ;; "$u" ;; "${u,,}" ;; $q
"${q//\'/}" ;; "${f%"${f##*.}"}" ;; "${f/${f%% *}/X}" ;; ~+/x ;; a~b ;; "~" ;; ~/x ;; a=b
${f%.tar*}_v$n.tgz ;; "${f:$((n-7)):2}" ;; "$(echo "$(echo nested "$(echo deep)")")"
"${e:-$(echo sub)}" ;; "${e:-"$f"}" ;; "${x/a/$n}" ;; "${p//\//_}" ;; "${f//[^a-zA-Z0-9.]/_}"
"${f//[[:space:]]/_}" ;; "${f%[.]gz}" ;; "${x/?/Q}" ;; ${n}th ;; $n.txt ;; "$n"_x
$(case $n in 7) echo seven;; *) echo other;; esac)
$(if [ $n -gt 5 ]; then echo big; else echo small; fi) ;; $(for i in 1 2; do echo "i$i"; done)
$(while read -r l; do echo "<$l>"; done <<< "line") ;; $(echo a; echo b)
$(true && echo yes || echo no) ;; $(echo {1..3}) ;; $(echo "a,b,c" | tr ',' '\n')
$(printf "%s\n" "$@" | sort | head -1) ;; $(echo "one two" | while read a b; do echo $b-$a; done)
$(IFS=,; echo "$*") ;; $(echo "$x" | grep -c b) ;; $(echo "$x" | grep -o b)
"""


def expressions() -> list[str]:
    lines = EXPRESSIONS.strip().split("\n")
    return [expression for line in lines for expression in ([line] if "esac" in line else line.split(" ;; "))]


def expanded(expression: str) -> list[str | None]:
    run = Interpreter(State("/usr", "/home/u", FileTree("/usr", None)), CommandOutput(""), ok=True)
    run.text(Value((SETUP,)))
    node = parse(f"for one in {expression}; do :; done").script.items[0][0]
    assert isinstance(node, For)
    return [value.text for word in node.words or () for value in run.fields(word)]


def test_expansions_equal_those_of_bash_or_are_unknown() -> None:
    """Compare all expansions with bash. What is not supported must be unknown."""
    each = [f"(for one in {text}; do printf '%s\\0' \"$one\"; done; printf '\\1')" for text in expressions()]
    done = subprocess.run(
        ["bash", "-c", "\n".join([SETUP, *each])],
        cwd="/usr",
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": "/home/u"},
        capture_output=True,
        text=True,
        check=True,
    )
    real = [chunk.split("\0")[:-1] for chunk in done.stdout.split("\1")]
    unknown = []
    for expression, expected in zip(expressions(), real, strict=False):
        found = expanded(expression)
        if None in found:
            unknown.append(expression)
        else:
            assert (expression, expected) == (expression, found)
    assert len(expressions()) > 140
    assert unknown == [
        *('"${arr[@]}"', '"${arr[1]}"', '"${#arr[@]}"', '"${m[k]}"', '"${!arr[@]}"', "$((n*2-3))"),
        *("$(( (n+1)/2 ))", "$((n**2))", "$((n<<2))", "$((010))"),
        *("$(printf '%s' \"$f\" | rev)", '$(echo "$x" | grep -o b)'),
    ]


@pytest.mark.parametrize(
    ("tool", "args", "text"),
    [
        ("echo", ["-n", "a b"], ""),
        ("echo", ["-e", "a\\tb"], ""),
        ("printf", ["%03d-%s\n", "7", "x", "8", "y"], ""),
        ("printf", ["%5.2s|%-4d|%x", "abc", "3", "255"], ""),
        ("printf", ["%s%%\n"], ""),
        ("basename", ["/a/b.txt/", ".txt"], ""),
        ("basename", ["-a", "x/1", "y/2"], ""),
        ("dirname", ["a/b/c", "/x", "y"], ""),
        ("tr", ["-d", "[:punct:]"], "a-b.c!d\n"),
        ("tr", ["-s", " "], "a   b  c\n"),
        ("tr", ["-cs", "a-z0-9", "-"], "ab  cd!!e\n"),
        ("cut", ["-d.", "-f1,3"], "a.b.c\nxyz\n"),
        ("cut", ["-c", "2-3"], "abcdef\n"),
        ("cut", ["-d", "_", "-f", "2-"], "a_b_c\n"),
        ("grep", ["-v", "b$"], "ab\nac\n"),
        ("grep", ["-Ei", "^(A|x)"], "ab\nxc\nd\n"),
        ("sort", ["-ru"], "b\na\nc\nb\n"),
        ("head", ["-n2"], "a\nb\nc\n"),
        ("tail", ["-1"], "a\nb\nc\n"),
        ("sed", ["-e", "s/a/b/", "-e", "s/b$/c/"], "xab\n"),
        ("sed", ["s/b*/x/g"], "abc\n"),
        ("sed", ["s/a/X/2"], "aaa\n"),
        ("sed", ["s|/|-|g;s/^-//"], "/a/b\n"),
        ("sed", ["-E", "s/(a|ab)(c|bcd)?/[\\1,\\2]/"], "abcd\n"),
    ],
)
def test_the_text_tools_print_what_the_real_ones_print(tool: str, args: list[str], text: str) -> None:
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    real = subprocess.run(
        [tool, *args], input=text, env=env, capture_output=True, text=True, check=True
    ).stdout
    assert real == TOOLS[tool](args, text)


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("sed", ["-n", "1p"]),
        ("sed", ["y/abc/xyz/"]),
        ("sed", ["s/.*/\\L&/"]),
        ("sed", ["s/a/b/e"]),
        ("sed", ["s/\\(a\\)\\1/b/"]),
        ("grep", ["-o", "a"]),
        ("tr", ["[:graph:]", "x"]),
        ("printf", ["%q", "a b"]),
        ("cut", ["-b", "1"]),
        ("head", ["-c", "3"]),
        ("echo", ["a\\nb"]),
        ("seq", ["1", "0", "5"]),
    ],
)
def test_unsupported_options_of_text_tools_are_unknown(tool: str, args: list[str]) -> None:
    assert TOOLS[tool](args, "aaa\n") is None
