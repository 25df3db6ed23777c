"""Merging: products of Gaussians in closed form, and their invariances."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from confidently import AROW, RULES, OnlineClassifier, load, make_rule, merge
from confidently.covariances.table import COVARIANCES
from confidently.models.gaussian import Gaussian
from confidently.models.merging import MergeError
from tests.covariance_cases import MERGED

ELLIPSOIDS = [name for name, rule in RULES.items() if rule().compiled.rescales]
GAINING = [name for name, rule in RULES.items() if rule.learns_precision and name not in ELLIPSOIDS]
TASKS = [("joint", "arow"), ("one-vs-rest", "arow"), ("softmax", "logistic")]
PRIOR = 0.7


def rows(n, d=6, classes=("a", "b"), seed=0, noise=0.0):
    """Return rows of length about 1, whose first features determine the classes."""
    random = np.random.default_rng(seed)
    y = random.integers(len(classes), size=n)
    X = random.normal(size=(n, d)) / np.sqrt(d)
    X[np.arange(n), y] += 1.0
    return X, np.array(classes)[np.where(random.random(n) < noise, random.integers(len(classes), size=n), y)]


def learned(n=40, seed=0, classes=("a", "b"), **settings):
    X, y = rows(n, classes=classes, seed=seed, noise=0.2)
    return OnlineClassifier(**{"prior_variance": PRIOR, **settings}, view=None).partial_fit(
        X, y, classes=sorted(classes)
    )


def gaussian(classifier):
    """Return mean and covariance of all weights from public attributes: (K, d), and (K, d) or (L, D, D)."""
    intercept = [classifier.intercept_] if classifier.fit_intercept else []
    mean = np.column_stack([classifier.coef_, *intercept])
    covariance = classifier.covariance_
    if not isinstance(covariance, np.ndarray):
        return mean, covariance.diagonal().reshape(mean.shape)
    return mean, covariance.reshape(-1, *covariance.shape[-2:])


def assert_same_gaussian(one, other, rtol=1e-9):
    for a, b in zip(gaussian(one), gaussian(other), strict=True):
        assert_allclose(a, b, rtol=rtol, atol=rtol)


# --- Gaussians -------------------------------------------------------------------------------------------------------


def test_product_of_densities():
    """On a grid, the normalized N(1, .5) N(2, .3) / N(0, 1) has the moments of a + b - base."""
    a, b, base = (Gaussian.of(np.array([m]), np.array([v])) for m, v in ((1.0, 0.5), (2.0, 0.3), (0.0, 1.0)))
    w = np.linspace(-15, 15, 200_001)
    density = np.exp(-((w - 1) ** 2) / 1.0 - (w - 2) ** 2 / 0.6 + w**2 / 2)
    density /= density.sum()
    mean = density @ w
    both = a + b - base
    assert_allclose([both.mean[0], both.covariance[0]], [mean, density @ (w - mean) ** 2], rtol=1e-9)


def test_product_of_matrices():
    random = np.random.default_rng(0)
    (A, B), (m, n) = (c @ c.T for c in random.normal(size=(2, 3, 3))), random.normal(size=(2, 3))
    both = Gaussian.of(m, A) + Gaussian.of(n, B)
    assert_allclose(both.covariance, A @ np.linalg.solve(A + B, B), rtol=1e-8)
    assert_allclose(both.mean, B @ np.linalg.solve(A + B, m) + A @ np.linalg.solve(A + B, n), rtol=1e-8)


# --- closed forms ----------------------------------------------------------------------------------------------------


def product(parts, how):
    """Mean and covariance of the product, or the mean, of densities that have the prior in common."""
    mean, covariance = gaussian(parts[0])
    of_weights = covariance.shape == mean.shape
    precision, shift = 0.0, 0.0
    for own_mean, own in map(gaussian, parts):
        own = np.stack([np.diag(variances) for variances in own]) if of_weights else own
        inverse = np.linalg.inv(own)  # (L, D, D), of means (L, ..., D)
        precision = precision + inverse
        shift = shift + own_mean.reshape(len(own), -1, own.shape[1]) @ inverse
    if how == "mean":
        precision, shift = precision / len(parts), shift / len(parts)
    else:
        precision = precision - (len(parts) - 1) / PRIOR * np.eye(precision.shape[1])
    found = np.linalg.inv(precision)
    moved = (shift @ found).reshape(mean.shape)
    return moved, np.maximum(np.einsum("lii->li", found), 1e-12 * PRIOR) if of_weights else found


PRODUCTS = [
    *(("diag", None, rule, 2) for rule in GAINING),
    *(("full", task, rule, k) for task, rule in TASKS for k in (2, 3)), ("shared", None, "arow", 3),
]  # fmt: skip


@pytest.mark.parametrize("how", ["product", "mean"])
@pytest.mark.parametrize(("covariance", "multiclass", "rule", "k"), PRODUCTS)
def test_a_merge_is_the_product_of_densities(covariance, multiclass, rule, k, how):
    settings = {"covariance": covariance, "multiclass": multiclass, "rule": rule, "classes": ("a", "b", "c")[:k]}
    parts = [learned(seed=seed, **settings) for seed in range(3)]
    for found, expected in zip(gaussian(merge(parts, how=how)), product(parts, how), strict=True):
        assert_allclose(found, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("rule", ["perceptron", "pa1"])
def test_identity(rule):
    """Sigma stays at the prior: changes of the mean are added, or averaged."""
    parts = [learned(seed=seed, rule=rule) for seed in range(3)]
    coef = np.array([part.coef_ for part in parts])
    assert_allclose(merge(parts).coef_, coef.sum(axis=0), rtol=1e-12)
    assert_allclose(merge(parts, how="mean").coef_, coef.mean(axis=0), rtol=1e-12)
    assert_allclose(merge(parts).variance_, PRIOR)


@pytest.mark.parametrize("rule", ELLIPSOIDS)
def test_ellipsoids(rule):
    """Scales are multiplied; without them the Gaussians are merged like any others."""
    parts = [learned(seed=seed, rule=rule) for seed in range(3)]
    scales = [float(part.learner_.state["scale"][0] * part.learner_.state["folded"][0]) for part in parts]
    assert min(abs(np.log(scales))) > 0
    precision = sum(s / gaussian(part)[1] for s, part in zip(scales, parts, strict=True)) - 2 / PRIOR
    shift = sum(s * np.divide(*gaussian(part)) for s, part in zip(scales, parts, strict=True))
    mean, variance = gaussian(merge(parts))
    assert_allclose(mean, shift / precision, rtol=1e-9)
    assert_allclose(variance, np.prod(scales) / precision, rtol=1e-9)


def test_multilabel():
    """The calibration label is merged like any other."""
    random = np.random.default_rng(0)
    parts = []
    for _ in range(2):
        X = random.normal(size=(30, 5))
        parts.append(OnlineClassifier("arow", multiclass="joint", view=None).fit(X, X[:, :3] + 0.3 > 0))
    found, (a, b) = merge(parts).learner_.weights, (part.learner_.weights for part in parts)
    precision = 1 / a[:, 1] + 1 / b[:, 1] - 1
    assert_allclose(found[:, 1], 1 / precision, rtol=1e-12)
    assert_allclose(found[:, 0], (a[:, 0] / a[:, 1] + b[:, 0] / b[:, 1]) / precision, rtol=1e-10)


def test_more_labels_in_one_model():
    """A label unknown to one model is taken from the other; the threshold is merged."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 5))
    few, more = (
        OnlineClassifier("arow", multiclass="joint", view=None).fit(X[part], X[part][:, :k] > 0.3)
        for part, k in ((slice(30), 2), (slice(30, 60), 4))
    )
    merged = merge([few, more])
    assert list(merged.classes_) == [0, 1, 2, 3]
    found, a, b = (model.learner_.weights for model in (merged, few, more))
    assert_allclose(found[..., 3:], b[..., 3:], rtol=1e-10)
    assert_allclose(found[:, 1, :3], 1 / (1 / a[:, 1] + 1 / b[:, 1, :3] - 1), rtol=1e-10)


