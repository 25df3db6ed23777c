// The parts of the labelling view: the row, the buttons of the classes, progress, help.

import { h, setText } from "./dom.js";
import { count, gained, labelText, number, percent, shown } from "./format.js";

const KEYS = "1234567890";
const LONG = 60; // characters from which a value is shown as a paragraph
const RATE_MS = 5 * 60_000;

/** Return the contents of the card of a row. */
export function rowCard(row, text, showGuess) {
  const entries = Object.entries(row.features);
  const isText = ([key, value]) => typeof value === "string" && (text.includes(key) || value.length > LONG);
  const prose = entries.filter(isText), facts = entries.filter((entry) => !isText(entry));
  return [
    h("p", { class: "row-id" }, h("span", { class: "id" }, row.id),
      row.again ? h("span", { class: "tag" }, "again") : null,
      showGuess && row.guess !== null ? h("span", { class: "tag" }, `guess: ${labelText(row.guess)}`) : null),
    prose.map(([key, value]) => h("div", { class: "prose" }, prose.length > 1 || facts.length ? h("h2", {}, key) : null, h("p", {}, value))),
    facts.length ? h("dl", { class: "facts" }, facts.map(([key, value]) => [h("dt", {}, key), h("dd", {}, shown(value))])) : null,
  ];
}

/** Return the buttons of the classes, with the keys that press them. */
export function choices({ classes, multilabel, open, choose, done, add }) {
  const buttons = classes.map((label, k) => h("button", {
    type: "button", class: "choice", "data-class": label, "aria-pressed": multilabel ? "false" : null, onclick: () => choose(label),
  }, h("span", { class: "choice-name" }, label), keysOf(k, classes.length).map((key) => h("kbd", { "aria-hidden": "true" }, key))));
  const input = h("input", { id: "new-class", maxlength: 256, autocomplete: "off", size: 12, placeholder: "New class" });
  const form = h("form", { class: "new-class" }, h("label", { for: "new-class", class: "visually-hidden" }, "New class"), input, h("button", { class: "quiet" }, "Add"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    add(input.value.trim());
  });
  return [
    classes.length ? null : h("p", { class: "muted" }, "This model has no classes yet. Name the class of this row:"),
    buttons,
    multilabel ? h("button", { type: "button", class: "primary", onclick: done }, "Done ", h("kbd", {}, "enter")) : null,
    open ? form : null,
  ];
}

function keysOf(k, n) {
  return [...(n === 2 ? [["a", "x"][k]] : []), ...(k < KEYS.length ? [KEYS[k]] : [])];
}

/** Return the panel of progress. */
export function progressPanel() {
  const answers = h("b"), waiting = h("b"), rate = h("b"), accuracy = h("b", { class: "big" }), interval = h("p", { class: "muted small" });
  const gain = h("p", { class: "small" });
  const range = h("div", { class: "range" }), middle = h("div", { class: "range-middle" });
  const bar = h("div", { class: "range-track", "aria-hidden": "true" }, range, middle);
  const element = h("div", {},
    h("dl", { class: "progress" },
      h("div", {}, h("dt", {}, "Answers"), h("dd", {}, answers)),
      h("div", {}, h("dt", {}, "Waiting"), h("dd", {}, waiting)),
      h("div", {}, h("dt", {}, "A minute"), h("dd", {}, rate))),
    h("h2", { class: "small-heading" }, "Accuracy on random rows"), accuracy, bar, interval,
    h("h2", { class: "small-heading" }, "Expected gain"), gain);

  function update(progress, times) {
    const { answers: n, accuracy: mean, interval: [low, high] } = progress.random;
    setText(answers, count(progress.answers));
    setText(waiting, count(progress.waiting));
    setText(rate, number(perMinute(times)));
    setText(accuracy, percent(mean, 0));
    setText(interval, n
      ? `95 % interval ${percent(low, 0)} to ${percent(high, 0)}, from ${count(n)} ${n === 1 ? "row" : "rows"} drawn at random. Rows the model was unsure about do not count.`
      : "Measured on the rows that are drawn at random, about one in seven. None has an answer yet.");
    setText(gain, progress.gain ? `${gained(progress.gain)}, if the learning curve goes on as before.`
      : "Shown once the error falls steadily.");
    range.style.left = `${100 * low}%`;
    range.style.width = `${100 * (high - low)}%`;
    middle.hidden = mean === null;
    middle.style.left = `${100 * (mean ?? 0)}%`;
  }

  return { element, update };
}

function perMinute(times) {
  const now = Date.now(), recent = times.filter((time) => time > now - RATE_MS);
  return recent.length < 2 ? recent.length : (recent.length - 1) / Math.max((now - recent[0]) / 60_000, 1 / 60);
}

/** Return the dialog that lists the keys. */
export function helpDialog() {
  const keys = [
    ["1 … 9, 0", "choose a class"], ["a, x", "the two classes, if there are two"], ["enter", "send the chosen labels, if a row has several"],
    ["space", "skip the row"], ["⌫", "undo; again for the answer before"], ["?", "this list"],
  ];
  const close = h("button", { type: "button", class: "primary" }, "Close");
  const dialog = h("dialog", { "aria-labelledby": "help-title" },
    h("h2", { id: "help-title" }, "Keys"),
    h("dl", { class: "keys" }, keys.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])),
    h("p", { class: "muted" }, "An answer is durable at once. The model learns it after five seconds or three further answers; until then undo leaves no trace, and later it is a correction."),
    close);
  close.addEventListener("click", () => dialog.close());
  return dialog;
}
