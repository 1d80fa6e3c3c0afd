"""Preparation of drafts before the lock: redact, check, infer files of calls.

Redacting and interpreting shell commands can take seconds, so both are done before the log is locked. The
recorder then only places what is prepared.

An agent that records its calls by line or over MCP may leave `files` out. They are inferred by the same rules
as in agents' own records: an unknown name is never made up, and what the call does not prove is marked as
inferred.
"""

from __future__ import annotations

import hmac
import json
import posixpath
import shlex
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fazm_memory.agents import (
    listed_by_command,
    listed_names,
    mapping,
    plain_tool_name,
    sequence,
    shell_files,
    strip_injected,
    summary,
    text,
    touched_files,
)
from fazm_memory.engines.redaction import KnownSecrets, Redactor, shorten
from fazm_memory.engines.shell_effects import KnownFolders
from fazm_memory.errors import FazmMemoryError, InvalidInput
from fazm_memory.events import (
    FORM_SOURCE,
    SOURCES,
    Action,
    Draft,
    FileTouch,
    FolderListing,
    PayloadError,
    codec,
    input_hash,
    payload_class,
)
from fazm_memory.ingest.record_protocol import ENVELOPE, check_schema
from fazm_memory.records import dataclass, replace
from fazm_memory.text import did_you_mean

NAME = 120  # characters of an agent's or a tool's name
MOST_NAMES = 10_000
MOST_SESSIONS = 64


@dataclass
class PreparedDraft:
    """A draft that is ready to be placed, or the error that keeps it out.

    `question_error` is an error of a question's form. It does not count if the draft was recorded before.
    If files were inferred, `before_inference` is the action without them, `workspace` the folder that was
    assumed, and `known_by` the name under which the session's folders are remembered.
    """

    draft: Draft
    at: int
    door: str
    payload: Any = None
    error: FazmMemoryError | None = None
    question_error: FazmMemoryError | None = None
    before_inference: Action | None = None
    workspace: str | None = None
    known_by: str = ""


# The id and the workspace of the session that a draft belongs to, if it exists.
FindSession = Callable[[Draft], tuple[str, str | None] | None]


SessionName = tuple[str | None, str]  # the agent, and its id of the session


class CleanPayload(dict[str, Any]):
    """A payload that has been redacted already."""


def redact_payloads(
    redactor: Redactor, payloads: Sequence[Mapping[str, Any]], known: Sequence[KnownSecrets]
) -> list[Any]:
    """The payloads without secrets, and without copies of secrets of their session.

    A copy may come before or after the place where the secret was recognised. `known` are the secrets of each
    payload's session. What is found is added to them.
    """
    clean: list[Any] = []
    counts: list[int] = []
    for payload, secrets in zip(payloads, known, strict=True):
        if isinstance(payload, CleanPayload):
            clean.append(redactor.without_copies(dict(payload), secrets))
        else:
            clean.append(redactor.value(strip_injected(dict(payload)), secrets)[0])
        counts.append(secrets.added)
    return [
        value if secrets.added == count else redactor.without_copies(value, secrets)
        for value, secrets, count in zip(clean, known, counts, strict=True)
    ]


