"""Rows in random order need nothing that follows what moves; a stream that comes after them begins it."""

from __future__ import annotations

from copy import deepcopy
from functools import lru_cache

import numpy as np
import pytest

from confidently import AutoClassifier, AutoRegressor, OnlineClassifier, _core, load, merge
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.stack.choice import choose
from confidently.stack.following import LONGEST, SHARE, Later, begun, copied, lasting
from confidently.stack.members import COUNTERS, ROWS, WEIGHTS
from confidently.stack.number_stack import PRODUCTS
from confidently.stack.stack import HESSIAN, OWN, Stack
from confidently.views.columns import ZERO, Columns
from confidently.views.cosines import Cosines
from tests.stack.test_stack_against_twins import recipes
from tests.twins import stack as twins

N = 200
OF_MIXTURE = (WEIGHTS, SHARE, OWN, HESSIAN, ROWS, COUNTERS)
KINDS = ("classes", "two classes", "labels", "numbers", "several numbers")


def rows_of(kind, n=N, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 6))
    X = X if "numbers" in kind else (X > 0.3) * 1.0  # indicators have members that are fast
    scores = X @ generator.normal(size=(6, 4)) + generator.normal(size=(n, 4))
    y = {
        "classes": scores.argmax(axis=1), "two classes": (scores[:, 0] > 0).astype(int), "labels": scores > 1.0,
        "numbers": scores[:, 0], "several numbers": scores[:, :2],
    }[kind]  # fmt: skip
    return X, y.astype(int) if kind == "labels" else y


def new(kind, **options):
    return (AutoRegressor if "numbers" in kind else AutoClassifier)(**options)


def answers(model, X):
    return model.predict(X) if isinstance(model, AutoRegressor) else model.predict_proba(X)


@lru_cache
def trained(kind, n=150):
    X, y = rows_of(kind)
    return new(kind).fit(X[:n], y[:n])


def fitted(kind, n=150):
    """Return a model of the first rows, which may be changed."""
    return deepcopy(trained(kind, n))


def forgets(model):
    return [member.settings.forget for member in model.learner_.members if isinstance(member, Learner)]


def assert_same(one, other):
    """Both save the same arrays; those in memory have room for more features, as many as there was reason for."""
    a, b = one.as_model(), other.as_model()
    assert a.learner.header() == b.learner.header()
    assert a.packed().keys() == b.packed().keys()
    for name, array in a.packed().items():
        np.testing.assert_array_equal(array, b.packed()[name], err_msg=name)


@pytest.mark.parametrize("awake", [[2], [1, 2], [0, 1, 2]])
@pytest.mark.parametrize("columns", [1, 3])
def test_windows_without_share_are_at_rest(awake, columns):
    generator, members = np.random.default_rng(0), 3
    logits = generator.normal(size=(members, N, columns))
    labels = generator.integers(0, max(columns, 2), N).astype(np.int32)
    w = generator.choice([0.5, 1.0, 3.0], N)
    stack = Stack(recipes()[:1] * members)
    weights, share, own, hessian, *others = (stack.state[name] for name in OF_MIXTURE)
    share[:] = np.isin(np.arange(3), awake) / len(awake)
    before = own.copy()
    _core.mixture_learn(weights, share, own, hessian, *others, logits, labels, w, None)
    twin = twins.Mixture(members, rows=[(50, 300, 5000)[i] for i in awake])
    for i in range(N):
        twin.learn(logits[:, i], labels[i], w[i])
    asleep = np.setdiff1d(np.arange(3), awake)
    assert weights == pytest.approx(twin.weights, rel=1e-6)
    assert share[awake] == pytest.approx(twin.share, rel=1e-6)
    assert own[awake] == pytest.approx(np.array([window.weights for window in twin.windows]), rel=1e-6)
    assert not share[asleep].any()
    assert not hessian[asleep].any()
    np.testing.assert_array_equal(own[asleep], before[asleep])


@pytest.mark.long("a stack of each kind, three times")
@pytest.mark.parametrize("kind", KINDS)
def test_a_shuffled_fit_follows_nothing_until_a_stream_comes(kind):
    X, y = rows_of(kind)
    model = fitted(kind)
    share = model.learner_.state[SHARE]
    assert not any(forgets(model))
    np.testing.assert_array_equal(share, np.broadcast_to(LONGEST, share.shape))
    before, found = deepcopy(model), answers(model, X)
    model.learner_.follow()
    assert any(forgets(model))
    assert (model.learner_.state[SHARE] > 0).all()
    assert answers(model, X) == pytest.approx(found, abs=0.2 if "numbers" in kind else 1e-12)
    after = deepcopy(model)
    after.partial_fit(X[150:], y[150:])
    before.partial_fit(X[150:], y[150:])
    assert_same(before, after)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("begin", ["in order", "partial_fit", "given members"])
def test_streams_follow_from_their_first_row(kind, begin):
    X, y = rows_of(kind)
    if begin == "in order":
        model = new(kind, shuffle=False).fit(X, y)
    elif begin == "partial_fit":
        classes = {} if "numbers" in kind or kind == "labels" else {"classes": np.unique(y)}
        model = new(kind).partial_fit(X, y, **classes)
    elif kind in ("classes", "two classes"):
        model = new(kind, members=[OnlineClassifier(), OnlineClassifier(forget=0.01)]).fit(X, y)
        np.testing.assert_array_equal(model.learner_.state[SHARE], LONGEST)  # members that were given stay
        model.partial_fit(X, y)
        assert len(model.members_) == 2
    else:
        return
    assert any(forgets(model))
    assert (model.learner_.state[SHARE] > 0).all()
    assert model.learner_.later is None


