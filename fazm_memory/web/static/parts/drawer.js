/**
 * <fm-drawer>: everything known of one event: what went in, what came out, what it did to files, why it happened,
 * who says so, and the raw record.
 */

import { api } from "../api.js";
import { copy } from "../clipboard.js";
import { fill, h, trouble } from "../dom.js";
import { glyphOf, icon } from "../icons.js";
import { eventMarkdown } from "../layout/markdown.js";
import { sessionHash } from "../layout/route.js";
import { clockSeconds, duration, kindName, markWord, outcomeWord } from "../layout/words.js";
import { askVerb } from "../registry.js";
import { go } from "../router.js";
import { store } from "../store.js";
import { FileDiff, textDiff } from "./filediff.js";
import { longText, table } from "./longtext.js";
import { Menu } from "./menu.js";
import "./statehere.js";

const COVERS = window.matchMedia("(max-width: 760px)"); // as in drawer.css: there it lies over the whole timeline

const INSIDE = new Set([
  "input",
  "output",
  "error",
  "tool",
  "files",
  "outcome",
  "duration_ms",
  "call_id",
  "input_hash",
  "retry_of",
  "agent_id",
]);

class Drawer extends HTMLElement {
  /** @type {any} */
  full = null;
  generation = 0;

  connectedCallback() {
    this.setAttribute("role", "region");
    this.setAttribute("aria-label", "Event");
    this.hidden = true;
    this.body = h("div", { class: "drawer-body", tabindex: -1 });
    this.bar = h("div", { class: "drawer-bar" });
    fill(this, this.bar, this.body);
    store.watch(["session", "seq"], () => void this.load());
    COVERS.addEventListener("change", () => this.cover());
    void this.load();
  }

  async load() {
    const { session, seq } = store.state;
    const generation = (this.generation += 1);
    this.hidden = session === null || seq === null;
    this.cover();
    this.removeAttribute("aria-busy");
    if (session === null || seq === null) return;
    this.setAttribute("aria-busy", "true");
    try {
      const full = await api.get(`sessions/${encodeURIComponent(session)}/events/${seq}`);
      if (generation !== this.generation) return;
      this.full = full;
      store.set({ ms: full.ms });
      this.draw();
    } catch (error) {
      if (generation !== this.generation) return;
      this.full = null;
      this.drawBar();
      fill(
        /** @type {HTMLElement} */ (this.body),
        trouble(error, () => this.load()),
      );
    } finally {
      if (generation === this.generation) this.removeAttribute("aria-busy");
    }
  }

  /** Nobody should be led by keys to what lies under the drawer. */
  cover() {
    const under = /** @type {HTMLElement|null|undefined} */ (this.parentElement?.querySelector(".timeline-main"));
    const covered = !this.hidden && COVERS.matches;
    if (!under || under.inert === covered) return;
    const within = under.contains(document.activeElement);
    under.inert = covered;
    if (covered && within) this.body?.focus();
    else if (!covered && this.hidden) /** @type {HTMLElement|null} */ (under.querySelector(".list-scroll"))?.focus();
  }

  drawBar() {
    const { session, seq } = store.state;
    const { full } = this;
    const tool = (
      /** @type {string} */ glyph,
      /** @type {string} */ label,
      /** @type {() => void} */ onclick,
      off = false,
    ) =>
      h(
        "button",
        { class: "btn quiet icon", type: "button", "aria-label": label, title: label, disabled: off, onclick },
        icon(glyph),
      );
    const to = (/** @type {number|null|undefined} */ at) => () =>
      session && at !== null && at !== undefined && go(sessionHash(session, at), { replace: true });
    const more = h(
      "button",
      { class: "btn quiet icon", type: "button", "aria-label": "Event commands" },
      icon("more"),
    );
    fill(
      /** @type {HTMLElement} */ (this.bar),
      tool("up", "Previous event", to(full?.previous), full?.previous === null || !full),
      tool("down", "Next event", to(full?.next), full?.next === null || !full),
      h("span", { class: "drawer-space" }),
      full
        ? tool("copy", "Copy as Markdown", () => void copy(eventMarkdown(full, location.href), "Copied as Markdown"))
        : null,
      tool("link", "Copy link", () => void copy(location.href, "Link copied")),
      full ? Menu.of(more, "Event commands", () => this.commands(session, seq)) : null,
      tool("close", "Close", () => session && go(sessionHash(session))),
    );
  }

  /** @param {string|null} session @param {number|null} seq */
  commands(session, seq) {
    const after = (seq ?? 0) + 1;
    const held = Boolean(this.full?.quarantined);
    return [
      { label: "Rewind to here…", act: () => askVerb("rewind", { session, seq: after }) },
      { label: "Fork from here…", act: () => askVerb("fork", { session, seq: after }) },
      this.full?.context_item ? { label: "Pin to context", act: () => askVerb("pin", { session, seq }) } : null,
      null,
      {
        label: held ? "Lift quarantine…" : "Quarantine event…",
        act: () => askVerb("quarantine", { session, seq, lift: held }),
        danger: !held,
      },
      { label: "Forget this event…", act: () => askVerb("forget", { session, seq }), danger: true },
    ].filter((one, index, all) => one !== null || all[index - 1] !== null);
  }

