"""Yang et al. 2009: multiclass learning by ellipsoids, beside PA, MIRA and the rules that came after."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler, normalize

from ..classifier import OnlineClassifier
from ..data import open_stream
from ..mira import MIRA
from ..progressive import progressive_validation
from ..rules import make_rule

EPOCHS, PERMUTATIONS = 3, 3
SETS = ("usps", "letter", "shuttle")
GAMMA, B, C, PRIOR = 0.1, 0.3, 0.1, 0.1  # as in the paper; C, the depth of the first cut, it leaves open
DECAYS = (0.1, 0.3, 0.6, 0.9)
DEEPEST = 0.999  # b + c may not be more
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def svmlight(file: Path) -> tuple[csr_array, np.ndarray]:
    """Rows and classes of a file."""
    values, columns, start, labels, names = [], [], [np.zeros(1, dtype=np.int64)], [], []
    with open_stream(file, multilabel=False) as stream:
        for batch in stream:
            values.append(batch.values)
            columns.append(batch.columns)
            start.append(batch.start[1:] + start[-1][-1])
            labels.append(batch.labels)
            names += [new.name for new in batch.new_labels]
    X = csr_array((np.concatenate(values), np.concatenate(columns), np.concatenate(start)))
    return X, np.array(names)[np.concatenate(labels)]


@lru_cache(maxsize=3)
def data_set(name: str, data: Path, seed: int, most: int | None = None) -> Split:
    """Training and test part: a constant feature is added and every row scaled to length 1. Not to be written to."""
    if name == "letter":
        X, y = svmlight(data / "letter" / "letter.svm.gz")
        X, X_test, y, y_test = train_test_split(X.toarray(), y, train_size=0.8, stratify=y, random_state=seed)
    else:
        (X, y), (X_test, y_test) = (svmlight(data / name / f"{part}.svm.gz") for part in ("train", "test"))
        X, X_test = X.toarray(), X_test.toarray()
    if name != "usps":
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    if most is not None and len(y) > most:
        X, _, y, _ = train_test_split(X, y, train_size=most, random_state=seed)
    return _unit(X), y, _unit(X_test), y_test


def _unit(X: np.ndarray) -> np.ndarray:
    return normalize(np.column_stack([X, np.ones(len(X))]))


@dataclass(frozen=True)
class Contender:
    """A learner of the figures."""

    name: str
    rule: str  # "mira" is MIRA
    covariance: str = "diag"
    parameters: tuple[tuple[str, float], ...] = ()
    prior: float = 1.0
    grid: tuple[tuple[str, tuple[float, ...]], ...] = ()  # at most one parameter, chosen on the training rows

    def make(self, **chosen: float) -> Any:
        """The learner; rows have their constant feature already."""
        parameters = dict(self.parameters) | chosen
        if self.rule == "mira":
            return MIRA(**parameters, fit_intercept=False)
        rule = make_rule(self.rule, **parameters)
        return OnlineClassifier(rule, self.covariance, prior_variance=self.prior, fit_intercept=False)


def iellip(covariance: str, b: float = B, name: str | None = None) -> Contender:
    """The improved ellipsoid method, with the paper's prior variance."""
    parameters = (("gamma", GAMMA), ("b", b), ("c", min(C, DEEPEST - b)))
    return Contender(name or f"IELLIP {covariance}", "iellip", covariance, parameters, PRIOR)


