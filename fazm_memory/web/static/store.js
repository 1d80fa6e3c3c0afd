/**
 * What the panels of the timeline agree on: which session, which moment, which stretch of time, which filters.
 * A panel watches the names it draws from, and is told once after each change.
 */

/**
 * @typedef {object} Shared
 * @property {string|null} session id of the session that is shown
 * @property {any} info its record, once known
 * @property {number|null} seq the event looked at; null is now
 * @property {number|null} ms the moment looked at; null is now
 * @property {string|null} day the day the strip shows, as 2026-11-16
 * @property {{from: number, to: number}|null} span the stretch the lanes show; null until a day is known
 * @property {Record<string, string>} filters kind, tool, outcome, trust, file of the list
 * @property {{agent: string, workspace: string, outcome: string, lifecycle: string}} shelf filters of the sidebar
 * @property {boolean} live whether the list follows what is recorded
 * @property {boolean} connected
 */

/** @type {Shared} */
const state = {
  session: null,
  info: null,
  seq: null,
  ms: null,
  day: null,
  span: null,
  filters: {},
  shelf: { agent: "", workspace: "", outcome: "", lifecycle: "" },
  live: true,
  connected: true,
};

/** @typedef {keyof Shared} Name */

/** @type {Set<{names: Name[], call: (state: Shared) => void}>} */
const watchers = new Set();

export const store = {
  get state() {
    return state;
  },

  /** @param {Partial<Shared>} patch */
  set(patch) {
    const changed = new Set();
    for (const [name, value] of Object.entries(patch)) {
      if (/** @type {any} */ (state)[name] === value) continue;
      /** @type {any} */ (state)[name] = value;
      changed.add(name);
    }
    if (!changed.size) return;
    for (const watcher of [...watchers]) {
      if (watchers.has(watcher) && watcher.names.some((name) => changed.has(name))) watcher.call(state);
    }
  },

  /**
   * @param {Name[]} names
   * @param {(state: Shared) => void} call
   * @returns {() => void} ends it
   */
  watch(names, call) {
    const watcher = { names, call };
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  },
};
