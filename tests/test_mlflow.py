"""The flavor of MLflow: what is saved or logged predicts and trains as before, as an estimator and as a pyfunc."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import Perceptron

from confidently import AutoClassifier, OnlineClassifier, OnlineRegressor
from confidently.data import DataWarning
from tests.mixed_table import mixed_table

pytest.importorskip("mlflow", reason="MLflow is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:::mlflow", "ignore:::pydantic", "ignore::FutureWarning")

X, Y = load_digits(return_X_y=True)


@pytest.fixture
def flavor(monkeypatch, tmp_path):
    import mlflow

    from confidently import mlflow as flavor

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    return flavor


def people(n=600):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "age": rng.normal(size=n),
        "city": rng.choice(["rome", "oslo"], n),
        "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**6, n), unit="s"),
    })  # fmt: skip
    frame["label"] = np.where(frame["age"] + (frame["city"] == "rome") > 0.5, "yes", "no")
    return frame


@pytest.mark.long("imports MLflow")
@pytest.mark.parametrize("kind", [OnlineClassifier, AutoClassifier])
def test_a_saved_model_is_the_same(flavor, tmp_path, kind):
    import mlflow

    frame = people()
    estimator = kind().fit(frame, "label")
    rows = frame.drop(columns="label")
    flavor.save_model(estimator, tmp_path / "model", input_example=rows[:3])
    loaded = flavor.load_model(str(tmp_path / "model"))
    assert_array_equal(loaded.predict_proba(rows), estimator.predict_proba(rows))
    loaded.partial_fit(frame[:10].drop(columns="label"), frame["label"][:10])
    assert loaded.n_seen_ == estimator.n_seen_ + 10
    predictor = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    assert_array_equal(predictor.predict(rows), estimator.predict(rows))
    p = predictor.predict(rows, params={"method": "predict_proba"})
    assert list(p.columns) == ["no", "yes"]
    assert_array_equal(p, estimator.predict_proba(rows))
    sets = predictor.predict(rows, params={"method": "predict_set", "coverage": 0.99})
    assert_array_equal([len(one) for one in sets], estimator.predict_set(rows, coverage=0.99).sum(axis=1))
    assert_array_equal(predictor.predict(rows, params={"method": "novelty"}), estimator.novelty(rows))


def test_the_signature_is_that_of_training(flavor, tmp_path):
    import mlflow

    frame = people()
    flavor.save_model(OnlineClassifier().fit(frame, "label"), tmp_path / "model")
    info = mlflow.models.get_model_info(str(tmp_path / "model"))
    assert {one["name"]: one["type"] for one in info.signature.inputs.to_dict()} == {
        "age": "any",  # so that integers, categories and missing values are taken as well
        "city": "any",
        "when": "any",
    }
    assert set(info.flavors) == {"confidently", "python_function"}
    predictor = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    with pytest.raises(mlflow.exceptions.MlflowException, match="city"):
        predictor.predict(frame[["age", "when"]])
    with pytest.raises(ValueError, match="method: expected one of 'predict', 'predict_proba'"):
        predictor.predict(frame.drop(columns="label"), params={"method": "fit"})


@pytest.mark.parametrize("kind", [OnlineClassifier, OnlineRegressor])
def test_columns_of_all_kinds_are_predicted_as_by_the_estimator(flavor, tmp_path, kind):
    import mlflow

    label, other = ("price", "label") if kind is OnlineRegressor else ("label", "price")
    frame = mixed_table().drop(columns=other)
    with warnings.catch_warnings(action="ignore", category=DataWarning):
        estimator = kind().fit(frame, label)
    rows = frame.drop(columns=label)
    flavor.save_model(estimator, tmp_path / "model")
    predictor = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    expected = estimator.predict(rows)
    for given in (rows, rows[rows.columns[::-1]], rows.to_dict("records")):
        assert_array_equal(predictor.predict(given), expected)
    sent = json.loads(rows.drop(columns="zoned").to_json(orient="split", date_format="iso", double_precision=15))
    received = pd.DataFrame(sent["data"], columns=sent["columns"]).assign(zoned=rows["zoned"])  # as a server of MLflow
    if kind is OnlineRegressor:
        assert_allclose(predictor.predict(received), expected)
    else:
        assert_array_equal(predictor.predict(received), expected)


def test_arrays_and_numbers(flavor, tmp_path):
    import mlflow

    flavor.save_model(OnlineClassifier().fit(X, Y), tmp_path / "digits")
    predictor = mlflow.pyfunc.load_model(str(tmp_path / "digits"))
    assert_array_equal(predictor.predict(X), OnlineClassifier().fit(X, Y).predict(X))
    assert predictor.predict(X, params={"method": "predict_proba"}).shape == (1797, 10)
    rows, targets = load_diabetes(return_X_y=True, as_frame=True)
    estimator = OnlineRegressor().fit(rows, targets)
    flavor.save_model(estimator, tmp_path / "numbers")
    predictor = mlflow.pyfunc.load_model(str(tmp_path / "numbers"))
    assert_array_equal(predictor.predict(rows), estimator.predict(rows))
    limits = predictor.predict(rows, params={"method": "predict_interval", "coverage": 0.5})
    assert_array_equal(limits, estimator.predict_interval(rows, coverage=0.5))


def test_rows_without_columns_have_no_signature(flavor, tmp_path):
    texts = ["good film", "bad film"] * 20
    estimator = OnlineClassifier().fit(texts, ["good", "bad"] * 20)
    assert flavor.signature_of(estimator) is None
    flavor.save_model(estimator, tmp_path / "model")
    assert_array_equal(flavor.load_model(str(tmp_path / "model")).predict(texts), estimator.predict(texts))


def test_a_logged_model(flavor):
    import mlflow

    frame = people()
    estimator = OnlineClassifier().fit(frame, "label")
    with mlflow.start_run():
        info = flavor.log_model(estimator, "people", metadata={"rows": 600})
    rows = frame.drop(columns="label")
    assert_array_equal(flavor.load_model(info.model_uri).predict_proba(rows), estimator.predict_proba(rows))
    assert_array_equal(mlflow.pyfunc.load_model(info.model_uri).predict(rows), estimator.predict(rows))
    assert mlflow.models.get_model_info(info.model_uri).metadata == {"rows": 600}


def test_what_is_not_a_model(flavor, tmp_path):
    import mlflow
    from sklearn.exceptions import NotFittedError

    with pytest.raises(TypeError, match=r"expected one of OnlineClassifier, .*, got Perceptron"):
        flavor.save_model(Perceptron(), tmp_path / "model")
    with pytest.raises((NotFittedError, AttributeError), match="not fitted"):
        flavor.save_model(OnlineClassifier(), tmp_path / "model")
    flavor.save_model(OnlineClassifier().fit(X, Y), tmp_path / "model")
    with pytest.raises(mlflow.exceptions.MlflowException, match="already exists"):
        flavor.save_model(OnlineClassifier().fit(X, Y), tmp_path / "model")
    OnlineClassifier().fit(X, Y).save(tmp_path / "model.cw")
    options = {"loader_module": "confidently.mlflow", "pip_requirements": ["confidently"]}
    mlflow.pyfunc.save_model(tmp_path / "other", data_path=str(tmp_path / "model.cw"), **options)
    with pytest.raises(ValueError, match="no model of the flavor 'confidently'; there are python_function"):
        flavor.load_model(str(tmp_path / "other"))
