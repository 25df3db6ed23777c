"""Regressors on clusters: ridge regressions are those of one pass over all rows."""

import warnings

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import dask.array as da
    import dask.dataframe as dd

from confidently import AutoRegressor, OnlineRegressor, distributed
from confidently.data import DataError, open_stream
from confidently.tasks.targets import INITIAL_TARGET

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5)) @ RNG.normal(size=(5, 5)) + 3.0 * RNG.normal(size=5)
X[200:] += 1.0  # parts of other means
Y = X @ RNG.normal(size=(5, 2)) + [5.0, -100.0] + RNG.normal(size=(400, 2))
WEIGHT = RNG.uniform(0.1, 2.0, size=400)

ONE_AT_A_TIME = pytest.mark.filterwarnings("ignore:one of . partitions trains at a time")  # CSV cannot be divided


def blocks(array):
    return da.from_array(array, chunks=(130, -1)[: array.ndim])


def assert_alike(found, expected):
    for name in ("coef_", "intercept_", "variance_", "noise_variance_"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, err_msg=name)
    assert found.n_seen_ == expected.n_seen_


@pytest.mark.long("two trainings on a cluster for each setting")
@pytest.mark.few(1)
@pytest.mark.parametrize("rounds", [1, 5])
@pytest.mark.parametrize("parameters", [{}, {"covariance": "shared"}, {"fit_intercept": False}])
def test_ridge_is_that_of_one_pass(parameters, rounds, client):
    options = {"client": client, "partitions": 3, "rounds": rounds}
    for y in (Y[:, 0], Y):
        found = distributed.fit(OnlineRegressor(**parameters), blocks(X), blocks(y), **options)
        assert_alike(found, OnlineRegressor(**parameters).fit(X, y))
        assert found.predict(X).shape == y.shape


@pytest.mark.long("four trainings on a cluster")
def test_weights_more_data_and_names(client):
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcde")).assign(y=Y[:, 0]), npartitions=4)
    found = distributed.fit(OnlineRegressor(), frame, "y", client=client, partitions=4, rounds=2)
    assert list(found.feature_names_in_) == list("abcde")
    expected = OnlineRegressor().fit(pd.DataFrame(X, columns=list("abcde")), Y[:, 0])
    assert_alike(found, expected)
    options = {"client": client, "partitions": 2, "rounds": 2}
    found = distributed.fit(OnlineRegressor(), blocks(X), blocks(Y), sample_weight=blocks(WEIGHT), **options)
    expected = OnlineRegressor().fit(X, Y, WEIGHT)
    assert_alike(found, expected)
    shuffled = distributed.fit(
        OnlineRegressor(), blocks(X), blocks(Y), sample_weight=blocks(WEIGHT), shuffle="within", **options
    )
    assert_alike(shuffled, expected)
    assert_alike(distributed.partial_fit(found, blocks(X), blocks(Y), **options), expected.partial_fit(X, Y))


@pytest.mark.long("many rounds")
@pytest.mark.parametrize(
    "parameters", [{"covariance": "diag"}, {"rule": "quantile", "covariance": "diag", "passes": 2}]
)
def test_other_regressions_are_near_one_pass(parameters, client):
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    found = distributed.fit(OnlineRegressor(**parameters), blocks(rows), blocks(Y), client=client, partitions=2)
    expected = OnlineRegressor(**parameters).fit(rows, Y)
    assert found.n_seen_ == expected.n_seen_
    targets = found.learner_.state["calibration"].reshape(-1, len(INITIAL_TARGET))
    np.testing.assert_allclose(targets[:, 0], expected.n_seen_)  # those of all passes
    assert found.score(rows, Y) > expected.score(rows, Y) - 0.05


@pytest.mark.parametrize("n", [40, pytest.param(400, marks=pytest.mark.long("a stack on a cluster"))])
def test_stacks_need_no_thousand_rows(client, n):
    found = distributed.fit(AutoRegressor(), blocks(X[:n]), blocks(Y[:n, 0]), client=client, partitions=3, rounds=2)
    assert found.n_seen_ == n
    assert found.score(X, Y[:, 0]) > AutoRegressor().fit(X[:n], Y[:n, 0]).score(X, Y[:, 0]) - 0.1


@ONE_AT_A_TIME
@pytest.mark.parametrize("rounds", [1, 3])
def test_files(client, tmp_path, rounds):
    path = tmp_path / "rows.csv"
    pd.DataFrame(X, columns=list("abcde")).assign(label=Y[:, 0]).to_csv(path, index=False)
    reading = {"normalize": "none", "zeros": True}
    options = {"client": client, "partitions": 3, "rounds": rounds}
    found = distributed.fit(OnlineRegressor(), path, **options, **reading)
    expected = OnlineRegressor().fit_stream(open_stream(path, targets=True, **reading))
    assert_alike(found, expected)
    distributed.partial_fit(found, path, **options)
    assert_alike(found, expected.partial_fit_stream(path))


@ONE_AT_A_TIME
def test_skipped_rows_of_files(client, tmp_path):
    path = tmp_path / "rows.csv"
    options = {"client": client, "normalize": "none", "zeros": True}
    path.write_text("label,a\n" + "".join(f"{k / 2},{k}\n" for k in range(40)) + "x,1\n")
    with pytest.raises(DataError, match="target 'x' is not a number"):
        distributed.fit(OnlineRegressor(), path, partitions=1, **options)
    found = distributed.fit(OnlineRegressor(), path, partitions=2, on_error="skip", **options)
    assert found.n_seen_ == 40
    with pytest.raises(ValueError, match="targets are numbers"):
        distributed.fit(OnlineRegressor(), path, multilabel=True, **options)


def test_refusals(client):
    with pytest.raises(ValueError, match="kernel"):
        distributed.fit(OnlineRegressor(covariance="kernel"), blocks(X), blocks(Y[:, 0]), client=client)
    with pytest.raises(ValueError, match="forget"):
        distributed.fit(OnlineRegressor(covariance="diag", forget=0.1), blocks(X), blocks(Y[:, 0]), client=client)