# --- equal to training -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("multiclass", ["joint", "one-vs-rest"])
@pytest.mark.parametrize("base_rows", [0, 10])
def test_additive_updates(base_rows, multiclass):
    """Merging equals training on all rows where updates add up: AROW with a full covariance and margins below 1.

    Such an update adds z z'/r to the precision and y z/r to the shift, regardless of the Gaussian before.
    """
    classes = ("a", "b") if multiclass == "joint" else ("a", "b", "c")
    X, y = rows(60, classes=classes, noise=1.0)
    settings = {"rule": AROW(r=30.0), "covariance": "full", "multiclass": multiclass, "prior_variance": PRIOR}

    def learn(*parts):
        found = OnlineClassifier(**settings, view=None)
        for part in parts:
            found.partial_fit(X[part], y[part], classes=classes)
        return found

    begun, first, second = slice(0, base_rows), slice(base_rows, 35), slice(35, 60)
    start = [begun] if base_rows else []
    base = learn(begun) if base_rows else None
    merged, whole = merge([learn(*start, first), learn(*start, second)], base), learn(slice(0, 60))
    assert whole.updates_ == 60 * (1 if multiclass == "joint" else 3)
    assert_same_gaussian(merged, whole)
    assert (merged.n_seen_, merged.updates_) == (60, whole.updates_)


