"""The peewee model of sessions, and a peewee database on our open connection.

Importing peewee takes as long as a short command may take. Statements that every command needs are written
out, and this module is loaded for queries that are put together from several conditions.
"""

from __future__ import annotations

from typing import Any

from peewee import BlobField, IntegerField, Model, TextField
from playhouse.sqlcipher_ext import SqlCipherDatabase


class SessionTable(Model):
    n = IntegerField(primary_key=True)
    id = TextField(unique=True)
    agent = TextField()
    agent_session_id = TextField(null=True)
    title = TextField(null=True)
    workspace = TextField(null=True)
    lifecycle = TextField()
    parent = TextField(null=True)
    parent_seq = IntegerField(null=True)
    background = IntegerField(default=0)
    opened_at = IntegerField()
    last_at = IntegerField()
    head = IntegerField(default=0)
    turn = IntegerField(default=0)
    actions = IntegerField(default=0)
    failures = IntegerField(default=0)
    files_modified = IntegerField(default=0)
    questions = IntegerField(default=0)
    mac = BlobField()
    indexed = IntegerField(default=0)
    snapped = IntegerField(default=0)
    verified = IntegerField(default=0)
    forgotten = IntegerField(default=0)
    hour = IntegerField(default=0)  # of last_at: the indexes go by it, and so change once an hour
    device = TextField(null=True)  # the machine that records it, if not this one
    device_name = TextField(null=True)

    class Meta:
        table_name = "standing"
        legacy_table_names = False


class OpenDatabase(SqlCipherDatabase):
    """A database whose connection was opened by us and is closed by us."""

    def __init__(self, connection: Any) -> None:
        super().__init__(None, thread_safe=False)
        self.opened = connection
        self.init("memory.db")
        self.connect()

    def _connect(self) -> Any:
        return self.opened