  draw() {
    this.drawBar();
    const { full } = this;
    const { row, event } = full;
    const seconds = [clockSeconds(full.ms), duration(row.duration_ms), `turn ${row.turn}`, `position ${row.seq}`];
    const body = /** @type {HTMLElement} */ (this.body);
    fill(
      body,
      h(
        "div",
        { class: "drawer-head" },
        h("span", { class: "row-glyph" }, icon(glyphOf(row.kind, row.tool), 20)),
        h("div", null, h("h2", null, heading(row)), h("p", { class: "note" }, seconds.filter(Boolean).join(" · "))),
      ),
      this.pills(row),
      full.error ? section("Error", h("div", { class: "is-error" }, longText(full.error))) : null,
      this.content(full, event),
      full.output !== null && full.output !== undefined && full.output !== ""
        ? section("Output", longText(full.output))
        : null,
      full.files?.length
        ? section(
            "Files",
            full.files
              .slice(0, 100)
              .map((/** @type {any} */ file, /** @type {number} */ index) =>
                FileDiff.of(event.session, event.seq, file, index === 0),
              ),
          )
        : null,
      full.retry ? this.retry(full.retry) : null,
      full.mended_by !== null && full.mended_by !== undefined
        ? section(
            "Mended",
            h("p", null, "A later try succeeded: ", this.link(full.mended_by, `position ${full.mended_by}`)),
          )
        : null,
      full.causes?.length ? section("Why it happened", this.causes(full.causes)) : null,
      section(
        "Provenance",
        h("p", null, full.provenance?.words || ""),
        table({ actor: event.actor, source: event.source, trust: event.trust, digest: event.digest }),
      ),
      Object.assign(document.createElement("fm-statehere"), { session: event.session, at: event.seq + 1 }),
      folded("Raw event", () => longText(event)),
    );
    body.scrollTop = 0;
  }

  /** @param {any} row */
  pills(row) {
    const marks = (row.marks || []).map(markWord).filter(Boolean);
    const shown = [
      row.outcome
        ? h("span", { class: `pill ${row.outcome === "ok" ? "good" : "bad"}` }, outcomeWord(row.outcome))
        : null,
      ...marks
        .filter((/** @type {any} */ mark) => mark.word !== outcomeWord(row.outcome))
        .map((/** @type {any} */ mark) => h("span", { class: `pill ${mark.look}` }, mark.word)),
      ...(row.branches || []).map((/** @type {any} */ one) =>
        h("a", { class: "pill accent", href: sessionHash(one.id || one) }, `fork ${one.title || ""}`),
      ),
    ].filter(Boolean);
    return shown.length ? h("p", { class: "drawer-pills" }, shown) : null;
  }

  /** What the event says: an action's input, or the fields of another kind. @param {any} full @param {any} event */
  content(full, event) {
    if (event.payload === null)
      return section(
        "Content",
        h("p", { class: "note" }, "The content was forgotten. That it happened, when, and its digest are kept."),
      );
    if (full.input !== null && full.input !== undefined && event.kind.startsWith("action")) {
      const plain =
        typeof full.input === "object" && !Array.isArray(full.input) ? table(full.input) : longText(full.input);
      return section("Input", plain);
    }
    const { payload } = event;
    if (event.kind === "prompt" || event.kind === "message") return section("Text", longText(payload.text));
    const rest = Object.fromEntries(
      Object.entries(payload || {}).filter(([name]) => !event.kind.startsWith("action") || !INSIDE.has(name)),
    );
    return Object.keys(rest).length ? section("Content", table(rest)) : null;
  }

  /** @param {any} retry */
  retry(retry) {
    return section(
      "Retry",
      h(
        "p",
        null,
        "Tried again after ",
        this.link(retry.of, `position ${retry.of}`),
        retry.before ? ` (${outcomeWord(retry.before.outcome)})` : "",
      ),
      retry.diff
        ? textDiff(retry.diff)
        : h("p", { class: "note" }, "The call was the same; only what came of it differs."),
    );
  }

  /** @param {any[]} causes */
  causes(causes) {
    return h(
      "ul",
      { class: "causes" },
      causes.map((one) =>
        h(
          "li",
          null,
          icon(glyphOf(one.kind, one.tool || one.what)),
          h(
            "div",
            null,
            this.link(one.seq, one.what || kindName(one.kind)),
            one.why ? h("p", { class: "note" }, one.why) : null,
          ),
        ),
      ),
    );
  }

  /** @param {number} seq @param {string} text */
  link(seq, text) {
    return h("a", { href: sessionHash(/** @type {string} */ (store.state.session), seq) }, text);
  }
}

/** @param {any} row */
function heading(row) {
  const title = row.title || kindName(row.kind);
  if (row.kind === "prompt" || row.kind === "message") return kindName(row.kind);
  return row.kind.startsWith("action") && row.target ? `${title} ${row.target}` : title;
}

/** @param {string} title @param {...any} children */
function section(title, ...children) {
  return h("section", { class: "drawer-part" }, h("h3", null, title), ...children);
}

/** @param {string} title @param {() => Node} make */
function folded(title, make) {
  const fold = h(
    "details",
    { class: "drawer-part", ontoggle: () => fold.open && fold.children.length === 1 && fold.append(make()) },
    h("summary", null, title),
  );
  return fold;
}

customElements.define("fm-drawer", Drawer);
