/**
 * The one door to the back end. Every answer is JSON; every refusal becomes an ApiError that says in plain
 * words what happened, and what to do.
 */

const BASE = new URL("api/v1/", document.baseURI);
const POLL = 2000;
const SLOWEST = 30000;

/** What the back end, or the way to it, said no with. */
export class ApiError extends Error {
  /**
   * @param {{title?: string, message?: string, hint?: string|null, code?: string}} told
   * @param {number} status
   */
  constructor(told, status) {
    super(told.message || told.title || "The request failed.");
    this.name = "ApiError";
    this.title = told.title || "Something went wrong";
    this.hint = told.hint || "";
    this.code = told.code || "";
    this.status = status;
  }
}

const AWAY = {
  title: "Fazm Memory does not answer",
  message: "The page cannot reach it. What was recorded is kept on disk.",
  hint: "Run `fazm-memory timeline` and open the address it prints.",
  code: "unreachable",
};

const LOCKED = {
  title: "This page was opened for another run",
  message: "Fazm Memory was started again since. Nothing is lost, but the page needs a new key.",
  hint: "Run `fazm-memory timeline` and open the address it prints.",
  code: "locked",
};

/**
 * @param {string} path
 * @param {Record<string, unknown>} [params] left out when null, undefined or ""
 * @returns {URL}
 */
function address(path, params = {}) {
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
async function ask(url, options) {
  let answer;
  try {
    answer = await fetch(url, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(AWAY, 0);
  }
  if (answer.status === 401) throw new ApiError(LOCKED, answer.status);
  const text = await answer.text();
  let body = null;
  try {
    body = text ? JSON.parse(text) : null;
  } catch {
    throw new ApiError({ message: text.slice(0, 300), code: "text" }, answer.status);
  }
  if (!answer.ok) throw new ApiError(body?.error || {}, answer.status);
  return body;
}

export const api = {
  /**
   * @param {string} path below /api/v1/, such as "sessions"
   * @param {Record<string, unknown>} [params]
   * @param {{signal?: AbortSignal}} [options]
   */
  get(path, params, options = {}) {
    return ask(address(path, params), { headers: { Accept: "application/json" }, signal: options.signal });
  },

  /**
   * @param {string} path
   * @param {Record<string, unknown>} [body]
   */
  post(path, body = {}) {
    return ask(address(path), {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify(body),
    });
  },

  /**
   * Calls back with {cursor, sessions, kinds} whenever something was recorded, and tells `onState` whether the
   * line is up. Returns a function that ends it.
   * @param {(change: {cursor: string, sessions: string[], kinds: string[]}) => void} callback
   * @param {(connected: boolean) => void} [onState]
   * @returns {() => void}
   */
  changes(callback, onState = () => {}) {
    return location.protocol.startsWith("http") ? listen(callback, onState) : poll(callback, onState);
  },
};

/**
 * The browser's EventSource comes back by itself after a break, but gives up on a refusal: then begin anew.
 * @param {(change: any) => void} callback
 * @param {(connected: boolean) => void} onState
 */
function listen(callback, onState) {
  let source = /** @type {EventSource|null} */ (null);
  let timer = 0;
  let wait = POLL;
  const open = () => {
    source = new EventSource(address("changes"));
    source.onopen = () => {
      wait = POLL;
      onState(true);
    };
    source.onmessage = (event) => callback(JSON.parse(event.data));
    source.onerror = () => {
      onState(false);
      if (source?.readyState !== EventSource.CLOSED) return;
      timer = window.setTimeout(open, wait);
      wait = Math.min(wait * 2, SLOWEST);
    };
  };
  open();
  return () => {
    window.clearTimeout(timer);
    source?.close();
  };
}

/**
 * For a scheme without EventSource: ask again and again, slower while nobody looks or nobody answers.
 * @param {(change: any) => void} callback
 * @param {(connected: boolean) => void} onState
 */
function poll(callback, onState) {
  let after = "";
  let timer = 0;
  let wait = POLL;
  const turn = async () => {
    try {
      const change = await api.get("changes", { after, wait: 0 });
      if (after && change.cursor !== after) callback(change);
      after = change.cursor;
      wait = POLL;
      onState(true);
    } catch {
      onState(false);
      wait = Math.min(wait * 2, SLOWEST);
    }
    timer = window.setTimeout(turn, document.hidden ? Math.max(wait, 5 * POLL) : wait);
  };
  turn();
  return () => window.clearTimeout(timer);
}
