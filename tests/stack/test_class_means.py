"""Class means: the numbers of linear discriminant analysis, row by row, and what stacks of embeddings do with them."""

from copy import deepcopy

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp
from scipy.stats import multivariate_normal
from sklearn.metrics import roc_auc_score

from confidently import AutoClassifier, load, merge
from confidently.covariances.examples import Examples, Progressive
from confidently.data.batch import Batch
from confidently.data.memory.matrix import as_matrix
from confidently.models.stack_explanation import explain_stack
from confidently.rounds.tasks import Job, learn_rows
from confidently.stack.class_means import PRECISION, RARITIES, ROWS, ClassMeans
from tests.tasks.test_novelty import counted

D = 40


def embeddings(n, classes=5, seed=0, spread=0.5):
    """Rows of unit norm around one direction per class, and a direction that all share."""
    random = np.random.default_rng(seed)
    directions = np.random.default_rng(99).standard_normal((classes, D)) / np.sqrt(D)
    y = random.integers(0, classes, n)
    X = 0.5 / np.sqrt(D) + directions[y] + spread * random.standard_normal((n, D)) / np.sqrt(D) * 2
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def trained(X, y, n_classes=5, member=None, weight=None):
    member = ClassMeans(n_classes, X.shape[1]) if member is None else member
    examples = Examples(as_matrix(X), y.astype(np.int32), weight=weight)
    with member.begin(examples) as transaction:
        member.train(examples, transaction, True, Progressive(None, np.zeros((len(y), member.columns))))
    return member


def twin(X, y, X_new, n_classes):
    """The scores by the formula of the class, from all rows at once."""
    n, d = np.bincount(y, minlength=n_classes), X.shape[1]
    means = np.array([X[y == k].mean(axis=0) if n[k] else np.zeros(d) for k in range(n_classes)])
    residuals, g, factor = X - means[y], X.mean(axis=0), len(y) + 5 * d
    precision = np.linalg.inv(2.5 * np.eye(d) + residuals.T @ residuals)
    q = factor * np.einsum("kd,de,ke->k", means - g, precision, means - g)
    v = (2 * d + sum(n[k] * q[k] - d for k in range(n_classes) if n[k])) / (len(y) + 10)
    r = n / (n + d / max(v, d / 100))
    f = factor * r * ((X_new - g) @ precision @ (means - g).T) - r**2 * q / 2
    f += 0.1 * np.log((n + 1) / (len(y) + n_classes))
    f[:, n == 0] = np.minimum(f[:, n > 0].min(axis=1, keepdims=True), 0.0)
    return f


def novelty_by_densities(X, y, X_new, n_classes, slope):
    """The novelty of rows by the Gaussians of the classes and of a class yet to come, from all rows at once."""
    n, d = np.bincount(y, minlength=n_classes), X.shape[1]
    known = np.flatnonzero(n)
    if not len(known):
        return np.zeros(len(X_new))
    means, g = {k: X[y == k].mean(axis=0) for k in known}, X.mean(axis=0)
    scatter = 2.5 * np.eye(d) + sum((X[y == k] - means[k]).T @ (X[y == k] - means[k]) for k in known)
    within = scatter / (len(y) + 5 * d)
    squares = {k: (means[k] - g) @ np.linalg.solve(within, means[k] - g) for k in known}
    a = d / max((2 * d + sum(n[k] * squares[k] - d for k in known)) / (len(y) + 10), d / 100)

    def log_density(mean, spread):
        return np.atleast_1d(multivariate_normal(mean, (1 + spread) * within).logpdf(X_new))

    new = log_density(g, 1 / a)
    of_class = {k: log_density(g + n[k] / (n[k] + a) * (means[k] - g), 1 / (n[k] + a)) for k in known}
    log_e = np.array([np.log((n[k] + 1) / (len(y) + n_classes)) + slope * (of_class[k] - new) for k in known])
    return -(log_e.max(axis=0) + (log_e - logsumexp(log_e, axis=0)).max(axis=0))


@pytest.mark.parametrize("classes", [2, 5, 6])
def test_novelty_is_that_of_the_densities(classes):
    """Rows are counted before they are learned; the last class of six has no rows."""
    X, y = embeddings(60, min(classes, 5), spread=0.9)
    X_new, _ = embeddings(20, seed=1, spread=0.9)
    member, found = ClassMeans(classes, D), []
    for i in range(len(y)):
        found.extend(novelty_by_densities(X[:i], y[:i], X[i : i + 1], classes, member.slope))
        trained(X[i : i + 1], y[i : i + 1], classes, member)
    counts, state = counted(np.exp2(found))
    np.testing.assert_allclose(member.state[RARITIES], state, rtol=1e-9)
    asked = np.exp2(novelty_by_densities(X, y, X_new, classes, member.slope))
    expected = [counts.p_value(one) for one in asked]
    np.testing.assert_allclose(member.rarity_of(as_matrix(X_new)), expected, rtol=1e-6)


