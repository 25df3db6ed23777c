// A field with a list of classes: type a part of a name, choose with the arrows and enter. A new name is asked about.

import { found, similar } from "./classes.js";
import { fill, h, setText } from "./dom.js";

const HEADER = 64, EDGE = 16; // pixels at the top and the bottom of the window that the list leaves free
const MOST = 0.45; // of the window that the list takes: the row stays in sight

/** Return the field: {element, focus(), update(classes, open, few), isOpen()}.
 *  @param choose called with a class
 *  @param add called with the name of a new class
 *  @param leave called when the field is done with, to put the focus elsewhere */
export function classPicker({ choose, add, leave }) {
  let classes = [], open = true, options = [], active = 0, confirmed = null;
  const input = h("input", {
    id: "find-class", role: "combobox", maxlength: 256, autocomplete: "off", spellcheck: "false", dir: "auto",
    "aria-expanded": "false", "aria-controls": "class-list", "aria-autocomplete": "list",
  });
  const label = h("label", { for: "find-class", class: "visually-hidden" });
  const list = h("ul", { id: "class-list", role: "listbox", "aria-label": "Classes", class: "class-list", hidden: true });
  const asked = h("p", { class: "asked", role: "status", "aria-live": "polite" });
  const popup = h("div", { class: "popup" }, asked, list);
  const element = h("div", { class: "picker" }, label, input, h("kbd", { "aria-hidden": "true" }, "/"), popup);

  /** Show what the text finds; of a new name that was chosen, what it may be a variant of. */
  function show() {
    const text = input.value.trim();
    if (confirmed !== null && confirmed !== text) confirmed = null;
    const near = confirmed === null ? [] : similar(classes, confirmed);
    if (confirmed !== null) {
      options = [...near.map((name) => ({ name, text: `Use “${name}”` })), { add: confirmed, text: `Add “${confirmed}” as a new class` }];
    } else {
      options = found(classes, text).map((name) => ({ name, text: name }));
      if (open && text && !classes.includes(text)) options.push({ ask: text, text: `New class “${text}” …` });
    }
    active = 0;
    setText(asked, confirmed === null ? (options.length ? "" : text ? "No class has this name." : "")
      : near.length ? "There is a similar class. Use it, or add a new one?" : "This class is new. Press enter again to add it.");
    fill(list, options.map((one, k) => h("li", {
      id: `class-${k}`, role: "option", dir: "auto", class: one.name === undefined ? "new" : null, "aria-selected": String(k === active),
      onpointerdown: (event) => event.preventDefault(), onclick: () => take(one),
    }, one.text)));
    toggle(true);
    mark();
  }

  function toggle(shown) {
    list.hidden = !shown || !options.length;
    asked.hidden = !shown;
    input.setAttribute("aria-expanded", String(!list.hidden));
    if (list.hidden) input.removeAttribute("aria-activedescendant");
    else place();
  }

  /** Put the list where there is more room: above the field, or below it. */
  function place() {
    const { top, bottom } = input.getBoundingClientRect();
    const above = top - HEADER, below = innerHeight - bottom - EDGE;
    popup.classList.toggle("below", below > above);
    list.style.maxHeight = `${Math.min(Math.max(above, below) - (asked.textContent ? 70 : 10), MOST * innerHeight)}px`;
  }

  function mark() {
    [...list.children].forEach((item, k) => item.setAttribute("aria-selected", String(k === active)));
    if (!options.length) return;
    input.setAttribute("aria-activedescendant", `class-${active}`);
    list.children[active].scrollIntoView({ block: "nearest" });
  }

  function close() {
    input.value = "";
    confirmed = null;
    toggle(false);
  }

  function take(one) {
    if (!one) return;
    if (one.ask !== undefined) {
      confirmed = one.ask;
      show();
      return;
    }
    close();
    leave();
    if (one.add === undefined) choose(one.name);
    else add(one.add);
  }

  input.addEventListener("input", show);
  input.addEventListener("focus", show);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const n = options.length;
    if (event.key === "ArrowDown" && n) active = (active + 1) % n;
    else if (event.key === "ArrowUp" && n) active = (active + n - 1) % n;
    else if (event.key === "Enter") { event.preventDefault(); take(options[active]); return; }
    else if (event.key === "Escape") { event.preventDefault(); close(); leave(); return; }
    else return;
    event.preventDefault();
    mark();
  });

  return {
    element,
    focus: () => input.focus(),
    update(known, isOpen, few) {
      [classes, open] = [known, isOpen];
      element.hidden = few && !isOpen;
      const told = few ? "New class" : isOpen ? "Find or add a class" : "Find a class";
      setText(label, told);
      input.placeholder = told;
    },
  };
}
