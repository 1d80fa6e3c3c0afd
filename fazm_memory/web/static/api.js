/**
 * The client of the page's HTTP API. Every failure becomes an ApiError with a title, a message and a hint.
 */

import { setNow } from "./clock.js";

const BASE = new URL("api/v1/", document.baseURI);
const POLL_MS = 2000;
const MAX_WAIT_MS = 30000;
const EARLY_MS = 2000;

/** Answers that were asked for before they were needed, by address. Each is used once. @type {Map<string, Promise<any>>} */
const early = new Map();

export class ApiError extends Error {
  /**
   * @param {{title?: string, message?: string, hint?: string|null, code?: string}} error
   * @param {number} status
   */
  constructor(error, status) {
    super(error.message || error.title || "The request failed.");
    this.name = "ApiError";
    this.title = error.title || "Something went wrong";
    this.hint = error.hint || "";
    this.code = error.code || "";
    this.status = status;
  }
}

const UNREACHABLE = {
  title: "Cannot reach Fazm Memory",
  message: "The server does not respond. Everything recorded so far is on disk.",
  hint: "Run `fazm-memory timeline` and open the address it prints.",
  code: "unreachable",
};

const EXPIRED = {
  title: "This page has expired",
  message: "Fazm Memory was restarted. Nothing is lost, but the page needs a new key.",
  hint: "Run `fazm-memory timeline` and open the address it prints.",
  code: "locked",
};

/**
 * @param {string} path
 * @param {Record<string, unknown>} [params] omitted if null, undefined or ""
 * @returns {URL}
 */
function endpoint(path, params = {}) {
  const url = new URL(path.replace(/^\/+/, ""), BASE);
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(name, String(value));
  }
  return url;
}

/**
 * @param {URL} url
 * @param {RequestInit} options
 * @returns {Promise<any>}
 */
async function request(url, options) {
  let response;
  try {
    response = await fetch(url, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(UNREACHABLE, 0);
  }
  if (response.status === 401) throw new ApiError(EXPIRED, response.status);
  const at = Number(response.headers.get("x-fazm-now"));
  if (at) setNow(at);
  const text = await response.text();
  let body = null;
  try {
    body = text ? JSON.parse(text) : null;
  } catch {
    throw new ApiError({ message: text.slice(0, 300), code: "text" }, response.status);
  }
  if (!response.ok) throw new ApiError(body?.error || {}, response.status);
  return body;
}

export const api = {
  /**
   * @param {string} path below /api/v1/, such as "sessions"
   * @param {Record<string, unknown>} [params]
   * @param {{signal?: AbortSignal}} [options]
   */
  get(path, params, options = {}) {
    const url = endpoint(path, params);
    const known = early.get(url.href);
    if (known && early.delete(url.href)) return known;
    return request(url, { headers: { Accept: "application/json" }, signal: options.signal });
  },

  /** Ask now for what a `get` will need in a moment. @param {string} path */
  prefetch(path) {
    const url = endpoint(path);
    const answer = this.get(path);
    answer.catch(() => {}); // reported to whoever needs it
    early.set(url.href, answer);
    setTimeout(() => early.delete(url.href), EARLY_MS);
  },

  /**
   * @param {string} path
   * @param {Record<string, unknown>} [body]
   */
  post(path, body = {}) {
    return request(endpoint(path), {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify(body),
    });
  },

  /**
   * Subscribe to changes of the log. `onState` is called with whether the connection is up. The first message of a
   * connection says that everything may have changed: what was read before it may be older.
   * Returns a function that unsubscribes.
   * @param {(change: {cursor: string, sessions: string[], kinds: string[], all: boolean}) => void} callback
   * @param {(connected: boolean) => void} [onState]
   * @returns {() => void}
   */
  changes(callback, onState = () => {}) {
    return location.protocol.startsWith("http") ? listen(callback, onState) : poll(callback, onState);
  },
};

/**
 * EventSource reconnects after a lost connection but not after an error status, so reconnect here.
 * @param {(change: any) => void} callback
 * @param {(connected: boolean) => void} onState
 */
function listen(callback, onState) {
  let source = /** @type {EventSource|null} */ (null);
  let timer = 0;
  let wait = POLL_MS;
  const open = () => {
    let first = true;
    source = new EventSource(endpoint("changes"));
    source.onopen = () => {
      wait = POLL_MS;
      onState(true);
    };
    source.onmessage = (event) => {
      const change = JSON.parse(event.data);
      callback(first ? { ...change, all: true } : change);
      first = false;
    };
    source.onerror = () => {
      onState(false);
      if (source?.readyState !== EventSource.CLOSED) return;
      timer = window.setTimeout(open, wait);
      wait = Math.min(wait * 2, MAX_WAIT_MS);
    };
  };
  open();
  return () => {
    window.clearTimeout(timer);
    source?.close();
  };
}

/**
 * For a scheme without EventSource. Polls more slowly while the page is hidden or the server does not answer.
 * @param {(change: any) => void} callback
 * @param {(connected: boolean) => void} onState
 */
function poll(callback, onState) {
  let after = "";
  let timer = 0;
  let wait = POLL_MS;
  const check = async () => {
    try {
      const change = await api.get("changes", { after, wait: 0 });
      if (change.cursor !== after) callback(after ? change : { ...change, all: true });
      after = change.cursor;
      wait = POLL_MS;
      onState(true);
    } catch {
      onState(false);
      wait = Math.min(wait * 2, MAX_WAIT_MS);
    }
    timer = window.setTimeout(check, document.hidden ? Math.max(wait, 5 * POLL_MS) : wait);
  };
  check();
  return () => window.clearTimeout(timer);
}
