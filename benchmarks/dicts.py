"""Microseconds to predict and train on a row that is a dict, compared with River's passive-aggressive classifier.

Every row has 75 features. Columns: the same 75 names with a standard normal value each, as in a file with a header; the
names are the same string objects in every row, or new ones, as a parser makes them. Words: 75 different words of
47,000, drawn by Zipf's law, with the value 1, in any order; the same string objects, or new ones, as when words are cut
from text; or words that are met once only. One process, processor time, medians of interleaved repetitions.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from itertools import accumulate
from statistics import median
from typing import Any

from harness import arguments, machine, table, write_json
from river import linear_model

from confidently.estimators.river import OnlineClassifier

ROWS, FEATURES, WORDS, REPETITIONS = 2000, 75, 47_000, 9
PEER = "River PAClassifier"
MAKERS: dict[str, Callable[[], Any]] = {
    PEER: linear_model.PAClassifier,
    "River LogisticRegression": linear_model.LogisticRegression,
    "pa1": lambda: OnlineClassifier("pa1"),
    "arow": lambda: OnlineClassifier("arow"),
    "arow, forget=0.001": lambda: OnlineClassifier("arow", forget=0.001),
    "cw_stdev": lambda: OnlineClassifier("cw_stdev"),
    "arow, covariance=full": lambda: OnlineClassifier("arow", covariance="full"),
}
Rows = list[tuple[dict[str, float], bool]]


def columns(new_strings: bool) -> Rows:
    """Return rows of the same columns and labels of a noisy random teacher."""
    chance = random.Random(0)
    teacher = [chance.gauss(0, 1) for _ in range(FEATURES)]
    names = [f"feature_{j}" for j in range(FEATURES)]
    found = []
    for _ in range(ROWS):
        values = [chance.gauss(0, 1) for _ in range(FEATURES)]
        label = sum(w * v for w, v in zip(teacher, values, strict=True)) > 3 * chance.gauss(0, 1)
        found.append((dict(zip(strings(names) if new_strings else names, values, strict=True)), label))
    return found


def words(new_strings: bool) -> Rows:
    """Return rows of words as texts have them and labels of a noisy random teacher."""
    chance = random.Random(0)
    names = [spelled(k, chance) for k in range(WORDS)]
    teacher = [chance.gauss(0, 1) for _ in names]
    shares = list(accumulate(1 / rank for rank in range(1, WORDS + 1)))
    found = []
    for _ in range(ROWS):
        drawn: dict[int, None] = {}
        while len(drawn) < FEATURES:
            drawn.update(dict.fromkeys(chance.choices(range(WORDS), cum_weights=shares, k=FEATURES - len(drawn))))
        label = sum(teacher[k] for k in drawn) > 3 * chance.gauss(0, 1)
        row = [names[k] for k in drawn]
        found.append((dict.fromkeys(strings(row) if new_strings else row, 1.0), label))
    return found


def words_met_once() -> Rows:
    """Return rows of words that no other row has."""
    chance = random.Random(0)
    return [
        (dict.fromkeys([spelled(FEATURES * i + k, chance) for k in range(FEATURES)], 1.0), chance.random() < 0.5)
        for i in range(ROWS)
    ]


def spelled(number: int, chance: random.Random) -> str:
    """Return a word of its own for a number."""
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randrange(5))) + f"{number:x}"


def strings(names: list[str]) -> list[str]:
    """Return new strings equal to these."""
    return [(name + " ")[:-1] for name in names]


def microseconds(make: Callable[[], Any], rows: Rows) -> float:
    """Return the time per row, for predicting it and then training on it."""
    model = make()
    start = time.process_time()
    for x, y in rows:
        model.predict_one(x)
        model.learn_one(x, y)
    return 1e6 * (time.process_time() - start) / len(rows)


STREAMS: dict[str, Callable[[], Rows]] = {
    "columns, same strings": lambda: columns(new_strings=False),
    "columns, new strings": lambda: columns(new_strings=True),
    "words, same strings": lambda: words(new_strings=False),
    "words, new strings": lambda: words(new_strings=True),
    "words met once": words_met_once,
}


def main() -> None:
    options = arguments(
        __doc__,
        ("--quick", {"action": "store_true", "help": "three repetitions, only pa1 and arow"}),
        ("--streams", {"nargs": "+", "default": list(STREAMS), "choices": list(STREAMS), "metavar": "NAME"}),
    )
    makers = {name: MAKERS[name] for name in ([PEER, "pa1", "arow"] if options.quick else MAKERS)}
    print(machine())
    lines, result = [], {}
    for stream in options.streams:
        rows = STREAMS[stream]()
        few = {name: make for name, make in makers.items() if stream.startswith("columns") or "full" not in name}
        taken: dict[str, list[float]] = {name: [] for name in few}
        for _ in range(3 if options.quick else REPETITIONS):
            for name, make in few.items():
                taken[name].append(microseconds(make, rows))
        for name, values in taken.items():
            times = median(pa / own for pa, own in zip(taken[PEER], values, strict=True))
            lines.append([f"{stream}: {name}", f"{median(values):.2f}", f"{times:.1f}"])
            result[f"{stream}: {name}"] = {"microseconds": values, "times_faster": times}
    print(table(["predict and train", "microseconds per row", "times as fast as PAClassifier"], lines))
    write_json(options.json, {"rows": result})


if __name__ == "__main__":
    main()
