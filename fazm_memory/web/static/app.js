/**
 * The page's beginning: the shell with its sidebar, its screens and its keys. The timeline is one screen; the
 * others register themselves (registry.js) and are shown by address.
 */

import { api } from "./api.js";
import { announce, fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { showKeys, typing } from "./keys.js";
import { readRoute, sessionHash } from "./layout/route.js";
import { fit, zoomBy } from "./looking.js";
import { returnToNow } from "./parts/header.js";
import "./parts/sidebar.js";
import "./parts/timeline.js";
import { viewNamed } from "./registry.js";
import { go } from "./router.js";
import { store } from "./store.js";
import "./verbs/index.js";
import { tray, undoLatest } from "./verbs/toast.js";
import "./views/index.js";

const NARROW = "(max-width: 760px)";

class App extends HTMLElement {
  connectedCallback() {
    if (this.main) return;
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
        onclick: () => this.fold(),
      },
      icon("sidebar"),
    );
    this.away = h(
      "div",
      { class: "away", role: "status", hidden: true },
      "Fazm Memory does not answer; what was recorded is kept. Trying again…",
    );
    this.said = h("div", { class: "said", "aria-hidden": "true", hidden: true });
    this.side = h(
      "aside",
      { class: "sidebar", "aria-label": "Sessions and screens" },
      document.createElement("fm-sidebar"),
    );
    this.main = h("main", { id: "main", tabindex: -1 }, this.away, this.timeline, this.screen, tray());
    fill(
      this,
      this.toggle,
      this.side,
      h("div", { class: "scrim", onclick: () => this.fold(true) }),
      this.main,
      this.said,
    );
    window.addEventListener("hashchange", () => this.follow());
    document.addEventListener("keydown", (event) => this.keys(event));
    document.addEventListener("fm:said", (event) => this.say(/** @type {CustomEvent} */ (event).detail));
    store.watch(["connected"], ({ connected }) => this.away?.toggleAttribute("hidden", connected));
    store.watch(["info", "seq"], () => this.name());
    if (window.matchMedia(NARROW).matches) this.fold(true);
    this.follow();
    api.changes(
      (change) => document.dispatchEvent(new CustomEvent("fm:changes", { detail: change })),
      (connected) => store.set({ connected }),
    );
  }

  /** Show what the address says. */
  follow() {
    const route = readRoute(location.hash);
    const view = route.at === "view" ? viewNamed(route.view) : undefined;
    const screen = /** @type {HTMLElement} */ (this.screen);
    screen.hidden = !view;
    /** @type {HTMLElement} */ (this.timeline).hidden = Boolean(view);
    if (window.matchMedia(NARROW).matches) this.fold(true);
    if (!view) {
      fill(screen);
      void (/** @type {any} */ (this.timeline).follow(route));
      return this.name();
    }
    const element = document.createElement(view.tag);
    /** @type {any} */ (element).params = route.params;
    fill(screen, element);
    document.title = `${view.title} · Fazm Memory`;
    announce(view.title);
  }

  name() {
    if (!this.screen?.hidden) return;
    const title = store.state.info?.title;
    document.title = title ? `${title.slice(0, 80)} · Fazm Memory` : "Fazm Memory";
  }

  /** @param {boolean} [folded] */
  fold(folded = !this.classList.contains("is-folded")) {
    this.classList.toggle("is-folded", folded);
    this.toggle?.setAttribute("aria-expanded", String(!folded));
    /** @type {HTMLElement} */ (this.side).inert = folded;
  }

  /** A word that something was done, for a moment. @param {string} text */
  say(text) {
    const said = /** @type {HTMLElement} */ (this.said);
    said.textContent = text;
    said.hidden = false;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => (said.hidden = true), 1800);
  }

  /** @param {KeyboardEvent} event */
  keys(event) {
    if (event.defaultPrevented || typing(event)) return;
    const list = /** @type {any} */ (this.querySelector("fm-list"));
    const days = /** @type {any} */ (this.querySelector("fm-daypicker"));
    const shown = !this.timeline?.hidden;
    /** @type {Record<string, () => void>} */
    const anywhere = {
      "/": () => {
        this.fold(false);
        /** @type {any} */ (this.querySelector("fm-search")).focus();
      },
      "?": showKeys,
      s: () => this.fold(),
      u: undoLatest,
    };
    /** @type {Record<string, () => void>} */
    const here = {
      j: () => list.walk(1),
      k: () => list.walk(-1),
      n: returnToNow,
      "+": () => zoomBy(0.6),
      "=": () => zoomBy(0.6),
      "-": () => zoomBy(1.6),
      0: fit,
      "[": () => days.step(-1),
      "]": () => days.step(1),
      Enter: () => /** @type {HTMLElement|null} */ (this.querySelector(".drawer-body"))?.focus(),
      Escape: () => this.back(),
    };
    const act = anywhere[event.key] || (shown ? here[event.key] : undefined);
    const onControl = /** @type {HTMLElement} */ (event.target).closest?.("button, a, summary");
    if (!act || (event.key === "Enter" && onControl)) return;
    event.preventDefault();
    act();
  }

  back() {
    const { session, seq } = store.state;
    const list = /** @type {HTMLElement|null} */ (this.querySelector(".list-scroll"));
    const beside = list && !list.closest("[inert]"); // on a narrow screen the drawer lies over the list
    if (beside && this.querySelector(".drawer-body")?.contains(document.activeElement)) {
      list.focus();
    } else if (session && seq !== null) go(sessionHash(session));
  }
}

customElements.define("fm-app", App);
