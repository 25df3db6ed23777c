// The models of the server, one line each: how well it does, what is wrong, what waits.

import { may, modelPath, request } from "./api.js";
import { course, sparkline } from "./chart.js";
import { acceptFile, FILES } from "./add.js";
import { fill, h, setText } from "./dom.js";
import { count, counted } from "./format.js";
import { live, state } from "./live.js";
import { decides, isNumeric, measureOf } from "./measures.js";
import { samples } from "./samples.js";

const NAMED = 6; // classes, beyond which they are counted only
const CURVE_MS = 15_000; // at least between two curves of a model

/** Show the overview; return a function that ends it. */
export function overview(page) {
  const lines = new Map();
  const summary = h("p", { class: "lead" });
  const list = h("ul", { class: "models" });
  const first = h("div", { hidden: true }, may("admin") ? samples() : null);
  const drop = may("admin") ? dropZone() : null;
  fill(page, h("div", { class: "heading" }, h("h1", {}, "Models"), summary), list, first, drop);

  function update() {
    const models = [...(state.models ?? [])].sort(byNeed);
    const total = models.reduce((sum, model) => sum + model.rows, 0);
    setText(summary, models.length ? `${counted(models.length, "model")}, ${counted(total, "row")} learned`
      : may("admin") ? "There is no model yet. Try a sample, or drop a file of your own." : "There is no model yet.");
    first.hidden = models.length > 0;
    for (const model of models) {
      if (!lines.has(model.name)) lines.set(model.name, lineOf(model));
      lines.get(model.name).update(model);
    }
    for (const [name, one] of lines) {
      if (models.some((model) => model.name === name)) continue;
      one.element.remove();
      lines.delete(name);
    }
    const order = models.map((model) => lines.get(model.name).element);
    if (order.some((element, k) => list.children[k] !== element)) list.append(...order); // moving them takes the focus
  }

  live.addEventListener("models", update);
  if (state.models) update();
  return () => live.removeEventListener("models", update);
}

/** Those that have stopped come first, then those with alarms; the others stay where people expect them. */
function byNeed(a, b) {
  const need = (model) => (model.failed ? 2 : model.alarms?.length ? 1 : 0);
  return need(b) - need(a) || a.name.localeCompare(b.name);
}

function lineOf(model) {
  const path = `#/m/${encodeURIComponent(model.name)}`;
  const spark = sparkline("first");
  const kind = h("p", { class: "muted small" }), error = h("b", { class: "big" }), measure = h("span", { class: "muted small" });
  const rows = h("p", { class: "model-rows" }), signs = h("p", { class: "signs" });
  const label = h("a", { class: "button", href: `${path}/label` });
  const element = h("li", { class: "card model-line" },
    h("div", { class: "model-name" }, h("h2", {}, h("a", { href: path }, model.name)), kind),
    h("p", { class: "model-error" }, error, measure), spark.element,
    h("div", {}, rows, signs),
    h("div", { class: "actions" }, may("label") ? label : null));
  let learned = -1, asked = -Infinity, busy = false;

  async function refresh(now) {
    if (busy || now.rows === learned || Date.now() - asked < CURVE_MS) return;
    busy = true;
    try {
      const metrics = await request("GET", modelPath(model.name, "/metrics"));
      learned = now.rows;
      asked = Date.now();
      spark.update(course(metrics.curve, measureOf(now).key, false).recent);
    } catch { /* the next event tries again */ } finally {
      busy = false;
    }
  }

  function update(now) {
    const { key, name, format } = measureOf(now);
    setText(kind, kindOf(now));
    setText(error, decides(now) ? format(now.decisions.recent_mean_reward) : format(now.recent?.[key] ?? now[key]));
    setText(measure, now.rows ? ` recent ${decides(now) ? "mean reward" : name}` : " no rows yet");
    setText(rows, [`${counted(now.rows, "row")} learned`, ...(now.waiting ? [`${count(now.waiting)} wait to be learned`] : [])].join(", "));
    const told = signsOf(now);
    if (signs.dataset.told !== JSON.stringify(told)) {
      signs.dataset.told = JSON.stringify(told);
      fill(signs, told.map(([text, detail, bad]) => h("span", { class: bad ? "tag bad-tag" : "tag", title: detail }, text)));
    }
    label.hidden = now.to_label === 0;
    setText(label, `Label ${counted(now.to_label, "row")}`);
    label.setAttribute("aria-label", `${label.textContent}: ${model.name}`);
    refresh(now);
  }

  return { element, update };
}

/** Return what is notable about a model: a few words, a sentence, and whether it is bad. */
function signsOf(model) {
  return [
    ...(model.failed ? [["stopped", model.failed, true]] : []),
    ...(model.alarms ?? []).map((alarm) => [`alarm: ${alarm.kind}`, alarm.detail, true]),
    ...(model.refused ? [[`${count(model.refused)} set aside`, "Rows that the model could not learn", true]] : []),
    ...(model.others ? [[`trains ${counted(model.others, "version")}`, "Versions that are trained beside the one that answers", false]] : []),
  ];
}

/** Return a line that says what a model is. */
export function kindOf(model) {
  if (decides(model)) return `decides by ${model.settings.policy?.name ?? "rand_ucb"}`;
  const learner = model.settings.file ? "from a model file" : model.settings.auto ? "automatic"
    : [model.settings.rule ?? (isNumeric(model) ? "ridge" : "arow"), model.settings.covariance].filter(Boolean).join(", ");
  if (isNumeric(model)) return `${learner} · predicts numbers`;
  const names = model.classes.length <= NAMED ? `: ${model.classes.join(", ")}` : "";
  return `${learner} · ${model.classes.length ? `${counted(model.classes.length, "class", "classes")}${names}` : "no classes yet"}`;
}

function dropZone() {
  const input = h("input", { type: "file", class: "visually-hidden", id: "overview-file", accept: FILES });
  const zone = h("div", { class: "drop" },
    h("p", {}, h("b", {}, "Add a model: "), "drop a CSV, JSON-lines or model file here, or "),
    input, h("label", { for: "overview-file", class: "button quiet" }, "Choose a file"));
  acceptFile(zone, input);
  return zone;
}
