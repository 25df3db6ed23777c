"""AutoClassifier for River: its contract, the choice of members by the first dicts, frames, errors, files."""

import copy
import json
import pickle

import numpy as np
import pytest

river = pytest.importorskip("river", reason="River is not installed")

import pandas as pd  # noqa: E402
from river import checks, datasets, evaluate, metrics, preprocessing  # noqa: E402

import confidently  # noqa: E402
import confidently.river  # noqa: E402
from confidently.data import open_stream  # noqa: E402
from confidently.data.memory.matrix import as_matrix  # noqa: E402
from confidently.river import AutoClassifier, OnlineClassifier  # noqa: E402
from confidently.stack.choice import new_stack  # noqa: E402
from confidently.views.columns import Columns  # noqa: E402
from tests.estimators.test_auto_classifier import NARROW  # noqa: E402


def rows(n=250, seed=0):
    """Rows of a table whose class needs the product of two numbers of different sizes, and a category."""
    generator = np.random.default_rng(seed)
    for _ in range(n):
        a, b, town = generator.normal(), 1e6 * generator.normal(), str(generator.choice(["Rom", "Oslo"]))
        yield {"a": a, "b": b, "town": town, "zero": 0.0}, ("x" if a * b > 0 else "y")


def trained(pairs):
    model = AutoClassifier()
    for x, y in pairs:
        model.learn_one(x, y)
    return model


# features are numbered as they appear, so that sums have another order, and ties are decided otherwise
NOT_HERE = "check_shuffle_features_no_impact"
CHECKS = [check for check in checks.yield_checks(AutoClassifier()) if check.__name__ != NOT_HERE]


@pytest.mark.parametrize("first", [0, *(pytest.param(first, marks=pytest.mark.long) for first in range(1, 5))])
def test_rivers_checks(first):
    """Every fifth: so each check of some data set, and each data set in some check."""
    for check in CHECKS[first::5]:
        check(AutoClassifier())


@pytest.mark.long
def test_it_errs_less_than_a_scaler_before_a_single_learner():
    stream = datasets.ImageSegments().take(1000)
    pairs = list(stream)
    auto = evaluate.progressive_val_score(pairs, AutoClassifier(), metrics.Accuracy())
    single = preprocessing.StandardScaler() | OnlineClassifier()
    assert auto.get() > evaluate.progressive_val_score(pairs, single, metrics.Accuracy()).get() + 0.01


def test_it_is_the_stack_of_the_same_rows():
    pairs = list(rows())
    model = trained(pairs)
    assert list(model.members) == NARROW
    names = list(model._rows.features().names)
    X = np.zeros((len(pairs), len(names)))
    for i, (x, _) in enumerate(pairs):
        for name, value in x.items():
            X[i, names.index(f"{name}={value}" if isinstance(value, str) else name)] = (
                1.0 if isinstance(value, str) else value
            )
    labels = np.array([model._rows.table.get(y) for _, y in pairs], dtype=np.int32)
    stack = new_stack(2, len(names), Columns.named(names))
    stack.prepare(as_matrix(X))
    stack.learn(as_matrix(X), labels)
    assert list(model.members.values()) == pytest.approx(stack.state["mixture.weights"].tolist(), abs=0.05)
    assert (model.members.keys(), model._rows.learner.mistakes < 60) == (dict.fromkeys(stack.names).keys(), True)


@pytest.mark.parametrize("kind", ["AutoClassifier", pytest.param("AutoRegressor", marks=pytest.mark.long)])
def test_of_more_than_a_thousand_rows_it_is_the_estimator_of_a_file(kind, tmp_path):
    """Whose members the first thousand choose, with views by quantiles."""
    pairs = list(rows(1010))
    if kind == "AutoRegressor":
        pairs = [(x, x["a"] + (y == "x")) for x, y in pairs]
    here, there = getattr(confidently.river, kind)(), getattr(confidently, kind)()
    for x, y in pairs:
        here.learn_one(x, y)
    lines = [json.dumps({"label": y} | x) for x, y in pairs]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = {"targets": True} if kind == "AutoRegressor" else {}
    with open_stream(str(tmp_path / "rows.jsonl"), normalize="none", zeros=True, label="label", **options) as stream:
        there.fit_stream(stream)
    assert any("bins" in name for name in here.members)
    assert list(here.members.items()) == list(zip(there.members_, there.weights_.tolist(), strict=True))


def test_words_as_names_are_text():
    generator = np.random.default_rng(0)
    model = AutoClassifier()
    for _ in range(150):
        k = int(generator.integers(0, 2))
        model.learn_one({f"w{2 * j + (k if j < 20 else 0)}": int(j % 3 + 1) for j in generator.integers(0, 400, 50)}, k)
    assert "naive Bayes" in model.members


def test_frames_are_learned_and_predicted_as_their_rows():
    pairs = list(rows(140))
    frame = pd.DataFrame([x for x, _ in pairs])
    one, many = trained(pairs), AutoClassifier()
    for part in (slice(0, 30), slice(30, 140)):
        many.learn_many(frame[part], pd.Series([y for _, y in pairs])[part])
    assert list(many.members.values()) == pytest.approx(list(one.members.values()))
    expected = [one.predict_proba_one(x)["x"] for x, _ in pairs]
    assert many.predict_proba_many(frame)["x"].tolist() == pytest.approx(expected)
    assert many.predict_many(frame).tolist() == [one.predict_one(x) for x, _ in pairs]
    mean, variance = one.margin_distribution_one(pairs[0][0])
    assert list(mean) == list(variance) == [max(one._rows.table.names)]


def test_copies_and_files_continue(tmp_path):
    late = {"a": 1.0, "b": 1.0, "town": "Bonn", "zero": 2.0}, "z"
    pairs = [*rows(60), late, *rows(90, seed=1)]
    model = trained(pairs[:40])
    again = pickle.loads(pickle.dumps(model))
    other = copy.deepcopy(model)
    for x, y in pairs[40:]:
        for one in (model, again, other):
            one.learn_one(x, y)
    probe = pairs[0][0]
    assert model.predict_proba_one(probe) == again.predict_proba_one(probe) == other.predict_proba_one(probe)
    assert set(model.predict_proba_one(probe)) == {"x", "y", "z"}
    model.save(tmp_path / "model")
    loaded = confidently.load(tmp_path / "model")
    assert isinstance(loaded, confidently.AutoClassifier)
    assert list(loaded.members_) == NARROW


def test_a_refused_row_leaves_the_classifier_unchanged():
    for n in (0, 5, 150):
        model = trained(rows(n))
        before, known = model.predict_proba_one({"a": 1.0}), model._rows.core.size
        for bad in ({"a": float("inf"), "new": 1.0}, {"new": [1]}, {"new": 1e101}):
            with pytest.raises(ValueError):
                model.learn_one(bad, "other")
        assert model.predict_proba_one({"a": 1.0}) == before
        assert model._rows.core.size == known


def test_an_unknown_dtype_is_refused():
    with pytest.raises(ValueError, match="dtype: expected one of"):
        AutoClassifier(dtype="int")