class Preparer:
    """Prepares drafts: redacts, checks and completes them.

    `secret` is a key. With it, two sessions whose names had to be redacted differ, and no name is revealed.
    """

    def __init__(
        self, redactor: Redactor, secret: bytes, find_session: FindSession, now: Callable[[], int]
    ) -> None:
        self.redactor = redactor
        self.find_session = find_session
        self.now = now
        self.calls = CallInference()
        self._names = NameRedactor(redactor, secret)
        self._secrets: dict[SessionName, KnownSecrets] = {}  # of the latest sessions, in memory only

    def prepare(self, drafts: Sequence[Draft]) -> list[PreparedDraft]:
        opened: dict[tuple[str | None, str], str] = {}  # workspaces that openings in this batch state
        drafts = [self._names.redact(draft) for draft in drafts]
        known = [self._known_secrets(draft) for draft in drafts]
        payloads = redact_payloads(self.redactor, [draft.payload for draft in drafts], known)
        return [
            self._prepare(draft, payload, opened) for draft, payload in zip(drafts, payloads, strict=True)
        ]

    def learn_secrets(self, found: Mapping[SessionName, Mapping[str, str]]) -> None:
        """Remember secrets that another process found in these sessions."""
        for (agent, session), names in found.items():
            draft = self._names.redact(Draft(session, "", agent=agent))
            known = self._known_secrets(draft)
            for value, name in names.items():
                known.add(value, name)

    def _known_secrets(self, draft: Draft) -> KnownSecrets:
        key = draft.agent, draft.session
        secrets = self._secrets.pop(key) if key in self._secrets else KnownSecrets()
        self._secrets[key] = secrets  # at the end: the session used last
        while len(self._secrets) > MOST_SESSIONS:
            del self._secrets[next(iter(self._secrets))]
        return secrets

    def _prepare(self, draft: Draft, clean: Any, opened: dict[tuple[str | None, str], str]) -> PreparedDraft:
        at = draft.at if draft.at is not None else self.now()
        # A claim about the source gives no other rights than the way it really came in.
        prepared = PreparedDraft(draft, at, draft.door or draft.source)
        try:
            prepared.payload = payload = self._typed(draft, clean)
        except FazmMemoryError as error:
            prepared.error = error
            return prepared
        try:
            check_form(draft.kind, payload, prepared.door)
        except FazmMemoryError as error:
            prepared.question_error = error
        if draft.kind == "session.open" and payload.workspace:
            opened[draft.agent, draft.session] = payload.workspace
        elif draft.kind == "action":
            ours = input_hash(payload.tool, payload.input)
            given = payload.input_hash if payload.input_hash != ours else None
            prepared.payload = payload = replace(payload, input_hash=ours, caller_input_hash=given)
            if "files" not in draft.payload and (draft.door == "record" or draft.source == "mcp"):
                self._infer(prepared, opened.get((draft.agent, draft.session)))
        return prepared

    def _infer(self, prepared: PreparedDraft, opened_in: str | None) -> None:
        draft = prepared.draft
        id_, workspace = self.find_session(draft) or (f"{draft.agent}\0{draft.session}", None)
        prepared.before_inference = prepared.payload
        prepared.known_by, prepared.workspace = id_, opened_in or workspace
        prepared.payload = self.calls.completed(id_, prepared.payload, prepared.workspace)

    def _typed(self, draft: Draft, clean: Any) -> Any:
        for name in ("tool", "agent"):
            if isinstance(clean.get(name), str):
                clean[name] = " ".join(clean[name].split())[:NAME] or "unknown"
        if draft.kind == "action":  # after redacting: raw text that is cut could keep half a secret
            clean = with_outcome(clean)
        try:
            return codec.decode(payload_class(draft.kind), clean)
        except PayloadError as error:
            hint = _hint(draft, str(error)) if draft.door == "record" else ""
            raise InvalidInput(f"{draft.kind}: {error}", hint=hint) from None


def _hint(draft: Draft, error: str) -> str:
    """A hint for a line with an unknown field: the fields that its type has."""
    unknown = next((name for name in draft.payload if error.startswith(f"unknown field {name}.")), None)
    if unknown is None:
        return ""
    return f"{did_you_mean(unknown, ENVELOPE)}Every line may have {', '.join(ENVELOPE)}."


def check_form(kind: str, payload: Any, door: str) -> None:
    """Check a question, or an answer that comes from a form. Raises InvalidInput."""
    if door == FORM_SOURCE and (kind != "handoff.answer" or payload.waived):
        raise InvalidInput(f"{kind}: a form brings the answer to a question and nothing else")
    if kind == "handoff" and payload.answer_schema is not None:
        check_schema(payload.answer_schema)


