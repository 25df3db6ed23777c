// Building elements. Strings become text nodes, never markup, so rows and class names cannot inject anything.

const SVG = "http://www.w3.org/2000/svg";

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** Return an HTML element; attributes whose names begin with "on" are event listeners. */
export function h(tag, attributes = {}, ...children) {
  return build(document.createElement(tag), attributes, children);
}

/** Return an SVG element. */
export function s(tag, attributes = {}, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

/** Replace the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/** Set the text of an element, if it differs: live regions announce every change. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Add a message at the top of the page: kind is "good", "bad" or "info". */
export function notify(text, kind = "info", seconds = 8) {
  const close = h("button", { type: "button", class: "icon-button", "aria-label": "Dismiss" }, "×");
  const notice = h("div", { class: `notice ${kind}` }, h("span", {}, text), close);
  close.addEventListener("click", () => notice.remove());
  document.getElementById("notices").append(notice);
  if (seconds) setTimeout(() => notice.remove(), seconds * 1000);
  return notice;
}

/** Return whether a key event belongs to a control, so that shortcuts must not take it. */
export function isTyping(event) {
  const target = event.target;
  return target instanceof HTMLElement
    && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}
