// One model: its figures, its charts, what it is made of.

import { may, modelPath, request } from "./api.js";
import { course, lineChart, reliabilityChart } from "./chart.js";
import { confirmed } from "./confirm.js";
import { decisionFigures } from "./decisions.js";
import { fill, h, notify, setText } from "./dom.js";
import { clock, count, counted, gained, number, percent, settingText } from "./format.js";
import { live, state } from "./live.js";
import { decides, isNumeric, measuresOf, reliabilityOf } from "./measures.js";
import { kindOf } from "./overview.js";

const POLL_MS = 2000;
const CLASSES = 10; // that are shown at once

/** Show a model; return a function that ends it. */
export function modelView(page, name) {
  const path = `#/m/${encodeURIComponent(name)}`;
  const kind = h("p", { class: "lead" });
  const body = h("div"), label = h("a", { class: "button", href: `${path}/label` }, "Label rows");
  const explain = h("a", { class: "button quiet", href: `${path}/explain` }, "Explain a row");
  fill(page,
    h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Models"), " / ", name),
    h("div", { class: "heading" }, h("h1", {}, name), kind,
      h("div", { class: "actions" },
        may("label") ? label : null,
        may("admin") ? h("a", { class: "button quiet", href: `${path}/rows` }, "Rows") : null,
        h("a", { class: "button quiet", href: `${path}/versions` }, "Versions"),
        explain)),
    body);
  let view = null;
  let busy = false, ended = false;

  async function refresh() {
    if (busy || ended) return;
    busy = true;
    try {
      const [model, metrics] = await Promise.all([
        request("GET", modelPath(name)), request("GET", modelPath(name, "/metrics")),
      ]);
      if (ended) return;
      if (!view) {
        view = figures(model);
        fill(body, view.element);
      }
      setText(kind, kindOf(model));
      label.hidden = decides(model);
      explain.hidden = model.encoder !== null;
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

function figures(model) {
  const measures = measuresOf(model), [first] = measures;
  const tiles = Object.fromEntries([
    ["recent", `Recent ${first.name}`, "Of predictions made before each of about the last 1,000 rows was learned"],
    ["rows", "Rows learned", "Acknowledged rows that the model has learned"],
    ["honest", isNumeric(model) ? "Mean absolute error on random rows" : "Accuracy on random rows", "Labelled rows that were drawn at random, with the 95 % interval"],
    ["asked", "Asked for a label", "Predictions among the least certain ones"],
  ].map(([key, title, hint]) => [key, tile(title, hint)]));
  const decided = decides(model) ? decisionFigures(model.name) : null;
  const gain = h("p", { class: "muted" });
  const signs = h("div");
  const byTime = h("input", { type: "checkbox", id: "by-time" });
  const xFormat = (x) => (byTime.checked ? clock(x) : count(Math.round(x)));
  const xName = () => (byTime.checked ? "time" : "rows learned");
  const courses = measures.map((one) => ({ ...one, chart: lineChart({ title: one.title, x: xFormat, y: one.axis, xName, yName: one.unit, top: one.top }) }));
  const rate = lineChart({ title: "Rows, last hour", x: clock, y: number, xName: "time", yName: "rows per second", top: 1 });
  const asked = lineChart({
    title: "Predictions asked for, last hour", x: clock, y: (y) => percent(y, 0), xName: "time", yName: "of predictions, %", top: 1,
  });
  const reliability = reliabilityChart(reliabilityOf(model));
  const table = h("dl", { class: "facts" });
  const element = h("div", {}, signs, decided?.element,
    h("section", { "aria-label": "Figures", class: "tiles" }, Object.values(tiles).map((one) => one.element)),
    gain,
    h("section", { "aria-label": "Charts" },
      h("p", { class: "switch" }, byTime, h("label", { for: "by-time" }, "Time instead of rows on the horizontal axis")),
      h("div", { class: "charts" }, courses.map((one) => one.chart.element), rate.element, asked.element, reliability.element,
        h("div", { class: "figure" }, h("h2", {}, "About the model"), table, manage(model.name, model.settings)))),
  );
  let last = null;

  function update(now, metrics) {
    const { random } = metrics.labelling, { recent } = metrics;
    const all = metrics.rows > recent.rows ? `${first.format(metrics[first.key])} over all rows` : ""; // which are the recent ones
    tiles.recent.set(metrics.rows ? first.format(recent[first.key]) : null, all);
    tiles.rows.set(count(metrics.rows), metrics.refused ? `${count(metrics.refused)} set aside` : "");
    tiles.asked.set(metrics.predicted ? percent(metrics.asked / metrics.predicted, 0) : null, `of ${counted(metrics.predicted, "prediction")}`);
    tiles.honest.set(random.answers ? (random.interval ? percent(random.accuracy, 0) : number(random.mae)) : null,
      random.interval ? `${percent(random.interval[0], 0)} to ${percent(random.interval[1], 0)}, n = ${count(random.answers)}` : `n = ${count(random.answers)}`);
    showSigns(signs, now);
    decided?.update(now.decisions);
    const told = gained(metrics.labelling.gain);
    setText(gain, told ? `${told}, if the learning curve goes on as before.` : "");
    for (const { key, chart } of courses) {
      const found = course(metrics.curve, key, byTime.checked);
      chart.update([{ name: "all rows so far", class: "first", points: found.total },
        { name: `last ${counted(found.window, "row")}`, class: "second", points: found.recent }]);
    }
    rate.element.hidden = metrics.history.length < 2; // a point is no course
    rate.update([
      { name: "learned", class: "first", points: metrics.history.map((one) => [one.time, one.learned]) },
      { name: "predicted", class: "second", points: metrics.history.map((one) => [one.time, one.predicted]) },
    ]);
    const shares = metrics.history.filter((one) => one.asked !== null);
    asked.element.hidden = shares.length < 2;
    asked.update([{ name: "asked for", class: "first", points: shares.map((one) => [one.time, one.asked]) }]);
    reliability.element.hidden = !metrics.reliability?.some((bin) => bin.rows > 0);
    if (metrics.reliability) reliability.update(metrics.reliability);
    const open = table.querySelector("details")?.open;
    fill(table, facts(now).map(([key, value]) => [h("dt", {}, key), h("dd", {}, value)]));
    if (open) table.querySelector("details").open = true;
    last = [now, metrics];
  }

  byTime.addEventListener("change", () => last && update(...last));
  return { element, update };
}

/** Show why a model has stopped, and its alarms; what is the same is left alone, since it is announced. */
function showSigns(place, model) {
  const told = [
    ...(model.failed ? [`${model.failed}. Restart the server, or train the model again.`] : []),
    ...(model.alarms ?? []).map((alarm) => `Alarm (${alarm.kind}) since ${clock(alarm.since)}: ${alarm.detail}`),
  ];
  if (place.dataset.told === JSON.stringify(told)) return;
  place.dataset.told = JSON.stringify(told);
  fill(place, told.map((text) => h("p", { class: "notice bad", role: "alert" }, text)));
}

function tile(title, hint) {
  const value = h("b", { class: "big" }), note = h("span", { class: "muted small" });
  const element = h("div", { class: "tile", title: hint }, h("h2", {}, title), value, note);
  return {
    element,
    /** Show a value and a note; without a value the tile says nothing and is left out. */
    set(text, more = "") {
      element.hidden = text === null;
      setText(value, text ?? "");
      setText(note, more);
    },
  };
}

/** A link to the rows that the model could not learn, with the reasons. */
function asideLink(model) {
  const href = modelPath(model.name, "/set-aside");
  return h("a", { href, target: "_blank" }, `${count(model.refused)} that could not be learned`);
}

function facts(model) {
  const settings = Object.entries(model.settings).filter(([key]) => !["reading", "classes", "task", "multilabel"].includes(key));
  const reading = Object.entries(model.settings.reading ?? {});
  return [
    ["Predicts", decides(model) ? "the reward of each action" : isNumeric(model) ? "a number per row" : model.multilabel ? "any number of classes per row" : "one class per row"],
    ...(isNumeric(model) ? [] : [
      [model.classes.length > CLASSES ? `${count(model.classes.length)} classes` : "Classes", classes(model.classes)],
      ["New classes", model.open ? "are added as they appear" : "are rejected"],
    ]),
    ["Features", count(model.features)],
    ...(model.entities === undefined ? [] : [["Entities", `${count(model.entities)}, one for each ${model.settings.key}`]]),
    ...(model.merged.length ? [["Merged from", model.merged.map(mergedText).join("; ")]] : []),
    ["Updates", count(model.updates)],
    ...(model.waiting ? [["Waiting rows", count(model.waiting)]] : []),
    ...(model.to_label ? [["To label", count(model.to_label)]] : []),
    ...(model.refused ? [["Set aside", asideLink(model)]] : []),
    ["Last event", `${count(model.seq)}, snapshot at ${count(model.snapshot)}`],
    ["Created", clock(model.created)],
    ...[...settings, ...reading].map(([key, value]) => [settingName(key), settingText(value)]),
  ];
}

/** Return what another server has contributed. */
function mergedText(one) {
  const rows = `${count(one.rows)} ${one.rows === 1 ? "row" : "rows"} of ${one.origin}`;
  return one.missing === null ? rows : `${rows}, which cannot be merged: ${one.missing}`;
}

/** Return the name of a setting as a heading. */
function settingName(key) {
  const name = key === "text" ? "text columns" : key.replaceAll("_", " ");
  return name[0].toUpperCase() + name.slice(1);
}

function classes(names) {
  if (names.length <= CLASSES) return names.join(", ") || "none yet";
  return [names.slice(0, CLASSES).join(", "), h("details", {}, h("summary", { class: "small" }, `${count(names.length - CLASSES)} more`), names.slice(CLASSES).join(", "))];
}

function manage(name, settings) {
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
    h("a", { class: "button quiet", href: modelPath(name, "/file"), download: `${name}.${settings.key === undefined ? "cw" : "ent"}` }, "Download the model"),
    h("a", { class: "button quiet", href: modelPath(name, "/exchange/label-studio"), download: `${name}.json` },
      "Rows for Label Studio"),
    remove);
}
