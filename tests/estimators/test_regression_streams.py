"""The methods of the regressor for files: the covariance that the first rows choose, and clear errors."""

import numpy as np
import pytest

from confidently import OnlineClassifier, OnlineRegressor
from confidently.data import DataError, open_stream

RNG = np.random.default_rng(7)
X = RNG.normal(size=(2300, 4)).round(3)
Y = (X @ [1.0, -2.0, 0.5, 0.0] + 3.0 + 0.1 * RNG.normal(size=len(X))).round(4)


def opened(file, **options):
    return open_stream(file, targets=True, normalize="none", **options)


@pytest.mark.long("a thousand columns")
@pytest.mark.few(1)
@pytest.mark.parametrize("chunk_bytes", [300, 1 << 20])
@pytest.mark.parametrize("columns, covariance", [(1000, "full"), (1001, "diag")])
def test_the_first_rows_choose_the_covariance(tmp_path, columns, covariance, chunk_bytes):
    file = tmp_path / "rows.svm"
    first = [f"0.5 {columns}:1\n", *(f"{k % 7} {k % 900 + 1}:1\n" for k in range(999))]
    file.write_text("".join([*first, "0.5 5000:1\n"] * 1))
    model = OnlineRegressor().fit_stream(opened(file, chunk_bytes=chunk_bytes))
    assert model.learner_.settings.covariance == covariance
    assert model.n_features_in_ == 5000


def test_counts_below_zero_are_located(tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:1\n-2 1:1\n")
    with pytest.raises(DataError, match=r"rows.svm, line 1, or soon after it: the rule poisson needs targets >= 0"):
        OnlineRegressor("poisson").fit_stream(opened(tmp_path / "rows.svm"))


def test_streams_of_the_other_kind_are_refused(tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:1\n0 2:1\n")
    with pytest.raises(ValueError, match="open it with targets=True"):
        OnlineRegressor().fit_stream(open_stream(tmp_path / "rows.svm"))
    with pytest.raises(ValueError, match="use OnlineRegressor"):
        OnlineClassifier().fit_stream(opened(tmp_path / "rows.svm"))
    with pytest.raises(ValueError, match="read once, got passes=2"):
        OnlineRegressor(passes=2).fit_stream(opened(tmp_path / "rows.svm"))
    with pytest.raises(TypeError, match="expected a stream"):
        OnlineRegressor().fit_stream([1, 2])
    with pytest.raises(ValueError, match="method"):
        next(
            OnlineRegressor()
            .fit_stream(opened(tmp_path / "rows.svm"))
            .predict_stream(tmp_path / "rows.svm", "predict_proba")
        )
    two = OnlineRegressor().fit(X, np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match="rows of files have one target, the regressor has 2 outputs"):
        two.partial_fit_stream(tmp_path / "rows.svm")
