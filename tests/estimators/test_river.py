"""River: its contract, dicts learned as arrays, frames as their rows, copies, files, refusals; single learners."""

import copy
import pickle
from collections import OrderedDict
from itertools import islice

import numpy as np
import pytest

river = pytest.importorskip("river", reason="River is not installed")

import pandas as pd  # noqa: E402
from river import checks, datasets, drift, ensemble, evaluate, metrics  # noqa: E402

import confidently  # noqa: E402
from confidently import Quantile, load  # noqa: E402
from confidently.learner import dicts  # noqa: E402
from confidently.river import OnlineClassifier, OnlineMultiLabelClassifier, OnlineRegressor  # noqa: E402
from tests.covariance_cases import OVER_WEIGHTS  # noqa: E402

OF_CLASSES = [
    {}, {"covariance": "full"}, {"rule": "pa1", "average": True}, {"rule": "logistic"}, {"forget": 0.01},
    {"rule": "cw_stdev", "multiclass": "one-vs-rest", "dtype": "float32"}, {"rule": "iellip", "prior_variance": 0.1},
    {"covariance": "shared", "fit_intercept": False}, {"covariance": "full", "multiclass": "joint"},
    {"calibration": None}, {"rule": "logistic", "calibration": None, "prior_variance": 100.0},
    *({"covariance": name} for name in OVER_WEIGHTS if name not in ("diag", "full", "shared")),
]  # fmt: skip
OF_NUMBERS = [
    {}, {"covariance": "full"}, {"covariance": "full", "fit_intercept": False},
    {"covariance": "full", "dtype": "float32"}, {"covariance": "shared"}, {"rule": "pa1_reg", "average": True},
    {"rule": Quantile(tau=0.8), "covariance": "full"}, {"rule": "arow_eps", "calibration": None}, {"rule": "poisson"},
    {"forget": 0.01, "projection": "moments"}, {"covariance": "full", "view": "standard"}, {"view": "standard"},
]  # fmt: skip
MODELS = [(OnlineClassifier, settings) for settings in OF_CLASSES] + [(OnlineRegressor, one) for one in OF_NUMBERS]
each = pytest.mark.parametrize(("kind", "settings"), MODELS, ids=lambda one: getattr(one, "__name__", str(one)))
KINDS = [(OnlineClassifier, {}), (OnlineRegressor, {}), (OnlineRegressor, {"view": "standard"})]
KINDS += [(kind, {"covariance": "full"}) for kind in (OnlineClassifier, OnlineRegressor)]
some = pytest.mark.parametrize(("kind", "settings"), KINDS, ids=lambda one: getattr(one, "__name__", str(one)))
MANY_CHECKS = pytest.mark.long("dozens of checks on thousands of dicts")


class Labelled:
    """Stands in for River's data set of music, which is downloaded: multilabel rows."""

    def take(self, n):
        rng = np.random.default_rng(0)
        for _ in range(n):
            x = dict(zip("abcdefgh", rng.normal(size=8).round(3).tolist(), strict=True))
            yield x, {"sum": x["a"] + x["b"] > 0, "c": x["c"] > 0, "d": x["d"] > 0.5}


CHECKED = [(OnlineClassifier, OF_CLASSES[k]) for k in (1, 0, 5, 4, 3)] + [
    (OnlineRegressor, OF_NUMBERS[k]) for k in (0, 1, 3, 5, 10)
]
CHECKED += [(OnlineMultiLabelClassifier, given) for given in ({}, {"covariance": "full"}, {"calibration": None})]


@pytest.mark.long("dozens of checks on thousands of dicts")
@pytest.mark.parametrize("part", [0, *(pytest.param(k, marks=MANY_CHECKS) for k in range(1, 13))])
def test_rivers_checks(part, monkeypatch):
    """Each thirteenth of each model, beginning one later for the next: so each check of some."""
    monkeypatch.setattr(datasets, "Music", Labelled)
    for k, (kind, settings) in enumerate(CHECKED):
        for check in list(checks.yield_checks(kind(**settings)))[(part + k) % 13 :: 13]:
            # labels that were alike so far score alike; dense sums in another order decide otherwise between them
            orders = kind is OnlineMultiLabelClassifier and "covariance" in settings
            if not (orders and check.__name__ == "check_shuffle_features_no_impact"):
                check(kind(**settings))


