// What this browser keeps. Without storage it lasts as long as the page.

const memory = new Map();

/** Return what is kept under a key, or null.
 *  @param ofTab whether it belongs to this tab alone */
export function kept(key, ofTab = false) {
  try { return (ofTab ? sessionStorage : localStorage).getItem(key) ?? memory.get(key) ?? null; } catch { return memory.get(key) ?? null; }
}

/** Keep a text under a key. */
export function keep(key, value, ofTab = false) {
  try { (ofTab ? sessionStorage : localStorage).setItem(key, value); } catch { memory.set(key, value); }
}
