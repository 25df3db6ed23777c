// Labelling by keyboard.

import { absolute, modelPath } from "./api.js";
import { fill, h, isTyping, notify, setText } from "./dom.js";
import { count, labelText, number } from "./format.js";
import { labellerName } from "./labeller.js";
import { live, state } from "./live.js";
import { outbox, send, takeBack, waiting } from "./outbox.js";
import { HOLD_MS, Queue } from "./queue.js";
import { choices, helpDialog, progressPanel, rowCard } from "./label-parts.js";

const RENEW_MS = 60_000;
const RETRY_MS = 2000;
const UNDO_LENGTH = 200;

/** Show the labelling of a model; return a function that ends it. */
export function labelView(page, name) {
  const view = new Labelling(page, name);
  view.begin();
  return () => view.end();
}

class Labelling {
  constructor(page, name) {
    Object.assign(this, { page, name, history: [], answered: [], own: [], multilabel: false, text: [], ended: false });
    this.listeners = new AbortController();
  }

  async begin() {
    const path = `#/m/${encodeURIComponent(this.name)}`;
    this.card = h("section", { class: "row-card", tabindex: "-1", "aria-label": "Row to label" });
    this.choices = h("div", { class: "choices", role: "group", "aria-label": "Classes" });
    this.said = h("p", { class: "said", role: "status", "aria-live": "polite" });
    this.away = h("p", { class: "away-note", role: "status", "aria-live": "polite" });
    this.progress = progressPanel();
    this.guess = h("input", { type: "checkbox", id: "show-guess" });
    this.guess.checked = stored("confidently.guess") === "shown";
    this.help = helpDialog();
    const button = (text, key, run) => h("button", { type: "button", class: "quiet", onclick: run }, text, " ", h("kbd", {}, key));
    fill(this.page,
      h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Models"), " / ", h("a", { href: path }, this.name), " / label"),
      h("h1", { class: "visually-hidden" }, `Label rows of ${this.name}`),
      h("div", { class: "label-layout" },
        h("div", {}, this.away, this.card, this.choices,
          h("div", { class: "actions" }, button("Skip", "space", () => this.skip()), button("Undo", "⌫", () => this.undo()),
            button("Help", "?", () => this.help.showModal())),
          this.said),
        h("aside", { "aria-label": "Progress" }, this.progress.element,
          h("p", { class: "switch" }, this.guess, h("label", { for: "show-guess" }, "Show the model's guess before I answer")))),
      this.help);
    const signal = this.listeners.signal;
    this.guess.addEventListener("change", () => { store("confidently.guess", this.guess.checked ? "shown" : "hidden"); this.show(); });
    document.addEventListener("keydown", (event) => this.key(event), { signal });
    outbox.addEventListener("changed", () => this.showOutbox(), { signal });
    outbox.addEventListener("sent", () => this.refill(), { signal });
    outbox.addEventListener("refused", () => this.refill(), { signal });
    live.addEventListener("online", () => this.reconnect(), { signal });
    live.addEventListener("models", () => { this.readSettings(); if (!this.queue?.current) this.refill(); }, { signal });
    this.renewal = setInterval(() => this.refill(), RENEW_MS);
    this.clock = setInterval(() => this.showProgress(), 5000);
    this.readSettings();
    this.showOutbox();
    this.queue = new Queue(this.name, await labellerName());
    for (const operation of waiting()) if (operation.model === this.name) this.queue.done.add(operation.id);
    await this.refill();
  }

  end() {
    this.ended = true;
    this.listeners.abort();
    clearInterval(this.renewal);
    clearInterval(this.clock);
    clearTimeout(this.retry);
  }

  reconnect() {
    this.showOutbox();
    if (state.online) {
      this.queue?.reconnected();
      setTimeout(() => this.refill(), HOLD_MS + 100);
    }
    this.refill();
  }

  readSettings() {
    const model = state.models?.find((one) => one.name === this.name);
    if (!model) return;
    this.text = model.settings.reading?.text ?? [];
    const changed = this.multilabel !== model.multilabel || this.open !== model.open;
    Object.assign(this, { multilabel: model.multilabel, open: model.open });
    if (changed && this.queue) this.show();
  }

  /** The classes in an order that lasts, so that keys keep their meaning when a class is added. */
  get classes() {
    const known = this.queue.classes.filter((label) => !this.own.includes(label));
    this.own.push(...known);
    return this.own;
  }

  // --- rows ---------------------------------------------------------------------------------------------------------

  async refill() {
    if (this.ended || !this.queue) return;
    clearTimeout(this.retry);
    try {
      await this.queue.refill();
    } catch (error) {
      if (error.status === 404) {
        fill(this.card, h("p", { class: "notice bad" }, `There is no model ${this.name}.`));
        return;
      }
      this.retry = setTimeout(() => this.refill(), RETRY_MS);
      if (!this.queue.progress) return;
    }
    if (this.ended) return;
    if (this.queue.lost) notify("Another labeller has the row that was shown here; this is the next one.");
    if (this.shown !== this.content()) this.show();
    this.showProgress();
  }

