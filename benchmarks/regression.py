"""OnlineRegressor and AutoRegressor in one pass with their defaults, compared with batch regressions and tuned SGD.

Quality: test RMSE and the coverage of 90 % intervals on fourteen sets, each split into 80 % for training and 20 % for
the test (bike sharing at a point in time, the others at random; means over ten splits of those below 5,000 rows). Rows
are as they come; SGD and ridge regression get them standardized. SGDRegressor chooses its learning rate, schedule and
alpha from 24 by the error on the last fifth of the training rows, then makes one epoch over all; RidgeCV chooses alpha;
HistGradientBoostingRegressor has its defaults and no sparse rows. OnlineRegressor and AutoRegressor choose nothing.

Speed: CPU time in turns within one run, medians of ratios: a loop of NumPy over rows for a full covariance, River's
BayesianLinearRegression and LinearRegression, scikit-learn's SGDRegressor.
"""

from __future__ import annotations

import gzip
import json
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from harness import FOLDER, arguments, have_data, machine, markdown, write_json
from scipy.sparse import csr_matrix, issparse, random
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import Ridge, RidgeCV, SGDRegressor
from sklearn.preprocessing import StandardScaler, normalize

from confidently import AutoRegressor, OnlineRegressor

SMALL, SPLITS = 5000, 10  # rows of a set below which results are means over several random splits
UCI = ("concrete", "energy", "kin8nm", "naval_propulsion_plant", "power_plant", "protein_tertiary_structure")
CATEGORIES = ["season", "mnth", "hr", "weekday", "weathersit"]
GRID = [
    {"eta0": eta, "learning_rate": schedule, "alpha": alpha}
    for eta, schedule, alpha in product((0.001, 0.01, 0.1, 0.3), ("constant", "invscaling"), (1e-6, 1e-4, 1e-2))
]
COVERAGE = 0.9

Rows = tuple[Any, np.ndarray, Any, np.ndarray]


def sets() -> Iterator[tuple[str, list[Rows]]]:
    """Yield name and splits of every set."""
    for name in UCI:
        table = pd.read_csv(FOLDER / "uci_regression" / f"{name}.csv.gz")
        yield name, split(table.drop(columns="target").to_numpy(float), table["target"].to_numpy(float))
    bikes = pd.read_csv(FOLDER / "bike_sharing" / "hour.csv.gz")
    target = bikes["cnt"].to_numpy(float)
    bikes = bikes.drop(columns=[c for c in ("instant", "dteday", "casual", "registered", "cnt") if c in bikes])
    yield "bike_sharing", split(pd.get_dummies(bikes, columns=CATEGORIES).to_numpy(float), target, shuffle=False)
    yield "imdb ratings", [reviews()]
    yield "diabetes", split(*load_diabetes(return_X_y=True))
    yield "friedman1", split(*make_friedman1(3000, noise=1.0, random_state=1))
    yield "friedman2", split(*make_friedman2(3000, noise=100.0, random_state=2))
    yield "friedman3", split(*make_friedman3(3000, noise=0.1, random_state=3))
    generator = np.random.default_rng(4)
    X = generator.normal(size=(5000, 10))
    noise = np.exp(0.8 * X[:, 0]) * generator.normal(size=5000)
    yield "heteroscedastic", split(X, X @ generator.normal(size=10) + 0.5 * noise)
    X = random(20_000, 5000, density=0.004, random_state=5, format="csr")
    weights = generator.normal(size=5000) * (generator.random(5000) < 0.3)
    yield "sparse", split(X, 5.0 + X @ weights + 0.3 * generator.normal(size=20_000))


def split(X: Any, y: np.ndarray, shuffle: bool = True) -> list[Rows]:
    """Return four fifths of the rows and the rest, several times for a small set."""
    n, found = 4 * len(y) // 5, []
    for seed in range(SPLITS if len(y) < SMALL else 1):
        order = np.random.default_rng(seed).permutation(len(y)) if shuffle else np.arange(len(y))
        found.append((X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]]))
    return found


