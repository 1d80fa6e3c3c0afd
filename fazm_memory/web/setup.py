"""The page's setup: the steps of the first launch. Its texts are in the user's language."""

from __future__ import annotations

from typing import Any

from fazm_memory.app import Memory
from fazm_memory.errors import FazmMemoryError
from fazm_memory.translation import current_language, translate, translate_filled
from fazm_memory.web.requests import JsonBody, QueryParameters


def setup(memory: Memory, query: QueryParameters) -> dict[str, Any]:
    return {
        "language": current_language(),
        "finished": memory.setup.finished,
        "steps": [step.to_json() for step in memory.setup.steps()],
        "labels": {
            "heading": translate("Set up Fazm Memory"),
            "about": translate("Every step can be skipped. You find all of them in the settings later."),
            "done": translate("done"),
            "skip": translate("Skip"),
            "undo": translate("Take Back"),
            "edits": translate("Show the changes"),
            "finish": translate("Finish"),
            "reading": translate("Importing…"),
            "nothing": translate("Nothing is left to set up."),
        },
    }


def apply(memory: Memory, body: JsonBody) -> dict[str, Any]:
    """Do or take back one choice of a step."""
    step, choice = body.needed("step"), body.text("choice") or ""
    try:
        return {"message": memory.setup.apply(step, choice, on=body.flag("on", True))}
    except FazmMemoryError as error:
        error.message, error.hint = translate_filled(error.message), translate_filled(error.hint)
        raise


def import_part(memory: Memory, body: JsonBody) -> dict[str, Any]:
    """Import the next part of the last month. The page calls it until nothing is left."""
    return memory.setup.import_part()


def finish(memory: Memory, body: JsonBody) -> dict[str, Any]:
    memory.setup.finish()
    return {"finished": True}


READS = {"setup": setup}
WRITES = {"setup": apply, "setup/import": import_part, "setup/finish": finish}
