// Adding a model: a file is dropped, its columns are chosen, its rows are sent.

import { may, modelPath, request } from "./api.js";
import { areNumbers, columnsOf, converter, modelName } from "./columns.js";
import { objects } from "./csv.js";
import { fill, h, notify, setText } from "./dom.js";
import { count, counted, shown } from "./format.js";
import { upload } from "./upload.js";

const SAMPLE = 1000;
const ROLES = [["label", "Label"], ["feature", "Feature"], ["text", "Text"], ["drop", "Drop"]];
const METHODS = [
  ["auto", "Automatic: mixes several learners"],
  ["arow", "AROW: one learner, fast"],
  ["cw_stdev", "CW, standard deviation: one learner, for little noise"],
];
export const FILES = ".csv,.tsv,.jsonl,.ndjson,.json,.txt,.cw"; // that can be chosen
let handed = null; // a file that was dropped on another view

/** Let an element take a dropped file, and an input a chosen one; the view that adds models opens. */
export function acceptFile(zone, input, take = hand) {
  zone.addEventListener("dragover", (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    if (event.dataTransfer.files.length) take(event.dataTransfer.files[0]);
  });
  input.addEventListener("change", () => { if (input.files.length) take(input.files[0]); });
}

function hand(file) {
  handed = file;
  location.hash = "#/add";
}

/** Show the view; return a function that ends it. */
export function addView(page) {
  const body = h("div");
  const stop = new AbortController();
  fill(page, h("h1", {}, "Add a model"), body);
  if (!may("admin")) {
    fill(body, h("p", { class: "notice bad" }, "Adding a model needs a token with the scope admin."));
    return () => {};
  }
  const choose = async (file) => {
    if (file.name.endsWith(".cw")) {
      fill(body, modelFile(file, stop.signal));
      body.querySelector("input").focus();
      return;
    }
    let rows;
    try {
      rows = await firstRows(file);
    } catch (error) {
      notify(`${file.name} cannot be read: ${error.message}.`, "bad");
      return;
    }
    if (!rows.length) {
      notify(`${file.name} has no rows.`, "bad");
      return;
    }
    fill(body, chosenFile(file, rows, stop.signal));
    body.querySelector("select, input")?.focus();
  };
  fill(body, start(choose));
  if (handed) {
    choose(handed);
    handed = null;
  }
  return () => stop.abort(new DOMException("left", "AbortError"));
}

function start(choose) {
  const input = h("input", { type: "file", class: "visually-hidden", id: "file", accept: FILES });
  const zone = h("div", { class: "drop large" },
    h("p", {}, h("b", {}, "Drop a CSV or JSON-lines file here")), input,
    h("p", {}, h("label", { for: "file", class: "button" }, "Choose a file")),
    h("p", { class: "muted small" }, "The file is read in this browser; only the columns you keep are sent. Rows without a label are offered for labelling. A model file, .cw, continues its training here."));
  acceptFile(zone, input, choose);
  return [zone, emptyModel()];
}

async function firstRows(file) {
  const rows = [];
  for await (const some of objects(file)) {
    rows.push(...some);
    if (rows.length >= SAMPLE) break;
  }
  return rows.slice(0, SAMPLE);
}

function nameField(value = "") {
  const pattern = "[A-Za-z0-9][A-Za-z0-9._\\-]{0,63}";
  return h("input", { id: "name", required: true, maxlength: 64, pattern, title: "letters, digits, dots, hyphens", value });
}

function methodField() {
  return h("select", { id: "method" }, METHODS.map(([value, text]) => h("option", { value }, text)));
}

const field = (text, control, hint) => h("div", { class: "field" }, h("label", { for: control.id }, text), control,
  hint ? h("p", { class: "muted small" }, hint) : null);

const listOf = (text) => text.split(",").map((one) => one.trim()).filter(Boolean);

function settingsOf(method, classes, text, numbers = false) {
  const made = method === "auto" ? { auto: true } : numbers ? {} : { rule: method };
  if (numbers) made.task = "numbers"; // whose rule is another
  if (classes.length) made.classes = classes;
  if (text.length) made.reading = { text };
  return made;
}

function emptyModel() {
  const name = nameField(), method = methodField(), error = h("p", { class: "error", role: "alert" });
  const classes = h("input", { id: "classes" }), text = h("input", { id: "text" });
  const form = h("form", { class: "fields" },
    field("Name", name), field("Method", method),
    field("Classes", classes, "Separated by commas. Leave empty to add classes as they appear."),
    field("Text columns", text, "Names of the keys whose words are features."), error,
    h("button", { class: "primary" }, "Create an empty model"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await request("PUT", modelPath(name.value), settingsOf(method.value, listOf(classes.value), listOf(text.value)));
      location.hash = `#/m/${encodeURIComponent(name.value)}`;
    } catch (problem) {
      setText(error, `The model was not created: ${problem.message}.`);
    }
  });
  return h("details", { class: "more" }, h("summary", {}, "Or create an empty model"), form);
}

