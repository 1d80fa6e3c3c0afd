/**
 * Finds the parts of the page as people and screen readers call them, by role and accessible name, and waits for
 * what is to come. Put into the page before its own scripts; webkit_view.py presses and types for real.
 */
window.driver = (() => {
  const PATIENCE = 15000; // a busy machine is slow, a broken page is slower
  const AGAIN = 40;
  const INPUTS = { checkbox: "checkbox", radio: "radio", search: "searchbox", number: "spinbutton", button: "button" };
  const TAGS = {
    BUTTON: "button", SELECT: "combobox", TEXTAREA: "textbox", DIALOG: "dialog", LI: "listitem", TR: "row",
    SUMMARY: "summary", MAIN: "main", NAV: "navigation",
  };
  const CONTENT = new Set(["button", "link", "heading", "option", "menuitem", "row", "listitem", "summary", "alert"]);
  const plain = (text) => (text || "").replace(/\s+/g, " ").trim();

  function roleOf(element) {
    const said = element.getAttribute("role");
    if (said) return said;
    const { tagName } = element;
    if (tagName === "INPUT") return INPUTS[element.type] || "textbox";
    if (tagName === "A") return element.hasAttribute("href") ? "link" : "";
    if (/^H[1-6]$/.test(tagName)) return "heading";
    if (tagName === "SECTION") return element.matches("[aria-label], [aria-labelledby]") ? "region" : "";
    return TAGS[tagName] || "";
  }

  /** The words of an element without those of the fields in it. */
  function words(element) {
    const copy = element.cloneNode(true);
    for (const field of copy.querySelectorAll("input, select, textarea, [aria-hidden=true]")) field.remove();
    return plain(copy.textContent);
  }

  function nameOf(element) {
    const by = element.getAttribute("aria-labelledby");
    if (by) return plain(by.split(/\s+/).map((id) => document.getElementById(id)?.textContent || "").join(" "));
    if (element.hasAttribute("aria-label")) return plain(element.getAttribute("aria-label"));
    if (element.labels?.length) return plain([...element.labels].map(words).join(" "));
    return CONTENT.has(roleOf(element)) ? words(element) : plain(element.title || element.placeholder);
  }

  const seen = (element) => element.getClientRects().length > 0 && !element.closest("[inert], [aria-hidden=true]");
  const fits = (text, { text: wanted, pattern }) => (pattern ? new RegExp(wanted).test(text) : text === wanted);

  /** What can be worked with: all of the page, or the dialog that lies over it. */
  function rootOf(within) {
    const open = [...document.querySelectorAll("dialog[open]")].pop() || document.body;
    return within ? all(within, open)[0] : open;
  }

  function all({ role, name, within }, root = rootOf(within)) {
    if (!root) return [];
    return [root, ...root.querySelectorAll("*")].filter(
      (one) => roleOf(one) === role && (!name || fits(nameOf(one), name)) && seen(one),
    );
  }

  /** What was looked for, and what is there instead. */
  function missing(wanted) {
    const { role, name, within } = wanted;
    const said = `${role} ${name ? JSON.stringify(name.text) : ""}${within ? ` in ${within.role} “${within.name?.text || ""}”` : ""}`;
    const root = rootOf(within);
    if (!root) return `no ${said}: what it is looked for in is not there either (${location.hash})`;
    const there = all({ role }, root).map(nameOf);
    return `no ${said} at ${location.hash}; there are ${JSON.stringify(there.slice(0, 40))}`;
  }

  async function until(ask, complain) {
    const end = performance.now() + PATIENCE;
    for (;;) {
      const found = ask();
      if (found) return found;
      if (performance.now() > end) throw new Error(complain());
      await new Promise((next) => setTimeout(next, AGAIN));
    }
  }

  const one = (wanted) => until(() => all(wanted)[0], () => missing(wanted));

  // What a hand aims at, and whether it met that: the page may move between the two.
  let aimed = null;
  let met_it = false;
  const holding = (element, target) => element.contains(target) || element.labels?.[0]?.contains(target);
  window.addEventListener("mousedown", ({ target }) => (met_it = Boolean(aimed && all(aimed).some((each) => holding(each, target)))), true);

  /** Where to press: the middle of the part, which must not be covered by another. */
  async function point(wanted, across = 0.5) {
    aimed = wanted;
    let why = "";
    let covered = false;
    let before = ""; // what still moves, as more is read above it, would be missed
    const complain = () => why || missing(wanted);
    return until(() => {
      if (document.querySelector("dialog[open] [aria-busy=true]")) return null; // it will grow, and its buttons move
      const element = all(wanted)[0];
      why = element?.disabled ? `${wanted.role} “${nameOf(element)}” is disabled` : "";
      if (!element || element.disabled) return null;
      element.scrollIntoView({ block: covered ? "center" : "nearest" }); // a head that stays may cover the edge
      const box = element.getBoundingClientRect();
      const x = across === 1 ? box.right - 1 : box.left + box.width * across;
      const y = box.top + box.height / 2;
      const hit = document.elementFromPoint(x, y);
      const label = element.labels?.[0];
      const stood = before === `${x} ${y}`;
      before = `${x} ${y}`;
      if (hit && (element.contains(hit) || label?.contains(hit))) return stood ? [x, y] : null;
      covered = true;
      why = `${wanted.role} “${nameOf(element)}” at ${x}, ${y} is covered by ${hit?.outerHTML.slice(0, 200)}`;
      return null;
    }, complain);
  }

  const valueOf = (element, what) =>
    what in element && !what.startsWith("aria-") ? String(element[what]) : element.getAttribute(what) || "";

  /** Until an attribute or a property is as wanted; gives what it is then. */
  async function holds(wanted, what, value) {
    let last = null;
    return until(
      () => {
        const element = all(wanted)[0];
        last = element ? valueOf(element, what) : null;
        return last !== null && fits(last, value) ? { is: last } : null;
      },
      () => (last === null ? missing(wanted) : `${what} of ${wanted.role} is ${JSON.stringify(last)}, not ${value.text}`),
    );
  }

  function textOf(within) {
    return plain(rootOf(within)?.innerText);
  }

  async function says(wanted, within) {
    const { text, pattern } = wanted;
    const low = text.toLowerCase(); // a style may have put it in capitals
    const found = () => (pattern ? new RegExp(text, "i").test(textOf(within)) : textOf(within).toLowerCase().includes(low));
    await until(found, () => `${JSON.stringify(wanted.text)} is not said; said is: ${textOf(within).slice(0, 3000)}`);
  }

  async function gone(wanted) {
    await until(() => !all(wanted).length, () => `${wanted.role} ${wanted.name?.text} is still there`);
  }

  async function unsaid(text, within) {
    await until(() => !textOf(within).includes(text), () => `${JSON.stringify(text)} is still said`);
  }

  async function count(wanted, number) {
    const complain = () => `not ${number} but: ${JSON.stringify(all(wanted).map(nameOf))}`;
    await until(() => all(wanted).length === number, complain);
  }

  /** Type over what a field holds, or choose from a list. */
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
    document.activeElement?.blur(); // of the field, or of the one drawn in its place: the next key is the page's
  }

  async function focus(wanted) {
    (await one(wanted)).focus();
  }

  /** A row of the list, which has only those in the document that are near: scrolled to, from the top. */
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

  /** Go to an address of the page, and wait until it has read what it shows. */
  async function go(hash) {
    document.activeElement?.blur();
    for (const left of document.querySelectorAll("dialog[open]")) left.close(); // by a test that failed
    for (const old of all({ role: "button", name: { text: "Dismiss" } })) old.click(); // what was done before is read
    const before = location.href;
    const heard = new Promise((next) => window.addEventListener("hashchange", next, { once: true }));
    location.hash = hash;
    if (location.href !== before) await heard; // the page, which listened first, has begun to read
    await calm();
  }

  async function calm() {
    const busy = () => [...document.querySelectorAll("[aria-busy=true]")].filter(seen);
    await until(() => document.querySelector("fm-app") && !busy().length, () => `busy: ${busy().map((each) => each.tagName)}`);
  }

  const becomes = (ask) => until(ask, () => `it never came to be: ${ask}`);

  /** Until the page has what it was told of its window and of the system's wishes. */
  async function looks({ width, height, zoom, dark, still }) {
    const said = () => [innerWidth, innerHeight, ...["color-scheme: dark", "reduced-motion: reduce"].map((wish) => matchMedia(`(prefers-${wish})`).matches)];
    const wanted = [Math.round(width / zoom), Math.round(height / zoom), dark, still];
    await until(() => `${said()}` === `${wanted}`, () => `the page is ${said()}, not ${wanted}`);
    await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
  }

  const met = { mouseup: 0, keyup: 0, wheel: 0 };
  for (const kind of Object.keys(met)) window.addEventListener(kind, () => (met[kind] += 1), { capture: true, passive: true });

  /** Until what a hand did has come to the page: it takes another way than these questions. */
  async function heard(kind, times) {
    await until(() => met[kind] >= times, () => `the page heard ${met[kind]} ${kind}, not ${times}`);
    met[kind] -= times;
  }

  return { heard, hit: async () => met_it, one: async (wanted) => nameOf(await one(wanted)), point, holds, says, gone, unsaid, count, fill, focus, row, go, calm, looks, becomes };
})();
