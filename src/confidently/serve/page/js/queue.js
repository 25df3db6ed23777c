// The rows that a labeller has: leased ahead, renewed while they are shown, never shown twice.

import { modelPath, request } from "./api.js";
import { state } from "./live.js";
import { waiting } from "./outbox.js";

const AHEAD = 6;
const MAX_ROWS = 100; // that a request leases or holds
export const HOLD_MS = 6000;

export class Queue {
  constructor(model, labeller, seat) {
    Object.assign(this, { model, labeller, seat, rows: [], done: new Set(), classes: [], progress: null, lost: null, holdUntil: 0 });
    Object.assign(this, { loading: null, stale: false });
  }

  /** The row to show, or undefined. */
  get current() { return this.rows[0]; }

  /** Get more rows, and renew the leases of those that are here. Calls during a request share the one that follows it. */
  refill() {
    this.stale = true;
    this.loading ??= this.loadUntilFresh().finally(() => { this.loading = null; });
    return this.loading;
  }

  async loadUntilFresh() {
    while (this.stale) {
      this.stale = false;
      await this.load();
    }
  }

  async load() {
    const unsent = waiting().filter((operation) => operation.seat === this.seat).map((operation) => operation.id);
    const held = this.rows.map((row) => row.id);
    const holding = !state.online || Date.now() < this.holdUntil;
    if (holding && !held.length) return;
    const n = Math.min(holding ? held.length : Math.max(AHEAD, held.length) + unsent.length, MAX_ROWS);
    const query = new URLSearchParams({ n, labeller: this.labeller, seat: this.seat });
    for (const id of [...held, ...unsent].slice(0, MAX_ROWS)) query.append("hold", id);
    const found = await request("GET", `${modelPath(this.model, "/queue")}?${query}`);
    const leased = new Set(found.rows.map((row) => row.id));
    // The server forgets leases when it restarts; another labeller may have been faster then.
    const gone = this.rows.filter((row) => !row.again && held.includes(row.id) && !leased.has(row.id));
    this.lost = gone.includes(this.current) ? this.current : null;
    this.rows = this.rows.filter((row) => !gone.includes(row));
    const fresh = new Map(found.rows.map((row) => [row.id, row])); // of rows that are not shown yet, with guesses of now
    this.rows = this.rows.map((row) => (row === this.current || row.again ? row : fresh.get(row.id) ?? row));
    const here = new Set(this.rows.map((row) => row.id));
    this.rows.push(...found.rows.filter((row) => !here.has(row.id) && !this.done.has(row.id)));
    this.classes = found.classes;
    this.progress = found.progress;
  }

  /** Take no new rows for a while: the server may have forgotten the leases, and others need time to renew theirs. */
  reconnected() { this.holdUntil = Date.now() + HOLD_MS; }

  /** Take the current row away; it is not shown again unless it is put back. */
  take() {
    const row = this.rows.shift();
    this.done.add(row.id);
    return row;
  }

  /** Show a row again, first.
   *  @param again whether it was answered before, so that its next answer may be a correction */
  putBack(row, again) {
    this.done.delete(row.id);
    this.rows.unshift({ ...row, again: again || row.again });
  }

  get isLow() { return this.rows.length <= AHEAD / 2; }
}
