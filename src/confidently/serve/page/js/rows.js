// The rows of a model as a table: searched, filtered, counted. Every state of it has an address.

import { may, modelPath, request } from "./api.js";
import { fill, h, isTyping, setText } from "./dom.js";
import { clock, count, counted, labelText, number, percent, shown } from "./format.js";
import { live, state as server } from "./live.js";
import { decides, textsOf } from "./measures.js";

const FILTERS = ["text", "label", "predicted", "outcome", "state", "by", "batch", "since", "until"];
const NAMES = {
  text: "Text", label: "Label", predicted: "Predicted", outcome: "Prediction", state: "State", by: "Labelled by", batch: "Batch", since: "From", until: "Before",
};
const FACETS = ["outcome", "label", "predicted", "by", "state"];
const MOST = 10; // values of a facet that are shown at first
const ROWS = 50;
const TYPING_MS = 300;
const PREVIEW = 300; // characters
const seen = { model: null, query: "", ids: [] }; // the page that was shown last, for the view of one row

/** Return the address of the rows of a model that filters leave, an object or what is after "?". */
export function rowsPath(name, filters = "") {
  const query = new URLSearchParams(filters).toString();
  return `#/m/${encodeURIComponent(name)}/rows${query ? `?${query}` : ""}`;
}

/** Return the address of a row; a query says in which list it stands. */
export const rowPath = (name, id, query = "") => `#/m/${encodeURIComponent(name)}/row/${encodeURIComponent(id)}${query ? `?${query}` : ""}`;

/** Return the rows before and after one in the list that was shown last. */
export function neighbours(name, id) {
  const at = seen.model === name ? seen.ids.indexOf(id) : -1;
  return at < 0 ? null : { before: seen.ids[at - 1], after: seen.ids[at + 1], at: at + 1, n: seen.ids.length, query: seen.query };
}

/** Return the columns of a model that are texts. */
export const textColumns = (name) => textsOf(server.models?.find((one) => one.name === name));

/** Return whether the rows of a model are decisions, whose labels are rewards. */
const areDecisions = (name) => Boolean(server.models?.some((one) => one.name === name && decides(one)));

/** Show the rows; return a function that ends it. */
export function rowsView(page, name) {
  const view = new Rows(page, name);
  view.begin();
  return () => view.end();
}

class Rows {
  constructor(page, name) {
    Object.assign(this, { page, name, newest: 0, listeners: new AbortController(), loading: new AbortController() });
    this.query = new URLSearchParams(location.hash.split("?")[1] ?? "");
  }

