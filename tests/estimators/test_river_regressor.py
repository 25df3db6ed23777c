"""River's contract for the regressor, and that dicts are learned as arrays are."""

import copy
import pickle

import numpy as np
import pytest

river = pytest.importorskip("river", reason="River is not installed")

import pandas as pd  # noqa: E402
from river import checks, datasets, evaluate, linear_model, metrics, preprocessing  # noqa: E402
from sklearn.linear_model import Ridge  # noqa: E402

import confidently  # noqa: E402
from confidently import Quantile, load  # noqa: E402
from confidently.estimators.river import OnlineRegressor  # noqa: E402
from confidently.learner import dicts  # noqa: E402

SETTINGS = [
    {},
    {"covariance": "full"},
    {"covariance": "full", "fit_intercept": False},
    {"covariance": "full", "dtype": "float32"},
    {"covariance": "shared"},
    {"rule": "pa1_reg", "average": True},
    {"rule": Quantile(tau=0.8), "covariance": "full"},
    {"rule": "arow_eps", "calibration": None},
    {"rule": "poisson"},
    {"forget": 0.01, "projection": "moments"},
    {"covariance": "full", "view": "standard"},
    {"view": "standard"},
]


@pytest.mark.parametrize("settings", [
    SETTINGS[3], *(pytest.param(SETTINGS[k], marks=pytest.mark.long) for k in (0, 1, 5, 10)),
])  # fmt: skip
def test_rivers_checks(settings):
    checks.check_estimator(OnlineRegressor(**settings))


def rows(n=200, seed=0, sparse=True):
    """Dicts of which some features come late, and counts."""
    rng = np.random.default_rng(seed)
    weights = np.random.default_rng(1).normal(size=9)
    found = []
    for i in range(n):
        chosen = rng.choice(9 if i > 30 else 6, size=5, replace=False) if sparse else np.arange(9)
        values = (rng.normal(size=len(chosen)) + 1.0).round(3)
        y = 4.0 + weights[chosen] @ values + 0.3 * rng.normal()
        found.append(({f"f{j}": v for j, v in zip(chosen, values.tolist(), strict=True)}, float(np.floor(abs(y)))))
    return found


def as_arrays(stream):
    names = list(dict.fromkeys(name for x, _ in stream for name in x))
    frame = pd.DataFrame([x for x, _ in stream], columns=names).fillna(0.0)
    return frame, np.array([y for _, y in stream])


@pytest.mark.parametrize("settings", [one for one in SETTINGS if "view" not in one])
def test_dicts_are_learned_as_arrays_are(settings):
    stream = rows()
    X, y = as_arrays(stream)
    ours, arrays = OnlineRegressor(**settings), confidently.OnlineRegressor(**{"covariance": "diag"} | settings)
    for x, target in stream[:150]:
        ours.learn_one(x, target)
    arrays.partial_fit(X[:150], y[:150])
    mean, std = arrays.predict(X[150:], return_std=True)
    single = settings.get("dtype") == "float32"
    tolerance = {"rel": 1e-4, "abs": 1e-4} if single else {"rel": 1e-8, "abs": 1e-9}
    for k, (x, _) in enumerate(stream[150:]):
        assert ours.predict_one(x) == pytest.approx(mean[k], **tolerance)
        found = ours.predict_one(x, with_dist=True)
        assert found.mu == pytest.approx(mean[k], **tolerance)
        assert found.sigma == pytest.approx(std[k], **tolerance)
    assert ours.predict_many(X[150:]).to_numpy() == pytest.approx(mean, **tolerance)
    assert list(ours.weights) == list(X.columns[: len(ours.weights)])
    assert list(ours.weights.values()) == pytest.approx(arrays.coef_.tolist(), **tolerance)
    assert list(ours.variances.values()) == pytest.approx(arrays.variance_.tolist(), **tolerance)


