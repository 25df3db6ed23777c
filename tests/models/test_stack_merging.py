"""Merging stacks: members as single learners are merged, counts exactly, weights by their curvature."""

from __future__ import annotations

import json
from copy import deepcopy

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from confidently import (
    AROW,
    AutoClassifier,
    AutoRegressor,
    Logistic,
    OnlineClassifier,
    OnlineRegressor,
    load,
    merge,
)
from confidently.data import DataWarning, open_stream
from confidently.models.merged_learner import MergeError
from confidently.stack.members import COUNTERS, WEIGHTS
from confidently.stack.naive_bayes import ENTRIES, FREQUENCY, KNOWN, ROWS
from confidently.stack.number_stack import CALIBRATION, LOGS, OF_MIXTURES, PRODUCTS, mixtures
from confidently.stack.stack import HESSIAN, OWN, SHARE
from confidently.tasks.targets import Targets
from tests.estimators.test_auto_classifier import data, words

GIVEN = [OnlineClassifier(AROW(r=0.5), view="standard"), OnlineClassifier(Logistic(), view="unit,pairs")]


def counts(model):
    return next(member for member in model.learner_.members if not hasattr(member, "view")).state


def test_members_are_merged_as_single_learners():
    X, y = data("cancer")
    halves = [(X[:200], y[:200]), (X[200:], y[200:])]
    whole = merge([AutoClassifier(GIVEN, passes=1, shuffle=False).fit(*half) for half in halves])
    for member, alone in zip(whole.members_.values(), GIVEN, strict=True):
        expected = merge([alone.__class__(**alone.get_params(deep=False)).fit(*half) for half in halves])
        assert (member.decision_function(X) == expected.decision_function(X)).all()
    assert (whole.n_seen_, whole.score(X, y) > 0.95) == (400, True)
    whole.partial_fit(X, y)
    assert whole.n_seen_ == 800


@pytest.mark.parametrize("n_classes", [2, 3])
def test_counts_are_those_of_one_pass_over_all_rows(n_classes):
    X, y = words(n_classes, 600)
    start = AutoClassifier().fit(X[:200], y[:200])
    parts = []
    for first, last in ((200, 400), (400, 600)):
        part = AutoClassifier().fit(X[:200], y[:200])
        parts.append(part.partial_fit(X[first:last], y[first:last]))
    merged, whole = merge(parts, base=start), AutoClassifier().fit(X[:200], y[:200])
    whole.partial_fit(X[200:], y[200:])
    for name in (FREQUENCY, ENTRIES, ROWS, KNOWN):
        assert counts(merged)[name] == pytest.approx(counts(whole)[name])
    assert merged.n_seen_ == 600
    assert merged.score(X, y) > whole.score(X, y) - 0.02
    state, states = merged.learner_.state, [part.learner_.state for part in parts]
    low, high = (f([s[WEIGHTS] for s in states], axis=0) for f in (np.min, np.max))
    assert np.linalg.norm(state[WEIGHTS] - (low + high) / 2) < np.linalg.norm(high - low)
    traces = [[np.trace(window) for window in s[HESSIAN]] for s in (state, *states)]
    assert traces[0] == pytest.approx(np.max(traces[1:], axis=0))
    assert state[SHARE].sum() == pytest.approx(1.0)
    assert state[WEIGHTS] == pytest.approx(state[SHARE] @ state[OWN])
    assert state[COUNTERS][0] == 600


def test_classes_are_aligned_by_name():
    X, y = words(2, 400)
    names = np.array(["b", "a"])[y]
    one, other = AutoClassifier().fit(X[:200], names[:200]), AutoClassifier().fit(X[200:], names[200:])
    merged = merge([one, other])
    assert merged.classes_.tolist() == ["a", "b"]
    assert merged.score(X, names) > 0.95
    X, y = words(3, 600)
    few = y < 2
    merged = merge([AutoClassifier().fit(X[few], y[few]), AutoClassifier().fit(X, y)])
    assert merged.score(X, y) > 0.8


