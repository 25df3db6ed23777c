"""AutoClassifier on embeddings, compared with logistic regression whose C is the best in hindsight, and streaming LDA.

Rows are static embeddings of 256 dimensions by wordllama (the extra of that name), or
with ``--ngrams`` hashed words and pairs of words. Few: ten rows per class, three draws. All: every row, one pass.
Error and log-loss on at most 4000 test rows. LogisticRegression tries every C of ``GRID``, and has the best error and
the best log-loss on the test rows, perhaps with different C. Streaming LDA has the means of the classes and a shared
covariance, shrunk by 1e-4 of the identity (Hayes & Kanan, CVPR workshops 2020). Late: a class of which the model has
had no row appears after the others were learned: its accuracy and that of the others before, after 5 and 10 rows, and
where all of its rows come among the others'; means over all classes. Bound: the most of the new class that any number
added to its score finds at a loss of .2 points of the others, after 10 rows, also of LogisticRegression with the best C
and class weights, and of LDA. Curve: errors of AutoClassifier and of LogisticRegression with the best C of three, by
the number of rows per class; two draws. Scope: a quarter of the classes is held out; area under the ROC curve of
finding their rows, by ``novelty``, by 1 minus the largest probability, and by the probability of a model that has
learned 100 rows of each of them too, which bounds what can be found; sixteen draws. Sparse: made rows of 50 words, of
10,000 and 100,000 classes by Zipf's law, under ``covariance="sparse"``: rows per second of processor time, bytes of the
model file per weight that was moved, and the error on the rows that follow. laplace-torch is left out: it needs
PyTorch, and its linear heads are those of LogisticRegression.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
from harness import arguments, have_data, load, machine, table, write_json
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.preprocessing import normalize

from confidently import AROW, AutoClassifier, OnlineClassifier
from confidently.encoders import encoder_of
from tests.data_sets import DATA_SETS

SETS = ("stackoverflow", "newsgroups", "goemotions", "tweet_emoji")
GRID = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
DRAWS, FEW, TEST_ROWS, ROWS_OF_OTHERS = 3, 10, 4000, 200
SCOPE_DRAWS, LEVEL = 16, 0.05
BOUND_GRID, MAX_LOSS, ADDED = (1.0, 10.0), 0.002, np.linspace(-3.0, 7.0, 101)
CURVE, CURVE_GRID = (1, 2, 5, 10, 20, 50, 100), (1.0, 10.0, 100.0)
PARTS = ("few", "all", "late", "bound", "scope", "curve", "sparse")
SPARSE_CLASSES, SPARSE_ROWS, SPARSE_TEST = (10_000, 100_000), 200_000, 10_000
WORDS, WORDS_PER_ROW, OWN_WORDS, OF_CLASS, LEFT_OUT = 2**18, 50, 100, 0.7, 100

Rows = tuple[Any, np.ndarray, Any, np.ndarray]


def embedded(name: str, cache: Path) -> Rows:
    """Return the embeddings of a set, which are kept in a folder."""
    file = cache / f"{name}.npz"
    raw, y, raw_test, y_test = DATA_SETS[name]()
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        encode = encoder_of("wordllama")
        np.savez(file, X=encode(list(raw)), X_test=encode(list(raw_test)))
    kept = np.load(file)
    return kept["X"].astype(np.float64), y, kept["X_test"].astype(np.float64), y_test


def shortened(rows: Rows) -> Rows:
    """Return a set whose training rows are shuffled, with few test rows of known classes."""
    X, y, X_test, y_test = rows
    order = np.random.default_rng(0).permutation(len(y))
    known = np.flatnonzero(np.isin(y_test, y))
    known = np.random.default_rng(0).permutation(known)[:TEST_ROWS]
    return X[order], y[order], X_test[known], y_test[known]


def first_of_each(y: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Return the numbers of n rows of each class, in random order."""
    order, seen, found = np.random.default_rng(seed).permutation(len(y)), dict[Any, int](), []
    for i in order.tolist():
        seen[y[i]] = seen.get(y[i], 0) + 1
        if seen[y[i]] <= n:
            found.append(i)
    return np.array(found)


