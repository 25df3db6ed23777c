// Who labels: a person, by the name that they gave once, and a seat of theirs, so that no two tabs get the same row.

import { h } from "./dom.js";
import { kept, keep } from "./storage.js";

const NAME = "confidently.name", SEAT = "confidently.tab";
export const NOBODY = "somebody"; // who labels without a name
let seat = null;

/** Return the name of the person, or null if they were not asked yet. */
export const personName = () => kept(NAME);

/** Ask for the name; return a promise that is fulfilled when the question is answered, whatever the answer. */
export function askForName(page) {
  const before = personName() ?? "";
  const input = h("input", { id: "person", maxlength: 64, autocomplete: "nickname", value: before === NOBODY ? "" : before, dir: "auto" });
  const without = h("button", { type: "button", class: "quiet" }, "Without a name");
  const form = h("form", {},
    h("h2", { id: "person-title" }, "Who labels here?"),
    h("p", {}, "Your name is stored with your answers and is in exports, so that several people can compare theirs. This browser remembers it."),
    h("label", { for: "person" }, "Your name"), input,
    h("div", { class: "actions" }, h("button", { class: "primary" }, "Start labelling"), without));
  const dialog = h("dialog", { "aria-labelledby": "person-title" }, form);
  page.append(dialog);
  return new Promise((resolve) => {
    const finish = (name) => { keep(NAME, name); dialog.close(); };
    form.addEventListener("submit", (event) => { event.preventDefault(); finish(input.value.trim() || NOBODY); });
    without.addEventListener("click", () => finish(NOBODY));
    dialog.addEventListener("close", () => { if (personName() === null) keep(NAME, NOBODY); dialog.remove(); resolve(); });
    dialog.showModal();
    input.focus();
  });
}

/** Return the seat of this tab. A duplicated tab copies the session's storage; the lock shows that a seat is taken. */
export async function seatOfTab() {
  if (seat) return seat;
  let taken = kept(SEAT, true);
  if (!taken || !navigator.locks || !(await claim(taken))) {
    taken = `${Math.random().toString(36).slice(2, 10)}${Date.now().toString(36)}`;
    if (navigator.locks) await claim(taken);
  }
  keep(SEAT, taken, true);
  seat = taken;
  return seat;
}

/** Hold the lock of a seat while the tab lives; return whether it was free. */
function claim(taken) {
  return new Promise((resolve) => {
    navigator.locks.request(`${SEAT}.${taken}`, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock === null ? undefined : new Promise(() => {});
    });
  });
}
