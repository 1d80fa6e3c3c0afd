/**
 * <fm-event-panel>: one event in detail: input, output, files, causes, provenance, session state, raw record.
 */

import { api } from "../api.js";
import { copy } from "../clipboard.js";
import { errorBlock, fill, h } from "../dom.js";
import { iconName, icon } from "../icons.js";
import { eventMarkdown } from "../lib/markdown.js";
import { sessionHash } from "../lib/route.js";
import { clock, clockSeconds, duration, kindName, outcomeName, provenanceText, relativePath, rowMarks } from "../lib/format.js";
import { navigate, runCommand } from "../router.js";
import { store } from "../store.js";
import { FileDiff } from "./file_diff.js";
import { Menu } from "./menu.js";
import { retryDetails } from "./retry.js";
import { longText, overview, proseText, table } from "./values.js";

// As in timeline.css: on a narrow screen the panel covers the timeline.
const NARROW = window.matchMedia("(max-width: 760px)");

/** Fields of an action that have a section of their own. */
const SHOWN_FIELDS = new Set([
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

const EDIT_FIELDS = ["old_string", "oldString", "old_str", "new_string", "edits", "content", "file_text", "patch", "diff"];

class EventPanel extends HTMLElement {
  /** @type {any} */
  full = null;
  generation = 0;

  connectedCallback() {
    this.setAttribute("role", "region");
    this.setAttribute("aria-label", "Event");
    this.hidden = true;
    this.body = h("div", { class: "event-body", tabindex: -1 });
    this.toolbar = h("div", { class: "event-toolbar" });
    fill(this, this.toolbar, this.body);
    store.watch(["session", "seq"], () => void this.load());
    store.watch(["info"], () => this.full?.event.kind === "rewind" && void this.load());
    store.watch(["then"], () => this.full && this.drawToolbar());
    NARROW.addEventListener("change", () => this.updateCover());
    void this.load();
  }

  async load() {
    const { session, seq } = store.state;
    const generation = (this.generation += 1);
    this.hidden = session === null || seq === null;
    this.updateCover();
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
      this.drawToolbar();
      fill(
        /** @type {HTMLElement} */ (this.body),
        errorBlock(error, () => this.load()),
      );
    } finally {
      if (generation === this.generation) this.removeAttribute("aria-busy");
    }
  }

  /** Make the timeline inert while the panel covers it, so that keys do not lead under the panel. */
  updateCover() {
    const timeline = /** @type {HTMLElement|null|undefined} */ (this.parentElement?.querySelector(".timeline-main"));
    const covered = !this.hidden && NARROW.matches;
    if (!timeline || timeline.inert === covered) return;
    const hadFocus = timeline.contains(document.activeElement);
    timeline.inert = covered;
    if (covered && hadFocus) this.body?.focus();
    else if (!covered && this.hidden) /** @type {HTMLElement|null} */ (timeline.querySelector(".list-scroll"))?.focus();
  }

  drawToolbar() {
    const { session, seq } = store.state;
    const { full } = this;
    const button = (
      /** @type {string} */ glyph,
      /** @type {string} */ label,
      /** @type {() => void} */ onclick,
      disabled = false,
    ) =>
      h(
        "button",
        { class: "btn quiet icon", type: "button", "aria-label": label, title: label, disabled, onclick },
        icon(glyph),
      );
    // The list knows the order of time, the filters and the folds.
    const step = (/** @type {number} */ by) => () => void (/** @type {any} */ (document.querySelector("fm-event-list"))?.step(by));
    const more = h(
      "button",
      { class: "btn quiet icon", type: "button", "aria-label": "Event commands" },
      icon("more"),
    );
    fill(
      /** @type {HTMLElement} */ (this.toolbar),
      button("up", "Previous event", step(-1), !full),
      button("down", "Next event", step(1), !full),
      h("span", { class: "event-toolbar-space" }),
      full
        ? h(
            "button",
            { class: "btn quiet", type: "button", "aria-pressed": String(store.state.then), title: "Show the session as it was at this moment (t)", onclick: lookBack },
            icon("clock"),
            "Look back",
          )
        : null,
      full
        ? button("copy", "Copy as Markdown", () => void copy(eventMarkdown(full, location.href), "Copied as Markdown"))
        : null,
      button("link", "Copy link", () => void copy(location.href, "Link copied")),
      full ? Menu.of(more, "Event commands", () => this.commands(session, seq)) : null,
      button("close", "Close", () => session && navigate(sessionHash(session))),
    );
  }

  /** @param {string|null} session @param {number|null} seq */
  commands(session, seq) {
    const after = (seq ?? 0) + 1;
    const quarantined = Boolean(this.full?.quarantined);
    return [
      {
        label: "Copy link for another machine",
        act: () => void copy(`fazm-memory timeline ${session?.slice(0, 12)}@${seq}`, "Command copied. It opens this moment where the session was synced to."),
      },
      ...(seq && this.full?.event.kind !== "rewind" ? [{ label: "Take this back…", act: takeBack }] : []),
      { label: "Rewind to here…", act: () => runCommand("rewind", { session, seq, keep: true }) },
      { label: "Fork from here…", act: () => runCommand("fork", { session, seq: after }) },
      ...(this.full?.context_item ? [{ label: "Pin to context", act: () => runCommand("pin", { session, seq }) }] : []),
      null,
      {
        label: quarantined ? "Release from quarantine" : "Quarantine event…",
        act: () => runCommand("quarantine", { session, seq, lift: quarantined }),
        danger: !quarantined,
      },
      { label: "Forget this event…", act: () => runCommand("forget", { session, seq }), danger: true },
    ];
  }

  draw() {
    this.drawToolbar();
    const { full } = this;
    const { row, event } = full;
    const facts = [clockSeconds(full.ms), duration(row.duration_ms), `turn ${row.turn}`, `position ${row.seq}`];
    const body = /** @type {HTMLElement} */ (this.body);
    fill(
      body,
      h(
        "div",
        { class: "event-head" },
        h("span", { class: "row-glyph" }, icon(iconName(row.kind, row.tool), 20)),
        h("div", null, h("h2", null, heading(row)), h("p", { class: "note" }, facts.filter(Boolean).join(" · "))),
      ),
      this.pills(row),
      full.error ? section("Error", h("div", { class: "is-error" }, longText(full.error))) : null,
      isEdit(full) ? this.changes(full, event) : null,
      this.content(full, event),
      full.output !== null && full.output !== undefined && full.output !== ""
        ? section("Output", longText(full.output))
        : null,
      isEdit(full) ? null : this.changes(full, event),
      full.retry ? this.retry(full.retry) : null,
      full.mended_by !== null && full.mended_by !== undefined
        ? section(
            "Fixed later",
            h("p", null, "A later attempt succeeded: ", this.link(full.mended_by, `position ${full.mended_by}`)),
          )
        : null,
      full.causes?.length ? section("Why it happened", this.causes(full.causes)) : null,
      section(
        "Provenance",
        h("p", null, provenanceText(event)),
        table({ claimed: event.claimed_at, received: event.received_at }),
        collapsed("Digest", () => h("code", { class: "digest" }, event.digest)),
      ),
      Object.assign(new SessionState(), { session: event.session, at: event.seq + 1 }),
      collapsed("Raw event", () => longText(event)),
    );
    body.scrollTop = 0;
  }

  /** The files of the event, the first one open. @param {any} full @param {any} event */
  changes(full, event) {
    if (!full.files?.length) return null;
    const diffs = full.files
      .slice(0, 100)
      .map((/** @type {any} */ file, /** @type {number} */ index) => FileDiff.of(event.session, event.seq, file, index === 0));
    const changed = event.seq > 0 && event.kind !== "rewind" && full.files.some((/** @type {any} */ file) => file.change !== "read" && file.by === "agent");
    const button = changed ? h("button", { class: "btn", type: "button", title: "Take it back (b)", onclick: takeBack }, icon("rewind"), "Take back…") : null;
    return section(isEdit(full) ? "Changes" : "Files", diffs, button);
  }

  /** @param {any} row */
  pills(row) {
    const marks = rowMarks(row);
    const shown = [
      row.outcome
        ? h("span", { class: `pill ${row.outcome === "ok" ? "good" : "bad"}` }, outcomeName(row.outcome))
        : null,
      ...marks
        .filter((/** @type {any} */ mark) => mark.label !== outcomeName(row.outcome))
        .map((/** @type {any} */ mark) => h("span", { class: `pill ${mark.tone}` }, mark.label)),
      ...(row.branches || []).map((/** @type {any} */ fork) =>
        h("a", { class: "pill accent", href: sessionHash(fork.id || fork) }, `fork ${fork.title || ""}`),
      ),
    ].filter(Boolean);
    return shown.length ? h("p", { class: "event-pills" }, shown) : null;
  }

  /** The input of an action, or the fields of an event of another kind. @param {any} full @param {any} event */
  content(full, event) {
    if (event.payload === null)
      return section(
        "Content",
        h("p", { class: "note" }, "The content was forgotten. The time, kind and digest of the event remain."),
      );
    if (full.input !== null && full.input !== undefined && event.kind.startsWith("action")) {
      const input =
        typeof full.input === "object" && !Array.isArray(full.input) ? table(full.input) : longText(full.input);
      return isEdit(full) ? collapsed("Input", () => input) : section("Input", input);
    }
    const { payload } = event;
    if (event.kind === "rewind") return this.rewound(full, payload);
    if (event.kind === "prompt" || event.kind === "message") return section("Text", proseText(payload.text));
    const rest = Object.fromEntries(
      Object.entries(payload || {}).filter(([name]) => !event.kind.startsWith("action") || !SHOWN_FIELDS.has(name)),
    );
    return Object.keys(rest).length ? section("Content", table(rest)) : null;
  }

  /** What a rewind did, and whether it was undone. @param {any} full @param {any} payload */
  rewound({ row, undone_by: undone }, { to, undoes = null, reason = "", touched = [] }) {
    const { session, info } = store.state;
    const isUndo = undoes !== null;
    const undo = () => runCommand("undo", { session });
    return section(
      "What it did",
      isUndo
        ? h("p", null, "It took back ", this.link(undoes, "the rewind before it"), ".")
        : h("p", null, `The session went back to position ${to}.`),
      touched.length ? h("ul", { class: "overview" }, touched.slice(0, 100).map((/** @type {any} */ file) => h("li", null, touchedText(file, info?.workspace)))) : null,
      reason && !isUndo ? h("p", { class: "note", dir: "auto" }, `Reason: ${reason}`) : null,
      undone ? h("p", null, "Undone at ", this.link(undone.seq, clock(undone.ms)), ".") : null,
      !isUndo && !undone && info?.latest_rewind === row.seq
        ? h("button", { class: "btn", type: "button", onclick: undo }, icon("rewind"), "Undo this rewind…")
        : null,
    );
  }

  /** @param {any} retry */
  retry(retry) {
    const session = /** @type {string} */ (store.state.session);
    return section("Retry", retryDetails(session, retry, store.state.info?.workspace));
  }

  /** @param {any[]} causes */
  causes(causes) {
    return h(
      "ul",
      { class: "causes" },
      causes.map((cause) =>
        h(
          "li",
          null,
          icon(iconName(cause.kind, cause.tool || cause.what)),
          h(
            "div",
            null,
            this.link(cause.seq, cause.what || kindName(cause.kind)),
            cause.why ? h("p", { class: "note" }, cause.why) : null,
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

/** See the session from the moment of the selected event, or return from there. */
export function lookBack() {
  const { session, seq, then } = store.state;
  if (session && seq !== null) navigate(sessionHash(session, seq, !then));
}

/** What a rewind did to a file. @param {any} file @param {string|null|undefined} folder */
function touchedText({ path, change, from }, folder) {
  const [now, before] = [relativePath(path, folder), relativePath(from, folder)];
  return change === "renamed" && before ? `${before} → ${now}` : `${now} ${change === "modified" ? "restored" : change}`;
}

/** Take back the selected event and what came after it, or only it. */
export function takeBack() {
  const { session, seq } = store.state;
  if (session && seq) runCommand("rewind", { session, seq });
}

/** Whether the input is a change of a file, which the difference shows better. @param {any} full */
function isEdit(full) {
  const changed = full.files?.some((/** @type {any} */ file) => file.change !== "read");
  return Boolean(changed && full.input && (typeof full.input === "string" || EDIT_FIELDS.some((name) => name in full.input)));
}

/** @param {any} row */
function heading(row) {
  const title = row.title || kindName(row.kind);
  if (row.kind === "prompt" || row.kind === "message") return kindName(row.kind);
  return row.kind.startsWith("action") && row.target ? `${title} ${relativePath(row.target, store.state.info?.workspace)}` : title;
}

/** @param {string} title @param {...any} children */
function section(title, ...children) {
  return h("section", { class: "event-section" }, h("h3", null, title), ...children);
}

/** @param {string} title @param {() => Node} make */
function collapsed(title, make) {
  const details = h(
    "details",
    { class: "event-section", ontoggle: () => details.open && details.children.length === 1 && details.append(make()) },
    h("summary", null, title),
  );
  return details;
}

/** Fields of the state that the page shows elsewhere. */
const STATE_SHOWN_ELSEWHERE = new Set(["session", "at", "title", "agent", "workspace", "last_at", "evicted"]);
const STATE_FIRST = [
  "lifecycle",
  "ended",
  "turn",
  "goal",
  "questions",
  "open_questions",
  "plan",
  "todos",
  "next",
  "pending_actions",
  "decisions_made",
  "branch",
  "commits",
  "pull_requests",
  "references",
  "checks",
  "uncommitted",
  "uncommitted_as_of",
  "notes",
  "facts",
  "files_modified",
  "evicted_keys",
];

let stateOpen = false; // stays open from one event to the next

/** <fm-session-state>: the state of the session right after an event. Loaded when it is opened. */
class SessionState extends HTMLElement {
  session = "";
  at = 0;

  connectedCallback() {
    if (this.details) return;
    this.body = h("div");
    this.details = h(
      "details",
      { class: "event-section", open: stateOpen, ontoggle: () => this.toggled() },
      h("summary", null, "State after this event"),
      this.body,
    );
    fill(this, this.details);
    if (stateOpen) void this.load(); // the toggle event comes later
  }

  toggled() {
    stateOpen = Boolean(this.details?.open);
    if (stateOpen) void this.load();
  }

  async load() {
    const body = /** @type {HTMLElement} */ (this.body);
    if (body.childElementCount || this.hasAttribute("aria-busy")) return;
    this.setAttribute("aria-busy", "true");
    try {
      const state = await api.get(`sessions/${encodeURIComponent(this.session)}/state`, { at: this.at });
      const rest = Object.keys(state).filter((name) => !STATE_FIRST.includes(name) && !STATE_SHOWN_ELSEWHERE.has(name));
      fill(
        body,
        overview(
          Object.fromEntries([...STATE_FIRST, ...rest].filter((name) => name in state).map((name) => [name, state[name]])),
        ),
      );
    } catch (error) {
      fill(body, h("p", { class: "note bad" }, /** @type {any} */ (error).message));
    } finally {
      this.removeAttribute("aria-busy");
    }
  }
}

customElements.define("fm-event-panel", EventPanel);
customElements.define("fm-session-state", SessionState);
