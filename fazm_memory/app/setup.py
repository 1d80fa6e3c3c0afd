"""The setup: the steps of the first launch.

Each can be skipped and done later.

The window of the Mac app, the page and `fazm-memory setup` show the same steps. What only the system can do
is behind `SetupSystem`.
"""

from __future__ import annotations

import os
import plistlib
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

from fazm_memory.agents import CONNECTABLE, apply_plan, connected_agents, plan_connect, plan_disconnect
from fazm_memory.app.agents import (
    Backfill,
    agent_overviews,
    connection_setup,
    import_agents,
    import_progress,
)
from fazm_memory.app.memory import Service
from fazm_memory.clock import to_datetime
from fazm_memory.config import Config
from fazm_memory.errors import FazmMemoryError, InvalidRequest, RecordingPaused
from fazm_memory.ingest import ImportStatistics
from fazm_memory.paths import private_folder, write_private
from fazm_memory.records import asdict, dataclass
from fazm_memory.translation import translate, translate_count, translate_filled
from fazm_memory.watch import protected_folder

# Launch at login without the Mac app: one file that the system reads at the next login
#
# On macOS a launch agent, on Linux a user unit of systemd with the link that enables it. The app itself
# uses the system's login items instead.

LABEL = "org.fazm.memory"
UNIT = "fazm-memory.service"
SYSTEMD_RUNNING = Path("/run/systemd/system")


class LoginFile:
    """The file, and on Linux its link, that launch the companion at login."""

    def __init__(self, config: Config, platform: str = sys.platform, systemd: Path = SYSTEMD_RUNNING) -> None:
        self.platform, self.home = platform, config.user_home
        setup = connection_setup(config)
        self.command = (*setup.server[:-1], "run")
        self.env = dict(setup.env)
        self.available = platform == "darwin" or systemd.exists()

    @property
    def path(self) -> Path:
        if self.platform == "darwin":
            return self.home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
        return self.home / ".config" / "systemd" / "user" / UNIT

    @property
    def link(self) -> Path | None:
        return None if self.platform == "darwin" else self.path.parent / "default.target.wants" / UNIT

    def enabled(self) -> bool:
        return self.path.exists() and (self.link is None or self.link.is_symlink())

    def enable(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = _agent(self.command, self.env) if self.platform == "darwin" else _unit(self.command, self.env)
        write_private(self.path, text)
        if self.link is not None:
            self.link.parent.mkdir(exist_ok=True)
            self.link.unlink(missing_ok=True)
            self.link.symlink_to(os.path.join("..", UNIT))

    def disable(self) -> None:
        for path in (self.link, self.path):
            if path is not None:
                path.unlink(missing_ok=True)


def _agent(command: Sequence[str], env: Mapping[str, str]) -> bytes:
    return plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": list(command),
            "EnvironmentVariables": dict(env),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},  # again after a crash, not after it was quit
            "ProcessType": "Interactive",
            "LimitLoadToSessionType": "Aqua",
        }
    )


def _unit(command: Sequence[str], env: Mapping[str, str]) -> bytes:
    lines = [f"Environment={_quoted(f'{name}={value}')}" for name, value in env.items()]
    return "\n".join(
        [
            "[Unit]", "Description=Fazm Memory", "", "[Service]",
            f"ExecStart={' '.join(map(_quoted, command))}", *lines, "Restart=on-failure", "",
            "[Install]", "WantedBy=default.target", "",
        ]
    ).encode()  # fmt: skip


def _quoted(word: str) -> str:
    """Quote a word for systemd.

    It expands % and $, and reads quotes and backslashes like a shell.
    """
    safe = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return safe if safe == shlex.quote(word) else f'"{safe}"'


# The steps

