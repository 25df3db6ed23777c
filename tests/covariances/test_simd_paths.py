"""Every path of the processor learns the same numbers, to the last bit."""

from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array

from confidently import RULES, OnlineClassifier, _core
from tests.simd_paths import printed

SCRIPT = "from tests.covariances.test_simd_paths import states; import sys; sys.stdout.write(states())"


def rows(n=120, d=40, seed=0):
    """Rows of every length from none to all columns, so that each rest of a division by four occurs."""
    rng = np.random.default_rng(seed)
    X = random_array((n, d), density=0.3, rng=rng, format="lil")
    for i in range(d):
        X[i] = 0
        X[i, rng.permutation(d)[:i]] = rng.normal(size=i)
    X[d] = 1e-160  # a step that underflows
    return csr_matrix(X), (rng.random(n) < 0.5).astype(int)


@cache
def states():
    """Train in many ways; return all that was learned, as text."""
    X, y = rows()
    found = []
    for k, rule in enumerate(RULES):
        for dtype in ("float64", "float32"):
            for intercept in (True, False):
                for projection in ("precision", "moments")[(k + intercept) % 2 :: 2]:
                    model = OnlineClassifier(
                        rule, dtype=dtype, fit_intercept=intercept, projection=projection, min_variance=0.2, passes=2
                    ).fit(X, y)
                    model.partial_fit(X[::-1].toarray(), y[::-1])
                    state = model.learner_.state
                    found += [rule, *(f"{name} {state[name].tobytes().hex()}" for name in sorted(state))]
    X, y = rows(140, 130)
    for dtype in ("float64", "float32"):
        for covariance, labels in (("full", y), ("shared", np.arange(140) * 7 % 3)):  # whose changes are pending
            model = OnlineClassifier("arow", covariance, dtype=dtype, passes=2).fit(X, labels)
            assert model.learner_.state["pending_rows"] > 0
            found += [f"{name} {array.tobytes().hex()}" for name, array in sorted(model.learner_.state.items())]
            found.append(model.decision_function(X).tobytes().hex())
    X, y = rows()
    for k in (2, 3, 5, 9, 20):
        labels = np.arange(X.shape[0]) * 7 % k
        model = OnlineClassifier("arow").fit(X, labels)
        for method in ("decision_function", "predict_proba"):
            for Z in (X, X.toarray(), X.astype(np.float32), X.toarray().astype(np.float32)):
                found.append(f"{k} {method} {getattr(model, method)(Z).tobytes().hex()}")
    return "\n".join(found)


FIRST, *OTHERS = _core.build()["paths"]


@pytest.mark.parametrize("path", [FIRST, *(pytest.param(path, marks=pytest.mark.long("a process")) for path in OTHERS)])
def test_every_path_learns_and_predicts_the_same(path):
    assert printed(path, SCRIPT) == states()
