/**
 * <fm-app>: sidebar, screens, keyboard shortcuts. The timeline is one screen; router.js lists the others.
 */

import { api } from "./api.js";
import "./commands/index.js";
import { toastArea, undoLatest } from "./commands/toast.js";
import { lookBack, takeBack } from "./components/event_panel.js";
import { toggleSplit } from "./components/file_diff.js";
import { returnToNow } from "./components/session_header.js";
import { screenLinks } from "./components/sidebar.js";
import "./components/timeline.js";
import { announce, fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { parseRoute, sessionHash } from "./lib/route.js";
import { navigate, screens } from "./router.js";
import "./screens/compare.js";
import "./screens/context.js";
import "./screens/decisions.js";
import "./screens/files.js";
import "./screens/overview.js";
import "./screens/retries.js";
import "./screens/settings.js";
import "./screens/setup.js";
import { store } from "./store.js";
import { fitSession, zoomBy } from "./time_window.js";

const NARROW = "(max-width: 900px)"; // as in layout.css
const FLASH_MS = 1800;

const SHORTCUTS = [
  ["/", "Search everything"],
  ["j  ↓", "Next event"],
  ["k  ↑", "Previous event"],
  ["Enter", "Go to the event panel"],
  ["Esc", "Close the panel or the sidebar, return to now"],
  ["t", "Look back to the selected moment"],
  ["b", "Take the selected event back"],
  ["n", "Return to now"],
  ["c", "Collapse or open all turns"],
  ["v", "Differences side by side or unified"],
  ["+  −", "Zoom in, zoom out"],
  ["0", "Fit the session"],
  ["[  ]", "Previous day, next day"],
  ["u", "Undo the last command"],
  ["s", "Show or hide the sidebar"],
  ["?", "Show these shortcuts"],
];

class App extends HTMLElement {
  connectedCallback() {
    if (this.main) return;
    if (!location.hash) history.replaceState(null, "", "#/overview"); // the first screen, before the links are drawn
    this.timeline = document.createElement("fm-timeline");
    this.screen = h("div", { class: "screen", hidden: true });
    this.toggle = h(
      "button",
      {
        class: "btn quiet icon sidebar-toggle",
        type: "button",
        "aria-label": "Sidebar",
        "aria-expanded": "true",
        title: "Sidebar",
        onclick: () => this.foldSidebar(),
      },
      icon("sidebar"),
    );
    this.offline = h(
      "div",
      { class: "offline", role: "status", hidden: true },
      "Cannot reach Fazm Memory. Everything recorded so far is on disk. Retrying…",
    );
    this.flash = h("div", { class: "flash", "aria-hidden": "true", hidden: true });
    this.side = h(
      "aside",
      { class: "sidebar", "aria-label": "Sessions and screens" },
      document.createElement("fm-sidebar"),
    );
    this.rail = h("nav", { class: "rail", "aria-label": "Screens" }); // what the folded sidebar leaves
    this.main = h("main", { id: "main", tabindex: -1 }, this.offline, this.timeline, this.screen, toastArea());
    fill(
      this,
      this.toggle,
      this.side,
      this.rail,
      h("div", { class: "scrim", onclick: () => this.foldSidebar(true) }),
      this.main,
      this.flash,
    );
    window.addEventListener("hashchange", () => this.showRoute());
    document.addEventListener("keydown", (event) => this.keyPressed(event));
    document.addEventListener("fm:flash", (event) => this.showFlash(/** @type {CustomEvent} */ (event).detail));
    store.watch(["connected"], ({ connected }) => this.offline?.toggleAttribute("hidden", connected));
    store.watch(["info", "seq"], () => this.setTitle());
    this.narrow = window.matchMedia(NARROW);
    this.narrow.addEventListener("change", ({ matches }) => this.foldSidebar(matches));
    if (this.narrow.matches) this.foldSidebar(true);
    this.showRoute();
    api.changes(
      (change) => document.dispatchEvent(new CustomEvent("fm:changes", { detail: change })),
      (connected) => store.set({ connected }),
    );
  }

  showRoute() {
    if (!location.hash) history.replaceState(null, "", "#/overview"); // the first screen
    const route = parseRoute(location.hash);
    const shown = screens.find(({ name }) => name === route.screen);
    const screen = /** @type {HTMLElement} */ (this.screen);
    screen.hidden = !shown;
    /** @type {HTMLElement} */ (this.timeline).hidden = Boolean(shown);
    if (this.narrow?.matches) this.foldSidebar(true);
    fill(/** @type {HTMLElement} */ (this.rail), screenLinks());
    if (!shown) {
      fill(screen);
      void (/** @type {any} */ (this.timeline).showRoute(route));
      return this.setTitle();
    }
    const element = document.createElement(shown.tag);
    /** @type {any} */ (element).params = route.params;
    fill(screen, element);
    document.title = `${shown.title} · Fazm Memory`;
    announce(shown.title);
  }

  setTitle() {
    if (!this.screen?.hidden) return;
    const title = store.state.info?.title;
    document.title = title ? `${title.slice(0, 80)} · Fazm Memory` : "Fazm Memory";
  }

  /** @param {boolean} [folded] */
  foldSidebar(folded = !this.classList.contains("is-folded")) {
    this.classList.toggle("is-folded", folded);
    this.toggle?.setAttribute("aria-expanded", String(!folded));
    /** @type {HTMLElement} */ (this.side).inert = folded;
  }

  /** Close the sidebar that covers the page. */
  closeDrawer() {
    this.foldSidebar(true);
    this.toggle?.focus();
  }

  /** Show a short confirmation. @param {string} text */
  showFlash(text) {
    const flash = /** @type {HTMLElement} */ (this.flash);
    flash.textContent = text;
    flash.hidden = false;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => (flash.hidden = true), FLASH_MS);
  }

  /** @param {KeyboardEvent} event */
  keyPressed(event) {
    if (event.defaultPrevented || isTyping(event)) return;
    const list = /** @type {any} */ (this.querySelector("fm-event-list"));
    const days = /** @type {any} */ (this.querySelector("fm-day-picker"));
    /** @type {Record<string, () => void>} */
    const everywhere = {
      "/": () => {
        this.foldSidebar(false);
        /** @type {any} */ (this.querySelector("fm-search")).focus();
      },
      "?": showShortcuts,
      s: () => this.foldSidebar(),
      u: undoLatest,
    };
    /** @type {Record<string, () => void>} */
    const onTimeline = {
      j: () => list.step(1),
      k: () => list.step(-1),
      n: returnToNow,
      t: lookBack,
      b: takeBack,
      c: () => list.toggleTurns(),
      v: toggleSplit,
      "+": () => zoomBy(0.6),
      "=": () => zoomBy(0.6),
      "-": () => zoomBy(1.6),
      0: fitSession,
      "[": () => days.step(-1),
      "]": () => days.step(1),
      Enter: () => /** @type {HTMLElement|null} */ (this.querySelector(".event-body"))?.focus(),
      Escape: () => this.goBack(),
    };
    if (this.narrow?.matches && !this.classList.contains("is-folded")) everywhere.Escape = () => this.closeDrawer();
    const act = everywhere[event.key] || (this.timeline?.hidden ? undefined : onTimeline[event.key]);
    const onControl = /** @type {HTMLElement} */ (event.target).closest?.("button, a, summary");
    if (!act || (event.key === "Enter" && onControl)) return;
    event.preventDefault();
    act();
  }

  /** From the event panel to the list, from a selected event to now. */
  goBack() {
    const { session, seq } = store.state;
    const list = /** @type {HTMLElement|null} */ (this.querySelector(".list-scroll"));
    const visible = list && !list.closest("[inert]"); // on a narrow screen the panel covers the list
    if (visible && this.querySelector(".event-body")?.contains(document.activeElement)) {
      list.focus();
    } else if (session && seq !== null) navigate(sessionHash(session, store.state.then ? seq : null));
  }
}

/**
 * Whether a key belongs to an input or a dialog. On macOS a clicked button leaves the focus outside the dialog.
 * @param {KeyboardEvent} event
 */
function isTyping(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  return (
    Boolean(target.closest?.("input, textarea, select, [contenteditable]")) ||
    Boolean(document.querySelector("dialog[open]")) ||
    event.metaKey ||
    event.ctrlKey ||
    event.altKey
  );
}

function showShortcuts() {
  const dialog = h(
    "dialog",
    { class: "shortcuts", "aria-labelledby": "fm-shortcuts" },
    h("h2", { id: "fm-shortcuts" }, "Keyboard shortcuts"),
    h(
      "dl",
      null,
      SHORTCUTS.flatMap(([keys, what]) => [
        h(
          "dt",
          null,
          keys.split("  ").map((key) => h("kbd", null, key)),
        ),
        h("dd", null, what),
      ]),
    ),
    h(
      "p",
      { class: "shortcuts-done" },
      h("button", { class: "btn primary", type: "button", autofocus: true, onclick: () => dialog.close() }, "Done"),
    ),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

customElements.define("fm-app", App);
