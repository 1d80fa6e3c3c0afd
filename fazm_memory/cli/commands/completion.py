"""`fazm-memory completion`: shell completion generated from the commands."""

from __future__ import annotations

import argparse

from fazm_memory.cli.main import COMMANDS, common_arguments, parser_for
from fazm_memory.cli.output import print_json

BASH = """_fazm_memory() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}"
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{commands} --help --version" -- "$word")); return
    fi
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
}}
complete -o default -F _fazm_memory fazm-memory
"""
# Works sourced and as a file in $fpath. In the second case it is loaded by the first Tab and must answer it.
ZSH = """#compdef fazm-memory
_fazm_memory() {{
    if (( CURRENT == 2 )); then
        [[ "$PREFIX" == -* ]] && {{ compadd -- --help --version; return; }}
        local -a commands=(
{described}
        )
        _describe command commands; return
    fi
    case "$words[2]" in
{cases}
    esac
}}
if [[ "$zsh_eval_context[-1]" == loadautofunc ]]; then
    _fazm_memory "$@"
else
    compdef _fazm_memory fazm-memory
fi
"""
# Only the first word is the command: `search record` searches.
FISH = """function __fazm_memory_runs
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test "$words[2]" = "$argv[1]"
end
function __fazm_memory_is_first
    test (count (commandline -opc)) -eq 1
end
complete -c fazm-memory -f -n __fazm_memory_is_first -l help -d 'show help'
complete -c fazm-memory -f -n __fazm_memory_is_first -l version -d 'show the version'
{lines}
"""


def completion_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def completion_command(args: argparse.Namespace) -> int:
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell]()
    if args.json:
        print_json({"shell": args.shell, "script": script})
    else:
        print(script, end="")
    return 0


def options(name: str) -> list[str]:
    """A command's options and the choices of its arguments."""
    parser = argparse.ArgumentParser(prog=name)
    parser_for(name, parser)
    common_arguments(parser)
    words: list[str] = []
    for action in parser._actions:
        words += [option for option in action.option_strings if option.startswith("--")]
        if not action.option_strings and action.choices:
            words += map(str, action.choices)
    return words


def _bash() -> str:
    cases = "\n".join(
        f'    {name}) COMPREPLY=($(compgen -W "{" ".join(options(name))}" -- "$word"));;' for name in COMMANDS
    )
    return BASH.format(commands=" ".join(COMMANDS), cases=cases)


def _zsh() -> str:
    described = "\n".join(f"            {_quoted(f'{name}:{text}')}" for name, (_, text) in COMMANDS.items())
    cases = "\n".join(f"    {name}) compadd -- {' '.join(options(name))} || _files;;" for name in COMMANDS)
    return ZSH.format(described=described, cases=cases)


def _fish() -> str:
    lines = [
        f"complete -c fazm-memory -f -n __fazm_memory_is_first -a {name} -d {_quoted(text)}"
        for name, (_, text) in COMMANDS.items()
    ]
    for name in COMMANDS:
        for word in options(name):
            flag = f"-l {word[2:]}" if word.startswith("--") else f"-f -a {word}"
            lines.append(f"complete -c fazm-memory -n '__fazm_memory_runs {name}' {flag}")
    return FISH.format(lines="\n".join(lines))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "’") + "'"
