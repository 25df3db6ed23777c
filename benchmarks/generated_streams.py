"""AutoClassifier on twelve generated streams that change, beside ensembles of trees; nothing is tuned.

Streams of River's generators, whose concepts change at once, gradually or all the time, or come again; each row is
predicted before it is learned. AutoClassifier learns row by row in one call, with strings as indicators; the adaptive
random forest and streaming random patches of River have their defaults, of ten trees, and learn dicts. With --capymoa
those of CapyMOA join, of a hundred trees each, and its streaming gradient boosting; with --recorded four recorded
streams, in the order of their files.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

import numpy as np
from harness import arguments, machine, markdown, table, write_json

from confidently import AutoClassifier, progressive_validation

LEARNERS = ("AutoClassifier", "adaptive random forest", "streaming random patches")
CAPYMOA = {
    "CapyMOA, adaptive random forest": "AdaptiveRandomForestClassifier",
    "CapyMOA, random patches": "StreamingRandomPatches",
    "CapyMOA, gradient boosting": "StreamingGradientBoostedTrees",
}
Stream = Iterable[tuple[dict[str, Any], Any]]


def streams(n: int, seed: int) -> Iterator[tuple[str, list[tuple[dict[str, Any], Any]]]]:
    """Yield name and rows of every stream, n rows each."""
    from river.datasets import synth

    def parts(generator: Any, by: str, values: Iterable[int], **others: Any) -> Stream:
        values = list(values)
        return chain(
            *(generator(**{by: v}, seed=seed + k, **others).take(n // len(values)) for k, v in enumerate(values))
        )

    def gradual(one: Stream, other: Stream) -> Stream:
        """Rows of one stream, then ever more of another one, around the middle."""
        random, first, second = np.random.default_rng(seed), iter(one), iter(other)
        for t in range(n):
            yield next(second if random.random() < 1.0 / (1.0 + np.exp(-20.0 * (t / n - 0.5))) else first)

    centers = {"seed_model": seed, "seed_sample": seed + 1}
    agrawal, sea = "classification_function", "variant"
    made: dict[str, Stream] = {
        "SEA, at once": parts(synth.SEA, sea, range(4), noise=0.1),
        "SEA, gradually": gradual(
            synth.SEA(variant=0, seed=seed, noise=0.1).take(n), synth.SEA(variant=3, seed=seed + 9, noise=0.1).take(n)
        ),
        "moving hyperplane": synth.Hyperplane(
            seed=seed, n_features=10, n_drift_features=5, mag_change=0.001, noise_percentage=0.05
        ).take(n),
        "moving centers": synth.RandomRBFDrift(
            **centers, n_classes=4, n_features=10, n_centroids=30, change_speed=0.0005, n_drift_centroids=10
        ).take(n),
        "fast centers": synth.RandomRBFDrift(
            **centers, n_classes=3, n_features=8, n_centroids=20, change_speed=0.002, n_drift_centroids=20
        ).take(n),
        "Agrawal, at once": parts(synth.Agrawal, agrawal, (0, 2, 4, 6)),
        "Agrawal, gradually": gradual(
            synth.Agrawal(classification_function=1, seed=seed).take(n),
            synth.Agrawal(classification_function=5, seed=seed + 9).take(n),
        ),
        "Mixed, coming again": parts(synth.Mixed, agrawal, (0, 1, 0, 1)),
        "LED": synth.LEDDrift(seed=seed, noise_percentage=0.1, irrelevant_features=True, n_drift_features=4).take(n),
        "Sine, at once": parts(synth.Sine, agrawal, range(4)),
        "Sine, coming again": parts(synth.Sine, agrawal, (0, 3, 0, 3)),
        "STAGGER": parts(synth.STAGGER, agrawal, (0, 1, 2, 0)),
    }
    for name, rows in made.items():
        yield name, list(rows)


def numbers(rows: list[tuple[dict[str, Any], Any]]) -> np.ndarray:
    """Return rows as columns of numbers; strings become indicators."""
    found = []
    for key, first in rows[0][0].items():
        values = [x[key] for x, _ in rows]
        if isinstance(first, str):
            found += [np.array([v == one for v in values], dtype=float) for one in sorted(set(values))]
        else:
            found.append(np.array(values, dtype=float))
    return np.stack(found, axis=1)


def recorded() -> Iterator[tuple[str, list[tuple[dict[str, Any], Any]]]]:
    """Yield name and rows of four recorded streams."""
    from auto import drifting

    for name, X, y in islice(drifting(), 4):
        labels = np.unique(y, return_inverse=True)[1].tolist()
        yield name, [(dict(enumerate(x)), label) for x, label in zip(X.tolist(), labels, strict=True)]


def of_capymoa(name: str, X: np.ndarray, y: np.ndarray) -> float:
    """Return the number of wrong predictions of a learner of CapyMOA."""
    from capymoa import classifier
    from capymoa.stream import NumpyStream

    stream, wrong = NumpyStream(X, y, target_type="categorical"), 0
    model = getattr(classifier, CAPYMOA[name])(schema=stream.get_schema())
    while stream.has_more_instances():
        row = stream.next_instance()
        wrong += model.predict(row) != row.y_index
        model.train(row)
    return wrong


def judged(rows: list[tuple[dict[str, Any], Any]], seed: int, names: Iterable[str]) -> dict[str, tuple[float, float]]:
    """Return progressive error and seconds of processor time of every learner."""
    from river import ensemble, forest

    found, y = {}, np.array([int(label) for _, label in rows])
    trees = {LEARNERS[1]: forest.ARFClassifier, LEARNERS[2]: ensemble.SRPClassifier}
    for name in names:
        if name == LEARNERS[0]:
            X, start = numbers(rows), time.process_time()
            wrong = float(progressive_validation(AutoClassifier(), X, y, at=len(y)).mistakes[0, -1])
        elif name in CAPYMOA:
            start = time.process_time()
            wrong = of_capymoa(name, numbers(rows), y)
        else:
            model, wrong, start = trees[name](seed=seed), 0.0, time.process_time()
            for x, label in rows:
                wrong += model.predict_one(x) != label
                model.learn_one(x, label)
        found[name] = wrong / len(y), time.process_time() - start
    return found


def main() -> None:
    """Print a table of all streams."""
    options = arguments(
        __doc__ or "",
        ("--rows", {"type": int, "default": 10_000, "help": "of each stream"}),
        ("--seeds", {"type": int, "default": 1, "help": "number of seeds, over which errors are means"}),
        ("--only", {"choices": (*LEARNERS, *CAPYMOA), "help": "only this learner"}),
        ("--capymoa", {"action": "store_true", "help": "CapyMOA's too, which needs it and Java"}),
        ("--recorded", {"action": "store_true", "help": "recorded streams too"}),
    )
    names = (options.only,) if options.only else (*LEARNERS, *(CAPYMOA if options.capymoa else ()))
    print(machine(), flush=True)
    runs: dict[str, list[dict[str, tuple[float, float]]]] = {}
    for seed in range(1, options.seeds + 1):
        for stream, rows in chain(streams(options.rows, seed), recorded() if options.recorded else ()):
            runs.setdefault(stream, []).append(judged(rows, seed, names))
            print(stream, *(f"{name} {100 * error:.2f}" for name, (error, _) in runs[stream][-1].items()), flush=True)
    means = {
        stream: {name: np.mean([run[name] for run in of_seeds], axis=0).tolist() for name in names}
        for stream, of_seeds in runs.items()
    }
    means["mean"] = {name: np.mean([one[name] for one in means.values()], axis=0).tolist() for name in names}
    lines = [[stream, *(f"{100 * of[name][0]:.2f}" for name in names)] for stream, of in means.items()]
    lines.append(["seconds of a stream", *(f"{means['mean'][name][1]:.1f}" for name in names)])
    head = ["progressive error in %", *names]
    print(table(head, lines), markdown(head, lines), sep="\n\n")
    write_json(options.json, means)


if __name__ == "__main__":
    main()
