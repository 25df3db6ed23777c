"""Every path of the processor standardizes and takes cosines of the same numbers, to the last bit."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from confidently import _core
from confidently.data.memory.matrix import as_matrix
from confidently.views.columns import MISSING, PLAIN, ZERO, Columns
from confidently.views.cosines import DIRECTION, PHASE, Cosines
from confidently.views.standard import Standard
from confidently.views.view import Labelled
from tests.simd_paths import printed

SCRIPT = "from tests.views.test_simd_paths_of_views import standardized; import sys; sys.stdout.write(standardized())"
COSINES = (
    "from tests.views.test_simd_paths_of_views import cosines; import sys; sys.stdout.write(cosines().tobytes().hex())"
)
KINDS = {"zero": [ZERO], "missing": [MISSING], "any": [ZERO, MISSING, MISSING, PLAIN, ZERO]}


def rows(rng, n, d, density):
    """Rows with constant columns, columns of one sign only, huge and tiny ones, and values that meet the mean."""
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-160, 100, size=d)
    X[:, ::4] = rng.integers(1, 4, size=(n, len(X[0, ::4])))
    X[:, 1::5] = 7.0
    X[n // 2 :, 1::5] = 8.0
    X[n // 3] = X[n // 3 - 1]
    return csr_array(X * (rng.random((n, d)) < density))


def standardized():
    """Learn and see rows of every length in many ways; return all numbers, as text."""
    rng = np.random.default_rng(0)
    found = []
    for name, kinds in KINDS.items():
        for d in (1, 3, 4, 5, 8, 11, 18):
            for density in (1.0, 0.8, 0.3):
                for unit_norm in (True, False):
                    view = Standard(unit_norm=unit_norm)
                    columns = Columns(np.resize(np.array(kinds, dtype=np.int8), d))
                    arrays = view.grown(view.new_arrays(2), columns, 2)
                    X = as_matrix(rows(rng, 40, d, density))
                    weight = rng.choice([0.0, 0.3, 1.0], size=40)
                    labelled = Labelled(X, None, 0, np.zeros(40, dtype=np.int32), None, weight, None, 2)
                    arrays, seen = view.learn(arrays, labelled, _core.UndoLog())
                    again = view.see(arrays, X, 0, 40)
                    numbers = [
                        *arrays.values(),
                        *(part for m in (seen, again) for part in (m.values, m.columns, m.start)),
                    ]
                    found.append(f"{name} {d} {density} {[np.asarray(part).tobytes().hex() for part in numbers]}")
    return "\n".join(found)


@pytest.mark.long("a process for each path")
@pytest.mark.parametrize("path", _core.build()["paths"])
def test_every_path_standardizes_the_same(path):
    assert printed(path, SCRIPT) == standardized()


def cosine_rows():
    """Rows whose angles are small, those of many turns, and too large to be reduced."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) * 10.0 ** rng.integers(-3, 12, size=60)[:, None]
    X[0] = 0.0
    return X


def cosines(n=101):
    view = Cosines(n=n, scale=0.5, unit_norm=False)
    arrays = view.grown(view.new_arrays(2), Columns.alike(5, ZERO), 2)
    return view.see(arrays, as_matrix(cosine_rows()), 0, 60).values


@pytest.mark.long("a process for each path")
@pytest.mark.parametrize("path", _core.build()["paths"])
def test_every_path_takes_the_same_cosines(path):
    assert printed(path, COSINES) == cosines().tobytes().hex()


def test_cosines_are_as_accurate_as_those_of_the_library():
    view, X = Cosines(n=101, scale=0.5, unit_norm=False), cosine_rows()
    arrays = view.grown(view.new_arrays(2), Columns.alike(5, ZERO), 2)
    angle = np.tile(arrays[PHASE], (60, 1))
    for j in range(5):
        angle += X[:, [j]] * arrays[DIRECTION][j]
    assert (np.abs(angle) > 1e6).any(axis=1).sum() > 10
    assert (np.abs(angle) > 1e4).any(axis=1).sum() > (np.abs(angle) > 1e6).any(axis=1).sum() + 5
    expected = np.cos(angle) * np.sqrt(2 / 101)
    np.testing.assert_allclose(cosines().reshape(60, 101), expected, rtol=0, atol=5e-16)
