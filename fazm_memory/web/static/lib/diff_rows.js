/**
 * Rows of a file difference: with line numbers, one below the other or side by side.
 */

/** @typedef {{op: string, text: string}} Line */
/** @typedef {{a: number|null, b: number|null, lines: Line[]}} Hunk */
/** @typedef {Line & {a: number|null, b: number|null}} DiffRow its line before and after; null: not there, or not known */

/** @param {Hunk} hunk @returns {DiffRow[]} */
export function numbered(hunk) {
  let { a, b } = hunk;
  return hunk.lines.map(({ op, text }) => ({
    op,
    text,
    a: op === "+" || a === null ? null : a++,
    b: op === "-" || b === null ? null : b++,
  }));
}

/**
 * Removed lines beside the added lines that replaced them.
 * @param {DiffRow[]} rows
 * @returns {{left: DiffRow|null, right: DiffRow|null}[]}
 */
export function sideBySide(rows) {
  /** @type {{left: DiffRow|null, right: DiffRow|null}[]} */
  const pairs = [];
  /** @type {DiffRow[]} */
  let removed = [];
  /** @type {DiffRow[]} */
  let added = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1)
      pairs.push({ left: removed[at] || null, right: added[at] || null });
    removed = [];
    added = [];
  };
  for (const row of rows) {
    if (row.op === "-") {
      if (added.length) flush();
      removed.push(row);
    } else if (row.op === "+") added.push(row);
    else {
      flush();
      pairs.push({ left: row, right: row });
    }
  }
  flush();
  return pairs;
}

/** How many lines were added and removed. @param {Hunk[]} hunks */
export function changedLines(hunks) {
  const count = (/** @type {string} */ op) => hunks.reduce((sum, hunk) => sum + hunk.lines.filter((line) => line.op === op).length, 0);
  return { added: count("+"), removed: count("-") };
}
