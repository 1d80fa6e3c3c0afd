/**
 * <fm-commands> runs the commands of `fm:command` events. Light commands run at once and can be undone from a toast;
 * the others open a dialog first.
 *
 * Commands, and their details besides `session` (an id):
 *   pause, close, archive, restore, resume, export, replay, handoff, undo
 *   rewind {seq?, keep?}                      seq: an event; keep: take back only what came after it
 *   fork {seq?}                               seq: the number of events before the position
 *   answer {question?}, waive {question}
 *   pin {seq, pinned?}, quarantine {seq?, lift?}, forget {seq}
 *   forget-range {since?, until?, session?}   times in ms
 *   exclude {app?|folder?}
 */

import { errorText } from "../dom.js";
import { toSentence } from "../lib/format.js";
import { exclude, forget, forgetRange, pin, quarantine } from "./event.js";
import { answer, handoff, waive } from "./questions.js";
import { rewind, undo } from "./rewind.js";
import { archive, close, exportSession, fork, pause, replay, restore, resume } from "./session.js";
import { toast } from "./toast.js";

/** @typedef {{command: string, session?: string, seq?: number|null, [more: string]: any}} Detail */

/** @type {Record<string, (detail: any) => void|Promise<void>>} */
const COMMANDS = {
  pause,
  resume,
  close,
  archive,
  restore,
  rewind,
  undo,
  fork,
  handoff,
  answer,
  waive,
  replay,
  export: exportSession,
  pin,
  quarantine,
  forget,
  "forget-range": forgetRange,
  exclude,
};

class Commands extends HTMLElement {
  constructor() {
    super();
    /** @param {Event} event */
    this.listener = (event) => this.run(/** @type {CustomEvent<Detail>} */ (event).detail);
  }

  connectedCallback() {
    document.addEventListener("fm:command", this.listener);
  }

  disconnectedCallback() {
    document.removeEventListener("fm:command", this.listener);
  }

  /** @param {Detail} detail */
  async run(detail) {
    const command = COMMANDS[detail.command];
    if (!command) {
      toast(`Unknown command “${detail.command}”.`);
      return;
    }
    try {
      await command(detail);
    } catch (error) {
      const { title } = /** @type {any} */ (error);
      toast([title ? toSentence(title) : "", errorText(error)].filter(Boolean).join(" "));
    }
  }
}

customElements.define("fm-commands", Commands);
