"""Progressive validation against the plain loop that it stands for."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import t
from sklearn.base import clone
from sklearn.linear_model import Perceptron
from sklearn.metrics import log_loss

from confidently import MIRA, AutoClassifier, OnlineClassifier, progressive_validation
from confidently.data import open_stream
from confidently.data.memory.matrix import as_matrix
from confidently.stack.stack import SHARE
from tests.command_line import rows
from tests.estimators.test_auto_classifier import words
from tests.stack.test_stack_against_twins import learn_as_a_member
from tests.twins.stack import Mixture


def noisy(n=120, d=6, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (X[:, :classes] + 0.5 * rng.standard_normal((n, classes))).argmax(axis=1)


def by_hand(model, X, y, classes):
    """Mistakes, updates and log-loss after every row, by asking before learning."""
    mistakes, updates, losses = [], [], []
    total = 0.0
    for i in range(len(y)):
        p = model.predict_proba(X[i : i + 1])[0] if i else np.full(len(classes), 1 / len(classes))
        total += -np.log(p[list(classes).index(y[i])])
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=classes)
        mistakes.append(model.mistakes_)
        updates.append(model.updates_)
        losses.append(total)
    return np.array(mistakes), np.array(updates), np.array(losses)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("multiclass", ["joint", "one-vs-rest"])
def test_one_run_is_the_plain_loop(classes, multiclass):
    X, y = noisy(classes=classes)
    model = OnlineClassifier("cw_stdev", multiclass=multiclass, view=None)
    expected = by_hand(OnlineClassifier("cw_stdev", multiclass=multiclass, view=None), X, y, range(classes))
    curve = progressive_validation(model, csr_matrix(X), y, at=1)
    assert not hasattr(model, "classes_")
    np.testing.assert_array_equal(curve.rows, np.arange(1, len(y) + 1))
    for found, wanted in zip((curve.mistakes, curve.updates, curve.log_loss), expected, strict=True):
        np.testing.assert_allclose(found[0], wanted, rtol=1e-9)
    np.testing.assert_array_equal(curve.error[0], expected[0] / curve.rows)
    np.testing.assert_array_equal(curve.models[0].coef_, progressive_validation(model, X, y, at=50).models[0].coef_)


def uncorrected(learner, row):
    """Return the scores of a row on the scale of log-odds, without the correction, which stacks do not use."""
    (seen,) = learner.seen_rows(as_matrix(row))
    return learner.logits_of(seen)[0]


@pytest.mark.parametrize("classes", [2, 3])
def test_a_run_of_a_stack_is_the_loop_over_its_members_and_their_mixture(classes):
    """Members that learn alone, row by row, and the twin of the mixture; each row is predicted first."""
    X, y = noisy(n=90, d=3, classes=classes)
    X[:, 1] *= 1e3
    members = [
        OnlineClassifier(view="standard"), OnlineClassifier("logistic", prior_variance=3.0, view="standard"),
        OnlineClassifier("probit", view="unit"), OnlineClassifier(covariance="shared", view="standard"),
    ]  # fmt: skip
    learners = [member._new_learner(3, classes, False, None) for member in members]
    mixture, losses, wrong = Mixture(len(members)), [], []
    for i in range(len(y)):
        row = X[i : i + 1]
        logits = np.zeros((len(members), 1 if classes == 2 else classes))
        if i:
            logits = np.array([uncorrected(learner, row) for learner in learners])
        wrong.append(i == 0 or mixture.probabilities(logits).argmax() != y[i])  # the first row is a tie
        losses.append(-np.log(mixture.learn(logits, y[i], 1.0)))
        for learner in learners:
            learn_as_a_member(learner, as_matrix(row), y[i : i + 1].astype(np.int32))
    curve = progressive_validation(AutoClassifier(members), X, y, at=1)
    np.testing.assert_array_equal(curve.mistakes[0], np.cumsum(wrong))
    np.testing.assert_allclose(curve.log_loss[0], np.cumsum(losses), rtol=1e-6)
    np.testing.assert_array_equal(curve.updates[0, -1], sum(learner.updates for learner in learners))
    np.testing.assert_allclose(curve.models[0].weights_, mixture.weights, rtol=1e-6)
    assert curve.models[0].predict(X).shape == y.shape


def test_the_first_rows_of_each_order_choose_the_members_of_a_stack():
    """By a thousand rows, not by one: of words there are many. ``fit`` counts the same mistakes, in each order."""
    X, y = words(rows=1200)
    curve = progressive_validation(AutoClassifier(), X, y, permutations=2, passes=2, at=600, random_state=3)
    rng = np.random.RandomState(3)
    for run in range(2):
        order = np.concatenate([rng.permutation(1200), rng.permutation(1200)])
        model = AutoClassifier(shuffle=False).fit(X[order[:1200]], y[order[:1200]])
        assert list(curve.models[run].members_) == list(model.members_)
        assert "naive Bayes" in model.members_
        assert curve.mistakes[run, 1] == model.mistakes_
    assert (curve.log_loss[:, 0] < 600 * np.log(2)).all()
    assert np.isnan(curve.log_loss[:, 2:]).all()
    given = AutoClassifier([OnlineClassifier("arow"), OnlineClassifier("probit", view="idf")], shuffle=False)
    assert progressive_validation(given, X, y).mistakes[0, -1] == given.fit(X, y).mistakes_


@pytest.mark.long("hundreds of rows one by one")
def test_labels_cost_the_sum_over_labels():
    X, _ = noisy()
    Y = (X[:, :3] > 0.3).astype(int)
    curve = progressive_validation(OnlineClassifier(), X, Y, at=1)
    model, total = OnlineClassifier().partial_fit(X[:1], Y[:1]), 3 * np.log(2)
    for i in range(1, len(Y)):
        p = model.predict_proba(X[i : i + 1])[0]
        total += sum(log_loss([Y[i, k]], [[1 - p[k], p[k]]], labels=[0, 1]) for k in range(3))
        model.partial_fit(X[i : i + 1], Y[i : i + 1])
    assert curve.log_loss[0, -1] == pytest.approx(total)
    assert curve.mistakes[0, -1] == model.mistakes_


def test_permutations_are_the_same_for_every_model_and_new_in_every_pass():
    X, y = noisy()
    options = {"permutations": 3, "passes": 2, "at": [120, 50, 170], "random_state": 5}
    curve = progressive_validation(OnlineClassifier("pa"), X, y, **options, n_jobs=2)
    assert curve.rows.tolist() == [50, 120, 170, 240]
    rng = np.random.RandomState(5)
    for run in range(3):
        order = np.concatenate([rng.permutation(120), rng.permutation(120)])
        model = OnlineClassifier("pa")
        for first, last, k in ((0, 50, 0), (50, 120, 1), (120, 170, 2), (170, 240, 3)):
            model.partial_fit(X[order[first:last]], y[order[first:last]], classes=[0, 1])
            assert model.updates_ == curve.updates[run, k]
            if k < 2:  # later passes leave the calibration as it is and count by the sign
                assert model.mistakes_ == curve.mistakes[run, k]
    assert np.isfinite(curve.log_loss[:, :2]).all()
    assert np.isnan(curve.log_loss[:, 2:]).all()


def test_band_is_students():
    X, y = noisy()
    curve = progressive_validation(OnlineClassifier(), X, y, permutations=4, random_state=0)
    last = curve.error[:, -1]
    low, high = t.interval(0.9, 3, last.mean(), last.std(ddof=1) / 2)
    assert [edge[-1] for edge in curve.band("error", 0.9)] == pytest.approx([low, high])
    single = progressive_validation(OnlineClassifier(), X, y)
    assert np.isnan(single.band()).all()
    assert len(single.rows) in range(50, 101)


def test_mira_and_other_classifiers_run_too():
    X, y = noisy(classes=3)
    curve = progressive_validation(MIRA(), X, y, at=40)
    assert curve.mistakes[0, -1] == MIRA().fit(X, y).mistakes_
    peer, wrong = Perceptron(random_state=0), 1
    peer.partial_fit(X[:1], y[:1], classes=range(3))
    for i in range(1, len(y)):
        wrong += int(peer.predict(X[i : i + 1])[0] != y[i])
        peer.partial_fit(X[i : i + 1], y[i : i + 1])
    found = progressive_validation(Perceptron(random_state=0), X, y, at=40)
    assert found.mistakes[0, -1] == wrong
    assert np.isnan(found.updates).all()


@pytest.mark.long("a stack predicted before each of 300 rows")
@pytest.mark.parametrize("at", [7, [5, 100, 299], None])
@pytest.mark.parametrize("model", [OnlineClassifier("arow"), AutoClassifier()])
def test_stream_is_the_matrix(tmp_path, model, at):
    path = tmp_path / "data.svm"
    path.write_text(rows(labels=("-1", "+1")))
    with open_stream(path, chunk_bytes=1000) as stream:
        curve = progressive_validation(model, stream, at=at)
    with open_stream(path) as stream:
        batch = next(iter(stream))
    X = csr_matrix((batch.values, batch.columns, batch.start))
    names = [label.name for label in batch.new_labels]
    y = np.array(names)[batch.labels]
    expected = progressive_validation(model, X, y, at=300 if at is None else at)
    np.testing.assert_array_equal(curve.rows, expected.rows)
    np.testing.assert_array_equal(curve.mistakes, expected.mistakes)
    np.testing.assert_array_equal(curve.updates, expected.updates)
    np.testing.assert_allclose(curve.log_loss, expected.log_loss)


@pytest.mark.parametrize(("options", "message"), [
    ({"passes": 0}, "passes"), ({"permutations": 0}, "permutations"), ({"at": 0}, "at must"),
    ({"at": [999]}, "at must"),
])  # fmt: skip
def test_bad_parameters(options, message):
    X, y = noisy()
    with pytest.raises(ValueError, match=message):
        progressive_validation(OnlineClassifier(), X, y, **options)


def test_a_confidence_that_is_no_fraction():
    X, y = noisy()
    with pytest.raises(ValueError, match="confidence must be between 0 and 1, got 95"):
        progressive_validation(OnlineClassifier(), X, y).band(confidence=95)


@pytest.mark.parametrize(("model", "at", "error", "message"), [
    (Perceptron(), None, TypeError, "a stream needs an OnlineClassifier or an AutoClassifier, got Perceptron"),
    (OnlineClassifier(), 0, ValueError, "at must be a number of rows >= 1, got 0"),
])  # fmt: skip
def test_bad_parameters_of_streams(tmp_path, model, at, error, message):
    (tmp_path / "data.svm").write_text(rows(30))
    with open_stream(tmp_path / "data.svm") as stream, pytest.raises(error, match=message):
        progressive_validation(model, stream, at=at)


def test_rows_without_labels_are_refused():
    with pytest.raises(ValueError, match="needs y"):
        progressive_validation(OnlineClassifier(), np.eye(2))


def turned(n=4000, turn=2500, noise=0.1):
    """Rows whose label is whether the first column is positive, from row ``turn`` on whether it is not."""
    generator = np.random.default_rng(0)
    X, wrong = generator.standard_normal((n, 3)), generator.random(n) < noise
    return X, ((X[:, 0] > 0) ^ (np.arange(n) >= turn) ^ wrong).astype(int)


@pytest.mark.long("stacks of 4,000 rows")
def test_the_mixture_of_a_stack_has_a_curve_too():
    X, y = turned()
    (mixture,) = progressive_validation(AutoClassifier(), X, y, at=[500, 2500, 3000, 4000]).mixtures
    assert mixture.windows == (50, 300, 5000)
    assert mixture.rows.tolist() == [500, 2500, 3000, 4000]
    for k, n in enumerate(mixture.rows):
        if n < 2500:  # of fewer than 1,000 rows, fewer members are chosen
            continue
        learner = progressive_validation(AutoClassifier(), X[:n], y[:n], at=n).models[0].learner_
        np.testing.assert_array_equal(mixture.shares[k], learner.state[SHARE])
        weights = dict(zip(learner.names, learner.member_weights, strict=True))
        assert weights == {name: w for name, w in zip(mixture.members, mixture.weights[k], strict=True) if w}
    assert learner.dropped
    assert (mixture.weights[-1, [mixture.members.index(name) for name in learner.dropped]] == 0).all()
    assert mixture.moves == learner.moves.spans()
    first, last = mixture.moves[0]
    assert 2500 < first < 2700
    assert last is None or last > 2700
    short = mixture.shares[:, :2].sum(axis=1)
    assert short[2] > short[1] + 0.3


def test_weights_are_grouped_by_what_members_forget():
    X, y = turned()
    members = [OnlineClassifier(), OnlineClassifier("logistic", forget=0.02), OnlineClassifier("probit", forget=0.1)]
    members.append(OnlineClassifier("probit", view="standard"))
    (mixture,) = progressive_validation(AutoClassifier(members), X, y, at=1000).mixtures
    parts = mixture.by_memory()
    assert list(parts) == [0.1, 0.02, 0.0]
    sizes = np.abs(mixture.weights)
    np.testing.assert_allclose(parts[0.02], sizes[:, 1] / sizes.sum(axis=1))
    np.testing.assert_allclose(parts[0.0], (sizes[:, 0] + sizes[:, 3]) / sizes.sum(axis=1))
    np.testing.assert_allclose(sum(parts.values()), 1.0)
    assert parts[0.0][-1] < parts[0.0][1]


def test_the_mixture_over_a_stream_is_that_over_the_matrix(tmp_path):
    X, y = turned(3300)
    model = AutoClassifier([OnlineClassifier(view="standard"), OnlineClassifier("logistic", view="unit", forget=0.01)])
    lines = ["a,b,c,y", *(",".join(map(repr, [*x, int(label)])) for x, label in zip(X.tolist(), y, strict=True))]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    with open_stream(tmp_path / "rows.csv", label="y", normalize="none", zeros=True) as stream:
        (found,) = progressive_validation(model, stream).mixtures
    (expected,) = progressive_validation(model, X, y, at=1000).mixtures
    assert found.members == expected.members
    assert found.moves == expected.moves
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_allclose(found.shares, expected.shares, rtol=1e-6)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-6)


@pytest.mark.long("four stacks")
def test_single_learners_and_label_sets_have_no_mixture():
    X, y = turned(60)
    assert progressive_validation(OnlineClassifier(), X, y).mixtures is None
    assert progressive_validation(AutoClassifier(), X, np.column_stack([y, 1 - y])).mixtures is None
    assert progressive_validation(Perceptron(), X[:50], y[:50]).mixtures is None
    assert len(progressive_validation(AutoClassifier(), X, y, permutations=2).mixtures) == 2


@pytest.mark.parametrize("model", [OnlineClassifier(), AutoClassifier()])
def test_frames_and_files_are_run_over_as_streams(tmp_path, model):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"town": generator.choice(["Delft", "Lund"], 400), "age": generator.normal(40, 10, 400)})
    frame["bought"] = (frame["town"] == "Delft") & (frame["age"] > 35)
    frame.to_parquet(tmp_path / "rows.parquet")
    found = progressive_validation(model, frame, "bought", at=100)
    assert found.rows.tolist() == [100, 200, 300, 400]
    for data in (tmp_path / "rows.parquet", frame.to_dict("records")):
        np.testing.assert_array_equal(progressive_validation(model, data, "bought", at=100).mistakes, found.mistakes)
    assert found.mistakes[0, -1] == clone(model).fit_stream(frame, label="bought").mistakes_
    with pytest.raises(TypeError, match="a stream needs an OnlineClassifier or an AutoClassifier, got MIRA"):
        progressive_validation(MIRA(), frame, "bought")