def rows(n=300, n_classes=3, seed=0, kind=OnlineClassifier):
    """Sparse dicts of which some features, and the third class, come late; classes by name, or counts."""
    rng = np.random.default_rng(seed)
    weights, found = rng.normal(size=(n_classes, 12)), []
    for i in range(n):
        chosen = rng.choice(12, size=5, replace=False) if i > 30 else rng.permutation(9)[:5]
        values = rng.normal(size=5).round(4)
        scores = weights[:, chosen] @ values
        if i < 40:
            scores[2:] = -np.inf
        y = "xyz"[scores.argmax()] if kind is OnlineClassifier else float(np.floor(abs(4.0 + scores[0])))
        found.append(({f"f{j}": v for j, v in zip(chosen, values.tolist(), strict=True)}, y))
    return found


def trained(model, stream):
    for x, y in stream:
        model.learn_one(x, y)
    return model


def as_arrays(stream):
    """The same rows, columns as they appear."""
    names = list(dict.fromkeys(name for x, _ in stream for name in x))
    return pd.DataFrame([x for x, _ in stream], columns=names).fillna(0.0), np.array([y for _, y in stream])


def said(model, x):
    """All that is said of a dict."""
    if isinstance(model, OnlineRegressor):
        found = model.predict_one(x, with_dist=True)
        return [model.predict_one(x), found.mu, found.sigma]
    mean, variance = model.margin_distribution_one(x)
    return [*model.predict_proba_one(x).values(), *mean.values(), *variance.values()]


def assert_continued_alike(model, others, stream):
    for one in (model, *others):
        trained(one, stream)
    for other in others:
        for name, array in model._rows.learner.state.items():
            np.testing.assert_array_equal(other._rows.learner.state[name], array, err_msg=name)


@pytest.mark.parametrize("settings", OF_CLASSES, ids=str)
def test_classes_of_dicts_are_learned_as_those_of_arrays(settings):
    stream = rows(240, 2, seed=3)
    assert stream[0][1] == "y"  # which is sorted last, so that the learner's numbers are not those of the classes
    X, y = as_arrays(stream)
    ours, arrays = (
        trained(OnlineClassifier(**settings), stream[:180]),
        confidently.OnlineClassifier(**settings, view=None),
    )
    arrays.partial_fit(X[:180].to_numpy(), y[:180], classes=["x", "y"])
    (mean, variance), p = arrays.margin_distribution(X[180:].to_numpy()), arrays.predict_proba(X[180:].to_numpy())
    predicted = arrays.predict(X[180:].to_numpy())
    for k, (x, _) in enumerate(stream[180:]):
        m, v = ours.margin_distribution_one(x)
        assert list(m) == list(v) == ["y"]
        assert m["y"] == pytest.approx(mean[k], rel=1e-9, abs=1e-9)
        assert v["y"] == pytest.approx(variance[k], rel=1e-7)
        assert list(ours.predict_proba_one(x)) == ["x", "y"]
        assert ours.predict_proba_one(x)["y"] == pytest.approx(p[k, 1], rel=1e-7, abs=1e-12)
        assert ours.predict_one(x) == predicted[k]
    assert ours._rows.learner.mistakes == arrays.mistakes_


