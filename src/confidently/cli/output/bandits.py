"""Text about decisions and values of policies."""

from __future__ import annotations

from typing import Any

from .text import parameters_text, shown, table
from .training_summaries import skipped_lines

ESTIMATORS = {"ipw": "IPS", "snipw": "SNIPS", "dr": "doubly robust", "switch_dr": "switch-DR"}


MAX_ACTIONS, MAX_LISTED = 8, 20  # columns of a table; rows of another one


def model_text(facts: dict[str, Any], path: str) -> str:
    """Return what a model has learned: the reward of each action, and what features add to it."""
    low, high = facts["reward_range"]
    parameters = parameters_text(facts["parameters"])
    lines = [
        ["file", path],
        ["model", "one for all actions" if facts["shared"] else "one per action"],
        ["policy", facts["policy"] + (f" ({parameters})" if parameters else "")],
        ["rewards", f"{facts['rewards']:,} in [{low:g}, {high:g}], restarts {facts['restarts']:,}"],
        ["features", f"{facts['features']:,} of contexts"],
        ["noise", f"{facts['noise']:.4g}, the standard deviation of rewards"],
    ]
    title = "feature of actions" if facts["shared"] else "action"
    rows = [[title, "reward without features", "std"]]
    listed, more = facts["actions"][:MAX_LISTED], len(facts["actions"]) - MAX_LISTED
    rows += [[shown(one["action"]), f"{one['expected']:.4g}", f"{one['std']:.2g}"] for one in listed]
    rows += [[f"and {more:,} more", "", ""]] if more > 0 else []
    parts = [table(lines, align=str.ljust), table(rows) if facts["actions"] else "No reward was learned."]
    if facts["effects"]:
        names = [shown(one["action"]) for one in facts["actions"][:MAX_ACTIONS]]
        effects = [["what a feature adds, for", *names]]
        effects += [
            [shown(one["feature"]), *(f"{x:+.4g}" for x in one["of_actions"][:MAX_ACTIONS])] for one in facts["effects"]
        ]
        parts.append(table(effects))
    return "\n\n".join(parts)


def bandit_text(result: dict[str, Any]) -> str:
    """Return a summary of training or evaluation on a log."""
    kind = "one for all actions" if result["shared"] else "one per action"
    parameters = parameters_text(result["parameters"])
    lines = [
        ["decisions", f"{result['decisions']:,}, {result['rewarded']:,} with a reward"],
        ["actions", f"up to {result['actions']:,} per decision"],
        ["model", f"{kind}, {result['features']:,} features of contexts"],
        [
            "policy",
            result["policy"] + (f" ({parameters})" if (parameters := parameters_text(result["parameters"])) else ""),
        ],
        ["reward of the log", f"{result['logged']:.4f} per decision"],
    ]
    if result["restarts"]:
        lines.append(["restarts", f"{result['restarts']:,}, where rewards changed"])
    header = ["reward of the policy", "", "95 % interval", "effective decisions"]
    values = [
        [ESTIMATORS[one["estimator"]], f"{one['value']:.4f}", f"{one['low']:.4f} to {one['high']:.4f}",
         f"{one['effective_rounds']:,.0f}"]
        for one in result["values"]
    ]  # fmt: skip
    parts = [table(lines), *filter(None, ["\n".join(skipped_lines(result, "decision"))])]
    parts.append(table([header, *values]) if values else "The policy never chooses what the log did: nothing is known.")
    problems = list(dict.fromkeys(one["problem"] for one in result["values"] if one["problem"]))
    parts += [f"Do not trust these intervals: {problem}." for problem in problems[:1]]
    if "model_bytes" in result:
        parts.append(table([["saved", f"{result['model']} ({result['model_bytes']:,} bytes)"]]))
    return "\n\n".join(parts)
