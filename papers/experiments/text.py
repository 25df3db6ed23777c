"""Crammer et al. 2008, Fig. 2c: binary tasks on text, with every rule of the package and two batch learners."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from confidently.data.features import Strings
from confidently.estimators.classifier import OnlineClassifier
from confidently.rules import make_rule

from .examples import read_examples

Setting = dict[str, float]
Rows = tuple[csr_array, np.ndarray]  # with booleans, whether each row has the second class


# --- tasks ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """Two labels of some files of JSON lines.

    Attributes
    ----------
    files : tuple of str
        Paths in the folder of the data sets.
    classes : (str, str)
        Rows with another label, or with several, are left out.
    text, drop : tuple of str
        Keys whose words are features, and keys that are ignored.
    label : str
        Key of the label.
    needed : str, optional
        Key that must not be empty.
    """

    files: tuple[str, ...]
    classes: tuple[str, str]
    text: tuple[str, ...] = ("text",)
    drop: tuple[str, ...] = ()
    label: str = "label"
    needed: str | None = None


def _newsgroups(first: str, second: str) -> Task:
    files = ("newsgroups/train.jsonl.gz", "newsgroups/test.jsonl.gz")
    return Task(files, (first, second), drop=("id",), label="group")


def _reuters(first: str, second: str) -> Task:
    other = ("id", "topics_attr", "lewissplit", "cgisplit", "date", "places", "modapte")
    files = ("reuters21578/reuters21578.jsonl.gz",)
    return Task(files, (first, second), ("title", "body"), other, "topics", needed="body")


def _sentiment(file: str, text: tuple[str, ...] = ("text",), drop: tuple[str, ...] = ()) -> Task:
    return Task((file,), ("negative", "positive"), text, drop)


BLITZER = ("books", "dvd", "electronics")
FDU = ("camera_photo", "health_personal_care", "music", "sports_outdoors", "toys_games", "video")
TEXT_TASKS = {
    "news comp": _newsgroups("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    "news sci": _newsgroups("sci.electronics", "sci.med"),
    "news talk": _newsgroups("talk.politics.guns", "talk.politics.mideast"),
    "reuters acq": _reuters("acq", "earn"),
    "reuters trade": _reuters("crude", "trade"),
    "reuters money": _reuters("interest", "money-fx"),
    "spam enron1": Task(("enron_spam/enron1.jsonl.gz",), ("ham", "spam"), drop=("file", "date")),
    **{d: _sentiment(f"amazon_sentiment/{d}.text.jsonl.gz", text=("title", "text")) for d in BLITZER},
    **{d: _sentiment(f"amazon_sentiment_fdu/{d}.jsonl.gz", drop=("split",)) for d in FDU},
}
SENTIMENT = (*BLITZER, *FDU)
FOLDERS = tuple(dict.fromkeys(task.files[0].split("/")[0] for task in TEXT_TASKS.values()))


def read(run: Any, tasks: Sequence[str], max_rows: int | None = None) -> dict[str, Rows]:
    """Return the rows of tasks, at most ``max_rows`` of each; every file is read once."""
    by_files: dict[tuple[str, ...], list[str]] = {}
    for name in tasks:
        by_files.setdefault(TEXT_TASKS[name].files, []).append(name)
    work = [(names, run.data, max_rows, run.seed) for names in by_files.values()]
    found = {name: rows for part in run.each("text, reading", rows_of, work) for name, rows in part.items()}
    return {name: found[name] for name in tasks}


def rows_of(names: Sequence[str], data: Path, max_rows: int | None = None, seed: int = 0) -> dict[str, Rows]:
    """Return shuffled rows of tasks on the same files: binary features of words and bigrams, unit norm."""
    task = TEXT_TASKS[names[0]]
    found = read_examples(
        [data / file for file in task.files], format="jsonl", label=task.label, text=task.text, drop=task.drop,
        multilabel=True, keep=(task.needed,) if task.needed else (), ngrams=(1, 2), vocabulary=True, normalize="none",
    )  # fmt: skip
    one = np.flatnonzero(np.diff(found.label_start) == 1)
    if task.needed:
        one = one[np.diff(found.kept[task.needed].start)[one] > 0]
    labels = found.names[found.labels[found.label_start[:-1][one]]]
    rows = {}
    for name in names:
        classes = TEXT_TASKS[name].classes
        wanted = np.flatnonzero(np.isin(labels, classes))
        order = wanted[np.random.default_rng(seed).permutation(len(wanted))[:max_rows]]
        rows[name] = _words(found.X[one[order]], found.features), (labels[order] == classes[1]).astype(int)
    return rows


def _words(X: csr_array, names: Strings) -> csr_array:
    """Give a word in the title and in the text the same column; return rows of unit norm."""
    used = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]))  # empty columns would cost memory
    words = [name.partition(":")[2] for name in names.take(used)]
    column = dict(zip(dict.fromkeys(words), range(len(words)), strict=False))
    column_of = np.zeros(X.shape[1], dtype=np.int32)
    column_of[used] = [column[word] for word in words]
    X = csr_array((np.ones(X.nnz), column_of[X.indices], X.indptr), shape=(X.shape[0], len(column)))
    X.sum_duplicates()
    X.data[:] = 1.0
    return csr_array(normalize(X))


# --- learners ------------------------------------------------------------------------------------------------------


def grid(name: str, *values: float) -> list[Setting]:
    """Return settings of one parameter."""
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
    """Create a learner with a setting; rules have a diagonal covariance."""
    if name == "LinearSVC":
        return LinearSVC(**setting)
    if name == "LogisticRegression":
        return LogisticRegression(solver="liblinear", **setting)
    parameters = {key: value for key, value in setting.items() if key != "prior_variance"}
    prior = setting.get("prior_variance", 1.0)
    return OnlineClassifier(
        make_rule(name, **parameters),
        prior_variance=prior,
        passes=passes,
        shuffle=passes > 1,
        random_state=0,
        view=None,
    )


@dataclass(frozen=True)
class Score:
    """Results of one learner in one fold."""

    error: float
    log_loss: float  # of predict_proba, calibrated online
    uncalibrated_log_loss: float  # of the posterior probability
    seconds: float


def folds(y: np.ndarray, n: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return training and test rows, the same for every learner."""
    return list(StratifiedKFold(n, shuffle=True, random_state=seed).split(y, y))


