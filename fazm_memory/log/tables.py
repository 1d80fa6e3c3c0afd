"""The session's row as a peewee model, and how an event's number is made.

`event.id` is `session number << 32 | seq`: one B-tree, clustered by session, in which a slice is a range of
ids and a position cannot be given twice. The session's row is a projection of events, and may lag behind its
latest calls; `standing` is the row with what those tell. The other tables are read and written by statements
of their own rooms; `migrations.py` has them all.
"""

from __future__ import annotations

from peewee import BlobField, IntegerField, Model, TextField

SEQ_BITS = 32
SEQ_MASK = (1 << SEQ_BITS) - 1
HOUR = 3_600_000_000


def event_id(number: int, seq: int) -> int:
    return number << SEQ_BITS | seq


class Session(Model):
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

    class Meta:
        table_name = "standing"
        legacy_table_names = False
