"""The table of covariances: each capability equals the reference implementation or is rejected with its reason, and the
rest of the package compares no names of covariances."""

from copy import deepcopy

import numpy as np
import pytest
from scipy.special import expit

import confidently
from confidently import merge, river
from confidently.covariances.covariance import CAPABILITIES, Covariance
from confidently.covariances.settings import Settings
from confidently.covariances.table import COVARIANCES
from confidently.data.batch import Batch
from confidently.data.memory.matrix import as_matrix
from confidently.estimators.classifier import OnlineClassifier
from confidently.learner.learner import Learner
from confidently.models.explanation import explain
from confidently.models.model import Model
from confidently.rounds.change import advanced, change_of
from confidently.tasks import calibration
from tests.compared_names import compared_names
from tests.covariance_cases import serves
from tests.twins.reference import ReferenceLearner

D, R = 4, 0.5
NAMES = {*COVARIANCES, "identity"}


def rows(n=60, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, D)) * (random.random((n, D)) < 0.8)
    return X, (X @ random.normal(size=D) + 0.3 * random.normal(size=n) > 0).astype(np.int32)


def twin_of(name, X, y, **options):
    twin = ReferenceLearner("arow", {"r": R}, name, "binary", 2, D, **options)
    twin.learn(X, list(y))
    return twin


def sigma_of(twin):
    """Return Sigma as a matrix, the intercept last."""
    return np.column_stack([twin.covariance.times(unit[None], 0)[0] for unit in np.eye(D + 1)])


def classifier_of(name, X, y, **options):
    return OnlineClassifier(confidently.AROW(r=R), name, **options, view=None).fit(X, y)


def with_intercept(X):
    return np.column_stack([X, np.ones(len(X))])


def check_export(name):
    """The probabilities of the frozen predictor follow from the twin's margins."""
    X, y = rows()
    classifier = classifier_of(name, X, y)
    predictor, twin = classifier.to_sklearn(), twin_of(name, X, y)
    one = with_intercept(X)
    mean, variance = one @ twin.weights()[0], np.einsum("ij,jk,ik->i", one, sigma_of(twin), one)
    moderated = calibration.moderated(mean, variance, 1.0)
    state = classifier.learner_.state["calibration"]
    t = state[0] * moderated + state[1]
    expected = expit(t + np.interp(t, np.arange(-6.5, 7.0), state[8:22]))
    np.testing.assert_allclose(predictor.predict_proba(X)[:, 1], expected, rtol=1e-9)


def check_merge(name):
    """Precisions and shifts of two twins add up, the prior counted once."""
    (A, a), (B, b) = rows(seed=1), rows(seed=2)
    merged = merge([classifier_of(name, A, a), classifier_of(name, B, b)])
    twins = [twin_of(name, A, a), twin_of(name, B, b)]
    precisions = [np.linalg.inv(sigma_of(twin)) for twin in twins]
    precision = sum(precisions) - np.eye(D + 1)
    shift = sum(P @ twin.weights()[0] for P, twin in zip(precisions, twins, strict=True))
    np.testing.assert_allclose(
        np.append(merged.coef_, merged.intercept_), np.linalg.solve(precision, shift), rtol=1e-8, atol=1e-10
    )
    variance = np.append(merged.variance_, merged.intercept_variance_)
    np.testing.assert_allclose(variance, np.diag(np.linalg.inv(precision)), rtol=1e-8)


