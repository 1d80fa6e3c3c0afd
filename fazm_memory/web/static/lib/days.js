/**
 * Local days: bounds, names, grouping.
 */

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = [
  "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
  "December",
]; // prettier-ignore
const DAY = 86_400_000;

/**
 * @param {number} ms
 * @returns {string} the local day, as 2026-11-16
 */
export function dayOf(ms) {
  const date = new Date(ms);
  const month = String(date.getMonth() + 1).padStart(2, "0");
  return `${date.getFullYear()}-${month}-${String(date.getDate()).padStart(2, "0")}`;
}

/**
 * Start and end of a local day, which is not always 24 hours long.
 * @param {string} day
 * @returns {{from: number, to: number}}
 */
export function dayBounds(day) {
  const [year, month, date] = day.split("-").map(Number);
  return { from: new Date(year, month - 1, date).getTime(), to: new Date(year, month - 1, date + 1).getTime() };
}

/**
 * @param {string} day
 * @param {number} count
 */
export function addDays(day, count) {
  const [year, month, date] = day.split("-").map(Number);
  return dayOf(new Date(year, month - 1, date + count, 12).getTime());
}

/**
 * @param {string} day
 * @param {string} today
 */
export function dayName(day, today) {
  const away = Math.round((utc(today) - utc(day)) / DAY);
  const date = new Date(utc(day));
  if (away === 0) return "Today";
  if (away === 1) return "Yesterday";
  if (away > 1 && away < 7) return WEEKDAYS[date.getUTCDay()];
  const short = `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`;
  return day.slice(0, 4) === today.slice(0, 4) ? short : `${short} ${day.slice(0, 4)}`;
}

/** A day in a few letters: Sat 14 Feb. @param {string} day */
export function shortDay(day) {
  const date = new Date(utc(day));
  return `${WEEKDAYS[date.getUTCDay()].slice(0, 3)} ${date.getUTCDate()} ${MONTHS[date.getUTCMonth()].slice(0, 3)}`;
}

/** @param {string} day */
const utc = (day) => Date.parse(`${day}T00:00:00Z`);

/**
 * @template {{day: string}} T
 * @param {T[]} items newest first
 * @returns {{day: string, items: T[]}[]}
 */
export function groupByDay(items) {
  /** @type {{day: string, items: T[]}[]} */
  const groups = [];
  for (const item of items) {
    const last = groups[groups.length - 1];
    if (last && last.day === item.day) last.items.push(item);
    else groups.push({ day: item.day, items: [item] });
  }
  return groups;
}
