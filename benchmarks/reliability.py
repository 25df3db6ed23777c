"""Are probabilities right? Log-loss, calibration error, and how often rows stated .95 or more are right: one pass.

"line" is the sigmoid (two classes) or temperature (more) learned alone, "corrected" what ``predict_proba`` returns:
with the monotone correction. Sets made up here have what a sigmoid of a linear score cannot say: noisy labels, a
curved boundary, a rare class. "says otherwise" is the fraction of rows for which the sign of the margin and the
largest probability disagree. Sets whose test rows differ from the training rows are in the second table only.
Preprocessing is the same for all: ``tests/data_sets.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from harness import arguments, have_data, load, machine, markdown, table, write_json
from sklearn.datasets import load_digits
from views import raw_table

from confidently import OnlineClassifier
from confidently.covariances.examples import Examples, Progressive
from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from tests.data_sets import enron, hashed_words, standardized, unit_rows

RULES = ("arow", "probit", "iellip_margin", "cw_stdev", "scw1", "logistic", "pa1")
REAL = ("a9a", "w8a", "spambase", "phishing", "avazu", "ssa_names", "enron1", "imdb", "books")
TABLES = ("skin", "elec2")  # shuffled
SEVERAL = ("letter", "usps", "shuttle", "newsgroups")
SHORT = ("a9a", "spambase", "imdb", "letter", "usps", "newsgroups")  # again, with their first rows only
FEW_ROWS = 600
MAX_TRAIN, MAX_TEST = 12_000, 8_000
CERTAIN, MIN_CERTAIN = 0.95, 50  # rows from which a fraction is reported
BINS = 20


class Quality(NamedTuple):
    """Measures of probabilities; ``right`` of the rows stated :data:`CERTAIN` or more, NaN if there are few."""

    log_loss: float
    ece: float
    right: float
    error: float


def made_up() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return rows and labels of sets that a sigmoid of a linear score does not describe."""
    rng = np.random.default_rng(20090614)
    X, w = rng.normal(size=(20_000, 20)), rng.normal(size=20)
    score = X @ w
    clean, flips = (score > 0).astype(int), rng.random(20_000)
    one_sided = np.where(score > 1, flips >= 0.3, flips < 0.02).astype(int)
    few = rng.normal(size=(20_000, 8))
    curved = few[:, 0] ** 2 + few[:, 1] * few[:, 2] + 1.5 * few[:, 3] - 1 + 0.5 * rng.normal(size=20_000)
    heavy = rng.integers(0, 2, size=20_000)
    shapes = rng.normal(size=(20_000, 10)) @ rng.normal(size=(10, 10)) / 3 + 0.6
    tails = rng.standard_t(3, size=(20_000, 10)) @ rng.normal(size=(10, 10)) / 3
    return {
        "labels flipped, 20 %": (X, np.where(flips < 0.2, 1 - clean, clean)),
        "flipped, one-sided": (X, one_sided),
        "noise of 3 sd": (X, (score + 3 * score.std() * rng.normal(size=20_000) > 0).astype(int)),
        "curved boundary": (few, (curved > 0).astype(int)),
        "heavy tails": (np.where(heavy[:, None] == 1, shapes, tails), heavy),
        "rare class, 1:100": (X, (score + 2 * rng.normal(size=20_000) > 2.4 * np.hypot(score.std(), 2)).astype(int)),
    }


def sets() -> Any:
    """Yield name, training rows and labels, test rows and labels."""
    for name in REAL:
        yield name, *load(name, MAX_TRAIN, MAX_TEST)
    tables = {name: raw_table(name) for name in TABLES} | made_up()
    for name, (X, y) in tables.items():
        X, y = X[: MAX_TRAIN + MAX_TEST], y[: MAX_TRAIN + MAX_TEST]
        first = len(y) * 3 // 5
        train, test = (unit_rows(part) for part in standardized(X[:first], X[first:]))
        yield name, train, y[:first], test, y[first:]
    for name in SEVERAL:
        yield name, *load(name, MAX_TRAIN, MAX_TEST)
    for name in SHORT:
        yield f"{name}, {FEW_ROWS} rows", *load(name, FEW_ROWS, MAX_TEST)


def moving() -> Any:
    """Yield sets whose test rows differ from the training rows: later, by other writers, in another mailbox."""
    X, y = (part[: MAX_TRAIN + MAX_TEST] for part in raw_table("elec2", shuffled=False))
    train, test = (unit_rows(part) for part in standardized(X[:MAX_TRAIN], X[MAX_TRAIN:]))
    yield "elec2 in time", train, y[:MAX_TRAIN], test, y[MAX_TRAIN:]
    digits, numbers = load_digits(return_X_y=True)
    yield "digits, other writers", unit_rows(digits[:900]), numbers[:900], unit_rows(digits[900:]), numbers[900:]
    (texts, spam), (others, of_others) = enron("enron1"), enron("enron2")
    yield "enron1 to enron2", unit_rows(hashed_words(texts)), spam, unit_rows(hashed_words(others)), of_others


