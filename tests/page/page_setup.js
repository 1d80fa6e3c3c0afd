// Runs before the scripts of the page. The clock continues from the evening of the story. Toasts and confirmations,
// which disappear after 8 or 1.8 seconds, stay: a busy machine may look later than any person.
const RealDate = Date;
const ahead = NOW_MS - RealDate.now();
window.Date = class extends RealDate {
  constructor(...args) {
    args.length ? super(...args) : super(RealDate.now() + ahead);
  }
  static now() {
    return RealDate.now() + ahead;
  }
};
const realTimeout = window.setTimeout;
window.setTimeout = (work, ms, ...args) =>
  realTimeout.call(window, work, [1800, 8000].includes(ms) ? 600000 : ms, ...args);
