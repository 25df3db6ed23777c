"""When forgetting helps: progressive error (predict, then learn) on prices of electricity, in time's order or shuffled.

elec2 has 45,312 half hours of 1996 to 1998 from New South Wales; the label is whether the price is above its mean of
the last day. Features are standardised as they come, by River's StandardScaler. Shuffled (one seed), the same rows do
not drift. "The last label" predicts the label before. All that was tried is shown; beside it, learners of River.
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
    """Predicts the label of the row before."""

    def __init__(self) -> None:
        self.label = False

    def predict_one(self, _: dict[str, float]) -> bool:
        return self.label

    def learn_one(self, _: dict[str, float], y: bool) -> None:
        self.label = y


class Restarted:
    """A classifier that begins anew when ADWIN finds that its errors have become more."""

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
    "the last label": LastLabel,
    "arow, begun anew by ADWIN": lambda: Restarted(lambda: OnlineClassifier("arow")),
    "River PAClassifier": linear_model.PAClassifier,
    "River LogisticRegression": linear_model.LogisticRegression,
    "River HoeffdingAdaptiveTree": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=SEED),
}


def rows() -> Stream:
    """As they stand in the file."""
    with gzip.open(FOLDER / "elec2" / "elec2.csv.gz", "rt") as file:
        read = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    return [({name: v for name, v in row.items() if name != "class"}, row["class"] == 1.0) for row in read]


def standardised(stream: Stream) -> Stream:
    """By the means and deviations up to each row, itself included."""
    scaler, found = preprocessing.StandardScaler(), []
    for x, y in stream:
        scaler.learn_one(x)
        found.append((scaler.transform_one(x), y))
    return found


def error(model: Any, stream: Stream) -> float:
    """Share of rows in percent whose class was predicted wrongly before they were learned."""
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
    for order, stream in (("in the order of time", standardised(in_order)), ("shuffled", standardised(shuffled))):
        found = {f"{rule} {f:g}": error(OnlineClassifier(rule, forget=f), stream) for rule in RULES for f in FORGET}
        found |= {name: error(make(), stream) for name, make in OTHERS.items()}
        result[order] = found
        header = [order, *(f"forget={f:g}" for f in FORGET)]
        by_rule = [[rule, *(f"{found[f'{rule} {f:g}']:.1f}" for f in FORGET)] for rule in RULES]
        print(table(header, by_rule), markdown(header, by_rule), sep="\n\n")
    header = ["beside them", *result]
    others = [[name, *(f"{found[name]:.1f}" for found in result.values())] for name in OTHERS]
    print(table(header, others), markdown(header, others), sep="\n\n")
    write_json(options.json, {"error": result})


if __name__ == "__main__":
    main()
