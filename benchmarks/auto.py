"""AutoClassifier in one pass, compared with one AROW and with batch learners whose C is tuned; nothing of it is tuned.

Text: sixteen tasks of two classes, ten folds each (those of ``python -m papers cw2008``). Tables: eleven sets of
pixels, measurements, categories and text. More: eleven others. Drift: streams that move, each row predicted before it
is learned, beside River's adaptive random forest; four recorded ones and six of River's generators. Moves: the rows
from which on the mixture has moved to shorter memories, on streams that change once or more, and on streams in random
order and of one concept, where each would be a false alarm. Labels: four sets whose rows have any number of labels,
beside LogisticRegression with its defaults, one per label. Regression: AutoRegressor beside
HistGradientBoostingRegressor and, with --catboost, CatBoostRegressor with their defaults, on tables of numbers; the
least wall time of three fits, and the bytes of the model file; bike sharing, whose last rows are predicted, also in the
order of time. AROW has its default r = 0.1; LogisticRegression and LinearSVC choose C of .1, 1, 10 and 100 by the error
on a fifth of at most 20,000 training rows, and are then trained on all; HistGradientBoostingClassifier, a ceiling for
tables, has its defaults. AutoClassifier and AROW see the rows in the same order, that of the set. Rows are those of
``tests/data_sets.py``: the batch learners get tables standardized and rows of unit norm.
"""

from __future__ import annotations

import csv
import gzip
import time
import warnings
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from harness import FOLDER, arguments, have_data, load, machine, markdown, table, write_json
from regression import intervals, rmse
from regression import sets as number_sets
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, log_loss
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from confidently import AutoClassifier, AutoRegressor, OnlineClassifier, progressive_validation
from papers.experiments.text import TEXT_TASKS, rows_of

TABLES = ("a9a", "w8a", "phishing", "spambase", "letter", "usps", "shuttle", "mnist", "newsgroups", "enron1", "books")
MORE = ("imdb", "phishing_urls", "stackoverflow", "ag_news", "skin", "elec2", "avazu", "criteo", "tweet_emoji",
        "goemotions", "ssa_names")  # fmt: skip
PARTS = ("text", "tables", "more", "drift", "moves", "labels", "regression")
LABEL_SETS, ORDERS = ("yeast", "scene", "bibtex", "goemotions_labels"), 3
FOLDS, SPLITS, GRID, TUNING_ROWS = 10, 3, (0.1, 1.0, 10.0, 100.0), 20_000
GENERATED = 20_000  # rows
STEADY = 10  # streams of each kind that do not change
NUMBERS = 8000  # rows of streams of numbers
BATCH = {"LogisticRegression": LogisticRegression(max_iter=200), "LinearSVC": LinearSVC()}
MAX_BOOSTED = 800  # columns

Rows = tuple[Any, np.ndarray, Any, np.ndarray]


def text(folds: int) -> Iterator[tuple[str, Rows]]:
    """Yield name and rows of every task and of its first folds."""
    by_files: dict[tuple[str, ...], list[str]] = {}
    for name, task in TEXT_TASKS.items():
        by_files.setdefault(task.files, []).append(name)
    for names in by_files.values():
        for name, (X, y) in rows_of(names, FOLDER).items():
            parts = np.array_split(np.random.default_rng(0).permutation(len(y)), FOLDS)
            for k, held in enumerate(parts[:folds]):
                kept = np.concatenate(parts[:k] + parts[k + 1 :])
                yield name, (X[kept], y[kept], X[held], y[held])


def sets(names: tuple[str, ...]) -> Iterator[tuple[str, Rows]]:
    """Yield name and rows of every set."""
    for name in names:
        yield name, load(name)


