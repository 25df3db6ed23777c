"""Shi & Zhu 2014: classifiers on noisy streams, and topic models of news."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.metrics import accuracy_score, f1_score, log_loss
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from confidently.estimators.classifier import OnlineClassifier
from confidently.rules import make_rule
from confidently.topics.documents import bare
from confidently.topics.estimator import CollapseWarning, OnlineMedLDA

from .examples import read_examples

PAIR = ("alt.atheism", "talk.religion.misc")
MIN_WORD_LENGTH = 2


# --- Lemma 2.2 -------------------------------------------------------------------------------------------------------


def lemma(seed: int, n: int, c: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mistakes so far of BayesPA with averaging classifiers and of PA-I by its own formula, and the largest
    difference of their weights, after every row."""
    X, y = noisy_stream(np.random.default_rng(seed), n)
    model = OnlineClassifier(make_rule("bayespa", c=c, epsilon=1.0), fit_intercept=False, calibration=None, view=None)
    w, mine, wrong, difference = np.zeros(X.shape[1]), [], [], []
    for x, sign in zip(X, y, strict=True):
        margin = sign * (w @ x)
        wrong.append(margin <= 0)
        w += sign * min(2 * c, max(0.0, 1.0 - margin) / (x @ x)) * x
        model.partial_fit(x[None], [sign], classes=[-1, 1])
        mine.append(model.mistakes_)
        difference.append(np.abs(model.coef_[0] - w).max())
    return np.array(mine), np.cumsum(wrong), np.array(difference)


# --- noisy streams ---------------------------------------------------------------------------------------------------

DIMENSIONS, FLIPPED, MIN_STD = 60, 0.1, 0.05
TEST_POINTS = 5000


def noisy_stream(random: np.random.Generator, n: int, separator: np.ndarray | None = None) -> Any:
    """Return Gaussian points, their standard deviations from 1 to 0.05 geometrically, and labels, one in ten wrong."""
    std = np.geomspace(1.0, MIN_STD, DIMENSIONS)
    w = random.standard_normal(DIMENSIONS) / std if separator is None else separator
    X = random.standard_normal((n, DIMENSIONS)) * std
    return X, np.where(X @ w > 0, 1, -1) * np.where(random.random(n) < FLIPPED, -1, 1)


@dataclass(frozen=True)
class Contender:
    """A learner on noisy streams; its one parameter is chosen on a separate stream."""

    name: str
    rule: str
    covariance: str
    parameter: str
    grid: tuple[float, ...]

    def make(self, value: float, calibration: str | None = "progressive") -> OnlineClassifier:
        rule = make_rule(self.rule, **{self.parameter: value})
        return OnlineClassifier(rule, self.covariance, fit_intercept=False, calibration=calibration, view=None)


WEIGHTS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
NOISY_CONTENDERS = (
    Contender("averaging", "bayespa", "diag", "c", WEIGHTS),
    Contender("Gibbs, diag", "gibbs_pa", "diag", "c", WEIGHTS),
    Contender("Gibbs, full", "gibbs_pa", "full", "c", WEIGHTS),
    Contender("Gibbs exact, diag", "gibbs_pa_exact", "diag", "c", WEIGHTS),
    Contender("Gibbs exact, full", "gibbs_pa_exact", "full", "c", WEIGHTS),
    Contender("AROW, full", "arow", "full", "r", (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)),
)


@dataclass(frozen=True)
class Noisy:
    """Results of one learner on one stream: errors as fractions of rows, log-loss in nats."""

    online: float
    test: float
    log_loss: float
    uncalibrated_log_loss: float


def chosen_value(contender: Contender, seed: int, n: int) -> float:
    """Return the value of the parameter with the fewest mistakes on a stream."""
    X, y = noisy_stream(np.random.default_rng([seed, 1]), n)
    return min(contender.grid, key=lambda value: contender.make(value, None).fit(X, y).mistakes_)


def on_noisy_stream(contender: Contender, value: float, seed: int, number: int, n: int) -> Noisy:
    """Run one stream: online error, and then error and log-loss on points of the same distribution."""
    random = np.random.default_rng([seed, 2, number])
    w = random.standard_normal(DIMENSIONS) / np.geomspace(1.0, MIN_STD, DIMENSIONS)
    X, y = noisy_stream(random, n, w)
    X_test, y_test = noisy_stream(random, TEST_POINTS, w)
    model, uncalibrated = (contender.make(value, calibration).fit(X, y) for calibration in ("progressive", None))
    test = float((model.predict(X_test) != y_test).mean())
    losses = (float(log_loss(y_test, m.predict_proba(X_test), labels=[-1, 1])) for m in (model, uncalibrated))
    return Noisy(uncalibrated.mistakes_ / n, test, *losses)


