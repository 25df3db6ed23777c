// What an import will do, counted before anything is sent.

import { objects } from "./csv.js";
import { h } from "./dom.js";
import { count, counted, labelText } from "./format.js";

const MOST = 8; // classes that are named
const MANY = 0.5; // different labels per row, beyond which a column is hardly one of labels
const CHECKED = 20; // rows, before that is asked

/** Count the labels of a file.
 *  @param convert as of columns.js
 *  @param signal aborts the counting */
export async function countLabels(file, convert, signal) {
  const labels = new Map();
  let rows = 0, labelled = 0;
  for await (const some of objects(file)) {
    signal.throwIfAborted();
    for (const row of some) {
      const { label } = convert(row);
      rows += 1;
      if (label === undefined) continue;
      labelled += 1;
      for (const one of Array.isArray(label) ? label : [label]) labels.set(String(one), (labels.get(String(one)) ?? 0) + 1);
    }
  }
  return { rows, labelled, labels };
}

/** Return what an import will do, in a few lines.
 *  @param found what countLabels found
 *  @param name of the model
 *  @param model its facts, if it is there already
 *  @param label name of the column, or undefined
 *  @param numbers whether labels are numbers */
export function planOf(found, name, model, label, numbers) {
  const { rows, labelled, labels } = found, waiting = rows - labelled;
  const classes = [...labels].sort((a, b) => b[1] - a[1]);
  const added = model && !numbers ? classes.filter(([one]) => !model.classes.includes(one)) : [];
  const lines = [
    h("p", {}, model ? "Adds " : "Creates ", h("b", {}, name), model ? ", which has " : " and ", model ? `${counted(model.rows, "row")}: ` : "",
      labelled ? ["learns ", h("b", {}, counted(labelled, "row"))] : "", labelled && waiting ? "; " : "",
      waiting ? [h("b", {}, counted(waiting, "row")), " without a label wait for labels"] : "", "."),
  ];
  if (labelled && !numbers) {
    lines.push(h("p", {}, `${counted(classes.length, "class", "classes")} in ${label}: `, named(classes)));
    if (added.length) {
      lines.push(h("p", { class: model.open ? "warn" : "error" }, `${counted(added.length, "new class", "new classes")}${model.open ? "" : ", which the model rejects"}: `, named(added)));
    }
    if (labelled >= CHECKED && classes.length > MANY * labelled) {
      lines.push(h("p", { class: "warn" }, `${count(classes.length)} different labels in ${counted(labelled, "row")}: is ${label} really the label?`));
    }
    if (!model && classes.length === 1) lines.push(h("p", { class: "warn" }, `All rows have the label ${labelText(classes[0][0])}; there is nothing to learn from them.`));
  }
  return lines;
}

function named(classes) {
  const rest = classes.length - MOST;
  return [classes.slice(0, MOST).map(([one, n], k) => [k ? ", " : "", h("b", { dir: "auto" }, one), ` ${count(n)}`]), rest > 0 ? `, and ${count(rest)} more` : ""];
}
