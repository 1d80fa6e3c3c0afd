/**
 * <fm-verbs> answers `fm:verb` events: what weighs little is done at once with a way back, the rest asks through a
 * sheet first.
 *
 * Verbs and what their detail holds besides `session` (an id):
 *   pause, close, archive, restore, resume      –
 *   rewind {seq}   undo      fork {seq?}        seq: the position to stand on, after that many events
 *   handoff        answer {question?}   waive {question}      replay      export
 *   pin {seq, pinned?}       quarantine {seq?, lift?}
 *   forget {seq}             forget-range {since?, until?, session?}      times as ms
 *   exclude {app?|folder?}
 */

import { explained } from "../dom.js";
import { sentence } from "../layout/words.js";
import { exclude } from "./exclude.js";
import { exportSession } from "./export.js";
import { forget, forgetRange } from "./forget.js";
import { fork } from "./fork.js";
import { answer, handoff, waive } from "./handoff.js";
import { archive, close, pause, restore, resume } from "./lifecycle.js";
import { pin } from "./pin.js";
import { quarantine } from "./quarantine.js";
import { replay } from "./replay.js";
import { rewind, undo } from "./rewind.js";
import { toast } from "./toast.js";

/** @typedef {{verb: string, session?: string, seq?: number|null, [more: string]: any}} Detail */

/** @type {Record<string, (detail: any) => void|Promise<void>>} */
const VERBS = {
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

class Verbs extends HTMLElement {
  constructor() {
    super();
    /** @param {Event} event */
    this.hear = (event) => this.answer(/** @type {CustomEvent<Detail>} */ (event).detail);
  }

  connectedCallback() {
    document.addEventListener("fm:verb", this.hear);
  }

  disconnectedCallback() {
    document.removeEventListener("fm:verb", this.hear);
  }

  /** @param {Detail} detail */
  async answer(detail) {
    const verb = VERBS[detail.verb];
    if (!verb) {
      toast(`This page does not know how to “${detail.verb}”.`);
      return;
    }
    try {
      await verb(detail);
    } catch (error) {
      const { title } = /** @type {any} */ (error);
      toast([title ? sentence(title) : "", explained(error)].filter(Boolean).join(" "));
    }
  }
}

customElements.define("fm-verbs", Verbs);
