"""Worker processes that read and redact records while the importer records.

A worker is a program of its own with a pipe in each direction. It never opens the store. It ends when its
pipe is closed, so none outlives the importer, however that ends. If a worker is lost, the importer reads by
itself.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import IO, Any

from fazm_memory.agents import Chunk, Cursor, Places, RecordFile, readers
from fazm_memory.engines.redaction import KnownSecrets, Redactor, UserPattern
from fazm_memory.ingest.prepare import CleanPayload, SessionName, redact_payloads
from fazm_memory.records import dataclass, field, replace

YOUNG_OBJECTS = 50_000  # that Python makes between two searches for garbage, in a long import
WORTHWHILE = 16 << 20  # bytes to import; for less the workers would start in vain
MOST_WORKERS = 4
MOST_CHUNKS = 4  # of a file that a worker reads without being asked for each
PATIENCE = 120.0  # seconds without an answer, after which a worker is given up
LENGTH = struct.Struct(">Q")
Place = tuple[Path, int]  # a file, and the offset where a chunk begins


@dataclass(frozen=True)
class WorkerSetup:
    """What a worker needs to read and redact as the importer does."""

    places: Places
    patterns: tuple[tuple[str, str], ...] = ()
    text_cap: int | None = None

    def redactor(self) -> Redactor:
        patterns = [UserPattern(name, regex) for name, regex in self.patterns]
        return Redactor(patterns) if self.text_cap is None else Redactor(patterns, text_cap=self.text_cap)


@dataclass(frozen=True)
class ReadTask:
    """Read the next chunks of a file.

    `reader` is the position of its reader in `agents.readers`.
    """

    reader: int
    record: RecordFile
    cursor: Cursor
    limit: int
    chunks: int = MOST_CHUNKS

    @property
    def place(self) -> Place:
        return self.record.path, self.cursor.offset


@dataclass(frozen=True)
class ReadResult:
    """A redacted chunk, and the secrets that were found in it.

    `carry` is what may be stored. The cursor of the chunk has the state as it was read, for the next chunk.
    """

    chunk: Chunk
    carry: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[SessionName, Mapping[str, str]] = field(default_factory=dict)


def next_task(task: ReadTask, answer: ReadResult | str) -> ReadTask | None:
    """What a worker reads next without being asked.

    Both sides use this, so they agree.
    """
    if isinstance(answer, str) or not answer.chunk.more or task.chunks <= 1:
        return None
    if answer.chunk.cursor.offset <= task.cursor.offset:  # no progress, or no byte offsets
        return None
    return replace(task, cursor=answer.chunk.cursor, chunks=task.chunks - 1)


class WorkerLost(Exception):
    """A worker process ended before it answered."""


class ReadError(Exception):
    """A worker could not read a file. The message names the error."""


def worker_count() -> int:
    """The number of workers to start: one for each core, 0 for a single core."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_WORKERS) if cores > 1 else 0


def worker_command() -> tuple[list[str], dict[str, str]]:
    """The program that is a worker, and its environment.

    In the app bundle Python finds its library only through PYTHONHOME, and must write nothing there.
    """
    program = f"from {__name__} import main; main()"
    environment = dict(os.environ)
    # -P: a module in the current folder must not pass for one of ours.
    if not getattr(sys, "frozen", None):
        return [sys.executable, "-P", "-c", program], environment
    resources = Path(sys.executable).parent.parent / "Resources"
    environment |= {"PYTHONHOME": str(resources), "PYTHONPATH": "", "PYTHONNOUSERSITE": "1"}
    return [sys.executable, "-B", "-P", "-S", "-c", program], environment


class ReadAhead:
    """Chunks that workers read before they are asked for.

    OSError if a worker cannot be started.
    """

    def __init__(self, setup: WorkerSetup, workers: int) -> None:
        self._pending: dict[Place, Future[ReadResult]] = {}
        self._lock = threading.Lock()  # of the above: what follows a chunk is added when the chunk comes
        self._workers: list[_Worker] = []
        try:
            for _ in range(workers):
                self._workers.append(_Worker(setup, self._expect))
        except OSError:
            self.close()
            raise

    def start(self, task: ReadTask) -> None:
        """Have a chunk read, and some that follow it, unless it is being read already."""
        with self._lock:
            if task.place in self._pending:
                return
            future = self._pending[task.place] = Future()
        min(self._workers, key=lambda worker: worker.load).submit(task, future)

    def _expect(self, task: ReadTask) -> Future[ReadResult]:
        """A chunk that a worker reads next."""
        with self._lock:
            future = self._pending[task.place] = Future()
        return future

    def result(self, task: ReadTask) -> ReadResult:
        """The chunk of a task. Raises WorkerLost or ReadError."""
        self.start(task)
        with self._lock:
            future = self._pending.pop(task.place)
        try:
            return future.result(PATIENCE)
        except TimeoutError:
            raise WorkerLost from None

    def keep(self, task: ReadTask, result: ReadResult) -> None:
        """Take back a chunk that will be asked for again."""
        future: Future[ReadResult] = Future()
        future.set_result(result)
        with self._lock:
            self._pending[task.place] = future

    def close(self) -> None:
        for worker in self._workers:
            worker.close()


