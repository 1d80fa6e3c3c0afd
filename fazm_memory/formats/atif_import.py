"""An ATIF trajectory (v1.0 to v1.7) as drafts of a session.

What our own export wrote into `extra` is read back, so a session comes through a round trip. What the log has
no place for, such as pictures and reasoning, is left out and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from fazm_memory.clock import TimeError, parse_time
from fazm_memory.errors import InvalidRequest
from fazm_memory.events import Draft
from fazm_memory.text import plural

PREFIX = "ATIF-v1."
SOURCE = "import"
CLAIMED_TRUST = "unverified"
OUTCOMES = ("ok", "error", "denied", "timeout", "interrupted")
DECISIONS = ("answer", "refusal")
FILE_FIELDS = ("path", "change", "from", "inferred", "why")
NAME = 200  # characters of an id or a name


def is_atif(document: Any) -> bool:
    """Whether a JSON document is a trajectory."""
    return isinstance(document, dict) and str(document.get("schema_version", "")).startswith(PREFIX)


def from_atif(document: Mapping[str, Any], *, home: str, workspace: str | None, mine: bool) -> ImportedDrafts:
    """The drafts of a trajectory. Only with `mine` its claims of trust and of files are accepted."""
    if not is_atif(document):
        raise InvalidRequest(
            "This is not an ATIF v1 trajectory.", hint="it needs a schema_version of ATIF-v1.x"
        )
    steps = document.get("steps")
    if not isinstance(steps, list) or not steps:
        raise InvalidRequest("The trajectory has no steps.")
    drafts = ImportedDrafts(document, home, workspace, mine)
    for number, step in enumerate(steps):
        if not isinstance(step, Mapping):
            raise InvalidRequest(f"Step {number + 1} of the trajectory is not an object.")
        drafts.add(number, step)
    for name in ("subagent_trajectories", "continued_trajectory_ref"):
        drafts.dropped[name] += bool(document.get(name))
    return drafts


class ImportedDrafts:
    """Collects drafts, and counts what was left out."""

    def __init__(self, document: Mapping[str, Any], home: str, workspace: str | None, mine: bool) -> None:
        agent = _mapping(document.get("agent"))
        about = _mapping(_mapping(document.get("extra")).get("fazm_memory"))
        named = _text(document.get("trajectory_id")) or _text(document.get("session_id"))
        if not named:
            raise InvalidRequest("The trajectory has neither a trajectory_id nor a session_id.")
        self.session = f"atif:{named[:NAME]}"
        self.agent = _text(agent.get("name"))[:NAME] or "unknown"
        self.model = _text(agent.get("model_name")) or None
        self.home, self.mine = home.rstrip("/"), mine
        self.dropped: Counter[str] = Counter()
        self.drafts: list[Draft] = []
        self.turn = 0
        folder = workspace or self._local(_text(about.get("workspace"))) or None
        title = _text(about.get("title")) or None
        opening = {"agent": self.agent, "agent_session_id": self.session, "workspace": folder,
                   "title": title, "model": self.model}  # fmt: skip
        first = next((at for step in document.get("steps") or () if (at := _moment(step)) is not None), None)
        self._draft("session.open", {name: value for name, value in opening.items() if value}, "open", first)

    def notes(self) -> list[str]:
        words = {
            "pictures": "picture", "reasoning": "step with reasoning", "system": "system step",
            "copied": "step copied from another trajectory", "files": "claim of changed files",
        }  # fmt: skip
        known = [
            f"{plural(count, words.get(name, name))} left out"
            for name, count in self.dropped.items()
            if count
        ]
        return sorted(known)

    def add(self, number: int, step: Mapping[str, Any]) -> None:
        extra, at, key = _mapping(step.get("extra")), _moment(step), f"step-{number + 1}"
        source, words = step.get("source"), self._words(step.get("message"))
        turn = extra.get("turn")
        if isinstance(turn, int) and not isinstance(turn, bool) and turn >= 0:
            self.turn = turn
        elif source == "user":
            self.turn += 1
        if step.get("is_copied_context"):
            self.dropped["copied"] += 1
            return
        if source == "system":
            self.dropped["system"] += 1
            return
        self.dropped["reasoning"] += bool(step.get("reasoning_content"))
        if words.strip():
            self._say(str(source), words, extra, key, at)
        results = self._results(step)
        for place, call in enumerate(step.get("tool_calls") or ()):
            self._call(_mapping(call), results, f"{key}:{place}", at)
        self._usage(step, key, at)

    def _say(self, source: str, words: str, extra: Mapping[str, Any], key: str, at: int | None) -> None:
        form, why = _text(extra.get("form")), _text(extra.get("why"))
        question = _text(extra.get("question"))
        more = {"why": why, "question": question, "alternatives": _texts(extra.get("alternatives"))}
        kept = {name: value for name, value in more.items() if value}
        trust = _text(extra.get("trust")) or None
        if source == "user" and form in (*DECISIONS, "plan"):
            said = words.removeprefix(f"{question}\n\n") if question else words
            self._draft("decision", {"what": said, "form": form, **kept}, key, at, "person", trust)
        elif source == "user":
            self._draft("prompt", {"text": words}, key, at, "person", trust)
        elif form == "decision":
            self._draft("decision", {"what": words, **kept}, key, at, "agent", trust)
        elif form == "plan":
            self._draft(
                "plan", {"title": words.splitlines()[0][:NAME], "text": words}, key, at, "agent", trust
            )
        else:
            self._draft("message", {"text": words}, key, at, "agent", trust)

    def _results(self, step: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
        """Content and error of each result, by the id of its call."""
        found = {}
        for result in _mapping(step.get("observation")).get("results") or ():
            about = _mapping(result)
            error = _text(_mapping(about.get("extra")).get("error"))
            found[_text(about.get("source_call_id"))] = (self._words(about.get("content")), error)
        return found

    def _call(
        self, call: Mapping[str, Any], results: dict[str, tuple[str, str]], key: str, at: int | None
    ) -> None:
        name, extra = _text(call.get("tool_call_id"))[:NAME], _mapping(call.get("extra"))
        payload: dict[str, Any] = {
            "tool": _text(call.get("function_name"))[:NAME] or "unknown",
            "input": call.get("arguments"),
            "call_id": f"{self.session}:{name or key}",
        }
        if agent := _text(extra.get("agent_id")):
            payload["agent_id"] = agent
        if name not in results:
            self._draft("action.start", payload, key, at, "agent")
            return
        content, error = results[name]
        outcome = extra.get("outcome")
        payload["outcome"] = outcome if outcome in OUTCOMES else "error" if error else "ok"
        if error:
            payload["error"] = error
        if content != error or not error:
            payload["output"] = content
        if isinstance(extra.get("duration_ms"), int):
            payload["duration_ms"] = max(0, extra["duration_ms"])
        files = [self._file(_mapping(one)) for one in extra.get("files") or ()]
        if files and self.mine:
            payload["files"] = files
        self.dropped["files"] += bool(files and not self.mine)
        self._draft("action", payload, key, at, "agent")

    def _file(self, touch: Mapping[str, Any]) -> dict[str, Any]:
        kept = {name: touch[name] for name in FILE_FIELDS if name in touch}
        return kept | {name: self._local(_text(kept[name])) for name in ("path", "from") if name in kept}

    def _usage(self, step: Mapping[str, Any], key: str, at: int | None) -> None:
        spent = _mapping(step.get("metrics"))
        cached = _count(spent.get("cached_tokens"))
        payload: dict[str, Any] = {
            "input_tokens": max(0, _count(spent.get("prompt_tokens")) - cached),
            "output_tokens": _count(spent.get("completion_tokens")),
            "cached_tokens": cached,
        }
        cost = spent.get("cost_usd")
        if isinstance(cost, (int, float)) and cost >= 0:
            payload["cost_usd"] = float(cost)
        if any(payload.values()):
            model = _text(step.get("model_name")) or self.model
            self._draft("usage", payload | ({"model": model} if model else {}), f"{key}:usage", at)

    def _draft(
        self,
        kind: str,
        payload: Mapping[str, Any],
        key: str,
        at: int | None,
        actor: str | None = None,
        trust: str | None = None,
    ) -> None:
        turn = None if kind == "session.open" else self.turn
        believed = trust if self.mine else CLAIMED_TRUST
        self.drafts.append(
            Draft(
                self.session,
                kind,
                payload,
                self.agent,
                at,
                turn,
                actor,
                SOURCE,
                believed,
                key=f"{self.session}:{key}",
            )
        )

    def _local(self, path: str) -> str:
        """A path on this machine. Our export writes the home folder as `~`."""
        return f"{self.home}{path[1:]}" if path == "~" or path.startswith("~/") else path

    def _words(self, content: Any) -> str:
        """The text of a message. Other parts are pictures."""
        if isinstance(content, str):
            return content
        parts = [_mapping(part) for part in content] if isinstance(content, list) else []
        texts = [_text(part.get("text")) for part in parts if part.get("type") == "text"]
        self.dropped["pictures"] += len(parts) - len(texts)
        return "\n".join(texts)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _moment(step: Any) -> int | None:
    try:
        return parse_time(_text(_mapping(step).get("timestamp")))
    except TimeError:
        return None