DONE_FILE = "setup-done"
OLD_DONE_FILE = "permission-asked"  # written by versions before the setup; their users know the app
MONTH = 30 * 86_400_000_000
PART_BYTES = 4 << 20  # that one call of `import_part` reads
RECENT = 200  # sessions whose folders are looked at
CONSENT = ("Documents", "Desktop", "Downloads")

StepName = Literal["move", "connect", "accessibility", "folders", "login", "import"]
StepState = Literal["todo", "done", "not here"]


@dataclass(frozen=True)
class SetupChoice:
    """Something that a step can do.

    `edits` are the changes of files that it would make.
    """

    id: str
    title: str
    done: bool
    suggested: bool = True
    note: str = ""
    edits: tuple[dict[str, str], ...] = ()


@dataclass(frozen=True)
class SetupStep:
    name: StepName
    title: str
    why: str
    action: str  # what the button says
    choices: tuple[SetupChoice, ...] = ()
    note: str = ""

    @property
    def state(self) -> StepState:
        if not self.choices:
            return "not here"
        return "done" if all(choice.done for choice in self.choices if choice.suggested) else "todo"

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "state": self.state}


class SetupSystem(Protocol):
    """What only the system can do. None means that it does not apply here."""

    def misplaced(self) -> bool:
        """Whether the app runs from a download or a disk image."""

    def move(self) -> str:
        """Copy the app to Applications and open it there. Returns a message."""

    def permitted(self) -> bool | None:
        """Whether windows may be read."""

    def ask_permission(self) -> None:
        """Let the system ask, or open its settings if it has asked before."""

    def login(self) -> bool | None:
        """Whether the companion is launched at login."""

    def set_login(self, on: bool) -> str:
        """Turn it on or off. Returns a message, or an empty string."""


class PlainSystem:
    """A terminal on any system.

    Permissions belong to the app, so they are not offered here.
    """

    def __init__(self, config: Config, login_file: LoginFile | None = None) -> None:
        self.login_file = login_file or LoginFile(config)

    def misplaced(self) -> bool:
        return False

    def move(self) -> str:
        raise InvalidRequest("only the Mac app can be moved")

    def permitted(self) -> bool | None:
        return None

    def ask_permission(self) -> None:
        raise InvalidRequest("only the Mac app needs this permission", hint="open the app")

    def login(self) -> bool | None:
        return self.login_file.enabled() if self.login_file.available else None

    def set_login(self, on: bool) -> str:
        if on:
            self.login_file.enable()
            return translate(
                "{path} was written. It takes effect at the next login.", path=self.login_file.path
            )
        self.login_file.disable()
        return ""


