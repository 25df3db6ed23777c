"""Real data sets for the tests and benchmarks, from the optional folder shared/data beside the repository.

All learners get the same preprocessing:

* text: lower-cased words and pairs of adjacent words, present or not, hashed into columns;
* measurements on different scales: standardized by mean and standard deviation of the training rows;
* pixels and binary features: unchanged;
* then every row is scaled to unit L2 norm (rows without features stay empty).

Sets sorted by class are shuffled. Sets without a test part are split 4 : 1 after shuffling. One seed is used for all.
Values are rounded to nine decimals, so that they do not depend on the order in which a machine adds.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.preprocessing import MultiLabelBinarizer, normalize

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
SEED = 20090614
TEXT_COLUMNS = 2**18
DECIMALS = 9

Split = tuple[Any, np.ndarray, Any, np.ndarray]


def shared_data(name: str = "") -> Path:
    """Return the folder of a data set, or skip the test if there is none."""
    folder = FOLDER / name
    if not folder.is_dir():
        import pytest

        pytest.skip(f"needs the optional data set {name!r} in the folder shared/data beside the repository")
    return folder


@lru_cache(maxsize=4)
def load(name: str, train_rows: int | None = None, test_rows: int | None = None, columns: int = TEXT_COLUMNS) -> Split:
    """Return a preprocessed data set.

    Parameters
    ----------
    name : str
        One of :data:`DATA_SETS`.
    train_rows, test_rows : int, optional
        Largest number of rows of each part, the first ones after shuffling.
    columns : int
        Number of columns that words are hashed into.

    Returns
    -------
    X_train, y_train, X_test, y_test
        Rows as CSR or dense float64; labels as integers or strings, or an indicator matrix if rows are multilabel.
    """
    raw, y, raw_test, y_test = DATA_SETS[name]()
    raw, y, raw_test, y_test = raw[:train_rows], y[:train_rows], raw_test[:test_rows], y_test[:test_rows]
    if isinstance(raw, np.ndarray) and raw.dtype == object:
        raw, raw_test = hashed_words(raw, columns), hashed_words(raw_test, columns)
    elif name in STANDARDIZED:
        raw, raw_test = standardized(raw, raw_test)
    return unit_rows(raw), y, unit_rows(raw_test), y_test


def hashed_words(texts: np.ndarray, columns: int = TEXT_COLUMNS) -> Any:
    """Return whether each text has each word and pair of words, hashed into columns."""
    words = HashingVectorizer(n_features=columns, ngram_range=(1, 2), binary=True, alternate_sign=False, norm=None)
    return words.transform(texts)


def standardized(X: np.ndarray, X_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Standardize both parts by mean and standard deviation of the first."""
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation[deviation == 0] = 1.0
    return (X - mean) / deviation, (X_test - mean) / deviation


def unit_rows(X: Any) -> Any:
    """Scale rows to unit L2 norm, rounded."""
    X = normalize(X)
    if isinstance(X, np.ndarray):
        return np.round(X, DECIMALS)
    X.data = np.round(X.data, DECIMALS)
    return csr_matrix(X)


def mnist_pixels() -> Split:
    """MNIST's images, a row of 784 pixels in [0, 1] each, and digits."""
    folder = shared_data("mnist")

    def read(file: str, header: int) -> np.ndarray:
        return np.frombuffer(gzip.decompress((folder / file).read_bytes()), dtype=np.uint8, offset=header)

    def part(name: str) -> tuple[np.ndarray, np.ndarray]:
        images = read(f"{name}-images-idx3-ubyte.gz", 16).reshape(-1, 784) / 255.0
        return images, read(f"{name}-labels-idx1-ubyte.gz", 8).astype(int)

    return *part("train"), *part("t10k")


# --- readers of the raw files -------------------------------------------------------------------------------------


def _svmlight(file: Path, dense: bool, multilabel: bool = False) -> tuple[Any, np.ndarray]:
    X, y = load_svmlight_file(str(file), multilabel=multilabel)
    y = np.array(y, dtype=object) if multilabel else y.astype(int)
    return X.toarray() if dense else X.tocsr(), y


def _widened(X: Any, columns: int) -> Any:
    """Add the last columns, which a test part lacks if they are empty in it."""
    return csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], columns))


def _two_files(name: str, dense: bool) -> Split:
    folder = shared_data(name)
    X, y = _svmlight(folder / "train.svm.gz", dense)
    X_test, y_test = _svmlight(folder / "test.svm.gz", dense)
    return X, y, X_test if dense else _widened(X_test, X.shape[1]), y_test


def _multilabel(name: str) -> Split:
    folder = shared_data(name)
    n_labels = len((folder / "labels.txt").read_text().split("\n")[:-1])
    indicator = MultiLabelBinarizer(classes=range(n_labels))
    X, y = _svmlight(folder / "train.svm.gz", True, multilabel=True)
    X_test, y_test = _svmlight(folder / "test.svm.gz", True, multilabel=True)
    return *_shuffled(X, indicator.fit_transform(y)), X_test, indicator.transform(y_test)