@pytest.mark.parametrize("settings", [one for one in OF_NUMBERS if "view" not in one], ids=str)
def test_numbers_of_dicts_are_learned_as_those_of_arrays(settings):
    stream = rows(200, kind=OnlineRegressor)
    X, y = as_arrays(stream)
    ours = trained(OnlineRegressor(**settings), stream[:150])
    arrays = confidently.OnlineRegressor(**{"covariance": "diag"} | settings).partial_fit(X[:150], y[:150])
    mean, std = arrays.predict(X[150:], return_std=True)
    tolerance = {"rel": 1e-4, "abs": 1e-4} if settings.get("dtype") == "float32" else {"rel": 1e-8, "abs": 1e-9}
    for k, (x, _) in enumerate(stream[150:]):
        assert said(ours, x) == pytest.approx([mean[k], mean[k], std[k]], **tolerance)
    assert ours.predict_many(X[150:]).to_numpy() == pytest.approx(mean, **tolerance)
    assert list(ours.weights) == list(X.columns[: len(ours.weights)])
    assert list(ours.weights.values()) == pytest.approx(arrays.coef_.tolist(), **tolerance)
    assert list(ours.variances.values()) == pytest.approx(arrays.variance_.tolist(), **tolerance)


@pytest.mark.parametrize("settings", [OF_CLASSES[0], OF_CLASSES[3], {"multiclass": "one-vs-rest"},
                                      {"rule": "logistic", "covariance": "shared"}], ids=str)  # fmt: skip
def test_a_third_class_as_in_a_stream_of_arrays(settings):
    stream = rows()
    X, y = as_arrays(stream)
    X, classes = X.to_numpy(), list(dict.fromkeys(y.tolist()))
    late, labels = int(np.flatnonzero(y == classes[2])[0]), np.array([classes.index(label) for label in y])
    arrays = confidently.OnlineClassifier(**settings, view=None).partial_fit(X[:late], labels[:late], classes=[0, 1])
    p = arrays.partial_fit(X[late:], labels[late:], classes=[0, 1, 2]).predict_proba(X)
    ours = trained(OnlineClassifier(**settings), stream)
    for k, (x, _) in enumerate(stream):
        assert [ours.predict_proba_one(x)[name] for name in classes] == pytest.approx(p[k].tolist(), rel=1e-9)
    np.testing.assert_allclose(list(ours.weights[classes[2]].values()), arrays.coef_[2], rtol=1e-9, atol=1e-12)


@some
def test_batches_give_what_rows_give(kind, settings):
    stream = rows(200, kind=kind)
    X, y = as_arrays(stream)
    one, many = trained(kind(**settings), stream), kind(**settings)
    for first, last in ((0, 1), (1, 120), (120, 200)):
        many.learn_many(X[first:last], pd.Series(y)[first:last])
    if "view" not in settings:  # where absent values are missing
        found = many.predict_many(X[7:20])
        assert found.index.tolist() == list(range(7, 20))
        expected = [one.predict_one(x) for x, _ in stream[7:20]]
        assert found.tolist() == (expected if kind is OnlineClassifier else pytest.approx(expected, rel=1e-9))
    if kind is OnlineClassifier:
        p = many.predict_proba_many(X)
        np.testing.assert_allclose([one.predict_proba_one(x)["z"] for x, _ in stream], p["z"], rtol=1e-9)
        sparse = X.astype(pd.SparseDtype("float64", 0.0))
        pd.testing.assert_frame_equal(many.predict_proba_many(sparse), p)


@each
def test_copies_and_pickles_go_on_alike(kind, settings):
    stream = rows(160, kind=kind)
    model = trained(kind(**settings), stream[:100])
    assert_continued_alike(model, [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)], stream[100:])
    fresh = model.clone()
    assert fresh.predict_one(stream[0][0]) == kind(**settings).predict_one(stream[0][0])
    assert fresh._get_params().keys() == model._get_params().keys()


@pytest.mark.parametrize(
    ("kind", "settings"),
    [(OnlineClassifier, OF_CLASSES[k]) for k in (0, 1, 2)]
    + [(OnlineRegressor, OF_NUMBERS[k]) for k in (0, 1, 5, 8, 10)],
)
def test_saved_models_are_estimators_of_arrays(kind, settings, tmp_path):
    stream = rows(200, kind=kind)
    ours = trained(kind(**settings), stream)
    ours.save(tmp_path / "m.cw")
    same = load(tmp_path / "m.cw")
    X, _ = as_arrays(stream)
    assert same.feature_names_in_.tolist() == list(X.columns)
    if kind is OnlineClassifier:
        p = pd.DataFrame(same.predict_proba(X), columns=same.classes_)
        assert p["z"].tolist() == pytest.approx([ours.predict_proba_one(x)["z"] for x, _ in stream])
    elif "view" not in settings:
        assert same.predict(X).tolist() == pytest.approx([ours.predict_one(x) for x, _ in stream], rel=1e-9)
    with pytest.raises(ValueError, match="not kept with hash_bits"):
        trained(kind(hash_bits=4), stream).save(tmp_path / "h.cw")


