"""Yang et al. 2009: multiclass learning by ellipsoids, compared with PA, MIRA and later rules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler, normalize

from confidently.data.memory.labels import class_numbers
from confidently.estimators.classifier import OnlineClassifier
from confidently.estimators.mira import MIRA
from confidently.evaluation.progressive import progressive_validation
from confidently.learner.learner import Learner
from confidently.rules import make_rule

from ..report import Report
from .examples import read_examples
from .readings import LEMMA_2, LITERAL, MARGIN, EllipsoidReading

EPOCHS, PERMUTATIONS = 3, 3
SETS = ("usps", "letter", "shuttle", "isolet")
AS_THEY_ARE = ("usps", "isolet")  # columns between -1 and 1; the others are standardized
ISOLET_CLASSES = 10  # its first letters
GAMMA, B, C, PRIOR = 0.1, 0.3, 0.1, 0.1  # as in the paper, which does not report C, the depth of the first cut
IELLIP = "IELLIP full"  # the learner of the paper
DECAYS = (0.1, 0.3, 0.6, 0.9)
BLOCK_SIZES = {"letter": 16}  # a row takes 26 rows of the Gram matrix: short blocks are four times as fast
MAX_B_PLUS_C = 0.999
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def svmlight(file: Path) -> tuple[csr_array, np.ndarray]:
    """Read the rows and classes of a file."""
    found = read_examples(file, multilabel=False)
    return found.X, found.y


@lru_cache(maxsize=3)
def data_set(name: str, data: Path, seed: int, max_rows: int | None = None) -> Split:
    """Return training and test part, with a constant feature and rows of unit norm; read-only, for they are cached."""
    if name == "letter":
        X, y = svmlight(data / "letter" / "letter.svm.gz")
        X, X_test, y, y_test = train_test_split(X.toarray(), y, train_size=0.8, stratify=y, random_state=seed)
    else:
        (X, y), (X_test, y_test) = (svmlight(data / name / f"{part}.svm.gz") for part in ("train", "test"))
        X, X_test = X.toarray(), X_test.toarray()
    if name == "isolet":
        first = np.unique(y)[:ISOLET_CLASSES]
        X, y, X_test, y_test = (
            X[np.isin(y, first)],
            y[np.isin(y, first)],
            X_test[np.isin(y_test, first)],
            y_test[np.isin(y_test, first)],
        )
    if name not in AS_THEY_ARE:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    if max_rows is not None and len(y) > max_rows:
        X, _, y, _ = train_test_split(X, y, train_size=max_rows, random_state=seed)
    return _unit(X), y, _unit(X_test), y_test


def _unit(X: np.ndarray) -> np.ndarray:
    rows: np.ndarray = normalize(np.column_stack([X, np.ones(len(X))]))
    return rows


class MistakesOnlyMIRA(MIRA):
    """MIRA that skips every row whose class has the highest score."""

    def _learn(self, X: csr_array, y: np.ndarray, order: np.ndarray | None) -> None:
        truth = class_numbers(y, self.classes_)
        for i in range(len(y)) if order is None else order:
            part = slice(X.indptr[i], X.indptr[i + 1])
            scores = X.data[part] @ self._weights[X.indices[part]]
            own, scores[truth[i]] = scores[truth[i]], -np.inf
            if own <= scores.max():
                super()._learn(X[i : i + 1], y[i : i + 1], None)
            else:
                self.n_seen_ += 1


class RandomStart(OnlineClassifier):
    """A classifier that starts at small random weights."""

    STANDARD_DEVIATION = 0.01

    def _new_learner(self, *sizes: Any) -> Learner:
        learner = super()._new_learner(*sizes)
        weights = learner.state["weights"]
        weights[:, 0] += self.STANDARD_DEVIATION * np.random.default_rng(0).standard_normal(weights[:, 0].shape)
        return learner


READING = "reading"
FIRST_ORDER = {"mira": MIRA, "mira on mistakes": MistakesOnlyMIRA}


@dataclass(frozen=True)
class Contender:
    """A learner of the figures."""

    name: str
    rule: str  # or READING, or a name of FIRST_ORDER
    covariance: str = "diag"
    parameters: tuple[tuple[str, Any], ...] = ()
    prior: float = 1.0
    grid: tuple[tuple[str, tuple[float, ...]], ...] = ()  # at most one parameter, chosen on the training rows
    learner: type[OnlineClassifier] = OnlineClassifier

    def make(self, rows_per_product: int | None = None, /, **chosen: float) -> Any:
        """Create the learner; the rows include a constant feature."""
        parameters: dict[str, Any] = dict(self.parameters) | chosen
        if self.rule == READING:
            return EllipsoidReading(**parameters)
        if self.rule in FIRST_ORDER:
            return FIRST_ORDER[self.rule](**parameters, fit_intercept=False)
        rule = make_rule(self.rule, **parameters)
        return self.learner(
            rule, self.covariance, prior_variance=self.prior, fit_intercept=False, multiclass="joint",
            rows_per_product=rows_per_product, view=None,
        )  # fmt: skip


def iellip(covariance: str, b: float = B, c: float = C, name: str | None = None, **more: Any) -> Contender:
    """Return the improved ellipsoid method, with the paper's prior variance."""
    parameters = (("gamma", GAMMA), ("b", b), ("c", c))
    return Contender(name or f"IELLIP {covariance}", "iellip", covariance, parameters, PRIOR, **more)


