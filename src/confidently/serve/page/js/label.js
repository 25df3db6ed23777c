// Labelling by keyboard.

import { absolute, may, modelPath } from "./api.js";
import { fill, h, isTyping, notify, setText } from "./dom.js";
import { count } from "./format.js";
import { askForReason, choices, emptyCard, helpDialog, numberField, rowCard, said } from "./label-parts.js";
import { progressPanel } from "./label-progress.js";
import { askForName, NOBODY, personName, seatOfTab } from "./labeller.js";
import { live, state } from "./live.js";
import { isNumeric, textsOf } from "./measures.js";
import { outbox, send, takeBack, waiting } from "./outbox.js";
import { classPicker } from "./picker.js";
import { HOLD_MS, Queue } from "./queue.js";
import { keep, kept } from "./storage.js";
import { speakingFor } from "./words.js";

const RENEW_MS = 60_000;
const RETRY_MS = 2000;
const UNDO_LENGTH = 200;
const FEW = 10; // classes that all have a key, which stays
const OFTEN_KEYS = "67890", ALL_KEYS = "1234567890";
const SCROLLS = { ArrowDown: 60, ArrowUp: -60, PageDown: 400, PageUp: -400 };

/** Show the labelling of a model; return a function that ends it. */
export function labelView(page, name) {
  const view = new Labelling(page, name);
  view.begin();
  return () => view.end();
}

class Labelling {
  constructor(page, name) {
    Object.assign(this, {
      page, name, history: [], answered: [], own: [], multilabel: false, numbers: false, open: true, reading: {}, encodes: false, keys: new Map(),
      selected: new Set(), words: null, ended: false,
    });
    this.listeners = new AbortController();
    this.often = frequent(this.counts());
  }

  async begin() {
    this.draw();
    const signal = this.listeners.signal;
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
    if (personName() === null) await askForName(this.page);
    await this.take();
  }

  /** Take rows as the person that this browser knows. */
  async take() {
    const seat = await seatOfTab();
    if (this.ended) return;
    const name = personName() ?? NOBODY;
    this.queue = new Queue(this.name, name, seat);
    this.shown = null;
    this.card.removeAttribute("data-row");
    fill(this.card, h("p", { class: "muted" }, "Loading"));
    fill(this.person, "You label ", name === NOBODY ? "without a name" : ["as ", h("b", { dir: "auto" }, name)], ". ",
      h("button", { type: "button", class: "link-button", onclick: () => this.rename() }, "Change"));
    for (const operation of waiting()) if (operation.model === this.name) this.queue.done.add(operation.id);
    await this.refill();
  }

  async rename() {
    await askForName(this.page);
    if (this.queue.labeller !== personName()) await this.take();
  }

  draw() {
    const path = `#/m/${encodeURIComponent(this.name)}`;
    this.card = h("section", { class: "row-card", tabindex: "0", "aria-label": "Row to label" });
    this.choices = h("div", { class: "choices", role: "group", "aria-label": "Classes" });
    this.why = h("p", { class: "hidden-guess" });
    this.picker = classPicker({ choose: (label) => this.choose(label), add: (label) => this.addClass(label), leave: () => this.focus() });
    this.said = h("p", { class: "said", role: "status", "aria-live": "polite" });
    this.away = h("p", { class: "away-note", role: "status", "aria-live": "polite" });
    this.person = h("p", { class: "small person" });
    this.progress = progressPanel();
    this.guess = this.check("show-guess", "confidently.guess", () => { this.underline.disabled = !this.guess.checked; this.show(); });
    this.underline = this.check("underline", "confidently.underline", () => this.explain());
    this.underline.disabled = !this.guess.checked;
    this.underlining = h("p", { class: "switch", hidden: true }, this.underline, h("label", { for: "underline" }, "Underline the words that speak for the guess"));
    this.help = helpDialog();
    const button = (text, key, run, kind = "quiet") => h("button", { type: "button", class: kind, onclick: run }, text, " ", h("kbd", { "aria-hidden": "true" }, key));
    this.answers = h("div", { class: "answers" }, this.why, this.choices,
      h("div", { class: "actions" }, this.picker.element, button("Skip", "space", () => this.skip()), button("Skip because …", "s", () => this.skipBecause()),
        button("Undo", "⌫", () => this.undo()), button("Help", "?", () => this.help.showModal(), "quiet of-keys")),
      this.said);
    fill(this.page,
      h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Models"), " / ", h("a", { href: path }, this.name), " / label"),
      h("h1", { class: "visually-hidden" }, `Label rows of ${this.name}`),
      h("div", { class: "label-layout" },
        h("div", { class: "label-main" }, this.away, this.card, this.answers),
        h("aside", { "aria-label": "Progress" }, this.progress.element,
          h("p", { class: "switch" }, this.guess, h("label", { for: "show-guess" }, "Show the model's guesses")),
          this.underlining,
          this.person)),
      this.help);
  }

