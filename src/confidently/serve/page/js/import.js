// Importing a file: its columns are chosen, the plan says what will happen, its rows are sent.

import { modelPath, Offline, Problem, request } from "./api.js";
import { areNumbers, columnsOf, converter, modelName, mostlyNumbers } from "./columns.js";
import { fill, h, setText } from "./dom.js";
import { count, counted, shown } from "./format.js";
import { state as server } from "./live.js";
import { isNumeric } from "./measures.js";
import { planOf, tryRows } from "./plan.js";
import { field, listOf, methodField, nameField, settingsOf } from "./settings.js";
import { upload } from "./upload.js";

const ROLES = [["label", "Label"], ["feature", "Feature"], ["text", "Text"], ["drop", "Drop"]];
const LABEL = "label"; // the key of labels in rows, unless the settings have another one
const NONE = " none"; // no column, since the names of columns have no space in front

/** Return the form for a file of which some rows were read. */
export function importForm(file, rows, signal) {
  return new Import(file, rows, signal).place;
}

class Import {
  constructor(file, rows, signal) {
    Object.assign(this, { file, rows, signal, columns: columnsOf(rows), trying: new AbortController() });
    const models = server.models ?? [], taken = models.map((one) => one.name);
    this.name = nameField(freeName(modelName(file.name), taken));
    this.target = h("select", { id: "target" }, h("option", { value: "" }, "A new model"), taken.map((one) => h("option", { value: one }, one)));
    this.method = methodField();
    this.classes = h("input", { id: "classes" });
    this.label = h("select", { id: "label-column", required: true },
      h("option", { value: "" }, "Please choose"), this.columns.map((one) => h("option", { value: one.name }, one.name)),
      h("option", { value: NONE }, "None: all rows wait for labels"));
    this.kind = h("select", { id: "kind" }, h("option", { value: "classes" }, "classes"), h("option", { value: "numbers" }, "numbers to predict"));
    this.kindField = field("The labels are", this.kind);
    this.classField = field("Classes", this.classes, "For rows without labels: the classes to choose from, separated by commas.");
    this.nameBox = field("Name of the model", this.name);
    this.methodBox = field("Method", this.method);
    this.error = h("p", { class: "error", role: "alert" });
    this.plan = h("section", { class: "plan", "aria-label": "What will happen", "aria-live": "polite" });
    this.button = h("button", { class: "primary", disabled: true }, "Create and learn");
    const targets = taken.length ? field("Rows go to", this.target, "Rows are added to a model only if you choose it here.") : null;
    const form = h("form", {},
      h("p", { class: "lead" }, `${file.name}: ${counted(this.columns.length, "column")}, at least ${counted(rows.length, "row")}`),
      h("div", { class: "fields" }, field("Label column", this.label, "The column with the right answers. It is never guessed from its values."),
        this.kindField, targets, this.nameBox, this.methodBox, this.classField),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Columns of the file" }, this.columnTable()),
      this.plan, this.error, this.button);
    this.place = h("div", {}, form);
    this.label.value = this.labelColumn?.name ?? "";
    this.label.addEventListener("change", () => this.setLabel(this.label.value));
    for (const one of [this.target, this.kind, this.method, this.classes]) one.addEventListener("change", () => this.changed());
    this.name.addEventListener("input", () => this.showPlan());
    form.addEventListener("submit", (event) => { event.preventDefault(); this.send(); });
    signal.addEventListener("abort", () => this.trying.abort());
    this.chooseKind();
    this.changed();
  }

  get labelColumn() {
    return this.columns.find((one) => one.role === "label");
  }

  /** The labels of the rows that were read. */
  get labels() {
    const column = this.labelColumn;
    return column ? this.rows.map((row) => row[column.name]) : [];
  }

  get model() {
    return server.models?.find((one) => one.name === this.target.value);
  }

  get numbers() {
    return !this.kindField.hidden && this.kind.value === "numbers";
  }

  // --- choosing -----------------------------------------------------------------------------------------------------

  columnTable() {
    this.selects = this.columns.map((column) => {
      const select = h("select", { "aria-label": `Role of the column ${column.name}` }, ROLES.map(([value, text]) => h("option", { value, selected: value === column.role }, text)));
      select.addEventListener("change", () => {
        if (select.value === "label") return this.setLabel(column.name);
        const was = column.role;
        column.role = select.value;
        if (was === "label") this.setLabel("");
        else this.changed();
      });
      return select;
    });
    return h("table", { class: "table" },
      h("thead", {}, h("tr", {}, ["Column", "Use as", "Looks like", "Examples"].map((text) => h("th", { scope: "col", class: text === "Looks like" ? "wide-only" : null }, text)))),
      h("tbody", {}, this.columns.map((column, k) => h("tr", {},
        h("th", { scope: "row" }, column.name), h("td", {}, this.selects[k]), h("td", { class: "wide-only" }, column.kind),
        h("td", { class: "examples" }, column.examples.map((value) => h("span", { class: "sample" }, shown(value).slice(0, 80))))))));
  }

