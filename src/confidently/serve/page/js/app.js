// The shell of the page: session, routes, focus.

import { logIn, Offline, openSession } from "./api.js";
import { fill, h, notify } from "./dom.js";
import { listen, live, setOnline, state } from "./live.js";
import { outbox, startOutbox } from "./outbox.js";
import { addView } from "./add.js";
import { explainView } from "./explain.js";
import { labelView } from "./label.js";
import { lifeView } from "./life.js";
import { modelView } from "./model.js";
import { overview } from "./overview.js";

const ROUTES = [
  [/^#?\/?$/, overview, "overview", () => "Models"],
  [/^#\/add$/, addView, "add", () => "Add a model"],
  [/^#\/m\/([^/]+)$/, modelView, "overview", (name) => name],
  [/^#\/m\/([^/]+)\/label$/, labelView, "overview", (name) => `Label – ${name}`],
  [/^#\/m\/([^/]+)\/versions$/, lifeView, "overview", (name) => `Versions – ${name}`],
  [/^#\/m\/([^/]+)\/explain$/, explainView, "overview", (name) => `Explain – ${name}`],
];
const main = document.getElementById("main");
const dialog = document.getElementById("login");
let leave = null;
let first = true;

/** Show the view of the address. A view returns a function that ends it. */
async function show() {
  if (location.hash === "#main") return main.focus();
  leave?.();
  leave = null;
  const route = ROUTES.find(([pattern]) => pattern.test(location.hash));
  for (const link of document.querySelectorAll("[data-page]")) {
    if (route && link.dataset.page === route[2]) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!route) {
    document.title = "Not found – confidently";
    fill(main, h("h1", {}, "Not found"), h("p", {}, h("a", { href: "#/" }, "All models")));
    return;
  }
  const [pattern, view, , title] = route;
  const [, name] = pattern.exec(location.hash).map((part) => part && decodeURIComponent(part));
  document.title = `${title(name)} – confidently`;
  const page = h("div", { class: "view" });
  fill(main, page);
  leave = view(page, name) ?? null;
  scrollTo(0, 0);
  if (!first) main.focus({ preventScroll: true });
  first = false;
}

function askForToken() {
  if (!dialog.open) dialog.showModal();
}

document.getElementById("login-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const input = document.getElementById("token");
  const error = document.getElementById("login-error");
  error.textContent = "";
  try {
    await logIn(input.value);
  } catch (problem) {
    error.textContent = `Sign-in failed: ${problem.message}.`;
    return;
  }
  input.value = "";
  dialog.close();
  begin();
});
dialog.addEventListener("cancel", (event) => event.preventDefault());
addEventListener("login-needed", askForToken);
outbox.addEventListener("refused", (event) => {
  const { operation, problem } = event.detail;
  const what = operation.kind === "undo" ? "The undo of the answer" : "The answer";
  const learned = operation.kind === "undo" && problem.kind === "other-label";
  notify(learned
    ? `The answer to ${operation.id} was already learned. Your next answer to it will be a correction.`
    : `${what} to ${operation.id} was rejected: ${problem.message}.`, learned ? "info" : "bad", 15);
});
addEventListener("hashchange", show);

function begin() {
  listen();
  startOutbox();
  show();
}

async function start() {
  try {
    if (await openSession()) askForToken();
    else begin();
  } catch (error) {
    if (!(error instanceof Offline)) throw error;
    setOnline(false);
    setTimeout(start, 1500);
  }
}

// After a restart of the server its sessions are gone, so the page asks again.
live.addEventListener("online", async () => {
  if (state.online && await openSession().catch(() => false)) askForToken();
});
start();