@pytest.mark.parametrize("covariance", ["diag", "full"])
@pytest.mark.parametrize("rule", [*GAINING, "pa", "perceptron"])
def test_disjoint_features(rule, covariance):
    """Models without common features merge to the model that is trained on both data sets."""
    X, y = rows(60, d=8, noise=0.1)
    X[:30, 4:], X[30:, :4] = 0, 0
    settings = {"rule": rule, "covariance": covariance, "fit_intercept": False, "prior_variance": PRIOR}
    # without a calibration, which all features share, so that mistakes add up too
    one, other, both = (OnlineClassifier(**settings, view=None, calibration=None) for _ in range(3))
    one.fit(X[:30], y[:30])
    other.fit(X[30:], y[30:])
    both.fit(X, y)
    merged = merge([one, other])
    assert (merged.mistakes_, merged.updates_, merged.n_seen_) == (both.mistakes_, both.updates_, both.n_seen_)
    assert_same_gaussian(merged, both)
    assert_array_equal(merged.predict(X), both.predict(X))


@pytest.mark.parametrize("covariance", MERGED)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("classes", [("a", "b"), ("a", "b", "c")])
def test_an_untrained_model_adds_nothing(rule, covariance, classes):
    multiclass = COVARIANCES[covariance].multiclass or make_rule(rule).multiclass
    model = learned(rule=rule, covariance=covariance, multiclass=multiclass, classes=classes, average=True)
    nothing = OnlineClassifier(**model.get_params(deep=False)).partial_fit(
        np.zeros((1, 6)), [classes[0]], classes=classes, sample_weight=[0.0]
    )
    merged, X = merge([nothing, model]), rows(20, seed=9)[0]
    assert_same_gaussian(merged, model)
    assert_allclose(merged.predict_proba(X), model.predict_proba(X), rtol=1e-7)
    assert merged.n_seen_ == model.n_seen_ + nothing.n_seen_


def test_one_model_is_itself():
    model = learned(average=True, classes=("a", "b", "c"))
    merged = merge([model])
    for name, array in model.learner_.state.items():
        assert_array_equal(merged.learner_.state[name], array)
    merged.partial_fit(*rows(5, classes=("a", "b", "c")))
    assert merged.n_seen_ == model.n_seen_ + 5  # the merged model is a copy
    assert_same_gaussian(merge([model], base=model), model)


