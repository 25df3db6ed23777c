"""Microseconds to predict and train on a row that is a dict, compared with River's passive-aggressive classifier.

75 features with a standard normal value each; the names are the same 75 strings in every row, as in a file with a
header, or (last lines) new strings for every row, as for words of a text. One process, processor time, medians of
interleaved repetitions.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from harness import arguments, machine, table, write_json
from river import linear_model

from confidently.estimators.river import OnlineClassifier

ROWS, FEATURES, REPETITIONS = 2000, 75, 9
MAKERS: dict[str, Callable[[], Any]] = {
    "River PAClassifier": linear_model.PAClassifier,
    "River LogisticRegression": linear_model.LogisticRegression,
    "pa1": lambda: OnlineClassifier("pa1"),
    "arow": lambda: OnlineClassifier("arow"),
    "arow, forget=0.001": lambda: OnlineClassifier("arow", forget=0.001),
    "cw_stdev": lambda: OnlineClassifier("cw_stdev"),
    "arow, covariance=full": lambda: OnlineClassifier("arow", covariance="full"),
}


def stream(same_names: bool) -> list[tuple[dict[str, float], bool]]:
    """Return rows and labels of a noisy random teacher."""
    chance = random.Random(0)
    teacher = [chance.gauss(0, 1) for _ in range(FEATURES)]
    names = [f"feature_{j}" for j in range(FEATURES)]
    found = []
    for _ in range(ROWS):
        values = [chance.gauss(0, 1) for _ in range(FEATURES)]
        label = sum(w * v for w, v in zip(teacher, values, strict=True)) > 3 * chance.gauss(0, 1)
        row_names = names if same_names else [f"feature_{j}" for j in range(FEATURES)]
        found.append((dict(zip(row_names, values, strict=True)), label))
    return found


def microseconds(make: Callable[[], Any], rows: list[tuple[dict[str, float], bool]]) -> float:
    """Return the time per row, for predicting it and then training on it."""
    model = make()
    start = time.process_time()
    for x, y in rows:
        model.predict_one(x)
        model.learn_one(x, y)
    return 1e6 * (time.process_time() - start) / len(rows)


def main() -> None:
    options = arguments(__doc__)
    print(machine())
    lines, result = [], {}
    for same_names in (True, False):
        rows = stream(same_names)
        taken: dict[str, list[float]] = {name: [] for name in MAKERS}
        for _ in range(REPETITIONS):
            for name, make in MAKERS.items():
                taken[name].append(microseconds(make, rows))
        for name, values in taken.items():
            times = median(pa / own for pa, own in zip(taken["River PAClassifier"], values, strict=True))
            shown = name if same_names else f"{name}, new names"
            lines.append([shown, f"{median(values):.1f}", f"{times:.1f}"])
            result[shown] = {"microseconds": values, "times_faster": times}
    print(table(["predict and train", "microseconds per row", "times as fast as PAClassifier"], lines))
    write_json(options.json, {"rows": result})


if __name__ == "__main__":
    main()
