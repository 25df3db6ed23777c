// Who labels: a name of this tab, so that no two tabs get the same row.

const KEY = "confidently.tab";
let name = null;

/** Return the name. A duplicated tab copies the session's storage; the lock shows that the name is taken. */
export async function labellerName() {
  if (name) return name;
  let stored = null;
  try { stored = sessionStorage.getItem(KEY); } catch { /* a new name then */ }
  if (!stored || !navigator.locks || !(await claim(stored))) {
    stored = `page-${Math.random().toString(36).slice(2, 10)}${Date.now().toString(36)}`;
    if (navigator.locks) await claim(stored);
  }
  try { sessionStorage.setItem(KEY, stored); } catch { /* the name lasts as long as the page */ }
  name = stored;
  return name;
}

/** Hold the lock of a name while the tab lives; return whether it was free. */
function claim(stored) {
  return new Promise((resolve) => {
    navigator.locks.request(`${KEY}.${stored}`, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock === null ? undefined : new Promise(() => {});
    });
  });
}