A = 0.5
# With no cuts at all IELLIP is PA that acts on mistakes only; c must be positive, and 1e-30 is nothing beside 1.
GATED = Contender("PA, mistakes only", "iellip", parameters=(("gamma", GAMMA), ("b", B), ("c", 1e-30)), prior=PRIOR)
PAPERS_OWN = (Contender("PA", "pa"), Contender("MIRA", "mira", parameters=(("gamma", GAMMA),)), iellip("full"))
OTHERS = (
    GATED,
    iellip("shared"),
    iellip("diag"),
    Contender("CELLIP full", "cellip", "full", (("gamma", GAMMA), ("a", A)), 1 + GAMMA * (1 - A)),
    Contender("CELLIP diag", "cellip", "diag", (("gamma", GAMMA), ("a", A)), 1 + GAMMA * (1 - A)),
    Contender("CW-Stdev diag", "cw_stdev", grid=(("eta", (0.55, 0.65, 0.75, 0.85, 0.95)),)),
    Contender("AROW diag", "arow", grid=(("r", (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)),)),
    Contender("SCW-I diag", "scw1", grid=(("C", (0.1, 0.3, 1.0, 3.0)),)),
    Contender("BayesPA-Gibbs diag", "gibbs_pa", grid=(("c", (0.5, 1.0, 2.0, 4.0, 8.0)),)),
)
DECAY_CONTENDERS = tuple(iellip("full", b, f"IELLIP b={b:g}") for b in DECAYS)


@dataclass(frozen=True)
class Epochs:
    """One run: mistakes and updates in each epoch, and the test error after each."""

    mistakes: np.ndarray
    updates: np.ndarray
    test: float
    rows: int
    infeasible: int

    @property
    def error(self) -> np.ndarray:
        """Online error of each epoch."""
        return self.mistakes / self.rows


def chosen_parameter(name: str, data: Path, seed: int, most: int | None, contender: Contender) -> dict[str, float]:
    """The value with the fewest mistakes in one pass over the training rows, in an order that is not used again."""
    if not contender.grid:
        return {}
    X, y, _, _ = data_set(name, data, seed, most)
    order = np.random.default_rng([seed, 1]).permutation(len(y))
    ((parameter, values),) = contender.grid
    mistakes = [contender.make(**{parameter: v}).fit(X[order], y[order]).mistakes_ for v in values]
    return {parameter: values[int(np.argmin(mistakes))]}


def epochs(
    name: str, data: Path, seed: int, most: int | None, contender: Contender, chosen: dict[str, float], run: int
) -> Epochs:
    """Three epochs of one run, each in an order of its own, the same for every contender."""
    X, y, X_test, y_test = data_set(name, data, seed, most)
    n = len(y)
    curve = progressive_validation(
        contender.make(**chosen), X, y, permutations=1, passes=EPOCHS, at=n, random_state=1000 * seed + run
    )
    model = curve.models[0]
    mistakes, updates = (np.diff(counts[0], prepend=0.0) for counts in (curve.mistakes, curve.updates))
    return Epochs(mistakes, updates, float(1 - model.score(X_test, y_test)), n, getattr(model, "infeasible_", 0))


def experiment(run: Any, sets: tuple[str, ...], most: int | None) -> dict[str, dict[str, list[Epochs]]]:
    """All contenders on all sets: runs by set and contender; and the parameters chosen, under "chosen"."""
    contenders = {c.name: c for c in (*PAPERS_OWN, *OTHERS, *DECAY_CONTENDERS)}
    tuned = [c for c in contenders.values() if c.grid]
    asked = [(name, run.data, run.seed, most, c) for name in sets for c in tuned]
    found = run.each("multiclass, tuning", chosen_parameter, asked)
    chosen = {(a[0], a[4].name): value for a, value in zip(asked, found, strict=True)}
    work = [
        (name, run.data, run.seed, most, c, chosen.get((name, c.name), {}), k)
        for name in sets
        for c in contenders.values()
        for k in range(PERMUTATIONS)
    ]
    results: dict[str, dict[str, list[Epochs]]] = {name: {c: [] for c in contenders} for name in sets}
    for a, epochs_ in zip(work, run.each("multiclass, epochs", epochs, work), strict=True):
        results[a[0]][a[4].name].append(epochs_)
    return {"chosen": {f"{s}, {c}": v for (s, c), v in chosen.items()}, **results}
