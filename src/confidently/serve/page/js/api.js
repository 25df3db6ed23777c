// Requests to the server. A Problem is an answer that says no; Offline is no answer at all.

const CSRF = "x-csrf-token";
const TIMEOUT_MS = 60_000; // an answer that takes longer counts as lost
const session = { needed: false, csrf: "", scopes: [] };

export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? body.title ?? `status ${status}`);
    this.status = status;
    this.kind = String(body.type ?? "").replace("urn:confidently:", "");
  }
}

export class Offline extends Error {}

/** Return whether the session may do what needs a scope. */
export const may = (scope) => session.scopes.includes(scope);

/** Ask the server who we are; return whether a token is needed. */
export async function openSession() {
  Object.assign(session, await request("GET", "session"));
  return session.needed;
}

/** Exchange a token for a session. */
export async function logIn(token) {
  Object.assign(session, { needed: false }, await request("POST", "session", { token }));
}

/** Send a request; return the JSON of its answer.
 *  @param body an object, sent as JSON, a string, sent as NDJSON, or a file */
export async function request(method, path, body, signal) {
  const headers = {}, [type, sent] = encoded(body);
  if (session.csrf && method !== "GET") headers[CSRF] = session.csrf;
  if (type) headers["content-type"] = type;
  let response, text;
  try {
    response = await fetch(path, { method, headers, body: sent, signal: signal ?? AbortSignal.timeout(TIMEOUT_MS), cache: "no-store" });
    text = await response.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Offline("the server cannot be reached");
  }
  const answered = response.headers.get("content-type") ?? "";
  if (!response.ok) {
    const problem = new Problem(response.status, answered.includes("json") ? JSON.parse(text) : {});
    if (problem.status === 401 || (problem.kind === "cross-site" && session.csrf)) {
      dispatchEvent(new CustomEvent("login-needed"));
    }
    throw problem;
  }
  if (!text) return null;
  return answered.includes("ndjson") ? text.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line)) : JSON.parse(text);
}

function encoded(body) {
  if (body === undefined) return [null, body];
  if (typeof body === "string") return ["application/x-ndjson", body];
  if (body instanceof Blob) return ["application/octet-stream", body];
  return ["application/json", JSON.stringify(body)];
}

/** Return the address of a model, or of something below it. Like all addresses it is relative to the page, since the
 *  server may be below a path of another one. */
export const modelPath = (name, rest = "") => `v1/models/${encodeURIComponent(name)}${rest}`;

/** Return an address with the server's own before it, to be used elsewhere. */
export const absolute = (path) => new URL(path, new URL(".", document.baseURI)).href;