@pytest.mark.parametrize("classes", [2, 5, 6])
def test_scores_are_those_of_the_formula(classes):
    X, y = embeddings(300, min(classes, 5))
    X_new, _ = embeddings(20, seed=1)
    member = trained(X, y, classes)
    expected = twin(X, y, X_new, classes)
    expected = expected[:, 1:] - expected[:, :1] if classes == 2 else expected - expected.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(member._scores(as_matrix(X_new)), expected, rtol=1e-8, atol=1e-8)
    if classes < 6:  # all have rows
        linear = X_new @ member.class_weights(slice(None)) + member.by_class()
        linear = linear[:, 1:] - linear[:, :1] if classes == 2 else linear - linear.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(linear, expected, rtol=1e-8, atol=1e-8)


def test_rows_may_be_cut_and_weighted_and_classes_and_features_may_come_later():
    X, y = embeddings(200)
    y[:60] %= 3
    whole = trained(X, y)
    parts = ClassMeans(3, D)
    trained(X[:60], y[:60], member=parts)
    parts.grow(n_classes=5)
    trained(X[60:], y[60:], member=parts)
    assert all((whole.state[name] == parts.state[name]).all() for name in (ROWS, PRECISION, "means", "directions"))
    weight = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    repeated = trained(np.repeat(X, weight.astype(int), axis=0), np.repeat(y, weight.astype(int)))
    weighted = trained(X, y, weight=weight)
    np.testing.assert_allclose(weighted.state[PRECISION], repeated.state[PRECISION], rtol=1e-9, atol=1e-12)
    narrow = trained(np.hstack([X, np.zeros((len(y), 2))]), y)
    later = trained(X, y)
    later.grow(n_features=D + 2)
    np.testing.assert_allclose(later.state["directions"], narrow.state["directions"], rtol=1e-9, atol=1e-12)


def test_an_error_undoes_the_training():
    X, y = embeddings(50)
    member = trained(X, y)
    before = {name: array.copy() for name, array in member.state.items()}
    examples = Examples(as_matrix(X), y.astype(np.int32))
    with pytest.raises(RuntimeError), member.begin(examples) as transaction:
        member.train(examples, transaction, True, Progressive(None, np.zeros((len(y), 5))))
        raise RuntimeError
    assert all((member.state[name] == before[name]).all() for name in before)


@pytest.mark.long("five stacks")
def test_only_embeddings_have_class_means():
    X, y = embeddings(300)
    assert next(iter(AutoClassifier().fit(X, y).members_)) == "class means"
    scaled = X * np.geomspace(0.01, 10.0, D)
    for other in (2.0 * X, np.abs(X), X[:, :20], scaled / np.linalg.norm(scaled, axis=1, keepdims=True)):
        assert "class means" not in AutoClassifier().fit(other, y).members_


