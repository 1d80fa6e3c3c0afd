/**
 * The screens of the page besides the timeline. A screen is a custom element; it registers under a name, and
 * the address `#/<name>?…` shows it with the parameters as its `params` property.
 */

/** @typedef {{name: string, tag: string, title: string, hidden: boolean}} View */

/** @type {Map<string, View>} */
const views = new Map();

/**
 * @param {string} name what stands in the address: "context"
 * @param {string} tag the custom element: "fm-context"
 * @param {string} title what people read: "Context"
 * @param {{hidden?: boolean}} [options] hidden: reached by address only, not listed in the sidebar
 */
export function registerView(name, tag, title, options = {}) {
  views.set(name, { name, tag, title, hidden: Boolean(options.hidden) });
  document.dispatchEvent(new CustomEvent("fm:views"));
}

/** @param {string} name */
export const viewNamed = (name) => views.get(name);

/** @returns {View[]} */
export const allViews = () => [...views.values()];

/**
 * Ask for a verb's dialog; `<fm-verbs>` answers.
 * @param {string} verb
 * @param {Record<string, unknown>} [detail] session, seq, …
 */
export function askVerb(verb, detail = {}) {
  document.dispatchEvent(new CustomEvent("fm:verb", { detail: { verb, ...detail } }));
}
