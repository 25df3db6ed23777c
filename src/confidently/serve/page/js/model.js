// One model: its figures, its charts, what it is made of.

import { may, modelPath, request } from "./api.js";
import { course, lineChart, reliabilityChart } from "./chart.js";
import { confirmed } from "./confirm.js";
import { fill, h, notify, setText } from "./dom.js";
import { clock, count, gained, number, percent, shown } from "./format.js";
import { live, state } from "./live.js";
import { kindOf } from "./overview.js";

const POLL_MS = 2000;

/** Show a model; return a function that ends it. */
export function modelView(page, name) {
  const path = `#/m/${encodeURIComponent(name)}`;
  const kind = h("p", { class: "lead" });
  const body = h("div");
  fill(page,
    h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Models"), " / ", name),
    h("div", { class: "heading" }, h("h1", {}, name), kind,
      h("div", { class: "actions" },
        may("label") ? h("a", { class: "button", href: `${path}/label` }, "Label rows") : null,
        h("a", { class: "button quiet", href: `${path}/versions` }, "Versions"),
        h("a", { class: "button quiet", href: `${path}/explain` }, "Explain a row"))),
    body);
  const view = figures(name);
  let busy = false, ended = false;

  async function refresh() {
    if (busy || ended) return;
    busy = true;
    try {
      const [model, metrics] = await Promise.all([
        request("GET", modelPath(name)), request("GET", modelPath(name, "/metrics")),
      ]);
      if (ended) return;
      if (!body.firstChild) fill(body, view.element);
      setText(kind, kindOf(model));
      view.update(model, metrics);
    } catch (error) {
      if (error.status === 404) {
        fill(body, h("p", { class: "notice bad" }, `There is no model ${name}.`));
        ended = true;
      }
    } finally {
      busy = false;
    }
  }

  live.addEventListener("models", refresh);
  const timer = setInterval(refresh, POLL_MS);
  refresh();
  return () => {
    ended = true;
    clearInterval(timer);
    live.removeEventListener("models", refresh);
  };
}

function figures(name) {
  const tiles = Object.fromEntries([
    ["error", "Progressive error", "Errors of predictions made before each row was learned"],
    ["recent", "Recent error", "The same over about the last 1,000 rows"],
    ["loss", "Log-loss", "Mean over all rows, before each was learned"],
    ["rows", "Rows learned", "Acknowledged rows that the model has learned"],
    ["asked", "Asked for a label", "Predictions among the least certain ones"],
    ["honest", "Accuracy on random rows", "Labelled rows that were drawn at random, with the 95 % interval"],
  ].map(([key, title, hint]) => [key, tile(title, hint)]));
  const gain = h("p", { class: "muted" });
  const failed = h("p", { class: "notice bad", role: "alert", hidden: true });
  const byTime = h("input", { type: "checkbox", id: "by-time" });
  const xFormat = (x) => (byTime.checked ? clock(x) : count(Math.round(x)));
  const error = lineChart({ title: "Error", x: xFormat, y: (y) => percent(y, y && y < 0.1 ? 1 : 0), top: 0.05 });
  const loss = lineChart({ title: "Log-loss", x: xFormat, y: number, top: 0.1 });
  const rate = lineChart({ title: "Rows per second, last hour", x: clock, y: number, top: 1, empty: "No rows in the last hour." });
  const asked = lineChart({
    title: "Fraction of predictions asked for", x: clock, y: (y) => percent(y, 0), top: 1, empty: "No predictions in the last hour.",
  });
  const reliability = reliabilityChart("Reliability");
  const table = h("dl", { class: "facts" });
  const element = h("div", {}, failed,
    h("section", { "aria-label": "Figures", class: "tiles" }, Object.values(tiles).map((one) => one.element)),
    gain,
    h("section", { "aria-label": "Charts" },
      h("p", { class: "switch" }, byTime, h("label", { for: "by-time" }, "Time instead of rows on the horizontal axis")),
      h("div", { class: "charts" }, error.element, loss.element, rate.element, asked.element, reliability.element,
        h("div", { class: "figure" }, h("h2", {}, "About the model"), table, manage(name)))),
  );
  let last = null;

  function update(model, metrics) {
    const honest = metrics.labelling.random;
    tiles.error.set(percent(metrics.error));
    tiles.recent.set(percent(metrics.recent.error));
    tiles.loss.set(number(metrics.log_loss));
    tiles.rows.set(count(metrics.rows), metrics.refused ? `${count(metrics.refused)} set aside` : "");
    failed.hidden = !model.failed;
    setText(failed, model.failed ? `${model.failed}. Restart the server, or train the model again.` : "");
    tiles.asked.set(percent(metrics.predicted ? metrics.asked / metrics.predicted : null, 0),
      metrics.predicted ? `of ${count(metrics.predicted)} predictions` : "no predictions yet");
    tiles.honest.set(percent(honest.accuracy, 0), honest.answers
      ? `${percent(honest.interval[0], 0)} to ${percent(honest.interval[1], 0)}, n = ${count(honest.answers)}`
      : "label rows to measure it");
    const told = gained(metrics.labelling.gain);
    setText(gain, told ? `${told}, if the learning curve goes on as before.` : "");
    for (const [chart, quantity] of [[error, "error"], [loss, "log_loss"]]) {
      const { total, recent } = course(metrics.curve, quantity, byTime.checked);
      chart.update([{ name: "so far", class: "first", points: total }, { name: "recent", class: "second", points: recent }]);
    }
    rate.update([
      { name: "learned", class: "first", points: metrics.history.map((one) => [one.time, one.learned]) },
      { name: "predicted", class: "second", points: metrics.history.map((one) => [one.time, one.predicted]) },
    ]);
    asked.update([{ name: "asked for", class: "first",
      points: metrics.history.filter((one) => one.asked !== null).map((one) => [one.time, one.asked]) }]);
    reliability.update(metrics.reliability);
    fill(table, facts(model).map(([key, value]) => [h("dt", {}, key), h("dd", {}, value)]));
    last = [model, metrics];
  }

  byTime.addEventListener("change", () => last && update(...last));
  return { element, update };
}