class NameRedactor:
    def __init__(self, redactor: Redactor, secret: bytes) -> None:
        self.redactor = redactor
        self._secret = secret
        self._known: dict[str, str] = {}

    def redact(self, draft: Draft) -> Draft:
        """The draft with redacted names, each on one line."""
        agent = None if draft.agent is None else self._name(draft.agent)
        session = self._key(draft.session)
        source = draft.source if draft.source in SOURCES else self._claim(draft.source)
        if (agent, session, source) == (draft.agent, draft.session, draft.source):
            return draft
        return replace(draft, agent=agent, session=session, source=source)

    def _name(self, text: str) -> str:
        known = self._known.get(text)
        if known is None:
            if len(self._known) >= MOST_NAMES:
                self._known.clear()
            known = self._known[text] = " ".join(self.redactor.text(text).text.split())[:NAME] or "unknown"
        return known

    def _claim(self, text: str) -> str:
        """A source that the draft claims.

        It never becomes the name of a real source by redaction.
        """
        name = self._name(text)
        return f"record:{name}" if name in SOURCES else name

    def _key(self, text: str) -> str:
        """A session's name as it is, or a redacted one that stays distinct."""
        fit = self._name(text)
        if fit == text or (len(text) > NAME and self.redactor.text(text).text == text):
            return text
        own = hmac.digest(self._secret, text.encode("utf-8", "replace"), "sha256").hex()[:12]
        return f"{fit}#{own}"


SUMMARY = 200
OUTPUT = 16 << 10
ERROR = 2000


def with_outcome(raw: dict[str, Any]) -> dict[str, Any]:
    """A call as reported, with the outcome and the summary if they are missing."""
    error = raw.get("error")
    if error is False or (isinstance(error, str) and not error.strip() and raw.get("outcome") is None):
        raw["error"] = error = None  # some agents report no error like this
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
            raw[name] = shorten(raw[name], most)
    if isinstance(raw.get("duration_ms"), float):
        raw["duration_ms"] = round(raw["duration_ms"])
    return raw


def _error(value: Any) -> Any:
    """The text of an error object: its type or code, then its message."""
    if not isinstance(value, Mapping):
        return value
    parts = [str(value[name]) for name in ("type", "code", "name", "message") if value.get(name)]
    return ": ".join(dict.fromkeys(parts)) or value


def _line(value: Any) -> str:
    """A summary of a text or another value, on one line."""
    if not isinstance(value, str):
        if isinstance(value, Mapping):
            value = value.get("text") or value.get("stdout") or value.get("message") or dict(value)
        if not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False, default=str)
    return shorten(summary(value) or "", SUMMARY)


SHELLS = frozenset(
    {
        "bash", "sh", "zsh", "shell", "shellcommand", "localshell", "terminal", "exec", "execute",
        "execcommand", "executecommand", "runcommand", "runshellcommand", "runterminalcmd", "containerexec",
        "runbash", "executebash",
    }
)  # fmt: skip
COMMANDS = ("command", "cmd", "script")
FOLDERS = ("cwd", "workdir", "working_directory")
LISTINGS = frozenset(
    {"ls", "listdirectory", "listdir", "oslistdir", "listfiles", "listfolder", "readdir", "readdirectory"}
)
LISTED = ("path", "folder", "directory", "dir", "dir_path", "target_directory")
NAMES = ("files", "entries", "items")
MOST_OUTPUT = 256 << 10


class CallInference:
    """Infers the files of calls, in order. Remembers the folders of recent sessions."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, KnownFolders] = OrderedDict()

    def completed(self, session: str, action: Action, workspace: str | None) -> Action:
        """The action with the files it touched and listed, as far as they can be inferred."""
        tool, ok = plain_tool_name(action.tool).replace(".", ""), action.outcome == "ok"
        cwd = _folder(mapping(action.input), FOLDERS, workspace or "")
        files: list[dict[str, Any]] = []
        listings: list[dict[str, Any]] = []
        known = self._of(session)
        if tool in SHELLS and action.outcome != "denied" and (command := _command(action.input)):
            output = _printed(action.output) or action.error or ""
            files = shell_files(command, cwd=cwd, output=output, ok=ok, home=_home(cwd), known=known)
            listings = listed_by_command(command, output, cwd, _home(cwd)) if ok else []
        elif tool in LISTINGS and ok:
            listings = _listed(mapping(action.input), action.output, cwd)
        elif ok:
            files = [
                file
                for file in touched_files(action.tool, action.input, cwd=cwd, home=_home(cwd))
                if file["path"].startswith(("/", "~/"))
            ]
        if not files and not listings:
            return action
        if ok:
            known.add_call(files, listings)
        return replace(
            action,
            files=tuple(codec.decode(FileTouch, file) for file in files),
            seen=tuple(codec.decode(FolderListing, listing) for listing in listings) or action.seen,
        )

    def session_created(self, known_by: str, session: str) -> None:
        """Keep what was learned under a session's name before the session had an id."""
        if known_by in self._known and known_by != session:
            self._known[session] = self._known.pop(known_by)

    def _of(self, session: str) -> KnownFolders:
        known = self._known.pop(session, None) or KnownFolders()
        known.carry()
        self._known[session] = known
        while len(self._known) > MOST_SESSIONS:
            self._known.popitem(last=False)
        return known


