// Why a row is predicted so: what each feature adds to the margin of a class, or to the number.

import { may, modelPath, request } from "./api.js";
import { fill, h, setText } from "./dom.js";
import { counted, labelText, number, percent, shown } from "./format.js";

const SHOWN = 20; // features
const CLASSES = 10; // the most probable ones
const RECENT = 8; // rows

/** Show the explanation of a row; return a function that ends it. */
export function explainView(page, name) {
  const text = h("textarea", { id: "features", rows: 7, spellcheck: "false" });
  const about = h("select", { id: "about" }, h("option", { value: "" }, "as predicted"));
  const id = h("input", { id: "row-id", autocomplete: "off" });
  const error = h("p", { class: "error", role: "alert" });
  const result = h("section", { "aria-live": "polite", "aria-label": "Explanation" });
  const recent = h("div", { class: "recent" });
  const aboutField = h("span", { class: "inline" }, h("label", { for: "about" }, "Class"), about);
  const explainForm = h("form", {},
    h("div", { class: "field" }, h("label", { for: "features" }, "Row, a JSON object"), text),
    h("div", { class: "inline" }, aboutField, h("button", { class: "primary" }, "Explain")));
  const findForm = h("form", { class: "inline" }, h("label", { for: "row-id" }, "Id of a stored row"), id, h("button", { class: "quiet" }, "Look up"));
  fill(page,
    h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Models"), " / ", h("a", { href: `#/m/${encodeURIComponent(name)}` }, name), " / explain"),
    h("h1", {}, "Why this prediction?"),
    h("div", { class: "explain-layout" }, h("div", {}, may("admin") ? findForm : null, explainForm, error, recent), result));

  async function explain() {
    setText(error, "");
    let features;
    try {
      features = JSON.parse(text.value);
    } catch {
      setText(error, 'The row is not JSON; expected an object such as {"n_links": 4}.');
      return;
    }
    try {
      const body = { features, ...(about.value ? { about: about.value } : {}) };
      const found = await request("POST", modelPath(name, "/explain"), body);
      fill(result, explanation(found));
      const chosen = about.value;
      aboutField.hidden = found.classes === undefined;
      fill(about, h("option", { value: "" }, "as predicted"), (found.classes ?? []).map((one) => h("option", { value: String(one.name) }, labelText(one.name))));
      about.value = chosen;
    } catch (problem) {
      setText(error, problem.message);
    }
  }

  function show(features) {
    text.value = JSON.stringify(features, null, 1);
    about.value = "";
    explain();
  }

  explainForm.addEventListener("submit", (event) => { event.preventDefault(); explain(); });
  about.addEventListener("change", explain);
  findForm.addEventListener("submit", async (event) => {
    event.preventDefault();
    setText(error, "");
    try {
      show((await request("GET", modelPath(name, `/examples/${encodeURIComponent(id.value)}`))).features);
    } catch (problem) {
      setText(error, problem.message);
    }
  });
  begin();

  async function begin() {
    let given = null;
    try {
      given = sessionStorage.getItem("confidently.row");
      sessionStorage.removeItem("confidently.row");
    } catch { /* nothing was handed over */ }
    if (given) show(JSON.parse(given));
    if (!may("admin")) return;
    try {
      const model = await request("GET", modelPath(name));
      const rows = await request("GET", modelPath(name, `/examples?after=${Math.max(0, model.seq - 4 * RECENT)}&limit=${4 * RECENT}`));
      const last = (rows ?? []).slice(-RECENT).reverse();
      if (!last.length) return;
      fill(recent, h("h2", { class: "small-heading" }, "Recent rows"), h("ul", {}, last.map((row) => h("li", {},
        h("button", { type: "button", class: "recent-row", onclick: () => show(row.features) },
          h("span", { class: "tag" }, labelText(row.label)), " ", preview(row.features))))));
      if (!text.value) show(last[0].features);
    } catch (problem) {
      setText(error, problem.message);
    }
  }

  return () => {};
}

function preview(features) {
  return Object.values(features).map(shown).sort((a, b) => b.length - a.length).join(" · ").slice(0, 120);
}

