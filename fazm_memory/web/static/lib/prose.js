/**
 * The structure of a message that was written in Markdown: blocks, and spans within a line. Only what agents write
 * all the time is recognised. Everything else stays text as it is.
 */

/** @typedef {{kind: "text"|"heading"|"item"|"code", text: string, level?: number, mark?: string}} Block */
/** @typedef {{kind: "plain"|"strong"|"code", text: string}} Span */

const FENCE = /^\s*(`{3,}|~{3,})/;
const HEADING = /^#{1,6}\s+(.+?)\s*#*$/;
const ITEM = /^(\s*)([-*+]|\d{1,3}[.)])\s+(.+)$/;
const TABLE = /^\s*\|.*\|\s*$/;

/**
 * @param {string} text
 * @returns {Block[]}
 */
export function blocks(text) {
  /** @type {Block[]} */
  const found = [];
  let fence = "";
  let open = false; // whether the next line continues the last block
  for (const line of text.split("\n")) {
    const last = found[found.length - 1];
    if (fence) {
      if (line.trim().startsWith(fence)) fence = "";
      else last.text += `${last.text || last.level ? "\n" : ""}${line}`;
      if (fence) last.level = 1; // has a line
      continue;
    }
    const begun = FENCE.exec(line);
    const heading = HEADING.exec(line);
    const item = ITEM.exec(line);
    if (begun) {
      fence = begun[1];
      found.push({ kind: "code", text: "" });
      open = false;
    } else if (!line.trim()) open = false;
    else if (TABLE.test(line)) {
      // A table is aligned by its spaces.
      if (open && last.kind === "code") last.text += `\n${line}`;
      else found.push({ kind: "code", text: line });
      open = true;
    } else if (heading) {
      found.push({ kind: "heading", text: heading[1] });
      open = false;
    } else if (item) {
      found.push({ kind: "item", text: item[3], level: Math.min(3, Math.floor(item[1].length / 2)), mark: item[2].length > 1 ? item[2] : "•" });
      open = true;
    } else if (open && last.kind !== "code") last.text += `\n${line.trim()}`;
    else {
      found.push({ kind: "text", text: line });
      open = true;
    }
  }
  return found;
}

/**
 * @param {string} text
 * @returns {Span[]}
 */
export function spans(text) {
  /** @type {Span[]} */
  const found = [];
  let from = 0;
  for (const match of text.matchAll(/`([^`\n]+)`|\*\*([^*\n]+)\*\*/g)) {
    if (match.index > from) found.push({ kind: "plain", text: text.slice(from, match.index) });
    found.push(match[1] === undefined ? { kind: "strong", text: match[2] } : { kind: "code", text: match[1] });
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ kind: "plain", text: text.slice(from) });
  return found;
}
