/**
 * <fm-menu>: a button that opens a menu, for mouse and keyboard.
 */

import { fill, h } from "../dom.js";

/** @typedef {{label: string, act: () => void, danger?: boolean}|null} MenuItem  null is a separator */

export class Menu extends HTMLElement {
  /** @param {HTMLButtonElement} button @param {string} label @param {() => MenuItem[]} commands */
  static of(button, label, commands) {
    const menu = new Menu();
    menu.button = button;
    menu.label = label;
    menu.commands = commands;
    return menu;
  }

  /** @type {HTMLButtonElement} */
  button = h("button", { type: "button" });
  label = "";
  /** @type {() => MenuItem[]} */
  commands = () => [];

  connectedCallback() {
    if (this.list) return;
    this.list = h("div", { class: "menu", role: "menu", "aria-label": this.label, hidden: true });
    this.button.setAttribute("aria-haspopup", "menu");
    this.button.setAttribute("aria-expanded", "false");
    this.button.addEventListener("click", () => (this.list?.hidden ? this.show() : this.hide()));
    // On macOS a clicked button does not take the focus. The menu would lose the focus, close, and reopen on click.
    this.button.addEventListener("mousedown", (event) => !this.list?.hidden && event.preventDefault());
    this.list.addEventListener("keydown", (event) => this.keys(event));
    this.addEventListener("focusout", (event) => {
      if (!this.contains(/** @type {Node|null} */ (event.relatedTarget))) this.hide(false);
    });
    fill(this, this.button, this.list);
  }

  show() {
    const list = /** @type {HTMLElement} */ (this.list);
    fill(
      list,
      this.commands().map((command) =>
        command === null
          ? h("div", { role: "separator", class: "menu-separator" })
          : h(
              "button",
              {
                type: "button",
                role: "menuitem",
                tabindex: -1,
                class: command.danger ? "danger" : null,
                onclick: () => {
                  this.hide();
                  command.act();
                },
              },
              command.label,
            ),
      ),
    );
    list.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    this.items()[0]?.focus();
  }

  hide(refocus = true) {
    if (!this.list || this.list.hidden) return;
    this.list.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
    if (refocus) this.button.focus();
    this.dispatchEvent(new Event("close"));
  }

  get open() {
    return this.list?.hidden === false;
  }

  /** @returns {HTMLElement[]} */
  items() {
    return [...(this.list?.querySelectorAll("[role=menuitem]") || [])].map((item) => /** @type {HTMLElement} */ (item));
  }

  /** @param {KeyboardEvent} event */
  keys(event) {
    const items = this.items();
    const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    /** @type {Record<string, number>} */
    const to = {
      ArrowDown: (at + 1) % items.length,
      ArrowUp: (at + items.length - 1) % items.length,
      Home: 0,
      End: items.length - 1,
    };
    if (event.key in to) items[to[event.key]]?.focus();
    else if (event.key === "Escape") this.hide();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

customElements.define("fm-menu", Menu);
