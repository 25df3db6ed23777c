// The life of a model: its versions side by side, other settings, batches and classes that can be corrected.

import { may, modelPath, request } from "./api.js";
import { course, lineChart } from "./chart.js";
import { confirmed } from "./confirm.js";
import { fill, h, notify, setText } from "./dom.js";
import { clock, count, counted, percent, settingText } from "./format.js";
import { isNumeric, measureOf, measuresOf } from "./measures.js";
import { rowsPath } from "./rows.js";

const POLL_MS = 2000;
const LINES = ["first", "second", "third", "fourth", "fifth"];
const STATES = {
  live: "answers", shadow: "follows, does not answer", promoting: "is trained, then answers", next: "is trained, then replaces the one that answers",
  retired: "only its settings are kept",
};

/** Show the view; return a function that ends it. */
export function lifeView(page, name) {
  let chart = null;
  const versions = h("section", { "aria-labelledby": "versions-title" });
  const edits = h("section", { "aria-labelledby": "batches-title" });
  const classes = h("section", { "aria-labelledby": "classes-title" });
  const body = h("div", { class: "life" });
  const settings = settingsForm(name, refresh);
  fill(page,
    h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Models"), " / ", h("a", { href: `#/m/${encodeURIComponent(name)}` }, name), " / versions and corrections"),
    h("h1", {}, "Versions and corrections"), body);
  let ended = false, before = "";

  async function refresh() {
    try {
      const [model, found] = await Promise.all([request("GET", modelPath(name)), request("GET", modelPath(name, "/versions"))]);
      const [batches, edited] = may("admin")
        ? await Promise.all([request("GET", modelPath(name, "/batches")), request("GET", modelPath(name, "/edits"))])
        : [{ batches: [] }, { edits: [] }];
      const now = JSON.stringify([found, batches, edited, model.classes]);
      if (ended || now === before) return;
      before = now;
      if (!chart) {
        chart = errorChart(measureOf(model));
        fill(body, chart.element, versions, may("admin") ? settings.element : null, may("admin") ? [edits, isNumeric(model) ? null : classes] : null);
      }
      settings.take(model);
      draw(chart, found.versions, measureOf(model).key);
      fill(versions, versionTable(model, found, refresh));
      fill(edits, batchTable(name, batches.batches, refresh));
      fill(classes, classTable(name, model, edited.edits, refresh));
    } catch (problem) {
      if (problem.status !== 404 || ended) return;
      ended = true;
      fill(body, h("p", { class: "notice bad" }, `There is no model ${name}.`));
    }
  }

  const timer = setInterval(() => { if (!ended && !classes.contains(document.activeElement)) refresh(); }, POLL_MS); // not while typing
  refresh();
  return () => { ended = true; clearInterval(timer); };
}

function errorChart({ name, unit, axis, top }) {
  const title = `Progressive ${name} of each version, over the same rows`;
  return lineChart({ title, x: (x) => count(Math.round(x)), y: axis, xName: "rows learned", yName: unit, top });
}

function draw(chart, versions, key) {
  const alive = versions.filter((one) => one.state !== "retired" && one.rows).reverse();
  chart.update(alive.map((one, k) => ({ name: `version ${one.version}`, class: LINES[k], points: course(one.curve, key, false).total })));
}

/** Send a request that begins a training; say what follows. */
async function change(refresh, said, ask) {
  try {
    const found = await ask();
    notify(found.state === "live" ? `${said}.` : `${said}: version ${found.version} is being trained, and answers when it has learned all rows.`, "good");
  } catch (problem) {
    notify(`Nothing was changed: ${problem.message}`, "bad");
  }
  refresh();
}

// --- versions --------------------------------------------------------------------------------------------------------

