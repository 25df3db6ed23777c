// One stored row: what it says, its label and how that came about, what the model thinks of it.

import { may, modelPath, request } from "./api.js";
import { decisionExplained } from "./decisions.js";
import { fill, h, isTyping, notify, setText } from "./dom.js";
import { explanation } from "./explain.js";
import { clock, labelText, number, percent, shown } from "./format.js";
import { NOBODY, personName } from "./labeller.js";
import { decides, isNumeric } from "./measures.js";
import { guessText, neighbours, rowPath, rowsPath, textColumns, verdict, wasGiven } from "./rows.js";

const KINDS = {
  prediction: "The row came without a label", learn: "The row came with the label", label: "Labelled", correction: "Corrected to",
  answer: "Answered", undo: "The answer was undone", skip: "Skipped", "set-aside": "Set aside: the model could not learn it",
  erasure: "Erased", opinion: "Answered again, for comparison", parked: "The label came before the row",
};

/** Show a row; return a function that ends it. */
export function rowView(page, name, id) {
  const view = new RowView(page, name, id);
  view.begin();
  return () => view.listeners.abort();
}

class RowView {
  constructor(page, name, id) {
    Object.assign(this, { page, name, id, listeners: new AbortController() });
    this.place = neighbours(name, id);
    this.query = location.hash.split("?")[1] ?? "";
  }

  async begin() {
    const path = `#/m/${encodeURIComponent(this.name)}`;
    this.body = h("div", {}, h("p", { class: "muted" }, "Loading"));
    const turn = (to, text, key) => (this.place?.[to] ? h("a", { class: "button quiet", href: rowPath(this.name, this.place[to], this.query) }, text, " ", h("kbd", {}, key)) : null);
    fill(this.page,
      h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Models"), " / ", h("a", { href: path }, this.name), " / ",
        h("a", { href: rowsPath(this.name, this.query) }, "rows"), " / row"),
      h("div", { class: "heading" }, h("h1", {}, "Row"), this.place ? h("p", { class: "lead" }, `${this.place.at} of ${this.place.n} in this list`) : null,
        h("div", { class: "actions" }, turn("before", "Newer", "k"), turn("after", "Older", "j"))),
      this.body);
    document.addEventListener("keydown", (event) => this.key(event), { signal: this.listeners.signal });
    await this.load();
  }

  key(event) {
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    const to = { j: "after", k: "before" }[event.key];
    if (to && this.place?.[to]) location.hash = rowPath(this.name, this.place[to], this.query);
    else if (event.key === "c") this.input?.focus();
    else if (event.key === "Escape") location.hash = rowsPath(this.name, this.query);
    else return;
    event.preventDefault();
  }

  async load() {
    let row, model;
    try {
      [row, model] = await Promise.all([
        request("GET", modelPath(this.name, `/rows/${encodeURIComponent(this.id)}`)), request("GET", modelPath(this.name)),
      ]);
    } catch (error) {
      fill(this.body, h("p", { class: "notice bad" }, `${error.message}.`));
      return;
    }
    if (this.listeners.signal.aborted) return;
    const why = h("section", { "aria-label": "Explanation", "aria-live": "polite" });
    fill(this.body, h("div", { class: "row-layout" },
      content(row, textColumns(this.name)),
      h("div", { class: "row-side" }, this.labelCard(row, model), history(row), this.eraser(row)),
      row.prediction?.decision ? decisionExplained(row.prediction.decision) : null, why));
    if (row.features !== null) this.explain(row, why);
  }

  async explain(row, place) {
    try {
      fill(place, explanation(await request("POST", modelPath(this.name, "/explain"), { features: row.features }), "The model says now: "));
    } catch (error) {
      fill(place, h("p", { class: "muted" }, `There is no explanation: ${error.message}.`));
    }
  }

  labelCard(row, model) {
    const decided = decides(model);
    const facts = [[decided ? "Reward" : "Label", row.label !== null ? labelText(row.label) : row.state === "taken-out" ? "taken out with its batch or its class" : "none"]];
    if (wasGiven(row)) facts.push(["Given as", labelText(row.logged)]);
    if (row.by !== null) facts.push(["Given by", row.by]);
    if (row.predicted !== null) facts.push(decided ? ["Expected when it came", guessText(row)]
      : ["Predicted when it came", [guessText(row), row.probability === null ? null : `, ${percent(row.probability, 0)}`, verdict(row)]]);
    if (decided && row.probability !== null) facts.push(["Probability", percent(row.probability)]);
    if (row.weight !== 1) facts.push(["Weight", number(row.weight)]);
    if (row.reason !== null) facts.push(["Set aside", row.reason]);
    return h("section", { class: "figure", "aria-label": decided ? "Reward" : "Label" },
      h("dl", { class: "facts" }, facts.map(([key, value]) => [h("dt", {}, key), h("dd", { dir: "auto" }, value)])),
      row.features !== null && may("label") && !decided ? this.editor(row, model) : null);
  }

  editor(row, model) {
    const numeric = isNumeric(model), several = model.multilabel;
    const input = h("input", {
      id: "label", required: !several, autocomplete: "off", dir: "auto", list: numeric || several ? null : "known", type: numeric ? "number" : "text", step: numeric ? "any" : null,
      maxlength: several || numeric ? null : 256, value: row.label === null ? "" : several ? row.label.join(", ") : labelText(row.label),
    });
    this.input = input;
    const error = h("p", { class: "error", role: "alert" });
    const said = row.label === null ? "Label it" : "Correct it";
    const form = h("form", {}, h("div", { class: "field" },
      h("label", { for: "label" }, said, " ", h("kbd", {}, "c")), input,
      several ? h("p", { class: "muted small" }, "Classes, separated by commas; empty for none.") : null),
    h("datalist", { id: "known" }, model.classes.map((one) => h("option", { value: one }))), error, h("button", { class: "primary" }, "Save"));
    let asked = null;
    input.addEventListener("focus", () => input.select());
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const names = several ? input.value.split(",").map((one) => one.trim()).filter(Boolean) : [input.value.trim()];
      const added = numeric ? [] : names.filter((one) => !model.classes.includes(one));
      if (added.length && model.open && asked !== input.value) {
        asked = input.value;
        setText(error, `${added.join(", ")}: new to the model. Save again to add ${added.length === 1 ? "this class" : "these classes"}.`);
        return;
      }
      const known = (one) => (/^-?(0|[1-9]\d{0,14})$/.test(one) ? Number(one) : one);
      await this.save(numeric ? Number(input.value) : several ? names.map(known) : known(names[0]), error);
    });
    return form;
  }

  async save(label, error) {
    const by = personName() ?? NOBODY;
    try {
      await request("POST", modelPath(this.name, "/labels?wait=learned"), { id: this.id, label, correct: true, ...(by === NOBODY ? {} : { labeller: by }) });
      notify(`The label is now ${labelText(label)}; the model has learned it.`, "good");
      await this.load();
      this.page.querySelector("h1").closest("main")?.focus({ preventScroll: true });
    } catch (problem) {
      setText(error, `The label was not saved: ${problem.message}.`);
    }
  }

  eraser(row) {
    if (!may("admin") || row.state === "erased") return null;
    const dialog = h("dialog", { "aria-labelledby": "erase-title" }, h("form", { method: "dialog" },
      h("h2", { id: "erase-title" }, "Erase this row?"),
      h("p", {}, "Its features and labels are overwritten; this cannot be undone. What the model has learned of it remains until the model is trained again."),
      h("div", { class: "actions" }, h("button", { value: "" }, "Keep it"), h("button", { value: "erase", class: "danger" }, "Erase"))));
    const button = h("button", { type: "button", class: "danger", onclick: () => { dialog.returnValue = ""; dialog.showModal(); } }, "Erase the row");
    dialog.addEventListener("close", async () => {
      if (dialog.returnValue !== "erase") return;
      try {
        await request("DELETE", modelPath(this.name, `/examples/${encodeURIComponent(this.id)}`));
        await this.load();
      } catch (problem) {
        notify(`The row was not erased: ${problem.message}.`, "bad");
      }
    });
    return h("div", { class: "actions" }, button, dialog);
  }
}

