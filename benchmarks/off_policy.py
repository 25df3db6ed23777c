"""Coverage of intervals of off-policy estimates on simulated logs, by the smallest propensity.

Five kinds of contexts, four actions, rewards 0 and 1. The logging policy prefers one action per context, often not the
best, and chooses each of the others with the smallest propensity. The policy to evaluate chooses the best action with
probability .85. Of every cell, the share of 95 % intervals that hold the true value, and their mean width; of
estimators with a model, whose expected rewards are wrong by .1. "effective" is the mean number of effective rounds.
With 200 logs, 95 % is measured to 3 points.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from harness import arguments, machine, markdown, write_json

from confidently.bandits import (
    DoublyRobust,
    InverseProbabilityWeighting,
    OffPolicyEstimator,
    SelfNormalizedInverseProbabilityWeighting,
    SwitchDoublyRobust,
)

TRUTH = np.array([[0.2, 0.5, 0.4, 0.6], [0.7, 0.3, 0.5, 0.2], [0.4, 0.6, 0.3, 0.5], [0.1, 0.3, 0.8, 0.4],
                  [0.5, 0.5, 0.2, 0.6]])  # fmt: skip
PREFERRED = np.array([0, 0, 1, 2, 3])  # by the logging policy
WRONG = np.array([0.1, -0.1, 0.1, -0.1])  # in the expected rewards
POLICY = np.full(TRUTH.shape, 0.05)
POLICY[np.arange(5), TRUTH.argmax(axis=1)] = 0.85
VALUE = float((POLICY * TRUTH).sum(axis=1).mean())
LEAST = (0.1, 0.03, 0.01, 0.003, 0.001)
CASES: list[tuple[str, OffPolicyEstimator, str]] = [
    ("IPS", InverseProbabilityWeighting(), "normal"),
    ("SNIPS", SelfNormalizedInverseProbabilityWeighting(), "normal"),
    ("SNIPS", SelfNormalizedInverseProbabilityWeighting(), "bootstrap"),
    ("IPS, SNIPS", SelfNormalizedInverseProbabilityWeighting(), "likelihood"),
    ("IPS, SNIPS", InverseProbabilityWeighting(), "betting"),
    ("DR", DoublyRobust(), "normal"),
    ("DR", DoublyRobust(), "likelihood"),
    ("switch-DR", SwitchDoublyRobust(), "normal"),
]


def logged(n: int, least: float, random: np.random.Generator) -> tuple[dict[str, Any], np.ndarray]:
    """Return the arguments of estimators, and the expected rewards of a model."""
    x = random.integers(5, size=n)
    logging = np.full(TRUTH.shape, least)
    logging[np.arange(5), PREFERRED] = 1 - 3 * least
    action = (random.random((n, 1)) > logging[x].cumsum(axis=1)[:, :3]).sum(axis=1)
    reward = (random.random(n) < TRUTH[x, action]).astype(float)
    rounds = {"reward": reward, "action": action, "action_dist": POLICY[x], "pscore": logging[x, action]}
    return rounds, np.clip(TRUTH + WRONG, 0, 1)[x]


def coverage(estimator: OffPolicyEstimator, method: str, n: int, least: float, n_logs: int) -> dict[str, float]:
    random = np.random.default_rng(1)
    found = {"coverage": 0.0, "width": 0.0, "effective": 0.0}
    for _ in range(n_logs):
        rounds, predicted = logged(n, least, random)
        if estimator.needs_predictions:
            rounds["estimated_rewards_by_reg_model"] = predicted
        one = estimator.estimate_interval(
            **rounds, method=method, min_pscore=least, n_bootstrap_samples=200, random_state=0
        )
        found["coverage"] += (one.low <= VALUE <= one.high) / n_logs
        found["width"] += (one.high - one.low) / n_logs
        found["effective"] += estimator.overlap(**rounds).effective_rounds / n_logs
    return found


def main() -> None:
    args = arguments(__doc__ or "", ("--logs", {"type": int, "default": 200}), ("--rounds", {"default": "1000,10000"}))
    print(machine())
    warnings.simplefilter("ignore")  # of little overlap: here one sees what it leads to
    results, lines = {}, []
    for n in map(int, args.rounds.split(",")):
        for least in LEAST:
            cells = [coverage(one, method, n, least, args.logs) for _, one, method in CASES]
            results |= {
                f"{n} {least} {name} {method}": cell for (name, _, method), cell in zip(CASES, cells, strict=True)
            }
            shown = [f"{100 * cell['coverage']:.1f} ({cell['width']:.2f})" for cell in cells]
            lines.append([f"{n:,}", f"{least:g}", f"{cells[0]['effective']:.0f}", *shown])
    header = ["rounds", "smallest propensity", "effective", *(f"{name}, {method}" for name, _, method in CASES)]
    print(markdown(header, lines))
    if args.json:
        write_json(args.json, results)


if __name__ == "__main__":
    main()
