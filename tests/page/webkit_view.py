"""A page in WebKitGTK, for the system's Python: the nearest engine to the Mac window that Linux has.

    python3 webkit_view.py URL NOW_MS

Each line on stdin asks for one thing, and one line on stdout answers it with {"value": …}, {"error": "…"}, or
{"crashed": "…"} when the process of the engine that draws the page has ended:

    {"run": "STATEMENTS"}      an async function's body, with `driver` (webkit_driver.js) at hand
    {"press": [x, y]}          a click of the mouse there;  {"drag": [x, y, by]} sideways
    {"wheel": [x, y, by]}      the wheel turned sideways there
    {"keys": ["a", "Escape"]}  keys, by the names that GDK has for them
    {"look": {"width": 480, …}}  the width, height and zoom of the window; dark, still: the system's wishes
    {"clipboard": true}        the text that was copied last
    {"picture": "FILE"}        what the window shows
    {"errors": true}           what went wrong in the page since it was opened
    {"crash": true}            the process of the engine is ended

Pressing, dragging and typing are events of the window, as a hand would cause them. It needs a display.
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

SOON = 200  # milliseconds after an error in which the end of the process is heard of, if that was its cause
DRIVER = Path(__file__).with_name("webkit_driver.js")
# Hooked in before any script of the page runs. The page's clock goes on from the story's evening, and the
# focus goes as on the Mac: a button, link or tick box does not take it when pressed unless it has a tabindex.
WATCH = """
const tell = (what) => window.webkit.messageHandlers.errors.postMessage(String(what));
window.addEventListener("error", (event) => tell(event.message || "a resource did not load: " +
    (event.target && (event.target.src || event.target.href))), true);
window.addEventListener("unhandledrejection", (event) => tell(event.reason));
document.addEventListener("securitypolicyviolation", (event) => tell("CSP: " + event.violatedDirective));
for (const how of ["error", "warn"]) {
    const said = console[how];
    console[how] = (...words) => { tell(words.join(" ")); said(...words); };
}
const Clock = Date, ahead = NOW_MS - Clock.now();
window.Date = class extends Clock {
    constructor(...given) { given.length ? super(...given) : super(Clock.now() + ahead); }
    static now() { return Clock.now() + ahead; }
};
// What is said for a moment stays until it is looked at: a busy machine may look later than any person.
const later = window.setTimeout;
window.setTimeout = (work, ms, ...given) =>
    later.call(window, work, [1800, 8000].includes(ms) ? 600000 : ms, ...given);
