"""A session as an ATIF v1.7 trajectory (Agent Trajectory Interchange Format).

Every statement is a step. Tool calls belong to the agent's step before them. What ATIF has no field for is
in `extra`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC
from typing import Any

from fazm_memory.clock import TimeError, iso, parse_time
from fazm_memory.errors import InvalidRequest
from fazm_memory.events import Draft
from fazm_memory.formats.conversation import Conversation, Statement, TokenUse, ToolCall
from fazm_memory.text import plural

SCHEMA = "ATIF-v1.7"
UNKNOWN_VERSION = "unknown"  # ATIF wants the agent's version, which is not recorded


def to_atif(talk: Conversation) -> dict[str, Any]:
    """The trajectory as JSON."""
    steps = _Steps()
    for entry in talk.entries:
        steps.add(entry)
    if not steps.steps:
        steps.step("system", "Nothing was said or done in this session.", talk.opened_at)
    agent: dict[str, Any] = {"name": talk.agent, "version": UNKNOWN_VERSION}
    if talk.models:
        agent["model_name"] = talk.models[0]
    state = talk.state
    extra = {
        "title": talk.title, "workspace": talk.workspace, "parent": talk.parent,
        "files_modified": state["files_modified"], "pending": state["pending_actions"],
        "questions": state["questions"],
    }  # fmt: skip
    trajectory = {
        "schema_version": SCHEMA,
        "session_id": talk.id,
        "trajectory_id": talk.id,
        "agent": agent,
        "steps": steps.steps,
        "final_metrics": _final_metrics(talk, len(steps.steps)),
        "extra": {"fazm_memory": {name: value for name, value in extra.items() if value}},
    }
    if talk.forgotten:
        trajectory["notes"] = f"{plural(talk.forgotten, 'event')} without content, because it was forgotten."
    return trajectory


class _Steps:
    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []
        self.ids: set[str] = set()
        self.unspent: list[TokenUse] = []  # recorded before the agent's step of the same turn
        self.turn = -1

    def add(self, entry: Statement | ToolCall | TokenUse) -> None:
        if entry.turn != self.turn:
            self.turn, self.unspent = entry.turn, []
        if isinstance(entry, TokenUse):
            if self._agents_turn():
                _spend(self.steps[-1], entry)
            else:
                self.unspent.append(entry)
        elif isinstance(entry, ToolCall):
            if not self._agents_turn():
                self._agent_step("", entry.begin, entry.turn)
            self._call(self.steps[-1], entry)
        elif entry.role == "user":
            message = f"{entry.question}\n\n{entry.text}" if entry.question else entry.text
            self.step("user", message, entry.at)["extra"] = _about(entry)
        else:
            self._agent_step(entry.text, entry.at, entry.turn)
            self.steps[-1]["extra"] |= _about(entry)

    def _agents_turn(self) -> bool:
        """Whether the last step is the agent's and of the current turn."""
        return bool(self.steps) and self.steps[-1]["source"] == "agent" and (
            self.steps[-1]["extra"]["turn"] == self.turn
        )  # fmt: skip

    def step(self, source: str, message: str, at: int) -> dict[str, Any]:
        step = {"step_id": len(self.steps) + 1, "timestamp": iso(at, UTC), "source": source,
                "message": message}  # fmt: skip
        self.steps.append(step)
        return step

    def _agent_step(self, message: str, at: int, turn: int) -> None:
        step = self.step("agent", message, at)
        step["extra"] = {"turn": turn}
        for use in self.unspent:
            _spend(step, use)
        self.unspent = []

    def _call(self, step: dict[str, Any], call: ToolCall) -> None:
        name = call.call_id or ""
        if not name or name in self.ids:
            name = f"{call.session[:8]}-{call.seq}"
        self.ids.add(name)
        given = call.input if isinstance(call.input, dict) else {"input": call.input}
        extra = {"outcome": call.outcome, "seq": call.seq, "duration_ms": (call.end - call.begin) // 1000,
                 "agent_id": call.agent_id, "files": call.files}  # fmt: skip
        step.setdefault("tool_calls", []).append(
            {
                "tool_call_id": name,
                "function_name": call.tool,
                "arguments": {} if call.input is None else given,
                "extra": {name: value for name, value in extra.items() if value},
            }
        )
        if call.result is not None or call.outcome != "interrupted":
            result: dict[str, Any] = {"source_call_id": name, "content": call.result or ""}
            if call.error is not None:
                result["extra"] = {"error": call.error}
            step.setdefault("observation", {"results": []})["results"].append(result)


def _about(said: Statement) -> dict[str, Any]:
    about = {"turn": said.turn, "form": said.form, "trust": said.trust, "seq": said.seq,
             "question": said.question, "why": said.why, "alternatives": list(said.alternatives)}  # fmt: skip
    return {name: value for name, value in about.items() if value or name in ("turn", "seq")}


def _spend(step: dict[str, Any], use: TokenUse) -> None:
    """Add tokens to the metrics of an agent's step.

    In ATIF, prompt tokens include cached ones.
    """
    metrics = step.setdefault("metrics", {"prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0})
    metrics["prompt_tokens"] += use.input + use.cached
    metrics["completion_tokens"] += use.output
    metrics["cached_tokens"] += use.cached
    if use.usd is not None:
        metrics["cost_usd"] = metrics.get("cost_usd", 0.0) + use.usd
    if use.model:
        step["model_name"] = use.model


def _final_metrics(talk: Conversation, steps: int) -> dict[str, Any]:
    uses = [entry for entry in talk.entries if isinstance(entry, TokenUse)]
    metrics: dict[str, Any] = {"total_steps": steps}
    if uses:
        metrics |= {
            "total_prompt_tokens": sum(use.input + use.cached for use in uses),
            "total_completion_tokens": sum(use.output for use in uses),
            "total_cached_tokens": sum(use.cached for use in uses),
        }
    if any(use.usd is not None for use in uses):
        metrics["total_cost_usd"] = sum(use.usd or 0.0 for use in uses)
    return metrics


# An ATIF trajectory (v1.0 to v1.7) as drafts of a session.
#
# What our own export wrote into `extra` is read back, so a session comes through a round trip. What the log
# has no place for, such as pictures and reasoning, is left out and counted.

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
    """The drafts of a trajectory.

    Only with `mine` its claims of trust and of files are accepted.
    """
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
            "pictures": "picture", "reasoning": "reasoning text", "system": "system step",
            "copied": "copied step", "files": "unproven file change",
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