def test_ridge_on_dicts_is_batch_ridge():
    stream = rows()
    X, y = as_arrays(stream)
    ours, batch = OnlineRegressor(covariance="full", bounds=(None, None)), Ridge(alpha=1.0).fit(X, y)
    for x, target in stream:
        ours.learn_one(x, target)
    assert [ours.predict_one(x) for x, _ in stream] == pytest.approx(batch.predict(X).tolist(), rel=1e-9)
    arrays = confidently.OnlineRegressor(covariance="full").fit(X, y).learner_
    arrays.covariance.flush(arrays.state)  # of rows that wait for others
    for name in ("precision", "shift"):  # the normal equations, which training continues with
        np.testing.assert_allclose(ours._rows.learner.state[name], arrays.state[name], rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("settings", [{"covariance": "full"}, {"covariance": "full", "rule": "arow_eps"}])
def test_compiled_rows_are_those_of_matrices(settings, monkeypatch):
    """Whichever code trains, at any time; with features that come late, and unseen ones in predictions."""
    compiled, mixed = OnlineRegressor(**settings), OnlineRegressor(**settings)
    for k, (x, y) in enumerate(rows()):
        monkeypatch.setattr(dicts, "MAX_BOUND", 256)
        compiled.learn_one(x, y, w=0.5 + k % 3)
        monkeypatch.setattr(dicts, "MAX_BOUND", 0 if k % 3 else 256)
        mixed._rows._make_room()
        mixed.learn_one(x, y, w=0.5 + k % 3)
    monkeypatch.setattr(dicts, "MAX_BOUND", 0)
    mixed._rows._make_room()
    assert not compiled._rows.as_matrices and mixed._rows.as_matrices
    for x, _ in rows(20, seed=2):
        for row in (x, x | {"unseen": 2.0, "unseen too": -1.0}):
            assert compiled.predict_one(row) == pytest.approx(mixed.predict_one(row), rel=1e-9)
            one, other = (model.predict_one(row, with_dist=True) for model in (compiled, mixed))
            assert (one.mu, one.sigma) == pytest.approx((other.mu, other.sigma), rel=1e-9)


@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_unseen_features_have_the_priors_variance(covariance):
    ours = OnlineRegressor(covariance=covariance, fit_intercept=False, prior_variance=0.5, calibration=None)
    ours.learn_one({"a": 1.0}, 2.0)
    known, unseen = (ours.predict_one(x, with_dist=True).sigma ** 2 for x in ({"a": 1.0}, {"a": 1.0, "b": 2.0, "c": 1}))
    assert unseen == pytest.approx(known + 2.0**2 * 0.5 * 5.0)  # Sigma is in units of the targets
    assert list(ours.weights) == ["a"]  # asking teaches nothing


def test_before_the_first_row():
    for settings in SETTINGS:
        ours = OnlineRegressor(**settings)
        variance = 2.0  # of the feature and of the constant one
        expected = np.exp(variance / 2) if settings.get("rule") == "poisson" else 0.0
        assert ours.predict_one({"a": 1.0}) == pytest.approx(expected)


@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_batches_give_what_rows_give(covariance):
    stream = rows()
    X, y = as_arrays(stream)
    one, many = OnlineRegressor(covariance=covariance), OnlineRegressor(covariance=covariance)
    for x, target in stream:
        one.learn_one(x, target)
    for first, last in ((0, 1), (1, 120), (120, 200)):
        many.learn_many(X[first:last], pd.Series(y[first:last]))
    assert [many.weights[name] for name in one.weights] == pytest.approx(list(one.weights.values()), rel=1e-9)
    found = many.predict_many(X[7:20])
    assert found.tolist() == pytest.approx([one.predict_one(x) for x, _ in stream[7:20]], rel=1e-9)
    assert found.index.tolist() == list(range(7, 20))


@pytest.mark.parametrize("settings", [{}, {"covariance": "full"}, {"view": "standard"}])
def test_copies_and_pickles_go_on_alike(settings):
    stream = rows()
    ours = OnlineRegressor(**settings)
    for x, y in stream[:100]:
        ours.learn_one(x, y)
    others = [pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)]
    for model in (ours, *others):
        for x, y in stream[100:]:
            model.learn_one(x, y)
    for other in others:
        for name, array in ours._rows.learner.state.items():
            np.testing.assert_array_equal(other._rows.learner.state[name], array, err_msg=name)
    assert ours.clone().predict_one(stream[0][0]) == 0.0


