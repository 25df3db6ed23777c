"""Models of entities beside one model for all and one per entity: log-loss, speed and memory.

Every row is predicted before it is trained on, in batches of 500 rows; the log-loss is that of all rows. ``entities``
is EntityModels; ``shared`` one OnlineClassifier that does not know the key, ``shared with key`` one that has it as a
column; ``each alone`` is EntityModels whose shared model knows how frequent the classes are and nothing else. All have
their default parameters, and the rule of --rule.

ratings is made like a set of ratings of films: 1,000 users like or dislike films of 1 to 3 genres, by the film, by
their own taste in genres, and by chance; users and films are as unequally frequent as there. offers is made, too: 3,000
customers accept offers, which have eight numbers, by weights that differ between customers, most of whom have few rows.
avazu is the sample of 8,999 clicks of an hour, with several columns as the key.

--numbers has 60 entities of 15 rows, whose weights differ, and compares with the exact hierarchical Gaussian that is
told the variances of noise and weights: the root mean squared error and the stated standard deviation of new rows, each
as a fraction of the exact one's, and the coverage of intervals of .9. "ridge" is one OnlineRegressor for all.

--speed trains on rows of a million entities, of classes with ten features and of numbers with four, and reports rows
per second of the processor's time and the memory of the process.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from resource import getpagesize
from typing import Any

import numpy as np
import pandas as pd
from harness import FOLDER, arguments, have_data, machine, markdown, write_json
from sklearn.metrics import log_loss

from confidently import OnlineClassifier, OnlineRegressor
from confidently.entities import EntityModels

ROWS_PER_BATCH, PAGE = 500, getpagesize()
N_ENTITIES, N_TIMED = 1_000_000, 4_000_000
NOISE = 0.5


def ratings(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(seed)
    users, films, genres = 1_000, 400, 18
    has = np.zeros((films, genres))
    for film in has:
        film[random.choice(genres, random.integers(1, 4), replace=False)] = 1
    active, popular = random.pareto(1.5, users) + 0.2, np.arange(1, films + 1) ** -0.8
    user = random.choice(users, n, p=active / active.sum())
    film = random.choice(films, n, p=popular / popular.sum())
    taste = random.normal(0, 0.5, genres) + random.normal(0, 0.8, (users, genres))
    score = random.normal(0, 0.7, films)[film] + random.normal(0, 0.7, users)[user]
    score += (has[film] * taste[user]).sum(axis=1) / has[film].sum(axis=1)
    named = {f"genre {g}": has[film, g] for g in range(genres)}
    frame = pd.DataFrame({"user": [f"u{k}" for k in user], "film": [f"f{k}" for k in film], **named})
    return frame, (random.random(n) < 1 / (1 + np.exp(-score))).astype(int)


def offers(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(seed)
    customers, width = 3_000, 8
    active = random.pareto(1.1, customers) + 0.1
    customer = random.choice(customers, n, p=active / active.sum())
    X = random.normal(size=(n, width))
    weights = random.normal(0, 0.6, width) + random.normal(0, 0.5, (customers, width))
    score = (X * weights[customer]).sum(axis=1) + random.normal(-1, 0.8, customers)[customer]
    frame = pd.DataFrame({"customer": customer, **{f"x{j}": X[:, j] for j in range(width)}})
    return frame, (random.random(n) < 1 / (1 + np.exp(-score))).astype(int)


def avazu() -> tuple[pd.DataFrame, np.ndarray]:
    frame = pd.read_csv(FOLDER / "avazu_sample" / "avazu.csv.gz", dtype=str)
    return frame.drop(columns=["id", "click", "hour"]), frame["click"].astype(int).to_numpy()


def progressive(model: Any, X: pd.DataFrame, y: np.ndarray) -> float:
    p = np.full(len(y), 0.5)
    for first in range(0, len(y), ROWS_PER_BATCH):
        rows = slice(first, first + ROWS_PER_BATCH)
        if first:
            p[rows] = model.predict_proba(X[rows])[:, 1]
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
    return float(log_loss(y, p))


def compared(name: str, X: pd.DataFrame, y: np.ndarray, key: str, rule: str) -> dict[str, Any]:
    X = X.assign(**{key: X[key].astype(str)})
    alone = OnlineClassifier(rule, prior_variance=1e-9)
    found = {
        "entities": progressive(EntityModels(key, OnlineClassifier(rule)), X, y),
        "shared": progressive(OnlineClassifier(rule), X.drop(columns=key), y),
        "shared with key": progressive(OnlineClassifier(rule), X, y),
        "each alone": progressive(EntityModels(key, alone), X, y),
    }
    least = min(value for other, value in found.items() if other != "entities")
    return {
        "set": name, "key": key, "keys": X[key].nunique(), "rows": len(y), **found,
        "below the best other, %": 100 * (1 - found["entities"] / least),
    }  # fmt: skip


def mean(rows: list[dict[str, Any]]) -> dict[str, Any]:
    numbers = {
        name: float(np.mean([row[name] for row in rows])) for name in rows[0] if not isinstance(rows[0][name], str)
    }
    return rows[0] | numbers | {name: round(numbers[name]) for name in ("keys", "rows", "columns") if name in numbers}


def resident() -> int:
    """Return the bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def timed(numbers: bool, n_features: int) -> dict[str, Any]:
    """Train on rows of a million entities."""
    random = np.random.default_rng(0)
    X = random.normal(size=(N_TIMED, n_features)).astype(np.float32)
    key = random.permutation(np.arange(N_TIMED) % N_ENTITIES)
    y: np.ndarray = X.sum(axis=1) + random.logistic(size=N_TIMED)
    if not numbers:
        y = (y > 0).astype(int)
    model = EntityModels(shared=OnlineRegressor() if numbers else OnlineClassifier())
    given = {} if numbers else {"classes": [0, 1]}
    before = resident()
    began = time.process_time()
    for first in range(0, N_TIMED, 100_000):
        rows = slice(first, first + 100_000)
        model.partial_fit(X[rows], y[rows], key=key[rows], **given)
    seconds = time.process_time() - began
    grown = resident() - before
    began = time.process_time()
    model.predict(X[:100_000], key=key[:100_000])
    predicted = 100_000 / (time.process_time() - began)
    return {
        "targets": "numbers" if numbers else "classes", "features": n_features, "entities": model.n_entities_,
        "rows": N_TIMED, "rows/s": N_TIMED / seconds, "predicted rows/s": predicted, "GB": grown / 1e9,
    }  # fmt: skip


