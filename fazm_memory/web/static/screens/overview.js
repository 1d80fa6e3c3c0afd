/**
 * <fm-overview>: the first screen: the totals of the latest day, and the threads of the handover with what is open.
 */

import { api } from "../api.js";
import { now } from "../clock.js";
import { h, withCommands } from "../dom.js";
import { icon } from "../icons.js";
import { addDays, dayName, dayOf, shortDay } from "../lib/days.js";
import { clock, dollars, plural } from "../lib/format.js";
import { sessionHash } from "../lib/route.js";
import { runCommand } from "../router.js";
import { Screen } from "./screen.js";

const MAX_ITEMS = 3; // shown before the rest is folded
/** @type {Intl.NumberFormatOptions} */
const SHORT = { notation: "compact", maximumFractionDigits: 1 };

class OverviewScreen extends Screen {
  heading = "Overview";
  about = "What was done last, and what is open.";
  /** @type {string|null} */
  open = null;

  async draw() {
    const { threads, totals, importing } = await api.get("overview");
    if (importing) return [importCard(importing, (await api.get("sessions", { limit: 10 })).items)];
    if (!totals) return [emptyBlock()];
    const [week, { items: sessions }] = await Promise.all([api.get("days", { limit: 7 }), api.get("sessions", { limit: 50 })]);
    void this.countOpen();
    const titles = new Map(sessions.map((/** @type {any} */ { id, title }) => [id, title]));
    return [
      awayStrip(sessions),
      weekStrip(week.items, totals),
      dayCard(totals, this.open),
      ...threads.map((/** @type {any} */ thread) => threadCard(thread, titles)),
    ];
  }

  /** How many points the next screen shows as open. It reads many sessions, so nothing waits for it. */
  async countOpen() {
    if (this.open !== null) return;
    try {
      const { items, next } = await api.get("points");
      const count = items.filter((/** @type {any} */ { state }) => state === "open").length;
      const where = `in ${next ? "the latest" : "all"} sessions`;
      this.open = count ? `${plural(count, "open point")} ${where}` : `Nothing is open ${where}`;
      const link = this.querySelector(".card-link");
      if (link) link.replaceWith(openPoints(this.open));
    } catch {
      // The link leads to the screen that shows the error.
    }
  }
}

const emptyBlock = () =>
  h(
    "div",
    { class: "empty" },
    h("h2", null, "Nothing recorded yet"),
    h(
      "p",
      null,
      withCommands(
        "No agent has been active yet. Connect one with `fazm-memory connect`, or import older sessions with `fazm-memory import`.",
      ),
    ),
    h("a", { class: "btn", href: "#/settings" }, "Show agents"),
  );

/**
 * How far an import is, and what it has read so far.
 * @param {{read: number, total: number}} importing bytes @param {any[]} sessions
 */
function importCard({ read, total }, sessions) {
  const [done, all] = [read, total].map((bytes) => Math.round(bytes / 1e6));
  return h(
    "section",
    { class: "card thread", "aria-label": "Import" },
    h("h2", null, "Importing older sessions"),
    h("p", { role: "status" }, h("progress", { class: "import-progress", max: total, value: read, "aria-label": "Import" }), ` ${done} of ${all} MB`),
    h("p", { class: "note" }, "What is here already can be used. Totals and what is open follow at the end."),
    sessions.length
      ? [h("h3", null, "Read so far"), h("ul", null, sessions.map(({ id, title, last_ms: last }) =>
          h("li", { dir: "auto" }, h("a", { href: sessionHash(id) }, title || "Untitled session"), h("span", { class: "note" }, ` ${dayName(dayOf(last), dayOf(now()))}, ${clock(last)}`))))]
      : null,
  );
}

const LAST_VISIT = "fm.last-visit";
const AWAY_MS = 30 * 60_000; // shorter absences are not worth a word

/** When this browser last showed the page before now. Read once per page load. */
const lastVisit = (() => {
  try {
    document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && noteVisit());
    return Number(localStorage.getItem(LAST_VISIT)) || null;
  } catch {
    return null; // storage is switched off
  }
})();