def quality(p: np.ndarray, truth: np.ndarray) -> Quality:
    """Return the measures of probabilities (n, classes) of class numbers."""
    stated, right = p.max(axis=1), p.argmax(axis=1) == truth
    loss = -np.log(np.maximum(p[np.arange(len(truth)), truth], 1e-15)).mean()
    bins = np.minimum((stated * BINS).astype(int), BINS - 1)
    gaps = np.abs(np.bincount(bins, stated - right, BINS)).sum() / len(truth)
    certain = stated >= CERTAIN
    of_certain = right[certain].mean() if certain.sum() >= MIN_CERTAIN else np.nan
    return Quality(float(loss), float(gaps), float(of_certain), float(1 - right.mean()))


def measured(rule: str, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> tuple[Quality, Quality, float]:
    """Return the measures of the line and of the corrected probabilities, and how often sign and probability differ."""
    classes = np.unique(np.concatenate([y, y_test]))
    model = OnlineClassifier(rule, view=None).partial_fit(X, y, classes=classes)
    truth, best = np.searchsorted(classes, y_test), model.decision_function(X_test)
    corrected = model.predict_proba(X_test)
    by_score = best > 0 if best.ndim == 1 else best.argmax(axis=1)
    line = by_line(model.learner_.settings, X, np.searchsorted(classes, y), len(classes), X_test)
    return quality(line, truth), quality(corrected, truth), float(np.mean(by_score != corrected.argmax(axis=1)))


def by_line(settings: Settings, X: Any, labels: np.ndarray, n_classes: int, X_test: Any) -> np.ndarray:
    """Return the probabilities without a correction: of a learner whose scores are recorded, as in a stack."""
    learner = Learner(settings, n_classes, X.shape[1])
    examples = Examples(as_matrix(X), labels.astype(np.int32))
    recorded = Progressive(logits=np.zeros((len(labels), n_classes if n_classes > 2 else 1)))
    with learner.begin(examples) as transaction:
        learner.train(examples, transaction, True, recorded)
    return learner.probabilities(as_matrix(X_test), "progressive")


def by_rules(name: str, rows: list[Any]) -> dict[str, tuple[Quality, Quality, float]]:
    """Return what :func:`measured` does of every rule."""
    of_rules = {rule: measured(rule, *rows) for rule in RULES}
    print(f"done: {name}", flush=True)
    return of_rules


def main() -> None:
    options = arguments(__doc__ or "", ("--markdown", {"metavar": "FILE", "help": "write the tables as Markdown"}))
    if not have_data():
        return
    found, of_moving = ({name: by_rules(name, rows) for name, *rows in chosen()} for chosen in (sets, moving))
    by_rule, by_set = [], []
    parts = ("log-loss", "ECE", f"right where p >= {CERTAIN}", "error")
    header = [f"{part}, {which}" for part in parts for which in ("line", "corrected")]
    for rule in RULES:
        line, corrected = (np.array([of[rule][k] for of in found.values()]) for k in (0, 1))
        both = np.stack([line, corrected], axis=2)
        worst = [f"{x:.3f}" for x in np.nanmin(both[:, 2], axis=0)]
        means = [f"{x:.4f}" for x in np.nanmean(both, axis=0).ravel()]
        by_rule.append([rule, *means, *worst, f"{100 * np.mean([of[rule][2] for of in found.values()]):.1f} %"])
    for name, of in (found | of_moving).items():
        line, corrected = (np.array([each[k] for each in of.values()]) for k in (0, 1))
        means = [f"{x:.4f}" for x in np.nanmean(np.stack([line, corrected], axis=2), axis=0).ravel()]
        by_set.append([name, *means, f"{100 * np.mean([each[2] for each in of.values()]):.1f} %"])
    more = ["least right on a set, line", "corrected", "says otherwise"]
    tables = [(["mean over sets", *header, *more], by_rule), (["mean over rules", *header, more[-1]], by_set)]
    print(machine(), *(table(*each) for each in tables), sep="\n\n")
    if options.markdown:
        with open(options.markdown, "w") as file:
            file.write("\n".join(markdown(*each) for each in tables))
    write_json(options.json, found | of_moving)


if __name__ == "__main__":
    main()
