// The HTTP interface, from the OpenAPI document of the server.

import { absolute } from "./api.js";
import { fill, h } from "./dom.js";
import { boundsOf, exampleOf, schemaTable, typeOf } from "./schema.js";

const SCOPES = [
  ["predict", "Predict and watch"], ["learn", "Learn"], ["label", "Label"], ["admin", "Administer"],
];
const EXAMPLE_VALUES = { m: "spam", id: "m-17" };
const main = document.getElementById("main"), contents = document.getElementById("contents");

async function start() {
  let document_;
  try {
    document_ = await (await fetch("openapi.json", { cache: "no-store" })).json();
  } catch {
    fill(main, h("p", { class: "notice bad" }, "The server cannot be reached. Load the page again."));
    return;
  }
  const operations = Object.entries(document_.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })));
  const groups = SCOPES.map(([tag, title]) => [tag, title, operations.filter((one) => one.operation.tags.includes(tag))]);
  fill(contents, groups.map(([tag, title, found]) => [
    h("h2", {}, h("a", { href: `#${tag}` }, title)),
    h("ul", {}, found.map((one) => h("li", {}, h("a", { href: `#${one.operation.operationId}` }, badge(one.method), " ", shortPath(one.path))))),
  ]));
  fill(main, introduction(document_), groups.map(([tag, title, found]) => h("section", { "aria-labelledby": tag },
    h("h2", { id: tag }, title),
    h("p", { class: "muted" }, `With tokens, these addresses need the scope ${tag}.`),
    found.map((one) => section(one, document_)))));
  if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

const badge = (method) => h("span", { class: `method ${method.toLowerCase()}` }, method);
const shortPath = (path) => path.replace("/v1/models/{m}", "…").replace("/v1", "");

function introduction(document_) {
  return [
    h("h1", {}, "HTTP interface"),
    h("p", { class: "lead" }, `Version ${document_.info.version}. ${document_.info.description}`),
    h("p", {}, "Rows are JSON objects. Bodies of many rows are NDJSON: one object per line, sent with the content type ",
      h("code", {}, "application/x-ndjson"), "; the answer has one line for each. A row that was acknowledged is on disk, and a request that repeats an id is answered like the first. The machine-readable form of this page is ",
      h("a", { href: "openapi.json" }, "/openapi.json"), "."),
    h("p", {}, "Other addresses: ", ["livez", "readyz", "metrics"].map((path, k) => [k ? ", " : "", h("a", { href: path }, `/${path}`)]),
      " (Prometheus), and ", h("code", {}, "POST /session"), " for browsers."),
  ];
}

function section({ path, method, operation }, document_) {
  const content = operation.requestBody?.content ?? {};
  const success = Object.entries(operation.responses).filter(([status]) => status < 300);
  const problems = Object.entries(operation.responses).filter(([status]) => status >= 400);
  return h("article", { class: "operation", "aria-labelledby": operation.operationId },
    h("h3", { id: operation.operationId }, badge(method), " ", h("code", {}, path)),
    h("p", {}, operation.summary),
    operation.parameters?.length ? parameters(operation.parameters, document_) : null,
    Object.entries(content).map(([type, one]) => body(type, one.schema, document_, "Body")),
    success.map(([status, answer]) => Object.entries(answer.content ?? { "": null}).map(([type, one]) =>
      one ? body(type, one.schema, document_, `Answer ${status}`) : h("p", {}, `Answer ${status}, without a body`))),
    h("h4", {}, "Example"),
    h("pre", { tabindex: "0" }, curl(path, method, operation, document_)),
    h("details", {}, h("summary", {}, "Problems"),
      h("dl", { class: "facts" }, problems.map(([status, one]) => [h("dt", {}, status), h("dd", {}, one.description)]))));
}

function parameters(found, document_) {
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Parameters" },
    h("table", { class: "table" }, h("caption", {}, "Parameters"),
      h("thead", {}, h("tr", {}, ["Name", "In", "Type", "Bounds"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, found.map((one) => h("tr", {},
        h("th", { scope: "row" }, h("code", {}, one.name)), h("td", {}, one.in),
        h("td", {}, typeOf(one.schema, document_)), h("td", {}, boundsOf(one.schema)))))));
}

function body(type, schema, document_, title) {
  if (type === "application/json") return schemaTable(schema, document_, title);
  return h("p", {}, `${title} as `, h("code", {}, type), schema?.description ? `: ${schema.description}` : "");
}

function curl(path, method, operation, document_) {
  const address = absolute("").slice(0, -1) + path.replace(/\{(\w+)\}/g, (_, name) => EXAMPLE_VALUES[name] ?? name);
  const schema = operation.requestBody?.content?.["application/json"]?.schema;
  const file = operation.requestBody && !schema;
  const parts = [`curl ${method === "GET" || (method === "POST" && schema) ? "" : `-X ${method} `}${address}`];
  if (schema) parts.push(`-d '${JSON.stringify(exampleOf(schema, document_))}'`);
  if (file) parts.push("--data-binary @spam.cw");
  return parts.join(" \\\n  ");
}

start();