  show() {
    if (!this.queue) return;
    const row = this.queue.current;
    this.shown = this.content();
    this.selected = new Set();
    fill(this.card, row ? rowCard(row, this.text, this.guess.checked) : emptyCard(this.name, state.online));
    this.choices.hidden = !row;
    fill(this.choices, row ? choices({
      classes: this.classes, multilabel: this.multilabel, open: this.open ?? true,
      choose: (label) => this.choose(label), done: () => this.answer([...this.selected]), add: (label) => this.addClass(label),
    }) : null);
  }

  /** Return what the view depends on. */
  content() {
    return JSON.stringify([this.queue.current ?? state.online, this.classes]);
  }

  next() {
    this.show();
    this.card.focus({ preventScroll: true });
    if (this.queue.isLow) this.refill();
    this.showProgress();
  }

  // --- what people do -----------------------------------------------------------------------------------------------

  choose(label) {
    if (!this.multilabel) return this.answer(label);
    if (!this.selected.delete(label)) this.selected.add(label);
    for (const button of this.choices.querySelectorAll("[data-class]")) {
      button.setAttribute("aria-pressed", String(this.selected.has(button.dataset.class)));
    }
  }

  answer(label) {
    if (!this.queue?.current) return;
    const row = this.queue.take();
    const key = send({ kind: "answer", model: this.name, id: row.id, label, labeller: this.queue.labeller, again: row.again });
    this.remember({ row, key, kind: "answer" });
    this.answered.push(Date.now());
    this.say(label, row);
    this.next();
  }

  skip() {
    if (!this.queue?.current) return;
    const row = this.queue.take();
    const key = send({ kind: "skip", model: this.name, id: row.id, labeller: this.queue.labeller });
    this.remember({ row, key, kind: "skip" });
    setText(this.said, "Skipped.");
    this.next();
  }

  remember(step) {
    this.history.push(step);
    if (this.history.length > UNDO_LENGTH) this.history.shift();
  }

  async undo() {
    const step = this.history.pop();
    if (!step) {
      setText(this.said, "There is nothing to undo.");
      return;
    }
    this.queue.putBack(step.row, step.kind === "answer");
    if (step.kind === "answer") this.answered.pop();
    const unsent = takeBack(step.key);
    setText(this.said, step.kind === "answer" ? "The answer was undone." : "The row is here again.");
    this.next();
    if (!(await unsent) && step.kind === "answer") send({ kind: "undo", model: this.name, id: step.row.id });
  }

  addClass(label) {
    if (!label) return;
    if (!this.own.includes(label)) this.own.push(label);
    if (this.multilabel) { this.show(); this.choose(label); } else this.answer(label);
  }

  say(label, row) {
    const guess = row.guess === null || row.guess === undefined ? "nothing yet" : labelText(row.guess);
    const agrees = labelText(label) === guess;
    const why = h("a", { href: `#/m/${encodeURIComponent(this.name)}/explain`, onclick: () => store("confidently.row", JSON.stringify(row.features), sessionStorage) }, "Why?");
    fill(this.said, "You: ", h("b", {}, labelText(label)), " · Model: ", h("b", { class: agrees ? "agrees" : "differs" }, guess),
      ` (margin ${number(row.certainty)} σ from zero) `, row.guess === null ? null : why);
  }

  key(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (isTyping(event) && event.target.type !== "checkbox") return;
    if (document.querySelector("dialog[open]")) return;
    const onControl = event.target.closest?.("button, a, input, summary");
    if (onControl && [" ", "Enter"].includes(event.key)) return; // which presses the control
    const run = this.shortcut(event.key);
    if (!run) return;
    event.preventDefault();
    run();
  }

  shortcut(key) {
    if (key === " ") return () => this.skip();
    if (key === "Backspace") return () => this.undo();
    if (key === "?") return () => this.help.showModal();
    if (!this.queue?.current) return null;
    if (key === "Enter") return this.multilabel ? () => this.answer([...this.selected]) : null;
    const classes = this.classes;
    const k = /^[0-9]$/.test(key) ? (Number(key) + 9) % 10 : classes.length === 2 ? ["a", "x"].indexOf(key.toLowerCase()) : -1;
    return k >= 0 && k < classes.length ? () => this.choose(classes[k]) : null;
  }

  // --- what is shown beside the row ---------------------------------------------------------------------------------

  showProgress() {
    if (this.queue?.progress) this.progress.update(this.queue.progress, this.answered);
  }

  showOutbox() {
    const n = waiting().filter((operation) => operation.kind !== "undo").length;
    const kept = n ? ` ${count(n)} ${n === 1 ? "answer is" : "answers are"} kept in this browser and will be sent.` : "";
    setText(this.away, state.online ? "" : `The server cannot be reached.${kept || " You can continue with the rows that are here."}`);
  }
}

function emptyCard(name, online) {
  return [
    h("h2", {}, online ? "Nothing to label" : "No more rows here"),
    h("p", {}, online
      ? "Rows appear here when they are predicted with an id and have no label yet:"
      : "More rows come when the server is back."),
    online ? h("pre", {}, `curl ${absolute(modelPath(name, "/predict"))} \\\n  -d '{"id": "row-1", "features": {"text": "..."}}'`) : null,
  ];
}

function stored(key) {
  try { return localStorage.getItem(key); } catch { return null; }
}

function store(key, value, storage = localStorage) {
  try { storage.setItem(key, value); } catch { /* it lasts as long as the page */ }
}
