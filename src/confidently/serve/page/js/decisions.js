// A model that decides: what its decisions earned and others would have, what was chosen, and one decision explained.

import { may, modelPath, request } from "./api.js";
import { lineChart, shareChart } from "./chart.js";
import { fill, h, setText } from "./dom.js";
import { clock, count, counted, number, percent, settingText } from "./format.js";
import { rowPath, rowsPath } from "./rows.js";

const EVALUATE_MS = 60_000; // at least between two evaluations, which read the whole log
const IDLE = 20; // times as long as the last one took
const LONGEST_MS = 600_000; // for an evaluation
const FIXED = 5; // of the most frequent actions, evaluated as if they were always chosen
const PERIODS = 8;
const RECENT = 1000; // rewards
const ACTIONS = 20; // that are shown of one decision
const ALWAYS = "always:";

/** Return the part of a model's view that is about decisions: the element, and a function that shows new counts. */
export function decisionFigures(name) {
  const tiles = h("section", { "aria-label": "Decisions", class: "tiles" });
  const reward = lineChart({
    title: "Reward per decision, with 95 % intervals", x: clock, y: number, xName: "time", yName: "mean reward", empty: "No rewards yet.",
  });
  const shares = shareChart({ title: "Actions chosen", x: clock, xName: "time", yName: "of decisions, %" });
  const table = h("div"), told = h("p", { class: "muted small", role: "status" }), newest = h("div");
  const charts = h("section", { "aria-label": "Evaluation", hidden: true },
    h("div", { class: "charts" }, reward.element, shares.element), table, told, newest);
  const element = h("div", {}, tiles, charts);
  let next = 0, rewards = 0, busy = false;

  async function evaluate(decisions) {
    if (busy || !may("admin") || decisions.rewards === rewards || Date.now() < next) return;
    busy = true;
    const begun = Date.now();
    const fixed = Object.keys(decisions.shares).slice(0, FIXED).map((action) => ALWAYS + action);
    const query = new URLSearchParams([...["baseline", "uniform", ...fixed].map((one) => ["policy", one]), ["periods", String(PERIODS)]]);
    try {
      show(await request("GET", modelPath(name, `/evaluate?${query}`), undefined, AbortSignal.timeout(LONGEST_MS)));
      rewards = decisions.rewards;
      await showNewest();
    } catch (error) {
      setText(told, `The decisions could not be evaluated: ${error.message}.`);
    } finally {
      next = Date.now() + Math.max(EVALUATE_MS, IDLE * (Date.now() - begun));
      busy = false;
    }
  }

  function show(found) {
    charts.hidden = !found.evaluated;
    const course = (one, text, color) => ({
      name: text, class: color,
      points: one.periods.map((period, k) => [found.periods[k].until, Math.min(Math.max(period.value, period.low), period.high)]),
      band: one.periods.map((period, k) => [found.periods[k].until, period.low, period.high]),
    });
    const known = found.policies.filter((one) => one.value !== null);
    const best = known.filter((one) => one.policy.startsWith(ALWAYS)).sort((a, b) => b.value - a.value)[0];
    const baseline = known.find((one) => one.policy === "baseline");
    reward.update([
      course(found.logged, "decided", "first"),
      ...(baseline ? [course(baseline, "baseline", "second")] : []),
      ...(best ? [course(best, `always ${best.policy.slice(ALWAYS.length)}`, "third")] : []),
    ]);
    shares.update(found.periods);
    fill(table, valueTable(found));
    const left = Object.entries(found.left_out).map(([why, n]) => `${count(n)} ${why.replaceAll("-", " ")}`);
    setText(told, `Of ${counted(found.evaluated, "rewarded decision")}${left.length ? `; left out: ${left.join(", ")}` : ""}.`);
  }

  async function showNewest() {
    const [row] = (await request("GET", modelPath(name, "/rows?limit=1"))).rows;
    const { decision } = (await request("GET", modelPath(name, `/rows/${encodeURIComponent(row.id)}`))).prediction ?? {};
    if (decision) fill(newest, decisionExplained(decision, h("h2", {}, "The newest decision, ", h("a", { href: rowPath(name, row.id) }, row.id))));
  }

  return {
    element,
    update(decisions) {
      const waiting = decisions.decisions - decisions.rewards;
      const facts = [
        ["Mean reward", decisions.rewards ? number(decisions.recent_mean_reward) : null, decisions.rewards > RECENT ? `of the last ${count(RECENT)}; ${number(decisions.mean_reward)} over all` : ""],
        ["Decisions", count(decisions.decisions), `${count(waiting)} without a reward`],
        ["Rewards", count(decisions.rewards), decisions.default_rewards ? `${count(decisions.default_rewards)} by default` : ""],
        ["As the baseline", decisions.match_rate === null ? null : percent(decisions.match_rate, 0), "of an apprentice's choices"],
      ];
      fill(tiles, facts.filter(([, value]) => value !== null).map(([title, value, note]) => h("div", { class: "tile" },
        h("h2", {}, title), h("b", { class: "big" }, value), h("span", { class: "muted small" }, note))),
      may("admin") && decisions.decisions ? h("div", { class: "tile" }, h("h2", {}, "What was tried"), h("a", { href: rowsPath(name) }, "Table of decisions")) : null);
      evaluate(decisions);
    },
  };
}

