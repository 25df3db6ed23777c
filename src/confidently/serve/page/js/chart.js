// Charts as SVG: lines over rows or time, a reliability diagram, sparklines. Colors are classes of the style sheet.

import { h, s, setText } from "./dom.js";

const WINDOWS = 24; // of all rows one is called recent
const LEFT = 46, RIGHT = 12, TOP = 22, BOTTOM = 42; // with the names of the axes

/** Return about n round numbers that cover a range. */
export function ticks(low, high, n) {
  const raw = (high - low) / Math.max(n, 1) || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) found.push(k * step);
  return found;
}

const line = (points) => points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** A chart of lines. `update(series)` draws it: a series has a name, a class and points [x, y], and perhaps a band of
 *  [x, low, high].
 *  @param options title, x and y (functions that format values), xName and yName (of the axes, with units; xName may
 *  be a function), top (the smallest upper end of y) */
export function lineChart({ title, x: formatX, y: formatY, xName, yName, top = 0, height = 216, empty = "No rows yet." }) {
  const svg = s("svg", { class: "chart", role: "img", "aria-label": title });
  const legend = h("p", { class: "legend" });
  const element = h("figure", { class: "figure" }, h("figcaption", {}, h("h2", {}, title), legend), svg);
  let series = [], hover = null;

  function draw() {
    const width = Math.max(svg.clientWidth, 200);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.style.height = `${height}px`;
    const points = series.flatMap((one) => one.points);
    svg.replaceChildren();
    if (!points.length) {
      svg.append(s("text", { x: width / 2, y: height / 2, class: "tick", "text-anchor": "middle" }, empty));
      legend.replaceChildren();
      svg.setAttribute("aria-label", `${title}: ${empty}`);
      return;
    }
    const xs = points.map(([x]) => x), low = Math.min(...xs), high = Math.max(...xs), span = high - low || 1;
    const values = [...points.map(([, y]) => y), ...series.flatMap((one) => (one.band ?? []).flatMap(([, ...ends]) => ends))];
    const peak = Math.max(top, ...values) || 1, least = Math.min(0, ...values);
    const ys = ticks(least, peak, 4);
    const step = ys.length > 1 ? ys[1] - ys[0] : 1;
    const ceiling = Math.ceil(peak / step - 1e-9) * step, floor = Math.floor(least / step + 1e-9) * step;
    const px = (x) => LEFT + ((x - low) / span) * (width - LEFT - RIGHT);
    const py = (y) => height - BOTTOM - ((y - floor) / (ceiling - floor || 1)) * (height - TOP - BOTTOM);
    for (const y of ticks(floor, ceiling, 4)) {
      svg.append(
        s("line", { x1: LEFT, x2: width - RIGHT, y1: py(y), y2: py(y), class: "grid" }),
        s("text", { x: LEFT - 8, y: py(y) + 4, class: "tick", "text-anchor": "end" }, formatY(y)),
      );
    }
    svg.append(
      s("text", { x: 0, y: 11, class: "tick axis" }, yName),
      s("text", { x: width - RIGHT, y: height - 6, class: "tick axis", "text-anchor": "end" }, typeof xName === "function" ? xName() : xName),
    );
    const marks = ticks(low, high, width / (7 * formatX(high).length + 50));
    marks.forEach((x, k) => {
      const anchor = px(x) > width - 50 ? "end" : k === 0 && px(x) < LEFT + 20 ? "start" : "middle";
      svg.append(s("text", { x: px(x), y: height - BOTTOM + 18, class: "tick", "text-anchor": anchor }, formatX(x)));
    });
    for (const { band, class: color } of series.filter((one) => one.band?.length > 1)) {
      const edge = [...band.map(([x, , y]) => [px(x), py(y)]), ...[...band].reverse().map(([x, y]) => [px(x), py(y)])];
      svg.append(s("path", { d: `${line(edge)}Z`, class: `area ${color}` }));
    }
    for (const one of series) {
      if (one.points.length === 1) {
        const [[x, y]] = one.points;
        svg.append(s("circle", { cx: px(x), cy: py(y), r: 3, class: `dot ${one.class}` }));
      } else {
        svg.append(s("path", { d: line(one.points.map(([x, y]) => [px(x), py(y)])), class: `line ${one.class}` }));
      }
    }
    let at = high;
    if (hover !== null) {
      at = low + ((hover - LEFT) / (width - LEFT - RIGHT)) * span;
      const [x] = nearest(series[0].points, at);
      at = x;
      svg.append(s("line", { x1: px(x), x2: px(x), y1: TOP, y2: height - BOTTOM, class: "cursor" }));
    }
    const shown = series.filter((one) => one.points.length).map((one) => [one, nearest(one.points, at)]);
    legend.replaceChildren(
      ...shown.map(([one, [, y]]) => h("span", { class: `key ${one.class}` }, `${one.name} `, h("b", {}, formatY(y)))),
      ...(hover === null ? [] : [h("span", {}, formatX(at))]),
    );
    const told = shown.map(([one, [, y]]) => `${one.name} ${formatY(y)}`).join(", ");
    if (hover === null) svg.setAttribute("aria-label", `${title}, now: ${told}`);
  }

  svg.addEventListener("pointermove", (event) => {
    hover = Math.min(Math.max(event.clientX - svg.getBoundingClientRect().left, LEFT), svg.clientWidth - RIGHT);
    draw();
  });
  svg.addEventListener("pointerleave", () => { hover = null; draw(); });
  new ResizeObserver(draw).observe(svg);
  return { element, update(found) { series = found; draw(); } };
}