/** Called once the server has said what time it is. */
function noteVisit() {
  try {
    localStorage.setItem(LAST_VISIT, String(now()));
  } catch {
    // storage is switched off: the page never says what happened meanwhile
  }
}

/** What happened since the last visit. @param {any[]} sessions latest first */
function awayStrip(sessions) {
  noteVisit();
  if (lastVisit === null || now() - lastVisit < AWAY_MS) return null;
  const active = sessions.filter(({ last_ms: last }) => last > lastVisit);
  const waiting = active.filter(({ open_questions: questions }) => questions).length;
  const since = `${dayName(dayOf(lastVisit), dayOf(now()))}, ${clock(lastVisit)}`;
  if (!active.length) return h("p", { class: "away" }, `Nothing happened while you were away (since ${since}).`);
  const links = active.slice(0, 5).flatMap(({ id, title }, index) => [
    index ? ", " : " ",
    h("a", { href: sessionHash(id) }, title || "untitled"),
  ]);
  return h(
    "p",
    { class: "away", dir: "auto" },
    h("strong", null, `While you were away (since ${since}): ${plural(active.length, "session")}.`),
    ...links,
    active.length > 5 ? " and more." : ".",
    waiting ? h("strong", null, ` ${waiting} of them ${waiting === 1 ? "waits" : "wait"} for your answer.`) : null,
  );
}

/** The last days on which anything happened. @param {any[]} days newest first @param {any} totals of the day shown */
function weekStrip(days, { day: shown, costs }) {
  const today = dayOf(now());
  const sum = Object.values(costs).reduce((/** @type {number} */ all, /** @type {number|null} */ usd) => all + (usd || 0), 0);
  return h(
    "nav",
    { "aria-label": "Latest days" },
    h(
      "ul",
      { class: "week" },
      [...days].reverse().map(({ day, sessions, failures }) =>
        h(
          "li",
          null,
          h(
            "a",
            { href: `#/day/${day}`, "aria-current": day === shown ? "date" : null },
            h("strong", null, day >= addDays(today, -1) ? dayName(day, today) : shortDay(day)),
            h("span", null, plural(sessions, "session")),
            h("span", { class: failures ? "" : "is-quiet" }, failures ? `${failures} failed` : "no failures"),
            costs[day] ? h("span", null, `$${costs[day].toFixed(2)}`) : null,
          ),
        ),
      ),
    ),
    sum ? h("p", { class: "note" }, `These seven days cost $${sum.toFixed(2)} where prices are known.`) : null,
  );
}

