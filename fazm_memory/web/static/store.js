/**
 * State shared by the components: session, event, day, time range, filters.
 * A component watches the names that it draws, and is called once after each change.
 */

/**
 * @typedef {object} Shared
 * @property {string|null} session id of the session
 * @property {any} info its record, once loaded
 * @property {number|null} seq position of the selected event; null: none, the list is live
 * @property {number|null} ms time of the selected event
 * @property {boolean} then whether the page shows the past as it was at the selected event
 * @property {string|null} day the day of the day chart, as 2026-11-16
 * @property {{from: number, to: number}|null} range the time range of the lanes; null until a day is known
 * @property {Record<string, string>} filters kind, tool, outcome, trust, file of the list
 * @property {{agent: string, workspace: string, device: string, outcome: string, lifecycle: string}} sessionFilters filters of the sidebar
 * @property {boolean} live whether the list follows new events
 * @property {boolean} connected
 */

/** @type {Shared} */
const state = {
  session: null,
  info: null,
  seq: null,
  ms: null,
  then: false,
  day: null,
  range: null,
  filters: {},
  sessionFilters: { agent: "", workspace: "", device: "", outcome: "", lifecycle: "" },
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
   * @returns {() => void} stops watching
   */
  watch(names, call) {
    const watcher = { names, call };
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  },
};