function content(row, texts) {
  if (row.features === null) return h("section", { class: "row-card" }, h("p", { class: "muted" }, row.state === "erased" ? "This row was erased." : "This row had no label for too long; its features are no longer stored."));
  const long = Object.entries(row.features).filter(([key]) => texts.includes(key));
  const short = Object.entries(row.features).filter(([key]) => !texts.includes(key));
  return h("section", { class: "row-card", "aria-label": "Row" },
    long.length ? h("div", { class: "prose" }, long.map(([key, value]) => [h("h2", {}, key), h("p", { dir: "auto", class: "long-text", tabindex: "0", role: "group", "aria-label": key }, shown(value))])) : null,
    short.length ? h("dl", { class: "facts" }, short.map(([key, value]) => [h("dt", {}, key), h("dd", { dir: "auto" }, shown(value))])) : null,
    h("p", { class: "muted small" }, `Id ${row.id}, came ${clock(row.time)}`));
}

function history(row) {
  const told = (one) => [KINDS[one.kind] ?? one.kind, one.label === null ? "" : h("b", { dir: "auto" }, ` ${labelText(one.label)}`), one.by ? ` by ${one.by}` : "", one.reason ? `: ${one.reason}` : ""];
  return h("section", { class: "figure", "aria-label": "History" }, h("h2", {}, "History"),
    h("ol", { class: "moments" }, row.history.map((one) => h("li", {}, h("span", { class: "muted small" }, clock(one.time)), h("span", {}, told(one))))));
}
