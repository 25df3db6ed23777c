"""Tables of numbers, ids, names and text beside gradient boosting and a linear model, all with their defaults.

Every table is shuffled once; the first seven tenths train, the others test. ``AutoClassifier`` makes one pass. LightGBM
and CatBoost are told which columns are categories; ``LogisticRegression`` has standardized numbers and indicators.
Printed is the log-loss of each, and the mean rank. Some tables are made of numbers of real ones and an id without
meaning, one is made up; the others are as they come. Needs ``lightgbm`` and ``catboost``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier
from harness import FOLDER, arguments, have_data, machine, markdown, table, write_json
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_svmlight_file, make_moons
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from confidently import AutoClassifier

SEED, MOST = 5, 15_000
Table = tuple[pd.DataFrame, Any]


def with_id(frame: pd.DataFrame, values: int) -> pd.DataFrame:
    """Return a table with a category of so many values, which mean nothing."""
    ids = np.random.default_rng(7).integers(0, values, len(frame))
    return frame.assign(id=[f"u{k}" for k in ids])


def moons() -> Table:
    """Two half moons and an id."""
    X, y = make_moons(10_000, noise=0.2, random_state=0)
    return with_id(pd.DataFrame(X, columns=["a", "b"]), 3000), y


def of_svmlight(name: str, values: int) -> Callable[[], Table]:
    """Return what reads the numbers of a table, with an id."""

    def read() -> Table:
        X, y = load_svmlight_file(str(FOLDER / name / f"{name}.svm.gz"))
        return with_id(pd.DataFrame(X.toarray(), columns=[f"c{k}" for k in range(X.shape[1])]), values), y

    return read


def elec2() -> Table:
    """Prices of electricity, and an id."""
    frame = pd.read_csv(FOLDER / "elec2" / "elec2.csv.gz")
    return with_id(frame.iloc[:, :-1], 3000), frame.iloc[:, -1].to_numpy()


def airlines() -> Table:
    """Late flights: carrier, airports and weekday are codes."""
    frame = pd.read_csv(FOLDER / "public_streams" / "airlines.csv.gz")
    y = frame.pop("label").to_numpy()
    codes = [name for name in frame if frame[name].max() < 400 and (frame[name] % 1 == 0).all()]
    return frame.assign(**{name: "k" + frame[name].astype(int).astype(str) for name in codes}), y


def avazu() -> Table:
    """Clicks on advertisements: categories only."""
    frame = pd.read_csv(FOLDER / "avazu_sample" / "avazu.csv.gz", dtype=str).drop(columns=["id", "hour"])
    y = frame.pop("click").astype(int).to_numpy()
    return "k" + frame, y


def criteo() -> Table:
    """Clicks on advertisements: counts and categories, many of which are missing."""
    names = ["y", *(f"I{k}" for k in range(1, 14)), *(f"C{k}" for k in range(1, 27))]
    frame = pd.read_csv(FOLDER / "criteo_sample" / "criteo.tsv.gz", sep="\t", header=None, names=names)
    y = frame.pop("y").to_numpy()
    for name in names[14:]:
        frame[name] = ("k" + frame[name].astype(str)).where(frame[name].notna(), "none")
    return frame, y


def bikes() -> Table:
    """Whether many bikes are hired in an hour: a date, codes and the weather."""
    frame = pd.read_csv(FOLDER / "bike_sharing" / "hour.csv.gz")
    y = (frame["cnt"] > frame["cnt"].median()).astype(int).to_numpy()
    frame = frame.drop(columns=[name for name in ("cnt", "casual", "registered", "instant") if name in frame])
    for name in frame:
        if name in ("dteday", "season", "hr", "weekday", "weathersit", "mnth"):
            frame[name] = "k" + frame[name].astype(str)
    return frame, y


def names() -> Table:
    """First names of girls and boys, with year and count."""
    frame = pd.read_csv(FOLDER / "ssa_names" / "names.csv.gz")
    return frame.drop(columns="sex").assign(name="n" + frame["name"]), (frame["sex"] == "F").astype(int).to_numpy()


def effects() -> Table:
    """A product of numbers, a number, and the effect of who it is."""
    generator, n = np.random.default_rng(1), 12_000
    X, who = generator.normal(size=(n, 5)), generator.integers(0, 500, n)
    score = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 1.5 * generator.normal(size=500)[who]
    frame = pd.DataFrame(X, columns=list("abcde")).assign(who=[f"w{k}" for k in who])
    return frame, (score + 0.5 * generator.logistic(size=n) > 0).astype(int)


def cities() -> Table:
    """Coordinates and the city that is there: which of three regions it is in, as on a chessboard."""
    generator, n = np.random.default_rng(3), 12_000
    city = generator.zipf(1.3, n) % 800
    place = generator.uniform(-1, 1, (800, 2))[city] + 0.02 * generator.normal(size=(n, 2))
    frame = pd.DataFrame(place, columns=["lat", "lon"]).assign(city=[f"c{k}" for k in city])
    return frame, (np.floor(2 * (place + 1)).sum(axis=1) % 3).astype(int)


TABLES: dict[str, Callable[[], Table]] = {
    "moons, id": moons, "spambase, id": of_svmlight("spambase", 1500), "phishing, id": of_svmlight("phishing", 3000),
    "letter, id": of_svmlight("letter", 3000), "elec2, id": elec2, "airlines": airlines, "avazu": avazu,
    "criteo": criteo, "bikes": bikes, "names": names, "effects": effects, "cities": cities,
}  # fmt: skip


def linear(categories: list[str], numbers: list[str]) -> Any:
    """Return logistic regression on standardized numbers and indicators."""
    scaled = make_pipeline(SimpleImputer(), StandardScaler())
    encoded = make_column_transformer(
        (scaled, numbers), (OneHotEncoder(handle_unknown="infrequent_if_exist"), categories)
    )
    return make_pipeline(encoded, LogisticRegression(max_iter=1000))


def trained(X: pd.DataFrame, y: np.ndarray) -> Iterator[tuple[str, Callable[[pd.DataFrame], np.ndarray]]]:
    """Yield the name of each model, and what it predicts."""
    numbers = [*X.select_dtypes("number")]
    categories = [name for name in X if name not in numbers]
    yield "AutoClassifier", AutoClassifier(random_state=0).fit(X, y).predict_proba
    known = {name: pd.CategoricalDtype(sorted(X[name].unique())) for name in categories}
    boosted = LGBMClassifier(verbose=-1, n_jobs=2).fit(X.astype(known), y)
    yield "LightGBM", lambda rows: boosted.predict_proba(rows.astype(known))
    ordered = CatBoostClassifier(verbose=False, cat_features=categories, allow_writing_files=False, thread_count=2)
    yield "CatBoost", ordered.fit(X, y).predict_proba
    yield "LogisticRegression", linear(categories, numbers).fit(X, y).predict_proba


def main() -> None:
    """Print a table."""
    options = arguments(__doc__ or "", ("--tables", {"nargs": "*", "default": list(TABLES), "help": "which ones"}))
    if not have_data():
        return
    warnings.simplefilter("ignore")
    print(machine(), flush=True)
    result: dict[str, dict[str, list[float]]] = {}
    for name in options.tables:
        X, y = TABLES[name]()
        order = np.random.default_rng(SEED).permutation(len(y))[:MOST]
        X, y = X.iloc[order].reset_index(drop=True), np.asarray(y)[order]
        n, found, began = int(0.7 * len(y)), dict[str, list[float]](), time.perf_counter()
        for model, predict in trained(X[:n], y[:n]):
            found[model] = [log_loss(y[n:], predict(X[n:]), labels=np.unique(y[:n])), time.perf_counter() - began]
            began = time.perf_counter()
        result[name] = found
        print(name, {model: [round(x, 4) for x in own] for model, own in found.items()}, flush=True)
    models = list(next(iter(result.values())))
    losses = np.array([[found[model][0] for model in models] for found in result.values()])
    ranks = (losses.argsort(axis=1).argsort(axis=1) + 1).mean(axis=0)
    lines = [[name, *(f"{loss:.4f}" for loss in own)] for name, own in zip(result, losses, strict=True)]
    lines.append(["mean rank", *(f"{rank:.2f}" for rank in ranks)])
    header = ["table", *models]
    print(table(header, lines), markdown(header, lines), sep="\n\n")
    write_json(options.json, result)


if __name__ == "__main__":
    main()
