"""`fazm-memory completion`: shell completion generated from the commands."""

from __future__ import annotations

import argparse
from typing import Any

from fazm_memory.cli.main import COMMANDS, common_arguments, open_memory, parser_for
from fazm_memory.cli.output import print_json, single_line

SESSIONS = 60  # latest sessions that are offered
TITLE = 60  # characters of a session's title beside its id

BASH = """_fazm_memory() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}"
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{commands} --help --version" -- "$word")); return
    fi
    case "${{COMP_WORDS[COMP_CWORD-1]}}" in
        --agent|--with) COMPREPLY=($(compgen -W "{agents}" -- "$word")); return;;
    esac
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
}}
_fazm_memory_ids() {{ fazm-memory completion ids 2>/dev/null | cut -f1; }}
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
    case "$words[CURRENT-1]" in
        --agent|--with) compadd -- {agents}; return;;
    esac
    case "$words[2]" in
{cases}
    esac
}}
_fazm_memory_ids() {{
    local -a sessions=("${{(@f)$(fazm-memory completion ids 2>/dev/null | sed 's/:/ /g; s/\t/:/')}}")
    _describe session sessions
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


IDS = "ids"  # for the scripts themselves, so it is not offered


def completion_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish", IDS))
    parser.epilog = "`ids` lists what the scripts offer for ID: the latest sessions with their titles."


def completion_command(args: argparse.Namespace) -> int:
    if args.shell == IDS:
        return _print_ids(args)
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell]()
    if args.json:
        print_json({"shell": args.shell, "script": script})
    else:
        print(script, end="")
    return 0


def _print_ids(args: argparse.Namespace) -> int:
    sessions = open_memory(args).sessions.listing(limit=SESSIONS)
    if args.json:
        print_json([{"id": session["id"], "title": session["title"]} for session in sessions])
        return 0
    for session in sessions:
        print(f"{session['id'][:8]}\t{single_line(session['title'] or session['agent'])[:TITLE]}")
    return 0


def _arguments(name: str) -> list[Any]:
    parser = argparse.ArgumentParser(prog=name)
    parser_for(name, parser)
    common_arguments(parser)
    return parser._actions


def takes_session(name: str) -> bool:
    """Whether an argument of a command is a session."""
    return any(action.metavar and str(action.metavar).startswith("ID") for action in _arguments(name)
               if not action.option_strings)  # fmt: skip


def agent_names() -> list[str]:
    from fazm_memory.agents import AGENTS

    return list(AGENTS)


def options(name: str) -> list[str]:
    """A command's options, the choices of its arguments, and agents where it takes one."""
    words: list[str] = []
    for action in _arguments(name):
        if not action.option_strings and str(action.metavar).startswith("AGENT"):
            words += agent_names()
        words += [option for option in action.option_strings if option.startswith("--")]
        if not action.option_strings and action.choices:
            words += [str(word) for word in action.choices if word != IDS]
    return words


def _bash() -> str:
    cases = []
    for name in COMMANDS:
        ids = " $(_fazm_memory_ids)" if takes_session(name) else ""
        cases.append(f'    {name}) COMPREPLY=($(compgen -W "{" ".join(options(name))}{ids}" -- "$word"));;')
    return BASH.format(commands=" ".join(COMMANDS), cases="\n".join(cases), agents=" ".join(agent_names()))


def _zsh() -> str:
    described = "\n".join(f"            {_quoted(f'{name}:{text}')}" for name, (_, text) in COMMANDS.items())
    cases = []
    for name in COMMANDS:
        ids = '[[ "$PREFIX" != -* ]] && _fazm_memory_ids; ' if takes_session(name) else ""
        cases.append(f"    {name}) {ids}compadd -- {' '.join(options(name))} || _files;;")
    return ZSH.format(described=described, cases="\n".join(cases), agents=" ".join(agent_names()))


def _fish() -> str:
    lines = [
        f"complete -c fazm-memory -f -n __fazm_memory_is_first -a {name} -d {_quoted(text)}"
        for name, (_, text) in COMMANDS.items()
    ]
    for name in COMMANDS:
        runs = f"complete -c fazm-memory -n '__fazm_memory_runs {name}'"
        for word in options(name):
            if word in ("--agent", "--with"):
                lines.append(f"{runs} -l {word[2:]} -x -a '{' '.join(agent_names())}'")
                continue
            lines.append(f"{runs} {f'-l {word[2:]}' if word.startswith('--') else f'-f -a {word}'}")
        if takes_session(name):
            lines.append(f"{runs} -f -a '(fazm-memory completion ids 2>/dev/null)'")
    return FISH.format(lines="\n".join(lines))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "’") + "'"
