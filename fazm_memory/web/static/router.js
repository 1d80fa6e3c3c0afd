/**
 * Going somewhere: the address is the one truth of what is shown.
 */

/**
 * @param {string} hash
 * @param {{replace?: boolean}} [options] replace: leave no trace in the history, as when walking a list
 */
export function go(hash, { replace = false } = {}) {
  if (location.hash === hash) return;
  if (!replace) {
    location.hash = hash;
    return;
  }
  history.replaceState(null, "", hash);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}
