// What an import will do: the server is asked before anything is learned.

import { modelPath, request } from "./api.js";
import { mostlyNumbers } from "./columns.js";
import { objects } from "./csv.js";
import { h } from "./dom.js";
import { count, counted, labelText } from "./format.js";

const MOST = 4 << 20; // characters of rows that are tried; of a larger file, the first ones
const NAMED = 8; // classes and columns that are named
const WIDE = 40; // characters of a name
const PROBLEMS = 5; // that are shown
const MANY = 0.5; // different labels per row, beyond which a column is hardly one of labels
const CHECKED = 20; // rows, before that is asked
const VALUES = 30; // different numbers, from which on they are hardly classes
const ODD = {
  "unknown-field": "a column that no row had before", "text-for-number": "text where almost all rows had a number",
  "no-known-feature": "nothing that the model knows",
}; // new classes are named

/** Try the rows of a file; return what the server says of those with labels, how many have none, and whether the file
 *  has more rows.
 *  @param convert as of columns.js
 *  @param name of the model
 *  @param settings of a model that is not there yet, or null
 *  @param signal aborts it */
export async function tryRows(file, convert, name, settings, signal) {
  const { lines, numbers, waiting, hasMore } = await firstRows(file, convert, signal);
  const query = new URLSearchParams({ dry_run: true, ...(settings ? { settings: JSON.stringify(settings) } : {}) });
  const found = lines.length ? await request("POST", modelPath(name, `/learn?${query}`), lines.join("\n"), signal)
    : { rows: 0, good: 0, bad: [], labels: {}, n_classes: 0, new_classes: [], unknown_fields: [], guards: {} };
  return { ...found, bad: found.bad.map((one) => ({ ...one, row: numbers[one.line - 1] })), waiting, hasMore };
}

async function firstRows(file, convert, signal) {
  const lines = [], numbers = [];
  let number = 0, size = 0;
  for await (const some of objects(file)) {
    signal.throwIfAborted();
    for (const row of some) {
      if (size >= MOST) return { lines, numbers, waiting: number - lines.length, hasMore: true };
      const { features, label } = convert(row), line = JSON.stringify({ features, label });
      number += 1;
      size += line.length;
      if (label === undefined) continue;
      lines.push(line);
      numbers.push(number);
    }
  }
  return { lines, numbers, waiting: number - lines.length, hasMore: false };
}

/** Return what an import will do, in a few lines.
 *  @param found of tryRows
 *  @param name of the model
 *  @param model its facts, if it is there already
 *  @param label name of the column, or undefined
 *  @param numbers whether labels are numbers */
export function planOf(found, name, model, label, numbers) {
  const { rows, good, waiting } = found, classes = Object.entries(found.labels), n = found.n_classes;
  const first = found.hasMore ? `of the first ${counted(rows + waiting, "row")} ` : "";
  const lines = [
    h("p", {}, model ? "Adds to " : "Creates ", h("b", {}, name), model ? `, which has ${counted(model.rows, "row")}: ` : " and ", first,
      rows ? ["learns ", h("b", {}, counted(good, "row")), waiting ? "; " : ""] : "",
      waiting ? [h("b", {}, counted(waiting, "row")), " without a label wait for labels"] : "", "."),
  ];
  if (found.hasMore) lines.push(h("p", { class: "muted" }, "The file is too large to check as a whole. All of its rows will be sent."));
  if (good && !numbers) {
    lines.push(h("p", {}, `${counted(n, "class", "classes")} in ${label}: `, named(classes.map(([one, k]) => [one, ` ${count(k)}`]), n)));
    if (good >= CHECKED && n > MANY * good) {
      lines.push(h("p", { class: "warn" }, `${count(n)} different labels in ${counted(good, "row")}: is ${label} really the label?`));
    }
    if (!model && n >= VALUES && mostlyNumbers(classes.map(([one]) => one))) {
      lines.push(h("p", { class: "warn" }, `These classes look like numbers. To predict numbers, choose that the labels are "numbers to predict".`));
    }
    if (!model && n === 1) lines.push(h("p", { class: "warn" }, `All rows have the label ${labelText(classes[0][0])}; there is nothing to learn from them.`));
  }
  if (!model) return [...lines, rejected(found)];
  const added = found.new_classes;
  if (added.length) {
    lines.push(h("p", { class: "warn" }, `${counted(added.length, "new class", "new classes")}: `,
      named(added.map((one) => [one, found.labels[one] === undefined ? "" : ` ${count(found.labels[one])}`]), added.length)));
  }
  for (const [kind, told] of Object.entries(ODD)) {
    const many = found.guards[kind];
    if (!many) continue;
    lines.push(h("p", { class: "warn" }, `${counted(many, "row has", "rows have")} ${told}`,
      kind === "unknown-field" ? [": ", named(found.unknown_fields.map((one) => [one, ""]), found.unknown_fields.length)] : "", "."));
  }
  return [...lines, rejected(found)];
}

function rejected({ rows, good, bad }) {
  if (rows === good) return null;
  const shown = bad.slice(0, PROBLEMS), rest = rows - good - shown.length;
  return [h("p", { class: "error" }, `${counted(rows - good, "row")} will be rejected:`),
    h("ul", { class: "error" }, shown.map((one) => h("li", {}, `row ${count(one.row)}: ${one.detail}`)), rest > 0 ? h("li", {}, `${count(rest)} more`) : null)];
}

/** Return names with what follows each; n is how many there are. */
function named(names, n) {
  const rest = n - Math.min(names.length, NAMED);
  return [names.slice(0, NAMED).map(([one, more], k) => [k ? ", " : "", h("b", { dir: "auto" }, short(one)), more]), rest > 0 ? `, and ${count(rest)} more` : ""];
}

const short = (name) => (name.length > WIDE ? `${name.slice(0, WIDE)}…` : name);
