"""The learners in plain NumPy: the specification, and the slow reference that the compiled core is compared with.

:data:`COVARIANCES` has the update of every covariance and :class:`ReferenceLearner` the training loop; the formulas of
the rules are in ``tests/tables/rule_cases.py``. Nothing here is fast, and nothing is shared with the core. A new
covariance is one class here.
"""

from __future__ import annotations

from math import inf, isfinite
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import wrightomega
from scipy.stats import norm

from tests.tables.rule_cases import CASES

Step = tuple[float, float, float]


def step(name: str, m: float, v: float, w: float = 1.0, updates: int = 0, **parameters: float) -> Step | None:
    """alpha, zeta and scale of a rule, from its formula; None where it does not act. w: weight of the example."""
    p = SimpleNamespace(**parameters)
    if "phi" in parameters or "eta" in parameters:
        p.phi = parameters.get("phi") or norm.ppf(p.eta)
        p.psi, p.xi = 1 + p.phi**2 / 2, 1 + p.phi**2
    with np.errstate(all="ignore"):
        found = CASES[name].formula(m, v, w, updates, p)
    # a step that over- or underflows is none
    return found if found and (found[0] or found[1]) and all(map(isfinite, found)) and found[2] else None


# --- covariances --------------------------------------------------------------------------------------------------
#
# Each class keeps Sigma over all weights: (columns, d) numbers of an array like the mean, in which the intercept's are
# last (where there is one; in the core they are first). An example is z = Z in this
# shape, x in some of its rows; learner is the number of its learner where every
# class has one, otherwise 0.


class Identity:
    """Sigma = prior I."""

    floored = False  # whether a variance along z below the floor stops the update of Sigma

    def __init__(
        self, columns: int, d: int, prior: float, floor: float, independent: bool, intercept: bool = True,
        projection: str = "precision",
    ) -> None:  # fmt: skip
        self.sigma: Any = np.full((columns, d), prior)
        self.shape, self.prior, self.floor = (columns, d), prior, floor
        self.independent, self.intercept, self.projection = independent, intercept, projection

    def times(self, Z: np.ndarray, learner: int) -> np.ndarray:
        """Sigma z."""
        return self.sigma * Z

    def update(self, Z: np.ndarray, zeta: float, scale: float, learner: int) -> None:
        """Sigma^-1 <- (Sigma^-1 + zeta z z')/scale."""

    def forget(self, keep: float) -> None:
        """Sigma^-1 <- keep Sigma^-1 + (1 - keep) prior^-1."""
        raise NotImplementedError

    @staticmethod
    def rows_to_forget(forget: float) -> float:
        """Weight of the rows that are forgotten together."""
        return 0.0

    def variances(self) -> np.ndarray:
        """The diagonal of Sigma, in the shape of the mean."""
        found = np.empty(self.shape)
        for k, j in np.ndindex(self.shape):
            z = np.zeros(self.shape)
            z[k, j] = 1.0
            found[k, j] = self.times(z, k if self.independent else 0)[k, j]
        return found


class Diagonal(Identity):
    """The diagonal of the precision, or of the covariance, after every update."""

    def update(self, Z: np.ndarray, zeta: float, scale: float, learner: int) -> None:
        rows = [learner] if self.independent else slice(None)
        sigma, z = self.sigma[rows], Z[rows]
        if self.projection == "moments":
            v = float((z * z * sigma).sum())
            sigma = sigma - zeta / (1 + zeta * v) * (sigma * z) ** 2
        else:
            sigma = sigma / (1 + zeta * z**2 * sigma)
        self.sigma[rows] = np.maximum(scale * sigma, self.floor)

    def forget(self, keep: float) -> None:
        self.sigma = 1 / (keep / self.sigma + (1 - keep) / self.prior)


class Matrices(Identity):
    """Sigma as matrices, from which rows take evidence away when it is half of it."""

    floored = True

    @staticmethod
    def rows_to_forget(forget: float) -> float:
        return -np.log(2) / np.log1p(-forget)

    def forget(self, keep: float) -> None:
        prior = np.eye(self.sigma.shape[-1]) / self.prior
        sigma = np.linalg.inv(keep * np.linalg.inv(self.sigma) + (1 - keep) * prior)
        self.sigma = (sigma + sigma.swapaxes(-1, -2)) / 2  # updates would not correct what is not symmetric