def exact(X: np.ndarray, y: np.ndarray, key: np.ndarray, X_new: np.ndarray, new: np.ndarray) -> tuple[Any, Any]:
    """Return mean and standard deviation of new targets by the joint Gaussian of all weights."""
    n, d = key.max() + 2, X.shape[1]  # the shared weights come first

    def joint(rows: np.ndarray, of: np.ndarray) -> np.ndarray:
        whole = np.zeros((len(rows), n, d))
        whole[:, 0] = rows
        whole[np.arange(len(rows)), 1 + of] = rows
        return whole.reshape(len(rows), -1)

    prior = np.concatenate([np.full(d, 1e-4), np.ones((n - 1) * d)])
    known, asked = joint(X, key), joint(X_new, new)
    covariance = np.linalg.inv(known.T @ known / NOISE**2 + np.diag(prior))
    mean = covariance @ (known.T @ y) / NOISE**2
    return asked @ mean, np.sqrt(NOISE**2 + np.einsum("ij,jk,ik->i", asked, covariance, asked))


def hierarchical(d: int, seed: int, entities: int = 60, rows: int = 15) -> dict[str, float]:
    """Compare with the exact model, whose weights have the variance 1 between entities."""
    random = np.random.default_rng(seed)
    weights = random.normal(size=d + 1) + random.normal(size=(entities, d + 1))

    def drawn(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        key = random.permutation(np.repeat(np.arange(entities), n))
        X = np.column_stack([np.ones(len(key)), random.normal(size=(len(key), d))])
        return X, key, (X * weights[key]).sum(axis=1) + random.normal(0, NOISE, len(key))

    (X, key, y), (X_new, new, y_new) = drawn(rows), drawn(50)
    model = EntityModels(shared=OnlineRegressor()).fit(X[:, 1:], y, key=key)
    mean, std = model.predict(X_new[:, 1:], key=new, return_std=True)
    low, high = model.predict_interval(X_new[:, 1:], 0.9, key=new).T
    best, spread = exact(X, y, key, X_new, new)

    def error(predicted: np.ndarray) -> float:
        return float(np.sqrt(np.mean((predicted - y_new) ** 2)))

    ridge = OnlineRegressor().fit(X[:, 1:], y).predict(X_new[:, 1:])
    return {
        "columns": d, "RMSE": error(mean), "RMSE, exact": error(best), "RMSE / exact": error(mean) / error(best),
        "RMSE, ridge": error(ridge), "std / exact": float(np.mean(std / spread)),
        "coverage of .9": float(np.mean((low <= y_new) & (y_new <= high))),
    }  # fmt: skip


def shown(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def main() -> None:
    options = arguments(
        __doc__,
        ("--rows", {"type": int, "default": 40_000, "help": "of the sets that are made"}),
        ("--seeds", {"type": int, "default": 3}),
        ("--rule", {"default": "arow"}),
        ("--keys", {"nargs": "*", "default": ["site_id", "app_id", "device_ip", "device_model", "C14"]}),
        ("--numbers", {"action": "store_true", "help": "compare numbers with the exact model only"}),
        ("--speed", {"action": "store_true", "help": "measure the speed only"}),
    )
    warnings.simplefilter("ignore")
    if options.speed:
        found = [timed(False, 10), timed(True, 4)]
    elif options.numbers:
        found = [mean([hierarchical(d, seed) for seed in range(options.seeds)]) for d in (4, 8)]
    else:
        found = [
            mean(
                [compared(make.__name__, *make(options.rows, seed), key, options.rule) for seed in range(options.seeds)]
            )
            for make, key in ((ratings, "user"), (offers, "customer"))
        ]
        if have_data():
            found += [compared("avazu", *avazu(), key, options.rule) for key in options.keys]
    print(machine())
    print(markdown(list(found[0]), [[shown(value) for value in row.values()] for row in found]))
    write_json(options.json, {"rows": found})


if __name__ == "__main__":
    main()