def check_explain(name):
    """A feature adds x_j mu_j to the margin's mean and x_j (Sigma x)_j to its variance."""
    X, y = rows()
    x = X[0] + 0.5
    batch = Batch(x, np.arange(D, dtype=np.int32), np.array([0, D]), D, np.empty(0, dtype=np.int32))
    found = explain(Model(classifier_of(name, X, y).learner_, ["no", "yes"]), batch)
    twin, one = twin_of(name, X, y), np.append(x, 1.0)
    of = {c.feature: c for c in found.contributions}
    ordered = [of[j] for j in range(D)] + [of["(intercept)"]]
    np.testing.assert_allclose([c.mean for c in ordered], one * twin.weights()[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose([c.variance for c in ordered], one * (sigma_of(twin) @ one), rtol=1e-8, atol=1e-12)


def check_sample(name):
    """Many draws have the twin's mean and covariance."""
    X, y = rows()
    drawn = classifier_of(name, X, y).sample_weights(40_000, random_state=0)[:, 0]
    twin = twin_of(name, X, y)
    sigma = sigma_of(twin)
    scale = np.sqrt(np.diag(sigma))
    np.testing.assert_allclose((drawn.mean(axis=0) - twin.weights()[0]) / scale, 0.0, atol=0.03)
    np.testing.assert_allclose(np.cov(drawn.T) / np.outer(scale, scale), sigma / np.outer(scale, scale), atol=0.04)


def check_distribute(name):
    """A worker's change since its base, applied to the base, gives the worker's learner."""
    (A, a), (B, b) = rows(seed=1), rows(seed=2)
    COVARIANCES[name].require("distribute")  # as confidently.distributed.fit does first; test_distributed.py runs it
    base = Model(classifier_of(name, A, a).learner_, [0, 1])
    model = deepcopy(base)
    model.learner.learn(as_matrix(B), b)
    change = change_of(base, deepcopy(model))
    applied = advanced(base, change).learner
    twin = twin_of(name, np.vstack([A, B]), np.append(a, b))
    np.testing.assert_allclose(applied.mean(), twin.weights(), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(applied.variance()[0], np.diag(sigma_of(twin)), rtol=1e-8)


def check_forget(name):
    X, y = rows()
    classifier, twin = classifier_of(name, X, y, forget=0.05), twin_of(name, X, y, forget=0.05)
    np.testing.assert_allclose(classifier.coef_[0], twin.weights()[0, :D], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(classifier.variance_[0], np.diag(sigma_of(twin))[:D], rtol=1e-8)


def check_stream(name):
    """Training on dicts equals the twin."""
    X, y = rows()
    model, twin = river.OnlineClassifier(confidently.AROW(r=R), name), twin_of(name, X, y)
    for label in (0, 1):
        # names the classes and the features in the twin's order
        model.learn_one({str(j): 1.0 for j in range(D)}, label, w=0.0)
    for x, label in zip(X, y.tolist(), strict=True):
        model.learn_one({str(j): value for j, value in enumerate(x.tolist())}, label)
    mean, variance = model.margin_distribution_one({str(j): 1.0 for j in range(D)})
    one = np.ones(D + 1)
    assert mean[1] == pytest.approx(one @ twin.weights()[0], rel=1e-8)
    assert variance[1] == pytest.approx(one @ sigma_of(twin) @ one, rel=1e-8)


CHECKS = {
    "export": check_export, "merge": check_merge, "explain": check_explain, "sample": check_sample,
    "distribute": check_distribute, "forget": check_forget, "stream": check_stream,
}  # fmt: skip


def test_every_capability_is_checked():
    assert tuple(CHECKS) == CAPABILITIES


@pytest.mark.parametrize("name", COVARIANCES)
@pytest.mark.parametrize("capability", CAPABILITIES)
def test_each_capability_equals_the_twin_or_is_rejected(capability, name):
    reason = COVARIANCES[name].unsupported.get(capability)
    if reason is None:
        CHECKS[capability](name)
        return
    with pytest.raises(ValueError) as found:
        CHECKS[capability](name)
    assert reason in str(found.value)


@pytest.mark.parametrize("kind", COVARIANCES.values(), ids=COVARIANCES)
def test_only_capabilities_are_unsupported(kind):
    assert set(kind.unsupported) <= set(CAPABILITIES)
    with pytest.raises(KeyError, match="unknown capability 'fly'"):
        kind.require("fly")


def undefined(kind):
    """Return the methods that a kind does not define, so that its base raises an error."""
    found = {name: getattr(kind, name) for name in dir(kind)}
    return {
        name
        for name, method in found.items()
        if name != "_undefined" and "_undefined" in getattr(getattr(method, "__code__", None), "co_names", ())
    }


WITHOUT_WEIGHTS = {  # called only after require() has ruled out kinds that keep examples
    "compiled", "column_variances", "label_variances", "marginal", "noise", "score_covariance", "unseen_variances",
    "contributions", "flushed", "left_prior", "split", "placed", "grouped", "put", "some_weights", "largest_means",
    "logged_per_entry", "placed_plane", "put_means",
}  # fmt: skip


@pytest.mark.parametrize("name", COVARIANCES)
def test_every_method_of_the_contract_is_defined_or_ruled_out(name):
    kind = COVARIANCES[name]
    row_by_row = kind.is_row_by_row is Covariance.is_row_by_row
    allowed = ({"learn"} if row_by_row else set()) | (WITHOUT_WEIGHTS if kind.keeps_examples else set())
    allowed |= set() if kind.checks_rows else {"moderated"}
    allowed |= set() if kind.finds_best else {"best", "of_columns", "largest_columns"}
    allowed |= {"with_room"} if kind.binds_rows else set()
    if "merge" in kind.unsupported:  # it is never asked, but by its own methods
        allowed |= {"flushed", "left_prior", "split", "placed", "placed_plane", "grouped", "put_means", "put"}
    allowed |= set() if serves(name, "multilabel") else {"label_variances"}
    missing = undefined(kind) - allowed
    assert not missing, f"{kind.__module__}: {kind.__name__} does not define {sorted(missing)}"


@pytest.mark.parametrize("name", [name for name, kind in COVARIANCES.items() if not kind.keeps_examples])
def test_couples_features_says_whether_an_update_changes_features_that_the_row_lacks(name):
    X, y = rows()
    learner, others = classifier_of(name, X, y).learner_, set()
    for j in range(D):
        before = learner.mean()[0, :D]
        learner.learn(as_matrix(np.eye(D)[[j, j]]), np.array([0, 1], dtype=np.int32))
        others |= set(np.flatnonzero(learner.mean()[0, :D] != before)) - {j}
    assert bool(others) == COVARIANCES[name].couples_features


@pytest.mark.parametrize("value", ["unknown", "", None, 3])
def test_unknown_covariances_are_rejected(value):
    with pytest.raises(ValueError, match=f"covariance: expected one of {', '.join(map(repr, COVARIANCES))}"):
        Learner(Settings("arow", value))


def test_no_covariance_is_compared_by_name_outside_their_folder():
    assert list(compared_names("covariances", NAMES)) == []