def drifting() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, rows and labels of streams that move, in the order of time."""
    for name in ("elec2/elec2", "drift/keystroke", "drift/outdoor", "drift/2CDT"):
        with gzip.open(FOLDER / f"{name}.csv.gz", "rt") as file:
            rows = list(csv.reader(file))[1:]
        yield name.split("/")[1], np.array([row[:-1] for row in rows], dtype=float), np.array([row[-1] for row in rows])
    for name, rows in generated().items():
        pairs = list(rows)
        yield name, np.array([list(x.values()) for x, _ in pairs], dtype=float), np.array([int(y) for _, y in pairs])


def generated() -> dict[str, Any]:
    """Return streams of River's generators, of GENERATED rows each, whose concepts change."""
    from river.datasets import synth

    part = GENERATED // 4
    return {
        "SEA, 4 concepts": chain(*(synth.SEA(variant=k, seed=k + 1, noise=0.1).take(part) for k in range(4))),
        "moving hyperplane": synth.Hyperplane(
            seed=1, n_features=10, n_drift_features=5, mag_change=0.001, noise_percentage=0.05
        ).take(GENERATED),
        "moving centers": synth.RandomRBFDrift(
            seed_model=1, seed_sample=2, n_classes=4, n_features=10, n_centroids=30, change_speed=0.0005,
            n_drift_centroids=10,
        ).take(GENERATED),
        "Agrawal, 4 concepts": chain(
            *(synth.Agrawal(classification_function=k, seed=k).take(part) for k in (0, 2, 4, 6))
        ),
        "Mixed, labels turned": chain(
            *(synth.Mixed(classification_function=k, seed=k + 1).take(2 * part) for k in range(2))
        ),
        "Sine, 4 concepts": chain(*(synth.Sine(classification_function=k, seed=k + 1).take(part) for k in range(4))),
    }  # fmt: skip


def followed(X: np.ndarray, y: np.ndarray) -> dict[str, tuple[float, float | None, float]]:
    """Return progressive error, log-loss and seconds of every learner on a stream."""
    from river import forest

    found = {}
    for name, model in (("AROW", OnlineClassifier()), ("AutoClassifier", AutoClassifier())):
        start = time.perf_counter()
        curve = progressive_validation(model, X, y, at=len(y))
        seconds = time.perf_counter() - start
        found[name] = (float(curve.mistakes[0, -1]) / len(y), float(curve.log_loss[0, -1]) / len(y), seconds)
    trees, wrong, start = forest.ARFClassifier(seed=1), 0, time.perf_counter()
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(enumerate(row))
        wrong += trees.predict_one(x) != label
        trees.learn_one(x, label)
    found["adaptive random forest"] = (wrong / len(y), None, time.perf_counter() - start)
    return found


