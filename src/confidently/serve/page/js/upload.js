// Sending the rows of a file: labelled ones are learned, the others are offered for labelling.

import { modelPath, Offline, Problem, request } from "./api.js";
import { objects } from "./csv.js";

const ROWS = 1000, CHARACTERS = 1 << 20; // of a request
const RETRY_MS = 1000;
const SHOWN = 5; // problems of rows

/** Send a file. Ids are those of the file's rows, so that rows that are sent again are not learned again.
 *  @param told called with {bytes, learned, offered, rejected, problems}
 *  @param signal aborts between requests */
export async function upload(file, model, convert, told, signal) {
  const state = { bytes: 0, learned: 0, offered: 0, rejected: 0, problems: [], waiting: false };
  const prefix = `${file.name}-${file.size}-${file.lastModified}`.slice(-200);
  const learn = batch(`/learn?${new URLSearchParams({ batch: file.name.slice(-200) })}`, "learned"), offer = batch("/predict", "offered");
  let number = 0;

  function batch(path, counter) {
    let lines = [], size = 0;
    return {
      add(row) {
        const line = JSON.stringify(row);
        lines.push(line);
        size += line.length;
        return lines.length >= ROWS || size >= CHARACTERS;
      },
      async send() {
        if (!lines.length) return;
        const body = `${lines.join("\n")}\n`;
        lines = [];
        size = 0;
        const found = await patiently(() => request("POST", modelPath(model, path), body));
        for (const one of found) {
          if (!one.detail) state[counter] += 1;
          else {
            state.rejected += 1;
            if (state.problems.length < SHOWN) state.problems.push(one.detail);
          }
        }
        told(state);
      },
    };
  }

  async function patiently(work) {
    for (;;) {
      signal.throwIfAborted();
      try {
        const found = await work();
        state.waiting = false;
        return found;
      } catch (error) {
        if (!(error instanceof Offline) && !(error instanceof Problem && [503, 401].includes(error.status))) throw error;
        state.waiting = true;
        told(state);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  for await (const rows of objects(file, (bytes) => { state.bytes = bytes; })) {
    for (const row of rows) {
      number += 1;
      const { features, label } = convert(row);
      const id = `${prefix}-${number}`;
      const full = label === undefined ? offer.add({ id, features }) : learn.add({ id, features, label });
      if (full) {
        await learn.send();
        await offer.send();
      }
    }
    signal.throwIfAborted();
  }
  await learn.send();
  await offer.send();
  state.bytes = file.size;
  told(state);
  return state;
}