window.addEventListener("mousedown", (event) => {
    const pressed = event.target.closest("button, a, input[type=checkbox], input[type=radio]");
    if (event.defaultPrevented || !pressed || pressed.hasAttribute("tabindex")) return;
    event.preventDefault();
    const around = pressed.parentElement.closest("[tabindex]");
    if (around) around.focus({ preventScroll: true }); else document.activeElement?.blur();
});
"""


class View:
    """One window, and what went wrong in it."""

    def __init__(self, address: str, now_ms: str) -> None:
        self.errors: list[str] = []
        manager = WebKit2.UserContentManager()
        manager.register_script_message_handler("errors")
        manager.connect("script-message-received::errors", self.heard)
        for script in (WATCH.replace("NOW_MS", now_ms), DRIVER.read_text()):
            frames, start = WebKit2.UserContentInjectedFrames, WebKit2.UserScriptInjectionTime
            manager.add_script(WebKit2.UserScript.new(script, frames.TOP_FRAME, start.START, None, None))
        context = WebKit2.WebContext.new_ephemeral()
        self.web = GObject.new(WebKit2.WebView, web_context=context, user_content_manager=manager)
        self.web.connect("load-failed", self.not_loaded)
        self.web.connect("load-changed", self.loaded)
        self.web.connect("script-dialog", self.asked)
        self.web.connect("web-process-terminated", self.ended)
        self.crashed: str | None = None
        self.zoom = 1.0
        self.window = Gtk.Window()
        self.window.set_default_size(1280, 860)
        self.window.add(self.web)
        self.window.show_all()
        self.web.load_uri(address)

    def heard(self, _manager: Any, result: Any) -> None:
        self.errors.append(result.get_js_value().to_string())

    def not_loaded(self, _view: Any, _event: Any, address: str, error: Any) -> bool:
        self.errors.append(f"{address.split('?')[0]} did not load: {error.message}")
        return False

    def ended(self, _view: Any, reason: Any) -> None:
        self.crashed = reason.value_nick

    def asked(self, _view: Any, dialog: Any) -> bool:
        self.errors.append(f"a script opened a dialog: {dialog.get_message()}")
        return True

    def loaded(self, _view: Any, event: Any) -> None:
        """The first line is answered when the page is there: before, there is nobody to ask."""
        if event == WebKit2.LoadEvent.FINISHED:
            self.window.get_window().focus(Gdk.CURRENT_TIME)  # no window manager does it here
            self.web.grab_focus()
            GLib.io_add_watch(GLib.IOChannel.unix_new(0), GLib.IO_IN | GLib.IO_HUP, self.told)

    def told(self, *_: Any) -> bool:
        line = sys.stdin.readline()
        if not line:
            Gtk.main_quit()
            return False
        ((what, given),) = json.loads(line).items()
        getattr(self, f"do_{what}")(given)
        return True

    def answer(self, **said: Any) -> None:
        print(json.dumps(said), flush=True)

    def do_run(self, code: str) -> None:
        self.web.call_async_javascript_function(code, -1, None, None, None, None, self.ran)

    def ran(self, view: Any, result: Any) -> None:
        try:
            value = view.call_async_javascript_function_finish(result)
        except GLib.Error as error:
            GLib.timeout_add(SOON, self.failed, error.message)
        else:
            self.answer(value=json.loads(value.to_string()) if value.is_string() else None)

    def failed(self, message: str) -> bool:
        if self.crashed is None:
            self.answer(error=message)
        else:
            self.answer(crashed=self.crashed)
        return False

    def do_crash(self, _given: bool) -> None:
        self.web.terminate_web_process()
        self.answer(value=None)

    def event(self, kind: Any, device: str, **fields: Any) -> None:
        made = Gdk.Event.new(kind)
        seat = Gdk.Display.get_default().get_default_seat()
        made.set_device(seat.get_keyboard() if device == "keyboard" else seat.get_pointer())
        part = {"keyboard": "key", "pointer": "button", "motion": "motion", "wheel": "scroll"}[device]
        body = getattr(made, part)
        body.window, body.send_event = self.web.get_window(), True
        body.time = GLib.get_monotonic_time() // 1000
        for name, value in fields.items():
            setattr(body, name, value)
        Gtk.main_do_event(made)

    def at(self, kind: Any, device: str, x: float, y: float, **fields: Any) -> None:
        x, y = (
            x * self.zoom,
            y * self.zoom,
        )  # the page counts in its own pixels, the window in those of the screen
        self.event(kind, device, x=x, y=y, x_root=x, y_root=y, **fields)

    def do_press(self, where: list[float]) -> None:
        self.do_drag([*where, 0])

    def do_drag(self, given: list[float]) -> None:
        x, y, by = given
        held = Gdk.ModifierType.BUTTON1_MASK
        self.at(Gdk.EventType.MOTION_NOTIFY, "motion", x, y)
        self.at(Gdk.EventType.BUTTON_PRESS, "pointer", x, y, button=1)
        for step in (1, 2, 3, 4) if by else ():
            self.at(Gdk.EventType.MOTION_NOTIFY, "motion", x + by * step / 4, y, state=held)
        self.at(Gdk.EventType.BUTTON_RELEASE, "pointer", x + by, y, button=1, state=held)
        self.answer(value=None)

    def do_wheel(self, given: list[float]) -> None:
        x, y, by = given
        smooth = Gdk.ScrollDirection.SMOOTH
        self.at(Gdk.EventType.SCROLL, "wheel", x, y, direction=smooth, delta_x=by, delta_y=0)
        self.answer(value=None)

    def do_keys(self, names: list[str]) -> None:
        keymap = Gdk.Keymap.get_for_display(Gdk.Display.get_default())
        for name in names:
            value = Gdk.unicode_to_keyval(ord(name)) if len(name) == 1 else Gdk.keyval_from_name(name)
            found, places = keymap.get_entries_for_keyval(value)
            code = places[0].keycode if found and places else 0
            for kind in (Gdk.EventType.KEY_PRESS, Gdk.EventType.KEY_RELEASE):
                self.event(kind, "keyboard", keyval=value, hardware_keycode=code)
        self.answer(value=None)

    def do_look(self, given: dict[str, Any]) -> None:
        self.zoom = given["zoom"]
        self.window.resize(given["width"], given["height"])
        self.web.set_zoom_level(self.zoom)
        system = Gtk.Settings.get_default()
        system.props.gtk_application_prefer_dark_theme = given["dark"]
        system.props.gtk_enable_animations = not given["still"]
        self.answer(value=None)

    def do_clipboard(self, _given: bool) -> None:
        Gtk.Clipboard.get(Gdk.SELECTION_CLIPBOARD).request_text(lambda _, text: self.answer(value=text))

    def do_picture(self, file: str) -> None:
        def pictured(view: Any, result: Any) -> None:
            view.get_snapshot_finish(result).write_to_png(file)
            self.answer(value=None)

        visible, plain = WebKit2.SnapshotRegion.VISIBLE, WebKit2.SnapshotOptions.NONE
        self.web.get_snapshot(visible, plain, None, pictured)

    def do_errors(self, _given: bool) -> None:
        self.answer(value=self.errors)


if __name__ == "__main__":
    view = View(sys.argv[1], sys.argv[2])
    Gtk.main()
