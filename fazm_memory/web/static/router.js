/**
 * Navigation. The address says what is shown: the timeline, or a screen that is registered here by name.
 */

/** @typedef {{name: string, tag: string, title: string, unlisted?: boolean}} Screen */

/** @type {Screen[]} */
export const screens = [
  { name: "overview", tag: "fm-overview", title: "Overview" },
  { name: "decisions", tag: "fm-decisions", title: "Decisions" },
  { name: "context", tag: "fm-context", title: "Context" },
  { name: "compare", tag: "fm-compare", title: "Compare" },
  { name: "settings", tag: "fm-settings", title: "Settings" },
  { name: "files", tag: "fm-files", title: "Files", unlisted: true },
  { name: "retries", tag: "fm-retries", title: "Retries", unlisted: true },
  { name: "setup", tag: "fm-setup", title: "Setup", unlisted: true },
];

/**
 * @param {string} hash
 * @param {{replace?: boolean}} [options] replace: add no entry to the browser history
 */
export function navigate(hash, { replace = false } = {}) {
  if (location.hash === hash) return;
  if (!replace) {
    location.hash = hash;
    return;
  }
  history.replaceState(null, "", hash);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

/**
 * Run a command; `<fm-commands>` handles it.
 * @param {string} command
 * @param {Record<string, unknown>} [detail] session, seq, …
 */
export function runCommand(command, detail = {}) {
  document.dispatchEvent(new CustomEvent("fm:command", { detail: { command, ...detail } }));
}
