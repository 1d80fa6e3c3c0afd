"""The files that a tool call touched or listed, and the payloads of calls.

A listed file that the agent then left alone counts as skipped. So a listing is used only when the command is
plainly one and nothing else was printed.
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fazm_memory.agents.fields import MAX_RAW_TEXT, MAX_TEXT, bounded, capped, ident, mapping, sequence, text
from fazm_memory.engines.shell_effects import KnownFolders, file_effects
from fazm_memory.events import target_of
from fazm_memory.lazy import lazy_regex
from fazm_memory.records import dataclass
from fazm_memory.text import plan_title

MOST = 1000
# Outside quotes: a pipe, a list, a redirection or an expansion. Then the output may be anything.
QUOTED = lazy_regex(r"'[^']*'|\"[^\"$`\\]*\"")
UNCLEAR = lazy_regex(r"[|;&<>$`(){}*?\n\\]|\[")
LONG_FORMAT = lazy_regex(r"[-bcdlps][-rwxsStTl]{9}[@+.]?\s+\d+\s+\S+\s+\S+\s+[\d,]+\s+\S+\s+\S+\s+\S+\s(.+)")
LS_FLAGS = frozenset("1aAlhtrSpF")
# Allowed around a listing, as they keep its lines. `head` and `tail` omit some.
ENTERED = lazy_regex(r"cd ([^\s|;&<>$`(){}*?\\'\"~\[]+) && ")
TRIMMED = lazy_regex(r"\s*2>\s*/dev/null|\s*\|\s*(?:(head|tail)(?:\s+-n?\s*\d+)?|sort|cat)\s*$")
FIND_TAKES_VALUE = frozenset(
    {"-type", "-name", "-iname", "-maxdepth", "-mindepth", "-path", "-size", "-mtime"}
)


@dataclass(frozen=True, slots=True)
class LsOutput:
    """The names `ls` showed in a folder. If `marked`, folders end in a slash."""

    folder: str
    names: tuple[str, ...]
    marked: bool
    whole: bool = True


def folder_shown_by(command: str, output: str, cwd: str, home: str | None = None) -> LsOutput | None:
    """The folder that a successful `ls` showed, or None if unsure."""
    whole, command = True, command.strip()
    if entered := ENTERED.match(command):
        cwd, command = posixpath.join(cwd, entered.group(1)), command[entered.end() :]
    while trimmed := TRIMMED.search(command):
        whole = whole and trimmed.group(1) is None
        command = command[: trimmed.start()] + command[trimmed.end() :]
    words = _words(command, home)
    shown = _ls(words[1:], output, cwd) if words[:1] == ["ls"] else None
    if shown is None or not shown.folder.startswith("/"):
        return None
    return LsOutput(shown.folder, shown.names, shown.marked, whole)


def listed_by_command(command: str, output: str, cwd: str, home: str | None = None) -> list[dict[str, Any]]:
    """The folders a successful `ls` or `find` showed, as `seen` payloads.

    Empty if unsure.
    """
    words = _words(command, home) if output.strip() else []
    if words[:1] == ["ls"]:
        shown = _ls(words[1:], output, cwd)
        return [] if shown is None else listed_names(shown.folder, shown.names)
    if words[:1] == ["find"]:
        return _find(words[1:], output, cwd)
    if words in (["rg", "--files"], ["git", "ls-files"]):
        return listed_paths(output.splitlines(), cwd)
    return []


def _words(command: str, home: str | None) -> list[str]:
    """The words of a simple command. Empty for any other."""
    if UNCLEAR.search(QUOTED.sub("", command)):
        return []
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    if any(word.startswith("~") for word in words):
        if home is None:
            return []
        words = [home + word[1:] if word == "~" or word.startswith("~/") else word for word in words]
    return words


def listed_paths(paths: Iterable[str], cwd: str) -> list[dict[str, Any]]:
    """Listed paths, grouped by folder."""
    folders: dict[str, list[str]] = {}
    for number, path in enumerate(paths):
        if number >= MOST:
            break
        whole = posixpath.normpath(posixpath.join(cwd, path.strip()))
        if path.strip() and not path.endswith("/"):
            folders.setdefault(posixpath.dirname(whole), []).append(posixpath.basename(whole))
    return [{"folder": folder, "files": files} for folder, files in folders.items() if folder[:1] == "/"]


def listed_names(folder: str, names: Iterable[str]) -> list[dict[str, Any]]:
    """The listing of one folder. Names that end in a slash are folders."""
    files = [name for name in names if name and not name.endswith("/") and name not in (".", "..")]
    if not files or not folder.startswith("/"):
        return []  # a relative folder could not be located later
    listing: dict[str, Any] = {"folder": folder, "files": files[:MOST]}
    return [listing | {"total": len(files)} if len(files) > MOST else listing]


def _ls(words: list[str], output: str, cwd: str) -> LsOutput | None:
    flags = "".join(word[1:] for word in words if word.startswith("-"))
    folders = [word for word in words if not word.startswith("-")]
    if not set(flags) <= LS_FLAGS or len(folders) > 1:
        return None
    folder = posixpath.normpath(posixpath.join(cwd, *folders))
    lines = output.splitlines()
    if "l" in flags:
        lines = [_long_name(line) for line in lines]
    elif folders and lines == folders:
        return None  # `ls FILE` answers with the file itself
    if "F" in flags:
        lines = [line.rstrip("*@|=") for line in lines]
    names = tuple(line for line in lines if line.rstrip("/") not in ("", ".", ".."))
    if any("/" in name.rstrip("/") for name in names):
        return None  # paths, not names: `ls -l FILE`
    return LsOutput(folder, names, marked=not {"l", "p", "F"}.isdisjoint(flags))


def _long_name(line: str) -> str:
    found = LONG_FORMAT.fullmatch(line)
    if found is None:
        return ""
    name = found.group(1).split(" -> ")[0]
    return f"{name}/" if line.startswith("d") else name


def _find(words: list[str], output: str, cwd: str) -> list[dict[str, Any]]:
    rest = iter(words)
    kind = ""
    for word in rest:
        if word in FIND_TAKES_VALUE:
            value = next(rest, "")
            kind = value if word == "-type" else kind
        elif word.startswith("-"):
            return []  # -delete, -exec, -print0, …: not a plain listing
    return listed_paths(output.splitlines(), cwd) if kind == "f" else []


OUTPUT = INPUT = ERROR = MAX_RAW_TEXT
SUMMARY_LINES = 3
MOST_FILES = 1000
# Blank lines, single tags, brackets and rules.
MEANINGLESS = lazy_regex(r"\s*(?:</?[\w-]+[^<>]{0,200}>|[\[\](){},;\s]*|[-=*_]{3,})\s*")


def summary(output: str) -> str | None:
    """The first meaningful lines of an output, joined to one line."""
    lines: list[str] = []
    for line in capped(output, MAX_RAW_TEXT).splitlines():
        if not MEANINGLESS.fullmatch(line):
            lines.append(" ".join(line.split()))
        if len(lines) == SUMMARY_LINES:
            break
    return " · ".join(lines) or None


def touch(path: str, change: str, origin: str | None = None) -> dict[str, Any]:
    """A touched file, as in the payload of an action."""
    payload = {"path": path, "change": change}
    return payload | {"from": origin} if origin is not None else payload


def shell_files(
    command: str,
    *,
    cwd: str,
    output: str = "",
    ok: bool = True,
    home: str | None = None,
    known: KnownFolders | None = None,
) -> list[dict[str, Any]]:
    """The files a shell command touched.

    They are inferred from its text, its output and `known`.
    """
    touched = []
    for effect in file_effects(command, cwd=cwd, output=output, ok=ok, home=home, known=known)[:MOST_FILES]:
        payload = touch(effect.path, effect.change, effect.origin)
        if effect.inferred:
            payload |= {"inferred": True, "why": effect.why}
        touched.append(payload)
    if known is not None and ok and (shown := folder_shown_by(command, output, cwd, home)) is not None:
        known.add_listing(shown.folder, shown.names, whole=shown.whole, marked=shown.marked)
    return touched


@dataclass(frozen=True)
class CallResult:
    """How a call ended.

    `tool` is set when the record names another tool than the call did. `running` is set when the tool
    returned before its process ended.
    """

    output: str
    outcome: str = "ok"
    error: str | None = None
    files: tuple[dict[str, Any], ...] = ()
    seen: tuple[dict[str, Any], ...] = ()
    duration_ms: int | None = None
    tool: str = ""
    running: bool = False


def start(tool: str, tool_input: Any, call_id: str, agent_id: str | None) -> dict[str, Any]:
    """The payload of a call that has started."""
    payload = {"tool": tool, "input": bounded(tool_input, INPUT), "call_id": call_id, "agent_id": agent_id}
    return {name: value for name, value in payload.items() if value is not None}


def action(
    tool: str,
    tool_input: Any,
    *,
    call_id: str,
    output: str | None = None,
    outcome: str = "ok",
    error: str | None = None,
    duration_ms: int | None = None,
    files: Sequence[dict[str, Any]] = (),
    agent_id: str | None = None,
) -> dict[str, Any]:
    """The payload of a call that has ended, without unknown fields."""
    payload = start(tool, tool_input, call_id, agent_id) | {
        "output": capped(output, OUTPUT) if output is not None else None,
        "outcome": outcome,
        "error": capped(error, ERROR) if error and outcome != "ok" else None,
        "duration_ms": duration_ms if duration_ms is not None and duration_ms >= 0 else None,
        "files": list(files[:MOST_FILES]) or None,
    }
    return {name: value for name, value in payload.items() if value is not None}


def ended_action(
    tool: str,
    tool_input: Any,
    result: CallResult,
    call_id: str,
    agent_id: str | None,
    duration_ms: int | None = None,
) -> dict[str, Any]:
    """The payload of a call from its result.

    `duration_ms` is used if the result has none.
    """
    return action(
        tool,
        tool_input,
        call_id=call_id,
        output=result.output,
        outcome=result.outcome,
        error=result.error,
        duration_ms=duration_ms if result.duration_ms is None else result.duration_ms,
        files=result.files,
        agent_id=agent_id,
    )


ADD, DELETE, UPDATE, MOVE = "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "


def patched_files(patch: str, cwd: str) -> list[dict[str, Any]]:
    """The files a patch touches."""
    touched: list[dict[str, Any]] = []
    for line in patch.splitlines():
        if not line.startswith("*** "):
            continue
        if line.startswith(ADD):
            touched.append(touch(_path(line, ADD, cwd), "created"))
        elif line.startswith(DELETE):
            touched.append(touch(_path(line, DELETE, cwd), "deleted"))
        elif line.startswith(UPDATE):
            touched.append(touch(_path(line, UPDATE, cwd), "modified"))
        elif line.startswith(MOVE) and touched and touched[-1]["change"] == "modified":
            touched[-1] = touch(_path(line, MOVE, cwd), "renamed", touched[-1]["path"])
    return touched


def _path(line: str, header: str, cwd: str) -> str:
    return posixpath.normpath(posixpath.join(cwd, line[len(header) :].strip()))


PATH_NAMES = (
    "file_path", "filePath", "absolute_path", "notebook_path", "target_file", "filename", "file", "path",
    "uri",
)  # fmt: skip
MANY_NAMES = ("paths", "file_paths", "files", "include")
MOVE_FROM = ("source", "old_path", "oldPath", "from", "src", "source_path", "old_name", "oldName", "old")
MOVE_TO = ("destination", "new_path", "newPath", "to", "dst", "dest", "destination_path", "target", "new")
NEW_NAME = ("new_name", "newName")  # in the same folder

READ = frozenset(
    {
        "read", "notebookread", "readnotebook", "readfile", "viewfile", "view", "readtextfile",
        "readmediafile", "readmultiplefiles", "readmanyfiles", "viewimage",
    }
)  # fmt: skip
WRITE = frozenset({"write", "writefile", "createfile", "savefile", "filewrite"})
EDIT = frozenset(
    {"edit", "multiedit", "notebookedit", "editnotebook", "editfile", "replace", "strreplace", "applydiff"}
)
MOVE_TOOL = frozenset({"movefile", "renamefile"})
MAY_MOVE = frozenset({"move", "rename", "mv"})  # files, if the arguments look like paths
DELETE_TOOL = frozenset({"deletefile", "removefile"})
SEARCH = frozenset({"grep", "searchfilecontent", "greptool"})

UNKNOWN_WHETHER_NEW = "it was not told whether the file was there before"


def touched_files(
    tool: str, tool_input: Any, *, cwd: str, created: bool | None = None, home: str | None = None
) -> list[dict[str, Any]]:
    """The files a successful call of this tool touched.

    `created` is whether a written file is new.
    """
    name, arguments = plain_tool_name(tool), mapping(tool_input)
    if name in MOVE_TOOL or name in MAY_MOVE:
        return _moved(arguments, cwd, home, plain=name in MAY_MOVE)
    paths = [_placed(path, cwd, home) for path in _paths(arguments)][:MOST_FILES]
    if name in READ:
        return [touch(path, "read") for path in paths]
    if name in WRITE:
        return [_written(path, created) for path in paths]
    if name in EDIT:
        # Some agents create a file by an edit that replaces nothing.
        change = "created" if created else "modified"
        return [touch(path, change) for path in paths]
    if name in DELETE_TOOL:
        return [touch(path, "deleted") for path in paths]
    if name in SEARCH:
        # Only a name with an extension is surely a file. A folder was searched, not read.
        return [touch(path, "read") for path in paths if posixpath.splitext(path)[1]]
    return []


def plain_tool_name(tool: str) -> str:
    """One spelling of `Read`, `read_file` and `mcp__filesystem__read_file`.

    "" for other MCP servers.
    """
    if tool.startswith("mcp__"):
        _, server, *rest = tool.split("__")
        if not rest or not any(word in server.lower() for word in ("file", "fs", "desktop-commander")):
            return ""
        tool = rest[-1]
    return tool.replace("_", "").replace("-", "").lower()


def _paths(arguments: Mapping[str, Any]) -> list[str]:
    path = next((text(arguments[name]) for name in PATH_NAMES if text(arguments.get(name)).strip()), "")
    if path:
        return [path]
    for name in MANY_NAMES:
        if many := [path for path in sequence(arguments.get(name)) if text(path).strip()]:
            return many
    return []


def _moved(arguments: Mapping[str, Any], cwd: str, home: str | None, *, plain: bool) -> list[dict[str, Any]]:
    origin = next((text(arguments[name]) for name in MOVE_FROM if text(arguments.get(name))), "")
    goal = next((text(arguments[name]) for name in MOVE_TO if text(arguments.get(name))), "")
    renamed = next((text(arguments[name]) for name in NEW_NAME if text(arguments.get(name))), "")
    if renamed:
        origin = origin or next(iter(_paths(arguments)), "")
        goal = goal or posixpath.join(posixpath.dirname(origin), renamed)
    if not origin or not goal or (plain and not all("/" in path or "." in path for path in (origin, goal))):
        return []
    return [touch(_placed(goal, cwd, home), "renamed", _placed(origin, cwd, home))]


def _written(path: str, created: bool | None) -> dict[str, Any]:
    if created is None:
        return touch(path, "modified") | {"inferred": True, "why": UNKNOWN_WHETHER_NEW}
    return touch(path, "created" if created else "modified")


def _placed(path: str, cwd: str, home: str | None) -> str:
    """An absolute path, as far as `cwd` and `home` are known."""
    path = path.strip().removeprefix("file://")
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    return posixpath.normpath(posixpath.join(cwd, path)) if path[:1] not in ("~", "") else path


# What calls mean: answers, refusals and lists of steps, in each agent's form

PERSON = "person"
STATUSES = frozenset({"pending", "in_progress", "completed", "cancelled"})
MOST_STEPS = 200
STEP = 1000  # characters

# Tools that write a list of steps: the field with the list and the field with the text of a step.
STEP_TOOLS = {
    "update_plan": ("plan", "step"),  # Codex
    "todowrite": ("todos", "content"),  # opencode
    "todo_write": ("todos", "content"),  # Qwen
    "todo": ("todos", "content"),  # Hermes
    "write_todos": ("todos", "description"),  # Gemini
}
QUESTION_TOOLS = frozenset({"request_user_input", "question", "ask_user"})  # Codex, opencode, Gemini
QWEN_QUESTION = "ask_user_question"
QWEN_ANSWER = lazy_regex(r"^\*\*(.+?)\*\*: (.*(?:\n(?!\*\*).*)*)", re.MULTILINE)
# Tools that present a plan: the text is in the input, or in a file that the input names.
PLAN_TOOL = "exit_plan_mode"  # Gemini, Qwen
PLAN_ACCEPTED = lazy_regex(r"(?:Plan approved|User (?:has )?approved)\b")
PLAN_REJECTED = lazy_regex(
    r"Plan rejected\.(?: User feedback: (?P<reason>.*?)(?:\n\s*\nThe plan is stored at:|\Z))?", re.DOTALL
)
# A refusal with the user's reason: opencode.
FEEDBACK = lazy_regex(
    r"The user rejected permission to use this specific tool call with the following feedback:\s*(.+)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Meaning:
    """An event that a call stands for. `suffix` completes the key of the call."""

    kind: str
    payload: dict[str, Any]
    suffix: str
    actor: str | None = None


def call_meanings(
    call_id: str, tool: str, tool_input: Any, output: str, outcome: str, result: Mapping[str, Any]
) -> Iterator[Meaning]:
    """The events that a call stands for, for agents without forms of their own.

    `output` is what the model read, `result` an object with more, if the agent stores one.
    """
    if outcome == "denied" and (reason := FEEDBACK.match(output)):
        yield refusal(call_id, tool, tool_input, reason[1].strip())
    if outcome != "ok":
        return
    arguments = mapping(tool_input)
    if tool in STEP_TOOLS:
        listed, words = STEP_TOOLS[tool]
        items = (mapping(item) for item in sequence(arguments.get(listed)))
        yield steps({**item, "text": item.get(words)} for item in items)
    elif tool in QUESTION_TOOLS:
        answers = result.get("answers") or _object(output).get("answers")
        for number, asked in enumerate(map(mapping, sequence(arguments.get("questions")))):
            named = ident(asked.get("id")) or str(number)
            given = (
                answers.get(named)
                if isinstance(answers, dict)
                else dict(enumerate(sequence(answers))).get(number)
            )
            yield from answer(call_id, number, asked, _chosen(given))
    elif tool == QWEN_QUESTION:
        said = {head.strip(): words.strip() for head, words in QWEN_ANSWER.findall(output)}
        for number, asked in enumerate(map(mapping, sequence(arguments.get("questions")))):
            given = said.get(text(asked.get("header")).strip() or f"Question {number + 1}")
            yield from answer(call_id, number, asked, given or "")
    elif tool == PLAN_TOOL:
        yield from _plan(call_id, arguments, output)


def _plan(call_id: str, arguments: Mapping[str, Any], output: str) -> Iterator[Meaning]:
    """A plan that was presented, and what the user said of it."""
    plan = text(arguments.get("plan")).strip()
    file = text(arguments.get("plan_filename")) or text(arguments.get("plan_path"))
    title = plan_title(plan) if plan else posixpath.basename(file).rpartition(".")[0]
    if not title:
        return
    payload = {"title": title, "status": "presented", "call_id": call_id}
    yield Meaning("plan", payload | ({"text": capped(plan, MAX_TEXT)} if plan else {}), "plan")
    if PLAN_ACCEPTED.match(output):
        yield from verdict(call_id, title, "accepted", "accepted")
    elif rejected := PLAN_REJECTED.match(output):
        yield from verdict(call_id, title, "rejected", (rejected["reason"] or "").strip())


def _object(output: str) -> dict[str, Any]:
    try:
        return mapping(json.loads(output)) if output.lstrip().startswith("{") else {}
    except (ValueError, RecursionError):
        return {}


def _chosen(given: Any) -> str:
    """The answer to a question: a text, several texts, or an object with them."""
    if isinstance(given, dict):
        given = given.get("answers")
    return ", ".join(map(text, given)) if isinstance(given, list) else text(given)


def answer(call_id: str, number: int, asked: Mapping[str, Any], what: str) -> Iterator[Meaning]:
    """The user's answer to a question with options."""
    if not what.strip():
        return
    labels = [text(mapping(option).get("label")) for option in sequence(asked.get("options"))]
    payload = {
        "what": capped(what.strip(), MAX_TEXT),
        "form": "answer",
        "question": capped(text(asked.get("question")), MAX_TEXT),
        "alternatives": [label for label in labels if label],
        "call_id": call_id,
    }
    yield Meaning("decision", payload, f"answer:{number}", PERSON)