function versionTable(model, { versions, before }, refresh) {
  const { name } = model, [first, second] = measuresOf(model);
  const live = versions.find((one) => one.state === "live");
  const back = h("button", { type: "button", class: "quiet", onclick: () => change(refresh, `Version ${before} answers again`, () => request("POST", modelPath(name, "/rollback"))) }, `Roll back to version ${before}`);
  return [
    h("div", { class: "heading" }, h("h2", { id: "versions-title" }, "Versions"), may("admin") && before !== null ? h("div", { class: "actions" }, back) : null),
    h("div", { class: "scrolled", tabindex: 0, role: "group", "aria-labelledby": "versions-title" }, h("table", { class: "versions" },
      h("thead", {}, h("tr", {}, ["Version", "State", "Settings"].map((text) => h("th", { scope: "col", class: text === "Settings" ? "wide-only" : null }, text)),
        ["Rows", ...(isNumeric(model) ? ["MAE", "Recent MAE", "RMSE"] : ["Error", "Recent error", "Log-loss"])].map((text) => h("th", { scope: "col", class: "figure-cell" }, text)), h("td"))),
      h("tbody", {}, versions.map((one) => versionRow(model, one, live, refresh))))),
  ];
}

function versionRow(model, one, live, refresh) {
  const { name } = model, [first, second] = measuresOf(model);
  const alive = one.state !== "retired";
  const state = one.failed ? h("span", { class: "error" }, one.failed)
    : [STATES[one.state], one.progress < 1 && alive && one.state !== "live" ? ` (${percent(one.progress, 0)} of the rows)` : ""];
  const figures = alive ? [count(one.rows), first.format(one[first.key]), first.format(one.recent[first.key]), second.format(one[second.key])] : ["", "", "", ""];
  return h("tr", { class: one === live ? "chosen" : "" },
    h("th", { scope: "row" }, String(one.version), h("span", { class: "muted small" }, ` ${one.reason}, ${clock(one.created)}`), h("span", { class: "muted small narrow-only" }, settingsText(one.settings))),
    h("td", {}, state), h("td", { class: "wide-only" }, settingsText(one.settings)),
    figures.map((text) => h("td", { class: "figure-cell" }, text)),
    h("td", {}, may("admin") && one.state !== "live" ? h("div", { class: "row-actions" },
      h("button", { type: "button", class: "quiet", onclick: async () => {
        const told = alive ? "It answers as soon as it has learned all rows. The version that answers now goes on as a shadow, so you can roll back."
          : "It is trained from the log first. The version that answers now goes on as a shadow, so you can roll back.";
        if (await confirmed(`Let version ${one.version} answer?`, told, "Promote")) {
          change(refresh, `Version ${one.version} answers`, () => request("POST", modelPath(name, `/versions/${one.version}/promote`)));
        }
      } }, "Promote"),
      alive ? h("button", { type: "button", class: "danger", onclick: async () => {
        if (await confirmed(`Delete version ${one.version}?`, "It is no longer trained, and its files are removed. Its settings stay listed.", "Delete", true)) {
          change(refresh, `Version ${one.version} is deleted`, () => request("DELETE", modelPath(name, `/versions/${one.version}`)));
        }
      } }, "Delete") : null) : null));
}

function settingsText(settings) {
  const found = Object.entries(settings).map(([key, value]) => `${key.replaceAll("_", " ")}: ${settingText(value)}`);
  return found.length ? found.join("; ") : "defaults";
}

function settingsForm(name, refresh) {
  const text = h("textarea", { id: "other-settings", rows: 5, spellcheck: "false" });
  const error = h("p", { class: "error", role: "alert" });
  const form = h("form", {}, h("div", { class: "field" },
    h("label", { for: "other-settings" }, "Settings, a JSON object"), text,
    h("p", { class: "muted small" }, "A version with these settings is trained from the log as a shadow; answers go on as they are.")),
  error, h("button", { class: "quiet" }, "Train a shadow"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    setText(error, "");
    let settings;
    try {
      settings = JSON.parse(text.value);
    } catch {
      setText(error, 'The settings are not JSON; expected an object such as {"auto": true}.');
      return;
    }
    try {
      await request("PUT", modelPath(name), settings);
      refresh();
    } catch (problem) {
      setText(error, problem.message);
    }
  });
  return {
    element: h("details", {}, h("summary", {}, "Try other settings"), form),
    take(model) { if (!text.value) text.value = JSON.stringify(model.settings, null, 1); },
  };
}