def reviews() -> Rows:
    """Return ratings from 1 to 10 of films, by the words of their reviews, in rows of unit norm."""
    found: list[Any] = []
    words = CountVectorizer(min_df=2, binary=True)
    for name in ("train", "test"):
        with gzip.open(FOLDER / "imdb" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        texts = [row["text"] for row in rows]
        X = words.fit_transform(texts) if name == "train" else words.transform(texts)
        found += [normalize(X.astype(float)), np.array([float(row["rating"]) for row in rows])]
    order = np.random.default_rng(0).permutation(len(found[1]))
    return found[0][order], found[1][order], found[2], found[3]


def rmse(predicted: np.ndarray, y: np.ndarray) -> float:
    """Return the root mean squared error."""
    return float(np.sqrt(np.mean((predicted - y) ** 2)))


def standardized(X: Any, *others: Any) -> list[Any]:
    """Return dense rows with columns of mean 0 and variance 1 in the first of them; sparse rows as they are."""
    if issparse(X):
        return [X, *others]
    scaler = StandardScaler().fit(X)
    return [scaler.transform(one) for one in (X, *others)]


def tuned_sgd(X: Any, y: np.ndarray, X_test: Any) -> np.ndarray:
    """Return the predictions of one epoch of SGD with the best of 24 settings."""
    X, X_test = standardized(X, X_test)
    center, scale = y.mean(), y.std() or 1.0
    z, n = (y - center) / scale, 4 * len(y) // 5

    def fitted(rows: Any, targets: np.ndarray, settings: dict[str, Any]) -> SGDRegressor:
        return SGDRegressor(max_iter=1, tol=None, random_state=0, **settings).fit(rows, targets)

    def error(settings: dict[str, Any]) -> float:
        found = rmse(fitted(X[:n], z[:n], settings).predict(X[n:]), z[n:])
        return found if np.isfinite(found) else np.inf

    return fitted(X, z, min(GRID, key=error)).predict(X_test) * scale + center


def judged(splits: list[Rows]) -> dict[str, float]:
    """Return the means of what is found for every split."""
    every = [judged_split(*rows) for rows in splits]
    return {name: float(np.mean([found[name] for found in every])) for name in every[0]}


def judged_split(X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> dict[str, float]:
    """Return test errors, intervals in standard deviations of the targets, and the processor time of the stack."""
    unit = float(y_test.std())
    model, start = OnlineRegressor().fit(X, y), time.process_time()
    auto = AutoRegressor().fit(X, y)
    seconds = time.process_time() - start
    scaled, scaled_test = standardized(X, X_test)
    alphas = np.logspace(-3, 3, 13)
    best = Ridge(solver="sparse_cg", alpha=1.0) if issparse(X) else RidgeCV(alphas)
    boosted = np.nan
    if not issparse(X):
        boosted = rmse(HistGradientBoostingRegressor(random_state=0).fit(X, y).predict(X_test), y_test) / unit
    return {
        "rows": float(len(y)),
        "columns": float(X.shape[1]),
        "OnlineRegressor": rmse(model.predict(X_test), y_test) / unit,
        "Ridge": rmse(best.fit(scaled, y).predict(scaled_test), y_test) / unit,
        "SGDRegressor": rmse(tuned_sgd(X, y, X_test), y_test) / unit,
        **intervals(model, X_test, y_test),
        "AutoRegressor": rmse(auto.predict(X_test), y_test) / unit,
        **{f"auto's {name}": found for name, found in intervals(auto, X_test, y_test).items()},
        "microseconds per row": 1e6 * seconds / len(y),
        "HistGradientBoosting": boosted,
    }


def intervals(model: OnlineRegressor | AutoRegressor, X: Any, y: np.ndarray) -> dict[str, float]:
    """Return the coverage and the mean width of intervals, in standard deviations of the targets."""
    low, high = model.predict_interval(X, COVERAGE).T
    return {"coverage": float(np.mean((low <= y) & (y <= high))), "width": float(np.mean(high - low) / y.std())}


# --- speed -----------------------------------------------------------------------------------------------------------


def in_turns(ours: Callable[[], Any], peer: Callable[[], Any], repetitions: int) -> float:
    """Return the median of the peer's CPU time divided by ours."""
    ratios = []
    for _ in range(repetitions):
        seconds = []
        for run in (ours, peer):
            start = time.process_time()
            run()
            seconds.append(time.process_time() - start)
        ratios.append(seconds[1] / seconds[0])
    return median(ratios)


def recursive_least_squares(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the weights of ridge regression, row by row in NumPy."""
    mean, sigma = np.zeros(X.shape[1]), np.eye(X.shape[1])
    for x, target in zip(X, y, strict=True):
        g = sigma @ x
        v = x @ g
        mean += (target - mean @ x) / (1.0 + v) * g
        sigma -= np.outer(g, g / (1.0 + v))
    return mean


def speed(repetitions: int) -> dict[str, float]:
    """Return ratios of CPU times, peers to ours."""
    from river import linear_model

    from confidently import river as ours

    generator = np.random.default_rng(0)
    found = {}
    X, w = generator.normal(size=(20_000, 1000)), generator.normal(size=1000)
    y = X @ w + generator.normal(size=len(X))
    plain = OnlineRegressor(covariance="full", fit_intercept=False)
    few = 100  # of the loop, since one row costs it milliseconds

    def loop() -> None:
        recursive_least_squares(X[:few], y[:few])

    found["full, d = 1000: NumPy, row by row"] = in_turns(lambda: plain.fit(X, y), loop, repetitions) * len(X) / few
    columns = generator.integers(0, 47_000, size=(100_000, 63))
    start = np.arange(0, columns.size + 1, 63)
    S = csr_matrix((generator.normal(size=columns.size), columns.ravel(), start), shape=(100_000, 47_000))
    S.sum_duplicates()
    t = S @ generator.normal(size=47_000) + generator.normal(size=100_000)
    found["diag, 100,000 x 63 of 47,000: SGDRegressor, one epoch"] = in_turns(
        lambda: OnlineRegressor(covariance="diag").fit(S, t),
        lambda: SGDRegressor(max_iter=1, tol=None).fit(S, t),
        repetitions,
    )
    for d, n, kind, peer, label in (
        (20, 1000, "full", linear_model.BayesianLinearRegression, "BayesianLinearRegression"),
        (75, 2000, "diag", linear_model.LinearRegression, "LinearRegression"),
    ):
        names = [f"column{k}" for k in range(d)]
        dicts = [dict(zip(names, row.tolist(), strict=True)) for row in generator.normal(size=(n, d))]
        targets = [sum(row.values()) for row in dicts]

        def learn(model: Any, rows: list[dict[str, float]] = dicts, numbers: list[float] = targets) -> None:
            for x, number in zip(rows, numbers, strict=True):
                model.predict_one(x)
                model.learn_one(x, number)

        found[f"dicts, d = {d}, {kind}: River's {label}"] = in_turns(
            lambda kind=kind, learn=learn: learn(ours.OnlineRegressor(covariance=kind)),  # type: ignore[misc]
            lambda peer=peer, learn=learn: learn(peer()),  # type: ignore[misc]
            repetitions,
        )
    return found


def table(quality: dict[str, dict[str, float]], errors: list[str], own: str, *others: str) -> str:
    """Return errors and intervals of all sets; ``own``: what the names of those of the intervals begin with."""
    lines = []
    for name, found in quality.items():
        shown = ["" if np.isnan(found[key]) else f"{found[key]:.4f}" for key in errors]
        ends = [f"{100.0 * found[own + 'coverage']:.1f} %", f"{found[own + 'width']:.2f}"]
        ends += [f"{found[key]:.0f}" for key in others]
        lines.append([name, f"{found['rows']:,.0f}", f"{found['columns']:,.0f}", *shown, *ends])
    return markdown(["set", "rows", "columns", *errors, "coverage", "width", *others], lines)


def main() -> None:
    options = arguments(
        __doc__,
        ("--part", {"choices": ("quality", "speed"), "help": "run one part only"}),
        ("--repetitions", {"type": int, "default": 5, "help": "of each timing"}),
    )
    print(machine())
    results: dict[str, Any] = {}
    if options.part != "speed" and have_data():
        results["quality"] = {}
        for name, splits in sets():
            with warnings.catch_warnings(action="ignore"):
                results["quality"][name] = judged(splits)
        print("RMSE and mean width of 90 % intervals, in standard deviations of the test targets\n")
        print(table(results["quality"], ["OnlineRegressor", "Ridge", "SGDRegressor"], "") + "\n")
        errors = ["AutoRegressor", "OnlineRegressor", "Ridge", "SGDRegressor", "HistGradientBoosting"]
        print(table(results["quality"], errors, "auto's ", "microseconds per row"))
    if options.part != "quality":
        results["speed"] = speed(options.repetitions)
        for name, ratio in results["speed"].items():
            print(f"{name}: {ratio:.1f} times as long")
    write_json(options.json, results)


if __name__ == "__main__":
    main()