class Full(Matrices):
    """All of Sigma: one matrix over all weights, or one per learner."""

    def __init__(self, *sizes_and_settings: Any) -> None:
        super().__init__(*sizes_and_settings)
        columns, d = self.shape
        learners, size = (columns, d) if self.independent else (1, columns * d)
        self.sigma = np.array([self.prior * np.eye(size) for _ in range(learners)])

    def part(self, Z: np.ndarray, learner: int) -> np.ndarray:
        """The entries of z that belong to a learner."""
        return Z[learner] if self.independent else Z.ravel()

    def times(self, Z: np.ndarray, learner: int) -> np.ndarray:
        direction = np.zeros_like(Z)
        found = self.sigma[learner] @ self.part(Z, learner)
        direction[learner if self.independent else slice(None)] = found.reshape(-1, Z.shape[1])
        return direction

    def update(self, Z: np.ndarray, zeta: float, scale: float, learner: int) -> None:
        z = self.part(Z, learner)
        q = self.sigma[learner] @ z
        self.sigma[learner] = scale * (self.sigma[learner] - zeta / (1 + zeta * (z @ q)) * np.outer(q, q))


class Shared(Matrices):
    """One matrix over the features for all columns: the mean of the precisions that they would have."""

    def __init__(self, *sizes_and_settings: Any) -> None:
        super().__init__(*sizes_and_settings)
        self.sigma = self.prior * np.eye(self.shape[1])

    def times(self, Z: np.ndarray, learner: int) -> np.ndarray:
        return Z @ self.sigma

    def update(self, Z: np.ndarray, zeta: float, scale: float, learner: int) -> None:
        concerned = np.flatnonzero(Z.any(axis=1))  # the columns that x is in
        x, gained = Z[concerned[0]], zeta * len(concerned) / len(Z)
        q = self.sigma @ x
        self.sigma = scale * (self.sigma - gained / (1 + gained * float(x @ q)) * np.outer(q, q))


class LowRank(Identity):
    """A precision D + W W' per learner, or for all columns, from the columns of W that were added since the start.

    W has fewer than twice the rank columns: with one more, it is W = D^1/2 U S V', of which the first columns of W V
    stay, and the diagonal of the others' product goes into D.
    """

    floored, rank = True, 32

    def __init__(self, *sizes_and_settings: Any) -> None:
        super().__init__(*sizes_and_settings)
        learners, d = self.shape if self.independent else (1, self.shape[1])
        self.D, self.W = np.full((learners, d), 1 / self.prior), [np.zeros((d, 0))] * learners

    def times(self, Z: np.ndarray, learner: int) -> np.ndarray:
        found: np.ndarray = np.linalg.solve(np.diag(self.D[learner]) + self.W[learner] @ self.W[learner].T, Z.T).T
        return found

    def update(self, Z: np.ndarray, zeta: float, scale: float, learner: int) -> None:
        concerned = np.flatnonzero(Z.any(axis=1))  # the columns that x is in
        gained = zeta if self.independent else zeta * len(concerned) / len(Z)
        if len(concerned):
            W = np.column_stack([self.W[learner], np.sqrt(gained) * Z[concerned[0]]])
            if gained and W.shape[1] == 2 * self.rank:
                root = np.sqrt(self.D[learner])[:, None]
                W = W @ np.linalg.svd(W / root)[2].T
                W, rest = W[:, : self.rank], W[:, self.rank :]
                self.D[learner] += (rest**2).sum(axis=1)
            self.W[learner] = W if gained else self.W[learner]
        self.D[learner] /= scale
        self.W[learner] = self.W[learner] / np.sqrt(scale)


COVARIANCES: dict[str, type[Identity]] = {
    "identity": Identity, "diag": Diagonal, "full": Full, "shared": Shared, "low_rank": LowRank,
    "sparse": Diagonal,
}  # fmt: skip


# --- all classes at once ------------------------------------------------------------------------------------------


def posterior_mode(m: np.ndarray, v: np.ndarray, label: int, w: float) -> np.ndarray:
    """Probabilities p at the mode of N(score; m, diag v) softmax(score)[label]^w.

    There class k scores m_k + w v_k ([k = label] - p_k), so that u_k = w v_k p_k solves u_k + log u_k = t_k - L
    with t_k = m_k + w v_k [k = label] + log(w v_k): Wright's omega function. L is where the p_k add up to 1.
    """
    t = m + w * v * (np.arange(len(m)) == label) + np.log(w * v)

    def excess(L: float) -> float:
        return float((wrightomega(t - L) / (w * v)).sum()) - 1.0

    low, high = float(m.min() - w * v.max()) - 1.0, float(m.max() + w * v.max() + np.log(len(m))) + 1.0
    p: np.ndarray = wrightomega(t - brentq(excess, low, high, xtol=1e-14, rtol=1e-15, maxiter=500)) / (w * v)
    return p


# --- the training loop --------------------------------------------------------------------------------------------

