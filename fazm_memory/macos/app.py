"""The app: one process with the recorder, the watchers and the menu bar, each on its own thread.

The main thread belongs to the system and never waits. The companion records on a second thread, clicks and
looks at the store are done by a worker on a third, and what they find is handed back to be shown.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from AppKit import NSApplication, NSApplicationActivationPolicyAccessory, NSWorkspace
from Foundation import NSRunLoop, NSRunLoopCommonModes, NSTimer

from fazm_memory.companion import Companion
from fazm_memory.errors import FazmMemoryError, StoreBusy
from fazm_memory.macos import desktop_source
from fazm_memory.macos.asking import alert
from fazm_memory.macos.delegate import AppDelegate
from fazm_memory.macos.hands import MacHands
from fazm_memory.macos.login_item import login_state
from fazm_memory.macos.main_thread import ask_main, on_main
from fazm_memory.macos.notifications import Notifications
from fazm_memory.macos.page import Respond
from fazm_memory.macos.permissions import explain, permitted, prompt, to_be_asked
from fazm_memory.macos.status_item import StatusItem
from fazm_memory.macos.window import TimelineWindow
from fazm_memory.memory import Memory
from fazm_memory.menubar.commands import follow_link, perform
from fazm_memory.menubar.menu import Command, Menu, menu
from fazm_memory.menubar.news import news
from fazm_memory.menubar.status import App as FrontApp
from fazm_memory.menubar.status import Status, Surroundings, Trouble, gather
from fazm_memory.menubar.worker import Worker

REFRESH = 30.0  # seconds; changes are shown as they come, this is for what nobody tells


class MenuBarApp:
    """`leaving` is done last, off the main thread: whatever else this process runs ends there."""

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
        self.home, self.now = memory.config.home, memory.now
        self.companion = Companion(memory, say=say)
        self.companion.after_change(memory.export_contexts)
        self.companion.after_change(lambda folders: on_main(self.refresh))
        self.source = desktop_source(memory.now, trouble=self.trouble, platform="darwin")
        if self.source is not None:
            self.companion.watch_desktop(self.source, on_main)
        self.item = StatusItem(self.clicked, self.fresh, self.trouble)
        self.window = TimelineWindow(respond)
        self.notifications = Notifications(self.window.show, self.trouble)
        self.hands = MacHands(self.window, self.notifications)
        self.worker = Worker(open_memory, self.trouble)
        self.delegate = AppDelegate.alloc().initWithApp_(self)
        self.recording = threading.Thread(target=self._record, name="companion")
        self.troubles: dict[str, Trouble] = {}
        self.status: Status | None = None
        self._gathering = self._again = self._left = False

    # -- from launch to the end --------------------------------------------------------------------------

    def run(self) -> None:
        """Until the app is quit: on a Mac the process ends there and this does not come back."""
        self.item.run(self._started)

    def _started(self) -> None:
        application = NSApplication.sharedApplication()
        application.setDelegate_(self.delegate)
        application.setActivationPolicy_(NSApplicationActivationPolicyAccessory)
        self.item.show(menu(Status(self.now())))
        self.worker.start()
        self.recording.start()
        self.notifications.start()
        timer = NSTimer.timerWithTimeInterval_repeats_block_(REFRESH, True, lambda _: self.refresh())
        timer.setTolerance_(REFRESH / 5)
        NSRunLoop.mainRunLoop().addTimer_forMode_(timer, NSRunLoopCommonModes)
        self.refresh()
        if to_be_asked(self.home):
            self.worker.do(lambda memory: self._onboard())

    def _record(self) -> None:
        """The companion's thread."""
        memory = self.companion.memory
        try:
            self.companion.run()
        except StoreBusy as error:
            words = error.message
            on_main(lambda: self._already_running(words))
        except Exception as error:
            self.trouble(error, "recording has stopped")
        finally:
            memory.close()

    def _already_running(self, words: str) -> None:
        alert("Fazm Memory is already running", f"{words}. One is enough.", ("OK",))
        NSApplication.sharedApplication().terminate_(None)

    def leave(self) -> None:
        """Write what was seen, end every thread, then tell the system that it may end us."""
        if self._left:
            return
        self._left = True
        if self.source is not None:
            self.source.stop()
        threading.Thread(target=self._leave, name="leaving").start()

    def _leave(self) -> None:
        try:
            self.companion.stop()
            if self.recording.ident is not None:
                self.recording.join()
            self.worker.stop()
            self.window.stop()
            self.leaving()
        except Exception as error:
            self.say(f"on leaving: {type(error).__name__}: {error}")
        finally:
            on_main(lambda: NSApplication.sharedApplication().replyToApplicationShouldTerminate_(True))

    # -- showing -----------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Have the status gathered anew; asked again meanwhile, it is done once more after."""
        if self._left:
            return
        if self._gathering:
            self._again = True
            return
        self._gathering = True
        around = self._around()
        self.worker.do(lambda memory: self._gather(memory, around))

    def _around(self) -> Surroundings:
        front = NSWorkspace.sharedWorkspace().frontmostApplication()
        name = None if front is None else front.localizedName()
        app = None
        if front is not None and name is not None:
            bundle = front.bundleIdentifier()
            app = FrontApp(str(name), None if bundle is None else str(bundle))
        return Surroundings(app, permitted(), login_state(), tuple(self.troubles.values()))

    def _gather(self, memory: Memory, around: Surroundings) -> None:
        try:
            status = gather(memory, around)
        except Exception as error:  # the menu stays, and says why it knows nothing
            what = Trouble(f"the status cannot be read: {type(error).__name__}: {error}")
            status = Status(memory.now(), attention=(*around.troubles, what), login=around.login)
        on_main(lambda: self._show(status))

    def _show(self, status: Status) -> None:
        before, self.status = self.status, status
        self._gathering = False
        self.item.show(menu(status))
        for notice in news(before, status):
            self.notifications.send(notice)
        if self._again:
            self._again = False
            self.refresh()

    def fresh(self) -> Menu | None:
        """The menu with the ages of this moment."""
        return None if self.status is None else menu(replace(self.status, now=self.now()))

    # -- what is asked of us -----------------------------------------------------------------------------

    def clicked(self, command: Command) -> None:
        self._do(lambda memory: perform(command, memory, self.hands))

    def link(self, text: str) -> None:
        self._do(lambda memory: follow_link(text, memory, self.hands))

    def reopen(self) -> None:
        self.window.show()

    def _do(self, work: Callable[[Memory], None]) -> None:
        def job(memory: Memory) -> None:
            try:
                work(memory)
            except FazmMemoryError as error:
                self.hands.tell(error.title, " ".join(filter(None, (f"{error.message}.", error.hint))))
            except Exception as error:
                self.say(f"{type(error).__name__}: {error}")
                self.hands.tell("That did not work", f"{type(error).__name__}: {error}")
            finally:
                self.companion.wake()
                on_main(self.refresh)

        self.worker.do(job)

    def _onboard(self) -> None:
        """Once: say what the permission is for, then let the system ask."""
        if ask_main(lambda: explain(self.home)):
            ask_main(prompt)

    def trouble(self, error: Exception, what: str = "something went wrong") -> None:
        """Of what goes on behind the menu, from any thread: shown in it until the app is started anew."""
        words = f"{what}: {type(error).__name__}: {error}"
        self.say(words)
        self.troubles[words] = Trouble(words, "Quit and start it again; `fazm-memory doctor` tells more.")
        on_main(self.refresh)
