"""A page in WebKitGTK, for the system's Python: the nearest engine to the Mac window that Linux has.

    python3 webkit_view.py URL < steps.json

A step is {"wait": EXPRESSION}, which is asked until it is true, {"do": STATEMENTS} or {"picture": FILE}. The
answer on stdout is {"errors": […], "failed": null or the step that never came true}. It needs a display.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("WebKit2", "4.1")
from gi.repository import GLib, GObject, Gtk, WebKit2  # noqa: E402  (versions first)

PATIENCE = 60  # seconds for all steps together
AGAIN = 50  # milliseconds between two askings
# Hooked in before any script of the page runs.
WATCH = """
const tell = (what) => window.webkit.messageHandlers.errors.postMessage(String(what));
window.addEventListener("error", (event) => tell(event.message || "a resource did not load: " +
    (event.target && (event.target.src || event.target.href))), true);
window.addEventListener("unhandledrejection", (event) => tell(event.reason));
document.addEventListener("securitypolicyviolation", (event) => tell("CSP: " + event.violatedDirective));
const said = console.error;
console.error = (...words) => { tell(words.join(" ")); said(...words); };
"""


class View:
    """One window, its steps, and what went wrong in it."""

    def __init__(self, address: str, steps: list[dict[str, str]]) -> None:
        self.steps = steps
        self.errors: list[str] = []
        self.failed: dict[str, str] | None = None
        manager = WebKit2.UserContentManager()
        manager.register_script_message_handler("errors")
        manager.connect("script-message-received::errors", self.heard)
        manager.add_script(
            WebKit2.UserScript.new(
                WATCH,
                WebKit2.UserContentInjectedFrames.ALL_FRAMES,
                WebKit2.UserScriptInjectionTime.START,
                None,
                None,
            )
        )
        context = WebKit2.WebContext.new_ephemeral()
        self.web = GObject.new(WebKit2.WebView, web_context=context, user_content_manager=manager)
        self.web.connect("load-failed", self.not_loaded)
        window = Gtk.Window()
        window.set_default_size(1280, 800)
        window.add(self.web)
        window.show_all()
        self.web.load_uri(address)
        GLib.timeout_add(AGAIN, self.next)
        GLib.timeout_add_seconds(PATIENCE, self.give_up)

    def heard(self, _manager: Any, result: Any) -> None:
        self.errors.append(result.get_js_value().to_string())

    def not_loaded(self, _view: Any, _event: Any, address: str, error: Any) -> bool:
        self.errors.append(f"{address.split('?')[0]} did not load: {error.message}")
        return False

    def next(self) -> bool:
        """Do the next step; each calls on the one after it when it is done."""
        if not self.steps:
            Gtk.main_quit()
        elif "picture" in self.steps[0]:
            visible, plain = WebKit2.SnapshotRegion.VISIBLE, WebKit2.SnapshotOptions.NONE
            self.web.get_snapshot(visible, plain, None, self.pictured)
        else:
            step = self.steps[0]
            code = f"return Boolean({step['wait']});" if "wait" in step else f"{step['do']}; return true;"
            self.web.call_async_javascript_function(code, -1, None, None, None, None, self.asked)
        return False

    def asked(self, view: Any, result: Any) -> None:
        try:
            done = view.call_async_javascript_function_finish(result).to_boolean()
        except GLib.Error as error:
            # While a page is being loaded, there may be nobody to ask yet.
            done = False
            if "do" in self.steps[0]:
                self.errors.append(error.message)
                done = True
        if done:
            self.steps.pop(0)
        GLib.timeout_add(AGAIN, self.next)

    def pictured(self, view: Any, result: Any) -> None:
        view.get_snapshot_finish(result).write_to_png(self.steps.pop(0)["picture"])
        GLib.timeout_add(AGAIN, self.next)

    def give_up(self) -> bool:
        self.failed = self.steps[0] if self.steps else None
        Gtk.main_quit()
        return False


if __name__ == "__main__":
    view = View(sys.argv[1], json.load(sys.stdin))
    Gtk.main()
    version = f"{WebKit2.get_major_version()}.{WebKit2.get_minor_version()}.{WebKit2.get_micro_version()}"
    print(json.dumps({"errors": view.errors, "failed": view.failed, "webkit": version}))
