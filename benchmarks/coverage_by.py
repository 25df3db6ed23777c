"""Coverage of intervals by the values of a column, with and without ``coverage_by``. Nothing is tuned.

Rows have three columns of numbers and a category, of which the size of the noise depends: "large" has half of the rows,
"middle" .3, "small" .15, ten values of 1 to 40 rows the others. The category is a feature, so that the model of the
noise sees it; or it is not. Three thousand rows train and five thousand others are covered, 30 times: the fraction of
the rows of each value, and of the ten rare ones together, whose target is inside; the mean width of the intervals that
are finite; and the time that ``coverage_by`` adds to training, of the least of five runs.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from harness import arguments, machine, markdown, table, write_json

from confidently import AutoRegressor, OnlineRegressor

LEVELS, TRAININGS, ROWS, NEW = (0.8, 0.9, 0.95), 30, 3000, 5000
FREQUENT = {"large": (0.5, 0.3), "middle": (0.3, 1.0), "small": (0.15, 3.0)}  # share, and the size of the noise
RARE = {f"rare {k}": (0.05 * k / 55, 2.0) for k in range(1, 11)}
LEARNERS: dict[str, Callable[..., Any]] = {"OnlineRegressor": OnlineRegressor, "AutoRegressor": AutoRegressor}


def made(n: int, seed: int) -> pd.DataFrame:
    """Return rows with a target."""
    generator, kinds = np.random.default_rng(seed), FREQUENT | RARE
    shares, noise = np.array(list(kinds.values())).T
    kind = generator.choice(len(kinds), n, p=shares / shares.sum())
    frame = pd.DataFrame(generator.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame["kind"] = np.array(list(kinds))[kind]
    frame["y"] = frame["a"] - frame["b"] + noise[kind] * generator.normal(size=n)
    return frame


def covered(kind: Callable[..., Any], by: str | None, feature: bool, trainings: int) -> dict[float, list[list[float]]]:
    """Return for each level and training how many rows of each kind are covered, and the mean width."""
    found: dict[float, list[list[float]]] = {level: [] for level in LEVELS}
    for seed in range(trainings):
        old, new = made(ROWS, seed), made(NEW, 1000 + seed)
        options = {} if feature else {"drop": ["kind"]}
        model = kind(coverage_by=by).fit_stream(old, label="y", **options)
        kinds = new["kind"].where(new["kind"].isin(FREQUENT), "rare")
        for level, runs in found.items():
            low, high = model.predict_interval(new, level).T
            inside = pd.Series((low <= new["y"]) & (new["y"] <= high))
            width = (high - low)[np.isfinite(high - low)].mean()
            runs.append([*(inside[kinds == one].mean() for one in (*FREQUENT, "rare")), inside.mean(), width])
    return found


def added(kind: Callable[..., Any]) -> float:
    """Return by what part training takes longer."""
    frame, least = made(20_000, 0), {None: np.inf, "kind": np.inf}
    for _ in range(5):
        for by in least:
            begun = time.perf_counter()
            kind(coverage_by=by).fit_stream(frame, label="y")
            least[by] = min(least[by], time.perf_counter() - begun)
    return least["kind"] / least[None] - 1.0


def main() -> None:
    """Print a table."""
    options = arguments(__doc__ or "", ("--trainings", {"type": int, "default": TRAININGS, "help": "how many"}))
    warnings.simplefilter("ignore")
    print(machine(), flush=True)
    result, lines = {}, []
    for name, kind in LEARNERS.items():
        for feature in (True, False):
            for by in (None, "kind"):
                for level, runs in covered(kind, by, feature, options.trainings).items():
                    mean = np.mean(runs, axis=0).tolist()
                    result[f"{name}, {by}, {feature}, {level}"] = runs
                    lines.append([name, "yes" if feature else "no", by or "-", f"{level:g}",
                                  *(f"{part:.3f}" for part in mean[:-1]), f"{mean[-1]:.2f}"])  # fmt: skip
                    print(lines[-1], flush=True)
        result[f"{name}, time"] = added(kind)
        print(f"{name}: training takes {100 * result[f'{name}, time']:.0f} % longer", flush=True)
    header = ["", "feature", "coverage_by", "level", *FREQUENT, "rare", "all", "width"]
    print(table(header, lines), markdown(header, lines), sep="\n\n")
    write_json(options.json, result)


if __name__ == "__main__":
    main()
