// Every formula is TeX until it is drawn here; without JavaScript it stays readable as TeX.
document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll(".formula")) {
    katex.render(place.textContent, place, { displayMode: place.tagName === "DIV", throwOnError: false });
  }
});
