// The stream of events of the server, shared by all views, and whether the server can be reached.

import { setText } from "./dom.js";

export const live = new EventTarget();
export const state = { models: null, online: true };
let source = null;

/** Begin to listen; the browser connects again by itself. */
export function listen() {
  source?.close();
  source = new EventSource("v1/events");
  source.addEventListener("models", (event) => {
    state.models = JSON.parse(event.data).models;
    live.dispatchEvent(new Event("models"));
  });
  source.addEventListener("open", () => setOnline(true));
  source.addEventListener("error", () => {
    setOnline(false);
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
  });
}

/** Tell everybody whether the server can be reached. */
export function setOnline(online) {
  const changed = state.online !== online;
  state.online = online;
  const link = document.getElementById("link");
  link.classList.toggle("away", !online);
  setText(link, online ? "Live" : "Server away");
  if (changed) live.dispatchEvent(new Event("online"));
}