def refusal(call_id: str, tool: str, tool_input: Any, reason: str) -> Meaning:
    """The user's reason to refuse a call."""
    asked = mapping(next(iter(sequence(mapping(tool_input).get("questions"))), None))
    question = text(asked.get("question"))
    payload = {
        "what": capped(reason, MAX_TEXT),
        "form": "refusal",
        "about": f"{tool} {question or target_of(tool_input)}".strip(),
        "call_id": call_id,
    }
    return Meaning("decision", payload | ({"question": question} if question else {}), "refusal", PERSON)


def verdict(call_id: str, title: str, status: str, words: str, edited: str = "") -> Iterator[Meaning]:
    """What the user said of a presented plan.

    `edited` is its text if the user changed it before.
    """
    payload = {"title": title, "status": status, "call_id": call_id}
    if edited:
        payload["text"] = capped(edited, MAX_TEXT)
    yield Meaning("plan", payload, "verdict", PERSON)
    if words:
        decision = {"what": capped(words, MAX_TEXT), "form": "plan", "about": title, "call_id": call_id}
        yield Meaning("decision", decision, "decision", PERSON)


def steps(items: Iterable[Mapping[str, Any]]) -> Meaning:
    """A list of steps, each with `text`, `status` and perhaps `id`."""
    found = [_step(item) for item in items if text(item.get("text")).strip()]
    return Meaning("todos", {"items": found[:MOST_STEPS]}, "todos")


def _step(item: Mapping[str, Any]) -> dict[str, Any]:
    status = item.get("status") if item.get("status") in STATUSES else "pending"
    step = {"text": capped(text(item["text"]).strip(), STEP), "status": status}
    return step | ({"id": name} if (name := ident(item.get("id"))) else {})