  /** Return a switch that is on unless this browser keeps that it is off. */
  check(id, key, changed) {
    const input = h("input", { type: "checkbox", id });
    input.checked = kept(key) !== "hidden";
    input.addEventListener("change", () => { keep(key, input.checked ? "shown" : "hidden"); changed(); });
    return input;
  }

  end() {
    this.ended = true;
    this.listeners.abort();
    this.asking?.abort();
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
    this.reading = { ...model.settings.reading, text: textsOf(model) };
    this.encodes = model.encoder !== null;
    const numbers = isNumeric(model);
    this.underlining.hidden = !may("predict") || numbers || model.multilabel || this.encodes || !this.reading.text.length;
    const changed = this.multilabel !== model.multilabel || this.open !== model.open || this.numbers !== numbers;
    Object.assign(this, { multilabel: model.multilabel, open: model.open, numbers });
    if (changed && this.queue) this.show();
  }

  /** The classes in an order that lasts, so that keys keep their meaning when a class is added. */
  get classes() {
    const known = this.queue.classes.filter((label) => !this.own.includes(label));
    this.own.push(...known);
    return this.own;
  }

  /** Return whether the guess of a row is shown: not where it would bias what is measured. */
  showsGuess(row) {
    return this.guess.checked && !row.random && !row.second && row.guess !== null;
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
        this.answers.hidden = true;
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
    this.words = null;
    this.selected = new Set(row && this.multilabel && this.showsGuess(row) ? row.guess.map(String) : []);
    this.card.toggleAttribute("data-row", Boolean(row));
    if (row) this.card.dataset.row = row.id;
    fill(this.card, row ? rowCard(row, this.reading.text ?? []) : emptyCard(state.online, absolute(modelPath(this.name, "/predict"))));
    this.card.scrollTop = 0;
    this.answers.classList.toggle("without-row", !row);
    this.showChoices();
    this.explain();
  }

  /** Return what the view depends on. */
  content() {
    return JSON.stringify([this.queue.current?.id ?? state.online, this.classes]);
  }

  next() {
    this.show();
    this.focus();
    if (this.queue.isLow) this.refill();
    this.showProgress();
  }

  /** Put the focus where the next answer is given. */
  focus() {
    (this.field ?? this.card).focus({ preventScroll: true });
  }

  /** Show the answers that can be given to the row. */
  showChoices() {
    const row = this.queue?.current, classes = this.classes;
    this.field = null;
    this.keys = new Map();
    this.choices.hidden = !row;
    this.picker.element.hidden = true;
    setText(this.why, "");
    if (!row) return;
    if (this.guess.checked && (row.random || row.second)) {
      setText(this.why, row.second ? "No guess is shown here: some rows measure how far people agree." : `No guess is shown here: this row was drawn at random, to measure ${this.numbers ? "the error" : "accuracy"}.`);
    }
    if (this.numbers) {
      const { element, input } = numberField({ answer: (value) => this.answer(value), guess: this.showsGuess(row) ? row.guess : null });
      const typed = document.activeElement === document.body || document.activeElement === this.card;
      this.field = input;
      fill(this.choices, element);
      if (typed) input.focus({ preventScroll: true });
      return;
    }
    const buttons = classes.length <= FEW ? this.lasting(row) : this.probable(row);
    for (const { label, keys } of buttons) for (const key of keys) this.keys.set(key, label);
    fill(this.choices,
      classes.length ? null : h("p", { class: "muted" }, "This model has no classes yet. Name the class of this row:"),
      choices(buttons, (label) => this.choose(label)),
      this.multilabel ? h("button", { type: "button", class: "primary", onclick: () => this.answer([...this.selected]) }, "Done ", h("kbd", { "aria-hidden": "true" }, "enter")) : null);
    this.choices.classList.toggle("many", classes.length > FEW);
    this.picker.update(classes, this.open, classes.length <= FEW);
  }

