/**
 * <fm-retries>: the calls of a session that were tried again, and what differed.
 */

import { api } from "../api.js";
import { retryDetails } from "../components/retry.js";
import { h } from "../dom.js";
import { relativePath } from "../lib/format.js";
import { sessionHash } from "../lib/route.js";
import { Screen } from "./screen.js";

class RetriesScreen extends Screen {
  heading = "Retries";
  about = "Calls that were tried again: what came of both, and what changed in between. Latest first.";

  async draw() {
    const found = await api.get(`sessions/${encodeURIComponent(this.params.session || "")}/retries`);
    const items = found.items.slice().reverse();
    return [
      h("p", null, "Session ", h("a", { href: sessionHash(found.session) }, found.title || "Untitled session")),
      items.length
        ? items.map((/** @type {any} */ retry) => card(found, retry))
        : h("div", { class: "empty" }, h("h2", null, "No retries"), h("p", null, "No call of this session was tried again.")),
    ].flat();
  }
}

/** @param {any} found @param {any} retry */
function card({ session, workspace }, retry) {
  const what = `${retry.tool} ${relativePath(retry.target, workspace)}`.trim();
  return h(
    "section",
    { class: "card", "aria-label": what.slice(0, 80) },
    h("h2", { class: "clamped", dir: "auto" }, what),
    retry.same_input ? null : h("p", { class: "note" }, "Another call with the same target."),
    retryDetails(session, retry, workspace),
  );
}

customElements.define("fm-retries", RetriesScreen);