function nearest(points, x) {
  return points.reduce((best, one) => (Math.abs(one[0] - x) < Math.abs(best[0] - x) ? one : best), points[0]);
}

/** Columns of the shares of what was chosen, one per period; `update(periods)` draws them, with `actions` and `others`. */
export function shareChart({ title, x: formatX, xName, yName, height = 216 }) {
  const svg = s("svg", { class: "chart", role: "img", "aria-label": title });
  const legend = h("p", { class: "legend" });
  const element = h("figure", { class: "figure" }, h("figcaption", {}, h("h2", {}, title), legend), svg);
  let periods = [];

  function draw() {
    const width = Math.max(svg.clientWidth, 200), room = (width - LEFT - RIGHT) / Math.max(periods.length, 1);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.style.height = `${height}px`;
    svg.replaceChildren();
    if (!periods.length) return;
    const py = (share) => height - BOTTOM - share * (height - TOP - BOTTOM);
    for (const share of [0, 0.5, 1]) {
      svg.append(s("text", { x: LEFT - 8, y: py(share) + 4, class: "tick", "text-anchor": "end" }, `${100 * share}`));
    }
    const parts = (period) => [...Object.entries(period.actions), ...(period.others ? [["others", period.others]] : [])];
    periods.forEach((period, k) => {
      let below = 0;
      parts(period).forEach(([name, n], rank) => {
        const share = n / period.decisions, left = LEFT + k * room;
        const color = rank < Object.keys(period.actions).length ? `share-${rank}` : "share-others";
        const part = s("rect", { x: left + 1, width: Math.max(room - 2, 1), y: py(below + share), height: py(below) - py(below + share), class: color });
        part.append(s("title", {}, `${name}: ${percentOf(share)} of ${period.decisions}, until ${formatX(period.until)}`));
        svg.append(part);
        below += share;
      });
    });
    const at = (x, k, anchor) => s("text", { x, y: height - BOTTOM + 18, class: "tick", "text-anchor": anchor }, formatX(periods[k].until));
    svg.append(
      s("text", { x: 0, y: 11, class: "tick axis" }, yName),
      s("text", { x: width - RIGHT, y: height - 6, class: "tick axis", "text-anchor": "end" }, xName),
      at(LEFT, 0, "start"), ...(periods.length > 1 ? [at(width - RIGHT, periods.length - 1, "end")] : []),
    );
    const last = periods.at(-1), named = Object.keys(last.actions).length;
    const told = parts(last).map(([name, n], rank) => [name, percentOf(n / last.decisions), rank < named ? `share-${rank}` : "share-others"]);
    legend.replaceChildren(...told.map(([name, share, color]) => h("span", { class: `key ${color}`, dir: "auto" }, `${name} `, h("b", {}, share))));
    svg.setAttribute("aria-label", `${title}, now: ${told.map(([name, share]) => `${name} ${share}`).join(", ")}`);
  }

  new ResizeObserver(draw).observe(svg);
  return { element, update(found) { periods = found; draw(); } };
}

/** A diagram of how often statements are true, against how often they should be; the size of a dot shows its rows.
 *  @param of its words: title, rule by which it is read, names of the axes, and of the two values of a dot */