/** @param {any} totals @param {string|null} open what is open, once it is counted */
function dayCard(totals, open) {
  const name = dayName(totals.day, dayOf(now()));
  const minutes = totals.active_minutes;
  const number = (/** @type {number} */ count) => (count ? count.toLocaleString("en") : "");
  const short = (/** @type {number} */ count) => (count ? count.toLocaleString("en", SHORT) : "");
  /** @type {[string, string][]} */
  const facts = [
    ["active", minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`],
    [totals.sessions === 1 ? "session" : "sessions", String(totals.sessions)],
    ["actions", totals.actions.toLocaleString("en")],
    ["files changed", number(totals.files_changed ?? totals.files)],
    ["decisions", number(totals.decisions)],
    [failedText(totals), totals.failures.toLocaleString("en")],
    ["tokens", short(tokenCount(totals.cost))],
    ["cost", dollars(totals.cost)],
  ];
  return h(
    "section",
    { class: "card", "aria-label": `Totals: ${name}` },
    h("h2", null, h("a", { href: `#/day/${totals.day}` }, name), openPoints(open)),
    h("dl", { class: "totals" }, facts.filter(([, value]) => value).map(([term, value]) => h("div", null, h("dt", null, term), h("dd", null, value)))),
  );
}

/** A link to the open points; only text when there are none. @param {string|null} open null until they are counted */
const openPoints = (open) =>
  open?.startsWith("Nothing") ? h("span", { class: "card-link note" }, open) : h("a", { class: "card-link", href: "#/decisions" }, open || "All open points");

/** @param {any} totals */
function failedText({ failures, unresolved }) {
  if (!failures || unresolved === null) return "failed calls";
  return unresolved ? `failed, ${unresolved} unresolved` : "failed, all resolved";
}

/** Tokens in and out, without those from a cache. @param {any} cost */
const tokenCount = (cost) => (cost ? cost.input_tokens + cost.output_tokens : 0);

/** @param {any} thread @param {Map<string, string>} titles of the latest sessions */
function threadCard(thread, titles) {
  const { sessions } = thread;
  const goal = plainGoal(thread.goal);
  const asked = thread.asked.filter((/** @type {any} */ one) => plainGoal(one.text) !== goal);
  const latest = sessions[sessions.length - 1];
  return h(
    "section",
    { class: "card thread", "aria-label": goal },
    h("h2", { dir: "auto" }, h("a", { href: sessionHash(latest) }, goal)),
    h("p", { class: "note" }, factsLine(thread)),
    sessionsLine(sessions, titles, goal),
    part("Open", thread.open, goal),
    part("Done", thread.done, goal),
    part("Decided", thread.decisions, goal),
    part("Found", thread.failed, goal),
    part("Asked", asked, goal),
    h(
      "div",
      { class: "buttons" },
      h("button", { class: "btn", type: "button", "aria-label": `Resume: ${goal}`, onclick: () => runCommand("resume", { session: latest }) }, icon("resume"), "Resume"),
    ),
  );
}

/**
 * The sessions of a thread by the titles that they have elsewhere.
 * @param {string[]} sessions @param {Map<string, string>} titles @param {string} goal
 */
function sessionsLine(sessions, titles, goal) {
  const named = [...sessions].reverse().filter((id) => titles.has(id) && titles.get(id) !== goal);
  if (!named.length) return null;
  const links = named.slice(0, 4).flatMap((id, index) => [index ? ", " : "", h("a", { href: sessionHash(id) }, titles.get(id) || "Untitled session")]);
  return h("p", { class: "note thread-sessions", dir: "auto" }, named.length === 1 ? "Session: " : "Sessions: ", ...links, named.length > 4 ? ` and ${named.length - 4} more` : null);
}

/** The words of a request or a plan without quotes. @param {string} goal */
const plainGoal = (goal) => goal.replace(/^(?:plan )?"(.*)"$/s, "$1");

/** @param {any} thread */
function factsLine({ began, ended, branch, sessions, cost }) {
  const today = dayOf(now());
  const last = Date.parse(ended);
  const days = [Date.parse(began), last].map((ms) => dayName(dayOf(ms), today));
  const when = days[0] === days[1] ? `${days[1]}, ${clock(Date.parse(began))}–${clock(last)}` : `${days[0]} to ${days[1]}, ${clock(last)}`;
  const tokens = tokenCount(cost);
  return [when, branch, plural(sessions.length, "session"), tokens ? `${tokens.toLocaleString("en", SHORT)} tokens` : "", dollars(cost)]
    .filter(Boolean)
    .join(" · ");
}

/** @param {string} title @param {any[]} items @param {string} goal of the thread */
function part(title, items, goal) {
  if (!items.length) return null;
  const item = (/** @type {any} */ { text, session, seq }) => {
    const shown = text.replaceAll(" -> ", " → ");
    return h("li", { dir: "auto" }, session ? h("a", { href: sessionHash(session, seq) }, shown) : shown);
  };
  const rest = items.slice(MAX_ITEMS);
  return [
    h("h3", null, title),
    h("ul", null, items.slice(0, MAX_ITEMS).map(item)),
    rest.length
      ? h("details", null, h("summary", null, `${rest.length} more`, h("span", { class: "visually-hidden" }, ` ${title}: ${goal}`)), h("ul", null, rest.map(item)))
      : null,
  ];
}

customElements.define("fm-overview", OverviewScreen);
