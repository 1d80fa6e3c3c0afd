"""Data sources in the working set: databases, APIs, web pages, mailboxes and spreadsheets.

They come from tool calls (addresses, database clients, names of tools and of files) and from applications in
the foreground. What is not clear from the names is left out.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from fazm_memory.lazy import lazy_regex

if TYPE_CHECKING:
    from fazm_memory.events import Action, AppSpan, Event
    from fazm_memory.session.state import StateBuilder

SourceKind = Literal["database", "api", "url", "mailbox", "spreadsheet"]
ADDRESS = lazy_regex(
    r"\b(?:https?|postgres(?:ql)?|mysql|mongodb(?:\+srv)?|redis|imaps?)://[^\s\"'<>`|;)]+", re.I
)
DATABASE_SCHEMES = ("postgres", "postgresql", "mysql", "mongodb", "mongodb+srv", "redis")
CLIENTS = {"psql": "-d", "mysql": "-D", "mongosh": "", "redis-cli": "", "sqlite3": "", "duckdb": ""}
WRITES = lazy_regex(
    r"\b(?:insert\s+into|update\s+\w|delete\s+from|create\s+(?:table|index|view)|drop\s|alter\s|truncate\s)",
    re.I,
)
SENDING = lazy_regex(
    r"\B-X\s*(?:POST|PUT|PATCH|DELETE)\b|--request[ =](?:POST|PUT|PATCH|DELETE)|\s(?:-d|--data\S*|-F|-T)\s"
)
WRITING_TOOL = lazy_regex(r"send|create|insert|update|append|write|delete|post|put|draft|move|archive", re.I)
SPREADSHEETS = (".xlsx", ".xls", ".ods", ".numbers", ".csv", ".tsv")
DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb")
TOOL_WORDS: tuple[tuple[SourceKind, re.Pattern[str]], ...] = (
    ("mailbox", lazy_regex(r"gmail|outlook|imap|(?:^|[_.-])e?mails?(?:$|[_.-])", re.I)),
    ("spreadsheet", lazy_regex(r"spreadsheet|google_?sheets|excel|airtable", re.I)),
    (
        "database",
        lazy_regex(r"postgres|mysql|sqlite|bigquery|snowflake|mongodb|redis|(?:^|[_.-])sql(?:$|[_.-])", re.I),
    ),
)
APPS: dict[str, SourceKind] = {
    "mail": "mailbox", "outlook": "mailbox", "microsoft outlook": "mailbox", "thunderbird": "mailbox",
    "spark": "mailbox", "numbers": "spreadsheet", "microsoft excel": "spreadsheet", "excel": "spreadsheet",
    "libreoffice calc": "spreadsheet", "tableplus": "database", "postico": "database", "dbeaver": "database",
    "sequel ace": "database", "datagrip": "database", "mongodb compass": "database",
}  # fmt: skip
NAMED = (
    "database",
    "db",
    "dataset",
    "table",
    "spreadsheet_id",
    "spreadsheet",
    "sheet",
    "mailbox",
    "folder",
    "account",
)
MOST_TEXT = 4000
MOST_NAME = 200
MOST_FOUND = 8


class Access(NamedTuple):
    """One use of a data source. `place` is its host or its path."""

    kind: SourceKind
    name: str
    place: str | None
    written: bool


def note_sources(b: StateBuilder, event: Event, found: Iterable[Access]) -> None:
    """Count these uses in the working set."""
    for access in found:
        key = f"{access.kind}:{access.name}"
        known = b.data_sources.get(key, {"read": 0, "written": 0, "count": 0})
        b.put("data_sources", key, {
            "kind": access.kind, "name": access.name, "place": access.place,
            "read": known["read"] + (not access.written), "written": known["written"] + access.written,
            "count": known["count"] + 1, "seq": event.seq, "at": event.at,
        })  # fmt: skip


def sources_of_app(span: AppSpan) -> Iterator[Access]:
    kind = APPS.get(span.app.strip().lower())
    if kind is not None:
        name = span.document or span.title or span.app
        place = span.document if span.document is not None and "/" in span.document else None
        yield Access(kind, name.rstrip("/").rsplit("/", 1)[-1][:MOST_NAME] or span.app, place, False)


def sources_of_call(action: Action) -> list[Access]:
    """The data sources that a successful call used, each once."""
    found = [*_addresses(action), *_clients(action), *_by_tool(action), *_files(action)]
    return list(dict.fromkeys(found))[:MOST_FOUND]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value[:MOST_TEXT]
    elif isinstance(value, Mapping):
        for item in list(value.values())[:50]:
            yield from (item[:MOST_TEXT],) if isinstance(item, str) else ()


def _addresses(action: Action) -> Iterator[Access]:
    for text in _texts(action.input):
        for match in ADDRESS.findall(text)[:MOST_FOUND]:
            try:
                parts = urlsplit(match.rstrip(".,"))
                host, path = parts.hostname, parts.path
            except ValueError:  # not an address after all
                continue
            if not host:
                continue
            scheme = parts.scheme.lower()
            if scheme in DATABASE_SCHEMES:
                yield Access("database", path.strip("/") or host, host, WRITES.search(text) is not None)
            elif scheme.startswith("imap"):
                yield Access("mailbox", host, host, False)
            else:
                sent = SENDING.search(text) is not None or _method(action.input)
                api = sent or host.startswith("api.") or "/api/" in f"{path}/"
                yield Access("api" if api else "url", f"{host}{path}"[:MOST_NAME].rstrip("/"), host, sent)


def _method(value: Any) -> bool:
    method = value.get("method") if isinstance(value, Mapping) else None
    return isinstance(method, str) and method.upper() in ("POST", "PUT", "PATCH", "DELETE")


def _clients(action: Action) -> Iterator[Access]:
    """Databases that a shell command opened with their own client."""
    command = action.input.get("command") if isinstance(action.input, Mapping) else None
    if not isinstance(command, str) or not any(client in command for client in CLIENTS):
        return
    try:
        words = shlex.split(command[:MOST_TEXT])
    except ValueError:  # an open quote
        return
    for place, word in enumerate(words):
        client = word.rsplit("/", 1)[-1]
        if client not in CLIENTS:
            continue
        rest = words[place + 1 :]
        flag = CLIENTS[client]
        named = rest[rest.index(flag) + 1 : rest.index(flag) + 2] if flag and flag in rest else []
        name = next(iter(named), None) or next((one for one in rest if not one.startswith("-")), client)
        if "://" not in name:
            is_file = client in ("sqlite3", "duckdb")
            written = WRITES.search(command) is not None
            yield Access("database", name[:MOST_NAME], name[:MOST_NAME] if is_file else None, written)
        return


def _by_tool(action: Action) -> Iterator[Access]:
    kind = next((kind for kind, words in TOOL_WORDS if words.search(action.tool)), None)
    if kind is None:
        return
    value = action.input if isinstance(action.input, Mapping) else {}
    name = next((value[one] for one in NAMED if isinstance(value.get(one), str) and value[one]), None)
    server = action.tool.split("__")[1] if action.tool.startswith("mcp__") else action.tool
    query = next((text for text in _texts(value) if WRITES.search(text)), None)
    written = query is not None or WRITING_TOOL.search(action.tool.rsplit("__", 1)[-1]) is not None
    yield Access(kind, (name or server)[:MOST_NAME], None, written)


def _files(action: Action) -> Iterator[Access]:
    for touch in action.files[:MOST_FOUND]:
        path = touch.path.lower()
        kind: SourceKind | None = (
            "spreadsheet" if path.endswith(SPREADSHEETS) else "database" if path.endswith(DATABASES) else None
        )
        if kind is not None and touch.change != "deleted":
            yield Access(kind, touch.path.rsplit("/", 1)[-1][:MOST_NAME], touch.path, touch.change != "read")
