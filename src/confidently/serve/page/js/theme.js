// A classic script in the head, so that a stored choice applies before the first paint.
"use strict";
(() => {
  const KEY = "confidently.theme";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  function stored() {
    try { return localStorage.getItem(KEY); } catch { return null; }
  }

  function apply() {
    const theme = stored() ?? (system.matches ? "dark" : "light");
    root.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (!button) return;
    const other = theme === "dark" ? "light" : "dark";
    button.textContent = theme === "dark" ? "☀" : "☾";
    button.setAttribute("aria-label", `Switch to the ${other} theme`);
    button.title = `Switch to the ${other} theme`;
  }

  apply();
  system.addEventListener("change", apply);
  addEventListener("storage", (event) => { if (event.key === KEY) apply(); });
  document.addEventListener("DOMContentLoaded", () => {
    apply();
    document.getElementById("theme").addEventListener("click", () => {
      try { localStorage.setItem(KEY, root.dataset.theme === "dark" ? "light" : "dark"); } catch { return; }
      apply();
    });
  });
})();