class StreamingLDA:
    """Means of the classes and their shared covariance, from one pass."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> StreamingLDA:
        self.classes_, k = np.unique(y, return_inverse=True)
        n, sums = np.bincount(k), np.zeros((len(self.classes_), X.shape[1]))
        covariance, seen = np.zeros((X.shape[1], X.shape[1])), np.zeros(len(n))
        for x, c in zip(X, k, strict=True):
            delta = x - sums[c] / max(seen[c], 1.0)
            covariance += np.outer(delta, delta) * seen[c] / (seen[c] + 1.0)
            sums[c] += x
            seen[c] += 1.0
        means = sums / n[:, None]
        covariance = covariance / len(y) * (1 - 1e-4) + 1e-4 * np.eye(X.shape[1])
        self.weights = np.linalg.solve(covariance, means.T)
        self.offsets = -0.5 * np.einsum("kd,dk->k", means, self.weights)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        scores = X @ self.weights + self.offsets
        p: np.ndarray = np.exp(scores - scores.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)


def measured(model: Any, rows: Rows) -> tuple[float, float]:
    """Return test error and log-loss of a trained model."""
    p, y = model.predict_proba(rows[2]), rows[3]
    return float(np.mean(model.classes_[p.argmax(axis=1)] != y)), float(log_loss(y, p, labels=model.classes_))


def compared(rows: Rows, X: Any, y: np.ndarray) -> dict[str, list[float]]:
    """Return error, log-loss and seconds of every learner that is trained on some rows."""
    start, found = time.perf_counter(), dict[str, list[float]]()
    tried = [measured(LogisticRegression(C=C, max_iter=500).fit(X, y), rows) for C in GRID]
    seconds = (time.perf_counter() - start) / len(GRID)
    found["LogisticRegression"] = [min(error for error, _ in tried), min(loss for _, loss in tried), seconds]
    learners = {"AutoClassifier": AutoClassifier()}
    if isinstance(X, np.ndarray):
        learners["streaming LDA"] = StreamingLDA()
    for name, model in learners.items():
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        found[name] = [*measured(model, rows), seconds]
    return found


def few(rows: Rows) -> dict[str, list[float]]:
    """Return the means over the draws of ten rows per class."""
    X, y, *_ = rows
    draws = [compared(rows, X[i], y[i]) for i in (first_of_each(y, FEW, seed) for seed in range(DRAWS))]
    return {name: np.mean([draw[name] for draw in draws], axis=0).tolist() for name in draws[0]}


def every(rows: Rows) -> dict[str, list[float]]:
    """Return what is measured after one pass over all rows."""
    return compared(rows, rows[0], rows[1])


def late(rows: Rows) -> dict[str, list[float]]:
    """Return the accuracy on a new class and on the others: before it, after 5 and 10 rows, and learned with them."""
    X, y, X_test, y_test = rows
    kept = np.sort(first_of_each(y, ROWS_OF_OTHERS, 0))  # the rows of a set are shuffled
    X, y, found = X[kept], y[kept], dict[str, list[list[float]]]()
    whole = AutoClassifier(shuffle=False).fit(X, y).predict(X_test) == y_test
    for new in np.unique(y):
        own, is_new = X[y == new], y_test == new
        model = AutoClassifier().partial_fit(X[y != new], y[y != new], classes=np.unique(y))
        for first, n in ((0, 0), (0, 5), (5, 10)):
            if n:
                model.partial_fit(own[first:n], np.full(n - first, new))
            right = model.predict(X_test) == y_test
            found.setdefault(f"after {n} rows", []).append([right[is_new].mean(), right[~is_new].mean()])
        found.setdefault("learned with the others", []).append([whole[is_new].mean(), whole[~is_new].mean()])
    return {name: np.mean(values, axis=0).tolist() for name, values in found.items()}


def batch_learners() -> dict[str, list[Any]]:
    """Return learners that see all rows at once, with all settings that are tried in hindsight."""
    return {
        "LogisticRegression": [
            LogisticRegression(C=C, max_iter=200, class_weight=weight)
            for C in BOUND_GRID
            for weight in (None, "balanced")
        ],
        "LDA": [LinearDiscriminantAnalysis("lsqr", shrinkage="auto")],
    }


def bound(rows: Rows) -> dict[str, list[float]]:
    """Return what is found of a new class after 10 rows, what the others lose, and the most at a loss of .2 points.

    The most is what is found with the number added to the score of the class, and the settings, that are best in
    hindsight; the first two are those of these settings without the number. Means over the classes.
    """
    X, y, X_test, y_test = rows
    kept = np.sort(first_of_each(y, ROWS_OF_OTHERS, 0))
    X, y = X[kept], y[kept]
    classes, found = np.unique(y), dict[tuple[str, int], list[list[list[float]]]]()
    whole = AutoClassifier(shuffle=False).fit(X, y).decision_function(X_test)
    for new in classes:
        is_new, old, own = y_test == new, y != new, np.flatnonzero(y == new)[:FEW]
        some = np.concatenate([np.flatnonzero(old), own])
        model = AutoClassifier().partial_fit(X[old], y[old], classes=classes)
        before = model.predict(X_test)
        few_rows = model.partial_fit(X[own], y[own]).decision_function(X_test)
        scores = [("AutoClassifier", 0, before, few_rows), ("AutoClassifier, all rows", 0, before, whole)]
        for name, settings in batch_learners().items():
            for i, one in enumerate(settings):
                before = clone(one).fit(X[old], y[old]).predict(X_test)
                scores.append((name, i, before, clone(one).fit(X[some], y[some]).decision_function(X_test)))
        for name, i, before, after in scores:
            right = [classes[(after + more * (classes == new)).argmax(axis=1)] == y_test for more in (0.0, *ADDED)]
            kept_right = np.mean(before[~is_new] == y_test[~is_new])
            of_class = [[float(r[is_new].mean()), float(r[~is_new].mean() - kept_right)] for r in right]
            found.setdefault((name, i), []).append(of_class)
    best: dict[str, list[float]] = {}
    for (name, _), values in found.items():
        means = np.mean(values, axis=0)
        most = float(means[means[:, 1] >= -MAX_LOSS, 0].max(initial=0.0))
        if name not in best or most > best[name][2]:
            best[name] = [*means[0].tolist(), most]
    return best


def scope(rows: Rows) -> dict[str, list[float]]:
    """Return areas under the ROC curves of finding rows of held-out classes, and rows of these and others below .05."""
    X, y, X_test, y_test = rows
    found: dict[str, list[list[float]]] = {}
    for seed in range(SCOPE_DRAWS):
        classes = np.unique(y)
        held = np.random.default_rng(seed).permutation(classes)[: max(len(classes) // 4, 1)]
        i = first_of_each(y, 100, seed)
        whole, outside = AutoClassifier().fit(X[i], y[i]), np.isin(y_test, held)
        of_held = whole.predict_proba(X_test)[:, np.isin(whole.classes_, held)].sum(axis=1)
        i = i[~np.isin(y[i], held)]
        model = AutoClassifier().fit(X[i], y[i])
        novelty = model.novelty(X_test)
        largest, new, known = model.predict_proba(X_test).max(axis=1), novelty[outside], novelty[~outside]
        found.setdefault("by novelty", []).append([roc_auc_score(outside, -novelty)])
        found.setdefault("by the largest probability", []).append([roc_auc_score(outside, -largest)])
        found.setdefault("by a model that has learned these classes", []).append([roc_auc_score(outside, of_held)])
        found.setdefault("new rows below .05", []).append([np.mean(new <= LEVEL)])
        found.setdefault("known rows below .05", []).append([np.mean(known <= LEVEL)])
    return {name: np.mean(values, axis=0).tolist() for name, values in found.items()}


def curve(rows: Rows) -> dict[str, list[float]]:
    """Return the errors of AutoClassifier and of LogisticRegression by the number of rows per class."""
    found = {}
    for n in CURVE:
        draws = []
        for seed in range(2):
            i = first_of_each(rows[1], n, seed)
            X, y = rows[0][i], rows[1][i]
            models = [AutoClassifier(), *(LogisticRegression(C=C, max_iter=200) for C in CURVE_GRID)]
            own, *others = (1.0 - model.fit(X, y).score(rows[2], rows[3]) for model in models)
            draws.append([own, min(others)])
        found[f"{n} rows per class"] = np.mean(draws, axis=0).tolist()
    return found


def made(n: int, n_classes: int, seed: int = 0) -> tuple[csr_matrix, np.ndarray]:
    """Return rows of words, weighted by their rarity and of unit norm, and classes, by Zipf's law.

    Seven of ten words are of the 100 of the class, and the others of all words without the 100 most frequent ones.
    """
    random, world = np.random.default_rng(seed), np.random.default_rng(n_classes)

    def drawn(ranks: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
        law = np.cumsum(1.0 / ranks)
        found: np.ndarray = np.searchsorted(law, random.random(size) * law[-1])
        return found

    y = drawn(np.arange(1, n_classes + 1), (n,)).astype(np.int32)
    of_class = world.integers(0, WORDS, (n_classes, OWN_WORDS))
    shape = (n, WORDS_PER_ROW)
    own = of_class[y[:, None], drawn(np.arange(1, OWN_WORDS + 1), shape)]
    other = world.permutation(WORDS)[drawn(np.arange(LEFT_OUT + 1, LEFT_OUT + WORDS + 1), shape)]
    words = np.where(random.random(shape) < OF_CLASS, own, other).astype(np.int32)
    X = csr_matrix((np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, WORDS_PER_ROW)), shape=(n, WORDS))
    X.sum_duplicates()
    X.data = (1.0 + np.log(X.data)) * np.log(n / (1.0 + np.bincount(X.indices, minlength=WORDS)))[X.indices]
    return normalize(X), y


def sparse(n_classes: int) -> dict[str, list[float]]:
    """Return what is measured of one pass over made rows of so many classes, with and without calibration."""
    X, y = made(SPARSE_ROWS + SPARSE_TEST, n_classes)
    found = {}
    for calibration in ("progressive", None):
        model = OnlineClassifier(AROW(), "sparse", fit_intercept=False, calibration=calibration, view=None)
        start = time.process_time()
        model.fit(X[:SPARSE_ROWS], y[:SPARSE_ROWS])
        learned = time.process_time()
        error = float(np.mean(model.predict(X[SPARSE_ROWS:]) != y[SPARSE_ROWS:]))
        predicted = time.process_time()
        with NamedTemporaryFile(suffix=".cw") as file:
            model.save(file.name)
            size = Path(file.name).stat().st_size
        lists = model.learner_.state["lists"]
        found["with a calibration" if calibration else "without"] = [
            SPARSE_ROWS / (learned - start),
            SPARSE_TEST / (predicted - learned),
            size / lists[:, 1].sum(),
            float(lists[:, 1].sum()),
            float(lists[X[SPARSE_ROWS:].indices, 1].sum() / SPARSE_TEST),
            float(len(model.classes_)),
            error,
        ]
    return found


def main() -> None:
    options = arguments(
        __doc__,
        ("--part", {"choices": PARTS, "action": "append", "help": "leave out the other parts"}),
        ("--sets", {"nargs": "+", "choices": SETS, "default": SETS, "help": "leave out the other sets"}),
        ("--cache", {"type": Path, "default": Path("embeddings"), "help": "folder that keeps the embeddings"}),
        ("--ngrams", {"action": "store_true", "help": "hashed words and pairs of words instead of embeddings"}),
    )
    if not have_data():
        return
    warnings.simplefilter("ignore")
    print(machine())
    parts = options.part or PARTS[: 2 if options.ngrams else None]
    run = {"few": few, "all": every, "late": late, "bound": bound, "scope": scope, "curve": curve}
    results: dict[str, dict[str, dict[str, list[float]]]] = {}
    for part in parts:
        for name in map(str, SPARSE_CLASSES) if part == "sparse" else options.sets:
            if part == "sparse":
                found = sparse(int(name))
            else:
                found = run[part](shortened(load(name) if options.ngrams else embedded(name, options.cache)))
            results.setdefault(part, {})[name] = found
            lines = [[learner, *(f"{value:.3f}" for value in values)] for learner, values in found.items()]
            width = len(lines[0]) - 1
            print(table([f"{part}: {name}", *[""] * width], lines), "", sep="\n", flush=True)
    write_json(options.json, results)


if __name__ == "__main__":
    main()