# --- topic models ----------------------------------------------------------------------------------------------------


@dataclass
class Corpus:
    """Counts of words, and classes or an indicator matrix of labels, of a training and a test part."""

    X: csr_array
    y: np.ndarray
    X_test: csr_array
    y_test: np.ndarray

    def cut(self, max_rows: int, seed: int) -> Corpus:
        """Draw at most ``max_rows`` documents of each part."""
        random = np.random.default_rng(seed)
        train, test = (random.permutation(len(y))[:max_rows] for y in (self.y, self.y_test))
        return Corpus(self.X[train], self.y[train], self.X_test[test], self.y_test[test])


def newsgroups(data: Path, groups: tuple[str, ...] = ()) -> Corpus:
    """Return 20 Newsgroups by date without English stop words and single letters; optionally some groups only."""
    files = [data / "newsgroups" / f"{part}.jsonl.gz" for part in ("train", "test")]
    how: dict[str, Any] = {
        "label": "group",
        "text": ("text",),
        "drop": ("id",),
        "normalize": "none",
        "vocabulary": True,
    }
    both, cut = read_examples(files, **how), len(read_examples(files[0], **how).y)
    X, y = without_stop_words(both), both.y
    kept = np.isin(y, groups) if groups else np.ones(len(y), dtype=bool)
    train = np.arange(len(y)) < cut
    return _parted(X, y, kept & train, kept & ~train)


def reuters(data: Path) -> Corpus:
    """Return Reuters-21578 in the ModApte split, with the topics that are in both parts."""
    other = ("id", "topics_attr", "lewissplit", "cgisplit", "date", "places", "modapte")
    found = read_examples(
        data / "reuters21578" / "reuters21578.jsonl.gz", ("modapte",), label="topics", text=("title", "body"),
        drop=other, normalize="none", vocabulary=True, multilabel=True,
    )  # fmt: skip
    X, part = without_stop_words(found), np.array(list(found.kept["modapte"]))
    Y = np.zeros((X.shape[0], len(found.names)), dtype=int)
    Y[np.repeat(np.arange(len(Y)), np.diff(found.label_start)), found.labels] = 1
    train, test = part == "train", part == "test"
    labels = Y[train].any(axis=0) & Y[test].any(axis=0)
    train, test = (rows & Y[:, labels].any(axis=1) for rows in (train, test))
    return _parted(X, Y[:, labels], train, test)


def _parted(X: csr_array, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> Corpus:
    """Return two parts, with the words of the first."""
    seen = np.flatnonzero(X[train].sum(axis=0))
    return Corpus(X[train][:, seen], y[train], X[test][:, seen], y[test])


def without_stop_words(found: Any) -> csr_array:
    """Return the counts without stop words and single letters."""
    names = [bare(name) for name in found.features]
    kept = [j for j, word in enumerate(names) if len(word) >= MIN_WORD_LENGTH and word not in ENGLISH_STOP_WORDS]
    return csr_array(found.X[:, kept])


@dataclass(frozen=True)
class Outcome:
    """Accuracy, or micro-F1 for multilabel data, on the test part, and processor seconds of training."""

    score: float
    seconds: float


def topic_model(corpus: Corpus, settings: dict[str, Any], seed: int) -> Outcome:
    """Train an online max-margin topic model in one pass."""
    model = OnlineMedLDA(**settings, calibration=None, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)  # the score shows it
        return _measured(model, corpus)


def two_steps(corpus: Corpus, K: int, seed: int) -> Outcome:
    """Train the batch baseline: LDA, in ten passes, and a linear support vector machine of its topic proportions."""
    return _measured(_TwoSteps(K, seed), corpus)


class _TwoSteps:
    def __init__(self, K: int, seed: int) -> None:
        self.lda = LatentDirichletAllocation(K, learning_method="online", random_state=seed)
        self.svm = LinearSVC(random_state=seed)

    def fit(self, X: csr_array, y: np.ndarray) -> None:
        model = OneVsRestClassifier(self.svm) if y.ndim == 2 else self.svm
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Label not", UserWarning)  # that no document has
            self.model = model.fit(self.lda.fit_transform(X), y)

    def predict(self, X: csr_array) -> np.ndarray:
        predicted: np.ndarray = self.model.predict(self.lda.transform(X))
        return predicted


def _measured(model: Any, corpus: Corpus) -> Outcome:
    began = time.process_time()
    model.fit(corpus.X, corpus.y)
    seconds = time.process_time() - began
    found = model.predict(corpus.X_test)
    if corpus.y.ndim == 2:
        return Outcome(float(f1_score(corpus.y_test, found, average="micro", zero_division=0.0)), seconds)
    return Outcome(float(accuracy_score(corpus.y_test, found)), seconds)
