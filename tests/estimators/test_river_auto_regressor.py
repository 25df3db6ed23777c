"""AutoRegressor for River: its contract, the stack of the same rows, frames, errors, files."""

import copy
import pickle

import numpy as np
import pytest

river = pytest.importorskip("river", reason="River is not installed")

import pandas as pd  # noqa: E402
from river import checks, datasets, evaluate, metrics, preprocessing  # noqa: E402

import confidently  # noqa: E402
from confidently.data.memory.matrix import as_matrix  # noqa: E402
from confidently.river import AutoRegressor, OnlineRegressor  # noqa: E402
from confidently.stack.number_choice import new_number_stack  # noqa: E402
from confidently.views.columns import Columns  # noqa: E402


def rows(n=250, seed=0):
    """Rows whose number needs the product of two columns of different sizes, and a category."""
    generator = np.random.default_rng(seed)
    for _ in range(n):
        a, b, town = generator.normal(), 1e6 * generator.normal(), str(generator.choice(["Rom", "Oslo"]))
        yield {"a": a, "b": b, "town": town}, float(1e-6 * a * b + (town == "Rom") + 0.1 * generator.normal())


def trained(pairs):
    model = AutoRegressor()
    for x, y in pairs:
        model.learn_one(x, y)
    return model


# features are numbered as they appear, so that sums have another order
NOT_HERE = "check_shuffle_features_no_impact"
CHECKS = [check for check in checks.yield_checks(AutoRegressor()) if check.__name__ != NOT_HERE]


@pytest.mark.parametrize("first", [0, *(pytest.param(first, marks=pytest.mark.long) for first in range(1, 10))])
def test_rivers_checks(first):
    for check in CHECKS[first::10]:
        check(AutoRegressor())


def test_it_is_nearer_than_a_scaler_before_a_single_learner():
    pairs = list(datasets.TrumpApproval().take(400))
    auto = evaluate.progressive_val_score(pairs, AutoRegressor(), metrics.MAE())
    single = preprocessing.StandardScaler() | OnlineRegressor(covariance="full")
    assert auto.get() < 0.8 * evaluate.progressive_val_score(pairs, single, metrics.MAE()).get()


def test_it_is_the_stack_of_the_same_rows():
    pairs = list(rows(150))
    model = trained(pairs)
    names = list(model._rows.features().names)
    X = np.zeros((len(pairs), len(names)))
    for i, (x, _) in enumerate(pairs):
        for name, value in x.items():
            column = names.index(f"{name}={value}" if isinstance(value, str) else name)
            X[i, column] = 1.0 if isinstance(value, str) else value
    y = np.array([y for _, y in pairs])
    stack = new_number_stack(1, len(names), Columns.named(names))
    stack.prepare(as_matrix(X[:100]))
    stack.learn(as_matrix(X), np.zeros(len(y), np.int32), targets=y[:, None])
    assert list(model.members) == stack.names
    assert list(model.members.values()) == pytest.approx(stack.state["mixture.weights"].tolist(), abs=1e-6)
    mean = model.predict_one(pairs[0][0])
    assert mean == pytest.approx(stack.numbers(as_matrix(X[:1]))[0, 0])
    found = model.predict_one(pairs[0][0], with_dist=True)
    deviation = stack.number_deviations(stack.number_distribution(as_matrix(X[:1])))[0, 0]
    assert (found.mu, found.sigma) == (pytest.approx(mean), pytest.approx(deviation, rel=1e-6))


def test_frames_are_learned_and_predicted_as_their_rows():
    pairs = list(rows(140))
    frame, targets = pd.DataFrame([x for x, _ in pairs]), pd.Series([y for _, y in pairs])
    one, many = trained(pairs), AutoRegressor()
    assert many.predict_many(frame).tolist() == [0.0] * 140
    for part in (slice(0, 30), slice(30, 140)):
        many.learn_many(frame[part], targets[part])
    assert list(many.members.values()) == pytest.approx(list(one.members.values()))
    assert many.predict_many(frame).tolist() == pytest.approx([one.predict_one(x) for x, _ in pairs])
    with pytest.raises(ValueError, match="X has 140 rows and y 139 targets"):
        many.learn_many(frame, targets[1:])


def test_copies_and_files_continue(tmp_path):
    pairs = [*rows(60), ({"a": 1.0, "b": 1.0, "town": "Bonn"}, 3.0), *rows(90, seed=1)]
    model = trained(pairs[:40])
    again, other = pickle.loads(pickle.dumps(model)), copy.deepcopy(model)
    for x, y in pairs[40:]:
        for one in (model, again, other):
            one.learn_one(x, y)
    probe = pairs[0][0]
    assert model.predict_one(probe) == again.predict_one(probe) == other.predict_one(probe)
    model.save(tmp_path / "model")
    loaded = confidently.load(tmp_path / "model")
    assert isinstance(loaded, confidently.AutoRegressor)
    assert list(loaded.members_) == list(model.members)


def test_a_refused_row_leaves_the_regressor_unchanged():
    for n in (0, 5, 150):
        model = trained(rows(n))
        before, known = model.predict_one({"a": 1.0}), model._rows.core.size
        for bad, y in (({"a": float("inf"), "new": 1.0}, 1.0), ({"new": [1]}, 1.0), ({"new": 1.0}, float("inf"))):
            with pytest.raises(ValueError):
                model.learn_one(bad, y)
        with pytest.raises(ValueError, match="weight"):
            model.learn_one({"new": 1.0}, 1.0, w=-1.0)
        assert model.predict_one({"a": 1.0}) == before
        assert model._rows.core.size == known


def test_before_the_first_row_it_predicts_0():
    found = AutoRegressor().predict_one({"a": 1.0}, with_dist=True)
    assert (found.mu, found.sigma) == (0.0, 1.0)
