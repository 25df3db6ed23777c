// Adding a model: a file is dropped, its columns are chosen, its rows are sent.

import { may, modelPath, request } from "./api.js";
import { modelName } from "./columns.js";
import { objects } from "./csv.js";
import { fill, h, notify, setText } from "./dom.js";
import { importForm } from "./import.js";
import { field, listOf, methodField, nameField, settingsOf } from "./settings.js";

const SAMPLE = 1000;
export const FILES = ".csv,.tsv,.jsonl,.ndjson,.json,.txt,.cw,.ent"; // that can be chosen
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
    if (/\.(cw|ent)$/.test(file.name)) {
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
    fill(body, importForm(file, rows, stop.signal));
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
    h("p", { class: "muted small" }, "The file is read in this browser; only the columns you keep are sent. Rows without a label are offered for labelling. A model file, .cw or .ent, continues its training here."));
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
