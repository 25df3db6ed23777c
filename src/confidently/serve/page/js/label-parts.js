// The parts of the labelling view: the row, the buttons of the classes, dialogs, help.

import { h } from "./dom.js";
import { labelText, number, percent, shown } from "./format.js";
import { underlined } from "./words.js";

const LONG = 60; // characters from which a value is shown as a paragraph
export const REASONS = ["I cannot tell", "No class fits", "Several classes fit", "The row is damaged"];

/** Return the contents of the card of a row.
 *  @param text the columns that are texts
 *  @param words what is underlined in each of them */
export function rowCard(row, text, words) {
  const entries = Object.entries(row.features);
  const isText = ([key, value]) => typeof value === "string" && (text.includes(key) || value.length > LONG);
  const prose = entries.filter(isText), facts = entries.filter((entry) => !isText(entry));
  return [
    row.again ? h("p", { class: "row-note" }, h("span", { class: "tag" }, "again")) : null,
    prose.map(([key, value]) => h("div", { class: "prose" },
      prose.length > 1 || facts.length ? h("h2", { dir: "auto" }, key) : null,
      h("p", { dir: "auto" }, underlined(value, words?.get(key))))),
    facts.length ? h("dl", { class: "facts" }, facts.map(([key, value]) => [h("dt", { dir: "auto" }, key), h("dd", { dir: "auto" }, shown(value))])) : null,
    entries.length ? null : h("p", { class: "muted" }, "This row has no columns."),
  ];
}

/** Return the buttons of classes: [{label, keys, probability, guessed, pressed}], a button each. */
export function choices(buttons, choose) {
  return buttons.map(({ label, keys, probability, guessed, pressed }) => h("button", {
    type: "button", class: guessed ? "choice guessed" : "choice", "data-class": label,
    "aria-pressed": pressed === undefined ? null : String(pressed), onclick: () => choose(label),
  }, h("span", { class: "choice-name", dir: "auto" }, label),
  probability === undefined ? null : h("span", { class: "chance" }, percent(probability, 0)),
  keys.map((key) => h("kbd", { "aria-hidden": "true" }, key)), guessed ? h("kbd", { "aria-hidden": "true" }, "enter") : null));
}

/** Return the field of a number: {element, input}.
 *  @param answer called with the number
 *  @param guess the number that an empty field stands for, or null */
export function numberField({ answer, guess }) {
  const input = h("input", {
    id: "number", inputmode: "decimal", autocomplete: "off", size: 14, placeholder: guess === null ? null : number(guess),
    "aria-describedby": "number-error",
  });
  const error = h("p", { id: "number-error", class: "error", role: "alert" });
  const element = h("form", { class: "number-form" },
    h("label", { for: "number" }, "Number"), input,
    h("button", { class: "primary" }, "Send ", h("kbd", { "aria-hidden": "true" }, "enter")),
    guess === null ? null : h("span", { class: "muted" }, `Guess: ${number(guess)}. An empty field accepts it.`), error);
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = input.value.trim().replace(",", ".").replace("−", "-");
    const value = text === "" && guess !== null ? guess : Number(text);
    if ((text === "" && guess === null) || !Number.isFinite(value)) {
      error.textContent = "Type a number, such as 12.5.";
      input.setAttribute("aria-invalid", "true");
    } else answer(value);
  });
  return { element, input };
}

/** Ask why a row is skipped; call ``skip`` with the reason. */
export function askForReason(page, skip) {
  const other = h("input", { id: "reason", maxlength: 200, autocomplete: "off", dir: "auto" });
  const buttons = REASONS.map((reason, k) => h("button", { type: "button", class: "quiet", onclick: () => finish(reason) },
    h("kbd", { "aria-hidden": "true" }, k + 1), " ", reason));
  const form = h("form", { class: "reasons" }, h("h2", { id: "reason-title" }, "Why is this row skipped?"), buttons,
    h("label", { for: "reason" }, "Another reason"), other,
    h("div", { class: "actions" }, h("button", { class: "primary" }, "Skip"), h("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Back")));
  const dialog = h("dialog", { "aria-labelledby": "reason-title" }, form);
  const finish = (reason) => { dialog.close(); skip(reason); };
  form.addEventListener("submit", (event) => { event.preventDefault(); finish(other.value.trim() || undefined); });
  dialog.addEventListener("keydown", (event) => {
    const reason = event.target === other ? undefined : REASONS[Number(event.key) - 1];
    if (reason) { event.preventDefault(); finish(reason); }
  });
  dialog.addEventListener("close", () => dialog.remove());
  page.append(dialog);
  dialog.showModal();
}

/** Return what is said of an answer: what the person and the model said. */
export function said(label, row, why) {
  const told = ["You: ", h("b", { dir: "auto" }, labelText(label))];
  if (row.second) return [...told, ". This row was asked about a second time; the model does not learn it again."];
  if (row.guess === null || row.guess === undefined) return [...told, " · Model: nothing yet"];
  const agrees = labelText(label) === labelText(row.guess), chance = row.top?.[0]?.probability;
  return [...told, " · Model: ", h("b", { class: agrees ? "agrees" : "differs", dir: "auto" }, labelText(row.guess)),
    chance !== undefined && !Array.isArray(row.guess) ? `, ${percent(chance, 0)} ` : " ", why];
}

/** Return the dialog that lists the keys. */
export function helpDialog() {
  const keys = [
    ["1 … 5", "the most probable classes, in the model's order; with ten classes or fewer, each has a key that stays"],
    ["6 … 0", "the classes that you choose most often, if there are many"],
    ["a, x", "the two classes, if there are two"], ["/", "find one of the classes, or add one"],
    ["enter", "accept the model's guess where it is shown; send the chosen labels, if a row has several"],
    ["space", "skip the row"], ["s", "skip it with a reason"], ["⌫", "undo; again for the answer before"],
    ["w", "underline the words that speak for the guess, or not"], ["↑ ↓", "scroll a long text"], ["?", "this list"],
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

/** Return the card of a queue without rows.
 *  @param address of predictions */
export function emptyCard(online, address) {
  return [
    h("h2", {}, online ? "Nothing to label" : "No more rows here"),
    h("p", {}, online
      ? "Rows appear here when they are predicted with an id and have no label yet:"
      : "More rows come when the server is back."),
    online ? h("pre", {}, `curl ${address} \\\n  -d '{"id": "row-1", "features": {"text": "..."}}'`) : null,
  ];
}
