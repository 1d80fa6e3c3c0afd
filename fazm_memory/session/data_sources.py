"""Data sources in the working set: databases, APIs, web pages, mailboxes and spreadsheets.

They come from tool calls (addresses, database clients, names of tools and of files) and from applications in
the foreground. What is not clear from the names is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from fazm_memory.lazy import lazy_regex
from fazm_memory.records import dataclass

if TYPE_CHECKING:
    from fazm_memory.events import Action, AppSpan, Event
    from fazm_memory.session.calls import ShellCall
    from fazm_memory.session.state import StateBuilder

SourceKind = Literal["database", "api", "url", "mailbox", "spreadsheet"]
ADDRESS = lazy_regex(
    r"\b(?:https?|postgres(?:ql)?|mysql|mongodb(?:\+srv)?|redis|imaps?)://[^\s\"'<>`|;)]+", re.I
)
DATABASE_SCHEMES = ("postgres", "postgresql", "mysql", "mongodb", "mongodb+srv", "redis")
WRITES = lazy_regex(
    r"\b(?:insert\s+into|update\s+\w|delete\s+from|create\s+(?:table|index|view|database)|drop\s|alter\s"
    r"|truncate\s|(?:insert|update|delete|replace)(?:one|many)\(|bulkwrite\(|drop\()",
    re.I,
)
SENDING = lazy_regex(
    r"(?:^|\s)(?:-X\s*|--request[ =]|--method[ =])(?:POST|PUT|PATCH|DELETE)\b"
    r"|\s(?:-d|-F|-T|--data|--form|--json|--upload-file|--post-data|--post-file)(?=[\s=@'\"-])"
    r"|^(?:https?|xh)\s(?:\S+\s)*?(?:POST|PUT|PATCH|DELETE)\s"
)
GETTING = lazy_regex(r"\s(?:-G|--get)\s")  # data of curl that become a part of the address
NOT_REACHED = frozenset(
    {"echo", "printf", "grep", "egrep", "rg", "ag", "sed", "awk", "cat", "jq", "export", "test"}
)  # programs that take an address as text
GIT_TEXT = frozenset({"commit", "tag", "log", "grep", "config", "notes"})
ADDRESS_KEYS = frozenset({"code", "script"})  # of a tool that runs a program
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


@dataclass(frozen=True)
class Client:
    """A database client: what its options mean, and what its first other word is.

    An option that takes a value is a host, a port, the name of the database, or something else ("").
    """

    options: dict[str, str]
    first: Literal["name", "file", "address", "other"]
    writes: bool


def _client(
    host: str, port: str, name: str, values: str, first: Any = "name", writes: bool = False
) -> Client:
    listed = (("host", host), ("port", port), ("name", name), ("", values))
    return Client({option: what for what, text in listed for option in text.split()}, first, writes)


_PSQL = (
    "-c --command -f --file -F --field-separator -L --log-file -o --output -P --pset -R --record-separator"
    " -T --table-attr -U --username -v --set --variable"
)
_DUMP = "-f --file -F --format -j --jobs -n --schema -N -t --table -T -U --username -Z -S -E --encoding"
_MYSQL = "-u --user -e --execute -S --socket --default-character-set --ssl-mode --where"
_MONGO = "-u --username -p --password --eval -f --file --authenticationDatabase -c --collection -o --out"
_SQLITE = "-cmd -init -separator -newline -nullvalue -vfs -c -s -f --cmd --init --separator"
_PG = ("-h --host", "-p --port", "-d --dbname")
_MY = ("-h --host", "-P --port", "-D --database")
_MO = ("-h --host", "--port", "-d --db")
CLIENTS = {
    "psql": _client(*_PG, _PSQL),
    "pg_dump": _client(*_PG, _DUMP),
    "pg_restore": _client(*_PG, _DUMP, "other", writes=True),
    "mysql": _client(*_MY, _MYSQL),
    "mariadb": _client(*_MY, _MYSQL),
    "mysqldump": _client(*_MY, _MYSQL),
    "mongosh": _client("--host", "--port", "", _MONGO, "address"),
    "mongo": _client("--host", "--port", "", _MONGO, "address"),
    "mongodump": _client(*_MO, _MONGO, "other"),
    "mongorestore": _client(*_MO, _MONGO, "other", writes=True),
    "redis-cli": _client("-h", "-p", "-n", "-a --user --pass -u -r -i -t", "other"),
    "sqlite3": _client("", "", "", _SQLITE, "file"),
    "duckdb": _client("", "", "", _SQLITE, "file"),
}
REDIS_READS = frozenset(
    {
        "get", "mget", "hget", "hgetall", "hmget", "hkeys", "hlen", "keys", "scan", "info", "ping", "ttl",
        "exists", "type", "lrange", "llen", "smembers", "scard", "zrange", "zcard", "dbsize", "monitor",
        "memory", "object", "strlen", "client", "config", "subscribe", "select",
    }
)  # fmt: skip
INSIDE = frozenset({"docker", "docker-compose", "podman", "kubectl", "ssh", "heroku", "fly"})
PG_VARIABLE = lazy_regex(r"\b(PGHOST|PGPORT|PGDATABASE)=['\"]?([^\s'\";]+)")
PG_NAMES = {"PGHOST": "host", "PGPORT": "port", "PGDATABASE": "name", "dbname": "name"}
PAIR = lazy_regex(r"(\w+)\s*=\s*'?([^\s']+)")


class Access(NamedTuple):
    """One use of a data source. `place` is its host or its path."""

    kind: SourceKind
    name: str
    place: str | None
    written: bool


def note_sources(b: StateBuilder, event: Event, found: Iterable[Access]) -> None:
    """Count these uses in the working set."""
    for access in found:
        key = f"{access.kind}:{access.name}:{access.place or ''}"
        known = b.data_sources.get(key, {"read": 0, "written": 0, "count": 0})
        b.put("data_sources", key, {
            "kind": access.kind, "name": access.name, "place": access.place,
            "read": known["read"] + (not access.written), "written": known["written"] + access.written,
            "count": known["count"] + 1, "seq": event.seq, "at": event.at,
        })  # fmt: skip


def sources_of_app(span: AppSpan) -> Iterator[Access]:
    if span.document is not None and ADDRESS.match(span.document):
        yield from _address(span.document, span.document, sent=False)
        return
    kind = APPS.get(span.app.strip().lower())
    if kind is not None:
        name = span.document or span.title or span.app
        place = span.document if span.document is not None and "/" in span.document else None
        yield Access(kind, name.rstrip("/").rsplit("/", 1)[-1][:MOST_NAME] or span.app, place, False)


def sources_of_call(action: Action, call: ShellCall | None) -> list[Access]:
    """The data sources that a successful call used, each once. `call` is the command of a shell."""
    found = [*_shell(call)] if call is not None else [*_arguments(action), *_by_tool(action)]
    return list(dict.fromkeys((*found, *_files(action))))[:MOST_FOUND]


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield "", value[:MOST_TEXT]
    elif isinstance(value, Mapping):
        for key, item in list(value.items())[:50]:
            if isinstance(item, str):
                yield str(key), item[:MOST_TEXT]


def _arguments(action: Action) -> Iterator[Access]:
    """The addresses among the arguments of a tool. One inside of a longer text was not necessarily used."""
    sent = _method(action.input)
    for key, text in _texts(action.input):
        if key in ADDRESS_KEYS:
            for match in ADDRESS.findall(text)[:MOST_FOUND]:
                yield from _address(match, text, sent)
        elif match := ADDRESS.match(text.strip()):
            yield from _address(match[0], text, sent)


def _address(address: str, text: str, sent: bool) -> Iterator[Access]:
    """The data source at an address. `text` is the query or command that uses it."""
    try:
        parts = urlsplit(address.rstrip(".,"))
        host, path, port = parts.hostname, parts.path, parts.port
    except ValueError:  # not an address after all
        return
    if not host:
        return
    scheme = parts.scheme.lower()
    place = f"{host}:{port}" if port is not None else host
    if scheme in DATABASE_SCHEMES:
        name = path.strip("/")
        name = "/".join(filter(None, ("redis", name))) if scheme.startswith("redis") else name or host
        yield Access("database", name[:MOST_NAME], place, WRITES.search(text) is not None)
    elif scheme.startswith("imap"):
        yield Access("mailbox", host, place, False)
    else:
        api = sent or host.startswith("api.") or "/api/" in f"{path}/"
        yield Access("api" if api else "url", f"{place}{path}"[:MOST_NAME].rstrip("/"), place, sent)


def _shell(call: ShellCall) -> Iterator[Access]:
    """The addresses and databases that the programs of a command used."""
    if not ADDRESS.search(call.command) and not any(client in call.command for client in CLIENTS):
        return
    for words in call.parts:
        program = words[0]
        if program in NOT_REACHED or (program == "git" and words[1:2] and words[1] in GIT_TEXT):
            continue
        line = " ".join(words)
        sent = SENDING.search(line) is not None and GETTING.search(line) is None
        # A query can also come from a heredoc, which is no longer among the words.
        query = call.command if "<<" in call.command else line
        for match in ADDRESS.findall(line)[:MOST_FOUND]:
            yield from _address(match, query, sent)
        yield from _client_use(words, query, call.command)


def _method(value: Any) -> bool:
    method = value.get("method") if isinstance(value, Mapping) else None
    return isinstance(method, str) and method.upper() in ("POST", "PUT", "PATCH", "DELETE")


def _client_use(words: Sequence[str], query: str, command: str) -> Iterator[Access]:
    """The database that a program of a command opened with its own client."""
    within = range(len(words)) if words[0] in INSIDE else range(1)
    place = next((nth for nth in within if words[nth].rsplit("/", 1)[-1] in CLIENTS), None)
    if place is None:
        return
    program = words[place].rsplit("/", 1)[-1]
    client = CLIENTS[program]
    found, rest = _options(client, [word.strip("\"'") for word in words[place + 1 :]])
    first = rest[0] if rest else ""
    if any("://" in word for word in (*found.values(), first)):
        return  # its address was found
    if client.first in ("name", "file") or (client.first == "address" and not first.endswith(".js")):
        found.setdefault("name", first)
    if program.startswith(("psql", "pg_")):
        found = _connection(found, command)
    name, host, port = (found.get(what, "") for what in ("name", "host", "port"))
    if client.first == "address" and "/" in name:  # mongosh HOST:PORT/NAME
        host, _, name = name.rpartition("/")
    at = f"{host}:{port}" if host and port else host
    if client.first == "file":
        at, name = name, name.rsplit("/", 1)[-1]
    written = client.writes or WRITES.search(query) is not None
    if program == "redis-cli":
        name, written = (
            "/".join(filter(None, ("redis", name))),
            bool(first) and first.lower() not in REDIS_READS,
        )
    yield Access("database", (name or host or program)[:MOST_NAME], at[:MOST_NAME] or None, written)


def _connection(found: dict[str, str], command: str) -> dict[str, str]:
    """Host, port and name for a client of PostgreSQL, also from a connection string and from variables."""
    pairs: dict[str, str] = {}
    if "=" in found.get("name", ""):
        pairs = {PG_NAMES.get(key, key): value for key, value in PAIR.findall(found.pop("name"))}
    known = {PG_NAMES[key]: value for key, value in PG_VARIABLE.findall(command)}
    return {**known, **pairs, **{key: value for key, value in found.items() if value}}


def _options(client: Client, words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Host, port and name of the database, and the words that are no option."""
    found: dict[str, str] = {}
    rest: list[str] = []
    following = iter(words)
    for word in following:
        option, equals, value = word.partition("=")
        if word in client.options:
            found.setdefault(client.options[word], next(following, ""))
        elif word.startswith("--") and equals and option in client.options:
            found.setdefault(client.options[option], value.strip("\"'"))
        elif not word.startswith("--") and word[:2] in client.options and client.first != "file":
            found.setdefault(client.options[word[:2]], word[2:])
        elif not word.startswith(("-", "<", ">", "[REDACTED")):
            rest.append(word)
    return found, rest


def _by_tool(action: Action) -> Iterator[Access]:
    kind = next((kind for kind, words in TOOL_WORDS if words.search(action.tool)), None)
    if kind is None:
        return
    value = action.input if isinstance(action.input, Mapping) else {}
    name = next((value[one] for one in NAMED if isinstance(value.get(one), str) and value[one]), None)
    server = action.tool.split("__")[1] if action.tool.startswith("mcp__") else action.tool
    query = next((text for _, text in _texts(value) if WRITES.search(text)), None)
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
