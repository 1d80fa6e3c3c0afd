"""Sync this memory with other machines."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, TypeVar

from fazm_memory.agents import moved_path
from fazm_memory.app.memory import Memory, Service
from fazm_memory.clock import iso
from fazm_memory.config import Config
from fazm_memory.errors import Declined, FazmMemoryError, InvalidRequest, NotFound
from fazm_memory.paths import SYNC_DATABASE, exclusive_lock, inside, is_locked
from fazm_memory.records import dataclass
from fazm_memory.store import STORE_FOLDER, SessionRow, forget_events
from fazm_memory.sync import (
    EXCLUDED,
    FORMER,
    OUTGOING,
    REMOTES,
    Identity,
    PairAnswer,
    SyncState,
    Transport,
    Vault,
    answer_request,
    candidate,
    create_vault,
    device_rows,
    find_folders,
    join_vault,
    new_code,
    open_transport,
    own_folders,
    pair_fingerprint,
    place_of,
    post_offer,
    post_request,
    read_answer,
    read_offer,
    read_request,
    refuse_request,
    withdraw_request,
)

Progress = Callable[[int], None]
Confirm = Callable[[str, str], bool]  # takes a fingerprint and who it is shared with
T = TypeVar("T")
POLL = 1.0  # seconds between two looks while pairing
REASON = "asked for on another machine"


@dataclass
class Joining:
    """A machine that entered a code and waits for the answer."""

    code: str
    place: dict[str, Any]
    device: Identity
    name: str
    offer: bytes | None = None  # the public key of the first machine
    answer: PairAnswer | None = None


IN_BETWEEN = "somebody may be in between"


class SyncService(Service):
    """Sync with other machines. Use it as `memory.sync`."""

    _joining: Joining | None = None

    @property
    def configured(self) -> bool:
        """Whether this machine ever belonged to a vault. Costs one file lookup."""
        return (self.config.home / STORE_FOLDER / SYNC_DATABASE).exists()

    @cached_property
    def state(self) -> SyncState:
        return SyncState(self.store)

    @property
    def active(self) -> bool:
        return self.configured and self.state.active

    def close(self) -> None:
        if "state" in self.__dict__:
            self.__dict__.pop("state").close()

    # -- vault -------------------------------------------------------------------------------------------

    def init(
        self,
        *,
        folder: str | None = None,
        url: str | None = None,
        name: str | None = None,
        force: bool = False,
        files: bool = False,
        transcripts: bool = False,
    ) -> dict[str, Any]:
        """Make a vault.

        The answer has the recovery key, which is shown once and stored nowhere.

        With `files`, versions of files that sessions changed are shared too; with `transcripts`, the agents'
        own transcripts. The next round uploads what is here: show the key before it, because it may fail.
        """
        self._check_free()
        place = place_of(folder, url)
        transport = open_transport(place)
        if not force and transport.vaults():
            raise Declined(
                "There is a vault in this place already.",
                hint="`fazm-memory sync join` joins it; --force makes a second one beside it",
            )
        conditional = transport.probe()
        recovery = create_vault(self.state, place=place, name=name or machine_name())
        self.state.set(conditional=conditional, files=files, transcripts=transcripts)
        try:
            with self._lock():
                self._vault(transport).put_head()
        except BaseException:
            self.state.erase()  # nobody has its recovery key
            raise
        return {**self._who(), "recovery_key": recovery, "conditional_puts": conditional}

    def join(
        self,
        *,
        recovery: str,
        folder: str | None = None,
        url: str | None = None,
        name: str | None = None,
        files: bool = False,
        transcripts: bool = False,
        receive: bool = True,
        progress: Progress = lambda done: None,
    ) -> dict[str, Any]:
        """Join a vault with its recovery key, and sync once unless `receive` is false."""
        self._check_free()
        place = place_of(folder, url)
        transport = open_transport(place)
        join_vault(self.state, transport, recovery=recovery, place=place, name=name)
        self.state.set(files=files, transcripts=transcripts)
        return {**self._who(), **(self.round(progress=progress) if receive else {})}

    def join_by_code(
        self,
        code: str,
        *,
        confirm: Confirm,
        wait: float,
        folder: str | None = None,
        url: str | None = None,
        name: str | None = None,
        files: bool = False,
        transcripts: bool = False,
        progress: Progress = lambda done: None,
    ) -> dict[str, Any]:
        """Join by the code that `pair` shows on another machine, and sync once."""
        self.ask_to_join(code, folder=folder, url=url, name=name)
        try:
            fingerprint = _poll(self.join_fingerprint, wait)
            if not confirm(fingerprint, "the other machine"):
                raise Declined("The fingerprints differ. Nothing was joined.", hint=IN_BETWEEN)
            _poll(lambda: self.join_accepted() or None, wait)
        except BaseException:
            with contextlib.suppress(FazmMemoryError):  # what went wrong before says more
                withdraw_request(open_transport(self._asked_to_join().place), code)
            raise
        self.finish_join(files=files, transcripts=transcripts)
        return {**self._who(), **self.round(progress=progress)}

    def ask_to_join(
        self, code: str, *, folder: str | None = None, url: str | None = None, name: str | None = None
    ) -> None:
        """First step of joining by a code: leave the public keys of this machine."""
        self._check_free()
        place = place_of(folder, url)
        device = candidate()
        self._joining = Joining(code, place, device, name or machine_name())
        post_request(open_transport(place), code, device, self._joining.name)

    def join_fingerprint(self) -> str | None:
        """Second step of joining: the fingerprint to compare.

        None until the key of the other machine is here.
        """
        joining = self._asked_to_join()
        if joining.offer is None:
            joining.offer = read_offer(open_transport(joining.place), joining.code)
        if joining.offer is None and self.join_accepted() and joining.answer is not None:
            joining.offer = joining.answer.signer  # an older version offers no key before its answer
        if joining.offer is None:
            return None
        return pair_fingerprint(joining.offer, joining.device)

    def join_accepted(self) -> bool:
        """Third step of joining: whether the other machine has confirmed.

        Raises Declined if it has refused.
        """
        joining = self._asked_to_join()
        if joining.answer is None:
            answer = read_answer(open_transport(joining.place), joining.code, joining.device)
            if answer is not None and joining.offer not in (None, answer.signer):
                raise Declined(
                    "Another machine answered than was shown. Nothing was joined.", hint=IN_BETWEEN
                )
            joining.answer = answer
        return joining.answer is not None

    def finish_join(self, *, files: bool = False, transcripts: bool = False) -> dict[str, Any]:
        """Last step, after people compared the fingerprints: belong to the vault."""
        joining = self._asked_to_join()
        if not self.join_accepted() or joining.answer is None:
            raise NotFound(
                "The other machine has not answered yet.", hint="confirm the fingerprint there first"
            )
        joining.answer.accept(self.state, place=joining.place, name=joining.name)
        self.state.set(files=files, transcripts=transcripts)
        self._joining = None
        return self._who()

    def _asked_to_join(self) -> Joining:
        if self._joining is None:
            raise NotFound("This machine has not asked to join.", hint="enter the code again")
        return self._joining

    def pair(self, *, show: Callable[[str], None], confirm: Confirm, wait: float) -> dict[str, Any]:
        """Show a code and wait for the machine that enters it.

        That machine is certified once people confirmed the fingerprint.
        """
        self._identity()
        self.round()
        code = self.pair_code()
        show(code)
        try:
            request = _poll(lambda: self.pair_request(code), wait)
            if not confirm(request["fingerprint"], f"“{request['name']}”"):
                raise Declined("The fingerprints differ. The machine was not joined.", hint=IN_BETWEEN)
            return self.confirm_pair(code, request["fingerprint"])
        except BaseException:
            with contextlib.suppress(FazmMemoryError):
                refuse_request(open_transport(self.state.get("place")), code)
            raise

    def pair_code(self) -> str:
        """First step of pairing: a code to enter on the other machine."""
        identity, code = self._identity(), new_code()
        post_offer(open_transport(self.state.get("place")), code, identity)
        return code

    def pair_request(self, code: str) -> dict[str, Any] | None:
        """Second step of pairing: the device that entered the code, and its fingerprint.

        None before that.
        """
        identity = self._identity()
        request = read_request(open_transport(self.state.get("place")), code)
        if request is None:
            return None
        shown = request.fingerprint(identity.keys.sign_public)
        return {"device": request.device, "name": request.name, "fingerprint": shown}

    def confirm_pair(self, code: str, fingerprint: str) -> dict[str, Any]:
        """Last step, after people compared the fingerprints: certify the machine."""
        identity = self._identity()
        transport = open_transport(self.state.get("place"))
        request = read_request(transport, code)
        if request is None:
            raise Declined("The other machine no longer asks to join.", hint="begin again with a new code")
        if request.fingerprint(identity.keys.sign_public) != fingerprint:
            raise Declined(
                "Another machine has used the code meanwhile. No machine was joined.",
                hint="begin again with a new code",
            )
        answer_request(transport, code, request, identity, self.state.epochs())
        return {"device": request.device, "name": request.name}

    def _check_free(self) -> None:
        if self.active:
            raise Declined(
                "This machine belongs to a vault already.", hint="`fazm-memory sync leave` leaves it"
            )

    def _who(self, identity: Identity | None = None) -> dict[str, Any]:
        identity = identity or self._identity()
        return {"vault": identity.vault.id, "device": identity.device, "name": self.state.get("name")}

    def _identity(self) -> Any:
        identity = self.state.identity() if self.active else None
        if identity is None:
            raise NotFound(
                "This machine belongs to no vault.",
                hint="`fazm-memory sync init --folder DIR` makes one, `sync join` joins one",
            )
        return identity

    def leave(self, *, forget_keys: bool = False) -> dict[str, Any]:
        """Stop syncing. What was synced stays on all machines.

        Joining again goes on where it was.
        """
        removed = not self.active and self.summary() is not None
        who = self._who(self.state.identity() if removed else None)
        with self._lock():
            try:
                if not removed:  # the others know, and believe nothing of it any more
                    self._vault().leave()
                reached = True
            except FazmMemoryError:
                reached = False
            self.state.set(active=False, error=None, announced=reached)
            if forget_keys:
                self.state.note_former()
                self.state.erase()
        return {**who, "announced": reached}

    # -- rounds ------------------------------------------------------------------------------------------

    def round(
        self,
        *,
        acknowledge: bool = True,
        progress: Progress = lambda done: None,
        busy: Callable[[], None] = lambda: None,
    ) -> dict[str, Any]:
        """One round: import what is new, upload what is new here.

        `busy` is called if another round runs, which may take long. It may raise instead of waiting.
        """
        self._identity()
        with self._lock(busy):
            self._give_exclusions()
            try:
                report = self._vault().round(acknowledge=acknowledge, progress=progress)
            except FazmMemoryError as error:
                self.state.set(error=error.message, error_at=self.now())
                raise
            self._take_exclusions(report.excluded)
        if report.imported or report.exported:
            self.bind_folders()
        if report.forgot:
            self._memory.maintenance.update_exports()
        return report.to_json()

    # -- exclusions --------------------------------------------------------------------------------------

    def _give_exclusions(self) -> None:
        """Put what is never recorded here into the next head.

        Folders are named relative to the home folder.
        """
        recording, home = self._memory.recording, str(self.config.user_home).rstrip("/")
        folders = [
            f"~/{folder.removeprefix(home).lstrip('/')}" if inside(folder, home) else folder
            for folder in recording.excluded_folders()
        ]
        mine = {"apps": recording.excluded_apps()["apps"], "folders": folders}
        if mine != self.state.get(EXCLUDED, {"apps": [], "folders": []}):
            self.state.set(**{EXCLUDED: mine, "dirty": True})
            self._new_exclusions(mine)

    def _new_exclusions(self, exclusions: dict[str, list[str]]) -> dict[str, list[str]]:
        """The exclusions that were on no machine's list before.

        They are remembered.
        """
        known = self.state.get("exclusions_known", {"apps": [], "folders": []})
        news = {
            kind: [name for name in exclusions.get(kind, []) if name not in names]
            for kind, names in known.items()
        }
        if any(news.values()):
            self.state.set(exclusions_known={kind: names + news[kind] for kind, names in known.items()})
        return news

    def _take_exclusions(self, theirs: dict[str, list[str]]) -> None:
        """Exclude here what another machine excludes, once.

        What is lifted here stays lifted here.
        """
        news = self._new_exclusions(theirs)
        recording = self._memory.recording
        for kind, exclude in (("apps", recording.exclude_pattern), ("folders", recording.exclude_folder)):
            for name in news[kind]:
                with contextlib.suppress(InvalidRequest):  # such as more than a list may have
                    exclude(name)

    # -- files and folders -------------------------------------------------------------------------------

    def share_files(self, on: bool, *, limit: int | None = None) -> dict[str, Any]:
        """Share versions of files that sessions changed, or stop.

        Stopping takes back what was shared.

        `limit` is the most this machine uploads, and fetches from others, in bytes.
        """
        self._identity()
        limits = {} if limit is None else {"files_limit": limit}
        self.state.set(files=on, **limits)
        return self.file_sharing()

    def file_sharing(self) -> dict[str, Any]:
        """Whether file versions are shared, how many, and how many are to come."""
        sharing = self._vault().files
        shared = self.state.db.execute("SELECT count(*) FROM shared_file").fetchone()[0]
        bytes_ = self.state.db.execute("SELECT coalesce(sum(size), 0) FROM shared_blob").fetchone()[0]
        wanted = self.state.db.execute("SELECT count(*) FROM wanted_blob").fetchone()[0]
        return {
            "on": sharing.on, "limit": sharing.limit, "versions": shared, "bytes": bytes_, "to_fetch": wanted,
        }  # fmt: skip

    def share_transcripts(self, on: bool, *, limit: int | None = None) -> dict[str, Any]:
        """Share the agents' own transcripts, or stop and take back what was shared.

        `limit` is the most this machine uploads, and fetches from others, in bytes.
        """
        self._identity()
        limits = {} if limit is None else {"transcripts_limit": limit}
        self.state.set(transcripts=on, **limits)
        return self.transcript_sharing()

    def transcript_sharing(self) -> dict[str, Any]:
        """Whether transcripts are shared, how many, and how many are to come."""
        sharing, db = self._vault().transcripts, self.state.db
        bytes_ = db.execute("SELECT coalesce(sum(size), 0) FROM shared_chunk").fetchone()[0]
        return {
            "on": sharing.on, "limit": sharing.limit, "bytes": bytes_,
            "transcripts": db.execute("SELECT count(*) FROM shared_transcript").fetchone()[0],
            "to_fetch": db.execute("SELECT count(*) FROM wanted_transcript").fetchone()[0],
        }  # fmt: skip

    def bind_folders(self, candidates: Iterable[str] | None = None) -> None:
        """Find folders of other machines here by their git remotes.

        Looks in these folders, or in those of own sessions.
        """
        folders = own_folders(self.store) if candidates is None else candidates
        found = find_folders(self.store, self.state.get(REMOTES, {}), folders)
        for theirs, here in found.items():
            self.store.sessions.set_folder_name(theirs, here)

    def folders(self) -> list[dict[str, Any]]:
        """The folders of other machines' sessions, and where they are here.

        `here` is None if that is unclear.
        """
        self._identity()
        rows = self.store.db.execute(
            "SELECT workspace, max(device_name), count(*) FROM standing WHERE device IS NOT NULL"
            " AND workspace IS NOT NULL AND forgotten=0 GROUP BY workspace ORDER BY max(last_at) DESC"
        ).fetchall()
        names = self.store.sessions.folder_names()
        return [
            {
                "theirs": theirs,
                "device": device,
                "sessions": sessions,
                "here": names.get(theirs, theirs if os.path.isdir(theirs) else None),
            }
            for theirs, device, sessions in rows
        ]

    def name_folder(self, theirs: str, here: str) -> None:
        """Say where a folder of another machine is here.

        An empty text says that it is not here.
        """
        self._identity()
        if theirs not in {row["theirs"] for row in self.folders()}:
            raise NotFound(
                f"No session of another machine was in {theirs[:200]}.",
                hint="`fazm-memory sync folders` lists them",
            )
        path = os.path.abspath(os.path.expanduser(here)) if here else ""
        if path and not os.path.isdir(path):
            raise InvalidRequest(f"There is no folder {path}.", hint="name a folder of this machine")
        self.store.sessions.set_folder_name(theirs, path)

    def _vault(self, transport: Transport | None = None) -> Vault:
        return Vault(
            self.store, self.state, transport or open_transport(self.state.get("place")),
            home=str(self.config.user_home), now=self.now, forget=self._forget,
            versions=(lambda: self._memory.file_versions, lambda: self._memory.existing_file_versions),
            transcripts=(
                lambda: self._memory.transcript_copies, lambda: self._memory.existing_transcript_copies,
                moved_path,
            ),
            fetched=self.config.home / "sync" / "fetched",
        )  # fmt: skip

    def _forget(self, chosen: dict[int, list[int]]) -> int:
        """Forget events of own sessions because another device asked for it.

        Returns how many.
        """
        self._memory.maintenance.forget_traces(chosen)
        return forget_events(self.store, chosen, reason=REASON, at=self.now(), source="companion")

    def _lock(self, busy: Callable[[], None] = lambda: None) -> Any:
        folder = self.config.home / "sync"
        folder.mkdir(mode=0o700, exist_ok=True)
        if is_locked(folder):
            busy()
        return exclusive_lock(folder)  # two rounds at once would give one number to two heads

    def ask_quarantine(self, row: SessionRow, seqs: list[int], *, released: bool, whole: bool) -> None:
        """Ask the other machines to quarantine events of a session of theirs."""
        if not self.active:
            return
        copy = self.state.db.execute("SELECT device, origin FROM copy WHERE session=?", (row.id,)).fetchone()
        if copy is not None:
            request = ["quarantine", *copy, list(seqs), released, whole]
            self.state.set(**{OUTGOING: [*self.state.get(OUTGOING, []), request]})

    # -- devices and status ------------------------------------------------------------------------------

    def devices(self) -> list[dict[str, Any]]:
        """This machine first, then the others, with those that were removed."""
        who = self._identity()
        removed = self.state.get("removed", {})
        count = self.state.last_batch()[0]
        own = {
            "id": who.device,
            "name": self.state.get("name"),
            "uploads": count,
            "read": count,
            "left": False,
            "synced_at": self._iso("last_ok"),
        }
        others = device_rows(self._vault().devices.remembered().values())
        rows = [own | {"this": True}, *(row | {"this": False} for row in others)]
        return [row | {"removed": row["id"] in removed} for row in rows]

    def rename(self, name: str) -> None:
        self._identity()
        self.state.set(name=name.strip()[:60] or machine_name(), dirty=True)

    def remove(self, device: str) -> dict[str, Any]:
        """Remove another device by name or id. Begins a new epoch that it has no key for."""
        found = [
            row
            for row in self.devices()
            if not row["this"]
            and not row["removed"]
            and (row["name"] == device or row["id"].startswith(device))
        ]
        # A machine that joined again with new keys has its old name.
        found = [row for row in found if not row["left"]] or found
        if len(found) != 1:
            raise NotFound(
                f'{len(found) or "No"} devices match "{device[:60]}".',
                hint="`fazm-memory sync devices` lists names and ids",
            )
        with self._lock():
            self._vault().remove(found[0]["id"])
        return found[0] | {"removed": True}

    def _iso(self, setting: str) -> str | None:
        at = self.state.get(setting)
        return None if at is None else iso(at)

    def summary(self) -> dict[str, Any] | None:
        """Whether sync works, in short.

        None if this machine belongs to no vault and was not removed from one.
        """
        if not self.configured or not (self.state.active or self.state.get("error")):
            return None
        return {
            "active": self.state.active, "name": self.state.get("name"), "last_ok": self._iso("last_ok"),
            "error": self.state.get("error"), "problems": self.state.get("problems", []),
            "progress": self.state.get("progress"),
        }  # fmt: skip

    def status(self) -> dict[str, Any]:
        """Where the vault is, when sync last worked, and what is wrong.

        Also which machines have not forgotten yet.
        """
        if not self.active:  # an error says why it stopped: it was removed
            return {"active": False, "error": self.state.get("error") if self.configured else None}
        state, who = self.state, self._who()
        place = state.get("place")
        vault = self._vault()
        row = state.db.execute("SELECT max(n) FROM batch WHERE forgets > 0").fetchone()
        forgot = state.last_batch()[0] + 1 if vault.exporter.forgets_wait() else row[0] or 0
        others = vault.devices.remembered().values()
        gone = {*state.get("removed", {}), *state.get(FORMER, [])}
        gone |= {former for entry in others if entry.head.log for former in entry.head.log.former}
        late = [
            f"{entry.name} (left)" if entry.head.log and entry.head.log.left else entry.name
            for entry in others
            if entry.id not in gone
            and (entry.head.log is None or entry.head.log.seen.get(who["device"], (0, ""))[0] < forgot)
        ]
        waiting = state.db.execute("SELECT count(*) FROM waiting").fetchone()[0]
        return {
            "active": True, **who, "place": place.get("folder") or place["url"],
            "last_ok": self._iso("last_ok"), "error": state.get("error"),
            "error_at": self._iso("error_at") if state.get("error") else None,
            "progress": state.get("progress"),
            "problems": state.get("problems", []), "devices": self.devices(),
            "forgotten_not_yet_by": sorted(late), "sessions_waiting": waiting,
            "conditional_puts": state.get("conditional"), "totals": state.get("totals", {}),
            "files": self.file_sharing(), "transcripts": self.transcript_sharing(),
            "folders_unclear": [row["theirs"] for row in self.folders() if row["here"] is None],
        }  # fmt: skip


def _poll(look: Callable[[], T | None], wait: float) -> T:
    until = time.monotonic() + wait
    while (found := look()) is None:
        if time.monotonic() >= until:
            raise NotFound("The other machine did not answer in time.", hint="run both commands again")
        time.sleep(POLL)
    return found


def machine_name() -> str:
    """The name of this machine as people know it."""
    return socket.gethostname().removesuffix(".local").removesuffix(".lan")[:60] or "this machine"


# Sync in the background: a thread of the companion with a memory of its own
#
# A round follows a change here within seconds. Between changes the vault is looked at now and then: one
# request, less often the longer nothing happens. After an error it waits longer each time.

GATHER = 2.0  # seconds after a change before a round, so that events written together go together
SOON, LATE = 15.0, 300.0  # between two looks: after something happened, and at most
RETRY, LONGEST_RETRY = 5.0, 600.0
NOT_SYNCED = 10.0  # until this machine may have joined a vault; costs one file lookup

Arrived = Callable[[list[str]], None]


class Stopping(Exception):
    """The companion ends in the middle of a round. The next one goes on there."""


class SyncWorker:
    """Runs rounds in a thread until stopped.

    `arrived` gets the ids of sessions that changed, on the worker's thread.
    """

    def __init__(
        self, config: Config, now: Callable[[], int], *, report: Callable[[str], None], arrived: Arrived
    ) -> None:
        self.config, self.now = config, now
        self._report, self._arrived = report, arrived
        self._wake, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="sync", daemon=True)
        self._quiet, self._failures = SOON, 0

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Something changed here."""
        self._wake.set()

    def stop(self) -> None:
        """End after the current batch or session.

        A round that is cut here is finished by the next one.
        """
        self.stop_soon()
        self._thread.join(timeout=30)

    def stop_soon(self) -> None:
        self._stop.set()
        self._wake.set()

    def _run(self) -> None:
        memory = Memory(self.config, self.now)
        try:
            while not self._stop.is_set():
                wait = self.step(memory)
                if self._wake.wait(wait):
                    self._stop.wait(GATHER)
        except Stopping:
            return
        finally:
            memory.close()

    def _go_on(self, done: int) -> None:
        """Called in the middle of a round, between batches and sessions."""
        if self._stop.is_set():
            raise Stopping

    def step(self, memory: Memory) -> float:
        """One round if this machine syncs. Returns the seconds until the next one is due."""
        self._wake.clear()
        try:
            if not memory.sync.active:
                return NOT_SYNCED
            if not memory.recording.status()["recording"]:
                return SOON
            report = memory.sync.round(acknowledge=False, progress=self._go_on)
        except FazmMemoryError as error:
            self._failures += 1
            if self._failures == 1:
                self._report(f"Sync does not work now: {error.message}")
            return min(LONGEST_RETRY, RETRY * 2.0 ** (self._failures - 1))
        if self._failures:
            self._report("Sync works again.")
        for name in report["joined"]:
            self._report(
                f"“{name}” joined the vault. If it is not yours: `fazm-memory sync devices --remove`."
            )
        self._failures = 0
        happened = report["imported"] or report["exported"]
        self._quiet = SOON if happened else min(LATE, self._quiet * 1.5)
        if report["sessions"]:
            self._arrived(report["sessions"])
        return self._quiet