@pytest.mark.long("a stack of each kind, rows one by one")
@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_model_continues_as_the_model_itself(kind, tmp_path):
    X, y = rows_of(kind)
    model = fitted(kind)
    model.save(tmp_path / "model.cw")
    loaded = load(tmp_path / "model.cw")
    assert loaded.learner_.later == model.learner_.later != []
    assert_same(loaded, model)
    model.partial_fit(X[150:], y[150:])
    for first, last in ((150, 151), (151, 160), (160, 200)):
        loaded.partial_fit(X[first:last], y[first:last])
    assert_same(loaded, model)
    loaded.save(tmp_path / "model.cw")
    assert_same(load(tmp_path / "model.cw"), model)


@pytest.mark.parametrize("kind", ["two classes", "numbers"])
def test_shorter_windows_begin_with_as_many_rows_as_they_have(kind):
    stack = fitted(kind).learner_
    stack.follow()
    state = stack.state
    if kind == "numbers":
        np.testing.assert_allclose(state[ROWS][1:], np.minimum((50, 300, 5000), state[ROWS][-1]))
        mean = state[PRODUCTS] / state[ROWS][1:, None, None]
    else:
        np.testing.assert_array_equal(state[OWN], np.broadcast_to(state[OWN][-1], state[OWN].shape))
        mean = state[HESSIAN] / np.minimum((50, 300, 5000), state[ROWS])[:, None, None]
    for one in mean[:-1]:
        np.testing.assert_allclose(one, mean[-1], rtol=1e-9, atol=1e-12)


def test_an_error_undoes_the_beginning():
    X, _ = rows_of("classes")
    model, before = fitted("classes"), trained("classes")
    with pytest.raises(ValueError, match="label"):
        model.learner_.learn(as_matrix(X), np.full(N, 9, np.int32))
    assert_same(model, before)


@pytest.mark.parametrize(
    ("covariance", "view"), [("diag", None), ("full", None), ("full", "cosines"), ("full", "pairs")]
)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("rule", ["arow", "logistic"])
def test_a_copy_that_forgets_begins_as_its_twin(rule, covariance, view, n_classes):
    X, y = rows_of("classes", 700)
    y = y % n_classes
    view = Cosines(n=110) if view == "cosines" else view  # products of matrices, in blocks that rows leave open
    model = OnlineClassifier(rule, covariance, view=view).fit(X[:600], y[:600])
    learner, matrix = model.learner_, as_matrix(X)
    copy = copied(learner, 0.1)
    assert copy.settings.forget == 0.1
    np.testing.assert_allclose(copy.decision(matrix), learner.decision(matrix), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(copy.top_margins(matrix)[1], learner.top_margins(matrix)[1], rtol=1e-9)
    before = learner.decision(matrix).copy()
    copy.learn(as_matrix(X[600:]), y[600:].astype(np.int32))
    np.testing.assert_array_equal(learner.decision(matrix), before)
    assert copy.top_margins(matrix)[1].mean() > learner.top_margins(matrix)[1].mean()


def test_every_member_that_forgets_has_a_twin():
    X, _ = rows_of("classes", 1000)
    columns = Columns.alike(6, ZERO)
    plans = choose(as_matrix(X), columns, 3)
    found, later = lasting(plans)
    assert len(later) == sum(plan.forget > 0 for plan in plans)
    assert not any(plan.forget for plan in found)
    assert {one.twin for one in later} <= {plan.name for plan in found}
    assert len({plan.name for plan in found}) == len(found)


def test_where_a_twin_was_dropped_the_nearest_begins():
    stack = fitted("two classes").learner_
    first, gone = stack.later[0], Later("a member that never was", "no rule", 0.5)
    stack.drop(stack.names.index(first.twin))
    found = {one: k for k, one in begun([*stack.later, gone], stack.names, stack.members)}
    widths = {k: member.width for k, member in enumerate(stack.members) if isinstance(member, Learner)}
    settings = {k: stack.members[k].settings for k in widths}
    alike = [k for k in widths if (settings[k].rule.name, settings[k].covariance) == ("logistic", "diag")]
    assert first.kind == "logistic diag"
    assert widths[found[first]] == min(widths[k] for k in alike)
    assert widths[found[gone]] == min(widths.values())
    assert len({(k, one.forget) for one, k in found.items()}) == len(found)


@pytest.mark.parametrize("kind", ["classes", "labels"])
def test_stacks_that_follow_and_such_that_do_not_merge(kind):
    X, y = rows_of(kind)
    base, one, other = trained(kind), fitted(kind), fitted(kind)
    both = merge([one, other], base=base)
    assert both.learner_.later == base.learner_.later
    one.partial_fit(X[150:170], y[150:170])
    other.partial_fit(X[170:], y[170:])
    merged = merge([one, other], base=base)
    assert merged.learner_.names == one.learner_.names
    assert merged.learner_.later is None
    assert merged.n_seen_ == one.n_seen_ + 30
    mixed = merge([one, base])
    assert mixed.learner_.names == one.learner_.names
    assert not any(forgets(base))


def test_what_moves_is_followed_after_a_shuffled_fit():
    X, y = rows_of("two classes", 2000)
    model = new("two classes").fit(X[:1000], y[:1000])
    model.partial_fit(X[1000:1500], 1 - y[1000:1500])  # labels are turned
    assert model.score(X[1500:], 1 - y[1500:]) > 0.65
