// The panel beside the rows: progress, accuracy, people and how far they agree.

import { h, fill, setText } from "./dom.js";
import { count, counted, gained, number, percent } from "./format.js";
import { NOBODY } from "./labeller.js";

const RATE_MS = 5 * 60_000;

/** Return the panel: {element, update(progress, times)}. */
export function progressPanel() {
  const answers = h("b"), waiting = h("b"), rate = h("b"), accuracy = h("b", { class: "big" }), interval = h("p", { class: "muted small" });
  const heading = h("h2", { class: "small-heading" });
  const gain = h("p", { class: "small" });
  const range = h("div", { class: "range" }), middle = h("div", { class: "range-middle" });
  const bar = h("div", { class: "range-track", "aria-hidden": "true" }, range, middle);
  const agreement = h("div", {}), people = h("div", {});
  const element = h("div", {},
    h("dl", { class: "progress" },
      h("div", {}, h("dt", {}, "Answers"), h("dd", {}, answers)),
      h("div", {}, h("dt", {}, "Waiting"), h("dd", {}, waiting)),
      h("div", {}, h("dt", {}, "Per minute"), h("dd", {}, rate))),
    heading, accuracy, bar, interval,
    agreement, people, gain);
  let drawn = "";

  function update(progress, times) {
    const { answers: n, accuracy: mean, interval: [low, high] = [0, 1], mae } = progress.random;
    const numbers = mae !== undefined;
    setText(heading, numbers ? "Mean absolute error on random rows" : "Accuracy on random rows");
    setText(answers, count(progress.answers));
    setText(waiting, count(progress.waiting));
    setText(rate, number(perMinute(times)));
    setText(accuracy, numbers ? number(mae) : percent(mean, 0));
    setText(interval, n && numbers ? `From ${counted(n, "row")} drawn at random, whose guesses are hidden.` : n
      ? `95 % interval ${percent(low, 0)} to ${percent(high, 0)}, from ${counted(n, "row")} drawn at random, whose guesses are hidden. Rows the model was unsure about do not count.`
      : "Measured on the rows that are drawn at random, about one in seven. None has an answer yet.");
    setText(gain, progress.gain ? `${gained(progress.gain)}, if the learning curve goes on as before.` : "");
    range.style.left = `${100 * low}%`;
    range.style.width = `${100 * (high - low)}%`;
    bar.hidden = !n || numbers;
    middle.style.left = `${100 * (mean ?? 0)}%`;
    const now = JSON.stringify([progress.agreement, progress.people]);
    if (now === drawn) return;
    drawn = now;
    fill(agreement, agreed(progress.agreement));
    fill(people, listed(progress.people));
  }

  return { element, update };
}

/** Return how far people agree with each other and with themselves, if any row was asked about twice. */
function agreed({ people, repeats }) {
  const told = [
    [people, "of rows that two people answered have the same label twice"],
    [repeats, "of rows that one person answered twice have the same label"],
  ].filter(([one]) => one.rows);
  if (!told.length) return null;
  return [h("h2", { class: "small-heading" }, "Agreement"), told.map(([one, text]) => h("p", { class: "small" },
    h("b", {}, percent(one.same / one.rows, 0)), ` ${text} (${count(one.same)} of ${count(one.rows)}).`,
    one.alpha === null ? null : ` Beyond chance: ${number(one.alpha)} (Krippendorff's alpha; 1 is perfect).`))];
}

/** Return who has answered how often, unless nobody has a name. */
function listed(people) {
  if (!people.some((one) => one.name !== NOBODY)) return null;
  return [h("h2", { class: "small-heading" }, "People"), h("ul", { class: "people" }, people.map((one) =>
    h("li", {}, h("span", { dir: "auto" }, one.name === NOBODY ? "without a name" : one.name), h("b", {}, count(one.answers)))))];
}

function perMinute(times) {
  const now = Date.now(), recent = times.filter((time) => time > now - RATE_MS);
  return recent.length < 2 ? recent.length : (recent.length - 1) / Math.max((now - recent[0]) / 60_000, 1 / 60);
}