def _one_file(file: str, dense: bool) -> Split:
    folder, _, base = file.partition("/")
    return _cut(*_svmlight(shared_data(folder) / base, dense))


def _letter() -> Split:
    X, y = _svmlight(shared_data("letter") / "letter.svm.gz", True)
    return X[:16000], y[:16000], X[16000:], y[16000:]


def _json_lines(file: Path, text: str, label: str) -> tuple[np.ndarray, np.ndarray]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return np.array([row[text] for row in rows], dtype=object), np.array([row[label] for row in rows])


def enron(mailbox: str) -> tuple[np.ndarray, np.ndarray]:
    """Messages of a mailbox in the order of time, and whether they are spam."""
    return _json_lines(shared_data("enron_spam") / f"{mailbox}.jsonl.gz", "text", "label")


def _enron1() -> Split:
    return _cut(*enron("enron1"))


def _two_texts(name: str, label: str) -> Split:
    folder = shared_data(name)
    return (
        *_shuffled(*_json_lines(folder / "train.jsonl.gz", "text", label)),
        *_shuffled(*_json_lines(folder / "test.jsonl.gz", "text", label)),
    )


def _books() -> Split:
    """Reviews of books, positive or not; the classes one after the other."""
    return _cut(*_json_lines(shared_data("amazon_sentiment") / "books.text.jsonl.gz", "text", "label"))


