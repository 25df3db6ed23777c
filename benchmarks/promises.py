"""Promises about predictions: sets of classes, answers withheld, alarms and stated probabilities. Nothing is tuned.

Rows: a class with 10 to 1,000 of 3,000 rows, of continuous columns, of categories, of both, and of sparse words
(``tests/ordinary_rows.py``), 20 trainings each: how often new rows of this class and of the other have it in their sets
of .9, and the size of these sets. Null: streams of 3,000 rows in random order that do not change, of eight kinds; how
many have a drift alarm, and the upper limit of their share at 95 % (Clopper & Pearson 1934).
Streams: AutoClassifier row by row on recorded streams and six of River's generators of 10,000 rows; ``predict_set`` of
coverage .9 answers each row before training on it. Windows of 1,000 and 250 rows follow each other; "any" is every run
of 1,000 rows. Classes are those of at least 300 rows. Late: the same streams, if of 3,000 rows or more, ten rows at a
time; the model learns each row 10, 100 or 1,000 rows after its set was made, without and with ``predicted``, and
windows begin after twice as many rows. Sizes: 60 % of at most 10,000 rows train AutoClassifier. MAPIE and crepes get
the same kind of model, trained on 80 % of these rows, and calibrate it with the other 20 %. Compared are coverage and
size at .9, and the size at which .9 of the test rows are covered, interpolated between levels from .8 to .98; means of
three splits. Risk: half of at most 8,000 rows in random order train, and ``abstain`` decides which of the other half
are answered; 20 orders. Alarms: streams of 10,000 rows in random order, 100 of which do not change. The others change
in the middle: each label becomes the next one; or the first half of the classes has four of five rows, then one of
five; or the column of the largest weight is multiplied by ten. Probabilities: of the test rows whose prediction has a
probability of at least .9, the mean probability and the fraction that is correct. Novelty: 60 % of at most 8,000 rows
train AutoClassifier without those of one class, each of the first eight in turn. Compared are the areas under the curve
of ``novelty`` and of one less the largest probability, which tell the rows of this class among the other 40 %, and the
fractions below .05.
Rows are those of ``tests/data_sets.py``. Sizes need ``pip install mapie crepes``, streams need River.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import islice, product
from typing import Any

import numpy as np
from auto import drifting
from generated_streams import numbers
from generated_streams import streams as generated
from harness import arguments, have_data, load, machine, markdown, table, write_json
from reliability import made_up
from scipy.sparse import issparse, vstack
from scipy.stats import beta
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.metrics import roc_auc_score

from confidently import AutoClassifier, OnlineClassifier
from tests.data_sets import standardized, unit_rows
from tests.ordinary_rows import KINDS, NULL, null_stream, rare_class

PARTS = ("rows", "null", "streams", "late", "sizes", "risk", "alarms", "probabilities", "novelty")
COVERAGE, RECORDED, ROWS = 0.9, 4, 10_000
GENERATED = ("SEA, at once", "moving hyperplane", "moving centers", "Agrawal, at once", "Mixed, coming again",
             "Sine, at once")  # fmt: skip
WINDOW, SHORT_WINDOW, MIN_CLASS = 1000, 250, 300
DELAYS, AT_ONCE, MIN_LATE = (10, 100, 1000), 10, 3000
LATE = ("coverage, size", "windows in .86 to .94", "windows of .86 or more")
REAL = ("a9a", "phishing", "spambase", "letter", "usps", "shuttle", "skin", "elec2", "w8a", "digits")
SIZED = ("digits", "breast_cancer", "four overlapping classes", "labels flipped, 20 %", "letter", "usps", "spambase",
         "shuttle", "a9a", "phishing")  # fmt: skip
STATED = ("a9a", "phishing", "spambase", "letter", "usps", "shuttle", "skin", "elec2", "enron1", "newsgroups",
          "labels flipped, 20 %", "curved boundary")  # fmt: skip
STEADY = ("elec2", "a9a", "letter", "skin", "noise of 3 sd")
LEVELS = np.linspace(0.8, 0.98, 19)
SEEDS, SHUFFLES, RISKS, RISK_ROWS = 3, 20, (0.01, 0.05), 8000
STREAMS, CHANGES, CHUNK = 100, ("concept", "classes", "scale"), 128
RULES = ("arow", "logistic", "probit", "cw_stdev", "pa1", "scw1")
CERTAIN, MIN_CERTAIN = 0.9, 200
LEFT_OUT, UNLIKELY = ("digits", "usps", "letter", "newsgroups"), 0.05
LEARNERS: dict[str, Callable[[], Any]] = {
    "OnlineClassifier": lambda: OnlineClassifier(view="standard"), "AutoClassifier": AutoClassifier,
}  # fmt: skip
ORDINARY: dict[str, Callable[[], Any]] = {
    "arow": OnlineClassifier, "logistic": lambda: OnlineClassifier("logistic"), "AutoClassifier": AutoClassifier,
}  # fmt: skip
ROWS_OF_CLASS, TRAININGS, NULL_STREAMS = (10, 30, 100, 300, 1000), 20, {"AutoClassifier": 100}
Rows = tuple[Any, np.ndarray]


def pooled(name: str) -> Rows:
    """Return all rows of a set, in the order of its files, and the numbers of their classes."""
    if name in ("digits", "breast_cancer"):
        X, y = (load_digits if name == "digits" else load_breast_cancer)(return_X_y=True)
    elif name == "four overlapping classes":
        X, y = make_classification(
            6000, 8, n_informative=5, n_classes=4, n_clusters_per_class=1, class_sep=0.7, random_state=0
        )
    elif name in (made := made_up()):
        X, y = made[name]
    else:
        X, y, X_test, y_test = load(name)
        y = np.concatenate([y, y_test])
        return vstack([X, X_test]).tocsr() if issparse(X) else np.vstack([X, X_test]), np.unique(
            y, return_inverse=True
        )[1]
    return unit_rows(standardized(X, X)[0]) if name == "breast_cancer" else X, y


def shuffled(rows: Rows, seed: int, most: int | None = None) -> Rows:
    """Return the first of the rows in random order."""
    order = np.random.default_rng(seed).permutation(len(rows[1]))[:most]
    return rows[0][order], rows[1][order]


# --- streams ------------------------------------------------------------------------------------------------------


def moving() -> Iterator[tuple[str, Any, np.ndarray]]:
    """Yield name, rows and labels of every stream."""
    yield from islice(drifting(), RECORDED)
    for name, rows in generated(ROWS, seed=1):
        if name in GENERATED:
            yield name, numbers(rows), np.array([int(label) for _, label in rows])


def followed(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return whether the set of each row but the first had its class, and how large it was, before it was learned."""
    classes, labels = np.unique(y, return_inverse=True)
    model = AutoClassifier().partial_fit(X[:1], y[:1], classes=classes)
    hits, sizes = np.zeros(len(y) - 1, dtype=bool), np.zeros(len(y) - 1, dtype=int)
    for t in range(1, len(y)):
        found = model.predict_set(X[t : t + 1], COVERAGE)[0]
        hits[t - 1], sizes[t - 1] = found[labels[t]], found.sum()
        model.partial_fit(X[t : t + 1], y[t : t + 1])
    return hits, sizes


