// A question before something is done.

import { h } from "./dom.js";

/** Ask; return a promise of whether the answer is yes. */
export function confirmed(title, text, yes, dangerous = false) {
  const dialog = h("dialog", { "aria-labelledby": "confirm-title" },
    h("form", { method: "dialog" },
      h("h2", { id: "confirm-title" }, title), h("p", {}, text),
      h("div", { class: "actions" },
        h("button", { type: "button", class: "quiet", onclick: () => dialog.close("") }, "Cancel"),
        h("button", { type: "button", class: dangerous ? "danger" : "", onclick: () => dialog.close("yes") }, yes))));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => { dialog.remove(); resolve(dialog.returnValue === "yes"); });
  });
}
