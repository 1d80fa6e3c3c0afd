"""`fazm-memory facts`: what holds, who said so; a person's own word in and out."""

from __future__ import annotations

import argparse

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_json, paint, say, when
from fazm_memory.cli.speaker import speaker
from fazm_memory.cli.telling import LINE, words
from fazm_memory.errors import InvalidRequest
from fazm_memory.model.slim import cut


def facts_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", nargs="?", choices=("list", "add", "retract"), default="list")
    parser.add_argument("key", nargs="?", metavar="KEY")
    parser.add_argument("value", nargs="?", metavar="VALUE")
    parser.add_argument(
        "--history", action="store_true", help="every word on a key, also those no longer true"
    )


def facts_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    if chosen.verb == "add":
        if not (chosen.key or "").strip() or chosen.value is None:
            raise InvalidRequest(
                "a fact needs a key and a value", hint="fazm-memory facts add date-format ISO"
            )
        memory.state_fact(chosen.key, chosen.value, agent=speaker())
    elif chosen.verb == "retract":
        if chosen.key is None:
            raise InvalidRequest("which fact?", hint="fazm-memory facts retract KEY")
        memory.retract_fact(chosen.key, agent=speaker())
        if not chosen.json:
            say(f"{chosen.key} is taken back")
            return 0
    facts = memory.facts(history=chosen.history, key=chosen.key)
    if chosen.json:
        emit_json(facts)
        return 0
    for fact in facts:
        taken = paint(" (taken back)", "dim") if fact["retracted"] else ""
        said = f"[{fact['trust']}, {when(fact['at'], memory.now())}, {fact['session'][:8]}@{fact['seq']}]"
        value = words(fact["value"]) if chosen.key else cut(words(fact["value"]), LINE)
        held = "" if fact["retracted"] else f" = {value}"
        say(f"{fact['key']}{held}{taken}  {paint(said, 'dim')}")
    if not facts:
        say("no facts are recorded")
    return 0