  /** Return a button for each of a few classes, with keys that never change. */
  lasting(row) {
    const chances = this.chances(row);
    return this.classes.map((label, k) => this.button(label, [...(this.classes.length === 2 ? [["a", "x"][k]] : []), ALL_KEYS[k]], chances));
  }

  /** Return buttons for the most probable classes, for those chosen most often, and for those selected. */
  probable(row) {
    const chances = this.chances(row);
    const first = [...chances.keys()].map((label, k) => this.button(label, [ALL_KEYS[k]], chances));
    const keys = this.guess.checked ? OFTEN_KEYS : ALL_KEYS;
    const often = this.often.filter((label) => this.classes.includes(label)).slice(0, keys.length)
      .map((label, k) => this.button(label, [keys[k]], new Map()));
    for (const one of first) one.keys.push(...often.filter((other) => other.label === one.label).flatMap((other) => other.keys));
    const shown = [...first, ...often.filter((one) => !chances.has(one.label))];
    const more = [...this.selected].filter((label) => !shown.some((one) => one.label === label));
    return [...shown, ...more.map((label) => this.button(label, [], chances))];
  }

  /** Return the probabilities of the most probable classes, if they are shown. */
  chances(row) {
    return new Map(this.showsGuess(row) ? (row.top ?? []).map((one) => [one.label, one.probability]) : []);
  }

  button(label, keys, chances) {
    const row = this.queue.current;
    return {
      label, keys, probability: chances.get(label), pressed: this.multilabel ? this.selected.has(label) : undefined,
      guessed: !this.multilabel && this.showsGuess(row) && label === String(row.guess),
    };
  }

  /** Underline the words that speak for the guess, once the server has told them. */
  async explain() {
    const row = this.queue?.current, wanted = row && this.underline.checked && !this.numbers && may("predict") && this.showsGuess(row);
    this.asking?.abort();
    if (!wanted) return this.showWords(row, null);
    if (Array.isArray(row.guess) || this.encodes || !this.reading.text?.length) return;
    this.asking = new AbortController();
    try {
      this.showWords(row, await speakingFor(this.name, row, this.reading, this.asking.signal));
    } catch { /* the row is shown without */ }
  }

  showWords(row, words) {
    if (!row || this.queue.current !== row || this.words === words) return;
    const place = this.card.scrollTop;
    this.words = words;
    fill(this.card, rowCard(row, this.reading.text ?? [], words));
    this.card.scrollTop = place;
  }

  // --- what people do -----------------------------------------------------------------------------------------------

  choose(label) {
    if (!this.queue?.current) return;
    if (!this.multilabel) { this.answer(label); return; }
    if (!this.selected.delete(label)) this.selected.add(label);
    const button = [...this.choices.querySelectorAll("[data-class]")].find((one) => one.dataset.class === label);
    if (button) button.setAttribute("aria-pressed", String(this.selected.has(label)));
    else this.showChoices();
  }

  answer(label) {
    if (!this.queue?.current) return;
    const row = this.queue.take();
    const key = send({ kind: "answer", id: row.id, label, second: row.second, again: row.again, ...this.who() });
    this.remember({ row, key, kind: "answer" });
    this.answered.push(Date.now());
    if (!this.numbers) this.counted(label, 1);
    const why = this.encodes ? null : h("a", { href: `#/m/${encodeURIComponent(this.name)}/explain`, onclick: () => keep("confidently.row", JSON.stringify(row.features), true) }, "Why?");
    fill(this.said, said(label, row, why));
    this.next();
  }

  skip(reason) {
    if (!this.queue?.current) return;
    const row = this.queue.take();
    const key = send({ kind: "skip", id: row.id, reason, ...this.who() });
    this.remember({ row, key, kind: "skip" });
    setText(this.said, reason ? `Skipped: ${reason}.` : "Skipped.");
    this.next();
  }