  begin() {
    const path = `#/m/${encodeURIComponent(this.name)}`;
    this.search = h("input", { id: "search", type: "search", maxlength: 256, placeholder: "Words in the rows", autocomplete: "off", dir: "auto" });
    this.chips = h("ul", { class: "chips", "aria-label": "Filters" });
    this.told = h("p", { class: "muted small", role: "status" });
    this.fresh = h("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.go({}) }, "Show new rows");
    this.error = h("p", { class: "error", role: "alert" });
    this.table = h("div");
    this.facets = h("div");
    const counts = h("details", { open: matchMedia("(min-width: 56rem)").matches }, h("summary", { class: "filters" }, "Filters"), this.facets);
    const form = h("form", { class: "search", role: "search" }, h("label", { for: "search", class: "visually-hidden" }, "Search rows"), this.search, h("kbd", { "aria-hidden": "true" }, "/"));
    fill(this.page,
      h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Models"), " / ", h("a", { href: path }, this.name), " / rows"),
      h("div", { class: "heading" }, h("h1", {}, "Rows"), h("p", { class: "lead" }, this.name)));
    if (!may("admin")) {
      this.page.append(h("p", { class: "notice bad" }, "Looking through rows needs a token with the scope admin, as exporting them does."));
      return;
    }
    this.page.append(h("div", { class: "rows-layout" }, h("aside", { class: "facets-of-rows", "aria-label": "Counts" }, counts),
      h("div", {}, form, this.chips, this.error, h("div", { class: "told" }, this.told, this.fresh), this.table)));
    const signal = this.listeners.signal;
    form.addEventListener("submit", (event) => { event.preventDefault(); this.typed(); });
    this.search.addEventListener("input", () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.typed(), TYPING_MS); }, { signal });
    document.addEventListener("keydown", (event) => this.key(event), { signal });
    live.addEventListener("models", () => { this.showFresh(); if (!this.shown) this.load(); }, { signal });
    this.load();
  }

  end() {
    this.listeners.abort();
    this.loading.abort();
    clearTimeout(this.timer);
  }

  get filters() {
    return Object.fromEntries(FILTERS.filter((one) => this.query.get(one)).map((one) => [one, this.query.get(one)]));
  }

  typed() {
    clearTimeout(this.timer);
    const text = this.search.value.trim();
    if (text !== (this.query.get("text") ?? "")) this.go({ text: text || null }, true);
  }

  /** Change filters, null removes one; the address follows. */
  go(changes, replace = false) {
    this.query = new URLSearchParams(this.address(changes).split("?")[1] ?? "");
    history[replace ? "replaceState" : "pushState"](null, "", rowsPath(this.name, this.query));
    this.load();
  }

  address(changes) {
    const query = { ...this.filters, ...changes };
    return rowsPath(this.name, Object.fromEntries(Object.entries(query).filter(([, value]) => value !== null)));
  }

  link(changes, attributes, ...children) {
    const follow = (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.go(changes);
    };
    return h("a", { href: this.address(changes), onclick: follow, ...attributes }, children);
  }

  // --- asking -------------------------------------------------------------------------------------------------------

  async load() {
    this.loading.abort();
    this.loading = new AbortController();
    const { signal } = this.loading;
    if (document.activeElement !== this.search) this.search.value = this.query.get("text") ?? "";
    this.showChips();
    setText(this.error, "");
    setText(this.told, "Searching …");
    this.fresh.hidden = true;
    try {
      let before = this.query.get("before"), found;
      do {
        found = await request("GET", modelPath(this.name, `/rows?${this.asked({ limit: ROWS, ...(before ? { before } : {}) })}`), undefined, signal);
        before = found.before;
      } while (!found.rows.length && before !== null);
      this.show(found);
      await this.loadFacets(signal);
    } catch (error) {
      if (error.name === "AbortError") return;
      setText(this.told, "");
      setText(this.error, error.status === 404 ? `There is no model ${this.name}.` : error.message);
    }
  }

  asked(more = {}) {
    return new URLSearchParams({ ...this.filters, ...more }).toString();
  }

  async loadFacets(signal) {
    this.showFacets(await request("GET", modelPath(this.name, `/facets?${this.asked()}`), undefined, signal));
  }

  // --- showing ------------------------------------------------------------------------------------------------------

  show(found) {
    this.shown = found;
    Object.assign(seen, { model: this.name, query: this.asked(), ids: found.rows.map((row) => row.id) });
    if (!this.query.get("before")) this.newest = server.models?.find((one) => one.name === this.name)?.seq ?? 0;
    const paged = this.query.get("before") !== null;
    setText(this.told, found.rows.length ? "" : paged ? "No older rows." : Object.keys(this.filters).length ? "No row matches." : "No rows yet.");
    fill(this.table, found.rows.length ? this.tableOf(found.rows) : null,
      h("div", { class: "actions" },
        paged ? this.link({}, { class: "button quiet" }, "Newest rows") : null,
        found.before === null || !found.rows.length ? null : this.link({ before: found.before }, { class: "button quiet", rel: "next" }, "Older rows")));
  }

  tableOf(rows) {
    const texts = textColumns(this.name), guessed = rows.some((row) => row.predicted !== null), named = rows.some((row) => row.by !== null);
    const words = areDecisions(this.name) ? ["Decision", "Reward", "Expected, probability"] : ["Row", "Label", "Predicted"];
    const columns = [...words.slice(0, guessed ? 3 : 2), ...(named ? ["By"] : []), "Time"];
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows" },
      h("table", { class: "table rows-table" }, h("caption", { class: "visually-hidden" }, "Rows, the newest first"),
        h("thead", {}, h("tr", {}, columns.map((text) => h("th", { scope: "col", class: text === "By" || text === "Time" ? "wide-only" : null }, text)))),
        h("tbody", {}, rows.map((row) => h("tr", {},
          h("td", { class: "preview" }, h("a", { class: "row-link", href: rowPath(this.name, row.id, this.asked()), dir: "auto" }, preview(row, texts))),
          h("td", {}, labelCell(row)),
          guessed ? h("td", {}, guessCell(row)) : null,
          named ? h("td", { class: "wide-only" }, row.by ?? "") : null,
          h("td", { class: "wide-only muted when" }, clock(row.time)))))));
  }

  showChips() {
    const given = Object.entries(this.filters).filter(([key]) => key !== "text");
    fill(this.chips, given.map(([key, value]) => h("li", {},
      this.link({ [key]: null }, { class: "chip", "aria-label": `Remove the filter ${NAMES[key]} ${told(key, value)}` },
        h("span", { class: "muted" }, NAMES[key]), ` ${told(key, value)} `, h("span", { "aria-hidden": "true" }, "×")))));
    this.chips.hidden = !given.length;
  }

  showFacets(found) {
    const given = this.filters;
    const sections = FACETS.map((key) => {
      const values = Object.entries(found[key]);
      if (!values.length || (values.length === 1 && !given[key] && key !== "by")) return null;
      const item = ([value, n]) => h("li", {}, this.link({ [key]: given[key] === value ? null : value },
        { class: "facet", "aria-current": given[key] === value ? "true" : null },
        h("span", { class: "facet-name", dir: "auto" }, told(key, value)), h("span", { class: "muted" }, count(n))));
      return h("section", {}, h("h2", { class: "small-heading" }, NAMES[key]), h("ul", {}, values.slice(0, MOST).map(item)),
        values.length > MOST ? h("details", {}, h("summary", { class: "small" }, `${count(values.length - MOST)} more`), h("ul", {}, values.slice(MOST).map(item))) : null);
    });
    if (this.shown?.rows.length && !this.query.get("before")) {
      setText(this.told, found.since === null ? counted(found.rows, "row") : `${counted(found.rows, "row")} among the newest events; older ones are not counted`);
    }
    fill(this.facets, sections, this.times());
  }

  times() {
    const field = (key, text) => {
      const value = this.query.get(key);
      const input = h("input", { id: key, type: "date", value: value ? dayOf(Number(value)) : null });
      input.addEventListener("change", () => this.go({ [key]: input.value ? String(secondsOf(input.value)) : null }));
      return h("div", { class: "field" }, h("label", { for: key }, text), input);
    };
    return h("details", { open: Boolean(this.filters.since || this.filters.until) }, h("summary", { class: "small-heading" }, "Time"),
      field("since", "From"), field("until", "Before"));
  }

  showFresh() {
    const now = server.models?.find((one) => one.name === this.name)?.seq ?? 0;
    if (this.newest === 0) this.newest = now;
    this.fresh.hidden = !this.shown || this.query.get("before") !== null || now <= this.newest;
  }

  // --- keys ---------------------------------------------------------------------------------------------------------

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && event.target === this.search) return this.search.blur();
    if (isTyping(event)) return;
    const links = [...this.table.querySelectorAll(".row-link")], at = links.indexOf(document.activeElement);
    if (event.key === "/") this.search.focus();
    else if (event.key === "j") links[Math.min(at + 1, links.length - 1)]?.focus();
    else if (event.key === "k") links[Math.max(at - 1, 0)]?.focus();
    else return;
    event.preventDefault();
  }
}

