/**
 * The page's beginning: the shell with its sidebar, its screens and its keys. The timeline is one screen; the
 * others register themselves (registry.js) and are shown by address.
 */

import { api } from "./api.js";
import { h, fill, announce } from "./dom.js";
import { readRoute } from "./layout/route.js";
import { viewNamed } from "./registry.js";
import { store } from "./store.js";
import "./views/index.js";
import "./verbs/index.js";

class App extends HTMLElement {
  connectedCallback() {
    this.main = h("main", { id: "main", tabindex: -1 });
    fill(this, this.main);
    window.addEventListener("hashchange", () => this.follow());
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
    if (view) {
      const element = document.createElement(view.tag);
      /** @type {any} */ (element).params = route.params;
      fill(/** @type {HTMLElement} */ (this.main), element);
      document.title = `${view.title} · Fazm Memory`;
      announce(view.title);
    }
  }
}

customElements.define("fm-app", App);