def kept(y: np.ndarray, hits: np.ndarray, sizes: np.ndarray) -> dict[str, Any]:
    """Return the measures of a stream."""
    sums = np.concatenate([[0], np.cumsum(hits)])

    def windows(rows: int, step: int) -> np.ndarray:
        first = np.arange(0, len(hits) - rows + 1, step)
        return (sums[first + rows] - sums[first]) / rows

    each, every, short = windows(WINDOW, WINDOW), windows(WINDOW, 1), windows(SHORT_WINDOW, SHORT_WINDOW)
    classes = [float(hits[y[1:] == k].mean()) for k in np.unique(y) if (y[1:] == k).sum() >= MIN_CLASS]
    return {
        "coverage": float(hits.mean()),
        "windows": [float(each.min()), float(each.max())],
        "any window": [float(every.min()), float(every.max())],
        "short windows": [int(((short >= 0.84) & (short <= 0.96)).sum()), len(short)],
        "classes": [min(classes), max(classes)] if classes else None,
        "size": float(sizes.mean()),
        "empty": float((sizes == 0).mean()),
    }


def streams(only: list[str] | None) -> tuple[dict[str, Any], list[str], list[list[str]]]:
    """Return the measures of all streams, and the header and lines of a table."""
    found = {}
    for name, X, y in moving():
        if only is None or name in only:
            found[name] = kept(y, *followed(X, y))
            print(name, found[name], flush=True)

    def span(ends: list[float] | None) -> str:
        return "-" if ends is None else f"{ends[0]:.3f} to {ends[1]:.3f}"

    lines = [
        [name, f"{one['coverage']:.3f}", span(one["windows"]), span(one["any window"]),
         f"{100 * one['short windows'][0] / one['short windows'][1]:.1f} %", span(one["classes"]),
         f"{one['size']:.2f}", f"{100 * one['empty']:.1f} %"]
        for name, one in found.items()
    ]  # fmt: skip
    header = ["stream", "coverage", f"windows of {WINDOW:,}", f"any {WINDOW:,} rows",
              f"windows of {SHORT_WINDOW} in .84 to .96", "classes", "mean size", "empty"]  # fmt: skip
    return found, header, lines


