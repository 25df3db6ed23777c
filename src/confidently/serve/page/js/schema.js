// JSON Schema as people read it: a table of properties, and an example.

import { h } from "./dom.js";

const EXAMPLES = {
  id: "m-17", features: { subject: "win", n_links: 4 }, label: "spam", labeller: "ann", name: "monday", about: "spam",
  weight: 1, correct: false, skip: false, rule: "arow", classes: ["ham", "spam"],
};
const DEPTH = 4;

/** Follow a reference to the components of the document. */
export function resolve(schema, document) {
  if (!schema?.$ref) return schema ?? {};
  const found = document.components.schemas[schema.$ref.split("/").at(-1)];
  return resolve({ ...found, ...Object.fromEntries(Object.entries(schema).filter(([key]) => key !== "$ref")) }, document);
}

/** Return the type of a schema in a few words. */
export function typeOf(schema, document, depth = 0) {
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" or ");
  const several = schema.anyOf ?? schema.oneOf;
  if (several) return several.map((one) => typeOf(one, document, depth + 1)).join(" or ");
  if (schema.type === "array") return `list of ${schema.items ? typeOf(schema.items, document, depth + 1) : "anything"}`;
  if (schema.type === "object" && schema.additionalProperties?.type) return `object of ${schema.additionalProperties.type}`;
  return schema.type ?? "anything";
}

/** Return the bounds of a schema in a few words. */
export function boundsOf(schema) {
  const told = [];
  if (schema.minimum !== undefined || schema.maximum !== undefined) told.push(`${schema.minimum ?? "…"} to ${schema.maximum ?? "…"}`);
  if (schema.maxLength !== undefined) told.push(`${schema.minLength ?? 0} to ${schema.maxLength} characters`);
  if (schema.maxItems !== undefined) told.push(`at most ${schema.maxItems}`);
  if (schema.pattern) told.push(`matches ${schema.pattern}`);
  if (schema.default !== undefined && schema.default !== null) told.push(`default ${JSON.stringify(schema.default)}`);
  return told.join("; ");
}

/** Return a table of the properties of a schema, or a line if it has none. */
export function schemaTable(given, document, caption) {
  const several = given.oneOf ?? given.anyOf;
  if (several) return several.map((one, k) => schemaTable(one, document, `${caption}, form ${k + 1}: ${typeOf(one, document)}`));
  const schema = resolve(given, document);
  if (!schema.properties) return h("p", {}, `${caption}: ${schema.description ?? typeOf(schema, document)}`);
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties).map(([name, one]) => {
    const found = resolve(one, document);
    return h("tr", {},
      h("th", { scope: "row" }, h("code", {}, name), required.has(name) ? h("span", { class: "tag" }, "required") : null),
      h("td", {}, typeOf(one, document)),
      h("td", {}, [found.description, boundsOf(found)].filter(Boolean).join("; ")));
  });
  return [
    schema.description ? h("p", { class: "muted" }, schema.description.replace(/``/g, "")) : null,
    h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption },
      h("table", { class: "table" }, h("caption", {}, caption),
        h("thead", {}, h("tr", {}, ["Name", "Type", "Meaning"].map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, rows))),
  ];
}

/** Return an example of a schema: what is required, and what has a well-known value. */
export function exampleOf(given, document, name = "", depth = 0) {
  if (name in EXAMPLES) return EXAMPLES[name];
  const schema = resolve(given, document);
  if (schema.default !== undefined && schema.default !== null && !schema.properties) return schema.default;
  if (schema.enum) return schema.enum[0];
  const several = schema.anyOf ?? schema.oneOf;
  if (several) return exampleOf(several[0], document, name, depth + 1);
  if (schema.type === "array") return depth < DEPTH && schema.items ? [exampleOf(schema.items, document, "", depth + 1)] : [];
  if (schema.properties && depth < DEPTH) {
    const required = new Set(schema.required ?? []);
    const kept = Object.entries(schema.properties).filter(([key]) => required.has(key) || (depth === 0 && ["id", "features", "label", "rule", "classes"].includes(key)));
    return Object.fromEntries(kept.map(([key, one]) => [key, exampleOf(one, document, key, depth + 1)]));
  }
  return { object: {}, string: "text", integer: 1, number: 1, boolean: false }[schema.type] ?? null;
}