/** Return the elements of an explanation. */
export function explanation(given, title = "Predicted: ") {
  if (given.classes === undefined) return ofNumber(given, title);
  const found = given.predicted !== null && given.rival === given.predicted ? turned(given) : given;
  const deviation = Math.sqrt(found.variance);
  const classes = [...found.classes].sort((a, b) => b.probability - a.probability), others = classes.slice(CLASSES);
  const rest = others.reduce((sum, one) => sum + one.probability, 0), ofSets = Array.isArray(found.predicted);
  const probabilities = classes.slice(0, CLASSES).map((one) => h("tr", { class: String(one.name) === labelText(found.predicted) ? "chosen" : null },
    h("th", { scope: "row" }, labelText(one.name)), h("td", { class: "number" }, percent(one.probability)),
    h("td", { class: "bar-cell" }, bar(0, one.probability, "first"))));
  const against = found.rival === null ? "its absence" : labelText(found.rival);
  return [
    h("h2", {}, title, h("span", { class: "answer" }, labelText(found.predicted))),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Probabilities" },
      h("table", { class: "table bars" }, h("caption", { class: "visually-hidden" }, "Probabilities of the classes"),
        h("thead", { class: "visually-hidden" }, h("tr", {}, ["Class", "Probability", "Bar"].map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, probabilities))),
    others.length ? h("p", { class: "muted small" }, `${counted(others.length, "other class", "other classes")}: ${ofSets ? `at most ${percent(others[0].probability)} each` : `${percent(rest)} together`}`) : null,
    h("p", {}, "Margin of ", h("b", {}, labelText(found.supported)), " over ", h("b", {}, against), `: ${signed(found.mean)} ± ${number(deviation)}, `,
      `${number(Math.abs(found.mean) / (deviation || 1))} standard deviations from zero.`),
    parts("What each feature adds to the margin", "Feature", features(found), sidesOf(found)),
    found.members.length ? parts("What each learner adds", "Learner", found.members, sidesOf(found)) : null,
  ];
}

/** Return the elements of an explanation of a number. */
function ofNumber(found, title) {
  return [
    h("h2", {}, title, h("span", { class: "answer" }, number(found.predicted)), ` ± ${number(found.std)}`),
    h("p", {}, `The sum of ${number(found.offset)}, for every row, and of what the features of this one add. After ± is the standard deviation.`),
    parts("What each feature adds", "Feature", features(found), "lower ← → higher"),
    found.members.length ? parts("What each learner adds", "Learner", found.members, "lower ← → higher") : null,
  ];
}

const features = (found) => found.contributions.map((one) => ({ ...one, name: one.feature }));
const sidesOf = (found) => `${found.rival === null ? "without" : labelText(found.rival)} ← → ${labelText(found.supported)}`;

/** Return an explanation of the margin of the other one of two classes, which is the negative of it. */
function turned(found) {
  const negative = (parts) => parts.map((one) => ({ ...one, mean: -one.mean, ...(one.weight === undefined ? {} : { weight: -one.weight }) }));
  return {
    ...found, supported: found.rival, rival: found.supported, mean: -found.mean, contributions: negative(found.contributions), members: negative(found.members),
  };
}

/** Return a table of what each part adds, the largest first. */
function parts(title, head, given, sides) {
  const rows = [...given].sort((a, b) => Math.abs(b.mean) - Math.abs(a.mean));
  const most = Math.max(...rows.map((one) => Math.abs(one.mean)), 1e-12);
  const rest = rows.slice(SHOWN);
  const valued = rows.some((one) => one.value !== undefined);
  const columns = [head, ...(valued ? ["Value", "Weight"] : []), "Adds", sides];
  const line = (one) => h("tr", {},
    h("th", { scope: "row" }, one.name, one.known === false ? h("span", { class: "tag" }, "unknown") : null),
    valued ? [one.value, one.weight].map((x) => h("td", { class: "number wide-only" }, minus(x))) : null,
    h("td", { class: "number" }, signed(one.mean)),
    h("td", { class: "bar-cell" }, bar(Math.min(one.mean / most, 0), Math.max(one.mean / most, 0), one.mean < 0 ? "second" : "first", true)));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
    h("table", { class: "table bars" }, h("caption", {}, title),
      h("thead", {}, h("tr", {}, columns.map((text) => h("th", { scope: "col", class: ["Value", "Weight"].includes(text) ? "wide-only" : null }, text)))),
      h("tbody", {}, rows.slice(0, SHOWN).map(line),
        rest.length ? line({ name: `${rest.length} others`, value: null, weight: null, mean: rest.reduce((sum, one) => sum + one.mean, 0) }) : null)));
}

const minus = (x) => number(x).replace(/^-/, "−");
const signed = (x) => (x < 0 ? `−${number(-x)}` : `+${number(x)}`);

/** Return a bar from low to high; of 0 to 1, or of -1 to 1. */
function bar(low, high, name, both = false) {
  const place = (x) => (both ? 50 + 50 * x : 100 * x);
  const inner = h("span", { class: `bar ${name}` });
  inner.style.left = `${place(low)}%`;
  inner.style.width = `${place(high) - place(low)}%`;
  return h("span", { class: both ? "bar-track both" : "bar-track", "aria-hidden": "true" }, inner);
}
