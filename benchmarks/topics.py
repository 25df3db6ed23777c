"""Topic models: accuracy on text, and the sampler's speed compared with scikit-learn's online LDA.

Texts are counts of words without English stop words, with the data sets' own training and test parts. Settings are the
defaults of ``OnlineMedLDA`` unless the table shows others. Times in the speed table are processor seconds on one
thread, measured in turn in the same run.
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from harness import arguments, have_data, machine, table, word_counts, write_json
from scipy.sparse import vstack
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from confidently import OnlineMedLDA
from confidently.data import DataWarning
from confidently.topics.estimator import CollapseWarning

PAIR = ("alt.atheism", "talk.religion.misc")
FOUR = (*PAIR, "sci.med", "sci.space")
CLASSIFIERS = ("gibbs", "averaging")


def pair(seeds: int) -> list[list[str]]:
    """Accuracy on atheism against religion, mean and standard deviation over seeds, by number of topics."""
    X, y, X_test, y_test = word_counts("newsgroups", PAIR)
    variants: dict[str, dict[str, Any]] = {c: {"classifier": c} for c in CLASSIFIERS}
    variants |= {
        "gibbs, step_size=1": {"step_size": 1.0},
        "averaging, n_inner=1": {"classifier": "averaging", "n_inner": 1},
    }
    rows = []
    for name, variant in variants.items():
        cells = []
        for K in (5, 10, 20, 50, 100):
            found = [OnlineMedLDA(K, random_state=s, **variant).fit(X, y).score(X_test, y_test) for s in range(seeds)]
            cells.append(f"{np.mean(found):.3f} +- {np.std(found):.3f}")
        rows.append([name, *cells])
        print(*rows[-1], flush=True)
    found = [
        OnlineMedLDA(None, c, random_state=s).fit(X, y).score(X_test, y_test) for c in CLASSIFIERS for s in range(seeds)
    ]
    rows.append(["number inferred, at most 50: gibbs", f"{np.mean(found[:seeds]):.3f}", "", "", "", ""])
    rows.append(["number inferred, at most 50: averaging", f"{np.mean(found[seeds:]):.3f}", "", "", "", ""])
    return rows


def groups() -> list[list[str]]:
    """Accuracy on 16 groups, with one topic model per class."""
    X, y, X_test, y_test = word_counts("newsgroups")
    rows = []
    for classifier in CLASSIFIERS:
        for K in (20, 40):
            start = time.process_time()
            model = OnlineMedLDA(K, classifier, random_state=0, n_jobs=-1).fit(X, y)
            seconds = time.process_time() - start
            rows.append([f"{classifier}, K={K}", f"{model.score(X_test, y_test):.3f}", f"{seconds:.0f} s"])
            print(*rows[-1], flush=True)
    return rows


def reuters(K: int) -> list[list[str]]:
    """Micro-F1 on Reuters-21578 (multilabel), compared with LDA and linear classifiers of its topic proportions."""
    X, y, X_test, y_test = word_counts("reuters")
    svm = OneVsRestClassifier(LinearSVC())
    entrants: dict[str, Any] = {
        f"OnlineMedLDA {c}": OnlineMedLDA(K, c, random_state=0, n_jobs=-1) for c in CLASSIFIERS
    } | {
        f"LDA, {n} passes, + LinearSVC": make_pipeline(
            LatentDirichletAllocation(K, learning_method="online", max_iter=n, random_state=0), svm
        )
        for n in (1, 5)
    }
    rows = []
    for name, entrant in entrants.items():
        start = time.process_time()
        entrant.fit(X, y)
        seconds = time.process_time() - start
        score = f1_score(y_test, entrant.predict(X_test), average="micro")
        rows.append([f"{name}, K={K}", f"{score:.3f}", f"{seconds:.0f} s"])
        print(*rows[-1], flush=True)
    return rows


def promises(seeds: int = 3) -> list[list[str]]:
    """Coverage and size of sets, and errors of answers, on 30 % of the posts, chosen at random."""
    rows = []
    for name, chosen, K in (("atheism against religion", PAIR, 10), ("16 groups", (), 20)):
        X, y, X_more, y_more = word_counts("newsgroups", chosen)
        X, y = vstack([X, X_more]).tocsr(), np.append(y, y_more)
        for classifier in CLASSIFIERS:
            found = []
            for seed in range(seeds):
                order = np.random.default_rng(seed).permutation(len(y))
                train, new = np.split(order, [int(0.7 * len(y))])
                model = OnlineMedLDA(K, classifier, random_state=seed, n_jobs=-1).fit(X[train], y[train])
                sets, true = model.predict_set(X[new]), y[new][:, None] == model.classes_
                wrong, given = model.predict(X[new]) != y[new], ~model.abstain(X[new], 0.05)
                least = min(sets[true[:, k], k].mean() for k in range(true.shape[1]))
                of_answers = wrong[given].mean() if given.any() else 0.0
                found.append(
                    [wrong.mean(), sets[true].mean(), least, sets.sum(axis=1).mean(), given.mean(), of_answers]
                )
            rows.append([f"{name}, {classifier}", *(f"{value:.3f}" for value in np.mean(found, axis=0))])
            print(*rows[-1], flush=True)
    return rows


def speed(K: int, repetitions: int = 5) -> list[list[str]]:
    """Processor seconds of a pass over the same documents, in turn; of LDA, the best batch size counts."""
    X, y, _, _ = word_counts("newsgroups", FOUR)
    y = np.isin(y, PAIR)
    runs: dict[str, Callable[[], Any]] = {
        f"{c}{', calibrating' if calibration else ''}": lambda c=c, calibration=calibration: OnlineMedLDA(
            K, c, calibration=calibration, random_state=0
        ).partial_fit(X, y, classes=[False, True])
        for c in CLASSIFIERS
        for calibration in (None, "progressive")
    } | {f"LDA, batches of {size}": lambda size=size: lda_pass(X, K, size) for size in (64, 256, 1024)}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repetitions):
        for name, run in runs.items():
            start = time.process_time()
            run()
            seconds[name].append(time.process_time() - start)
    best = np.min([seconds[name] for name in runs if name.startswith("LDA")], axis=0)
    return [
        [name, f"{median(s):.2f} s", f"{X.sum() / median(s) / 1000:.0f}", f"{median(best / s):.1f}"]
        for name, s in seconds.items()
    ]


def lda_pass(X: Any, K: int, size: int) -> None:
    lda = LatentDirichletAllocation(K, random_state=0)
    for first in range(0, X.shape[0], size):
        lda.partial_fit(X[first : first + size])


def memory(rounds: int = 10) -> str:
    """Return how much the process grows during a stream."""
    X, y, _, _ = word_counts("newsgroups", FOUR)
    y = np.isin(y, PAIR)
    model = OnlineMedLDA(random_state=0).partial_fit(X, y, classes=[False, True]).partial_fit(X, y)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(rounds):
        model.partial_fit(X, y)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return f"peak memory grew by {grown / 1024:.1f} MiB over {rounds} more passes of {X.shape[0]} documents"


PARTS = ("pair", "groups", "reuters", "promises", "speed", "memory")


def main() -> None:
    options = arguments(
        __doc__,
        ("--only", {"choices": PARTS, "nargs": "+", "default": list(PARTS)}),
        ("--seeds", {"type": int, "default": 5, "help": "number of seeds of the pair"}),
    )
    if not have_data():
        return
    warnings.simplefilter("ignore", CollapseWarning)
    warnings.simplefilter("ignore", DataWarning)  # of answers that are all withheld
    headers = {
        "pair": ["atheism against religion, accuracy", *(f"K={K}" for K in (5, 10, 20, 50, 100))],
        "groups": ["16 newsgroups", "accuracy", "processor time"],
        "reuters": ["Reuters-21578, 90 topics", "micro-F1", "processor time"],
        "promises": [
            "sets of .9",
            "error",
            "coverage",
            "of a class, least",
            "size",
            "answered, .05",
            "error of answers",
        ],
        "speed": ["one pass over 4 newsgroups, K=20", "processor time", "1000 words/s", "times as fast as LDA"],
    }
    results: dict[str, Any] = {}
    print(machine())
    for part in options.only:
        if part == "memory":
            results[part] = memory()
            print(results[part], flush=True)
            continue
        results[part] = {"pair": lambda: pair(options.seeds), "groups": groups, "reuters": lambda: reuters(40),
                         "promises": promises, "speed": lambda: speed(20)}[part]()  # fmt: skip
        print(table(headers[part], results[part]), flush=True)
    write_json(options.json, results)


if __name__ == "__main__":
    main()