export function reliabilityChart({ title, rule, x: xName, y: yName, stated, found }) {
  const size = 260, edge = 44;
  const svg = s("svg", { class: "chart square", role: "img", viewBox: `0 0 ${size} ${size}` });
  const legend = h("p", { class: "legend" }, rule);
  const element = h("figure", { class: "figure" }, h("figcaption", {}, h("h2", {}, title), legend), svg);
  const px = (x) => edge + x * (size - edge - 10);
  const py = (y) => size - edge + 8 - y * (size - edge - 10);

  function update(bins) {
    const filled = bins.filter((bin) => bin.rows > 0);
    svg.replaceChildren();
    for (const v of [0, 0.5, 1]) {
      svg.append(
        s("line", { x1: px(0), x2: px(1), y1: py(v), y2: py(v), class: "grid" }),
        s("line", { x1: px(v), x2: px(v), y1: py(0), y2: py(1), class: "grid" }),
        s("text", { x: px(0) - 6, y: py(v) + 4, class: "tick", "text-anchor": "end" }, `${100 * v}`),
        s("text", { x: px(v), y: py(0) + 18, class: "tick", "text-anchor": v === 1 ? "end" : v ? "middle" : "start" }, `${100 * v}`),
      );
    }
    svg.append(
      s("text", { x: px(1), y: size - 4, class: "tick axis", "text-anchor": "end" }, xName),
      s("text", { x: 0, y: 0, class: "tick axis", "text-anchor": "end", transform: `translate(11 ${py(1)}) rotate(-90)` }, yName),
    );
    svg.append(s("line", { x1: px(0), y1: py(0), x2: px(1), y2: py(1), class: "diagonal" }));
    const most = Math.max(...filled.map((bin) => bin.rows), 1);
    for (const bin of filled) {
      const r = 3 + 6 * Math.sqrt(bin.rows / most);
      const dot = s("circle", { cx: px(bin.probability), cy: py(bin.accuracy), r, class: "dot first" });
      const told = `${stated} ${percentOf(bin.probability)}, ${found} ${percentOf(bin.accuracy)}, rows ${bin.rows}`;
      dot.append(s("title", {}, told));
      svg.append(dot);
    }
    const told = filled.map((bin) => `${percentOf(bin.probability)} ${stated}, ${percentOf(bin.accuracy)} ${found}`);
    svg.setAttribute("aria-label", `${title}: ${told.join("; ") || "no rows yet"}`);
    setText(legend, filled.length ? rule : "No rows yet.");
  }

  return { element, update };
}

const percentOf = (x) => `${(100 * x).toFixed(0)} %`;

/** A small line without axes, of a class of the style sheet. */
export function sparkline(color = "first") {
  const svg = s("svg", { class: "spark", viewBox: "0 0 200 48", preserveAspectRatio: "none", "aria-hidden": "true" });

  function update(points) {
    svg.replaceChildren();
    svg.style.display = points.length < 2 ? "none" : "";
    if (points.length < 2) return;
    const xs = points.map(([x]) => x), low = Math.min(...xs), high = Math.max(...xs), span = high - low || 1;
    const peak = Math.max(...points.map(([, y]) => y), 1e-9);
    const found = points.map(([x, y]) => [2 + (196 * (x - low)) / span, 45 - (41 * y) / peak]);
    svg.append(
      s("path", { d: `${line(found)}L198 48L2 48Z`, class: `area ${color}` }),
      s("path", { d: line(found), class: `line ${color}`, "vector-effect": "non-scaling-stroke" }),
    );
  }

  return { element: svg, update };
}

/** Return progressive and windowed values of a curve, against rows or time.
 *  @param quantity "error", "log_loss", "mae" or "rmse", whose square is averaged */
export function course(curve, quantity, byTime) {
  let rows = 0, sum = 0, n = 0, wrong = 0, first = 0;
  const total = [], recent = [];
  const power = quantity === "rmse" ? 2 : 1;
  const value = (point) => point.rows * (point[quantity] ?? 0) ** power;
  const mean = (total, rows) => (total / rows) ** (1 / power);
  const window = curve.reduce((all, point) => all + point.rows, 0) / WINDOWS;
  for (const point of curve) {
    rows += point.rows;
    sum += value(point);
    n += point.rows;
    wrong += value(point);
    while (n - curve[first].rows >= window) {
      n -= curve[first].rows;
      wrong -= value(curve[first++]);
    }
    const x = byTime ? point.time : rows;
    total.push([x, mean(sum, rows)]);
    recent.push([x, mean(Math.max(wrong, 0), n)]);
  }
  return { total, recent, window: Math.max(Math.round(window), 1) };
}