class SetupService(Service):
    """The steps of the setup. Use it as `memory.setup`."""

    platform = sys.platform

    @cached_property
    def system(self) -> SetupSystem:
        """The system of this process. The Mac app replaces it."""
        return PlainSystem(self.config)

    @property
    def finished(self) -> bool:
        """Whether the setup was shown to its end, or skipped."""
        return any((self.config.home / name).exists() for name in (DONE_FILE, OLD_DONE_FILE))

    def finish(self) -> None:
        write_private(private_folder(self.config.home) / DONE_FILE, b"shown once\n", sync=False)

    def steps(self) -> list[SetupStep]:
        """All steps that make sense here, in their order."""
        steps = (
            self._move(), self._connect(), self._accessibility(), self._folders(), self._login(),
            self._import(),
        )  # fmt: skip
        return [step for step in steps if step.choices or step.note]

    def apply(self, step: str, choice: str = "", *, on: bool = True) -> str:
        """Do what a choice of a step offers, or take it back. Returns a message."""
        actions = {
            "move": lambda: self.system.move(),
            "connect": lambda: self.connect(choice, on=on),
            "accessibility": lambda: self._ask_permission(),
            "folders": lambda: self._set_folder(choice, on),
            "login": lambda: self.system.set_login(on),
            "import": lambda: self._import_all(),
        }
        if step not in actions:
            raise InvalidRequest(f"there is no step {step[:40]!r}", hint=f"steps: {', '.join(actions)}")
        return actions[step]()

    # -- steps -------------------------------------------------------------------------------------------

    def _move(self) -> SetupStep:
        choices = (SetupChoice("move", translate("Move the app to Applications"), done=False),)
        return SetupStep(
            "move",
            translate("Move to Applications"),
            translate(
                "The app runs from a temporary place. Agents are told where it is, so it needs a place that"
                " stays."
            ),
            translate("Move and Open Again"),
            choices if self.system.misplaced() else (),
        )

    def _connect(self) -> SetupStep:
        choices, note = [], ""
        options = connection_setup(self.config)
        for agent in agent_overviews(self._memory):
            if not agent.here or agent.agent not in CONNECTABLE:
                continue
            try:
                plan = plan_connect(agent.agent, options)
            except FazmMemoryError as error:
                note = translate_filled(error.message)
                continue
            edits = tuple({"path": str(edit.path), "diff": edit.readable()[0]} for edit in plan.edits)
            connected = agent.hooks and not edits
            choices.append(SetupChoice(agent.agent, agent.agent, connected, edits=edits))
        if not choices and not note:
            note = translate("No agent was found on this machine. Use one once, and it appears here.")
        return SetupStep(
            "connect",
            translate("Connect your agents"),
            translate(
                "A connected agent reports what it does as it does it, and each new session is told what came"
                " before. Every change of its settings is shown first, backed up, and can be taken back."
            ),
            translate("Connect"),
            tuple(choices),
            note,
        )

    def _accessibility(self) -> SetupStep:
        permitted = self.system.permitted()
        choice = SetupChoice("accessibility", translate("Allow Accessibility"), bool(permitted))
        return SetupStep(
            "accessibility",
            translate("Let it see which window you work in"),
            translate(
                "It records which app, window and document is in front while your agents work. It never reads"
                " what you type, password managers or private windows. macOS calls this permission"
                " Accessibility. Without it everything else is still recorded."
            ),
            translate("Allow"),
            () if permitted is None else (choice,),
        )

    def _folders(self) -> SetupStep:
        """Folders that the system protects and that are to be watched.

        They are those in which agents work, and those that people name.
        """
        home, added = str(self.config.user_home), self._memory.recording.added_folders()
        worked = [
            row.workspace
            for row in self.store.sessions.listing(limit=RECENT)
            if row.workspace and os.path.isdir(row.workspace)
        ]
        needed = list(dict.fromkeys(folder for folder in worked if self._is_protected(folder)))
        more = [os.path.join(home, name) for name in CONSENT] if self.platform == "darwin" else []
        names = dict.fromkeys([*added, *needed, *(folder for folder in more if os.path.isdir(folder))])
        choices = [
            SetupChoice(folder, folder, folder in added, folder in needed, self._unreadable(folder, added))
            for folder in names
        ]
        return SetupStep(
            "folders",
            translate("Folders to watch"),
            translate(
                "Folders that agents work in are watched by themselves. macOS protects Documents, Desktop and"
                " Downloads: allow those that your agents may work in. The system asks you once for each."
            ),
            translate("Watch"),
            tuple(choices),
        )

    def _login(self) -> SetupStep:
        state = self.system.login()
        choice = SetupChoice("login", translate("Launch at login"), bool(state))
        return SetupStep(
            "login",
            translate("Launch at login"),
            translate("Hooks work without it, but files and windows are only recorded while it runs."),
            translate("Turn On"),
            () if state is None else (choice,),
        )

    def _import(self) -> SetupStep:
        try:
            work = self.month()
        except RecordingPaused:
            work = Backfill({}, 0, iter(()))
        files = sum(work.found.values())
        left = translate("{size} MB to read", size=-(-work.bytes // 1_000_000)) if work.bytes else ""
        title = translate_count(files, "{n} file of the last month", "{n} files of the last month")
        return SetupStep(
            "import",
            translate("Import your last month"),
            translate("What your agents left in their own records. Older records follow in the background."),
            translate("Import"),
            (SetupChoice("month", title, not work.bytes, note=left),) if files else (),
        )

    # -- what they do ------------------------------------------------------------------------------------

    def connect(self, agent: str, *, on: bool = True) -> str:
        options = connection_setup(self.config)
        plan = (plan_connect if on else plan_disconnect)(agent, options)
        apply_plan(plan, options, stamp=f"{to_datetime(self.now()):%Y-%m-%dT%H%M%S}")
        if on:
            self._memory.recall.export_contexts()
        return " ".join(map(translate_filled, plan.notes))

    def _ask_permission(self) -> str:
        self.system.ask_permission()
        return translate("Turn on Fazm Memory in System Settings → Privacy & Security → Accessibility.")

    def _set_folder(self, folder: str, on: bool) -> str:
        recording = self._memory.recording
        added = recording.add_folder(folder) if on else recording.remove_folder(folder)
        return self._unreadable(added[-1], added) if on else ""

    def _is_protected(self, folder: str) -> bool:
        return protected_folder(folder, str(self.config.user_home), self.platform)

    def _unreadable(self, folder: str, added: tuple[str, ...]) -> str:
        """Why a folder cannot be read.

        macOS asks at the first try, so only an added folder is tried.
        """
        if folder not in added:
            return ""
        try:
            with os.scandir(folder) as entries:
                next(entries, None)
        except PermissionError:
            return translate("macOS refuses it: System Settings → Privacy & Security → Files and Folders.")
        except OSError as error:
            return str(error.strerror)
        return ""

    # -- the import --------------------------------------------------------------------------------------

    def month(self) -> Backfill:
        """What the agents' records of the last 30 days hold that is not imported yet."""
        return import_agents(self._memory, since=self.now() - MONTH)

    def importing(self) -> dict[str, int] | None:
        """The progress of an import that runs in any process: `read` of `total` bytes."""
        return import_progress(self.config.home)

    def import_part(self) -> dict[str, Any]:
        """Import the next part. `left` is what remains, in bytes; 0 ends it."""
        work = self.month()
        statistics = ImportStatistics()
        for wave in work.waves:
            statistics.add(wave)
            if statistics.bytes >= PART_BYTES:
                break
        left = max(0, work.bytes - statistics.bytes) if statistics.bytes else 0
        if not left:
            self._complete_import()
        return {"events": statistics.events, "bytes": statistics.bytes, "left": left}

    def import_month(self, statistics: ImportStatistics) -> Iterator[int]:
        """Import the last month into `statistics`. Yields the bytes that were read so far."""
        for wave in self.month().waves:
            statistics.add(wave)
            yield statistics.bytes
        self._complete_import()

    def _import_all(self) -> str:
        statistics = ImportStatistics()
        for _ in self.import_month(statistics):
            pass
        return translate_count(statistics.events, "{n} new event.", "{n} new events.")

    def _complete_import(self) -> None:
        self.store.index_all()
        self._memory.recall.export_contexts()

    # -- taking it back ----------------------------------------------------------------------------------

    def remove(self) -> tuple[list[str], dict[str, FazmMemoryError]]:
        """Disconnect every agent and no longer launch at login.

        Returns what was taken back, and why an agent is still connected. One broken configuration must not
        keep the others connected.
        """
        removed: list[str] = []
        failed: dict[str, FazmMemoryError] = {}
        if self.system.login():
            self.system.set_login(False)
            removed.append("login")
        options, connected = connection_setup(self.config), connected_agents(self.config.home)
        for agent in CONNECTABLE:
            try:
                if agent in connected or plan_disconnect(agent, options).edits:
                    self.connect(agent, on=False)
                    removed.append(agent)
            except FazmMemoryError as error:
                failed[agent] = error
        return removed, failed