  setLabel(name) {
    this.columns.forEach((one, k) => {
      if (one.name === name) one.role = "label";
      else if (one.role === "label") one.role = one.kind === "text" ? "text" : "feature";
      this.selects[k].value = one.role;
    });
    this.label.value = name;
    this.chooseKind();
    this.changed();
  }

  /** Numbers with fractions are hardly classes; others may be both, so people choose. */
  chooseKind() {
    this.kind.value = areNumbers(this.labels) ? "numbers" : "classes";
  }

  async changed() {
    const model = this.model;
    this.nameBox.hidden = this.methodBox.hidden = Boolean(model);
    this.classField.hidden = Boolean(model) || Boolean(this.labelColumn);
    this.kindField.hidden = Boolean(model) || !mostlyNumbers(this.labels);
    this.trying.abort();
    this.trying = new AbortController();
    this.found = null;
    this.button.disabled = true;
    if (this.label.value === "") {
      fill(this.plan, h("p", {}, "Choose the label column, or that the file has none."));
      return;
    }
    fill(this.plan, h("p", { class: "muted" }, "Checking the rows …"));
    const { signal } = this.trying;
    try {
      const found = await tryRows(this.file, converter(this.columns), model?.name ?? (this.name.value || "model"), model ? null : this.settings, signal);
      if (signal.aborted) return;
      this.found = found;
      this.button.disabled = false;
      this.showPlan();
    } catch (error) {
      if (error.name === "AbortError") return;
      const why = error instanceof Problem || error instanceof Offline ? "The rows cannot be checked" : `${this.file.name} cannot be read`;
      fill(this.plan, h("p", { class: "error" }, `${why}: ${error.message}.`));
    }
  }

  /** The settings of a new model. */
  get settings() {
    const text = this.columns.filter((one) => one.role === "text").map((one) => one.name);
    const made = settingsOf(this.method.value, this.classField.hidden ? [] : listOf(this.classes.value), text, this.numbers);
    const hidden = this.columns.some((one) => one.name === LABEL && ["feature", "text"].includes(one.role));
    return hidden ? { ...made, reading: { ...made.reading, label: this.labelColumn?.name ?? `${LABEL}_` } } : made;
  }

  showPlan() {
    if (!this.found) return;
    const model = this.model;
    setText(this.button, model ? "Add and learn" : "Create and learn");
    fill(this.plan, h("h2", { class: "small-heading" }, "What will happen"),
      planOf(this.found, model?.name ?? (this.name.value || "…"), model, this.labelColumn?.name, this.numbers || (model && isNumeric(model))));
  }

  // --- sending ------------------------------------------------------------------------------------------------------

  async send() {
    setText(this.error, "");
    if (!this.columns.some((one) => ["feature", "text"].includes(one.role))) {
      setText(this.error, "Keep at least one column as a feature or text.");
      return;
    }
    const model = this.model, name = model?.name ?? this.name.value;
    try {
      if (!model) await this.create(name);
    } catch (problem) {
      setText(this.error, `The model was not created: ${problem.message}.`);
      return;
    }
    await sending(this.place, this.file, name, converter(this.columns), this.signal);
  }

  /** Create the model; a request to create it again would succeed, and its rows would be added to those that it has. */
  async create(name) {
    const { models } = await request("GET", "v1/models");
    if (models.some((one) => one.name === name)) throw new Error('there is one already; to add the rows to it, choose it under "Rows go to"');
    await request("PUT", modelPath(name), this.settings);
  }
}

/** Return a name that no model has. */
function freeName(name, taken) {
  let found = name;
  for (let k = 2; taken.includes(found); k++) found = `${name.slice(0, 60)}-${k}`;
  return found;
}

async function sending(place, file, name, convert, signal) {
  const bar = h("progress", { max: file.size, value: 0, "aria-label": "Bytes of the file that were sent" });
  const told = h("p", { role: "status" }), problems = h("ul", { class: "error" });
  fill(place, h("h2", { class: "lead-heading" }, `Learning ${file.name}`), bar, told, problems);
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
    place.append(h("p", { class: "notice bad" }, `Learning stopped: ${error.message}. Rows that were acknowledged are kept. To continue, drop the file again and choose ${name} under "Rows go to".`));
  }
}
