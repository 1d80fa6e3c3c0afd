/**
 * Syntax colours: split a line of code into words, strings, comments and numbers. Knows families of languages, not
 * their grammars. A comment or string that goes on over lines is carried from line to line.
 */

/** @typedef {{line: string[], block: [string, string][], quotes: string[], words: Set<string>, caseless?: boolean}} Language */
/** @typedef {{kind: string, text: string}} Token kind: "", comment, string, number, word or name */

const words = (/** @type {string} */ text) => new Set(text.split(" "));

const C_WORDS =
  "break case catch class const continue default defer delete do else enum export extends extern final finally fn for " +
  "from func function go goto if impl implements import in instanceof interface let match mod mut namespace new " +
  "override package private protected pub public range return select self static struct super switch template this " +
  "throw throws trait try type typedef typeof union use using var void volatile where while yield async await chan map " +
  "int float double char bool boolean string byte long short unsigned true false nil null undefined guard extension";
const C = { line: ["//"], block: /** @type {[string, string][]} */ ([["/*", "*/"]]), quotes: ['"', "'", "`"], words: words(C_WORDS) };
const HASH_WORDS =
  "and as assert async await begin break case class continue def del do done elif else elsif end esac except export " +
  "False fi finally for from function global if import in is lambda local match module None nonlocal not or pass raise " +
  "require rescue return self set then True try unless until while with yield true false null nil echo";
const PYTHON_STRINGS = /** @type {[string, string][]} */ ([
  ['"""', '"""'],
  ["'''", "'''"],
]);
const HASH = { line: ["#"], block: /** @type {[string, string][]} */ ([]), quotes: ['"', "'"], words: words(HASH_WORDS) };
const SQL_WORDS =
  "add all alter and as asc begin between by case check column commit constraint create default delete desc distinct drop " +
  "else end exists foreign from group having if in index inner insert into is join key left like limit not null on or order " +
  "outer primary references rollback select set table then union unique update values view when where with";

/** @type {Record<string, Language>} */
const FAMILIES = {
  c: C,
  hash: HASH,
  python: { ...HASH, block: PYTHON_STRINGS },
  sql: { line: ["--"], block: C.block, quotes: ["'", '"'], words: words(SQL_WORDS), caseless: true },
  lua: { ...HASH, line: ["--"] },
  css: { line: [], block: C.block, quotes: ['"', "'"], words: words("important media import supports") },
  markup: { line: [], block: [["<!--", "-->"]], quotes: ['"', "'"], words: words("") },
  json: { line: [], block: [], quotes: ['"'], words: words("true false null") },
};

/** @type {Record<string, string>} */
const FAMILY_OF = {
  c: "c", h: "c", cc: "c", cpp: "c", hpp: "c", cs: "c", go: "c", java: "c", js: "c", jsx: "c", mjs: "c", cjs: "c", ts: "c",
  tsx: "c", kt: "c", rs: "c", swift: "c", m: "c", mm: "c", php: "c", scala: "c", dart: "c", proto: "c", zig: "c",
  py: "python", pyi: "python", rb: "hash", sh: "hash", bash: "hash", zsh: "hash", fish: "hash", pl: "hash", r: "hash",
  yaml: "hash", yml: "hash", toml: "hash", ini: "hash", cfg: "hash", conf: "hash", tf: "hash", mk: "hash", makefile: "hash",
  dockerfile: "hash", sql: "sql", lua: "lua", css: "css", scss: "css", less: "css", html: "markup", htm: "markup",
  xml: "markup", svg: "markup", vue: "markup", json: "json", jsonl: "json",
}; // prettier-ignore

const LONGEST = 2000; // characters of a line that is coloured

/** The language of a file by its name, or null. @param {string} path @returns {Language|null} */
export function languageOf(path) {
  const name = (path.split("/").pop() || "").toLowerCase();
  const family = FAMILY_OF[name.includes(".") ? name.slice(name.lastIndexOf(".") + 1) : name];
  return family ? FAMILIES[family] : null;
}

/**
 * The pieces of one line, and the end mark of a comment or string that goes on in the next one.
 * @param {string} text
 * @param {Language|null} language
 * @param {string} [open] the end mark that the line before left open
 * @returns {{tokens: Token[], open: string}}
 */
export function highlight(text, language, open = "") {
  if (!language || text.length > LONGEST) return { tokens: [{ kind: "", text }], open: "" };
  /** @type {Token[]} */
  const tokens = [];
  const add = (/** @type {string} */ kind, /** @type {string} */ piece) => {
    const last = tokens[tokens.length - 1];
    if (last && last.kind === kind) last.text += piece;
    else if (piece) tokens.push({ kind, text: piece });
  };
  let at = 0;
  if (open) {
    const end = text.indexOf(open);
    const kind = isQuote(open) ? "string" : "comment";
    if (end < 0) return { tokens: [{ kind, text }], open };
    at = end + open.length;
    add(kind, text.slice(0, at));
  }
  while (at < text.length) {
    const rest = text.slice(at);
    const found = piece(rest, language);
    add(found.kind, found.text);
    if (found.open) return { tokens, open: found.open };
    at += found.text.length;
  }
  return { tokens, open: "" };
}

/** @param {string} mark */
const isQuote = (mark) => mark === '"""' || mark === "'''";

/**
 * @param {string} rest
 * @param {Language} language
 * @returns {Token & {open?: string}}
 */
function piece(rest, language) {
  if (language.line.some((mark) => rest.startsWith(mark))) return { kind: "comment", text: rest };
  for (const [begin, end] of language.block) {
    if (!rest.startsWith(begin)) continue;
    const kind = isQuote(begin) ? "string" : "comment";
    const stop = rest.indexOf(end, begin.length);
    return stop < 0 ? { kind, text: rest, open: end } : { kind, text: rest.slice(0, stop + end.length) };
  }
  if (language.quotes.includes(rest[0])) return { kind: "string", text: quoted(rest) };
  const word = /^[A-Za-z_$][\w$]*/.exec(rest)?.[0];
  if (word) {
    if (language.words.has(language.caseless ? word.toLowerCase() : word)) return { kind: "word", text: word };
    return { kind: rest[word.length] === "(" ? "name" : "", text: word };
  }
  const number = /^\d[\w.]*/.exec(rest)?.[0];
  return number ? { kind: "number", text: number } : { kind: "", text: rest[0] };
}

/** A string to its end, or to the end of the line. @param {string} rest */
function quoted(rest) {
  for (let at = 1; at < rest.length; at += 1) {
    if (rest[at] === "\\") at += 1;
    else if (rest[at] === rest[0]) return rest.slice(0, at + 1);
  }
  return rest;
}
