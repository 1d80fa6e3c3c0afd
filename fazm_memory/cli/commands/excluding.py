"""`fazm-memory exclude`: apps and folders that are never watched."""

from __future__ import annotations

import argparse
import os

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_json, say
from fazm_memory.errors import InvalidRequest


def exclude_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--app", metavar="NAME", help="an app, by its name or bundle identifier")
    what.add_argument("--folder", metavar="DIR", help="a folder and all in it")
    parser.add_argument("--remove", action="store_true", help="take it off the list again")


def exclude_command(chosen: argparse.Namespace) -> int:
    if chosen.remove and chosen.app is None and chosen.folder is None:
        raise InvalidRequest("nothing was named to take off the list", hint="name it: --app or --folder")
    if chosen.folder is not None and not chosen.folder.strip():  # which would be the folder we stand in
        raise InvalidRequest("an empty name is no folder", hint="name the folder; `.` is this one")
    memory = memory_of(chosen)
    if chosen.app is not None:
        (memory.include_app if chosen.remove else memory.exclude_app)(chosen.app)
    if chosen.folder is not None:
        folder = os.path.abspath(os.path.expanduser(chosen.folder))
        (memory.include_folder if chosen.remove else memory.exclude_folder)(folder)
    told = {**memory.excluded_apps(), "folders": memory.excluded_folders()}
    if chosen.json:
        emit_json(told)
        return 0
    for name in (*told["settings"], *told["apps"]):
        say(f"app     {name}")
    for name in told["folders"]:
        say(f"folder  {name}")
    say("and always: password managers, private windows and fields for passwords")
    return 0
