/**
 * The time that the page goes by. It is the server's clock, which `--now` can set, not the browser's.
 */

let offset = 0;

/** @returns {number} milliseconds */
export const now = () => Date.now() + offset;

/** Take the time of the server. @param {number} ms */
export function setNow(ms) {
  offset = ms - Date.now();
}