# A score is known to this fraction of the sum of its terms' absolute values; the order of the additions decides below.
ROUNDING = 1e-9


class ReferenceLearner:
    """One Gaussian over weights, updated by every example; dense rows, one at a time.

    Parameters
    ----------
    rule : str
        The name of a rule.
    parameters : dict
    covariance : str
        A name in :data:`COVARIANCES`.
    task : {"binary", "joint", "one-vs-rest", "softmax", "multilabel", "multilabel-one-vs-rest"}
    n_classes, n_features : int
    prior_variance, min_variance, fit_intercept, average, forget, projection, rank
        As in :class:`confidently.learner.learner.Learner`.

    Attributes
    ----------
    ties : list of int or None
        Set it to [] to collect the rows, by ``n_seen`` before them, in which rounding makes a decision: between two
        best scores, or at the threshold of the rule. After such a row, an implementation that adds in another order
        may decide differently.
    """

    def __init__(
        self, rule: str, parameters: dict[str, float], covariance: str, task: str, n_classes: int, n_features: int,
        prior_variance: float = 1.0, min_variance: float = 1e-12, fit_intercept: bool = True, average: bool = False,
        forget: float = 0.0, projection: str | None = None, rank: int = 32,
    ) -> None:  # fmt: skip
        self.rule, self.parameters, self.task = rule, parameters, task
        self.intercept, self.average, self.forget = fit_intercept, average, forget
        one_vs_rest = task in ("one-vs-rest", "multilabel-one-vs-rest")
        self.independent = one_vs_rest or (task == "softmax" and covariance in ("diag", "full"))
        self.columns = {"binary": 1, "multilabel": n_classes + 1}.get(task, n_classes)
        self.d = n_features + fit_intercept
        self.mean = np.zeros((self.columns, self.d))
        self.total = np.zeros_like(self.mean)  # sum of the means after every row
        floor = min_variance * prior_variance
        self.covariance = COVARIANCES[covariance](
            self.columns, self.d, prior_variance, floor, self.independent, fit_intercept,
            projection or ("moments" if rule == "probit" else "precision"),
        )  # fmt: skip
        if isinstance(self.covariance, LowRank):
            self.covariance.rank = rank
        self.n_seen = self.mistakes = self.infeasible = 0
        self.aged = 0.0  # weight of the rows that are still to be forgotten
        self.updates = np.zeros(
            self.columns, dtype=int
        )  # independent learners: one per class; otherwise only the first counts
        self.ties: list[int] | None = None

    def learn(self, X: np.ndarray, labels: list[Any], weights: np.ndarray | None = None) -> None:
        """Train on rows; labels are class numbers, in the multilabel task sets of them."""
        for i, (x, label) in enumerate(zip(X, labels, strict=True)):
            w = 1.0 if weights is None else weights[i]
            if w > 0:
                self.mistakes += self._row(np.append(x, 1.0) if self.intercept else x, label, w)
                self.n_seen += 1
                self.total += self.mean
                self.aged += w
                if self.forget and self.aged >= self.covariance.rows_to_forget(self.forget):
                    self.covariance.forget((1 - self.forget) ** self.aged)
                    self.aged = 0.0

    def weights(self) -> np.ndarray:
        """The weights used for prediction, one row per column of the core."""
        return self.total / self.n_seen if self.average and self.n_seen else self.mean

    def _row(self, x: np.ndarray, label: Any, w: float) -> bool:
        """Train on one row; return whether it was predicted wrongly."""
        mean = self.mean.copy()
        scores = (mean * x).sum(axis=1)  # not mean @ x, which may score equal weights differently
        if self.task == "multilabel":
            return self._multilabel(x, mean, scores, {k + 1 for k in label}, w)
        if self.task == "multilabel-one-vs-rest":
            return self._labels_one_by_one(x, scores, set(label), w)
        if self.task == "binary":
            self._note_tie(x, mean[0], 0 * mean[0])
            plus, minus = (0, None) if label == 1 else (None, 0)
            return self._update(x, plus, minus, w) <= 0
        rival = self._best(x, mean, scores, [k for k in range(self.columns) if k != label])
        self._note_tie_of_columns(x, mean[label], mean[rival])
        if self.task == "joint":
            self._update(x, label, rival, w)
        elif self.task == "softmax":
            self._softmax(x, scores, label, w)
        else:
            for k in range(self.columns):
                plus, minus = (k, None) if k == label else (None, k)
                self._update(x, plus, minus, w)
        return bool(scores[label] <= scores[rival])

    def _softmax(self, x: np.ndarray, scores: np.ndarray, label: int, w: float) -> None:
        """Move all classes to the posterior mode; each keeps its own entry of the curvature there."""
        Z = [x * (np.arange(self.columns) == k)[:, None] for k in range(self.columns)]
        moves = [self.covariance.times(z, k if self.independent else 0) for k, z in enumerate(Z)]
        v = np.array([float((z * move).sum()) for z, move in zip(Z, moves, strict=True)])
        if not v.all():
            return
        p = posterior_mode(scores, v, label, w)
        for k, move in enumerate(moves):
            self.mean += w * ((k == label) - p[k]) * move
        zeta = w * p * (1 - p)
        if self.independent:
            for k, z in enumerate(Z):
                self.covariance.update(z, zeta[k], 1.0, k)
        else:
            self.covariance.update(Z[0], zeta.sum(), 1.0, 0)
        self.updates[: self.columns if self.independent else 1] += 1

    def _multilabel(self, x: np.ndarray, mean: np.ndarray, scores: np.ndarray, relevant: set[int], w: float) -> bool:
        """Worst relevant against best irrelevant label; then the nearer of the two against the threshold, column 0."""
        worst = self._best(x, mean, -scores, sorted(relevant))
        best = self._best(x, mean, scores, [k for k in range(1, self.columns) if k not in relevant])
        above = inf if worst is None else scores[worst] - scores[0]
        below = inf if best is None else scores[0] - scores[best]
        if worst is not None and best is not None:
            self._note_tie_of_columns(x, mean[worst], mean[best])
            self._note_tie(x, mean[worst] + mean[best], 2 * mean[0])
            self._update(x, worst, best, w)
        plus, minus = (worst, 0) if above <= below else (0, best)
        self._update(x, plus, minus, w)
        return worst is not None and best is not None and bool(scores[worst] <= scores[best])

    def _labels_one_by_one(self, x: np.ndarray, scores: np.ndarray, relevant: set[int], w: float) -> bool:
        """A binary learner per label; a mistake is an irrelevant label that scores as high as a relevant one.

        Labels of the same updates score alike, which rounding must not hide.
        """
        scores = scores.round(12)
        for k in range(self.columns):
            plus, minus = (k, None) if k in relevant else (None, k)
            self._update(x, plus, minus, w)
        others = set(range(self.columns)) - relevant
        return any(scores[a] <= scores[b] for a in relevant for b in others)

    def _best(self, x: np.ndarray, mean: np.ndarray, scores: np.ndarray, among: list[int]) -> Any:
        """The first column of the best score, or None if there are no columns."""
        ranked = sorted(among, key=lambda k: -scores[k])
        if len(ranked) > 1:
            self._note_tie_of_columns(x, mean[ranked[0]], mean[ranked[1]])
        return ranked[0] if ranked else None

    def _note_tie(self, x: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
        """Two weight vectors that score a row alike."""
        if self.ties is not None and abs(float((a - b) @ x)) < ROUNDING * float((np.abs(a) + np.abs(b)) @ np.abs(x)):
            self.ties.append(self.n_seen)

    def _note_tie_of_columns(self, x: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
        if not np.array_equal(a, b):  # columns of the same updates tie in every implementation
            self._note_tie(x, a, b)

    def _update(self, x: np.ndarray, plus: int | None, minus: int | None, w: float) -> float:
        """Score, ask the rule, update. z = x (x) (e_plus - e_minus); returns the margin before the update."""
        Z = np.zeros((self.columns, self.d))
        if plus is not None:
            Z[plus] = x
        if minus is not None:
            Z[minus] = -x
        own = minus if plus is None else plus
        assert own is not None
        learner = own if self.independent else 0
        margin, direction = float((Z * self.mean).sum()), self.covariance.times(Z, learner)
        v, floor = float((Z * direction).sum()), self.covariance.floor * float((Z * Z).sum())
        at_floor = self.covariance.floored and v <= floor
        v = floor if at_floor else v
        if v <= 0:
            return margin
        answer = self._step(margin, v, w, learner)
        if self.ties is not None:
            e = ROUNDING * float((np.abs(Z) * np.abs(self.mean)).sum())
            if any((self._step(m, v, w, learner) is None) != (answer is None) for m in (margin - e, margin + e)):
                self.ties.append(self.n_seen)
        if answer is None:
            self.infeasible += self.rule == "cellip" and margin <= 0
            return margin
        alpha, zeta, scale = answer
        self.mean += alpha * direction
        self.updates[learner] += 1
        if not at_floor:
            self.covariance.update(Z, zeta, scale, learner)
        return margin

    def _step(self, margin: float, v: float, w: float, learner: int) -> Step | None:
        return step(self.rule, margin, v, w, int(self.updates[learner]), **self.parameters)