def test_stacks_that_have_chosen_other_members_keep_the_common_ones():
    """Files of few rows have no members of bins, as others do."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(1500, 3))
    y = (X[:, 0] + X[:, 1] ** 2 > 1.0).astype(int)
    many, few = AutoClassifier(passes=1).fit(X[:1100], y[:1100]), AutoClassifier(passes=1).fit(X[1100:], y[1100:])
    common = [name for name in many.members_ if name in few.members_]
    assert 0 < len(common) < len(many.members_)
    merged = merge([many, few])
    assert list(merged.members_) == common
    assert set(merged.learner_.dropped) == (set(many.members_) | set(few.members_)) - set(common)
    assert merged.score(X, y) > 0.9


def test_stacks_of_other_members_and_single_learners_are_refused():
    X, y = data("cancer")
    auto, given, single = AutoClassifier().fit(X, y), AutoClassifier(GIVEN).fit(X, y), OnlineClassifier().fit(X, y)
    with pytest.raises(MergeError, match=r"model 2 has 1\. arow on standard, .*; merge stacks of the same members"):
        merge([auto, given])
    for models in ((auto, single), (single, auto)):
        with pytest.raises(MergeError, match="a single learner"):
            merge(models)
    X, y = words(2, 600)
    start = AutoClassifier().fit(X[:200], y[:200])
    parts = [AutoClassifier().fit(X[:200], y[:200]).partial_fit(X[200:], y[200:]) for _ in range(2)]
    counts(start)[FREQUENCY][:] = 1e6
    with pytest.raises(MergeError, match="a stack has counted less than the base"):
        merge(parts, base=start)


@pytest.mark.long("two stacks of 600 rows")
def test_files_of_stacks_are_merged(ok, tmp_path):
    generator = np.random.default_rng(0)
    paths = []
    for k in range(2):
        lines = ["a,b,label"]
        for _ in range(600):
            a, b = generator.normal(size=2) * [1.0, 1e5]
            lines.append(f"{a:.4f},{b:.1f},{'x' if a * b > 0 else 'y'}")
        data, model = tmp_path / f"{k}.csv", tmp_path / f"{k}.cw"
        data.write_text("\n".join(lines) + "\n")
        ok("train", data, "--label", "label", "--auto", "--passes", 1, "-o", model, "-q")
        paths.append(model)
    result = json.loads(ok("merge", *paths, "-o", tmp_path / "m.cw", "--json"))
    assert result["rows_seen"] == 1200
    assert json.loads(ok("evaluate", tmp_path / "m.cw", tmp_path / "0.csv", "--json"))["error"] < 0.1
    assert load(tmp_path / "m.cw").members == "auto"


# --- regressions ----------------------------------------------------------------------------------------------------

NUMBERS, TARGETS = make_friedman1(4800, n_features=6, noise=1.0, random_state=0)


@pytest.mark.long("six trainings on 1,000 rows and more")
def test_regressions_that_continue_from_one_are_merged_nearly_to_that_of_one_pass():
    def started():
        return AutoRegressor().fit(NUMBERS[:1000], TARGETS[:1000])

    rows = [slice(first, first + 1000) for first in (1000, 2000, 3000)]
    parts = [started().partial_fit(NUMBERS[own], TARGETS[own]) for own in rows]
    merged, whole = merge(parts, base=started()), started().partial_fit(NUMBERS[1000:4000], TARGETS[1000:4000])
    errors = [np.mean((m.predict(NUMBERS[4000:]) - TARGETS[4000:]) ** 2) for m in (merged, whole, *parts)]
    assert errors[0] < 1.03 * errors[1]
    assert errors[0] < min(errors[2:])
    assert merged.n_seen_ == 4000
    low, high = merged.predict_interval(NUMBERS[4000:]).T
    assert np.mean((low <= TARGETS[4000:]) & (TARGETS[4000:] <= high)) == pytest.approx(0.9, abs=0.04)
    assert merged.partial_fit(NUMBERS[4000:], TARGETS[4000:]).n_seen_ == 4800


@pytest.mark.long("stacks of 1,200 rows")
def test_weights_of_merged_regressions_follow_from_the_errors_of_all():
    given = [OnlineRegressor(), OnlineRegressor(view="standard,cosines")]
    parts = [
        AutoRegressor(given, shuffle=False).fit(NUMBERS[own], TARGETS[own]) for own in (slice(400), slice(400, 1200))
    ]
    state, one, other = (model.learner_.state for model in (merge(parts), *parts))
    for k, (first, second) in enumerate(zip(one["mixture.rows"][1:], other["mixture.rows"][1:], strict=True)):
        mean = (one[PRODUCTS][k] + other[PRODUCTS][k]) / (first + second)
        assert state[PRODUCTS][k] / state["mixture.rows"][1 + k] == pytest.approx(mean)
        assert state["mixture.rows"][1 + k] == pytest.approx(max(first, second))
    assert state[WEIGHTS].sum() == pytest.approx(1.0)
    errors = [model[WEIGHTS] @ state[PRODUCTS][-1] @ model[WEIGHTS] for model in (state, one, other)]
    assert errors[0] < 1.002 * min(errors)  # but for the ridge and the shares of windows
    targets = [Targets.of(model[CALIBRATION]) for model in (state, one, other)]
    assert targets[0].squared_errors == targets[1].squared_errors + targets[2].squared_errors
    assert targets[0].weight == 1200


@pytest.mark.long("twelve stacks")
@pytest.mark.long("twelve stacks")
def test_several_numbers_are_merged_one_by_one():
    given = [OnlineRegressor(), OnlineRegressor(view="standard,cosines")]
    several = np.column_stack([TARGETS, NUMBERS[:, 0], -TARGETS])
    first, second, third = slice(200), slice(200, 300), slice(300, 600)

    def merged(targets):
        start = AutoRegressor(given, shuffle=False).fit(NUMBERS[first], targets[first])
        return merge([deepcopy(start).partial_fit(NUMBERS[own], targets[own]) for own in (second, third)], base=start)

    together = merged(several)
    assert together.n_seen_ == 600
    for k, mixture in enumerate(mixtures(together.learner_.state)):
        alone = merged(several[:, k])
        for name in set(OF_MIXTURES) - {LOGS}:
            expected = alone.learner_.state[name]
            assert mixture[name] == pytest.approx(expected, rel=1e-6, abs=1e-9 * np.abs(expected).max()), name
        assert together.predict(NUMBERS)[:, k] == pytest.approx(alone.predict(NUMBERS), rel=1e-6)
    assert together.partial_fit(NUMBERS[third], several[third]).n_seen_ == 900


@pytest.mark.long("stacks of 5,500 rows")
def test_tables_merge_from_a_base_even_if_columns_are_rare(tmp_path):
    """First values that parts have added are those of the part with most of them."""
    X = np.random.default_rng(0).normal(size=(3000, 3))
    lines = [f"{a:.4f},{'' if k % 10 else b},{c if k >= 1000 else ''},{abs(a) < 0.7}" for k, (a, b, c) in enumerate(X)]

    def rows(first, last):
        path = tmp_path / f"{first}.csv"
        path.write_text("\n".join(["a,b,c,label", *lines[first:last]]))
        return str(path)

    def trained(first, last):
        how = {"normalize": "none", "zeros": True, "label": "label"}
        return AutoClassifier().fit_stream(open_stream(rows(first, last), **how))

    start = trained(0, 1000)
    start.save(tmp_path / "start")
    parts = [load(tmp_path / "start").partial_fit_stream([rows(*own)]) for own in ((1000, 1500), (1500, 2500))]
    for merged in (merge(parts, base=start), merge(parts[::-1], base=start)):
        ours, theirs = (model.members_["logistic on products of 6 bins"].learner_.state for model in (merged, parts[1]))
        for name in ("bins.knots", "bins.counts", "bins.sample"):
            assert (ours[name] == theirs[name]).all()
        assert merged.n_seen_ == 2500
    apart = trained(0, 1000), trained(1000, 2000)
    with pytest.raises(MergeError, match=r"cosines of ranks: .* merge models with equal settings"):
        merge(apart)


def test_regressions_whose_bins_differ_are_refused():
    parts = [AutoRegressor().fit(NUMBERS[own], TARGETS[own]) for own in (slice(1200), slice(1200, 2400))]
    with pytest.raises(MergeError, match="ridge on bins: the first 1,000 values of 6 columns differ"):
        merge(parts)


@pytest.mark.long("stacks of 6,000 rows")
def test_members_on_quantiles_need_a_common_base_and_are_left_out_without_one():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(4800, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    start = AutoClassifier().partial_fit(X[:1200], y[:1200], classes=[0, 1])
    of_bins = [name for name in start.members_ if "bins" in name or "ranks" in name]
    assert len(of_bins) == 3
    one, other = (AutoClassifier().partial_fit(X[k : k + 1200], y[k : k + 1200], classes=[0, 1]) for k in (1200, 2400))
    with pytest.warns(DataWarning, match="no members on quantiles of first rows: .* on bins"):
        merged = merge([one, other])
    assert list(merged.members_) == [name for name in start.members_ if name not in of_bins]
    assert set(of_bins) == set(merged.learner_.dropped)
    assert merged.n_seen_ == 2400
    assert merged.score(X[3600:], y[3600:]) > 0.9
    again = [deepcopy(start).partial_fit(X[k : k + 1200], y[k : k + 1200]) for k in (1200, 2400)]
    assert set(of_bins) <= set(merge(again, base=start).members_)
