"""The tables as peewee models, for reading and for projections.

`event.id` is `session number << 32 | seq`: one B-tree, clustered by session, in which a slice is a range of
ids and a position cannot be given twice. The session row and everything below it are projections of events.
"""

from __future__ import annotations

from peewee import BlobField, CompositeKey, IntegerField, Model, TextField

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
        table_name = "session"
        legacy_table_names = False


class EventRow(Model):
    id = IntegerField(primary_key=True)
    at = IntegerField()
    turn = IntegerField()
    kind = TextField()
    version = IntegerField()
    actor = TextField()
    source = TextField()
    trust = TextField()
    key = TextField(null=True)
    payload = BlobField(null=True)
    digest = BlobField()
    mac = BlobField()

    class Meta:
        table_name = "event"


class Turn(Model):
    """Where each turn begins."""

    session = IntegerField()
    turn = IntegerField()
    seq = IntegerField()
    at = IntegerField()

    class Meta:
        table_name = "turn"
        primary_key = CompositeKey("session", "turn")


class Minute(Model):
    """A minute of a session: how much happened, and between which positions."""

    session = IntegerField()
    minute = IntegerField()
    first = IntegerField()
    last = IntegerField()
    events = IntegerField()
    failures = IntegerField()

    class Meta:
        table_name = "minute"
        primary_key = CompositeKey("session", "minute")


class RewindRow(Model):
    session = IntegerField()
    seq = IntegerField()
    target = IntegerField()

    class Meta:
        table_name = "rewind"
        primary_key = CompositeKey("session", "seq")


class FailedCall(Model):
    """The last failed call with this input: what a retry is a retry of."""

    session = IntegerField()
    hash = TextField()
    seq = IntegerField()

    class Meta:
        table_name = "failed_call"
        primary_key = CompositeKey("session", "hash")


class Snapshot(Model):
    session = IntegerField()
    seq = IntegerField()
    fold = IntegerField()
    state = BlobField()

    class Meta:
        table_name = "snapshot"
        primary_key = CompositeKey("session", "seq")


class CursorRow(Model):
    """How far a file of an agent's records has been read."""

    path = TextField(primary_key=True)
    agent = TextField()
    offset = IntegerField()
    size = IntegerField()
    inode = IntegerField(null=True)
    fingerprint = TextField(null=True)
    carry = BlobField(null=True)
    updated_at = IntegerField()

    class Meta:
        table_name = "cursor"


class Meta(Model):
    key = TextField(primary_key=True)
    value = TextField(null=True)

    class Meta:
        table_name = "meta"