def _reuters() -> Split:
    """Reuters-21578 in the ModApte split: texts with at least one of the 90 topics that both parts have."""
    with gzip.open(shared_data("reuters21578") / "reuters21578.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    parts = [[row for row in rows if row["modapte"] == part] for part in ("train", "test")]
    topics = sorted(set.intersection(*({topic for row in part for topic in row["topics"]} for part in parts)))
    indicator, found = MultiLabelBinarizer(classes=topics), []
    for part in parts:
        kept = [row for row in part if set(row["topics"]) & set(topics)]
        texts = np.array([f"{row['title']}\n{row['body']}" for row in kept], dtype=object)
        found += _shuffled(texts, indicator.fit_transform([set(row["topics"]) & set(topics) for row in kept]))
    return tuple(found)


@lru_cache(maxsize=2)
def word_counts(name: str, groups: tuple[str, ...] = ()) -> Split:
    """Return counts of words, without English stop words, of a set of texts; ``groups``: only of these classes."""
    raw, y, raw_test, y_test = DATA_SETS[name]()
    if groups:
        kept, kept_test = np.isin(y, groups), np.isin(y_test, groups)
        raw, y, raw_test, y_test = raw[kept], y[kept], raw_test[kept_test], y_test[kept_test]
    words = CountVectorizer(stop_words="english")
    return words.fit_transform(raw), y, words.transform(raw_test), y_test


def _tab_separated(file: Path, text: int, label: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of one label, of a file that may have rows of several."""
    with gzip.open(file, "rt", encoding="utf-8", newline="\n") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    kept = [row for row in rows if "," not in row[label]]
    return np.array([row[text] for row in kept], dtype=object), np.array([int(row[label]) for row in kept])


def _tweet_emoji() -> Split:
    folder = shared_data("tweet_emoji")
    return (*_tab_separated(folder / "train.tsv.gz", 1, 0), *_tab_separated(folder / "test.tsv.gz", 1, 0))


def _emotions() -> Split:
    """The comments of GoEmotions that have a single label."""
    folder = shared_data("goemotions")
    return (*_tab_separated(folder / "train.tsv.gz", 0, 1), *_tab_separated(folder / "test.tsv.gz", 0, 1))


def _emotion_labels() -> Split:
    """All comments of GoEmotions, with their labels."""
    folder = shared_data("goemotions")
    indicator = MultiLabelBinarizer(classes=range(28))

    def part(name: str) -> tuple[Any, np.ndarray]:
        with gzip.open(folder / f"{name}.tsv.gz", "rt", encoding="utf-8", newline="") as lines:
            rows = [line.rstrip("\n").split("\t") for line in lines]
        labels = [[int(label) for label in row[1].split(",")] for row in rows]
        return np.array([row[0] for row in rows], dtype=object), indicator.fit_transform(labels)

    return *_shuffled(*part("train")), *part("test")


def _stackoverflow() -> Split:
    return _cut(*_tab_separated(shared_data("stackoverflow_titles") / "titles.tsv.gz", 1, 0))


def _avazu() -> Split:
    """Clicks, or not, by columns of categories."""
    with gzip.open(shared_data("avazu_sample") / "avazu.csv.gz", "rt", encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    y = np.array([int(row.pop("click")) for row in rows])
    categories = [[f"{name}={value}" for name, value in row.items() if name != "id"] for row in rows]
    hasher = FeatureHasher(TEXT_COLUMNS, input_type="string", alternate_sign=False)
    return _cut(hasher.transform(categories), y)


def _criteo() -> Split:
    """Categories, and counts as the whole part of log2, each with its column's name, hashed."""
    with gzip.open(shared_data("criteo_sample") / "criteo.tsv.gz", "rt", encoding="utf-8", newline="") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]

    def cell(column: int, text: str) -> str:
        return f"{column}={text}" if column > 13 or not text else f"{column}={np.log2(max(int(text), 0) + 1):.0f}"

    cells = [[cell(k, text) for k, text in enumerate(row[1:], 1)] for row in rows]
    hasher = FeatureHasher(n_features=TEXT_COLUMNS, input_type="string", alternate_sign=False)
    return _cut(hasher.transform(cells), np.array([int(row[0]) for row in rows]))


def _csv(file: Path) -> list[dict[str, str]]:
    with gzip.open(file, "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _phishing_urls() -> Split:
    """Addresses without their scheme, each once, as n-grams of three to five characters."""
    rows = _csv(shared_data("phishing_urls") / "urls.csv.gz")
    label_of = {row["url"].partition("://")[2] or row["url"]: row["label"] for row in rows}
    ngrams = HashingVectorizer(
        analyzer="char", ngram_range=(3, 5), n_features=TEXT_COLUMNS, binary=True, alternate_sign=False, norm=None
    )
    return _cut(ngrams.transform(label_of), np.array([int(label == "phishing") for label in label_of.values()]))


def _ag_news() -> Split:
    found: list[Any] = []
    for file in ("train_5000", "test"):
        rows = _csv(shared_data("ag_news_part") / f"{file}.csv.gz")
        texts = np.array([f"{row['title']} {row['description']}" for row in rows], dtype=object)
        found += _shuffled(texts, np.array([int(row["label"]) for row in rows]))
    return tuple(found)


def _elec2() -> Split:
    """Measurements in the order of time; the last fifth is the test part."""
    rows = _csv(shared_data("elec2") / "elec2.csv.gz")
    X = np.array([[float(value) for key, value in row.items() if key != "class"] for row in rows])
    y, first = np.array([int(row["class"]) for row in rows]), len(rows) * 4 // 5
    return X[:first], y[:first], X[first:], y[first:]


def _ssa_names() -> Split:
    """Sixty thousand first names of girls and boys, as n-grams of up to four characters."""
    with gzip.open(shared_data("ssa_names") / "names.csv.gz", "rt", encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    order = np.random.default_rng(SEED).permutation(len(rows))[:60_000]
    ngrams = HashingVectorizer(
        analyzer="char_wb", ngram_range=(1, 4), n_features=TEXT_COLUMNS, binary=True, alternate_sign=False, norm=None
    )
    X = ngrams.transform([rows[k]["name"] for k in order])
    return _cut(X, np.array([int(rows[k]["sex"] == "M") for k in order]))


def _shuffled(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
    order = np.random.default_rng(SEED).permutation(len(y))
    return X[order], y[order]


def _cut(X: Any, y: np.ndarray) -> Split:
    X, y = _shuffled(X, y)
    first = len(y) * 4 // 5
    return X[:first], y[:first], X[first:], y[first:]


DATA_SETS: dict[str, Callable[[], Split]] = {
    "a9a": partial(_two_files, "a9a", dense=False), "w8a": partial(_one_file, "w8a/train.svm.gz", dense=False),
    "phishing": partial(_one_file, "phishing/phishing.svm.gz", dense=False),
    "spambase": partial(_one_file, "spambase/spambase.svm.gz", dense=True), "letter": _letter,
    "usps": partial(_two_files, "usps", dense=True), "shuttle": partial(_two_files, "shuttle", dense=True),
    "mnist": mnist_pixels, "reuters": _reuters, "newsgroups": partial(_two_texts, "newsgroups", "group"),
    "enron1": _enron1, "books": _books, "tweet_emoji": _tweet_emoji, "goemotions": _emotions,
    "stackoverflow": _stackoverflow, "avazu": _avazu, "ssa_names": _ssa_names, "criteo": _criteo,
    "phishing_urls": _phishing_urls, "ag_news": _ag_news, "elec2": _elec2,
    "skin": partial(_one_file, "skin/skin.svm.gz", dense=True), "imdb": partial(_two_texts, "imdb", "label"),
    "goemotions_labels": _emotion_labels, "bibtex": partial(_multilabel, "bibtex"),
    "scene": partial(_multilabel, "scene"), "yeast": partial(_multilabel, "yeast"),
}  # fmt: skip
STANDARDIZED = frozenset({"letter", "shuttle", "spambase", "elec2", "skin"})