@pytest.mark.parametrize("settings", [SETTINGS[k] for k in (0, 1, 5, 8, 10)])
def test_saved_models_are_regressors_of_arrays(settings, tmp_path):
    stream = rows()
    ours = OnlineRegressor(**settings)
    for x, y in stream:
        ours.learn_one(x, y)
    ours.save(tmp_path / "m.cw")
    regressor = load(tmp_path / "m.cw")
    X, _ = as_arrays(stream)
    if "view" not in settings:  # where absent values are missing
        found = regressor.predict(X[list(regressor.feature_names_in_)])
        assert found.tolist() == pytest.approx([ours.predict_one(x) for x, _ in stream], rel=1e-9)
    with pytest.raises(ValueError, match="not kept with hash_bits"):
        hashed = OnlineRegressor(hash_bits=4)
        hashed.learn_one({"a": 1.0}, 1.0)
        hashed.save(tmp_path / "h.cw")


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ({"a": float("inf")}, 1.0, "feature 'a': the value inf is too large"),
        ({"a": 1e300}, 1.0, "too large"),
        ({"a": [1]}, 1.0, "expected a number, a boolean, a string"),
        ({"a": 1.0}, float("nan"), "targets must be finite"),
        ({"a": 1.0}, float("inf"), "targets must be finite"),
        ({"a": 1.0}, 1e60, "targets must be finite and at most 1e"),
    ],
)
@pytest.mark.parametrize("settings", [{}, {"covariance": "full"}, {"view": "standard"}])
def test_what_cannot_be_learned_changes_nothing(x, y, message, settings):
    ours = OnlineRegressor(**settings)
    ours.learn_one({"b": 1.0}, 3.0)
    before = pickle.dumps(ours)
    with pytest.raises(ValueError, match=message):
        ours.learn_one({"new": 1.0, **x}, y)
    assert pickle.dumps(ours) == before


def test_counts_are_not_negative():
    with pytest.raises(ValueError, match=r"targets must be in 0 to 1e\+50, got -1"):
        OnlineRegressor("poisson").learn_one({"a": 1.0}, -1)


def test_frames_and_targets_fit():
    with pytest.raises(ValueError, match="X has 2 rows and y 1 target"):
        OnlineRegressor().learn_many(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series([1.0]))


@pytest.mark.parametrize(
    "settings", [{"covariance": "kernel"}, {"rule": "arow"}, {"hash_bits": 0}, {"calibration": "yes"}, {"forget": 2.0},
                 {"view": "standard", "hash_bits": 4}],
)  # fmt: skip
def test_refusals(settings):
    with pytest.raises((ValueError, TypeError)):
        OnlineRegressor(**settings)


def test_in_pipelines_better_than_rivers_own():
    def error(regressor):
        model = preprocessing.StandardScaler() | regressor
        return evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE()).get()

    ours = error(OnlineRegressor(covariance="full"))
    assert ours < error(linear_model.LinearRegression())
    assert ours < error(linear_model.BayesianLinearRegression())


def test_bounds_are_kept():
    stream = rows()
    for model in (OnlineRegressor(), OnlineRegressor(bounds=(0.0, 3.0))):
        for x, target in stream:
            model.learn_one(x, min(abs(target), 3.0))
        far = {name: -20.0 * abs(value) for name, value in stream[0][0].items() if not isinstance(value, str)}
        for x in ({**stream[0][0], **far}, {name: -value for name, value in far.items()}):
            assert model.predict_one(x) == model.predict_one(x, with_dist=True).mu >= 0.0
            assert model.bounds is None or model.predict_one(x) <= 3.0
    with pytest.raises(ValueError, match="targets must be in 0 to 3, their bounds"):
        model.learn_one(stream[0][0], 4.0)
