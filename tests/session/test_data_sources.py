"""Which databases, addresses, mailboxes and spreadsheets a call used."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.events.event import Action, AppSpan
from fazm_memory.session.calls import shell_call, sources_of_app, sources_of_call


def sources(tool: str, value: Any) -> list[tuple[str, str, str | None, bool]]:
    return [tuple(one) for one in sources_of_call(Action(tool, value), shell_call(tool, value, "ok", ""))]


def used(command: str) -> list[tuple[str, str | None, bool]]:
    """Name, place and whether it was written, of each database or address of a shell command."""
    return [(name, place, written) for _, name, place, written in sources("Bash", {"command": command})]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("psql -h db.example.com shop -c 'select 1'", ("shop", "db.example.com", False)),
        ("psql -h db.example.com -p 5433 -U anna shop", ("shop", "db.example.com:5433", False)),
        ("psql --host=db.example.com --dbname=shop -c 'update t set a=1'", ("shop", "db.example.com", True)),
        ("psql 'host=db.example.com dbname=shop' -c 'select 1'", ("shop", "db.example.com", False)),
        ("PGHOST=db.example.com psql shop", ("shop", "db.example.com", False)),
        ("psql -hdb.example.com", ("db.example.com", "db.example.com", False)),
        ("psql shop <<SQL\ndelete from t;\nSQL", ("shop", None, True)),
        ("pg_dump -h db.example.com -f out.sql shop", ("shop", "db.example.com", False)),
        ("pg_restore -h db.example.com -d shop out.dump", ("shop", "db.example.com", True)),
        ("mysql -h db.example.com -P 3307 -u anna -p orders", ("orders", "db.example.com:3307", False)),
        (
            "mysql -hdb.example.com -uanna orders -e 'insert into a values (1)'",
            ("orders", "db.example.com", True),
        ),
        ("mysqldump --host db.example.com orders > out.sql", ("orders", "db.example.com", False)),
        (
            "mongosh --host m.example.com --port 27017 logs --eval 'db.x.find()'",
            ("logs", "m.example.com:27017", False),
        ),
        (
            "mongosh m.example.com:27017/logs --eval 'db.x.insertOne({})'",
            ("logs", "m.example.com:27017", True),
        ),
        ("mongosh 'mongodb://m.example.com:27017/logs'", ("logs", "m.example.com:27017", False)),
        ("redis-cli -h r.example.com -p 6380 -n 2 SET a 1", ("redis/2", "r.example.com:6380", True)),
        ("redis-cli -h r.example.com get a", ("redis", "r.example.com", False)),
        ("redis-cli -u redis://r.example.com:6380/2 get a", ("redis/2", "r.example.com:6380", False)),
        ("sqlite3 -header data/app.db 'select 1'", ("app.db", "data/app.db", False)),
        ("sqlite3 -cmd '.mode csv' /w/app.sqlite 'drop table t'", ("app.sqlite", "/w/app.sqlite", True)),
        ("duckdb /w/facts.duckdb -c 'select 1'", ("facts.duckdb", "/w/facts.duckdb", False)),
        ("docker exec -it pg psql -U anna shop -c 'select 1'", ("shop", None, False)),
        (
            "psql postgresql://anna@db.example.com:5433/shop -c 'select 1'",
            ("shop", "db.example.com:5433", False),
        ),
        (
            "psql postgresql://anna:[REDACTED:url-credentials]@db.example.com/shop -f x.sql",
            ("shop", "db.example.com", False),
        ),
        (
            "curl -s http://localhost:8080/api/v1/users",
            ("localhost:8080/api/v1/users", "localhost:8080", False),
        ),
        ("curl -d@order.json https://h.example.com/hook", ("h.example.com/hook", "h.example.com", True)),
        ("curl --json '{}' https://h.example.com/hook", ("h.example.com/hook", "h.example.com", True)),
        ("curl -G -d q=1 https://h.example.com/find", ("h.example.com/find", "h.example.com", False)),
        ("cut -d , a.csv; curl https://h.example.com/x", ("h.example.com/x", "h.example.com", False)),
    ],
)
def test_a_client_names_its_database_and_host(command: str, expected: tuple[str, str | None, bool]) -> None:
    assert used(command) == [expected]


@pytest.mark.parametrize(
    "command",
    [
        "brew install mysql",
        "grep -r psql src",
        "which redis-cli && ls",
        "echo 'see https://example.com/guide'",
        "git commit -m 'See https://example.com/1'",
        "cat > readme.md <<E\nhttps://example.com/guide\nE",
    ],
)
def test_a_name_in_a_text_is_no_use(command: str) -> None:
    assert used(command) == []


def test_every_client_of_a_command_is_found() -> None:
    command = "cd data && sqlite3 a.db 'select 1' | head; sqlite3 b.db 'delete from t'"
    assert used(command) == [("a.db", "a.db", False), ("b.db", "b.db", True)]


def test_an_address_in_the_text_of_a_file_is_no_use() -> None:
    assert sources("Write", {"file_path": "/w/a.md", "content": "See https://example.com/guide"}) == []
    assert sources(
        "WebFetch", {"url": "https://example.com:8443/guide", "prompt": "what of https://b.example"}
    ) == [("url", "example.com:8443/guide", "example.com:8443", False)]
    assert sources("run_code", {"code": "get('https://api.example.com/v1')"}) == [
        ("api", "api.example.com/v1", "api.example.com", False)
    ]


def test_tools_for_mail_and_spreadsheets_are_named_by_account_or_server() -> None:
    account = {"account": "anna@example.com"}
    assert sources("mcp__gmail__search", account) == [("mailbox", "anna@example.com", None, False)]
    assert sources("mcp__gmail__send_message", {}) == [("mailbox", "gmail", None, True)]
    sheet = {"spreadsheet_id": "Costs"}
    assert sources("mcp__google_sheets__append_row", sheet) == [("spreadsheet", "Costs", None, True)]


def test_pages_and_documents_in_front_are_sources() -> None:
    def front(*span: str | None) -> list[tuple[str, str, str | None, bool]]:
        return [tuple(one) for one in sources_of_app(AppSpan(*span))]  # type: ignore[arg-type]

    assert front("Safari", "Guide", "https://example.com/guide") == [
        ("url", "example.com/guide", "example.com", False)
    ]
    assert front("Mail", "Inbox") == [("mailbox", "Inbox", None, False)]
    assert front("Numbers", "Costs", "/w/Costs.numbers") == [
        ("spreadsheet", "Costs.numbers", "/w/Costs.numbers", False)
    ]
    assert front("Terminal", "zsh") == []
