"""River's contract, and that dicts are learned as arrays are."""

import copy
import pickle
from collections import OrderedDict
from itertools import islice

import numpy as np
import pytest

river = pytest.importorskip("river", reason="River is not installed")

import pandas as pd  # noqa: E402
from river import checks, datasets, drift, evaluate, linear_model, metrics, preprocessing  # noqa: E402

import confidently  # noqa: E402
from confidently.estimators.river import OnlineClassifier, OnlineMultiLabelClassifier  # noqa: E402
from confidently.learner import dicts  # noqa: E402
from tests.covariance_cases import OVER_WEIGHTS  # noqa: E402

SETTINGS = [
    {},
    {"rule": "cw_stdev", "multiclass": "one-vs-rest", "dtype": "float32"},
    {"rule": "pa1", "average": True},
    {"rule": "iellip", "prior_variance": 0.1},
    {"covariance": "full"},
    {"covariance": "shared", "fit_intercept": False},
    {"covariance": "full", "multiclass": "joint"},
    {"forget": 0.01},
    {"calibration": None},
    {"rule": "logistic"},
    {"rule": "logistic", "calibration": None, "prior_variance": 100.0},
    *({"covariance": name} for name in OVER_WEIGHTS if name not in ("diag", "full", "shared")),
]


class Labelled:
    """Stands in for River's data set of music, which is downloaded: multilabel rows."""

    def take(self, n):
        rng = np.random.default_rng(0)
        for _ in range(n):
            x = dict(zip("abcdefgh", rng.normal(size=8).round(3).tolist(), strict=True))
            yield x, {"sum": x["a"] + x["b"] > 0, "c": x["c"] > 0, "d": x["d"] > 0.5}


@pytest.mark.parametrize("settings", [
    SETTINGS[4], *(pytest.param(SETTINGS[k], marks=pytest.mark.long) for k in (0, 1, 7, 9)),
])  # fmt: skip
def test_rivers_checks(settings):
    checks.check_estimator(OnlineClassifier(**settings))


@pytest.mark.parametrize("settings", [
    {}, *(pytest.param(given, marks=pytest.mark.long) for given in ({"covariance": "full"}, {"calibration": None})),
])  # fmt: skip
def test_rivers_checks_of_multilabel_classifiers(settings, monkeypatch):
    monkeypatch.setattr(datasets, "Music", Labelled)
    model = OnlineMultiLabelClassifier(**settings)
    for check in checks.yield_checks(model):
        # labels that were alike so far score alike; dense sums in another order decide otherwise between them
        if not ("covariance" in settings and check.__name__ == "check_shuffle_features_no_impact"):
            check(model.clone())


