// The models of the server, each with its error and what can be done with it.

import { may, modelPath, request } from "./api.js";
import { course, sparkline } from "./chart.js";
import { acceptFile, FILES } from "./add.js";
import { fill, h, setText } from "./dom.js";
import { count, counted, gained, number, percent } from "./format.js";
import { live, state } from "./live.js";

const RATE_MS = 15_000; // in which rates get another point

/** Show the overview; return a function that ends it. */
export function overview(page) {
  const cards = new Map();
  const summary = h("p", { class: "lead" });
  const list = h("ul", { class: "cards" });
  const drop = may("admin") ? dropZone() : null;
  fill(page, h("div", { class: "heading" }, h("h1", {}, "Models"), summary), list, drop);

  function update() {
    const models = state.models ?? [];
    const total = models.reduce((sum, model) => sum + model.rows, 0);
    setText(summary, models.length
      ? `${counted(models.length, "model")}, ${counted(total, "row")} learned`
      : "There is no model yet. Drop a file below, or create one with PUT /v1/models/NAME.");
    for (const model of models) {
      if (!cards.has(model.name)) {
        cards.set(model.name, card(model));
        list.append(cards.get(model.name).element);
      }
      cards.get(model.name).update(model);
    }
    for (const [name, one] of cards) {
      if (!models.some((model) => model.name === name)) {
        one.element.remove();
        cards.delete(name);
      }
    }
  }

  live.addEventListener("models", update);
  if (state.models) update();
  return () => live.removeEventListener("models", update);
}

function card(model) {
  const path = `#/m/${encodeURIComponent(model.name)}`;
  const spark = sparkline(), rates = sparkline("second");
  const rate = h("p", { class: "muted small" }), gain = h("p", { class: "small" });
  const kind = h("p", { class: "muted small" });
  const error = h("b", { class: "big" });
  const facts = h("p", { class: "muted small" });
  const label = h("a", { class: "button", href: `${path}/label` }, "Label");
  const element = h("li", { class: "card" },
    h("h2", {}, h("a", { href: path }, model.name)), kind,
    h("p", { class: "figure-number" }, error, h("span", { class: "muted" }, " progressive error")),
    spark.element, facts, gain, rate, rates.element,
    h("div", { class: "actions" }, may("label") ? label : null,
      h("a", { class: "button quiet", href: `${path}/explain`, "aria-label": `Explain a row of ${model.name}` }, "Explain")),
  );
  let rows = -1, asked = -Infinity, busy = false;

  async function refresh(now) {
    if (busy || (now === rows && Date.now() - asked < RATE_MS)) return;
    busy = true;
    try {
      const metrics = await request("GET", modelPath(model.name, "/metrics"));
      rows = now;
      asked = Date.now();
      spark.update(course(metrics.curve, "error", false).total);
      const hour = metrics.history.map((one) => [one.time, one.learned + one.predicted]);
      rates.update(hour);
      setText(rate, `${number(metrics.learns_per_second)} rows learned and ${number(metrics.predictions_per_second)} predicted a second`
        + (hour.length > 1 ? "; the last hour:" : ""));
      setText(gain, gained(metrics.labelling.gain) ?? "");
    } catch { /* the next event tries again */ } finally {
      busy = false;
    }
  }

  function update(now) {
    setText(kind, kindOf(now));
    setText(error, percent(now.error));
    setText(facts, `${counted(now.rows, "row")} learned · log-loss ${number(now.log_loss)}`
      + (now.waiting ? ` · ${count(now.waiting)} waiting` : ""));
    setText(label, now.to_label ? `Label ${counted(now.to_label, "row")}` : "Label");
    label.setAttribute("aria-label", `${label.textContent}: ${model.name}`);
    refresh(now.rows);
  }

  return { element, update };
}

/** Return a line that says what a model is. */
export function kindOf(model) {
  const learner = model.settings.file ? "from a model file" : model.settings.auto ? "automatic"
    : `${model.settings.rule ?? "arow"}, ${model.settings.covariance ?? "diag"}`;
  const names = model.classes.slice(0, 4).join(", ") + (model.classes.length > 4 ? ", …" : "");
  return `${learner} · ${model.classes.length ? `${counted(model.classes.length, "class").replace("classs", "classes")}: ${names}` : "no classes yet"}`;
}

function dropZone() {
  const input = h("input", { type: "file", class: "visually-hidden", id: "overview-file", accept: FILES });
  const zone = h("div", { class: "drop" },
    h("p", {}, h("b", {}, "Add a model: "), "drop a CSV, JSON-lines or model file here, or "),
    input, h("label", { for: "overview-file", class: "button quiet" }, "Choose a file"));
  acceptFile(zone, input);
  return zone;
}
