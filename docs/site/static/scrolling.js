// What is wider than the page scrolls, by the keyboard too.
window.addEventListener("load", () => {
  for (const wide of document.querySelectorAll("pre, .table-wrapper, div.formula")) {
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
  }
});