@some
def test_unseen_features_have_the_priors_variance(kind, settings):
    if "view" in settings:
        return
    ours = kind(**settings, prior_variance=0.5, fit_intercept=False, calibration=None)
    trained(ours, [({"a": 1.0}, 2.0), *([({"a": -1.0}, 1.0)] if kind is OnlineClassifier else [])])
    known, unseen = (said(ours, x)[-1] for x in ({"a": 1.0}, {"a": 1.0, "b": 2.0, "c": 1.0}))
    if kind is OnlineClassifier:
        assert unseen == pytest.approx(known + 0.5 * 5.0)
    else:
        assert unseen**2 == pytest.approx(known**2 + 2.0**2 * 0.5 * 5.0)  # Sigma is in units of the targets
    assert list(ours.weights) == ["a"]  # asking teaches nothing


def test_before_the_first_row():
    for settings in OF_NUMBERS:  # variance 2: of the feature and of the constant one
        expected = np.exp(2.0 / 2) if settings.get("rule") == "poisson" else 0.0
        assert OnlineRegressor(**settings).predict_one({"a": 1.0}) == pytest.approx(expected)


def test_words_and_missing_values_in_rows_and_frames():
    stream = [({"color": c, "size": s % 3}, c == "red") for s, c in enumerate(["red", "blue", "red", "green"] * 20)]
    ours, frames = trained(OnlineClassifier(), (({**x, "nothing": None}, y) for x, y in stream)), OnlineClassifier()
    frames.learn_many(pd.DataFrame([x for x, _ in stream]), pd.Series([label for _, label in stream]))
    assert list(ours.weights) == ["color=red", "color=blue", "size", "color=green"]
    assert ours.weights == frames.weights
    assert [ours.predict_one({"color": c}) for c in ("red", "blue")] == [True, False]
    x, numbers = {"a": 1.0, "b": float("nan")}, {"a": [1.0, np.nan], "b": [np.nan, 2.0]}
    for frame in (pd.DataFrame(numbers), pd.DataFrame(numbers).assign(c=["d", None])):
        many, one = (
            OnlineClassifier(),
            trained(OnlineClassifier(), zip(frame.to_dict("records"), (True, False), strict=True)),
        )
        many.learn_many(frame, pd.Series([True, False]))
        assert many.weights == one.weights and many.predict_proba_one(x) == one.predict_proba_one({"a": 1.0})


def test_hashed_names_take_bounded_memory():
    ours = OnlineClassifier(hash_bits=6)
    for k in range(1000):
        ours.learn_one({f"word{k}": 1.0}, bool(k % 2))
    assert ours._rows.core.size == 64


def test_weights_of_rows():
    stream, heavy = rows(100, 2), OnlineClassifier("arow")
    for x, label in stream:
        heavy.learn_one(x, label, w=2.5)
        heavy.learn_one(x, label, w=0.0)
    X, y = as_arrays(stream)
    twice = confidently.OnlineClassifier("arow", view=None)
    twice.partial_fit(X.to_numpy(), y, classes=["x", "y"], sample_weight=np.full(100, 2.5))
    np.testing.assert_allclose(list(heavy.weights.values()), twice.coef_[0], rtol=1e-9)


