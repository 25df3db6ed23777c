"""The methods of the regressor for files: the same learning as from arrays, whatever the format and the cut."""

import json

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from confidently import OnlineClassifier, OnlineRegressor
from confidently.data import DataError, open_stream

RNG = np.random.default_rng(7)
X = RNG.normal(size=(2300, 4)).round(3)
Y = (X @ [1.0, -2.0, 0.5, 0.0] + 3.0 + 0.1 * RNG.normal(size=len(X))).round(4)
AS_THEY_ARE = {"normalize": "none", "zeros": True}


def written(folder, name):
    file, rows = folder / name, list(zip(Y.tolist(), X.tolist(), strict=True))
    if name.endswith("svm"):
        file.write_text("".join(f"{y} " + " ".join(f"{k + 1}:{v}" for k, v in enumerate(x)) + "\n" for y, x in rows))
    elif name.endswith("csv"):
        file.write_text("label,a,b,c,d\n" + "".join(f"{y},{','.join(map(str, x))}\n" for y, x in rows))
    elif name.endswith("jsonl"):
        file.write_text("".join(json.dumps({"label": y, **dict(zip("abcd", x, strict=True))}) + "\n" for y, x in rows))
    else:
        file.write_text("".join(f"{y} | " + " ".join(f"{n}:{v}" for n, v in zip("abcd", x, strict=True)) + "\n"
                                for y, x in rows))  # fmt: skip
    return file


def opened(file, **options):
    how = AS_THEY_ARE if file.suffix in (".csv", ".jsonl") else {"normalize": "none"}
    return open_stream(file, targets=True, **how, **options)


@pytest.mark.parametrize("name", ["rows.svm", "rows.csv", "rows.jsonl", "rows.vw"])
def test_a_stream_of_any_format_is_ridge_regression_on_all_rows(tmp_path, name):
    file, expected = written(tmp_path, name), Ridge(alpha=1.0).fit(X, Y)
    for chunk_bytes, parsers in ((500, 0), (20_000, 3), (1 << 20, None)):
        found = OnlineRegressor().fit_stream(opened(file, chunk_bytes=chunk_bytes, parsers=parsers))
        assert found.learner_.settings.covariance == "full" and found.n_seen_ == len(Y)
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.intercept_, expected.intercept_, rtol=1e-9)


def test_predictions_of_a_stream_are_those_of_arrays(tmp_path):
    file = written(tmp_path, "rows.csv")
    model = OnlineRegressor().fit_stream(opened(file))
    arrays = OnlineRegressor().partial_fit(X, Y)

    def answers(method):
        parts = list(model.predict_stream(file, method, chunk_bytes=9000))
        assert len(parts) > 1
        if isinstance(parts[0], tuple):
            return [np.concatenate(part) for part in zip(*parts, strict=True)]
        return np.concatenate(parts)

    np.testing.assert_allclose(answers("predict"), arrays.predict(X), rtol=1e-9)
    np.testing.assert_allclose(answers("predict_std"), arrays.predict(X, return_std=True), rtol=1e-6)
    np.testing.assert_allclose(answers("predict_interval"), arrays.predict_interval(X, 0.9), rtol=1e-6)
    np.testing.assert_allclose(answers("margin_distribution"), arrays.margin_distribution(X), rtol=1e-6)
    with pytest.raises(ValueError, match="method"):
        next(model.predict_stream(file, "predict_proba"))


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
    two = OnlineRegressor().fit(X, np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match="rows of files have one target, the regressor has 2 outputs"):
        two.partial_fit_stream(tmp_path / "rows.svm")
