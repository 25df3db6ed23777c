// Numbers and rows as people read them.

const grouped = new Intl.NumberFormat("en-US");

/** Return an integer with separators. */
export const count = (n) => grouped.format(n);

/** Return a count with its noun: "1 row", "2,000 rows". */
export const counted = (n, noun, nouns = `${noun}s`) => `${count(n)} ${n === 1 ? noun : nouns}`;

/** Return a fraction as a percentage. */
export function percent(fraction, digits = 1) {
  return fraction === null || fraction === undefined ? "–" : `${(100 * fraction).toFixed(digits)} %`;
}

/** Return a number with about three significant digits. */
export function number(x) {
  if (x === null || x === undefined) return "–";
  if (x !== 0 && (Math.abs(x) >= 1e5 || Math.abs(x) < 1e-3)) return x.toExponential(2);
  return String(Number(x.toPrecision(3)));
}

/** Return what more labels are expected to bring, or null if nobody knows. */
export const gained = (gain) => gain
  && `About ${counted(Number(gain.rows.toPrecision(2)), "more label")} should lower the error from ${percent(gain.error)} to ${percent(gain.then)}`;

/** Return the time of day, or the date if it was not today. */
export function clock(seconds) {
  const date = new Date(seconds * 1000);
  const today = new Date().toDateString() === date.toDateString();
  return today
    ? date.toLocaleTimeString("en-GB")
    : date.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

/** Return a value of a row as text. */
export const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** Return a label as text; several labels are joined, and fractions have about six digits. */
export const labelText = (label) => (Array.isArray(label) ? label.join(", ") || "none"
  : String(Number.isFinite(label) && !Number.isInteger(label) ? Number(label.toPrecision(6)) : label));

/** Return the value of a setting as text. */
export function settingText(value) {
  if (Array.isArray(value)) return value.map(settingText).join(", ");
  if (value === null || typeof value !== "object") return String(value);
  return Object.entries(value).map(([key, one]) => `${key.replaceAll("_", " ")} ${settingText(one)}`).join(", ");
}
