"""A long stream, and a reference implementation without accumulated rounding errors."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from confidently.rules import make_rule
from tests.twins import reference

ROWS_PER_FACTOR = 1000


class RefactoredTwin:
    """A full covariance trained row by row in NumPy, from its precision, which is summed in long double.

    Sigma is computed again from the precision every ``ROWS_PER_FACTOR`` rows (a Cholesky factor, and one Newton step
    with a long double residual), so that no error is older than that. Two classes, no intercept, a rule that never
    rescales Sigma; nothing is shared with the core.
    """

    def __init__(self, rule, d, **parameters):
        self.rule, self.parameters = rule, parameters
        self.mean, self.sigma, self.precision = np.zeros(d), np.eye(d), np.eye(d, dtype=np.longdouble)
        self.mistakes = self.updates = 0

    def rule_with_parameters(self):
        return make_rule(self.rule, **self.parameters)

    def learn(self, X, y):
        for first in range(0, len(y), ROWS_PER_FACTOR):
            rows = slice(first, first + ROWS_PER_FACTOR)
            zeta = np.array([self._row(x, sign) for x, sign in zip(X[rows], 2.0 * y[rows] - 1.0, strict=True)])
            self.precision += (X[rows] * zeta[:, None]).T @ X[rows]
            self._refactor()

    def _row(self, x, sign):
        direction = self.sigma @ x
        m, v = sign * float(self.mean @ x), float(x @ direction)
        self.mistakes += m <= 0
        found = reference.step(self.rule, m, v, **self.parameters)
        if found is None:
            return 0.0
        alpha, zeta, _ = found
        self.updates += 1
        self.mean += alpha * sign * direction
        self.sigma -= zeta / (1.0 + zeta * v) * np.outer(direction, direction)
        return zeta

    def _refactor(self):
        identity = np.eye(len(self.mean))
        first = cho_solve(cho_factor(self.precision.astype(float)), identity)
        sigma = first + first @ (identity - self.precision @ first).astype(float)
        self.sigma = (sigma + sigma.T) / 2


def correlated_stream(n, d, noise, seed=0, spread=1e3, rows=10_000):
    """Batches of rows of norm about 1 from an ellipsoid whose axes differ by up to a factor ``spread``, and labels of a
    plane, of which a fraction ``noise`` is flipped."""
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    lengths = np.geomspace(1.0, 1.0 / spread, d)
    lengths /= np.sqrt((lengths**2).sum())
    plane = rng.normal(size=d)
    for first in range(0, n, rows):
        Z = rng.normal(size=(min(rows, n - first), d))
        y = (Z @ plane > 0) != (rng.random(len(Z)) < noise)
        yield (Z * lengths) @ rotation.T, y.astype(np.int32)


def distances(learner, twin):
    """Return how far a learner is from its reference, and its covariance from not being positive definite."""
    sigma = learner.covariance_matrix()[0]
    spectrum = np.linalg.eigvalsh(sigma.astype(np.float64))
    # relative to the variances of the reference: 0 for every direction of the correct variance
    root = np.linalg.cholesky(twin.precision.astype(float))
    relative = np.linalg.eigvalsh(root.T @ sigma @ root) - 1.0
    return {
        "least eigenvalue": spectrum[0],
        "condition": spectrum[-1] / spectrum[0],
        "covariance": np.abs(sigma - twin.sigma).max() / np.abs(twin.sigma).max(),
        "worst direction": np.abs(relative).max(),
        "mean": np.linalg.norm(learner.mean()[0] - twin.mean) / np.linalg.norm(twin.mean),
        "mistakes": (learner.mistakes, twin.mistakes),
        "updates": (learner.updates, twin.updates),
    }
