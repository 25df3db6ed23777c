// Finding one of many classes by typing, and names that are nearly those of others.

/** Return the classes that a text finds: those that begin with it, then words that do, then those that contain it. */
export function found(classes, text) {
  const wanted = plain(text);
  if (!wanted) return classes;
  const ranks = classes.map((label) => rank(plain(label), wanted));
  return [0, 1, 2, 3].flatMap((one) => classes.filter((_, k) => ranks[k] === one));
}

function rank(label, wanted) {
  if (label === wanted) return 0;
  if (label.startsWith(wanted)) return 1;
  if (label.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(wanted))) return 2;
  return label.includes(wanted) ? 3 : 4;
}

/** Return the classes that a new name may be a variant of, the most similar first: other case, plural, a slip or two. */
export function similar(classes, name) {
  const wanted = letters(name);
  return classes
    .map((label) => [slipsBetween(letters(label), wanted), label])
    .filter(([slips, label]) => label !== name && slips <= allowed(Math.min(wanted.length, letters(label).length)))
    .sort(([a], [b]) => a - b)
    .map(([, label]) => label);
}

/** The slips in a name that may be the same one: short names differ by a letter without being the same. */
const allowed = (length) => (length < 4 ? 0 : length < 8 ? 1 : 2);

/** Return a text without case and accents. */
const plain = (text) => text.trim().toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");

/** Return a name without case, accents and separators. */
const letters = (name) => plain(name).replace(/[^\p{L}\p{N}]+/gu, "") || plain(name);

/** The slips between two names, or between their singulars if these are fewer. */
const slipsBetween = (first, second) => Math.min(distance(first, second), distance(singular(first), singular(second)));

function singular(name) {
  if (name.length > 4 && name.endsWith("ies")) return `${name.slice(0, -3)}y`;
  if (name.length > 4 && /(s|x|z|ch|sh)es$/.test(name)) return name.slice(0, -2);
  return name.length > 3 && name.endsWith("s") && !name.endsWith("ss") ? name.slice(0, -1) : name;
}

/** Return the fewest insertions, deletions, replacements and swaps of neighbours that turn one text into the other. */
export function distance(first, second) {
  const a = [...first], b = [...second];
  let before = [], last = b.map((_, k) => k), row;
  last.push(b.length);
  for (let i = 1; i <= a.length; i++) {
    row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    [before, last] = [last, row];
  }
  return last[b.length];
}
