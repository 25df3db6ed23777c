// Tables that are wider than the page scroll, by the keyboard too.
window.addEventListener("load", () => {
  for (const table of document.querySelectorAll(".table-wrapper")) {
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
  }
});
