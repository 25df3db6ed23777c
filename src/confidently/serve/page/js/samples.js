// Made-up rows for those who try the server, each with one click.

import { request } from "./api.js";
import { h, setText } from "./dom.js";

const SAMPLES = [
  ["messages", "Messages", "Short mails with the labels ham and spam: a filter that learns."],
  ["tickets", "Tickets", "Requests to a help desk, for one of twenty teams: many classes."],
  ["rents", "Rents", "A table of flats with their rents: numbers to predict, with intervals."],
];

/** Return the samples to begin with. */
export function samples() {
  const error = h("p", { class: "error", role: "alert" });
  const buttons = SAMPLES.map(([name, title]) => h("button", { type: "button", "aria-label": `Try the sample ${title}`, onclick: () => begin(name) }, "Try it"));
  async function begin(name) {
    for (const button of buttons) button.disabled = true;
    setText(error, "");
    try {
      await request("POST", "v1/samples", { sample: name });
      location.hash = `#/m/${name}`;
    } catch (problem) {
      setText(error, `The sample was not made: ${problem.message}.`);
    } finally {
      for (const button of buttons) button.disabled = false;
    }
  }
  return h("section", { "aria-label": "Samples" }, h("ul", { class: "cards" }, SAMPLES.map(([, title, text], k) => h("li", { class: "card" },
    h("h2", {}, title), h("p", { class: "muted" }, text), h("p", { class: "muted small" }, "1,500 rows are learned, 200 wait for your labels."), buttons[k]))), error);
}