// --- batches and classes ---------------------------------------------------------------------------------------------

function batchTable(name, batches, refresh) {
  const title = h("h2", { id: "batches-title" }, "Batches");
  if (!batches.length) return [title, h("p", { class: "muted" }, "Rows that are sent with ?batch=NAME, or from a file, can be taken out again here.")];
  return [title, h("div", { class: "scrolled", tabindex: 0, role: "group", "aria-labelledby": "batches-title" }, h("table", { class: "versions" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Batch"), h("th", { scope: "col", class: "figure-cell" }, "Rows"), h("th", { scope: "col", class: "wide-only" }, "Since"), h("td"))),
    h("tbody", {}, batches.map((one) => h("tr", { class: one.edit ? "out" : "" },
      h("th", { scope: "row", dir: "auto" }, h("a", { href: rowsPath(name, { batch: one.batch }) }, one.batch), one.edit ? h("span", { class: "muted small" }, " taken out") : null),
      h("td", { class: "figure-cell" }, count(one.rows)), h("td", { class: "wide-only" }, clock(one.created)),
      h("td", {}, one.edit
        ? h("button", { type: "button", class: "quiet", onclick: () => change(refresh, `${one.batch} is back`, () => request("DELETE", modelPath(name, `/edits/${one.edit}`))) }, "Put back")
        : h("button", { type: "button", class: "danger", onclick: async () => {
          const told = `A version is trained without its ${counted(one.rows, "row")}, and then replaces the one that answers. The rows stay in the log: the batch can be put back.`;
          if (await confirmed(`Take ${one.batch} out?`, told, "Take out", true)) {
            change(refresh, `${one.batch} is taken out`, () => request("DELETE", modelPath(name, `/batches/${encodeURIComponent(one.batch)}`)));
          }
        } }, "Take out"))))))),
  ];
}

function classTable(name, model, edits, refresh) {
  const from = h("select", { id: "edit-from" }, model.classes.map((one) => h("option", {}, one)));
  const to = h("input", { id: "edit-to", list: "edit-classes", autocomplete: "off", dir: "auto" });
  const form = h("form", { class: "inline" },
    h("label", { for: "edit-from" }, "Class"), from, h("label", { for: "edit-to" }, "is called"), to,
    h("datalist", { id: "edit-classes" }, model.classes.map((one) => h("option", { value: one }))),
    h("button", { class: "quiet" }, "Rename or merge"),
    h("button", { type: "button", class: "danger", onclick: async () => {
      if (await confirmed(`Remove ${from.value}?`, "A version is trained without the rows of this class, and then replaces the one that answers. The rows stay in the log.", "Remove", true)) {
        change(refresh, `${from.value} is removed`, () => request("POST", modelPath(name, "/edits"), { from: from.value }));
      }
    } }, "Remove the class"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const target = to.value.trim();
    if (!target) return to.focus();
    const merges = model.classes.includes(target);
    const told = `Rows labelled ${from.value} so far count as ${target}. A version is trained so, and then replaces the one that answers. This can be reverted.`;
    if (await confirmed(merges ? `Merge ${from.value} into ${target}?` : `Rename ${from.value} to ${target}?`, told, merges ? "Merge" : "Rename")) {
      change(refresh, `${from.value} is ${target}`, () => request("POST", modelPath(name, "/edits"), { from: from.value, to: target }));
    }
  });
  const found = edits.filter((one) => one.from !== null);
  return [
    h("h2", { id: "classes-title" }, "Classes"),
    model.classes.length ? form : h("p", { class: "muted" }, "No class so far."),
    found.length ? h("ul", { class: "edits" }, found.map((one) => h("li", {},
      h("span", { dir: "auto" }, one.to === null ? `${one.from} is removed` : `${one.from} is ${one.to}`),
      h("span", { class: "muted small" }, `, since ${clock(one.time)}${one.answers ? "" : ", being trained"} `),
      h("button", { type: "button", class: "quiet", onclick: () => change(refresh, "The edit is reverted", () => request("DELETE", modelPath(name, `/edits/${one.edit}`))) }, "Revert")))) : null,
  ];
}
