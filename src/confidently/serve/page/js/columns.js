// What the columns of a file are: guessed from its first rows, then chosen by the user.

import { isNumber } from "./csv.js";

const LABELS = ["label", "labels", "class", "target"]; // names of columns that say what they are
const IDS = /^(id|_id|uuid|guid|index|.*_id)$/i;
const CLASS_LIMIT = 256; // characters of a label
const NUMBERS = 0.9; // of labels that are numbers

/** Return the columns of some rows: name, examples, kind ("number", "text", "category") and role.
 *  A column is taken for the label by its name only, never by its values. */
export function columnsOf(rows) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const columns = names.map((name) => describe(name, rows.filter((row) => name in row).map((row) => row[name])));
  const label = LABELS.map((name) => columns.find((one) => one.name.toLowerCase() === name)).find(Boolean);
  for (const one of columns) {
    one.role = one === label ? "label" : IDS.test(one.name) && one.distinct === rows.length ? "drop" : one.kind === "text" ? "text" : "feature";
  }
  return columns;
}

function describe(name, values) {
  const distinct = new Set(values.map((value) => JSON.stringify(value))).size;
  const strings = values.filter((value) => typeof value === "string");
  const numeric = strings.length > 0 && strings.every(isNumber);
  const words = strings.filter((value) => /\s/.test(value.trim())).length;
  const kind = strings.length < values.length || numeric ? "number" : words > strings.length / 2 ? "text" : "category";
  return { name, distinct, kind, numeric, examples: values.slice(0, 3) };
}

/** Return a function that makes {features, label} of a row; label is undefined if the row has none. */
export function converter(columns) {
  const label = columns.find((one) => one.role === "label")?.name;
  const dropped = new Set(columns.filter((one) => one.role === "drop" || one.role === "label").map((one) => one.name));
  const numeric = new Set(columns.filter((one) => one.numeric && one.role === "feature").map((one) => one.name));
  const value = (name, cell) => (numeric.has(name) && typeof cell === "string" && isNumber(cell) ? Number(cell) : cell);
  return (row) => {
    const features = {};
    for (const [name, cell] of Object.entries(row)) {
      if (!dropped.has(name) && cell !== null) features[name] = value(name, cell);
    }
    return { features, label: label === undefined ? undefined : labelOf(row[label]) };
  };
}

/** Return whether some labels are numbers, but for a few cells, which the server rejects. */
export function mostlyNumbers(labels) {
  const given = labels.filter((one) => one !== undefined && one !== null && one !== "").map(String);
  return given.length > 0 && given.filter(isNumber).length >= NUMBERS * given.length;
}

/** Return whether some labels are numbers with a fraction, as of a regression. */
export const areNumbers = (labels) => mostlyNumbers(labels)
  && labels.some((one) => isNumber(String(one ?? "")) && !Number.isInteger(Number(one)));

/** Return a label as the server takes it: integers as numbers; nothing for an empty cell. */
function labelOf(cell) {
  if (cell === undefined || cell === null || cell === "") return undefined;
  if (Array.isArray(cell) || typeof cell === "boolean" || Number.isInteger(cell)) return cell;
  const text = String(cell).trim();
  return /^-?(0|[1-9]\d{0,14})$/.test(text) ? Number(text) : text.slice(0, CLASS_LIMIT);
}

/** Return a name for a model of a file. */
export function modelName(file) {
  const name = file.replace(/\.[^.]*$/, "").replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "");
  return name.slice(0, 64) || "model";
}