  skipBecause() {
    if (this.queue?.current) askForReason(this.page, (reason) => this.skip(reason));
  }

  who() {
    return { model: this.name, labeller: this.queue.labeller, seat: this.queue.seat };
  }

  remember(step) {
    this.history.push(step);
    if (this.history.length > UNDO_LENGTH) this.history.shift();
  }

  undo() {
    const step = this.history.pop();
    if (!step) {
      setText(this.said, "There is nothing to undo.");
      return;
    }
    this.queue.putBack(step.row, step.kind === "answer");
    if (step.kind === "answer") this.answered.pop();
    takeBack(step.key, step.kind === "answer" ? { kind: "undo", id: step.row.id, second: step.row.second, ...this.who() } : null);
    setText(this.said, step.kind === "answer" ? "The answer was undone." : "The row is here again.");
    this.next();
  }

  addClass(label) {
    if (!this.own.includes(label)) this.own.push(label);
    if (this.multilabel) { this.showChoices(); this.choose(label); } else this.answer(label);
  }

  // --- classes chosen most often, by this browser -------------------------------------------------------------------

  counts() {
    try { return JSON.parse(kept(`confidently.often.${this.name}`)) ?? {}; } catch { return {}; }
  }

  counted(label, n) {
    const counts = this.counts();
    for (const one of [label].flat()) counts[one] = (counts[one] ?? 0) + n;
    keep(`confidently.often.${this.name}`, JSON.stringify(counts));
  }

  // --- keys ---------------------------------------------------------------------------------------------------------

  key(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.repeat && !SCROLLS[event.key]) return;
    if (document.querySelector("dialog[open]")) return;
    if (isTyping(event) && event.target.type !== "checkbox" && !this.inEmptyNumber(event)) return;
    const onControl = event.target.closest?.("button, a, input:not(#number), summary");
    if (onControl && [" ", "Enter"].includes(event.key)) return; // which presses the control
    const run = this.shortcut(event.key);
    if (!run) return;
    event.preventDefault();
    run();
  }

  /** Return whether a key belongs to no number: the field of a number has the focus all the time. */
  inEmptyNumber(event) {
    return event.target === this.field && event.key !== "Enter" && (event.key === "Backspace" ? !this.field.value : [" ", "?", "s", "w"].includes(event.key) || Boolean(SCROLLS[event.key]));
  }

  shortcut(key) {
    if (key === "Backspace") return () => this.undo();
    if (key === "?") return () => this.help.showModal();
    const row = this.queue?.current;
    if (!row) return null;
    if (key === " ") return () => this.skip();
    if (key === "s") return () => this.skipBecause();
    if (key === "w") return this.underline.disabled ? null : () => this.underline.click();
    if (SCROLLS[key]) return this.card.scrollHeight > this.card.clientHeight ? () => this.card.scrollBy(0, SCROLLS[key]) : null;
    if (this.numbers) return null;
    if (key === "/") return this.picker.element.hidden ? null : () => this.picker.focus();
    if (key === "Enter" && this.multilabel) return () => this.answer([...this.selected]);
    if (key === "Enter") return this.showsGuess(row) ? () => this.answer(String(row.guess)) : null;
    const label = this.keys.get(key.toLowerCase());
    return label === undefined ? null : () => this.choose(label);
  }

  // --- what is shown beside the row ---------------------------------------------------------------------------------

  showProgress() {
    if (this.queue?.progress) this.progress.update(this.queue.progress, this.answered);
  }

  showOutbox() {
    const n = waiting().filter((operation) => operation.kind !== "undo").length;
    const here = n ? ` ${count(n)} ${n === 1 ? "answer is" : "answers are"} kept in this browser and will be sent.` : "";
    setText(this.away, state.online ? "" : `The server cannot be reached.${here || " You can continue with the rows that are here."}`);
  }
}

/** Return the classes chosen more than once, the most frequent first. */
function frequent(counts) {
  return Object.entries(counts).filter(([, n]) => n > 1).sort(([, a], [, b]) => b - a).slice(0, ALL_KEYS.length).map(([label]) => label);
}