class _Worker:
    """A worker process.

    `expect` makes the future of a chunk that it reads without being asked.
    """

    def __init__(self, setup: WorkerSetup, expect: Callable[[ReadTask], Future[ReadResult]]) -> None:
        command, environment = worker_command()
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        self._expect = expect
        self._waiting: deque[tuple[ReadTask, Future[ReadResult]]] = deque()
        self._lock = threading.Lock()
        self._lost = False
        # Answers are taken as they come: a worker that cannot write would not read either.
        self._thread = threading.Thread(target=self._receive, name="read ahead", daemon=True)
        self._thread.start()
        self._send(setup)

    @property
    def load(self) -> int:
        """Tasks that wait here. A lost worker gets none while there is another."""
        return sys.maxsize if self._lost else len(self._waiting)

    def submit(self, task: ReadTask, future: Future[ReadResult]) -> None:
        with self._lock:
            if self._lost:
                future.set_exception(WorkerLost())
                return
            self._waiting.append((task, future))
        self._send(task)

    def close(self) -> None:
        """End the worker, also in the middle of a chunk.

        It has nothing that could be lost.
        """
        self._process.kill()
        self._process.wait()
        self._thread.join()
        with contextlib.suppress(OSError):  # what a lost worker did not take is still in the buffer
            self._to.close()
        self._from.close()

    def _send(self, message: object) -> None:
        try:
            _write(self._to, message)
        except OSError:
            self._lose()

    def _receive(self) -> None:
        try:
            while True:
                answer = _read(self._from)
                with self._lock:
                    task, future = self._waiting.popleft()
                    if (following := next_task(task, answer)) is not None:
                        self._waiting.appendleft((following, self._expect(following)))
                if isinstance(answer, ReadResult):
                    future.set_result(answer)
                else:
                    future.set_exception(ReadError(answer))
        except (EOFError, OSError, ValueError):
            self._lose()

    def _lose(self) -> None:
        with self._lock:
            self._lost = True
            waiting, self._waiting = self._waiting, deque()
        for _, future in waiting:
            future.set_exception(WorkerLost())


def _write(file: IO[bytes], message: object) -> None:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    file.write(LENGTH.pack(len(data)))
    file.write(data)
    file.flush()


def _read(file: IO[bytes]) -> Any:
    """The next message of our own process at the other end.

    Raises EOFError at the end.
    """
    head = file.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    data = file.read(LENGTH.unpack(head)[0])
    return pickle.loads(data)


def read_redacted(readers_of_places: Sequence[Any], redactor: Redactor, task: ReadTask) -> ReadResult:
    """Read a chunk and redact it."""
    chunk: Chunk = readers_of_places[task.reader].read(task.record, task.cursor, limit=task.limit)
    secrets: dict[SessionName, KnownSecrets] = {}
    known = [secrets.setdefault((draft.agent, draft.session), KnownSecrets()) for draft in chunk.drafts]
    payloads = redact_payloads(redactor, [draft.payload for draft in chunk.drafts], known)
    drafts = tuple(
        replace(draft, payload=CleanPayload(payload))
        for draft, payload in zip(chunk.drafts, payloads, strict=True)
    )
    return ReadResult(
        replace(chunk, drafts=drafts),
        redactor.value(dict(chunk.cursor.carry))[0],
        {name: found.names() for name, found in secrets.items() if found.added},
    )


def work(from_importer: IO[bytes], to_importer: IO[bytes]) -> None:
    """Answer tasks until the importer closes the pipe."""
    setup: WorkerSetup = _read(from_importer)
    redactor, agents = setup.redactor(), readers(setup.places)
    while True:
        try:
            task: ReadTask | None = _read(from_importer)
        except EOFError:
            return
        while task is not None:
            try:
                answer: ReadResult | str = read_redacted(agents, redactor, task)
            except Exception as error:  # reported by the importer for this file; the others are read
                answer = f"{type(error).__name__}: {error}"
            _write(to_importer, answer)
            task = next_task(task, answer)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the importer is interrupted, and closes the pipe
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # whatever a library prints must not mix with the answers
        try:
            work(sys.stdin.buffer, answers)
        except BrokenPipeError:
            os._exit(0)  # the importer is gone