# --- labels that come late ----------------------------------------------------------------------------------------


def late(only: list[str] | None) -> tuple[dict[str, Any], list[str], list[list[str]]]:
    """Return what sets cover whose labels come late, by a single learner and a stack."""
    found: dict[str, Any] = {f"{learner}, {rows:,} rows late": {} for rows in DELAYS for learner in LEARNERS}
    for name, X, y in moving():
        if len(y) < MIN_LATE or (only is not None and name not in only):
            continue
        for of, (rows, make) in zip(found, product(DELAYS, LEARNERS.values()), strict=True):
            found[of][name] = [delayed(make(), X, y, rows, given) for given in (False, True)]
            print(of, name, found[of][name], flush=True)

    def cells(runs: list[list[float]]) -> list[str]:
        found: list[str] = []
        for covered, inside, above, windows, size in runs:
            found += [f"{covered:.3f}, {size:.2f}", f"{inside:.0f} of {windows:.0f}", f"{above:.0f} of {windows:.0f}"]
        return found

    lines = []
    for learner, of in found.items():
        runs = np.array(list(of.values()))  # (streams, given, measures)
        together = np.where(np.isin(np.arange(5), (0, 4)), runs.mean(axis=0), runs.sum(axis=0))
        lines += [[f"{learner}, {name}", *cells(own)] for name, own in [*of.items(), ("all", together.tolist())]]
    return found, ["learner, stream", *(f"{what}{how}" for how in ("", ", given") for what in LATE)], lines