function tile(title, hint) {
  const value = h("b", { class: "big" }), note = h("span", { class: "muted small" });
  const element = h("div", { class: "tile", title: hint }, h("h2", {}, title), value, note);
  return { element, set(text, more = "") { setText(value, text); setText(note, more); } };
}

/** A link to the rows that the model could not learn, with the reasons. */
function asideLink(model) {
  const href = modelPath(model.name, "/set-aside");
  return h("a", { href, target: "_blank" }, `${count(model.refused)} that could not be learned`);
}

function facts(model) {
  const settings = Object.entries(model.settings).filter(([key]) => key !== "reading");
  const reading = Object.entries(model.settings.reading ?? {});
  return [
    ["Task", model.task],
    ["Classes", model.classes.join(", ") || "none yet"],
    ["New classes", model.open ? "are added as they appear" : "are rejected"],
    ["Features", count(model.features)],
    ["Updates", count(model.updates)],
    ["Waiting rows", count(model.waiting)],
    ["To label", count(model.to_label)],
    ...(model.refused ? [["Set aside", asideLink(model)]] : []),
    ["Last event", `${count(model.seq)}, snapshot at ${count(model.snapshot)}`],
    ["Created", clock(model.created)],
    ...[...settings, ...reading].map(([key, value]) => [key.replaceAll("_", " "), shown(value)]),
  ];
}

function manage(name) {
  if (!may("admin")) return null;
  const remove = h("button", { type: "button", class: "danger" }, "Delete the model");
  remove.addEventListener("click", async () => {
    if (!await confirmed(`Delete ${name}?`, "The model and all its rows are removed. This cannot be undone.", "Delete", true)) return;
    try {
      await request("DELETE", modelPath(name));
      if (state.models) state.models = state.models.filter((model) => model.name !== name);
      location.hash = "#/";
    } catch (error) {
      notify(`${name} was not deleted: ${error.message}`, "bad");
    }
  });
  return h("div", { class: "actions" },
    h("a", { class: "button quiet", href: modelPath(name, "/file"), download: `${name}.cw` }, "Download the model"),
    remove);
}
