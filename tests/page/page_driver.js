/**
 * Finds parts of the page by role and accessible name, and waits for them. Injected before the scripts of the page.
 * Clicks and keys come from the browser's own input; see window.py.
 */
window.driver = (() => {
  const TIMEOUT_MS = 60000; // a busy machine is slow, a failing test is rare
  const INTERVAL_MS = 40;
  const INPUTS = { checkbox: "checkbox", radio: "radio", search: "searchbox", number: "spinbutton", button: "button" };
  const TAGS = {
    BUTTON: "button", SELECT: "combobox", TEXTAREA: "textbox", DIALOG: "dialog", LI: "listitem", TR: "row",
    SUMMARY: "summary", MAIN: "main", NAV: "navigation", ASIDE: "complementary",
  };
  const CONTENT = new Set(["button", "link", "heading", "option", "menuitem", "row", "listitem", "summary", "alert"]);
  const plain = (text) => (text || "").replace(/\s+/g, " ").trim();

  function roleOf(element) {
    const role = element.getAttribute("role");
    if (role) return role;
    const { tagName } = element;
    if (tagName === "INPUT") return INPUTS[element.type] || "textbox";
    if (tagName === "A") return element.hasAttribute("href") ? "link" : "";
    if (/^H[1-6]$/.test(tagName)) return "heading";
    if (tagName === "SECTION") return element.matches("[aria-label], [aria-labelledby]") ? "region" : "";
    return TAGS[tagName] || "";
  }

  /** The text of an element without the fields in it. */
  function textWithoutFields(element) {
    const copy = element.cloneNode(true);
    for (const field of copy.querySelectorAll("input, select, textarea, [aria-hidden=true]")) field.remove();
    return plain(copy.textContent);
  }

  function nameOf(element) {
    const by = element.getAttribute("aria-labelledby");
    if (by) return plain(by.split(/\s+/).map((id) => document.getElementById(id)?.textContent || "").join(" "));
    if (element.hasAttribute("aria-label")) return plain(element.getAttribute("aria-label"));
    if (element.labels?.length) return plain([...element.labels].map(textWithoutFields).join(" "));
    return CONTENT.has(roleOf(element)) ? textWithoutFields(element) : plain(element.title || element.placeholder);
  }

  const isVisible = (element) => element.getClientRects().length > 0 && !element.closest("[inert], [aria-hidden=true]");
  const matches = (text, { text: wanted, pattern }) => (pattern ? new RegExp(wanted).test(text) : text === wanted);

  /** The page, or the open dialog. */
  function rootOf(within) {
    const open = [...document.querySelectorAll("dialog[open]")].pop() || document.body;
    return within ? all(within, open)[0] : open;
  }

  function all({ role, name, within }, root = rootOf(within)) {
    if (!root) return [];
    return [root, ...root.querySelectorAll("*")].filter(
      (each) => roleOf(each) === role && (!name || matches(nameOf(each), name)) && isVisible(each),
    );
  }

  /** What was expected, and what is there instead. */
  function missing(wanted) {
    const { role, name, within } = wanted;
    const wantedText = `${role} ${name ? JSON.stringify(name.text) : ""}${within ? ` in ${within.role} “${within.name?.text || ""}”` : ""}`;
    const root = rootOf(within);
    if (!root) return `no ${wantedText}: its container is not there either (${location.hash})`;
    const there = all({ role }, root).map(nameOf);
    return `no ${wantedText} at ${location.hash}; there are ${JSON.stringify(there.slice(0, 40))}`;
  }

  async function until(ask, complain) {
    const end = performance.now() + TIMEOUT_MS;
    for (;;) {
      const found = ask();
      if (found) return found;
      if (performance.now() > end) throw new Error(complain());
      await new Promise((next) => setTimeout(next, INTERVAL_MS));
    }
  }

  const one = (wanted) => until(() => all(wanted)[0], () => missing(wanted));

  // The part to click, and whether the click hit it: the page may move or redraw in between.
  let target = null;
  let targetHit = false;
  const includes = (element, clicked) => element.contains(clicked) || element.labels?.[0]?.contains(clicked);
  const noteHit = ({ target: clicked }) => (targetHit = Boolean(target && all(target).some((each) => includes(each, clicked))));
  window.addEventListener("click", noteHit, true);

  /** The middle of a part, once it does not move and is not covered. */
  async function point(wanted, across = 0.5) {
    target = wanted;
    targetHit = false;
    let why = "";
    let covered = false;
    let before = "";
    const complain = () => why || missing(wanted);
    return until(() => {
      if (document.querySelector("dialog[open] [aria-busy=true]")) return null; // it will grow and move its buttons
      const element = all(wanted)[0];
      why = element?.disabled ? `${wanted.role} “${nameOf(element)}” is disabled` : "";
      if (!element || element.disabled) return null;
      element.scrollIntoView({ block: covered ? "center" : "nearest" }); // a fixed heading may cover the edge
      const box = element.getBoundingClientRect();
      const x = across === 1 ? box.right - 1 : box.left + box.width * across;
      const y = box.top + box.height / 2;
      const hit = document.elementFromPoint(x, y);
      const label = element.labels?.[0];
      const still = before === `${x} ${y}`;
      before = `${x} ${y}`;
      if (hit && (element.contains(hit) || label?.contains(hit))) return still ? [x, y] : null;
      covered = true;
      why = `${wanted.role} “${nameOf(element)}” at ${x}, ${y} is covered by ${hit?.outerHTML.slice(0, 200)}`;
      return null;
    }, complain);
  }

  const valueOf = (element, what) =>
    what in element && !what.startsWith("aria-") ? String(element[what]) : element.getAttribute(what) || "";

  /** Wait for the value of an attribute or property. */
  async function has(wanted, what, value) {
    let last = null;
    return until(
      () => {
        const element = all(wanted)[0];
        last = element ? valueOf(element, what) : null;
        return last !== null && matches(last, value) ? { is: last } : null;
      },
      () => (last === null ? missing(wanted) : `${what} of ${wanted.role} is ${JSON.stringify(last)}, not ${value.text}`),
    );
  }

  function textOf(within) {
    return plain(rootOf(within)?.innerText);
  }

  async function says(wanted, within) {
    const { text, pattern } = wanted;
    const low = text.toLowerCase(); // a style may capitalize it
    const found = () => (pattern ? new RegExp(text, "i").test(textOf(within)) : textOf(within).toLowerCase().includes(low));
    await until(found, () => `${JSON.stringify(wanted.text)} is not shown; shown is: ${textOf(within).slice(0, 3000)}`);
  }

  async function gone(wanted) {
    await until(() => !all(wanted).length, () => `${wanted.role} ${wanted.name?.text} is still there`);
  }

  async function silent(text, within) {
    await until(() => !textOf(within).includes(text), () => `${JSON.stringify(text)} is still shown`);
  }

  async function count(wanted, number) {
    const complain = () => `not ${number} but: ${JSON.stringify(all(wanted).map(nameOf))}`;
    await until(() => all(wanted).length === number, complain);
  }

  /** Set the value of a field or a select. */
  async function fill(wanted, value) {
    const field = await one(wanted);
    field.focus();
    if (field.tagName === "SELECT") {
      const choices = [...field.options];
      const chosen = choices.find((each) => each.value === value) || choices.find((each) => plain(each.text) === value);
      if (!chosen) throw new Error(`no choice ${value} in ${nameOf(field)}: ${choices.map((each) => each.text)}`);
      field.value = chosen.value;
    } else field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.dispatchEvent(new Event("change", { bubbles: true }));
    document.activeElement?.blur(); // the next key goes to the page
  }

  async function focus(wanted) {
    (await one(wanted)).focus();
  }

  /** Scroll to a row of the event list, which has only visible rows in the document. */
  async function row(pattern) {
    const list = await one({ role: "listbox", name: { text: "Events" } });
    const wanted = { role: "option", name: { text: pattern, pattern: true } };
    list.scrollTop = 0;
    await until(() => all({ role: "option" }, list).length, () => "the list has no rows");
    return until(
      () => {
        const found = all(wanted, list)[0];
        if (found) {
          found.scrollIntoView({ block: "center" });
          return nameOf(found);
        }
        const end = list.scrollTop + list.clientHeight >= list.scrollHeight - 1;
        list.scrollTop = end ? 0 : list.scrollTop + list.clientHeight / 2;
        return null;
      },
      () => missing(wanted),
    );
  }

  /** Go to a route and wait until it is loaded. */
  async function go(hash) {
    document.activeElement?.blur();
    for (const left of document.querySelectorAll("dialog[open]")) left.close(); // left by a failed test
    for (const old of all({ role: "button", name: { text: "Dismiss" } })) old.click(); // toasts of earlier commands
    const before = location.href;
    const heard = new Promise((next) => window.addEventListener("hashchange", next, { once: true }));
    location.hash = hash;
    if (location.href !== before) await heard; // the page has started to load
    await calm();
  }

  async function calm() {
    const busy = () => [...document.querySelectorAll("[aria-busy=true]")].filter(isVisible);
    await until(() => document.querySelector("fm-app") && !busy().length, () => `busy: ${busy().map((each) => each.tagName)}`);
  }

  const becomes = (ask) => until(ask, () => `never true: ${ask}`);

  /** Wait until the page has the size and the preferences of its window. */
  async function looks({ width, height, zoom, dark, still }) {
    const actual = () => [innerWidth, innerHeight, ...["color-scheme: dark", "reduced-motion: reduce"].map((preference) => matchMedia(`(prefers-${preference})`).matches)];
    const wanted = [Math.round(width / zoom), Math.round(height / zoom), dark, still];
    await until(() => `${actual()}` === `${wanted}`, () => `the page is ${actual()}, not ${wanted}`);
    await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
  }

  const received = { mouseup: 0, keyup: 0, wheel: 0 };
  for (const kind of Object.keys(received)) window.addEventListener(kind, () => (received[kind] += 1), { capture: true, passive: true });

  /** Wait until input events have reached the page. */
  async function heard(kind, times) {
    await until(() => received[kind] >= times, () => `the page received ${received[kind]} ${kind}, not ${times}`);
    received[kind] -= times;
  }

  return { heard, hit: async () => targetHit, one: async (wanted) => nameOf(await one(wanted)), point, has, says, gone, silent, count, fill, focus, row, go, calm, looks, becomes };
})();