@pytest.mark.long("twelve merges of each covariance and rule")
@pytest.mark.parametrize("rule", ["arow", "pa1", "iellip"])
@pytest.mark.parametrize("covariance", MERGED)
@pytest.mark.parametrize("classes", [("a", "b"), ("a", "b", "c")])
def test_order_does_not_matter_beyond_rounding(covariance, classes, rule):
    settings = {"covariance": covariance, "classes": classes, "multiclass": "joint", "rule": rule}
    parts = [learned(seed=seed, **settings) for seed in range(3)]
    first, X = merge(parts), rows(20, seed=9)[0]
    for order in itertools.permutations(parts):
        assert_same_gaussian(merge(order), first)
        assert_allclose(merge(order).predict_proba(X), first.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("covariance", MERGED)
@pytest.mark.parametrize("rule", ["arow", "cw_stdev", "pa1", "iellip"])
def test_base_is_counted_once(rule, covariance):
    """Models continued from a base add what each has gained; unchanged ones add nothing."""
    X, y = rows(90, noise=0.1)
    base = OnlineClassifier(rule, covariance, view=None).fit(X[:30], y[:30])
    unchanged = OnlineClassifier(rule, covariance, view=None).fit(X[:30], y[:30])
    model = OnlineClassifier(rule, covariance, view=None).fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
    merged = merge([unchanged, model, unchanged], base=base)
    assert_same_gaussian(merged, model, rtol=1e-7)
    assert (merged.n_seen_, merged.updates_) == (90, model.updates_)


@pytest.mark.parametrize(("classes", "rule"), [(("a", "b"), "arow"), (("a", "b", "c"), "logistic")])
def test_forgetting_leaves_less_of_the_base(classes, rule):
    """What all rows have left of it, and what each part has gained beyond what its own rows have left."""
    settings, f, (X, y) = {"rule": rule, "view": None, "forget": 0.02}, 0.02, rows(100, classes=classes, noise=0.1)

    def trained(*parts):
        model = OnlineClassifier(**settings).fit(X[:40], y[:40])
        return model.partial_fit(X[parts[0] : parts[1]], y[parts[0] : parts[1]]) if parts else model

    base, models, n = trained(), [trained(40, 60), trained(60, 100)], (20, 40)
    (mean, variance), found = gaussian(base), gaussian(merge(models, base=base))
    left = [(1 - f) ** k / variance + 1 - (1 - f) ** k for k in (60, *n)]
    precision, shift = left[0].copy(), left[0] * mean
    for model, of_base in zip(models, left[1:], strict=True):
        own_mean, own = gaussian(model)
        assert (1 / own - of_base >= -1e-9).all()
        precision += 1 / own - of_base
        shift += own_mean / own - of_base * mean
    assert_allclose(found[1], 1 / precision, rtol=1e-9)
    assert_allclose(found[0], shift / precision, rtol=1e-9, atol=1e-12)
    assert_same_gaussian(merge([base, models[0], base], base=base), models[0])


def test_rows_of_weight_that_forget_more_gain_no_less_than_nothing():
    X, y = rows(300, noise=0.1)
    base = OnlineClassifier(view=None, forget=0.05).fit(X[:100], y[:100])
    parts = []
    for first in (100, 200):
        part = OnlineClassifier(view=None, forget=0.05).fit(X[:100], y[:100])
        parts.append(part.partial_fit(X[first : first + 100], y[first : first + 100], sample_weight=np.full(100, 5.0)))
    merged = merge(parts, base=base)
    assert (gaussian(merged)[1] > 0).all()
    assert merged.score(X, y) > 0.75


def test_average():
    """The mean used to predict, an average over rows, is merged like the last mean, and training continues from it."""
    parts = [learned(seed=seed, average=True) for seed in range(2)]
    merged = merge(parts)
    means, variances = (np.array(found) for found in zip(*map(gaussian, parts), strict=True))
    assert_allclose(gaussian(merged)[0], (means / variances).sum(axis=0) * gaussian(merged)[1], rtol=1e-9)
    before = gaussian(merged)[0]
    X = rows(1, seed=5)[0]
    y = np.setdiff1d(merged.classes_, merged.predict(X))  # so that the rule updates
    state = merged.learner_.weights[:, 0, 0].copy()
    merged.partial_fit(X, y)
    last = merged.learner_.weights[:, 0, 0]
    assert not np.array_equal(last, state)
    expected = (80 * before[0] + np.roll(last, -1)) / 81  # the mean over 80 rows, and one more
    assert_allclose(gaussian(merged)[0][0], expected, rtol=1e-9)


def test_float32():
    parts = [learned(seed=seed, dtype="float32") for seed in range(2)]
    same = [learned(seed=seed) for seed in range(2)]
    assert merge(parts).learner_.weights.dtype == np.float32
    assert_same_gaussian(merge(parts), merge(same), rtol=1e-4)


# --- classes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("multiclass", [None, "joint"])
@pytest.mark.parametrize("covariance", MERGED)
def test_third_class_of_another_model(covariance, multiclass):
    """Merging with an untrained third class equals announcing the class to the model later."""
    settings = {"covariance": covariance, "multiclass": multiclass, "prior_variance": PRIOR}
    model = learned(**settings)
    nothing = OnlineClassifier(**settings, view=None).partial_fit(
        np.zeros((1, 6)), ["c"], classes=["a", "b", "c"], sample_weight=[0.0]
    )
    merged = merge([model, nothing])
    model.partial_fit(np.zeros((1, 6)), ["a"], classes=["a", "b", "c"], sample_weight=[0.0])
    assert list(merged.classes_) == ["a", "b", "c"]
    assert_same_gaussian(merged, model)


@pytest.mark.parametrize(("multiclass", "rule"), TASKS)
def test_different_classes(multiclass, rule):
    one = learned(seed=1, classes=("a", "b"), multiclass=multiclass, rule=rule)
    other = learned(seed=2, classes=("c", "b"), multiclass=multiclass, rule=rule)
    merged = merge([one, other])
    assert list(merged.classes_) == ["a", "b", "c"]
    share = 1 if multiclass == "one-vs-rest" else 2  # of two classes each has half of the covariance
    ((a,), (va,)), ((b,), (vb,)) = gaussian(one), gaussian(other)
    pa, pb = 1 / va, 1 / vb
    expected = [
        [-a / share, (a * pa - b * pb) / (pa + pb - 1 / PRIOR) / share, b / share],
        [va / share, 1 / (pa + pb - 1 / PRIOR) / share, vb / share],
    ]
    # the shared class is positive in one model (of a, b) and negative in the other (of b, c)
    assert_allclose(gaussian(merged), expected, rtol=1e-9)


def test_known_classes_of_several():
    """Two models with three of four classes each: a class is merged from the models that have it."""
    one = learned(seed=1, classes=("a", "b", "c"))
    other = learned(seed=2, classes=("d", "b", "c"))
    merged = merge([one, other])
    assert list(merged.classes_) == ["a", "b", "c", "d"]
    mean, variance = gaussian(merged)
    assert_allclose(mean[[0, 3]], [gaussian(one)[0][0], gaussian(other)[0][2]], rtol=1e-9)
    assert_allclose(variance[1], 1 / (1 / gaussian(one)[1][1] + 1 / gaussian(other)[1][0] - 1 / PRIOR), rtol=1e-9)
    backwards = merge([other, one])
    order = np.argsort(backwards.classes_)
    for a, b in zip(gaussian(backwards), (mean, variance), strict=True):
        assert_allclose(a[order], b, rtol=1e-9, atol=1e-12)


# --- calibration -----------------------------------------------------------------------------------------------------


def test_calibration_is_weighted_by_evidence():
    """The merged calibration minimizes the sum of two log-losses that are quadratic in (log a, b)."""
    from confidently.tasks.calibration import merged, merged_labels

    rng = np.random.default_rng(0)
    knots, count = np.arange(14), 2 * 14

    def of_two(line, size):
        """With a correction whose slope t + w(t) may not fall below .05."""
        values = np.maximum.accumulate(rng.normal(size=14) + 0.95 * knots) - 0.95 * knots
        return np.array([*line, size, size / 2, 200.0, *values, *rng.uniform(1, 50, 14)])

    one, other = of_two([2.0, 0.5, 3.0, 0.4, 2.0], 3.0), of_two([5.0, -1.0, 1.0, -0.2, 4.0], 1.0)
    found = merged([one, other], several=False)

    def slope_at(state):
        a, b, haa, hab, hbb = state[:5]
        hessian = np.array([[a * a * haa, a * hab], [a * hab, hbb]])
        return hessian @ (np.array([np.log(found[0]), found[1]]) - [np.log(a), b])

    assert_allclose(slope_at(one) + slope_at(other), 0, atol=1e-7)
    assert_allclose(merged([one, one, one], several=False), one, rtol=1e-7)
    assert_allclose(found[5:8], [2.0, 1.0, 200.0])
    values, curvature = found[8:].reshape(2, 14)
    weights = np.array([one[22:], other[22:]])
    mean = (weights * [one[8:22], other[8:22]]).sum(axis=0) / weights.sum(axis=0)
    assert_allclose(values, np.maximum.accumulate(mean + 0.95 * knots) - 0.95 * knots, rtol=1e-6, atol=1e-7)
    assert_allclose(curvature, weights.max(axis=0))
    assert len(found) == 8 + count
    temperatures = (np.array([2.0, 3.0, *np.zeros(25)]), np.array([8.0, 3.0 / 16, *np.zeros(25)]))
    # both have the same curvature in log a, so the result is the midpoint
    assert_allclose(merged(temperatures, several=True)[0], 4.0, rtol=1e-7)
    # of labels, predictions that were right are added, and count as those of the learner with the most
    labels = [np.array([*one, 3.0, 8.0]), np.array([*other, 1.0, 4.0])]
    assert_allclose(merged_labels(labels)[-2:], [4.0 * 8 / 12, 8.0])


# --- features --------------------------------------------------------------------------------------------------------


def test_numbered_features_by_column():
    """A model with fewer features is at the prior in the others."""
    X, y = rows(40)
    narrow, wide = OnlineClassifier(view=None).fit(X[:20, :3], y[:20]), OnlineClassifier(view=None).fit(X[20:], y[20:])
    padded = OnlineClassifier(view=None).fit(np.where(np.arange(6) < 3, X[:20], 0), y[:20])
    assert_same_gaussian(merge([narrow, wide]), merge([padded, wide]))
    assert merge([narrow, wide]).n_features_in_ == 6


def test_named_columns_by_name():
    pandas = pytest.importorskip("pandas")
    X, y = rows(40)
    first = OnlineClassifier(view=None).fit(pandas.DataFrame(X[:20, :4], columns=list("pqrs")), y[:20])
    second = OnlineClassifier(view=None).fit(pandas.DataFrame(X[20:, 2:][:, ::-1], columns=list("utsr")), y[20:])
    merged = merge([first, second])
    assert list(merged.feature_names_in_) == list("pqrsut")
    whole = np.zeros((40, 6))
    whole[:20, :4], whole[20:, 2:] = X[:20, :4], X[20:, [4, 5, 3, 2]][:, [3, 2, 0, 1]]
    whole[20:] = 0
    whole[20:, [4, 5, 3, 2]] = X[20:, 2:][:, ::-1]
    parts = [OnlineClassifier(view=None).fit(whole[:20], y[:20]), OnlineClassifier(view=None).fit(whole[20:], y[20:])]
    assert_same_gaussian(merged, merge(parts))


# --- continuing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", MERGED)
def test_saved_and_loaded(tmp_path, covariance):
    merged = merge([learned(seed=seed, covariance=covariance) for seed in range(2)])
    merged.save(tmp_path / "merged.cw")
    again, (X, y) = load(tmp_path / "merged.cw"), rows(30, seed=7)
    for name, array in merged.learner_.state.items():
        assert_array_equal(again.learner_.state[name], array)
    merged.partial_fit(X, y)
    again.partial_fit(X, y)
    assert_array_equal(merged.coef_, again.coef_)


def test_merging_leaves_the_models_unchanged():
    parts = [learned(seed=seed, classes=classes) for seed, classes in enumerate([("a", "b"), ("a", "b", "c")])]
    before = [{name: array.copy() for name, array in part.learner_.state.items()} for part in parts]
    merged = merge(parts)
    merged.partial_fit(*rows(20))
    for part, state in zip(parts, before, strict=True):
        for name, array in state.items():
            assert_array_equal(part.learner_.state[name], array)


# --- rejections ------------------------------------------------------------------------------------------------------

INCOMPATIBLE = [
    ({"rule": AROW(r=1.0)}, "r = 0.1 in model 1, r = 1 in model 2"),
    ({"rule": "pa"}, "rule = arow in model 1, rule = pa in model 2"),
    ({"covariance": "full"}, "covariance = diag in model 1, covariance = full in model 2"),
    ({"prior_variance": 2.0}, "prior_variance = 0.7 in model 1, prior_variance = 2 in model 2"),
    ({"fit_intercept": False}, "fit_intercept = True in model 1, fit_intercept = False in model 2"),
    ({"dtype": "float32"}, "dtype = float64 in model 1, dtype = float32 in model 2"),
    ({"multiclass": "one-vs-rest"}, "multiclass = joint in model 1, multiclass = one-vs-rest in model 2"),
    ({"calibration": None}, "calibration = progressive in model 1, calibration = none in model 2"),
    ({"covariance": "kernel"}, "model 2: a kernel model keeps coefficients of examples"),
]


@pytest.mark.parametrize(("settings", "message"), INCOMPATIBLE, ids=[str(s) for s, _ in INCOMPATIBLE])
def test_errors_name_the_difference(settings, message):
    with pytest.raises(MergeError, match=message):
        merge([learned(), learned(seed=1, **settings)])


def test_invalid_inputs():
    with pytest.raises(MergeError, match="at least one model"):
        merge([])
    with pytest.raises(TypeError, match="not fitted"):
        merge([learned(), OnlineClassifier(view=None)])
    with pytest.raises(TypeError, match="got str"):
        merge(["a.cw"])
    with pytest.raises(ValueError, match="how: expected one of 'product', 'mean', got 'sum'"):
        merge([learned(), learned()], how="sum")
    with pytest.raises(MergeError, match="model 2 and model 1 have no class in common: 0, 1 and '"):
        merge(
            [learned(), OnlineClassifier(prior_variance=PRIOR, view=None).fit(rows(9)[0], [0, 1, 0, 1, 0, 1, 0, 1, 1])]
        )
    X = rows(20)[0]
    with pytest.raises(MergeError, match="labels = one per row in model 1, labels = any number per row in model 2"):
        merge([learned(), OnlineClassifier(prior_variance=PRIOR, view=None).fit(X, X[:, :2] > 0)])


@pytest.mark.parametrize("covariance", MERGED)
def test_models_must_continue_from_the_base(covariance):
    base = learned(40, seed=5, covariance=covariance)
    with pytest.raises(MergeError, match="model 1 was not trained from the base: it has seen 40 rows and model 1 30"):
        merge([learned(n, covariance=covariance) for n in (30, 50)], base=base)
    X, y = rows(20)
    base = OnlineClassifier(covariance=covariance, prior_variance=PRIOR, view=None).fit(20 * X, y)
    with pytest.raises(MergeError, match="more certain of some weights"):
        merge([learned(80, covariance=covariance)], base=base)
    with pytest.raises(MergeError, match="more certain of some weights"):
        merge([learned(80, seed=s, covariance=covariance) for s in range(2)], base=base)


def test_models_that_are_less_certain_than_their_prior():
    parts = [learned(), learned(seed=1)]
    for part in parts:
        part.learner_.state["weights"][:, 1] = 10 * PRIOR
    with pytest.raises(MergeError, match="the models did not start from one prior: merging them would give negative"):
        merge(parts)


def test_models_of_every_rule_can_be_merged():
    for name in RULES:
        parts = [learned(20, seed=seed, rule=make_rule(name)) for seed in range(2)]
        merged = merge(parts)
        assert np.isfinite(merged.coef_).all() and (merged.variance_ > 0).all()
        if name not in ELLIPSOIDS:  # whose scales are multiplied
            assert (merged.variance_ <= np.maximum(*(part.variance_ for part in parts)) * 1.5).all()
