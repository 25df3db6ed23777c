"""Crammer et al. 2008, Fig. 2c: binary tasks on text, every rule of the package and two batch learners."""

from __future__ import annotations

import gzip
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from ..classifier import OnlineClassifier
from ..rules import make_rule

COLUMNS = 2**20
Setting = dict[str, float]
Texts = tuple[list[str], np.ndarray]  # and whether each is of the second class


# --- tasks ---------------------------------------------------------------------------------------------------------


def json_lines(file: Path) -> Iterator[dict[str, Any]]:
    """The objects of a gzip file, one a line."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _newsgroups(first: str, second: str, data: Path) -> Texts:
    rows = [r for part in ("train", "test") for r in json_lines(data / "newsgroups" / f"{part}.jsonl.gz")]
    return _pair([(r["text"], r["group"]) for r in rows], first, second)


def _reuters(first: str, second: str, data: Path) -> Texts:
    rows = [r for r in json_lines(data / "reuters21578" / "reuters21578.jsonl.gz") if r["body"]]
    one = [(f"{r['title']}\n{r['body']}", r["topics"][0]) for r in rows if len(r["topics"]) == 1]
    return _pair(one, first, second)


def _sentiment(file: str, data: Path) -> Texts:
    rows = [(f"{r.get('title', '')}\n{r['text']}", r["label"]) for r in json_lines(data / file)]
    return _pair(rows, "negative", "positive")


def _enron(data: Path) -> Texts:
    return _pair([(r["text"], r["label"]) for r in json_lines(data / "enron_spam" / "enron1.jsonl.gz")], "ham", "spam")


def _pair(rows: list[tuple[str, str]], first: str, second: str) -> Texts:
    kept = [(text, name == second) for text, name in rows if name in (first, second)]
    return [text for text, _ in kept], np.array([second_class for _, second_class in kept])


FDU = ("camera_photo", "health_personal_care", "music", "sports_outdoors", "toys_games", "video")
TASKS: dict[str, Callable[[Path], Texts]] = {
    "news comp": partial(_newsgroups, "comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    "news sci": partial(_newsgroups, "sci.electronics", "sci.med"),
    "news talk": partial(_newsgroups, "talk.politics.guns", "talk.politics.mideast"),
    "reuters acq": partial(_reuters, "acq", "earn"),
    "reuters trade": partial(_reuters, "crude", "trade"),
    "reuters money": partial(_reuters, "interest", "money-fx"),
    "spam enron1": _enron,
    **{d: partial(_sentiment, f"amazon_sentiment/{d}.text.jsonl.gz") for d in ("books", "dvd", "electronics")},
    **{d: partial(_sentiment, f"amazon_sentiment_fdu/{d}.jsonl.gz") for d in FDU},
}
FOLDERS = ("newsgroups", "reuters21578", "enron_spam", "amazon_sentiment", "amazon_sentiment_fdu")


def rows_of(name: str, data: Path, most: int | None = None, seed: int = 0) -> tuple[csr_array, np.ndarray]:
    """Shuffled rows of a task: words and pairs of neighbouring words, present or not, rows of length 1."""
    texts, y = TASKS[name](data)
    order = np.random.default_rng(seed).permutation(len(y))[:most]
    words = HashingVectorizer(n_features=COLUMNS, ngram_range=(1, 2), binary=True, alternate_sign=False, norm=None)
    X = normalize(words.transform([texts[i] for i in order]))
    there = np.flatnonzero(np.bincount(X.indices, minlength=COLUMNS))  # columns that are empty cost memory only
    return csr_array(X[:, there]), y[order].astype(int)


# --- learners ------------------------------------------------------------------------------------------------------


def grid(name: str, *values: float) -> list[Setting]:
    """Settings of one parameter."""
    return [{name: value} for value in values]


ETAS, COSTS = (0.6, 0.7, 0.8, 0.9, 0.95, 0.99), (0.01, 0.1, 1.0, 10.0)
IELLIP_CUTS = ((0.3, 0.1), (0.9, 0.09), (0.99, 0.009))
GRIDS: dict[str, list[Setting]] = {
    "perceptron": [{}],
    "pa": [{}],
    "pa1": grid("C", *COSTS),
    "pa2": grid("C", *COSTS),
    "sop": grid("prior_variance", 0.1, 1.0, 10.0, 100.0),
    "cw_stdev": grid("eta", *ETAS),
    "cw_var": grid("eta", *ETAS),
    "arow": grid("r", 0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
    "scw1": [{"eta": eta, "C": C} for eta in (0.8, 0.9, 0.95) for C in (0.1, 1.0, 10.0)],
    "scw2": [{"eta": eta, "C": C} for eta in (0.8, 0.9, 0.95) for C in (0.1, 1.0, 10.0)],
    "nherd": grid("C", 0.1, 0.3, 1.0, 3.0, 10.0),
    "cellip": [{"gamma": g, "a": 0.5, "prior_variance": 1 + g / 2} for g in (0.01, 0.03, 0.1)],
    "iellip": [{"b": b, "c": c, "prior_variance": 0.1} for b, c in IELLIP_CUTS],
    "bayespa": grid("c", *(C / 2 for C in COSTS)),
    "gibbs_pa": grid("c", 0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
    "gibbs_pa_exact": grid("c", 0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
    "probit": grid("noise", 0.03, 0.1, 0.3, 1.0),
    "LinearSVC": grid("C", 0.03, 0.1, 0.3, 1.0, 3.0),
    "LogisticRegression": grid("C", 1.0, 10.0, 100.0),
}
BATCH = ("LinearSVC", "LogisticRegression")


def make(name: str, setting: Setting, passes: int = 1) -> Any:
    """A learner with a setting; rules have a diagonal covariance."""
    if name == "LinearSVC":
        return LinearSVC(**setting)
    if name == "LogisticRegression":
        return LogisticRegression(solver="liblinear", **setting)
    parameters = {key: value for key, value in setting.items() if key != "prior_variance"}
    prior = setting.get("prior_variance", 1.0)
    return OnlineClassifier(
        make_rule(name, **parameters), prior_variance=prior, passes=passes, shuffle=passes > 1, random_state=0
    )


@dataclass(frozen=True)
class Score:
    """What one learner did in one fold."""

    error: float
    log_loss: float  # of predict_proba: calibrated by the stream
    vote_log_loss: float  # of the posterior's vote
    seconds: float


def folds(y: np.ndarray, n: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and test rows, the same for every learner."""
    return list(StratifiedKFold(n, shuffle=True, random_state=seed).split(y, y))


