"""LangGraph: checkpoints kept in the memory, and what was said in a graph's messages recorded as a session.

    builder.compile(checkpointer=FazmCheckpointSaver())

Values are kept by channel and version, once, however many checkpoints hold them. A name in the drawer begins
with what it is (checkpoint, value or write) and goes on with the namespace: a slice of names is a question.
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

from fazm_memory.adapters.keeper import Kept
from fazm_memory.adapters.telling import Telling
from fazm_memory.log.drawer import Drawer, Item, owner_of, parts_of
from fazm_memory.memory import Memory

SHELF = "langgraph"
TOLD = f"{SHELF}.told"  # by thread: the id of the last message that was told
CHECKPOINT, VALUE, WRITE = "checkpoint", "value", "write"
EMPTY = "empty"  # the type of a channel that holds nothing
MESSAGES = "messages"  # the channel that a conversation stands in by convention
# In the metadata of threads whose newest checkpoint needs its ancestors to be read.
NEEDS_ANCESTORS = "counters_since_delta_snapshot"


class FazmCheckpointSaver(BaseCheckpointSaver[int], Kept):
    """A checkpointer with all that the interface has, in both its sync and its async form."""

    def __init__(self, memory: Memory | None = None, *, serde: SerializerProtocol | None = None) -> None:
        BaseCheckpointSaver.__init__(self, serde=serde)
        Kept.__init__(self, memory)

    # -- writing -----------------------------------------------------------------------------------------

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return self.keeper.do(lambda drawer: self._put(drawer, config, checkpoint, metadata, new_versions))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await self.keeper.ado(
            lambda drawer: self._put(drawer, config, checkpoint, metadata, new_versions)
        )

    def _put(
        self,
        drawer: Drawer,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        thread, space = _place(config)
        owner, values = owner_of(thread), checkpoint["channel_values"]
        bare = {name: part for name, part in checkpoint.items() if name != "channel_values"}
        parent = get_checkpoint_id(config) or ""
        with drawer.writing():
            for channel, version in new_versions.items():
                typed = self.serde.dumps_typed(values[channel]) if channel in values else (EMPTY, b"")
                drawer.put(SHELF, owner, owner_of(VALUE, space, channel, str(version)), _pack(*typed))
            told = self.serde.dumps_typed(get_checkpoint_metadata(config, metadata))
            data = _pack(*self.serde.dumps_typed(bare), *told, parent)
            drawer.put(SHELF, owner, owner_of(CHECKPOINT, space, checkpoint["id"]), data)
        if MESSAGES in new_versions:
            telling = Telling(SHELF, thread)
            after = drawer.get(TOLD, owner, "")
            self.keeper.tell(telling.langchain(values.get(MESSAGES), after=after.decode() if after else ""))
            # Also when nothing was recorded: what was said while the user had paused it is not told later.
            drawer.put(TOLD, owner, "", telling.last.encode())
        return _config(thread, space, checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        self.keeper.do(lambda drawer: self._put_writes(drawer, config, writes, task_id, task_path))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await self.keeper.ado(lambda drawer: self._put_writes(drawer, config, writes, task_id, task_path))

    def _put_writes(
        self,
        drawer: Drawer,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str,
    ) -> None:
        thread, space = _place(config)
        checkpoint = str(get_checkpoint_id(config))
        with drawer.writing():
            for position, (channel, value) in enumerate(writes):
                number = WRITES_IDX_MAP.get(channel, position)
                name = owner_of(WRITE, space, checkpoint, task_id, str(number))
                data = _pack(task_path, task_id, str(number), channel, *self.serde.dumps_typed(value))
                if number < 0:  # an error or an interrupt: the latest counts
                    drawer.put(SHELF, owner_of(thread), name, data)
                else:
                    drawer.add(SHELF, owner_of(thread), [(name, data)])

    # -- reading -----------------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self.keeper.do(lambda drawer: self._get_tuple(drawer, config))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self.keeper.ado(lambda drawer: self._get_tuple(drawer, config))

    def _get_tuple(self, drawer: Drawer, config: RunnableConfig) -> CheckpointTuple | None:
        thread, space = _place(config)
        wanted = get_checkpoint_id(config)
        start = owner_of(CHECKPOINT, space, wanted or "")
        found = drawer.named(SHELF, owner_of(thread), start, last=wanted is None)
        return next((self._tuple(drawer, one) for one in found if wanted in (None, _id(one))), None)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        yield from self.keeper.do(lambda drawer: self._list(drawer, config, filter, before, limit))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        for one in await self.keeper.ado(lambda drawer: self._list(drawer, config, filter, before, limit)):
            yield one

    def _list(
        self,
        drawer: Drawer,
        config: RunnableConfig | None,
        filter: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Sequence[CheckpointTuple]:
        own = config["configurable"] if config else {}
        owners = [owner_of(str(own["thread_id"]))] if config else [*drawer.owners(SHELF)]
        bound = get_checkpoint_id(before) if before else None
        made: list[CheckpointTuple] = []
        for owner in owners:
            for item in reversed(drawer.named(SHELF, owner, owner_of(CHECKPOINT, ""))):
                _, space, id_ = parts_of(str(item.name))
                if limit is not None and len(made) >= limit:
                    return made
                if own.get("checkpoint_ns") not in (None, space) or own.get("checkpoint_id") not in (
                    None,
                    id_,
                ):
                    continue
                if bound is not None and id_ >= bound:
                    continue
                metadata = self._metadata(item)
                if all(metadata.get(name) == value for name, value in (filter or {}).items()):
                    made.append(self._tuple(drawer, item))
        return made

    def _metadata(self, item: Item) -> Any:
        parts = _unpack(item.data)
        return self.serde.loads_typed((parts[2].decode(), parts[3]))

    def _tuple(self, drawer: Drawer, item: Item) -> CheckpointTuple:
        thread, (_, space, id_) = parts_of(item.owner)[0], parts_of(str(item.name))
        kind, data, _, _, parent = _unpack(item.data)
        checkpoint: Checkpoint = self.serde.loads_typed((kind.decode(), data))
        checkpoint["channel_values"] = values = {}
        for channel, version in checkpoint["channel_versions"].items():
            kept = drawer.get(SHELF, item.owner, owner_of(VALUE, space, channel, str(version)))
            if kept is not None and (typed := _unpack(kept))[0] != EMPTY.encode():
                values[channel] = self.serde.loads_typed((typed[0].decode(), typed[1]))
        writes = [
            _unpack(one.data) for one in drawer.named(SHELF, item.owner, owner_of(WRITE, space, id_, ""))
        ]
        writes.sort(key=lambda one: writes_sort_key(one[0].decode(), one[1].decode(), int(one[2])))
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

    # -- letting go --------------------------------------------------------------------------------------

    def delete_thread(self, thread_id: str) -> None:
        self.keeper.do(lambda drawer: _delete(drawer, thread_id))

    async def adelete_thread(self, thread_id: str) -> None:
        await self.keeper.ado(lambda drawer: _delete(drawer, thread_id))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.keeper.do(lambda drawer: _copy(drawer, source_thread_id, target_thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self.keeper.ado(lambda drawer: _copy(drawer, source_thread_id, target_thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self.keeper.do(lambda drawer: self._delete_for_runs(drawer, frozenset(run_ids)))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await self.keeper.ado(lambda drawer: self._delete_for_runs(drawer, frozenset(run_ids)))

    def _delete_for_runs(self, drawer: Drawer, runs: frozenset[str]) -> None:
        with drawer.writing():
            for owner in drawer.owners(SHELF):
                found = drawer.named(SHELF, owner, owner_of(CHECKPOINT, ""))
                self._keep_only(
                    drawer, owner, [one for one in found if self._metadata(one).get("run_id") not in runs]
                )

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self.keeper.do(lambda drawer: self._prune(drawer, thread_ids, strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await self.keeper.ado(lambda drawer: self._prune(drawer, thread_ids, strategy))

    def _prune(self, drawer: Drawer, threads: Sequence[str], strategy: str) -> None:
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"there is no strategy {strategy!r}: keep_latest or delete")
        with drawer.writing():
            for owner in map(owner_of, threads):
                latest: dict[str, list[Item]] = {}
                found = drawer.named(SHELF, owner, owner_of(CHECKPOINT, "")) if strategy != "delete" else []
                for one in found:  # by name, so the latest of each namespace comes last
                    space = parts_of(str(one.name))[1]
                    chain = latest.get(space, []) if self._metadata(one).get(NEEDS_ANCESTORS) else []
                    latest[space] = [*chain, one]
                self._keep_only(drawer, owner, [one for kept in latest.values() for one in kept])

    def _keep_only(self, drawer: Drawer, owner: str, kept: Sequence[Item]) -> None:
        """Let go of every other checkpoint, and of values and writes that none of these holds."""
        needed = {one.name for one in kept}
        holders = set[tuple[str, str]]()
        for item in kept:
            _, space, id_ = parts_of(str(item.name))
            holders.add((space, id_))
            kind, data, *_ = _unpack(item.data)
            versions = self.serde.loads_typed((kind.decode(), data))["channel_versions"]
            needed |= {owner_of(VALUE, space, one, str(version)) for one, version in versions.items()}
        gone = []
        for item in drawer.items(SHELF, owner):
            what, space, id_, *_ = parts_of(str(item.name))
            if item.name not in needed and not (what == WRITE and (space, id_) in holders):
                gone.append(str(item.name))
        drawer.remove(SHELF, owner, gone)


def _delete(drawer: Drawer, thread: str) -> None:
    with drawer.writing():
        for shelf in (SHELF, TOLD):
            drawer.remove(shelf, owner_of(thread))


def _copy(drawer: Drawer, source: str, target: str) -> None:
    with drawer.writing():
        for item in drawer.items(SHELF, owner_of(source)):
            drawer.put(SHELF, owner_of(target), str(item.name), item.data)


def _place(config: RunnableConfig) -> tuple[str, str]:
    own = config["configurable"]
    return str(own["thread_id"]), own.get("checkpoint_ns", "")


def _config(thread: str, space: str, checkpoint: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": space, "checkpoint_id": checkpoint}}


def _id(item: Item) -> str:
    return parts_of(str(item.name))[-1]


def _pack(*parts: str | bytes) -> bytes:
    """Several texts and bytes as one, each behind its length."""
    data = [part.encode() if isinstance(part, str) else part for part in parts]
    return b"".join(len(one).to_bytes(8, "big") + one for one in data)


def _unpack(data: bytes) -> list[bytes]:
    parts, at = [], 0
    while at < len(data):
        end = at + 8 + int.from_bytes(data[at : at + 8], "big")
        parts.append(data[at + 8 : end])
        at = end
    return parts
