"""`SetupSystem` on a Mac: where the app is, the permission, the login item."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from fazm_memory.app import PlainSystem, is_temporary_place
from fazm_memory.config import Config
from fazm_memory.errors import InvalidRequest
from fazm_memory.macos.system import (
    bundle_identifier,
    bundle_path,
    call_on_main,
    has_permission,
    login_item_state,
    open_permission_settings,
    prompt_permission,
    set_login_item,
)
from fazm_memory.paths import private_folder, write_private
from fazm_memory.translation import translate

APPLICATIONS = Path("/Applications")
PROMPTED = "permission-prompted"
COPY_SECONDS = 120.0
# Opens the copy when this process has ended: two at once would be refused.
REOPEN = "while kill -0 {pid} 2>/dev/null; do sleep 0.2; done; exec /usr/bin/open {app}"

Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]


def run_command(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=COPY_SECONDS, check=False)


def start_detached(command: Sequence[str]) -> None:
    subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip


class MacSetup(PlainSystem):
    """The setup of the app. With `in_app` false it is the command line of the app, in a terminal.

    A terminal has its own permissions, so there the app's are not shown.
    """

    def __init__(
        self,
        config: Config,
        *,
        in_app: bool,
        leave: Callable[[], None] = lambda: None,
        run: Run = run_command,
        start: Callable[[Sequence[str]], None] = start_detached,
        applications: Path = APPLICATIONS,
    ) -> None:
        super().__init__(config)
        self.home, self.user_home = config.home, config.user_home
        self.in_app, self.leave = in_app, leave
        self.run, self.start, self.applications = run, start, applications

    def misplaced(self) -> bool:
        if not self.in_app or bundle_identifier() is None:
            return False
        place = bundle_path()
        return is_temporary_place(place) or place.startswith(f"{self.user_home}/Downloads/")

    def move(self) -> str:
        source = bundle_path()
        target = self.applications / os.path.basename(source)
        if target.exists():
            raise InvalidRequest(
                translate("There is already a copy in {folder}.", folder=self.applications),
                hint=translate("Quit this one, then replace that copy in the Finder and open it."),
            )
        copied = self.run(["/usr/bin/ditto", source, str(target)])
        if copied.returncode != 0:
            raise InvalidRequest(
                translate("The app could not be copied: {why}", why=copied.stderr.strip()[:200]),
                hint=translate("Quit it, then drag it to Applications in the Finder."),
            )
        # Without the mark of a download the copy runs from where it is.
        self.run(["/usr/bin/xattr", "-dr", "com.apple.quarantine", str(target)])
        (self.home / "setup-done").unlink(missing_ok=True)  # the copy goes on with the setup
        script = REOPEN.format(pid=os.getpid(), app=shlex.quote(str(target)))
        self.start(["/bin/sh", "-c", script])
        self.leave()
        return translate("The copy in {folder} opens now.", folder=self.applications)

    def permitted(self) -> bool | None:
        return call_on_main(has_permission) if self.in_app else None

    def ask_permission(self) -> None:
        """The system asks once in the life of an app. After that only its settings help."""
        asked = self.home / PROMPTED
        if asked.exists():
            call_on_main(open_permission_settings)
            return
        write_private(private_folder(self.home) / PROMPTED, b"asked once\n", sync=False)
        call_on_main(prompt_permission)

    def login(self) -> bool | None:
        if bundle_identifier() is None:
            return super().login()
        return call_on_main(login_item_state) if self.in_app else login_item_state()

    def set_login(self, on: bool) -> str:
        if bundle_identifier() is None:
            return super().set_login(on)
        return call_on_main(lambda: set_login_item(on)) if self.in_app else set_login_item(on)
