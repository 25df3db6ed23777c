// Answers that the server has not acknowledged. They are kept in localStorage, one item each, so that several tabs
// share them, and are sent in order by the tab that holds the lock. Sending twice is harmless: answers name their row.

import { modelPath, Offline, Problem, request } from "./api.js";
import { live, setOnline } from "./live.js";

// Another server may be below another path of this host, and shares the storage.
const PREFIX = `confidently.outbox${new URL(".", document.baseURI).pathname.slice(0, -1)}.`;
const RETRY_MS = 1500;
export const outbox = new EventTarget();
let timer = null, running = false, kept = new Map(), last = 0;

/** Begin to send what is there, also from earlier visits. */
export function startOutbox() {
  addEventListener("storage", (event) => {
    if (event.key === null || event.key.startsWith(PREFIX)) changed();
  });
  live.addEventListener("online", flush);
  flush();
}

/** Return the operations that wait, the oldest first. */
export function waiting() {
  const found = [...kept.entries()];
  try {
    for (let k = 0; k < localStorage.length; k++) {
      const key = localStorage.key(k);
      if (key.startsWith(PREFIX) && !kept.has(key)) found.push([key, JSON.parse(localStorage.getItem(key))]);
    }
  } catch { /* no storage: what is kept in memory counts */ }
  return found.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, operation]) => ({ key, ...operation }));
}

/** Add an operation: {kind: "answer" | "skip" | "undo", model, id, label, labeller, seat, second, again, reason}. Return its key. */
export function send(operation) {
  last = Math.max(Date.now(), last + 1);
  const key = `${PREFIX}${String(last).padStart(15, "0")}.${Math.random().toString(36).slice(2, 8)}`;
  try {
    localStorage.setItem(key, JSON.stringify(operation));
  } catch {
    kept.set(key, operation);
  }
  changed();
  flush();
  return key;
}

/** Take an operation back if it was not sent; otherwise the server is asked to undo it, before all that follows. */
export function takeBack(key, undo) {
  const undoing = undo && send(undo);
  return exclusively(() => {
    if (undoing && waiting().some((operation) => operation.key === key)) remove(undoing);
    remove(key);
  });
}

function remove(key) {
  kept.delete(key);
  try { localStorage.removeItem(key); } catch { /* it was kept in memory */ }
  changed();
}

const changed = () => outbox.dispatchEvent(new Event("changed"));

/** Run a function while no other tab does; browsers offer locks to secure pages only. */
function exclusively(work) {
  return navigator.locks ? navigator.locks.request(PREFIX, work) : work();
}

/** Send what waits. */
async function flush() {
  if (running) return;
  running = true;
  clearTimeout(timer);
  try {
    // Asked outside the lock, so that nothing can be added between the last look and the end of this loop.
    while (waiting().length) await exclusively(sendOldest);
  } catch (error) {
    if (!(error instanceof Offline || error instanceof Problem)) throw error;
    timer = setTimeout(flush, RETRY_MS);
  } finally {
    running = false;
  }
}

/** Send one operation, unless another tab has sent all. Whatever may succeed later is thrown and stays. */
async function sendOldest() {
  const [operation] = waiting();
  if (!operation) return;
  try {
    await deliver(operation);
    setOnline(true);
  } catch (error) {
    if (error instanceof Offline) setOnline(false);
    if (!(error instanceof Problem) || error.status >= 500 || [401, 403, 408, 429].includes(error.status)
      || error.kind === "cross-site") throw error;
    remove(operation.key);
    outbox.dispatchEvent(new CustomEvent("refused", { detail: { operation, problem: error } }));
    return;
  }
  remove(operation.key);
  outbox.dispatchEvent(new CustomEvent("sent", { detail: operation }));
}

async function deliver({ kind, model, id, label, labeller, seat, second, again, reason }) {
  if (kind === "undo") {
    const query = new URLSearchParams({ labeller, seat, second });
    return request("DELETE", modelPath(model, `/answers/${encodeURIComponent(id)}?${query}`));
  }
  if (kind === "skip") return request("POST", modelPath(model, "/answers"), { id, labeller, seat, skip: true, reason });
  try {
    return await request("POST", modelPath(model, "/answers"), { id, label, labeller, seat, second });
  } catch (error) {
    if (!again || second || error.kind !== "other-label") throw error;
    return request("POST", modelPath(model, "/labels"), { id, label, correct: true, labeller });
  }
}
