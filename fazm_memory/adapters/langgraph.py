"""Checkpointer for LangGraph. Also records a graph's messages as a session.

    builder.compile(checkpointer=FazmCheckpointSaver())

Each value is stored once, by channel and version, however many checkpoints contain it. Item names begin with
their kind (checkpoint, value or write) and the checkpoint namespace, so that a query is a range of names.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from fazm_memory.adapters.recording import MemoryAdapter, MessageDrafts
from fazm_memory.app import Memory
from fazm_memory.store import FrameworkItem, FrameworkStore, owner_of, parts_of

NAMESPACE = "langgraph"
LAST_RECORDED = f"{NAMESPACE}.told"  # by thread: id of the last recorded message
CHECKPOINT, VALUE, WRITE = "checkpoint", "value", "write"
EMPTY = "empty"  # type of an empty channel
MESSAGES = "messages"  # the usual channel of a conversation
# Metadata key of checkpoints that cannot be read without their ancestors.
NEEDS_ANCESTORS = "counters_since_delta_snapshot"


class FazmCheckpointSaver(BaseCheckpointSaver[int], MemoryAdapter):
    """A checkpointer with every method of the interface, sync and async."""

    def __init__(self, memory: Memory | None = None, *, serde: SerializerProtocol | None = None) -> None:
        BaseCheckpointSaver.__init__(self, serde=serde)
        MemoryAdapter.__init__(self, memory)

    # -- writing -----------------------------------------------------------------------------------------

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return self.memory_thread.run(
            lambda store: self._put(store, config, checkpoint, metadata, new_versions)
        )

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await self.memory_thread.run_async(
            lambda store: self._put(store, config, checkpoint, metadata, new_versions)
        )

    def _put(
        self,
        store: FrameworkStore,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        thread, space = _place(config)
        owner, values = owner_of(thread), checkpoint["channel_values"]
        bare = {name: part for name, part in checkpoint.items() if name != "channel_values"}
        parent = get_checkpoint_id(config) or ""
        with store.writing():
            for channel, version in new_versions.items():
                typed = self.serde.dumps_typed(values[channel]) if channel in values else (EMPTY, b"")
                store.put(NAMESPACE, owner, owner_of(VALUE, space, channel, str(version)), _pack(*typed))
            typed_metadata = self.serde.dumps_typed(get_checkpoint_metadata(config, metadata))
            data = _pack(*self.serde.dumps_typed(bare), *typed_metadata, parent)
            store.put(NAMESPACE, owner, owner_of(CHECKPOINT, space, checkpoint["id"]), data)
        if MESSAGES in new_versions:
            drafts = MessageDrafts(NAMESPACE, thread)
            after = store.get(LAST_RECORDED, owner, "")
            messages = values.get(MESSAGES)
            self.memory_thread.record(drafts.from_langchain(messages, after=after.decode() if after else ""))
            # Also when recording is paused: these messages are not recorded later.
            store.put(LAST_RECORDED, owner, "", drafts.last.encode())
        return _config(thread, space, checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        self.memory_thread.run(lambda store: self._put_writes(store, config, writes, task_id, task_path))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await self.memory_thread.run_async(
            lambda store: self._put_writes(store, config, writes, task_id, task_path)
        )

    def _put_writes(
        self,
        store: FrameworkStore,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str,
    ) -> None:
        thread, space = _place(config)
        checkpoint = str(get_checkpoint_id(config))
        with store.writing():
            for position, (channel, value) in enumerate(writes):
                number = WRITES_IDX_MAP.get(channel, position)
                name = owner_of(WRITE, space, checkpoint, task_id, str(number))
                data = _pack(task_path, task_id, str(number), channel, *self.serde.dumps_typed(value))
                if number < 0:  # an error or an interrupt: keep the latest
                    store.put(NAMESPACE, owner_of(thread), name, data)
                else:
                    store.add(NAMESPACE, owner_of(thread), [(name, data)])

    # -- reading -----------------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self.memory_thread.run(lambda store: self._get_tuple(store, config))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self.memory_thread.run_async(lambda store: self._get_tuple(store, config))

    def _get_tuple(self, store: FrameworkStore, config: RunnableConfig) -> CheckpointTuple | None:
        thread, space = _place(config)
        wanted = get_checkpoint_id(config)
        start = owner_of(CHECKPOINT, space, wanted or "")
        found = store.named(NAMESPACE, owner_of(thread), start, last=wanted is None)
        return next((self._tuple(store, item) for item in found if wanted in (None, _id(item))), None)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        yield from self.memory_thread.run(lambda store: self._list(store, config, filter, before, limit))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        found = await self.memory_thread.run_async(
            lambda store: self._list(store, config, filter, before, limit)
        )
        for row in found:
            yield row

    def _list(
        self,
        store: FrameworkStore,
        config: RunnableConfig | None,
        filter: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Sequence[CheckpointTuple]:
        own = config["configurable"] if config else {}
        owners = [owner_of(str(own["thread_id"]))] if config else [*store.owners(NAMESPACE)]
        bound = get_checkpoint_id(before) if before else None
        found: list[CheckpointTuple] = []
        for owner in owners:
            for item in reversed(store.named(NAMESPACE, owner, owner_of(CHECKPOINT, ""))):
                _, space, id_ = parts_of(str(item.name))
                if limit is not None and len(found) >= limit:
                    return found
                if own.get("checkpoint_ns") not in (None, space) or own.get("checkpoint_id") not in (
                    None,
                    id_,
                ):
                    continue
                if bound is not None and id_ >= bound:
                    continue
                metadata = self._metadata(item)
                if all(metadata.get(name) == value for name, value in (filter or {}).items()):
                    found.append(self._tuple(store, item))
        return found

    def _metadata(self, item: FrameworkItem) -> Any:
        parts = _unpack(item.data)
        return self.serde.loads_typed((parts[2].decode(), parts[3]))

    def _tuple(self, store: FrameworkStore, item: FrameworkItem) -> CheckpointTuple:
        thread, (_, space, id_) = parts_of(item.owner)[0], parts_of(str(item.name))
        kind, data, _, _, parent = _unpack(item.data)
        checkpoint: Checkpoint = self.serde.loads_typed((kind.decode(), data))
        checkpoint["channel_values"] = values = {}
        for channel, version in checkpoint["channel_versions"].items():
            value = store.get(NAMESPACE, item.owner, owner_of(VALUE, space, channel, str(version)))
            if value is not None and (typed := _unpack(value))[0] != EMPTY.encode():
                values[channel] = self.serde.loads_typed((typed[0].decode(), typed[1]))
        writes = [
            _unpack(row.data) for row in store.named(NAMESPACE, item.owner, owner_of(WRITE, space, id_, ""))
        ]
        writes.sort(key=lambda row: writes_sort_key(row[0].decode(), row[1].decode(), int(row[2])))
        return CheckpointTuple(
            config=_config(thread, space, id_),
            checkpoint=checkpoint,
            metadata=self._metadata(item),
            parent_config=_config(thread, space, parent.decode()) if parent else None,
            pending_writes=[
                (task.decode(), channel.decode(), self.serde.loads_typed((typed.decode(), data)))
                for _, task, _, channel, typed, data in writes
            ],
        )

    # -- deleting ----------------------------------------------------------------------------------------

    def delete_thread(self, thread_id: str) -> None:
        self.memory_thread.run(lambda store: _delete(store, thread_id))

    async def adelete_thread(self, thread_id: str) -> None:
        await self.memory_thread.run_async(lambda store: _delete(store, thread_id))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.memory_thread.run(lambda store: _copy(store, source_thread_id, target_thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self.memory_thread.run_async(lambda store: _copy(store, source_thread_id, target_thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self.memory_thread.run(lambda store: self._delete_for_runs(store, frozenset(run_ids)))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await self.memory_thread.run_async(lambda store: self._delete_for_runs(store, frozenset(run_ids)))

    def _delete_for_runs(self, store: FrameworkStore, runs: frozenset[str]) -> None:
        with store.writing():
            for owner in store.owners(NAMESPACE):
                found = store.named(NAMESPACE, owner, owner_of(CHECKPOINT, ""))
                self._delete_except(
                    store, owner, [item for item in found if self._metadata(item).get("run_id") not in runs]
                )

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self.memory_thread.run(lambda store: self._prune(store, thread_ids, strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await self.memory_thread.run_async(lambda store: self._prune(store, thread_ids, strategy))

    def _prune(self, store: FrameworkStore, threads: Sequence[str], strategy: str) -> None:
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"Unknown strategy {strategy!r}. Use keep_latest or delete.")
        with store.writing():
            for owner in map(owner_of, threads):
                latest: dict[str, list[FrameworkItem]] = {}
                found = (
                    store.named(NAMESPACE, owner, owner_of(CHECKPOINT, "")) if strategy != "delete" else []
                )
                for item in found:  # by name, so the latest of each namespace comes last
                    space = parts_of(str(item.name))[1]
                    chain = latest.get(space, []) if self._metadata(item).get(NEEDS_ANCESTORS) else []
                    latest[space] = [*chain, item]
                self._delete_except(store, owner, [item for chain in latest.values() for item in chain])

    def _delete_except(self, store: FrameworkStore, owner: str, checkpoints: Sequence[FrameworkItem]) -> None:
        """Delete all other checkpoints, and the values and writes that none of these uses."""
        needed = {item.name for item in checkpoints}
        remaining = set[tuple[str, str]]()
        for item in checkpoints:
            _, space, id_ = parts_of(str(item.name))
            remaining.add((space, id_))
            kind, data, *_ = _unpack(item.data)
            versions = self.serde.loads_typed((kind.decode(), data))["channel_versions"]
            needed |= {owner_of(VALUE, space, name, str(version)) for name, version in versions.items()}
        unused = []
        for item in store.items(NAMESPACE, owner):
            what, space, id_, *_ = parts_of(str(item.name))
            if item.name not in needed and not (what == WRITE and (space, id_) in remaining):
                unused.append(str(item.name))
        store.remove(NAMESPACE, owner, unused)


def _delete(store: FrameworkStore, thread: str) -> None:
    with store.writing():
        for namespace in (NAMESPACE, LAST_RECORDED):
            store.remove(namespace, owner_of(thread))


def _copy(store: FrameworkStore, source: str, target: str) -> None:
    with store.writing():
        for item in store.items(NAMESPACE, owner_of(source)):
            store.put(NAMESPACE, owner_of(target), str(item.name), item.data)


def _place(config: RunnableConfig) -> tuple[str, str]:
    own = config["configurable"]
    return str(own["thread_id"]), own.get("checkpoint_ns", "")


def _config(thread: str, space: str, checkpoint: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": space, "checkpoint_id": checkpoint}}


def _id(item: FrameworkItem) -> str:
    return parts_of(str(item.name))[-1]


def _pack(*parts: str | bytes) -> bytes:
    """Join texts and bytes, each after its length."""
    data = [part.encode() if isinstance(part, str) else part for part in parts]
    return b"".join(len(part).to_bytes(8, "big") + part for part in data)


def _unpack(data: bytes) -> list[bytes]:
    parts, at = [], 0
    while at < len(data):
        end = at + 8 + int.from_bytes(data[at : at + 8], "big")
        parts.append(data[at + 8 : end])
        at = end
    return parts
