"""`fazm-memory completion SHELL`: completion scripts made from the commands themselves."""

from __future__ import annotations

import argparse

from fazm_memory.cli.main import COMMANDS, common_arguments, parser_for
from fazm_memory.cli.output import emit_json

BASH = """_fazm_memory() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}"
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{commands}" -- "$word")); return
    fi
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
}}
complete -o default -F _fazm_memory fazm-memory
"""
ZSH = """#compdef fazm-memory
_fazm_memory() {{
    if (( CURRENT == 2 )); then
        local -a commands=(
{described}
        )
        _describe command commands; return
    fi
    case "$words[2]" in
{cases}
    esac
}}
compdef _fazm_memory fazm-memory
"""


def completion_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def completion_command(chosen: argparse.Namespace) -> int:
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[chosen.shell]()
    if chosen.json:
        emit_json({"shell": chosen.shell, "script": script})
    else:
        print(script, end="")
    return 0


def options(name: str) -> list[str]:
    """The words a command takes: its options and the choices of its arguments."""
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
    cases = "\n".join(f"    {name}) compadd -- {' '.join(options(name))};;" for name in COMMANDS)
    return ZSH.format(described=described, cases=cases)


def _fish() -> str:
    lines = [
        f"complete -c fazm-memory -n __fish_use_subcommand -a {name} -d {_quoted(text)}"
        for name, (_, text) in COMMANDS.items()
    ]
    for name in COMMANDS:
        for word in options(name):
            flag = f"-l {word[2:]}" if word.startswith("--") else f"-a {word}"
            lines.append(f"complete -c fazm-memory -n '__fish_seen_subcommand_from {name}' {flag}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "’") + "'"