function modelFile(file, signal) {
  const name = nameField(modelName(file.name)), error = h("p", { class: "error", role: "alert" });
  const form = h("form", {}, h("p", { class: "lead" }, `${file.name}: a model file`),
    h("div", { class: "fields" }, field("Name of the model", name)), error, h("button", { class: "primary" }, "Upload"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await request("PUT", modelPath(name.value, "/file"), file, signal);
      location.hash = `#/m/${encodeURIComponent(name.value)}`;
    } catch (problem) {
      if (problem.name !== "AbortError") setText(error, `The model was not created: ${problem.message}.`);
    }
  });
  return form;
}

function chosenFile(file, rows, signal) {
  const columns = columnsOf(rows);
  const name = nameField(modelName(file.name)), method = methodField();
  const classes = h("input", { id: "classes" });
  const classField = field("Classes", classes, "For rows without labels: the classes to choose from, separated by commas.");
  const error = h("p", { class: "error", role: "alert" });
  const table = columnTable(columns, () => {
    classField.hidden = columns.some((one) => one.role === "label");
  });
  classField.hidden = columns.some((one) => one.role === "label");
  const form = h("form", {},
    h("p", { class: "lead" }, `${file.name}: ${counted(columns.length, "column")}, at least ${counted(rows.length, "row")}`),
    h("div", { class: "fields" }, field("Name of the model", name), field("Method", method), classField),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Columns of the file" }, table), error,
    h("button", { class: "primary" }, "Create and learn"));
  const place = h("div", {}, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!columns.some((one) => ["feature", "text"].includes(one.role))) {
      setText(error, "Keep at least one column as a feature or text.");
      return;
    }
    const label = columns.find((one) => one.role === "label");
    const numbers = Boolean(label) && areNumbers(rows.map((row) => row[label.name]));
    const text = columns.filter((one) => one.role === "text").map((one) => one.name);
    try {
      await request("PUT", modelPath(name.value), settingsOf(method.value, classField.hidden ? [] : listOf(classes.value), text, numbers));
    } catch (problem) {
      setText(error, `The model was not created: ${problem.message}.`);
      return;
    }
    await sending(place, file, name.value, converter(columns), signal);
  });
  return place;
}

function columnTable(columns, changed) {
  const selects = columns.map((column) => {
    const select = h("select", { "aria-label": `Role of the column ${column.name}` },
      ROLES.map(([value, text]) => h("option", { value, selected: value === column.role }, text)));
    select.addEventListener("change", () => {
      column.role = select.value;
      if (select.value === "label") {
        columns.forEach((other, k) => {
          if (other !== column && other.role === "label") selects[k].value = other.role = other.kind === "text" ? "text" : "feature";
        });
      }
      changed();
    });
    return select;
  });
  return h("table", { class: "table" },
    h("thead", {}, h("tr", {}, ["Column", "Use as", "Looks like", "Examples"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, columns.map((column, k) => h("tr", {},
      h("th", { scope: "row" }, column.name), h("td", {}, selects[k]), h("td", {}, column.kind),
      h("td", { class: "examples" }, column.examples.map((value) => h("span", { class: "sample" }, shown(value).slice(0, 80))))))));
}

async function sending(place, file, name, convert, signal) {
  const bar = h("progress", { max: file.size, value: 0, "aria-label": "Bytes of the file that were sent" });
  const told = h("p", { role: "status" }), problems = h("ul", { class: "error" });
  fill(place, h("h2", {}, `Learning ${file.name}`), bar, told, problems);
  const show = (state) => {
    bar.value = state.bytes;
    const parts = [`${counted(state.learned, "row")} learned`];
    if (state.offered) parts.push(`${count(state.offered)} to label`);
    if (state.rejected) parts.push(`${count(state.rejected)} rejected`);
    setText(told, `${parts.join(", ")}${state.waiting ? ". The server is away; sending continues when it is back." : ""}`);
    fill(problems, state.problems.map((text) => h("li", {}, text)));
  };
  try {
    const state = await upload(file, name, convert, show, signal);
    const path = `#/m/${encodeURIComponent(name)}`;
    place.append(h("div", { class: "actions" },
      h("a", { class: "button", href: path }, "Show the model"),
      state.offered ? h("a", { class: "button", href: `${path}/label` }, "Label rows") : null));
  } catch (error) {
    if (error.name === "AbortError") return;
    place.append(h("p", { class: "notice bad" }, `Learning stopped: ${error.message}. Rows that were acknowledged are kept; drop the file again to continue.`));
  }
}