def moving() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, rows and labels of streams that change at once, with three seeds each, and of steady ones."""
    from river.datasets import synth

    def concepts(make: Any, ks: tuple[int, ...], seed: int) -> tuple[np.ndarray, np.ndarray]:
        pairs = list(chain(*(make(k, 10 * seed + k).take(GENERATED // len(ks)) for k in ks)))
        return np.array([list(x.values()) for x, _ in pairs], dtype=float), np.array([int(y) for _, y in pairs])

    def sea(k: int, seed: int) -> Any:
        return synth.SEA(variant=k, seed=seed, noise=0.1)

    def of(generator: Any) -> Any:
        return lambda k, seed: generator(classification_function=k, seed=seed)

    changing = (
        ("Mixed", of(synth.Mixed), (0, 1)),
        ("Sine", of(synth.Sine), (0, 1, 2, 3)),
        ("Agrawal", of(synth.Agrawal), (0, 2, 4, 6)),
        ("SEA", sea, (0, 1, 2, 3)),
    )
    for name, make, ks in changing:
        for seed in range(1, 4):
            yield f"{name}, {len(ks)} concepts", *concepts(make, ks, seed)
    X, y = next((X, y) for name, X, y in drifting() if name == "elec2")
    for seed in range(STEADY):
        order = np.random.default_rng(seed).permutation(len(y))
        yield "elec2, shuffled", X[order], y[order]
        yield "SEA, 1 concept", *concepts(sea, (seed % 4,), 100 + seed)


def moving_numbers() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, rows and numbers of streams of NUMBERS rows that change in the middle, and of steady ones."""

    def friedman(n: int, shift: int = 0) -> tuple[np.ndarray, np.ndarray]:
        X = g.random((n, 10))
        Z = np.roll(X, shift, axis=1)
        return X, 10 * np.sin(np.pi * Z[:, 0] * Z[:, 1]) + 20 * (Z[:, 2] - 0.5) ** 2 + 10 * Z[:, 3] + 5 * Z[:, 4]

    for seed in range(4):
        g = np.random.default_rng(seed)
        X, y = friedman(NUMBERS)
        yield "Friedman, normal noise", X, y + g.normal(size=NUMBERS)
        yield "Friedman, noise of three degrees of freedom", X, y + g.standard_t(3, NUMBERS)
        (X, y), (X_after, y_after) = friedman(NUMBERS // 2), friedman(NUMBERS // 2, 3)
        noise = g.normal(size=NUMBERS)
        yield "Friedman, other columns", np.vstack([X, X_after]), np.concatenate([y, y_after]) + noise
        before, after = g.normal(size=(2, 5))
        X, noise = g.normal(size=(NUMBERS, 5)), g.normal(size=NUMBERS)
        yield "linear", X, X @ before + noise
        changed = np.where(np.arange(NUMBERS) < NUMBERS // 2, X @ before, X @ after)
        yield "linear, other coefficients", X, changed + noise
        yield "linear, noise by a column", X, X @ before + noise * np.exp(X[:, 1])
        yield "exponential of linear", X, np.exp(0.3 * (X @ before) + noise)


def labelled(name: str, batch: bool) -> dict[str, tuple[float, float, float]]:
    """Return micro-F1, log-loss per row and seconds of every learner of label sets, means over orders of the rows."""
    X, y, X_test, y_test = load(name)
    online = (("AROW", "arow", {}), ("logistic", "logistic", {"prior_variance": 3.0}))
    learners: dict[str, Any] = {
        label: partial(OnlineClassifier, rule, view=None, shuffle=True, **more) for label, rule, more in online
    }
    learners["AutoClassifier"] = AutoClassifier
    if batch:
        learners["LogisticRegression"] = None
    found = {}
    for learner, make in learners.items():
        runs = []
        for seed in range(1 if make is None else ORDERS):
            model = OneVsRestClassifier(LogisticRegression()) if make is None else make(random_state=seed)
            start = time.perf_counter()
            model.fit(X, y)
            seconds = time.perf_counter() - start
            p = np.clip(model.predict_proba(X_test), 1e-15, 1 - 1e-15)
            loss = -np.log(np.where(y_test, p, 1 - p)).sum(axis=1).mean()
            runs.append((float(f1_score(y_test, model.predict(X_test), average="micro")), float(loss), seconds))
        found[learner] = tuple(np.mean(runs, axis=0).tolist())
    return found


def regressed(splits: list[Any], shuffle: bool | str, catboost: bool) -> dict[str, float]:
    """Return test RMSE in standard deviations of the targets, coverage, seconds and megabytes: means over splits."""
    every = []
    for X, y, X_test, y_test in splits[:SPLITS]:
        found, models = {"rows": float(len(y)), "columns": float(X.shape[1])}, {}
        learners: dict[str, Any] = {
            "AutoRegressor": partial(AutoRegressor, shuffle=shuffle),
            "HistGradientBoosting": partial(HistGradientBoostingRegressor, random_state=0),
        }
        if catboost:
            from catboost import CatBoostRegressor

            learners["CatBoost"] = partial(CatBoostRegressor, random_seed=0, verbose=0, allow_writing_files=False)
        for name, new in learners.items():
            seconds = []
            for _ in range(1 if name == "CatBoost" else 3):
                start = time.perf_counter()
                models[name] = new().fit(X, y)
                seconds.append(time.perf_counter() - start)
            found[f"{name} seconds"] = min(seconds)
            found[name] = rmse(models[name].predict(X_test), y_test) / float(y_test.std())
        found["inside"] = intervals(models["AutoRegressor"], X_test, y_test)["coverage"]
        with TemporaryDirectory() as folder:
            models["AutoRegressor"].save(Path(folder) / "model.cw")
            found["MB"] = (Path(folder) / "model.cw").stat().st_size / 1e6
        every.append(found)
    return {name: float(np.mean([one[name] for one in every])) for name in every[0]}


def regression_lines(found: dict[str, dict[str, float]]) -> Iterator[list[str]]:
    """Yield the cells of the table of regressions, set by set."""
    for name, one in found.items():
        ours, boosted = one["AutoRegressor"], one["HistGradientBoosting"]
        times = one["AutoRegressor seconds"], one["HistGradientBoosting seconds"]
        yield [
            name, f"{one['rows']:,.0f}", f"{one['columns']:.0f}", f"{ours:.4f}", f"{boosted:.4f}",
            f"{100 * (ours / boosted - 1):+.0f} %", f"{100 * one['inside']:.1f} %", f"{times[0]:.2f}",
            f"{times[1]:.2f}", f"{one['MB']:.1f}", *([f"{one['CatBoost']:.4f}"] if "CatBoost" in one else []),
        ]  # fmt: skip


def tuned(estimator: Any, X: Any, y: np.ndarray) -> Any:
    """Return the estimator with the best C on a fifth of the rows, trained on all."""
    n = min(len(y), TUNING_ROWS)
    held = np.arange(n) % 5 == 4
    rows, labels = X[:n], y[:n]
    errors = [
        1 - clone(estimator).set_params(C=C).fit(rows[~held], labels[~held]).score(rows[held], labels[held])
        for C in GRID
    ]
    return clone(estimator).set_params(C=GRID[int(np.argmin(errors))]).fit(X, y)


def judged(rows: Rows, batch: bool) -> dict[str, tuple[float, float | None, float]]:
    """Return test error, test log-loss and seconds of fitting of every learner."""
    X, y, X_test, y_test = rows
    found = {}

    def judge(name: str, fit: Any) -> None:
        start = time.perf_counter()
        model = fit()
        seconds = time.perf_counter() - start
        loss = None
        if hasattr(model, "predict_proba"):
            loss = float(log_loss(y_test, model.predict_proba(X_test), labels=model.classes_))
        found[name] = (float(np.mean(model.predict(X_test) != y_test)), loss, seconds)

    judge("AROW", lambda: OnlineClassifier("arow", view=None).fit(X, y))
    judge("AutoClassifier", lambda: AutoClassifier(shuffle=False).fit(X, y))
    for name, estimator in BATCH.items() if batch else ():
        judge(name, lambda estimator=estimator: tuned(estimator, X, y))
    if batch and not issparse(X) and X.shape[1] <= MAX_BOOSTED:
        judge("HistGradientBoosting", lambda: HistGradientBoostingClassifier(random_state=0).fit(X, y))
    return found


def main() -> None:
    options = arguments(
        __doc__ or "",
        ("--part", {"choices": PARTS, "help": "only this part"}),
        ("--only", {"metavar": "NAMES", "help": "only these tasks or sets, separated by commas"}),
        ("--folds", {"type": int, "default": FOLDS, "help": "of the text tasks, only the first so many of ten"}),
        ("--catboost", {"action": "store_true", "help": "CatBoost's regression too, which needs it"}),
        ("--no-batch", {"action": "store_true", "help": "without the batch learners, which take most of the time"}),
    )
    if not have_data():
        return
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine(), flush=True)
    only, result = options.only.split(",") if options.only else None, {}
    for part, rows in (
        ("text", lambda: text(options.folds)),
        ("tables", lambda: sets(TABLES)),
        ("more", lambda: sets(MORE)),
    ):
        if options.part not in (None, part):
            continue
        by_set: dict[str, list[dict[str, tuple[float, float | None, float]]]] = {}
        for name, one in rows():
            if only is None or name in only:
                by_set.setdefault(name, []).append(judged(one, not options.no_batch))
        if not by_set:
            continue
        result[part] = {name: _means(found) for name, found in by_set.items()}
        report = _report(result[part])
        print(f"\n{part}", table(*report), markdown(*report), sep="\n\n", flush=True)
    if options.part in (None, "drift"):
        result["drift"] = {n: followed(X, y) for n, X, y in drifting() if only is None or n in only}
        print("\ndrift", table(*(report := _report(result["drift"]))), markdown(*report), sep="\n\n", flush=True)
        shown = ((n, *(f"{of_set[learner][2]:.1f}" for learner in of_set)) for n, of_set in result["drift"].items())
        print("\nseconds", *("  ".join(line) for line in shown), sep="\n")
    if options.part in (None, "moves"):
        moves = [
            (name, [first for first, _ in progressive_validation(AutoClassifier(), X, y, at=len(y)).mixtures[0].moves])
            for name, X, y in moving()
            if only is None or name in only
        ]
        for name, X, y in moving_numbers():
            if only is None or name in only:
                stack = AutoRegressor().partial_fit(X[:1000], y[:1000]).partial_fit(X[1000:], y[1000:]).learner_
                moves.append((name, list(stack.moves.rows[::2])))
        print("\nmoves to shorter memories", *(f"{name}: {rows}" for name, rows in moves), sep="\n", flush=True)
        result["moves"] = moves
    if options.part in (None, "labels"):
        names = [name for name in LABEL_SETS if only is None or name in only]
        result["labels"] = {name: labelled(name, not options.no_batch) for name in names}
        report = _label_report(result["labels"])
        print("\nlabels", table(*report), markdown(*report), sep="\n\n", flush=True)
    if options.part in (None, "regression"):
        numbers = ((name, splits) for name, splits in number_sets() if not issparse(splits[0][0]))
        chosen = {}
        for name, splits in numbers:
            if only is None or name in only:
                chosen[name] = regressed(splits, "auto", options.catboost)
                if name == "bike_sharing":
                    chosen["the same, shuffle=False"] = regressed(splits, False, options.catboost)
        columns = ["set", "rows", "columns", "AutoRegressor", "HistGradientBoosting", "difference", "inside", "seconds",
                   "seconds of trees", "MB", *(["CatBoost"] if options.catboost else [])]  # fmt: skip
        lines = list(regression_lines(chosen))
        print("\nregression", table(columns, lines), markdown(columns, lines), sep="\n\n", flush=True)
        result["regression"] = chosen
    write_json(options.json, result)


def _label_report(found: dict[str, dict[str, tuple[float, float, float]]]) -> tuple[list[str], list[list[str]]]:
    learners = list(next(iter(found.values())))
    rows = [
        [name, *(f"{f1:.3f} / {loss:.2f} / {seconds:.1f}" for f1, loss, seconds in of_set.values())]
        for name, of_set in found.items()
    ]
    return ["micro-F1 / log-loss / seconds", *learners], rows


def _mean(found: list[list[float | None] | tuple[float | None, ...]]) -> list[float | None]:
    """Return the means, number by number; that of numbers that are not all known is not known."""
    return [None if None in values else float(np.mean(values)) for values in zip(*found, strict=True)]


def _means(found: list[dict[str, Any]]) -> dict[str, list[float | None]]:
    """Return the means over the folds."""
    return {learner: _mean([one[learner] for one in found]) for learner in found[0]}


def _report(means: dict[str, dict[str, list[float | None]]]) -> tuple[list[str], list[list[str]]]:
    learners = list(dict.fromkeys(learner for found in means.values() for learner in found))

    def cell(values: list[float | None] | None) -> str:
        if values is None or values[0] is None:
            return "-"
        return f"{100 * values[0]:.2f}" + ("" if values[1] is None else f" / {values[1]:.3f}")

    def mean(learner: str) -> list[float | None] | None:
        found = [of_set[learner] for of_set in means.values() if learner in of_set]
        return _mean(found) if len(found) == len(means) else None

    rows = [[name, *(cell(found.get(learner)) for learner in learners)] for name, found in means.items()]
    return ["error in % / log-loss", *learners], [*rows, ["mean", *(cell(mean(learner)) for learner in learners)]]


if __name__ == "__main__":
    main()
