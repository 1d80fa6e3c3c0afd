/**
 * Addresses of the page: `#/s/<id>@<seq>` is a moment of a session, `#/day/<date>` a day, `#/<view>?…` a screen.
 */

/**
 * @typedef {object} Route
 * @property {"timeline"|"view"} at
 * @property {string} view name of the screen when `at` is "view"
 * @property {string|null} session
 * @property {number|null} seq
 * @property {string|null} day
 * @property {Record<string, string>} params
 */

/**
 * @param {string} hash
 * @returns {Route}
 */
export function readRoute(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split("?", 2);
  /** @type {Route} */
  const route = { at: "timeline", view: "", session: null, seq: null, day: null, params: {} };
  route.params = Object.fromEntries(new URLSearchParams(query));
  const [, first = "", second = ""] = path.split("/");
  if (first === "s" && second) {
    const cut = second.lastIndexOf("@");
    const seq = cut < 0 ? NaN : Number(second.slice(cut + 1));
    route.session = plain(cut < 0 ? second : second.slice(0, cut));
    route.seq = Number.isSafeInteger(seq) && seq >= 0 ? seq : null;
  } else if (first === "day" && /^\d{4}-\d\d-\d\d$/.test(second)) {
    route.day = second;
  } else if (first && first !== "s" && first !== "day") {
    route.at = "view";
    route.view = first;
  }
  return route;
}

/** @param {string} text */
function plain(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * @param {string} session
 * @param {number|null} [seq]
 */
export function sessionHash(session, seq = null) {
  return `#/s/${encodeURIComponent(session)}${seq === null ? "" : `@${seq}`}`;
}

/** @param {string} day */
export const dayHash = (day) => `#/day/${day}`;
