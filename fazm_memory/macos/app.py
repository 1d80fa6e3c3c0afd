"""The Mac app: the companion, the page and the menu bar in one process.

The main thread belongs to the system and never waits. The companion records on a second thread. A worker on a
third thread handles clicks and reads the store, and passes the results back to the main thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import objc
from AppKit import NSApplication, NSApplicationActivationPolicyAccessory, NSTerminateLater, NSWorkspace
from Foundation import (
    NSURL,
    NSActivityUserInitiatedAllowingIdleSystemSleep,
    NSObject,
    NSProcessInfo,
    NSRunLoop,
    NSRunLoopCommonModes,
    NSTimer,
)

from fazm_memory.app import Companion, Memory
from fazm_memory.errors import FazmMemoryError, StoreBusy
from fazm_memory.macos import desktop_source
from fazm_memory.macos.mac_actions import MacActions, Notifications, fazm_process
from fazm_memory.macos.status_item import Hotkeys, StatusItem
from fazm_memory.macos.system import (
    alert,
    close_alerts,
    format_weekday_time,
    has_permission,
    login_item_state,
    on_main,
    preferred_language,
    report_failures,
)
from fazm_memory.macos.window import SETUP, Respond, TimelineWindow
from fazm_memory.menubar import (
    Command,
    FazmMonitor,
    FrontApp,
    Menu,
    Problem,
    Status,
    SystemState,
    Worker,
    build_menu,
    error_text,
    follow_link,
    gather_status,
    new_notices,
    perform,
)
from fazm_memory.records import replace
from fazm_memory.translation import set_language, translate, translate_filled

REFRESH = 30.0  # seconds; changes are shown at once, this is for what no event reports


class MenuBarApp:
    """Runs until the user quits.

    `leaving` is called last, off the main thread, to stop other servers.
    """

    def __init__(
        self,
        open_memory: Callable[[], Memory],
        respond: Respond,
        *,
        say: Callable[[str], None] = lambda text: None,
        leaving: Callable[[], None] = lambda: None,
    ) -> None:
        self.open_memory, self.say, self.leaving = open_memory, say, leaving
        memory = open_memory()
        self.now, self.setup_finished = memory.now, memory.setup.finished
        self.companion = Companion(memory, report=say)
        self.companion.on_change(memory.recall.export_contexts)
        self.companion.on_change(lambda folders: on_main(self.refresh))
        self.companion.on_update(lambda: on_main(self.refresh))
        set_language(preferred_language(memory.config.language), format_moment=format_weekday_time)
        self.shortcuts = {
            memory.config.shortcut_search: Command("search"),
            memory.config.shortcut_resume: Command("resume.last"),
        }
        self.source = desktop_source(memory.now, trouble=self.trouble, platform="darwin")
        if self.source is not None:
            self.companion.watch_desktop(self.source, on_main)
        self.item = StatusItem(self.clicked, self.fresh, self.trouble)
        self.window = TimelineWindow(respond)
        self.notifications = Notifications(self.window.show, self.trouble)
        self.actions = MacActions(self.window, self.notifications)
        self.fazm = FazmMonitor(self.actions.fazm_windows)
        self.hotkeys = Hotkeys(self.clicked, self.trouble)
        self.worker = Worker(open_memory, self.trouble)
        self.delegate = AppDelegate.alloc().initWithApp_(self)
        self.recording = threading.Thread(target=self._record, name="companion")
        self.problems: dict[str, Problem] = {}
        self.status: Status | None = None
        self.activity: Any = None
        self._gathering = self._again = self._left = False
        report_failures(self.trouble)

    # -- start and end -----------------------------------------------------------------------------------

    def run(self) -> None:
        """Run until the app is quit.

        On a Mac the process then ends and this never returns.
        """
        self.item.run(self._started)

    def _started(self) -> None:
        # Without this the system slows down an app without windows, and with it the timers and the recording.
        self.activity = NSProcessInfo.processInfo().beginActivityWithOptions_reason_(
            NSActivityUserInitiatedAllowingIdleSystemSleep, "Records what agents do"
        )
        application = NSApplication.sharedApplication()
        application.setDelegate_(self.delegate)
        application.setActivationPolicy_(NSApplicationActivationPolicyAccessory)
        self.item.show(build_menu(Status(self.now())))
        self.worker.start()
        self.recording.start()
        self.notifications.start()
        timer = NSTimer.timerWithTimeInterval_repeats_block_(REFRESH, True, lambda _: on_main(self.refresh))
        timer.setTolerance_(REFRESH / 5)
        NSRunLoop.mainRunLoop().addTimer_forMode_(timer, NSRunLoopCommonModes)
        self.refresh()
        self.hotkeys.register({keys: command for keys, command in self.shortcuts.items() if keys})
        if not self.setup_finished:
            # Only a launched app can come to the front, and the event loop finishes the launch.
            on_main(lambda: self.window.show(SETUP))
            self.worker.do(lambda memory: memory.setup.finish())  # it is shown once

    def _record(self) -> None:
        memory = self.companion.memory
        try:
            self.companion.run()
        except StoreBusy as error:
            words = translate_filled(error.message)
            on_main(lambda: self._already_running(words))
        except Exception as error:
            self.trouble(error, translate("Recording has stopped"))
        finally:
            memory.close()

    def _already_running(self, words: str) -> None:
        alert(translate("Fazm Memory is already running"), words, (translate("OK"),))
        NSApplication.sharedApplication().terminate_(None)

    def leave(self) -> None:
        """Store what is pending, stop all threads, then let the system end the process."""
        if self._left:
            return
        self._left = True
        try:
            close_alerts()  # the worker waits for its answer
            self.hotkeys.unregister()
            if self.source is not None:
                self.source.stop()
        except Exception as error:
            self._say_while_quitting(error)
        threading.Thread(target=self._leave, name="leaving").start()  # without it nobody could log out

    def _leave(self) -> None:
        try:
            self.companion.stop()
            if self.recording.ident is not None:
                self.recording.join()
            self.worker.stop()
            self.window.stop()
            self.leaving()
        except Exception as error:
            self._say_while_quitting(error)
        finally:
            on_main(lambda: NSApplication.sharedApplication().replyToApplicationShouldTerminate_(True))

    def _say_while_quitting(self, error: Exception) -> None:
        self.say(f"Error while quitting: {type(error).__name__}: {error}")

    # -- showing -----------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Gather the status again. A second request during that is done once, afterwards."""
        if self._left:
            return
        if self._gathering:
            self._again = True
            return
        system, fazm = self._system_state(), fazm_process()
        self._gathering = True
        self.worker.do(lambda memory: self._gather(memory, system, fazm))

    def _system_state(self) -> SystemState:
        front = NSWorkspace.sharedWorkspace().frontmostApplication()
        name = None if front is None else front.localizedName()
        app = None
        if front is not None and name is not None:
            bundle = front.bundleIdentifier()
            app = FrontApp(str(name), None if bundle is None else str(bundle))
        return SystemState(app, has_permission(), login_item_state(), tuple(self.problems.values()))

    def _gather(self, memory: Memory, system: SystemState, fazm: int | None) -> None:
        try:
            system = replace(system, fazm=self.fazm.look(fazm, memory.now()))
            status = gather_status(memory, system)
        except Exception as error:  # the menu must still be shown
            why = f"{type(error).__name__}: {error}"
            problem = Problem(translate("The status cannot be read: {why}", why=why))
            status = Status(memory.now(), attention=(*system.problems, problem), login=system.login)
        on_main(lambda: self._show(status))

    def _show(self, status: Status) -> None:
        before, self.status = self.status, status
        self._gathering = False
        self.item.show(build_menu(status))
        for notice in new_notices(before, status):
            self.notifications.send(notice)
        if self._again:
            self._again = False
            self.refresh()

    def fresh(self) -> Menu | None:
        """The menu with up-to-date ages."""
        return None if self.status is None else build_menu(replace(self.status, now=self.now()))

    # -- clicks, links and problems ----------------------------------------------------------------------

    def clicked(self, command: Command) -> None:
        self._do(lambda memory: perform(command, memory, self.actions))

    def link(self, text: str) -> None:
        self._do(lambda memory: follow_link(text, memory, self.actions))

    def reopen(self) -> None:
        on_main(self.window.show)

    def _do(self, work: Callable[[Memory], None]) -> None:
        def job(memory: Memory) -> None:
            try:
                work(memory)
            except FazmMemoryError as error:
                self.actions.tell(*error_text(error))
            except Exception as error:
                self.say(f"{type(error).__name__}: {error}")
                self.actions.tell(translate("That did not work"), f"{type(error).__name__}: {error}")
            finally:
                self.companion.wake()
                on_main(self.refresh)

        self.worker.do(job)

    def trouble(self, error: Exception, what: str = "") -> None:
        """Report a background error, from any thread.

        It is shown in the menu until the app is restarted.
        """
        why = f"{type(error).__name__}: {error}"
        if isinstance(error, FazmMemoryError):
            why = translate_filled(error.message)
        words = f"{what or translate('Something went wrong')}: {why}"
        self.say(words)
        hint = translate("Quit and start the app again. `fazm-memory doctor` says more.")
        known, self.problems[words] = words in self.problems, Problem(words, hint)
        if not known:  # it may be the refresh that fails
            on_main(self.refresh)


class AppDelegate(NSObject):
    """Events that macOS sends to the app: links, opening it again, quitting."""

    def initWithApp_(self, app: MenuBarApp) -> Any:
        self = objc.super(AppDelegate, self).init()
        if self is not None:
            self.app = app
        return self

    def application_openURLs_(self, application: Any, urls: Sequence[NSURL]) -> None:
        for url in urls:
            self.app.link(str(url.absoluteString()))

    def applicationShouldHandleReopen_hasVisibleWindows_(self, application: Any, visible: bool) -> bool:
        # The status item may be hidden behind the notch, so opening the app again shows the window.
        self.app.reopen()
        return False

    def applicationShouldTerminate_(self, application: Any) -> int:
        """Answer "later". `leave` tells the system when everything is stored."""
        self.app.leave()
        return NSTerminateLater