def _command(command: Any) -> str:
    """The command as typed: `bash -lc X` is X."""
    if isinstance(command, Mapping):
        command = next((command[name] for name in COMMANDS if command.get(name)), "")
    if isinstance(command, str):
        return command
    words = [word for word in sequence(command) if isinstance(word, str)]
    return words[2] if len(words) == 3 and words[1] in ("-lc", "-c") else shlex.join(words)


def _folder(arguments: Mapping[str, Any], names: Sequence[str], cwd: str) -> str:
    """The folder in the first of the named arguments, or `cwd`."""
    return posixpath.join(
        cwd, next(filter(None, (text(arguments[name]) for name in names if name in arguments)), "")
    )


def _home(cwd: str) -> str | None:
    """The home folder that contains a folder, by the usual paths of systems."""
    parts = cwd.split("/")
    if len(parts) > 2 and parts[0] == "" and parts[1] in ("Users", "home"):
        return "/".join(parts[:3])
    return "/root" if parts[:2] == ["", "root"] else None


def _printed(output: Any) -> str:
    """What a call printed, errors included."""
    if isinstance(output, Mapping):
        parts = [text(output[name]) for name in ("stdout", "output", "text", "stderr") if name in output]
        output = "\n".join(part for part in parts if part)
    return text(output)[:MOST_OUTPUT]


def _listed(arguments: Mapping[str, Any], output: Any, cwd: str) -> list[dict[str, Any]]:
    """The folder that a listing tool showed.

    Its output is a list of names or entries, or text with a name on each line.
    """
    folder = _folder(arguments, LISTED, cwd)
    if isinstance(output, str) and output[:1] in ("[", "{") and not output.startswith(("[FILE]", "[DIR]")):
        output = _json(output)
    if isinstance(output, Mapping):
        output = next((output[name] for name in NAMES if isinstance(output.get(name), list)), output)
    blocks = [text(mapping(block).get("text")) for block in sequence(output)]
    if isinstance(output, list) and not any(blocks):
        names = _names(output)
    else:
        names = _lines("\n".join(blocks) if blocks else _printed(output))
    return listed_names(posixpath.normpath(folder) if folder else "", names)


def _json(output: str) -> Any:
    try:
        return json.loads(output)
    except (ValueError, RecursionError):
        return output


def _names(entries: Iterable[Any]) -> list[str]:
    found = []
    for entry in entries:
        about = mapping(entry)
        name = text(entry) or text(about.get("name")) or text(about.get("path"))
        kind = text(about.get("type")).lower()
        folder = name.endswith("/") or kind in ("dir", "directory", "folder") or about.get("is_dir") is True
        base = posixpath.basename(name.rstrip("/"))
        found.append(f"{base}/" if folder and base else base)
    return found


def _lines(output: str) -> list[str]:
    """Names, one on each line.

    The common MCP server for files writes `[FILE]` or `[DIR]` before each.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if any(line.startswith(("[FILE] ", "[DIR] ")) for line in lines):
        return [line.removeprefix("[FILE] ") for line in lines if line.startswith("[FILE] ")]
    # A sentence is no name: a listing in which one stands is not a plain one.
    return [] if any("/" in line.rstrip("/") or ": " in line for line in lines) else lines