/** Return the value of a filter as people read it. */
function told(key, value) {
  if (key === "since" || key === "until") return new Date(1000 * value).toLocaleDateString("en-GB", { dateStyle: "medium" });
  return key === "state" ? value.replaceAll("-", " ") : value;
}

/** Return a row in one line: its texts, then other values with their names. */
function preview(row, texts) {
  if (row.features === null) return h("span", { class: "muted" }, `${row.state}: its features are no longer stored`);
  const words = texts.filter((key) => key in row.features).map((key) => shown(row.features[key])).join(" · ");
  const rest = Object.entries(row.features).filter(([key]) => !texts.includes(key));
  let room = PREVIEW - words.length;
  const pairs = rest.filter(([key, value]) => (room -= key.length + shown(value).length + 2) > 0 || (!words && key === rest[0][0]));
  return [words.slice(0, PREVIEW), words && pairs.length ? " " : "",
    pairs.map(([key, value]) => h("span", { class: "pair" }, h("span", { class: "muted" }, key), ` ${shown(value).slice(0, PREVIEW)}`))];
}

function labelCell(row) {
  const label = row.label === null ? null : h("span", { dir: "auto" }, labelText(row.label));
  const given = wasGiven(row) ? h("span", { class: "given muted small" }, "given as ", h("span", { dir: "auto" }, labelText(row.logged))) : null;
  if (row.state === "set-aside") return [h("span", { class: "tag bad-tag", title: row.reason }, "set aside"), " ", label, given];
  if (row.state === "taken-out") return [h("span", { class: "tag", title: "Its batch or its class was taken out: the model has not learned it." }, "taken out"), given];
  return [label ?? h("span", { class: "muted" }, row.state === "erased" ? "erased" : "none"), given];
}

/** Return whether an edit has changed the label of a row. */
export const wasGiven = (row) => row.logged !== null && (row.label === null || labelText(row.label) !== labelText(row.logged));

function guessCell(row) {
  if (row.predicted === null) return null;
  return [h("span", { dir: "auto" }, guessText(row)), row.probability === null ? null : [" ", h("span", { class: "muted share" }, percent(row.probability, 0))], verdict(row)];
}

/** Return what was predicted of a row as text. */
export const guessText = ({ predicted }) => (Number.isFinite(predicted) && !Number.isInteger(predicted) ? number(predicted) : labelText(predicted));

/** Return whether the prediction of a row was wrong, or how far a number was from the label. */
export function verdict(row) {
  if (row.outcome === "wrong") return [" ", h("span", { class: "tag bad-tag" }, "wrong")];
  if (row.outcome !== null || row.label === null) return null;
  const off = Number(row.predicted) - Number(row.label);
  return [" ", h("span", { class: "muted small off" }, off === 0 ? "(exact)" : `(${number(Math.abs(off))} too ${off > 0 ? "high" : "low"})`)];
}

/** Return the day of a time as inputs have it, and the time at which a day begins. */
const dayOf = (seconds) => new Date(1000 * seconds - new Date(1000 * seconds).getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
const secondsOf = (day) => Math.floor(new Date(`${day}T00:00`).getTime() / 1000);
