"""When forgetting helps: progressive validation error on electricity prices, in the order of time or shuffled.

elec2 has 45,312 half hours of 1996 to 1998 from New South Wales; the label is whether the price is above its mean of
the last day. Features are standardized online, by River's StandardScaler. Shuffled (one seed), the same rows do not
drift. "last label" predicts the previous label. The tables show everything that was tried, and learners of River.
"""

from __future__ import annotations

import csv
import gzip
import random
from collections.abc import Callable
from typing import Any

from harness import FOLDER, arguments, have_data, machine, markdown, table, write_json
from river import drift, linear_model, preprocessing, tree

from confidently.estimators.river import OnlineClassifier

Stream = list[tuple[dict[str, float], bool]]
RULES = ("arow", "cw_stdev", "scw1", "nherd", "gibbs_pa", "probit")
FORGET = (0.0, 0.0001, 0.001, 0.01, 0.03, 0.1, 0.3)
SEED = 20090614


class LastLabel:
    """Predicts the label of the previous row."""

    def __init__(self) -> None:
        self.label = False

    def predict_one(self, _: dict[str, float]) -> bool:
        return self.label

    def learn_one(self, _: dict[str, float], y: bool) -> None:
        self.label = y


class Restarted:
    """A classifier that restarts from scratch when ADWIN detects an increase of its errors."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make, self.model, self.detector, self.restarts = make, make(), drift.ADWIN(), 0

    def predict_one(self, x: dict[str, float]) -> bool:
        return self.model.predict_one(x)

    def learn_one(self, x: dict[str, float], y: bool) -> None:
        before = self.detector.estimation
        self.detector.update(int(self.model.predict_one(x) != y))
        if self.detector.drift_detected and self.detector.estimation > before:
            self.model, self.restarts = self.make(), self.restarts + 1
        self.model.learn_one(x, y)


OTHERS: dict[str, Callable[[], Any]] = {
    "last label": LastLabel,
    "arow, restarted by ADWIN": lambda: Restarted(lambda: OnlineClassifier("arow", view=None)),
    "River PAClassifier": linear_model.PAClassifier,
    "River LogisticRegression": linear_model.LogisticRegression,
    "River HoeffdingAdaptiveTree": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=SEED),
}


def rows() -> Stream:
    """Return the rows in the order of the file."""
    with gzip.open(FOLDER / "elec2" / "elec2.csv.gz", "rt") as file:
        read = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    return [({name: v for name, v in row.items() if name != "class"}, row["class"] == 1.0) for row in read]


def standardized(stream: Stream) -> Stream:
    """Standardize by the means and standard deviations up to and including each row."""
    scaler, found = preprocessing.StandardScaler(), []
    for x, y in stream:
        scaler.learn_one(x)
        found.append((scaler.transform_one(x), y))
    return found


def error(model: Any, stream: Stream) -> float:
    """Return the percentage of rows predicted wrongly before training on them."""
    wrong = 0
    for x, y in stream:
        wrong += bool(model.predict_one(x)) != y
        model.learn_one(x, y)
    return 100 * wrong / len(stream)


def main() -> None:
    options = arguments(__doc__)
    if not have_data():
        return
    print(machine())
    in_order = rows()
    shuffled = random.Random(SEED).sample(in_order, len(in_order))
    result: dict[str, dict[str, float]] = {}
    for order, stream in (("in the order of time", standardized(in_order)), ("shuffled", standardized(shuffled))):
        found = {
            f"{rule} {f:g}": error(OnlineClassifier(rule, forget=f, view=None), stream)
            for rule in RULES
            for f in FORGET
        }
        found |= {name: error(make(), stream) for name, make in OTHERS.items()}
        result[order] = found
        header = [order, *(f"forget={f:g}" for f in FORGET)]
        by_rule = [[rule, *(f"{found[f'{rule} {f:g}']:.1f}" for f in FORGET)] for rule in RULES]
        print(table(header, by_rule), markdown(header, by_rule), sep="\n\n")
    header = ["other learners", *result]
    others = [[name, *(f"{found[name]:.1f}" for found in result.values())] for name in OTHERS]
    print(table(header, others), markdown(header, others), sep="\n\n")
    write_json(options.json, {"error": result})


if __name__ == "__main__":
    main()
