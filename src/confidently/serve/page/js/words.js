// The words of a text that speak for a class, according to the explanation of its row.

import { modelPath, request } from "./api.js";
import { h } from "./dom.js";

const MOST = 12; // words
const LEAST = 0.25, STRONG = 0.5; // of the largest contribution
const WORD = /[\p{L}\p{M}\p{N}_]+/gu;

/** Ask what speaks for the guess; return for each text column a map from words to parts of the largest contribution. */
export async function speakingFor(model, row, reading, signal) {
  const about = String(row.guess);
  const found = await request("POST", modelPath(model, "/explain"), { features: row.features, about }, signal);
  const sign = String(found.supported) === about ? 1 : String(found.rival) === about ? -1 : 0;
  const columns = new Map();
  for (const column of reading.text ?? []) {
    if (typeof row.features[column] !== "string") continue;
    const grams = found.contributions
      .filter((one) => String(one.feature).startsWith(`${column}:`) && !String(one.feature).includes(" * "))
      .map((one) => [String(one.feature).slice(column.length + 1), sign * one.mean]);
    columns.set(column, strongest(row.features[column], grams, reading.analyzer === "char"));
  }
  return columns;
}

/** Return the words of a text that add most, with their parts of the largest. */
function strongest(text, grams, ofLetters) {
  const scores = new Map();
  for (const [word] of text.matchAll(WORD)) scores.set(word.toLowerCase(), 0);
  for (const [gram, mean] of grams) {
    const parts = ofLetters ? [...scores.keys()].filter((word) => word.includes(gram.trim())) : gram.split(" ");
    for (const word of parts) if (scores.has(word)) scores.set(word, scores.get(word) + mean / parts.length);
  }
  const sorted = [...scores].filter(([, score]) => score > 0).sort(([, a], [, b]) => b - a).slice(0, MOST);
  const largest = sorted[0]?.[1] ?? 1;
  return new Map(sorted.map(([word, score]) => [word, score / largest]).filter(([, part]) => part >= LEAST));
}

/** Return a text as nodes, its words that are in a map underlined. */
export function underlined(text, words) {
  if (!words?.size) return text;
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(WORD)) {
    const part = words.get(match[0].toLowerCase());
    if (part === undefined) continue;
    nodes.push(text.slice(end, match.index), h("mark", { class: part >= STRONG ? "speaks strong" : "speaks" }, match[0]));
    end = match.index + match[0].length;
  }
  return [...nodes, text.slice(end)];
}
