// The settings of a model that forms ask for.

import { h } from "./dom.js";

const METHODS = [
  ["auto", "Automatic: mixes several learners"],
  ["vectors", "Automatic, on the vectors that wordllama makes of a text: for few labels"],
  ["arow", "AROW: one learner, fast"],
  ["cw_stdev", "CW, standard deviation: one learner, for little noise"],
];
const AUTOMATIC = { auto: { auto: true }, vectors: { auto: true, encoder: "wordllama" } };

/** Return a field for the name of a model. */
export function nameField(value = "") {
  const pattern = "[A-Za-z0-9][A-Za-z0-9._\\-]{0,63}";
  return h("input", { id: "name", required: true, maxlength: 64, pattern, title: "letters, digits, dots, hyphens", value });
}

/** Return a field for the way of learning. */
export function methodField() {
  return h("select", { id: "method" }, METHODS.map(([value, text]) => h("option", { value }, text)));
}

/** Return a labelled field. */
export const field = (text, control, hint) => h("div", { class: "field" }, h("label", { for: control.id }, text), control,
  hint ? h("p", { class: "muted small" }, hint) : null);

/** Return the parts of a list that is separated by commas. */
export const listOf = (text) => text.split(",").map((one) => one.trim()).filter(Boolean);

/** Return the settings of a model. */
export function settingsOf(method, classes, text, numbers = false) {
  const made = { ...(AUTOMATIC[method] ?? (numbers ? {} : { rule: method })) };
  if (numbers) made.task = "numbers"; // whose rule is another
  if (classes.length) made.classes = classes;
  if (text.length) made.reading = { text };
  return made;
}
