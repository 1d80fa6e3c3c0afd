/**
 * Routes: `#/s/<id>@<seq>` is an event of a session (with `?then` seen from that moment; instead of the position a turn, a time or an event), `#/day/<date>` a day, `#/<screen>?…` another screen.
 */

/**
 * @typedef {object} Route
 * @property {string} screen "" for the timeline
 * @property {string|null} session
 * @property {number|null} seq
 * @property {string|null} moment another name of the event: "turn 3", "yesterday 16:00", a digest. The server knows its position
 * @property {boolean} then
 * @property {string|null} day
 * @property {Record<string, string>} params
 */

/**
 * @param {string} hash
 * @returns {Route}
 */
export function parseRoute(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split("?", 2);
  /** @type {Route} */
  const route = { screen: "", session: null, seq: null, moment: null, then: false, day: null, params: {} };
  route.params = Object.fromEntries(new URLSearchParams(query));
  const [, first = "", second = ""] = path.split("/");
  if (first === "s" && second) {
    const cut = second.lastIndexOf("@");
    const moment = cut < 0 ? "" : decode(second.slice(cut + 1));
    const seq = /^\d+$/.test(moment) ? Number(moment) : NaN;
    route.session = decode(cut < 0 ? second : second.slice(0, cut));
    route.seq = Number.isSafeInteger(seq) ? seq : null;
    route.moment = moment && route.seq === null ? moment : null;
    route.then = moment !== "" && "then" in route.params;
  } else if (first === "day" && /^\d{4}-\d\d-\d\d$/.test(second)) {
    route.day = second;
  } else if (first && first !== "s" && first !== "day") {
    route.screen = first;
  }
  return route;
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * @param {string} session
 * @param {number|null} [seq]
 * @param {boolean} [then] seen from that moment
 */
export function sessionHash(session, seq = null, then = false) {
  return `#/s/${encodeURIComponent(session)}${seq === null ? "" : `@${seq}${then ? "?then" : ""}`}`;
}

/** The address of a screen. @param {string} name @param {Record<string, string>} params those that are "" are left out */
export function screenHash(name, params) {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== ""));
  return `#/${name}?${query}`;
}

/** @param {string} day */
export const dayHash = (day) => `#/day/${day}`;