BAD = [
    ({"a": float("inf")}, 1.0, "feature 'a': the value inf is too large"), ({"a": 1e300}, 1.0, "too large"),
    ({"b": float("inf")}, 1.0, "too large"), ({"b": -1e300}, 1.0, "too large"),
    ({"a": [1]}, 1.0, "expected a number, a boolean, a string"),
    ({"a": pd.Timedelta(1)}, 1.0, "feature 'a': expected a date or a time, got Timedelta"),
    ({"a": 1.0}, float("nan"), "targets must be finite|class cannot be nan"),
    ({"a": 1.0}, None, "a class cannot be None"), ({"a": 1.0}, float("inf"), "targets must be finite"),
    ({"a": 1.0}, 1e60, "targets must be finite and at most 1e"),
]  # fmt: skip


@some
def test_what_cannot_be_learned_changes_nothing(kind, settings):
    ours = trained(kind(**settings), [({"b": 2.0}, 0.0), ({"b": 1.0}, 1.0)])
    before = pickle.dumps(ours)
    for x, y, message in BAD:
        if ("targets" in message and "class" not in message and kind is OnlineClassifier) or (
            y is None and kind is OnlineRegressor
        ):
            continue
        for label in (y, "a new class") if kind is OnlineClassifier and y == 1.0 else (y,):
            with pytest.raises(ValueError, match=message):
                ours.learn_one({"new": 1.0, **x}, label)
            assert pickle.dumps(ours) == before
    for weight in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="weight must be in 0 to 1e"):
            ours.learn_one({"new": 1.0}, 1.0, w=weight)
    for row in ([1, 2], None, "ab", 3):
        calls = [lambda row=row: ours.learn_one(row, 1.0), lambda row=row: ours.predict_one(row)]
        for call in calls:
            with pytest.raises(TypeError, match=f"a row is a dict of features, got {type(row).__name__}"):
                call()
    with pytest.raises(ValueError, match="X has 2 rows and y 1"):
        ours.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series([1.0]))
    if kind is OnlineClassifier:
        with pytest.raises(ValueError, match="a class cannot be None"):
            ours.learn_many(pd.DataFrame({"a": [1.0]}), pd.Series([None]))
    with pytest.raises(ValueError, match=r"not finite|too large"):
        ours.learn_many(pd.DataFrame({"a": [np.inf]}), pd.Series([1.0]))
    assert pickle.dumps(ours) == before
    assert ours.predict_one(OrderedDict(b=1.0)) is not None


def test_counts_are_not_negative():
    with pytest.raises(ValueError, match=r"targets must be in 0 to 1e\+50, got -1"):
        OnlineRegressor("poisson").learn_one({"a": 1.0}, -1)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        *((kind, one) for kind in (OnlineClassifier, OnlineRegressor) for one in (
            {"covariance": "kernel"}, {"forget": 1.5}, {"hash_bits": 0}, {"calibration": "yes"}, {"rule": "no"})),
        (OnlineClassifier, {"multiclass": "all"}), (OnlineRegressor, {"rule": "arow"}),
        (OnlineRegressor, {"view": "standard", "hash_bits": 4}),
    ],
)  # fmt: skip
def test_refusals(kind, settings):
    with pytest.raises((ValueError, TypeError)):
        kind(**settings)


def test_bounds_are_kept():
    stream = rows(kind=OnlineRegressor)
    for model in (OnlineRegressor(), OnlineRegressor(bounds=(0.0, 3.0))):
        trained(model, ((x, min(abs(target), 3.0)) for x, target in stream))
        far = {name: -20.0 * abs(value) for name, value in stream[0][0].items()}
        for x in ({**stream[0][0], **far}, {name: -value for name, value in far.items()}):
            assert model.predict_one(x) == model.predict_one(x, with_dist=True).mu >= 0.0
            assert model.bounds is None or model.predict_one(x) <= 3.0
    with pytest.raises(ValueError, match="targets must be in 0 to 3, their bounds"):
        model.learn_one(stream[0][0], 4.0)


# --- beside River's own ----------------------------------------------------------------------------------------------


def score(model, stream, metric):
    return evaluate.progressive_val_score(stream, model, metric).get()