def validation_errors(X: csr_array, y: np.ndarray, names: list[str], n: int, seed: int) -> dict[str, list[float]]:
    """Return the errors of every setting of every learner on the training rows of the first fold, split 4 : 1."""
    train = np.sort(folds(y, n, seed)[0][0])
    cut = len(train) * 4 // 5
    part, rest = X[train[:cut]], X[train[cut:]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of batch learners that do not quite converge
        return {
            name: [1 - make(name, s).fit(part, y[train[:cut]]).score(rest, y[train[cut:]]) for s in GRIDS[name]]
            for name in names
        }


def cross_validated(
    X: csr_array, y: np.ndarray, chosen: dict[str, Setting], n: int, seed: int, passes: int
) -> dict[str, list[Score]]:
    """Score every learner on the same folds; ``passes`` applies to the rules."""
    scores: dict[str, list[Score]] = {name: [] for name in chosen}
    for train, test in folds(y, n, seed):
        X_train, X_test = X[np.sort(train)], X[test]  # the rows are in random order already
        for name, setting in chosen.items():
            scores[name].append(_score(make(name, setting, passes), X_train, y[np.sort(train)], X_test, y[test]))
    return scores


def _score(model: Any, X: csr_array, y: np.ndarray, X_test: csr_array, y_test: np.ndarray) -> Score:
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    seconds = time.process_time() - began
    calibrated = uncalibrated = np.nan
    if hasattr(model, "predict_proba"):
        calibrated = float(log_loss(y_test, model.predict_proba(X_test)))
    if isinstance(model, OnlineClassifier):
        uncalibrated = float(log_loss(y_test, model.set_params(calibration=None).predict_proba(X_test)))
    return Score(float(1 - model.score(X_test, y_test)), calibrated, uncalibrated, seconds)


def choose(run: Any, rows: dict[str, Rows], names: list[str], n: int) -> dict[str, Setting]:
    """Choose one setting per learner for all tasks."""
    found = run.each("text, tuning", validation_errors, [(*part, names, n, run.seed) for part in rows.values()])
    means = {name: np.mean([errors[name] for errors in found], axis=0) for name in names}
    return {name: GRIDS[name][int(means[name].argmin())] for name in names}


def scored(
    run: Any, rows: dict[str, Rows], chosen: dict[str, Setting], n: int, passes: int = 1
) -> dict[str, dict[str, list[Score]]]:
    """Return scores by task, learner and fold."""
    stage = "text, cross-validation" if passes == 1 else f"text, {passes} passes"
    work = [(*part, chosen, n, run.seed, passes) for part in rows.values()]
    return dict(zip(rows, run.each(stage, cross_validated, work), strict=True))