def rows(n=300, n_classes=3, seed=0):
    """Sparse dicts with classes by name, the third of which comes late."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(n_classes, 12))
    found = []
    for i in range(n):
        chosen = rng.choice(12, size=5, replace=False)
        values = rng.normal(size=5).round(4)
        scores = weights[:, chosen] @ values
        if i < 40:
            scores[2:] = -np.inf
        found.append(({f"f{j}": v for j, v in zip(chosen, values.tolist(), strict=True)}, "xyz"[scores.argmax()]))
    return found


def as_arrays(stream, names):
    """The same rows as an array, columns in the order of ``names``."""
    column = {name: k for k, name in enumerate(names)}
    X = np.zeros((len(stream), len(names)))
    for i, (x, _) in enumerate(stream):
        for name, value in x.items():
            X[i, column[name]] = value
    return X, np.array([y for _, y in stream])


def order_of(stream):
    """Features as they appear."""
    return list(dict.fromkeys(name for x, _ in stream for name in x))


@pytest.mark.parametrize("settings", SETTINGS)
def test_dicts_are_learned_as_arrays_are(settings):
    stream = rows(n_classes=2)
    assert stream[0][1] == "y"  # which is sorted last, so that the learner's numbers are not those of the classes
    names, classes = order_of(stream), ["x", "y"]
    X, y = as_arrays(stream, names)
    ours = OnlineClassifier(**settings)
    for x, label in stream[:200]:
        ours.learn_one(x, label)
    arrays = confidently.OnlineClassifier(**settings, view=None)
    arrays.partial_fit(X[:200], y[:200], classes=classes)
    mean, variance = arrays.margin_distribution(X[200:])
    p, predicted = arrays.predict_proba(X[200:]), arrays.predict(X[200:])
    for k, (x, _) in enumerate(stream[200:]):
        m, v = ours.margin_distribution_one(x)
        assert list(m) == list(v) == ["y"]
        assert m["y"] == pytest.approx(mean[k], rel=1e-9, abs=1e-9)
        assert v["y"] == pytest.approx(variance[k], rel=1e-7)
        assert list(ours.predict_proba_one(x)) == classes
        assert ours.predict_proba_one(x)["y"] == pytest.approx(p[k, 1], rel=1e-7, abs=1e-12)
        assert ours.predict_one(x) == predicted[k]
    assert ours._rows.learner.mistakes == arrays.mistakes_


@pytest.mark.parametrize(
    "settings", [{}, {"multiclass": "one-vs-rest"}, {"rule": "logistic"}, {"rule": "logistic", "covariance": "shared"}]
)
def test_a_third_class_as_in_a_stream_of_arrays(settings):
    stream = rows()
    names = order_of(stream)
    X, y = as_arrays(stream, names)
    arrays = confidently.OnlineClassifier(**settings, view=None)
    classes = list(dict.fromkeys(y.tolist()))
    late = int(np.flatnonzero(y == classes[2])[0])
    number = {name: k for k, name in enumerate(classes)}
    labels = np.array([number[label] for label in y])
    arrays.partial_fit(X[:late], labels[:late], classes=[0, 1]).partial_fit(X[late:], labels[late:], classes=[0, 1, 2])
    ours = OnlineClassifier(**settings)
    for x, label in stream:
        ours.learn_one(x, label)
    p = arrays.predict_proba(X)
    for k, (x, _) in enumerate(stream):
        assert [ours.predict_proba_one(x)[name] for name in classes] == pytest.approx(p[k].tolist(), rel=1e-9)
    by_name = ours.weights[classes[2]]
    np.testing.assert_allclose([by_name[name] for name in names], arrays.coef_[2], rtol=1e-9, atol=1e-12)


def test_batches_give_what_rows_give():
    stream = rows()
    one, many = OnlineClassifier(), OnlineClassifier()
    for x, label in stream:
        one.learn_one(x, label)
    frame = pd.DataFrame([x for x, _ in stream]).fillna(0.0)
    labels = pd.Series([label for _, label in stream])
    for first, last in ((0, 1), (1, 120), (120, 300)):
        many.learn_many(frame[first:last], labels[first:last])
    np.testing.assert_allclose(
        [one.predict_proba_one(x)["z"] for x, _ in stream], many.predict_proba_many(frame)["z"], rtol=1e-9
    )
    found = many.predict_many(frame[7:20])
    assert found.tolist() == [one.predict_one(x) for x, _ in stream[7:20]]
    assert found.index.tolist() == list(range(7, 20))
    sparse = frame.astype(pd.SparseDtype("float64", 0.0))
    pd.testing.assert_frame_equal(many.predict_proba_many(sparse), many.predict_proba_many(frame))


def test_words_in_rows_and_frames_are_categories():
    stream = [({"color": c, "size": s % 3}, c == "red") for s, c in enumerate(["red", "blue", "red", "green"] * 20)]
    ours, frames = OnlineClassifier(), OnlineClassifier()
    for x, label in stream:
        ours.learn_one({**x, "nothing": None}, label)
    frames.learn_many(pd.DataFrame([x for x, _ in stream]), pd.Series([label for _, label in stream]))
    assert list(ours.weights) == ["color=red", "color=blue", "size", "color=green"]
    assert ours.weights == frames.weights
    assert [ours.predict_one({"color": c}) for c in ("red", "blue")] == [True, False]


def test_unknown_features_have_the_priors_variance():
    ours = OnlineClassifier(prior_variance=0.5, fit_intercept=False)
    ours.learn_one({"a": 1.0}, True)
    ours.learn_one({"a": -1.0}, False)
    known, unknown = (ours.margin_distribution_one(x)[1][True] for x in ({"a": 1.0}, {"a": 1.0, "b": 2.0, "c": 1.0}))
    assert unknown == pytest.approx(known + 0.5 * 5.0)
    frame = pd.DataFrame([{"a": 1.0, "b": 2.0, "c": 1.0}])
    one = ours.predict_proba_one(frame.iloc[0].to_dict())[True]
    assert ours.predict_proba_many(frame)[True][0] == pytest.approx(one)
    assert list(ours.weights) == ["a"]  # asking teaches nothing


def test_copies_and_pickles_go_on_alike():
    stream = rows()
    ours = OnlineClassifier("cw_stdev", forget=0.001)
    for x, label in stream[:150]:
        ours.learn_one(x, label)
    others = [pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)]
    for model in (ours, *others):
        for x, label in stream[150:]:
            model.learn_one(x, label)
    for other in others:
        for name, array in ours._rows.learner.state.items():
            np.testing.assert_array_equal(other._rows.learner.state[name], array, err_msg=name)
    clone = ours.clone()
    assert clone.predict_one(stream[0][0]) is None
    assert clone.forget == 0.001


def test_saved_models_are_classifiers_of_arrays(tmp_path):
    stream = rows()
    ours = OnlineClassifier()
    for x, label in stream:
        ours.learn_one(x, label)
    ours.save(tmp_path / "m.cw")
    classifier = confidently.load(tmp_path / "m.cw")
    assert classifier.feature_names_in_.tolist() == order_of(stream)
    frame = pd.DataFrame([x for x, _ in stream]).fillna(0.0)[classifier.feature_names_in_]
    p = pd.DataFrame(classifier.predict_proba(frame), columns=classifier.classes_)
    assert p["z"].tolist() == pytest.approx([ours.predict_proba_one(x)["z"] for x, _ in stream])
    with pytest.raises(ValueError, match="not kept with hash_bits"):
        hashed = OnlineClassifier(hash_bits=4)
        for x, label in stream:
            hashed.learn_one(x, label)
        hashed.save(tmp_path / "h.cw")


def test_hashed_names_take_bounded_memory():
    ours = OnlineClassifier(hash_bits=6)
    for k in range(1000):
        ours.learn_one({f"word{k}": 1.0}, bool(k % 2))
    assert ours._rows.core.size == 64


def test_weights_of_rows():
    heavy, twice = OnlineClassifier("arow"), confidently.OnlineClassifier("arow", view=None)
    for x, label in rows(100, 2):
        heavy.learn_one(x, label, w=2.5)
        heavy.learn_one(x, label, w=0.0)
    X, y = as_arrays(rows(100, 2), order_of(rows(100, 2)))
    twice.partial_fit(X, y, classes=["x", "y"], sample_weight=np.full(100, 2.5))
    np.testing.assert_allclose(list(heavy.weights.values()), twice.coef_[0], rtol=1e-9)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ({"a": float("inf")}, "feature 'a': the value inf is too large"),
        ({"a": 1e300}, "too large"),
        ({"a": [1]}, "expected a number, a boolean, a string"),
        ({"a": pd.Timedelta(1)}, "feature 'a': expected a date or a time, got Timedelta"),
    ],
)
def test_what_cannot_be_learned_changes_nothing(x, message):
    for settings in ({}, {"covariance": "full"}):
        ours = OnlineClassifier(**settings)
        ours.learn_one({"b": 1.0}, True)
        before = pickle.dumps(ours)
        with pytest.raises(ValueError, match=message):
            ours.learn_one({"new": 1.0, **x}, "a new class")
        with pytest.raises(ValueError, match=message):
            ours.learn_one({"new": 1.0, **x}, True)
        assert pickle.dumps(ours) == before


@pytest.mark.parametrize(
    "settings",
    [
        {"covariance": "kernel"},
        {"forget": 1.5},
        {"hash_bits": 0},
        {"multiclass": "all"},
        {"calibration": "yes"},
        {"rule": "no"},
    ],
)
def test_refusals(settings):
    with pytest.raises((ValueError, TypeError)):
        OnlineClassifier(**settings)


@pytest.mark.parametrize("name", ["infinite", None, float("nan")])
def test_frames_and_classes_are_checked(name):
    ours = OnlineClassifier()
    if name == "infinite":
        with pytest.raises(ValueError, match="not finite or too large"):
            ours.learn_many(pd.DataFrame({"a": [1.0, np.inf]}), pd.Series([True, False]))
    else:
        with pytest.raises(ValueError, match="class cannot be"):
            ours.learn_one({"a": 1.0}, name)


def test_missing_values_in_frames_are_those_of_dicts():
    x, numbers = {"a": 1.0, "b": float("nan")}, {"a": [1.0, np.nan], "b": [np.nan, 2.0]}
    for frame in (pd.DataFrame(numbers), pd.DataFrame(numbers).assign(c=["d", None])):
        many, one = OnlineClassifier(), OnlineClassifier()
        many.learn_many(frame, pd.Series([True, False]))
        for row, label in zip(frame.to_dict("records"), (True, False), strict=True):
            one.learn_one(row, label)
        assert many.weights == one.weights and many.predict_proba_one(x) == one.predict_proba_one({"a": 1.0})


def test_in_pipelines_as_good_as_rivers_own():
    def accuracy(classifier):
        model = preprocessing.StandardScaler() | classifier
        return evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get()

    assert accuracy(OnlineClassifier("arow")) > accuracy(linear_model.PAClassifier()) + 0.02


def test_drift_detectors_start_a_new_one():
    def turned(n):
        rng = np.random.default_rng(1)
        for i in range(n):
            x = dict(zip("abc", rng.normal(size=3).tolist(), strict=True))
            yield x, (x["a"] > 0) ^ (i > n // 2) ^ (rng.random() < 0.1)

    def accuracy(model):
        return evaluate.progressive_val_score(turned(3000), model, metrics.Accuracy()).get()

    plain = OnlineClassifier("arow")
    watched = drift.DriftRetrainingClassifier(OnlineClassifier("arow"), drift.binary.DDM())
    assert accuracy(watched) > accuracy(plain) + 0.1


def test_bagging_with_adwin():
    from river import ensemble

    model = ensemble.ADWINBaggingClassifier(OnlineClassifier("arow"), n_models=3, seed=1)
    score = evaluate.progressive_val_score(islice(datasets.Phishing(), 600), model, metrics.Accuracy())
    assert score.get() > 0.75


DENSE = [
    {"covariance": "full"}, {"covariance": "shared"}, {"covariance": "full", "multiclass": "joint"},
    {"covariance": "full", "multiclass": "one-vs-rest"}, {"covariance": "full", "calibration": None},
    {"covariance": "full", "rule": "logistic"}, {"covariance": "full", "rule": "cw_stdev", "average": True},
    {"covariance": "full", "dtype": "float32"},
]  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("settings", DENSE)
def test_matrices_are_learned_in_compiled_code_as_in_products(settings, n_classes, monkeypatch):
    """Whichever code trains, at any time; with features and classes that come late, and unseen ones in predictions."""
    stream = rows(200, n_classes)
    compiled, mixed = OnlineClassifier(**settings), OnlineClassifier(**settings)
    for k, (x, label) in enumerate(stream):
        monkeypatch.setattr(dicts, "MAX_BOUND", 256)
        compiled.learn_one(x, label)
        monkeypatch.setattr(dicts, "MAX_BOUND", 0 if k % 3 else 256)
        mixed._rows._make_room()
        mixed.learn_one(x, label)
    single = settings.get("dtype") == "float32"
    assert compiled._rows.as_matrices == single
    tolerance = {"rel": 1e-3, "abs": 1e-4} if single else {"rel": 1e-7, "abs": 1e-9}
    for k, (x, _) in enumerate(rows(30, n_classes, seed=1)):
        row = x | {"unseen": 2.0, "unseen too": -1.0} if k % 2 else x
        monkeypatch.setattr(dicts, "MAX_BOUND", 0)
        mixed._rows._make_room()
        assert compiled.predict_proba_one(row) == pytest.approx(mixed.predict_proba_one(row), **tolerance)
        assert compiled.predict_one(row) == mixed.predict_one(row)
        for one, other in zip(compiled.margin_distribution_one(row), mixed.margin_distribution_one(row), strict=True):
            assert one == pytest.approx(other, **tolerance)
    assert compiled._rows.learner.mistakes == mixed._rows.learner.mistakes


@pytest.mark.parametrize("multiclass", ["one-vs-rest", "joint"])
def test_labels_with_matrices_in_compiled_code_as_in_products(multiclass, monkeypatch):
    settings = {"covariance": "full", "multiclass": multiclass}
    compiled, products = OnlineMultiLabelClassifier(**settings), OnlineMultiLabelClassifier(**settings)
    for model, limit in ((compiled, 256), (products, 0)):
        monkeypatch.setattr(dicts, "MAX_BOUND", limit)
        for x, y in Labelled().take(150):
            model.learn_one(x, y)
        assert model._rows.as_matrices == (limit == 0)
    for x, _ in Labelled().take(20):
        for row in (x, x | {"unseen": 1.0}):
            assert compiled.predict_one(row) == products.predict_one(row)
            one, other = compiled.predict_proba_one(row), products.predict_proba_one(row)
            assert {k: p[True] for k, p in one.items()} == pytest.approx(
                {k: p[True] for k, p in other.items()}, rel=1e-6
            )


def test_a_matrix_that_leaves_the_range_changes_nothing():
    arow = OnlineClassifier("arow", covariance="full")
    for x, label in rows(50, 2):
        arow.learn_one(x, label)
    before = copy.deepcopy(arow._rows.learner.state)
    for bad in ({"f1": float("inf")}, {"f1": 1e300}, {"new": -float("inf")}):
        with pytest.raises(ValueError, match="is too large; scale it down"):
            arow.learn_one(bad, "x")
    for name, array in before.items():
        np.testing.assert_array_equal(array, arow._rows.learner.state[name])
    assert arow._rows.core.size == 12


@pytest.mark.parametrize("row", [[1, 2], None, "ab", 3])
def test_a_row_that_is_no_dict_is_one_error(row):
    model = OnlineClassifier()
    for x, y in [({"a": 1.0}, "spam"), ({"a": 2.0}, "ham")]:
        model.learn_one(x, y)
    for call in (
        lambda: model.learn_one(row, "spam"),
        lambda: model.predict_one(row),
        lambda: model.predict_proba_one(row),
    ):
        with pytest.raises(TypeError, match=f"a row is a dict of features, got {type(row).__name__}"):
            call()
    assert model.predict_one(OrderedDict(a=1.0)) in ("spam", "ham")