def test_drift_detectors_and_bagging_start_new_ones():
    def turned(n=1200):
        rng = np.random.default_rng(1)
        for i in range(n):
            x = dict(zip("abc", rng.normal(size=3).tolist(), strict=True))
            yield x, (x["a"] > 0) ^ (i > n // 2) ^ (rng.random() < 0.1)

    watched = drift.DriftRetrainingClassifier(OnlineClassifier("arow"), drift.binary.DDM())
    plain = score(OnlineClassifier("arow"), turned(), metrics.Accuracy())
    assert score(watched, turned(), metrics.Accuracy()) > plain + 0.05
    bags = ensemble.ADWINBaggingClassifier(OnlineClassifier("arow"), n_models=3, seed=1)
    assert score(bags, islice(datasets.Phishing(), 300), metrics.Accuracy()) > 0.7


# --- compiled code and products --------------------------------------------------------------------------------------

DENSE = [
    {"covariance": "full"}, {"covariance": "shared"}, {"covariance": "full", "multiclass": "joint"},
    {"covariance": "full", "multiclass": "one-vs-rest"}, {"covariance": "full", "calibration": None},
    {"covariance": "full", "rule": "logistic"}, {"covariance": "full", "rule": "cw_stdev", "average": True},
    {"covariance": "full", "dtype": "float32"},
]  # fmt: skip
COMPILED = [(OnlineClassifier, settings, k) for settings in DENSE for k in (2, 3)]
COMPILED += [(OnlineRegressor, {"covariance": "full", **more}, 3) for more in ({}, {"rule": "arow_eps"})]


@pytest.mark.long("90 dicts of each setting, twice")
@pytest.mark.parametrize(("kind", "settings", "n_classes"), COMPILED)
def test_matrices_are_learned_in_compiled_code_as_in_products(kind, settings, n_classes, monkeypatch):
    """Whichever code trains, at any time; with features and classes that come late, and unseen ones in predictions."""
    compiled, mixed = kind(**settings), kind(**settings)
    for k, (x, y) in enumerate(rows(90, n_classes, kind=kind)):
        monkeypatch.setattr(dicts, "MAX_BOUND", 256)
        compiled.learn_one(x, y, w=0.5 + k % 3)
        monkeypatch.setattr(dicts, "MAX_BOUND", 0 if k % 3 else 256)
        mixed._rows._make_room()
        mixed.learn_one(x, y, w=0.5 + k % 3)
    single = settings.get("dtype") == "float32"
    monkeypatch.setattr(dicts, "MAX_BOUND", 0)
    mixed._rows._make_room()
    assert compiled._rows.as_matrices == single and mixed._rows.as_matrices
    tolerance = {"rel": 1e-3, "abs": 1e-4} if single else {"rel": 1e-7, "abs": 1e-9}
    for k, (x, _) in enumerate(rows(20, n_classes, seed=1, kind=kind)):
        row = x | {"unseen": 2.0, "unseen too": -1.0} if k % 2 else x
        assert said(compiled, row) == pytest.approx(said(mixed, row), **tolerance)
        assert kind is OnlineRegressor or compiled.predict_one(row) == mixed.predict_one(row)
    assert kind is OnlineRegressor or compiled._rows.learner.mistakes == mixed._rows.learner.mistakes


@pytest.mark.parametrize("multiclass", ["one-vs-rest", "joint"])
def test_labels_with_matrices_in_compiled_code_as_in_products(multiclass, monkeypatch):
    settings = {"covariance": "full", "multiclass": multiclass}
    compiled, products = OnlineMultiLabelClassifier(**settings), OnlineMultiLabelClassifier(**settings)
    for model, limit in ((compiled, 256), (products, 0)):
        monkeypatch.setattr(dicts, "MAX_BOUND", limit)
        trained(model, Labelled().take(80))
        assert model._rows.as_matrices == (limit == 0)
    for x, _ in Labelled().take(20):
        for row in (x, x | {"unseen": 1.0}):
            assert compiled.predict_one(row) == products.predict_one(row)
            one, other = compiled.predict_proba_one(row), products.predict_proba_one(row)
            assert [p[True] for p in one.values()] == pytest.approx([p[True] for p in other.values()], rel=1e-6)
