"""How a told call ended, where its teller left that out: the outcome by its error, a summary by its output.

It works on what is scrubbed already: what is cut from raw text could hold half a secret.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fazm_memory.capture.agents.tool_call import summary
from fazm_memory.capture.scrub import shortened

SUMMARY = 200
OUTPUT = 16 << 10  # of what a call brought back
ERROR = 2000


def with_outcome(raw: dict[str, Any]) -> dict[str, Any]:
    """What an agent says of a call, with the outcome and the summary it left out."""
    error = raw.get("error")
    if error is False or (isinstance(error, str) and not error.strip() and raw.get("outcome") is None):
        raw["error"] = error = None  # how some say that there was none
    if error is not None and not isinstance(error, str):
        raw["error"] = error = _line(_error(error))
    if raw.get("outcome") is None:
        raw.pop("outcome", None)
        if error is not None:
            raw["outcome"] = (
                "timeout" if "timeout" in error.lower() or "timed out" in error.lower() else "error"
            )
    if raw.get("output_summary") is None and raw.get("output") is not None:
        raw["output_summary"] = _line(raw["output"])
    for name, most in (("output", OUTPUT), ("error", ERROR)):
        if isinstance(raw.get(name), str):
            raw[name] = shortened(raw[name], most)
    if isinstance(raw.get("duration_ms"), float):
        raw["duration_ms"] = round(raw["duration_ms"])
    return raw


def _error(value: Any) -> Any:
    """An error that was told as an object: its type or code, then its message."""
    if not isinstance(value, Mapping):
        return value
    told = [str(value[name]) for name in ("type", "code", "name", "message") if value.get(name)]
    return ": ".join(dict.fromkeys(told)) or value


def _line(value: Any) -> str:
    """The first lines of a text that say something, on one line, or a value on one line."""
    if not isinstance(value, str):
        if isinstance(value, Mapping):
            value = value.get("text") or value.get("stdout") or value.get("message") or dict(value)
        if not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False, default=str)
    said = summary(value) or ""
    return shortened(said, SUMMARY)