def delayed(model: Any, X: np.ndarray, y: np.ndarray, late: int, given: bool) -> list[float]:
    """Return coverage, windows within .86 to .94, windows of .86 or more, all windows, and size."""
    classes, labels = np.unique(y, return_inverse=True)
    p, hits, sizes = np.zeros((len(y), len(classes))), np.zeros(len(y), dtype=bool), np.zeros(len(y), dtype=int)
    model.partial_fit(X[:AT_ONCE], y[:AT_ONCE], classes=classes)
    for first in range(AT_ONCE, len(y), AT_ONCE):
        now, due = (slice(start, start + AT_ONCE) for start in (first, first - late))
        if first >= late + AT_ONCE:
            model.partial_fit(X[due], y[due], predicted=p[due] if given else None)
        p[now], found = model.predict_proba(X[now]), model.predict_set(X[now], COVERAGE)
        hits[now], sizes[now] = found[np.arange(len(found)), labels[now]], found.sum(axis=1)
    hits, sizes = hits[2 * late :], sizes[2 * late :]
    windows = hits[: len(hits) // WINDOW * WINDOW].reshape(-1, WINDOW).mean(axis=1)
    inside = (windows >= 0.86) & (windows <= 0.94)
    return [float(hits.mean()), int(inside.sum()), int((windows >= 0.86).sum()), len(windows), float(sizes.mean())]


# --- sizes --------------------------------------------------------------------------------------------------------


def packages(X: Any, y: np.ndarray) -> dict[str, Callable[[Any], np.ndarray]]:
    """Return functions that give the sets of rows by level, shape (levels, n, classes), of every package."""
    from crepes import WrapClassifier
    from mapie.classification import SplitConformalClassifier

    first = len(y) * 4 // 5
    whole, part = AutoClassifier().fit(X, y), AutoClassifier().fit(X[:first], y[:first])
    mapie = SplitConformalClassifier(part, confidence_level=LEVELS.tolist(), prefit=True).conformalize(
        X[first:], y[first:]
    )

    def crepes(by_class: bool) -> Callable[[Any], np.ndarray]:
        wrapped = WrapClassifier(part)
        wrapped.calibrate(X[first:], y[first:], class_cond=by_class, seed=0)
        return lambda test: np.stack([wrapped.predict_p(test, seed=0)] * len(LEVELS)) > 1 - LEVELS[:, None, None]

    def ours(by_class: bool) -> Callable[[Any], np.ndarray]:
        return lambda test: np.stack([whole.predict_set(test, level, by_class=by_class) for level in LEVELS])

    return {
        "together": ours(False),
        "MAPIE": lambda test: np.moveaxis(mapie.predict_set(test)[1], 2, 0),
        "crepes": crepes(False),
        "by class": ours(True),
        "crepes by class": crepes(True),
    }


def measured(sets: np.ndarray, labels: np.ndarray) -> list[float]:
    """Return coverage and size at .9, and the size at which .9 of the rows are covered, by interpolation."""
    covered = sets[:, np.arange(len(labels)), labels].mean(axis=1)
    size = sets.sum(axis=2).mean(axis=1)
    at = int(np.abs(LEVELS - COVERAGE).argmin())
    return [float(covered[at]), float(size[at]), float(np.interp(COVERAGE, np.maximum.accumulate(covered), size))]


def sizes(only: list[str] | None) -> tuple[dict[str, Any], list[str], list[list[str]]]:
    """Return coverage and sizes of all packages on all sets, and the header and lines of a table."""
    found: dict[str, Any] = {}
    for name in SIZED:
        if only is not None and name not in only:
            continue
        rows, runs = pooled(name), {}
        for seed in range(SEEDS):
            X, y = shuffled(rows, seed, ROWS)
            X = X.toarray() if issparse(X) else X  # MAPIE takes no sparse rows
            first = len(y) * 3 // 5
            kept = np.isin(y[first:], y[: first * 4 // 5])  # a class that no row had is in no set
            for package, sets in packages(X[:first], y[:first]).items():
                classes = np.unique(y[:first])
                runs.setdefault(package, []).append(
                    measured(sets(X[first:][kept]), np.searchsorted(classes, y[first:][kept]))
                )
        found[name] = {package: np.mean(of, axis=0).tolist() for package, of in runs.items()}
        print(name, found[name], flush=True)
    names = list(next(iter(found.values())))
    lines = [[name, *(" / ".join((f"{a:.3f}", f"{b:.2f}", f"{c:.3f}")) for a, b, c in one.values())]
             for name, one in found.items()]  # fmt: skip
    return found, ["coverage / size / size at .9 covered", *names], lines


# --- risk ---------------------------------------------------------------------------------------------------------


def risk(only: list[str] | None) -> tuple[dict[str, Any], list[str], list[list[str]]]:
    """Return how often the error of the answers is as allowed, and how many rows are answered."""
    found: dict[str, Any] = {}
    for name in (*REAL, *made_up()):
        if only is not None and name not in only:
            continue
        rows, runs = pooled(name), []
        for seed in range(SHUFFLES):
            X, y = shuffled(rows, seed, RISK_ROWS)
            half = len(y) // 2
            model = AutoClassifier().fit(X[:half], y[:half])
            wrong = model.predict(X[half:]) != y[half:]
            answered = [~model.abstain(X[half:], allowed) for allowed in RISKS]
            runs.append([(not of.any() or wrong[of].mean() <= allowed, of.mean(), wrong[of].mean() if of.any() else 0.0)
                         for of, allowed in zip(answered, RISKS, strict=True)])  # fmt: skip
        found[name] = {str(allowed): of for allowed, of in zip(RISKS, np.mean(runs, axis=0).tolist(), strict=True)}
        print(name, found[name], flush=True)
    found["mean"] = {str(r): np.mean([one[str(r)] for one in found.values()], axis=0).tolist() for r in RISKS}
    lines = [[name, *(cell for kept, answered, error in one.values()
                      for cell in (f"{100 * kept:.0f} %", f"{100 * answered:.1f} %", f"{100 * error:.2f} %"))]
             for name, one in found.items()]  # fmt: skip
    header = ["set", *(f"{what}, risk {r:g}" for r in RISKS for what in ("kept", "answered", "error"))]
    return found, header, lines


# --- rare classes and streams that do not change ------------------------------------------------------------------


def rows(only: list[str] | None) -> tuple[dict[str, Any], list[str], list[list[str]]]:
    """Return coverage of a class with few rows and of the other one, and sizes, by learner and kind of columns."""
    found: dict[str, Any] = {}
    for (learner, make), kind in product(ORDINARY.items(), KINDS):
        if only is not None and learner not in only and kind not in only:
            continue
        for n in ROWS_OF_CLASS:
            runs = []
            for seed in range(TRAININGS):
                X, y, X_new, y_new = rare_class(kind, n, np.random.default_rng(seed))
                sets = make().fit(X, y).predict_set(X_new, COVERAGE)
                runs.append([sets[y_new == 1, 1].mean(), sets[y_new == 0, 0].mean(), sets.sum(axis=1).mean()])
            found.setdefault(f"{learner}, {kind}", {})[n] = np.mean(runs, axis=0).tolist()
        print(learner, kind, found[f"{learner}, {kind}"], flush=True)
    lines = [[name, *(f"{rare:.2f} / {other:.2f}, {size:.2f}" for rare, other, size in of.values())]
             for name, of in found.items()]  # fmt: skip
    return found, ["class / other, size", *(f"{n:,} rows" for n in ROWS_OF_CLASS)], lines


def null(only: list[str] | None) -> tuple[dict[str, Any], list[str], list[list[str]]]:
    """Return how many streams that do not change have an alarm."""
    found: dict[str, Any] = {}
    for learner, make in ORDINARY.items():
        if only is not None and learner not in only:
            continue
        for kind in NULL:
            n, alarmed = NULL_STREAMS.get(learner, 500), 0
            for seed in range(n):
                X, y = null_stream(kind, np.random.default_rng(seed))
                alarmed += make().partial_fit(X, y, classes=np.unique(y)).alarms_ > 0
            upper = float(beta.ppf(0.95, alarmed + 1, n - alarmed))
            found.setdefault(kind, {})[learner] = [alarmed, n, upper]
            print(learner, kind, alarmed, n, f"{upper:.4f}", flush=True)
    learners = [learner for learner in ORDINARY if only is None or learner in only]
    lines = [[kind, *(f"{a} of {n} (< {100 * u:.1f} %)" for a, n, u in (of[learner] for learner in learners))]
             for kind, of in found.items()]  # fmt: skip
    return found, ["stream", *learners], lines


# --- alarms -------------------------------------------------------------------------------------------------------


def changed(rows: Rows, what: str, seed: int) -> Rows:
    """Return a stream of ROWS that changes in the middle."""
    half, (X, y) = ROWS // 2, shuffled(rows, seed, None if what == "classes" else ROWS)
    K = int(y.max()) + 1
    if what == "classes":
        random, early = np.random.default_rng(seed), y < (K + 1) // 2
        of_early = random.random(ROWS) < np.where(np.arange(ROWS) < half, 0.8, 0.2)
        first, other = (random.choice(np.flatnonzero(of), ROWS) for of in (early, ~early))
        chosen = np.where(of_early, first, other)
        return X[chosen], y[chosen]
    if what == "concept":
        y[half:] = (y[half:] + 1) % K
        return X, y
    weights = np.abs(OnlineClassifier("arow", view=None).fit(X[:half], y[:half]).coef_)
    scale = np.ones(X.shape[1])
    scale[weights.max(axis=0).argmax()] = 10.0
    after = X[half:].multiply(scale).tocsr() if issparse(X) else X[half:] * scale
    return (vstack([X[:half], after]).tocsr() if issparse(X) else np.vstack([X[:half], after])), y


def alarm(model: Any, X: Any, y: np.ndarray, n_classes: int) -> float:
    """Return the rows of the second half until it has an alarm."""
    half = ROWS // 2
    model.partial_fit(X[:half], y[:half], classes=np.arange(n_classes))
    before = model.learner_.conformal.alarms
    for first in range(half, ROWS, CHUNK):
        model.partial_fit(X[first : first + CHUNK], y[first : first + CHUNK])
        if (found := model.learner_.conformal).alarms > before:
            return min(first + CHUNK, ROWS) - half - found.rows_since_alarm
    return float("inf")


def alarms(only: list[str] | None) -> tuple[dict[str, Any], list[str], list[list[str]]]:
    """Return false alarms, and how soon changes are seen, of a single learner and of a stack."""
    sets = {name: pooled(name) for name in STEADY if only is None or name in only}
    found: dict[str, Any] = {learner: {name: {} for name in sets} for learner in LEARNERS}
    for learner, make in LEARNERS.items():
        for name, rows in sets.items():
            one, K = found[learner][name], int(rows[1].max()) + 1
            one["false"] = sum(
                make().partial_fit(*shuffled(rows, seed, ROWS), classes=np.arange(K)).learner_.conformal.alarms > 0
                for seed in range(STREAMS // len(sets))
            )
            for what in CHANGES:
                runs = [alarm(make(), *changed(rows, what, seed), K) for seed in range(SHUFFLES)]
                one[what] = [float(np.median(runs)), float(np.mean(np.isfinite(runs)))]
            print(learner, name, one, flush=True)
    lines = [
        [f"{learner}, {name}", f"{one['false']} of {STREAMS // len(sets)}",
         *("-" if one[what][0] == np.inf else f"{one[what][0]:.0f}" for what in CHANGES),
         *(f"{100 * one[what][1]:.0f} %" for what in CHANGES)]
        for learner, of in found.items() for name, one in of.items()
    ]  # fmt: skip
    header = ["stream", "false alarms", *(f"rows, {what}" for what in CHANGES), *(f"seen, {what}" for what in CHANGES)]
    return found, header, lines


# --- probabilities ------------------------------------------------------------------------------------------------


def probabilities(only: list[str] | None) -> tuple[dict[str, Any], list[str], list[list[str]]]:
    """Return, of rows whose class has .9 or more, the mean probability and how many are right."""
    found: dict[str, Any] = {}
    for name in STATED:
        if only is not None and name not in only:
            continue
        X, y = shuffled(pooled(name), 0, 2 * ROWS)
        first, found[name] = len(y) * 3 // 5, {}
        for learner in (*RULES, "AutoClassifier"):
            model = AutoClassifier() if learner == "AutoClassifier" else OnlineClassifier(learner, view=None)
            p = model.fit(X[:first], y[:first]).predict_proba(X[first:])
            stated, right = p.max(axis=1), model.classes_[p.argmax(axis=1)] == y[first:]
            sure = stated >= CERTAIN
            found[name][learner] = (
                [float(stated[sure].mean()), float(right[sure].mean()), int(sure.sum())]
                if sure.sum() >= MIN_CERTAIN
                else None
            )
        print(name, found[name], flush=True)
    pairs = [of for one in found.values() for of in one.values() if of is not None]
    within = sum(abs(stated - right) <= 0.02 for stated, right, _ in pairs)
    print(f"within two points: {within} of {len(pairs)}")
    lines = [[name, *("-" if of is None else f"{of[0]:.3f} / {of[1]:.3f}" for of in one.values())]
             for name, one in found.items()]  # fmt: skip
    return found, ["stated / right", *RULES, "AutoClassifier"], lines


# --- novelty ------------------------------------------------------------------------------------------------------


def novelty(only: list[str] | None) -> tuple[dict[str, Any], list[str], list[list[str]]]:
    """Return how well p-values tell rows of a class that training had not, mean and least of the classes."""
    found: dict[str, Any] = {}
    for name in LEFT_OUT:
        if only is not None and name not in only:
            continue
        X, y = shuffled(pooled(name), 0, RISK_ROWS)
        first, runs = len(y) * 3 // 5, []
        for new in range(8):
            known = np.flatnonzero(y[:first] != new)
            model = AutoClassifier().fit(X[known], y[known])
            p, is_new = model.novelty(X[first:]), y[first:] == new
            likely = model.predict_proba(X[first:]).max(axis=1)
            runs.append([roc_auc_score(is_new, -p), roc_auc_score(is_new, -likely),
                         (p[is_new] < UNLIKELY).mean(), (p[~is_new] < UNLIKELY).mean()])  # fmt: skip
        found[name] = {"mean": np.mean(runs, axis=0).tolist(), "least": np.min(runs, axis=0).tolist()}
        print(name, found[name], flush=True)
    lines = [[name, *(f"{mean:.3f} ({least:.3f})" for mean, least in zip(one["mean"][:2], one["least"], strict=False)),
              *(f"{100 * part:.1f} %" for part in one["mean"][2:])] for name, one in found.items()]  # fmt: skip
    return found, ["set", "novelty", "1 - largest probability", "new rows below .05", "known rows below .05"], lines


def main() -> None:
    """Print a table of every part."""
    options = arguments(
        __doc__ or "",
        ("--part", {"choices": PARTS, "help": "only this part"}),
        ("--only", {"metavar": "NAMES", "help": "only these sets or streams, separated by semicolons"}),
    )
    if not have_data():
        return
    warnings.simplefilter("ignore", UserWarning)
    print(machine(), flush=True)
    parts = {
        "rows": rows,
        "null": null,
        "streams": streams,
        "late": late,
        "sizes": sizes,
        "risk": risk,
        "alarms": alarms,
        "probabilities": probabilities,
        "novelty": novelty,
    }
    result = {}
    for part, run in parts.items():
        if options.part in (None, part):
            result[part], header, lines = run(options.only.split(";") if options.only else None)
            print(f"\n{part}", table(header, lines), markdown(header, lines), sep="\n\n", flush=True)
    write_json(options.json, result)


if __name__ == "__main__":
    main()