def decayed(b: float) -> str:
    """Return the name of the learner of Fig. 2 with this decay; one of them is the learner of Fig. 1."""
    return IELLIP if b == B else f"IELLIP b={b:g}"


def reading(title: str, b: float) -> str:
    """Return the name of a reading of the method with this decay."""
    return title if b == B else f"{title} b={b:g}"


A = 0.5
# Without cuts IELLIP is PA that updates on mistakes only; c must be positive, and 1e-30 is negligible.
GATED = Contender("PA, mistakes only", "iellip", parameters=(("gamma", GAMMA), ("b", B), ("c", 1e-30)), prior=PRIOR)
GATED_MIRA = Contender("MIRA, mistakes only", "mira on mistakes", parameters=(("gamma", GAMMA),))
PAPERS_OWN = (Contender("PA", "pa"), Contender("MIRA", "mira", parameters=(("gamma", GAMMA),)), iellip("full"))
OTHERS = (
    GATED,
    GATED_MIRA,
    iellip("shared"),
    iellip("diag"),
    Contender("CELLIP full", "cellip", "full", (("gamma", GAMMA), ("a", A)), 1 + GAMMA * (1 - A)),
    Contender("CELLIP diag", "cellip", "diag", (("gamma", GAMMA), ("a", A)), 1 + GAMMA * (1 - A)),
    Contender("CW-Stdev diag", "cw_stdev", grid=(("eta", (0.55, 0.65, 0.75, 0.85, 0.95)),)),
    Contender("AROW diag", "arow", grid=(("r", (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)),)),
    Contender("SCW-I diag", "scw1", grid=(("C", (0.1, 0.3, 1.0, 3.0)),)),
    Contender("BayesPA-Gibbs diag", "gibbs_pa", grid=(("c", (0.5, 1.0, 2.0, 4.0, 8.0)),)),
)
# The learner of Fig. 2 without the matrix, which takes long; at b = B the one of Fig. 1 has it.
DECAY_CONTENDERS = tuple(
    Contender(decayed(b), READING, parameters=(("step", LITERAL), ("b", b), ("c", min(C, MAX_B_PLUS_C - b))))
    for b in DECAYS
    if b != B
)
# Readings of the method, with the decays of Fig. 2, and what PA needs to be at its best.
PA_I = Contender("PA-I, best C", "pa1", grid=(("C", (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)),))
IELLIP_MARGIN, IELLIP_LEMMA_2, IELLIP_SCALAR = "IELLIP-margin", "Lemma 2's step", "IELLIP-margin, scalar"
READINGS = tuple(
    Contender(reading(title, b), READING, parameters=(("step", step), ("b", b), ("scalar", title == IELLIP_SCALAR)))
    for title, step in ((IELLIP_MARGIN, MARGIN), (IELLIP_LEMMA_2, LEMMA_2), (IELLIP_SCALAR, MARGIN))
    for b in DECAYS
)
# What the paper does not report: a deeper first cut, cuts that hardly decay (beyond Theorem 4), initial weights.
VARIANTS_ON = "letter"
VARIANTS = (
    iellip("full", c=0.69, name="IELLIP, first cut 0.69"),
    iellip("full", b=0.9999, c=0.01, name="IELLIP, b=0.9999, first cut 0.01"),
    iellip("full", name="IELLIP, random initial weights", learner=RandomStart),
)


@dataclass(frozen=True)
class Epochs:
    """One run: mistakes and updates in each epoch, and the test error after the last."""

    mistakes: np.ndarray
    updates: np.ndarray
    test: float
    rows: int
    infeasible: int

    @property
    def error(self) -> np.ndarray:
        """Online error in each epoch."""
        return self.mistakes / self.rows


def mean_of(runs: list[Epochs], quantity: str) -> np.ndarray:
    """Return the mean over the runs, by epoch."""
    mean: np.ndarray = np.mean([getattr(run, quantity) for run in runs], axis=0)
    return mean


def last_error(by: dict[str, list[Epochs]], name: str) -> float:
    """Return the online error of a learner in the last epoch, in %."""
    return 100 * float(mean_of(by[name], "error")[-1])


def chosen_parameter(name: str, data: Path, seed: int, max_rows: int | None, contender: Contender) -> dict[str, float]:
    """Return the value with the fewest mistakes in one pass over the training rows, in an order used only here."""
    if not contender.grid:
        return {}
    X, y, _, _ = data_set(name, data, seed, max_rows)
    order = np.random.default_rng([seed, 1]).permutation(len(y))
    ((parameter, values),) = contender.grid
    mistakes = [contender.make(**{parameter: v}).fit(X[order], y[order]).mistakes_ for v in values]
    return {parameter: values[int(np.argmin(mistakes))]}