function valueTable(found) {
  const interval = (one) => (one ? `${number(one.low)} to ${number(one.high)}` : "–");
  const nameOf = ({ policy }) => (policy === "logged" ? "as decided" : policy.startsWith(ALWAYS) ? `always ${policy.slice(ALWAYS.length)}` : policy);
  const line = (one) => h("tr", {},
    h("th", { scope: "row", dir: "auto" }, nameOf(one), " ", one.warning ? h("span", { class: "tag", title: one.warning }, "little known") : null),
    h("td", { class: "number" }, number(one.value)),
    h("td", { class: "number" }, one.value === null ? "–" : interval(one)),
    h("td", { class: "number wide-only" }, one.gain ? interval(one.gain) : "–"),
    h("td", { class: "number wide-only" }, count(Math.round(one.effective_rows))));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What policies would have earned" },
    h("table", { class: "table" }, h("caption", {}, "What policies would have earned per decision"),
      h("thead", {}, h("tr", {}, [["Policy"], ["Reward", "number"], ["95 % interval", "number"], ["More than the baseline", "number wide-only"], ["Effective decisions", "number wide-only"]]
        .map(([text, kind]) => h("th", { scope: "col", class: kind }, text)))),
      h("tbody", {}, [found.logged, ...found.policies].map(line))));
}

/** Return the explanation of a decision, as the log keeps it: every action with its probability and expected reward. */
export function decisionExplained(decision, heading = h("h2", {}, "The decision")) {
  const actions = decision.actions.map((id, k) => ({
    id, k, probability: decision.probabilities[k], mean: decision.mean[k], deviation: Math.sqrt(decision.variance[k]),
  })).sort((a, b) => b.probability - a.probability || b.mean - a.mean);
  const tags = ({ k }) => [
    k === decision.chosen ? h("span", { class: "tag" }, "chosen") : null,
    k === (decision.baseline ?? 0) ? h("span", { class: "tag" }, "baseline") : null,
    k === decision.would ? h("span", { class: "tag" }, "would be chosen") : null,
  ];
  const bar = (share) => {
    const inner = h("span", { class: "bar first" });
    inner.style.width = `${100 * share}%`;
    return h("span", { class: "bar-track", "aria-hidden": "true" }, inner);
  };
  // Decisions of earlier versions do not name the policy that was the default then.
  const { name, ...policy } = decision.policy.name ? decision.policy : { name: "lin_ts", parameters: { alpha: 0.5 }, ...decision.policy };
  return h("section", { "aria-label": "Decision" }, heading,
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Actions" },
      h("table", { class: "table bars" }, h("caption", { class: "visually-hidden" }, "Actions, the most probable first"),
        h("thead", {}, h("tr", {}, [["Action"], ["Probability", "number"], ["", "bar-cell wide-only"], ["Expected reward", "number"]]
          .map(([text, kind]) => h("th", { scope: "col", class: kind, "aria-hidden": text ? null : "true" }, text)))),
        h("tbody", {}, actions.slice(0, ACTIONS).map((one) => h("tr", { class: one.k === decision.chosen ? "chosen" : null },
          h("th", { scope: "row", dir: "auto" }, String(one.id), tags(one)), h("td", { class: "number" }, percent(one.probability)),
          h("td", { class: "bar-cell wide-only" }, bar(one.probability)), h("td", { class: "number" }, `${number(one.mean)} ± ${number(one.deviation)}`)))))),
    actions.length > ACTIONS ? h("p", { class: "muted small" }, `${counted(actions.length - ACTIONS, "other action")} with smaller probabilities.`) : null,
    h("p", { class: "muted small" }, `Policy ${name}${Object.keys(policy).length ? `, ${settingText(policy)}` : ""}; version ${decision.version}, after event ${count(decision.seq)}. After ± is the standard deviation.`));
}
