"""A page in WebKitGTK, run by the system's Python: the closest engine to the Mac window on Linux.

    python3 webkit_process.py URL NOW_MS

Each line on stdin is a request. One line on stdout answers it with {"value": …}, {"error": "…"}, or
{"crashed": "…"} if the web process has ended:

    {"run": "STATEMENTS"}      run the body of an async function; `driver` is page_driver.js
    {"drag": [x, y, by]}       press, move sideways, release; a click if `by` is 0
    {"wheel": [x, y, by]}      turn the wheel sideways
    {"keys": ["a", "Escape"]}  press keys by their DOM names
    {"look": {"width": 480, …}}  width, height, zoom; dark and still are system preferences
    {"clipboard": true}        the copied text
    {"picture": "FILE"}        a screenshot
    {"errors": true}           errors in the page since it was opened
    {"crash": true}            end the web process

Mouse and keys are real window events. Needs a display.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
gi.require_version("WebKit2", "4.1")
from gi.repository import Gdk, GLib, GObject, Gtk, WebKit2  # noqa: E402  (versions first)

CRASH_DELAY = 200  # milliseconds: the end of the web process is reported later than the error it causes
SCRIPTS = [Path(__file__).with_name(name) for name in ("page_setup.js", "page_driver.js")]
KEYS = {"Enter": "Return", "ArrowLeft": "Left", "ArrowRight": "Right", "ArrowUp": "Up", "ArrowDown": "Down"}
# Reports errors. On macOS a clicked button, link or checkbox takes the focus only if it has a tabindex.
WATCH = """
const report = (what) => window.webkit.messageHandlers.errors.postMessage(String(what));
window.addEventListener("error", (event) => report(event.message || "a resource did not load: " +
    (event.target && (event.target.src || event.target.href))), true);