def test_a_stack_of_embeddings_is_saved_resumed_and_merged(tmp_path):
    X, y = embeddings(900)
    X_new, _ = embeddings(200, seed=3)
    whole = AutoClassifier(shuffle=False).partial_fit(X[:600], y[:600], classes=range(5)).partial_fit(X[600:], y[600:])
    first = AutoClassifier(shuffle=False).partial_fit(X[:600], y[:600], classes=range(5))
    first.save(tmp_path / "first.cw")
    resumed = load(tmp_path / "first.cw").partial_fit(X[600:], y[600:])
    assert (resumed.predict_proba(X_new) == whole.predict_proba(X_new)).all()
    one, other = (load(tmp_path / "first.cw").partial_fit(X[own], y[own]) for own in (slice(600, 750), slice(750, 900)))
    means, expected = (model.learner_.members[0].state for model in (merge([one, other], first), whole))
    for name in (ROWS, "means", "directions", PRECISION):
        np.testing.assert_allclose(means[name], expected[name], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("calibrate", [True, False])
def test_rows_are_counted_in_the_first_pass_of_rounds_only(calibrate):
    X, y = embeddings(600)
    model, job = AutoClassifier().fit(X, y), Job()
    base = model.as_model()
    learned = learn_rows(base, [(X, y, None)], AutoClassifier(), job, calibrate, (0,))
    before, after = (one.learner.members[0].state for one in (base, job.advanced(base, learned.change)))
    assert after[ROWS][0] == before[ROWS][0] + 600.0
    assert (after[RARITIES] == before[RARITIES]).all() != calibrate


def test_a_stack_of_embeddings_is_exported():
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y = embeddings(400)
    model = AutoClassifier().fit(X, y)
    session = onnxruntime.InferenceSession(model.to_onnx("float64").SerializeToString())
    _, p = session.run(["label", "probabilities"], {"X": X[:50]})
    np.testing.assert_allclose(p, model.predict_proba(X[:50]), atol=1e-9)


def test_rows_of_no_class_are_novel():
    X, y = embeddings(1500, 5)
    model = AutoClassifier().fit(X, y)
    inside, _ = embeddings(300, seed=4)
    random = np.random.default_rng(5)
    outside = 0.5 / np.sqrt(D) + random.standard_normal((300, D)) / np.sqrt(D)
    outside /= np.linalg.norm(outside, axis=1, keepdims=True)
    p = model.novelty(np.vstack([inside, outside]))
    assert roc_auc_score(np.arange(600) >= 300, -p) > 0.98
    assert np.mean(p[:300] <= 0.1) <= 0.15 and np.mean(p[300:] <= 0.1) > 0.9


@pytest.mark.parametrize("n", [300, 600])
def test_known_rows_are_seldom_novel_after_few_rows_in_several_passes(n):
    below = []
    for seed in range(5):
        X, y = embeddings(n, seed=seed)
        below.append(np.mean(AutoClassifier(passes=2).fit(X, y).novelty(embeddings(400, seed=seed + 50)[0]) < 0.05))
    assert np.mean(below) < 0.06


def test_rows_far_from_their_class_are_novel_however_probable_it_is():
    X, y = embeddings(1500, 5)
    model = AutoClassifier().fit(X, y)
    far = 0.2 * X[y == 0].mean(axis=0) + 0.5 * np.random.default_rng(7).standard_normal((200, D)) / np.sqrt(D)
    far /= np.linalg.norm(far, axis=1, keepdims=True)
    assert np.median(model.predict_proba(far).max(axis=1)) > 0.95
    assert np.mean(model.novelty(far) < 0.05) > 0.95


def test_a_new_class_costs_the_others_little():
    X, y = embeddings(1200)
    X_new, y_new = embeddings(1000, seed=6)
    old, is_new = y != 4, y_new == 4
    model = AutoClassifier().partial_fit(X[old], y[old], classes=range(5))
    before = np.mean(model.predict(X_new[~is_new]) == y_new[~is_new])
    model.partial_fit(X[~old][:10], y[~old][:10])
    after = np.mean(model.predict(X_new[~is_new]) == y_new[~is_new])
    assert after > before - 0.01
    assert np.mean(model.predict(X_new[is_new]) == 4) > 0.5


# --- classes that come late ----------------------------------------------------------------------------------------


def trust_by_rows(y, weight, n_classes):
    """The trust before each row and after the last one, by the formula, row by row."""
    rows, since, found = np.zeros(n_classes), np.zeros(n_classes), []
    for k, w in [*zip(y.tolist(), weight.tolist(), strict=True), (None, 0.0)]:
        n, classes = rows.sum(), max(np.count_nonzero(rows), 1)
        of_each = []
        for j in range(n_classes):
            enough = max(1.0, min(n / classes, 100.0))
            of_each.append(min(1.0, max(rows[j], 2 * (n - since[j]) / classes) / enough) if rows[j] else 0.0)
        found.append(of_each)
        if w:
            since[k] = since[k] if rows[k] else n
            rows[k] += w
    return np.array(found)


@pytest.mark.parametrize("cuts", [(), (1,), (299, 300), (100, 310, 311)])
def test_trust_is_that_of_the_formula_however_rows_are_cut(cuts):
    X, y = embeddings(400)
    y[y == 4] = 3
    y[300:312] = 4
    weight = np.random.default_rng(7).integers(0, 3, len(y)).astype(float)
    expected, member, found = trust_by_rows(y, weight, 5), ClassMeans(5, D), []
    for part in np.split(np.arange(len(y)), cuts):
        examples = Examples(as_matrix(X[part]), y[part].astype(np.int32), weight=weight[part])
        before = member.trust_before(examples)
        if before is None:
            before = np.tile(np.where(member.state[ROWS][1:] > 0, 1.0, 0.0), (len(part), 1))
        found.append(before)
        trained(X[part], y[part], member=member, weight=weight[part])
    np.testing.assert_allclose([*np.concatenate(found), member.trust], expected, rtol=1e-12)
    assert expected[305, 4] < 0.2 and expected[-1, 4] < 1.0  # it is late


@pytest.fixture(scope="module")
def with_late():
    """A stack that has had eight rows of its last class, after 1,200 of five others."""
    X, y = embeddings(1200, 6, spread=0.9)
    old = y != 5
    model = AutoClassifier().partial_fit(X[old], y[old], classes=range(6))
    return model.partial_fit(X[~old][:8], y[~old][:8])


def test_a_class_is_known_after_few_rows(with_late):
    X, y = embeddings(1000, 6, seed=6, spread=0.9)
    means, found = with_late.members_["class means"], with_late.predict(X)
    alone = means.logits_of(as_matrix(X)).argmax(axis=1)
    for rows in (y == 5, y != 5):
        assert np.mean(found[rows] == y[rows]) > np.mean(alone[rows] == y[rows]) - 0.05
    assert np.mean(found[y == 5] == 5) > 0.4


def test_scores_with_a_late_class_are_those_of_the_formula(with_late):
    X = embeddings(30, 6, seed=6, spread=0.9)[0]
    stack = with_late.learner_
    t = np.append(np.ones(5), 8 / min(stack.members[0].state[ROWS][0] / 6, 100.0))
    seen = [next(iter(member.seen_rows(as_matrix(X)))) for member in stack.members]
    log_p = log_softmax([member.logits_of(own) for member, own in zip(stack.members, seen, strict=True)], axis=2)
    expected = np.einsum("g,gnk->nk", stack.member_weights, t * log_p + (1.0 - t) * log_p[0])
    np.testing.assert_allclose(stack.decision(as_matrix(X)), expected, rtol=1e-9, atol=1e-9)
    one_by_one = [stack.decision(as_matrix(row[None]))[0] for row in X]
    np.testing.assert_allclose(one_by_one, expected, rtol=1e-9, atol=1e-9)


def test_progressive_errors_are_those_of_the_predictions_before(with_late):
    """The mixture learns by the scores that predictions have."""
    X, y = embeddings(200, 6, seed=8, spread=0.9)
    model, mistakes = deepcopy(with_late), with_late.mistakes_
    for row, label in zip(X, y, strict=True):
        mistakes += model.predict(row[None])[0] != label
        model.partial_fit(row[None], [label])
    together = deepcopy(with_late).partial_fit(X, y)
    assert model.mistakes_ == together.mistakes_ == mistakes
    assert (model.predict_proba(X) == together.predict_proba(X)).all()


def test_a_stack_with_a_late_class_is_saved_and_exported_and_explained(with_late, tmp_path):
    X = embeddings(50, 6, seed=6, spread=0.9)[0]
    with_late.save(tmp_path / "late.cw")
    p = with_late.predict_proba(X)
    assert (load(tmp_path / "late.cw").predict_proba(X) == p).all()
    for i in range(10):
        columns = np.arange(D, dtype=np.int32)
        row = Batch(X[i], columns, np.array([0, D]), D, np.zeros(1, np.int32))
        for about in (None, 5):
            found = explain_stack(with_late.as_model(), row, about)
            assert sum(part.mean for part in found.members) == pytest.approx(found.mean)
            assert sum(part.mean for part in found.features) == pytest.approx(found.mean)
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(with_late.to_onnx("float64").SerializeToString())
    np.testing.assert_allclose(session.run(["probabilities"], {"X": X})[0], p, atol=1e-9)


def test_files_without_the_first_rows_of_classes_have_no_late_ones(with_late):
    state = {name: array for name, array in with_late.learner_.members[0].state.items() if name != "since"}
    member = ClassMeans(6, D, ClassMeans.unpacked(state, D, 6))
    assert (member.trust == 1.0).all()


def test_files_that_counted_distances_count_from_the_first_row_on():
    X, y = embeddings(300)
    state = dict(trained(X, y).state)
    state["variances"] = state.pop(RARITIES)
    member = ClassMeans(5, D, ClassMeans.unpacked(state, D, 5))
    assert (member.rarity_of(as_matrix(X)) == 1.0).all()
    assert trained(X, y, member=member).rarity_of(as_matrix(X)).min() < 0.1


def test_a_class_stays_late_when_parts_are_merged(with_late):
    X, y = embeddings(40, 5, seed=9)
    parts = [deepcopy(with_late).partial_fit(X[own], y[own]) for own in (slice(20), slice(20, 40))]
    whole, merged = deepcopy(with_late).partial_fit(X, y), merge(parts, with_late)
    np.testing.assert_allclose(merged.learner_.members[0].trust, whole.learner_.members[0].trust, rtol=1e-9)