def validation_errors(task: str, data: Path, names: list[str], n: int, most: int | None, seed: int) -> Any:
    """Errors of every setting of every learner: the first fold's training rows, cut 4 : 1."""
    X, y = rows_of(task, data, most, seed)
    train = folds(y, n, seed)[0][0]
    cut = len(train) * 4 // 5
    part, rest = np.sort(train)[:cut], np.sort(train)[cut:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a batch learner that does not quite converge
        return {
            name: [1 - make(name, s).fit(X[part], y[part]).score(X[rest], y[rest]) for s in GRIDS[name]]
            for name in names
        }


def cross_validated(
    task: str, data: Path, chosen: dict[str, Setting], n: int, most: int | None, seed: int, passes: int
) -> dict[str, list[Score]]:
    """Every learner on the same folds; ``passes`` is for the rules."""
    X, y = rows_of(task, data, most, seed)
    scores: dict[str, list[Score]] = {name: [] for name in chosen}
    for train, test in folds(y, n, seed):
        X_train, X_test = X[np.sort(train)], X[test]  # the order of rows is random already
        for name, setting in chosen.items():
            scores[name].append(_score(make(name, setting, passes), X_train, y[np.sort(train)], X_test, y[test]))
    return scores


def _score(model: Any, X: csr_array, y: np.ndarray, X_test: csr_array, y_test: np.ndarray) -> Score:
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    seconds = time.process_time() - began
    calibrated = vote = np.nan
    if hasattr(model, "predict_proba"):
        calibrated = float(log_loss(y_test, model.predict_proba(X_test)))
    if isinstance(model, OnlineClassifier):
        vote = float(log_loss(y_test, model.set_params(calibration=None).predict_proba(X_test)))
    return Score(float(1 - model.score(X_test, y_test)), calibrated, vote, seconds)


def experiment(
    run: Any, n: int, most: int | None, tasks: list[str], names: list[str]
) -> tuple[dict[str, Setting], dict[str, dict[str, list[Score]]]]:
    """Choose one setting a learner for all tasks; then its scores by task and fold."""
    found = run.each("text, tuning", validation_errors, [(t, run.data, names, n, most, run.seed) for t in tasks])
    means = {name: np.mean([errors[name] for errors in found], axis=0) for name in names}
    chosen = {name: GRIDS[name][int(means[name].argmin())] for name in names}
    scores = run.each(
        "text, cross-validation", cross_validated, [(t, run.data, chosen, n, most, run.seed, 1) for t in tasks]
    )
    return chosen, dict(zip(tasks, scores, strict=True))
