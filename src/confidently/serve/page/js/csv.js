// Reading CSV and JSON lines piece by piece, so that large files need little memory.

import { counted } from "./format.js";

const NUMBER = /^[-+]?(0|[1-9]\d*)?(\.\d+)?([eE][-+]?\d+)?$/;
const DELIMITERS = [",", ";", "\t", "|"];

/** Return whether a cell is a number; leading zeros are those of codes. */
export const isNumber = (cell) => /\d/.test(cell) && NUMBER.test(cell) && Number.isFinite(Number(cell));

/** Return the delimiter that splits the first line most often. */
export function delimiterOf(text) {
  const line = text.split(/\r?\n/, 1)[0].replace(/"[^"]*"/g, "");
  return DELIMITERS.reduce((best, one) => (line.split(one).length > line.split(best).length ? one : best), ",");
}

/** Reads CSV as of RFC 4180: quotes double themselves, and quoted cells may hold line breaks. */
export class CsvParser {
  constructor(delimiter) {
    Object.assign(this, { delimiter, cell: "", row: [], quoted: false, ended: false });
  }

  /** Return the rows that are complete after another piece of text. */
  push(text) {
    const rows = [];
    for (const c of text) {
      if (this.quoted) {
        if (this.ended && c === '"') { this.cell += c; this.ended = false; continue; }
        if (this.ended) this.quoted = this.ended = false;
        else if (c === '"') { this.ended = true; continue; }
        else { this.cell += c; continue; }
      }
      if (c === '"' && this.cell === "") this.quoted = true;
      else if (c === this.delimiter) this.endCell();
      else if (c === "\n") this.endRow(rows);
      else this.cell += c;
    }
    return rows;
  }

  /** Return the last row, if the text did not end with a line break. */
  finish() {
    const rows = [];
    if (this.quoted && !this.ended) throw new Error("a quoted cell does not end");
    if (this.cell !== "" || this.row.length) this.endRow(rows);
    return rows;
  }

  endCell() {
    this.row.push(this.cell);
    this.cell = "";
  }

  endRow(rows) {
    this.cell = this.cell.replace(/\r$/, "");
    this.endCell();
    if (this.row.length > 1 || this.row[0] !== "") rows.push(this.row);
    this.row = [];
    this.quoted = this.ended = false;
  }
}

/** Yield the objects of a file, row by row, in groups; `read` is told the number of bytes read so far. */
export async function* objects(file, read = () => {}) {
  const source = file.stream().pipeThrough(counter(read)).pipeThrough(new TextDecoderStream("utf-8", { fatal: true }));
  let parse = null;
  for await (const piece of pieces(source)) {
    parse ??= isJson(piece) ? jsonLines() : table(delimiterOf(piece));
    yield parse.push(piece);
  }
  if (parse) yield parse.finish();
}

const isJson = (text) => text.trimStart().startsWith("{");

function counter(read) {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      read(bytes);
      controller.enqueue(chunk);
    },
  });
}

async function* pieces(stream) {
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel();
  }
}

function jsonLines() {
  let rest = "", number = 0;
  const parse = (line) => {
    number += 1;
    if (!line.trim()) return [];
    let row;
    try { row = JSON.parse(line); } catch { throw new Error(`line ${number} is not JSON`); }
    if (row === null || typeof row !== "object" || Array.isArray(row)) throw new Error(`line ${number} is not an object`);
    return [row];
  };
  return {
    push(text) {
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      return lines.flatMap(parse);
    },
    finish: () => parse(rest),
  };
}

function table(delimiter) {
  const parser = new CsvParser(delimiter);
  let header = null, number = 0;
  const convert = (rows) => rows.flatMap((row) => {
    number += 1;
    if (!header) {
      header = named(row);
      return [];
    }
    if (row.length !== header.length) throw new Error(`row ${number} has ${counted(row.length, "cell")}, the header has ${header.length}`);
    return [Object.fromEntries(header.map((name, k) => [name, row[k]]).filter(([, cell]) => cell !== ""))];
  });
  return { push: (text) => convert(parser.push(text)), finish: () => convert(parser.finish()) };
}

/** Return different names for the columns of a header. */
function named(row) {
  const seen = new Set();
  return row.map((cell, k) => {
    let name = cell.trim() || `column ${k + 1}`;
    while (seen.has(name)) name += "_";
    seen.add(name);
    return name;
  });
}