def epochs(
    name: str, data: Path, seed: int, max_rows: int | None, contender: Contender, chosen: dict[str, float], run: int
) -> Epochs:
    """Run three epochs, each in its own order, which is the same for every contender."""
    X, y, X_test, y_test = data_set(name, data, seed, max_rows)
    n = len(y)
    curve = progressive_validation(
        contender.make(BLOCK_SIZES.get(name), **chosen),
        X,
        y,
        permutations=1,
        passes=EPOCHS,
        at=n,
        random_state=1000 * seed + run,
    )
    model = curve.models[0]
    mistakes, updates = (np.diff(counts[0], prepend=0.0) for counts in (curve.mistakes, curve.updates))
    return Epochs(mistakes, updates, float(1 - model.score(X_test, y_test)), n, getattr(model, "infeasible_", 0))


def experiment(run: Any, sets: tuple[str, ...], max_rows: int | None) -> dict[str, dict[str, list[Epochs]]]:
    """Run all contenders on all sets; return runs by set and contender, and the parameters under "chosen"."""
    contenders = {name: contenders_of(name) for name in sets}
    tuned = [(name, run.data, run.seed, max_rows, c) for name in sets for c in contenders[name] if c.grid]
    found = run.each("multiclass, tuning", chosen_parameter, tuned)
    chosen = {(a[0], a[4].name): value for a, value in zip(tuned, found, strict=True)}
    work = [
        (name, run.data, run.seed, max_rows, c, chosen.get((name, c.name), {}), k)
        for name in sets
        for c in contenders[name]
        for k in range(PERMUTATIONS)
    ]
    results: dict[str, dict[str, list[Epochs]]] = {name: {c.name: [] for c in contenders[name]} for name in sets}
    for a, epochs_ in zip(work, run.each("multiclass, epochs", epochs, work), strict=True):
        results[a[0]][a[4].name].append(epochs_)
    return {"chosen": {f"{s}, {c}": v for (s, c), v in chosen.items()}, **results}


def contenders_of(name: str) -> list[Contender]:
    """Return the contenders on a data set. The variants take long and are tried on one data set only."""
    variants = VARIANTS if name == VARIANTS_ON else ()
    found = {c.name: c for c in (*PAPERS_OWN, *OTHERS, *DECAY_CONTENDERS, *variants, PA_I, *READINGS)}
    return list(found.values())


def report_variants(report: Report, results: dict[str, dict[str, list[Epochs]]]) -> None:
    """Report what may explain that IELLIP has more errors than PA and MIRA here and fewer in the paper."""
    report.section(
        "Open questions of the paper",
        "Three things could explain a difference from the paper. First, the depth c of the first cut, which it does "
        "not report: the table has the deepest cut that Theorem 4 allows for b = 0.3, and cuts that hardly decay, "
        "which it does not allow. Second, the initial weights, which are small random numbers there and zeros here: "
        "the table has both. Third, whether PA and MIRA update on mistakes only, as its introduction describes online "
        "learners (an update is made for a misclassified example), or whenever the margin is too small, as their "
        "authors define them: the table has both. gamma has no influence: from weights 0, PA and IELLIP behave the "
        "same for every gamma, and so does MIRA unless a step reaches its maximum size.",
    )
    gated = (GATED.name, GATED_MIRA.name)
    rows = [
        [
            name,
            learner,
            *(100 * float(e) for e in mean_of(by[learner], "error")),
            float(mean_of(by[learner], "updates").sum()),
        ]
        for name, by in results.items()
        for learner in ("PA", "MIRA", *gated, IELLIP, *(c.name for c in VARIANTS))
        if learner in by
    ]
    header = ["data", "learner", "epoch 1 %", "epoch 2 %", "epoch 3 %", "updates"]
    report.table("variants", "Online error by epoch, and updates in three epochs; means of three runs.", header, rows)
    for name, by in results.items():
        own, others = last_error(by, IELLIP), {g: last_error(by, g) for g in gated}
        report.claim(
            f"{name}: the error of IELLIP is at most that of PA and MIRA that update on mistakes only (our reading).",
            f"Third epoch: IELLIP {own:.2f} %, " + ", ".join(f"{g} {v:.2f} %" for g, v in others.items()) + ".",
            holds := own <= min(others.values()),
            "" if holds else _spread(by, own, others),
        )  # fmt: skip


def _spread(by: dict[str, list[Epochs]], own: float, others: dict[str, float]) -> str:
    best = min(others, key=others.__getitem__)
    both = [np.array([100 * run.error[-1] for run in by[name]]) for name in (IELLIP, best)]
    error = np.sqrt(sum(values.var(ddof=1) / len(values) for values in both))
    return (
        f"The difference from {best} is {own - others[best]:+.2f} ± {error:.2f} points (standard error over the runs): "
        "with a constant ellipsoid the two are the same algorithm except for the first updates."
        if best == GATED.name
        else f"The difference from {best} is {own - others[best]:+.2f} ± {error:.2f} points (standard error over the "
        "runs); that learner moves all classes whose scores are too high, not only the strongest rival."
    )