window.addEventListener("unhandledrejection", (event) => report(event.reason));
document.addEventListener("securitypolicyviolation", (event) => report("CSP: " + event.violatedDirective));
for (const how of ["error", "warn"]) {
    const original = console[how];
    console[how] = (...words) => { report(words.join(" ")); original(...words); };
}
window.addEventListener("mousedown", (event) => {
    const pressed = event.target.closest("button, a, input[type=checkbox], input[type=radio]");
    if (event.defaultPrevented || !pressed || pressed.hasAttribute("tabindex")) return;
    event.preventDefault();
    const around = pressed.parentElement.closest("[tabindex]");
    if (around) around.focus({ preventScroll: true }); else document.activeElement?.blur();
});
"""


class View:
    """One window and the errors in it."""

    def __init__(self, address: str, now_ms: str) -> None:
        self.errors: list[str] = []
        manager = WebKit2.UserContentManager()
        manager.register_script_message_handler("errors")
        manager.connect("script-message-received::errors", self.error_reported)
        scripts = [path.read_text().replace("NOW_MS", now_ms) for path in SCRIPTS]
        for script in (WATCH, *scripts):
            frames, start = WebKit2.UserContentInjectedFrames, WebKit2.UserScriptInjectionTime
            manager.add_script(WebKit2.UserScript.new(script, frames.TOP_FRAME, start.START, None, None))
        context = WebKit2.WebContext.new_ephemeral()
        self.web = GObject.new(WebKit2.WebView, web_context=context, user_content_manager=manager)
        self.web.connect("load-failed", self.load_failed)
        self.web.connect("load-changed", self.load_changed)
        self.web.connect("script-dialog", self.script_dialog)
        self.web.connect("web-process-terminated", self.process_ended)
        self.crashed: str | None = None
        self.zoom = 1.0
        self.window = Gtk.Window()
        self.window.set_default_size(1280, 860)
        self.window.add(self.web)
        self.window.show_all()
        self.web.load_uri(address)

    def error_reported(self, _manager: Any, result: Any) -> None:
        self.errors.append(result.get_js_value().to_string())

    def load_failed(self, _view: Any, _event: Any, address: str, error: Any) -> bool:
        self.errors.append(f"{address.split('?')[0]} did not load: {error.message}")
        return False

    def process_ended(self, _view: Any, reason: Any) -> None:
        self.crashed = reason.value_nick

    def script_dialog(self, _view: Any, dialog: Any) -> bool:
        self.errors.append(f"a script opened a dialog: {dialog.get_message()}")
        return True

    def load_changed(self, _view: Any, event: Any) -> None:
        """Start to read requests once the page is loaded."""
        if event == WebKit2.LoadEvent.FINISHED:
            self.window.get_window().focus(Gdk.CURRENT_TIME)  # there is no window manager
            self.web.grab_focus()
            GLib.io_add_watch(GLib.IOChannel.unix_new(0), GLib.IO_IN | GLib.IO_HUP, self.request)

    def request(self, *_: Any) -> bool:
        line = sys.stdin.readline()
        if not line:
            Gtk.main_quit()
            return False
        ((name, argument),) = json.loads(line).items()
        getattr(self, f"do_{name}")(argument)
        return True

    def answer(self, **answer: Any) -> None:
        print(json.dumps(answer), flush=True)

    def do_run(self, code: str) -> None:
        self.web.call_async_javascript_function(code, -1, None, None, None, None, self.ran)

    def ran(self, view: Any, result: Any) -> None:
        try:
            value = view.call_async_javascript_function_finish(result)
        except GLib.Error as error:
            GLib.timeout_add(CRASH_DELAY, self.failed, error.message)
        else:
            self.answer(value=json.loads(value.to_string()) if value.is_string() else None)

    def failed(self, message: str) -> bool:
        if self.crashed is None:
            self.answer(error=message)
        else:
            self.answer(crashed=self.crashed)
        return False

    def do_crash(self, _: bool) -> None:
        self.web.terminate_web_process()
        self.answer(value=None)

    def event(self, kind: Any, device: str, **fields: Any) -> None:
        event = Gdk.Event.new(kind)
        seat = Gdk.Display.get_default().get_default_seat()
        event.set_device(seat.get_keyboard() if device == "keyboard" else seat.get_pointer())
        part = {"keyboard": "key", "pointer": "button", "motion": "motion", "wheel": "scroll"}[device]
        body = getattr(event, part)
        body.window, body.send_event = self.web.get_window(), True
        body.time = GLib.get_monotonic_time() // 1000
        for name, value in fields.items():
            setattr(body, name, value)
        Gtk.main_do_event(event)

    def at(self, kind: Any, device: str, x: float, y: float, **fields: Any) -> None:
        x, y = x * self.zoom, y * self.zoom  # from CSS pixels to pixels of the window
        self.event(kind, device, x=x, y=y, x_root=x, y_root=y, **fields)

    def do_drag(self, argument: list[float]) -> None:
        x, y, by = argument
        pressed = Gdk.ModifierType.BUTTON1_MASK
        self.at(Gdk.EventType.MOTION_NOTIFY, "motion", x, y)
        self.at(Gdk.EventType.BUTTON_PRESS, "pointer", x, y, button=1)
        for step in (1, 2, 3, 4) if by else ():
            self.at(Gdk.EventType.MOTION_NOTIFY, "motion", x + by * step / 4, y, state=pressed)
        self.at(Gdk.EventType.BUTTON_RELEASE, "pointer", x + by, y, button=1, state=pressed)
        self.answer(value=None)

    def do_wheel(self, argument: list[float]) -> None:
        x, y, by = argument
        smooth = Gdk.ScrollDirection.SMOOTH
        self.at(Gdk.EventType.SCROLL, "wheel", x, y, direction=smooth, delta_x=by, delta_y=0)
        self.answer(value=None)

    def do_keys(self, names: list[str]) -> None:
        keymap = Gdk.Keymap.get_for_display(Gdk.Display.get_default())
        for name in names:
            named = KEYS.get(name, name)
            value = Gdk.unicode_to_keyval(ord(named)) if len(named) == 1 else Gdk.keyval_from_name(named)
            found, places = keymap.get_entries_for_keyval(value)
            code = places[0].keycode if found and places else 0
            for kind in (Gdk.EventType.KEY_PRESS, Gdk.EventType.KEY_RELEASE):
                self.event(kind, "keyboard", keyval=value, hardware_keycode=code)
        self.answer(value=None)

    def do_look(self, argument: dict[str, Any]) -> None:
        self.zoom = argument["zoom"]
        self.window.resize(argument["width"], argument["height"])
        self.web.set_zoom_level(self.zoom)
        system = Gtk.Settings.get_default()
        system.props.gtk_application_prefer_dark_theme = argument["dark"]
        system.props.gtk_enable_animations = not argument["still"]
        self.answer(value=None)

    def do_clipboard(self, _: bool) -> None:
        Gtk.Clipboard.get(Gdk.SELECTION_CLIPBOARD).request_text(lambda _, text: self.answer(value=text))

    def do_picture(self, file: str) -> None:
        def taken(view: Any, result: Any) -> None:
            view.get_snapshot_finish(result).write_to_png(file)
            self.answer(value=None)

        visible, plain = WebKit2.SnapshotRegion.VISIBLE, WebKit2.SnapshotOptions.NONE
        self.web.get_snapshot(visible, plain, None, taken)

    def do_errors(self, _: bool) -> None:
        self.answer(value=self.errors)


if __name__ == "__main__":
    view = View(sys.argv[1], sys.argv[2])
    Gtk.main()
