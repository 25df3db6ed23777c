"""A numerical search: whatever is learned, nothing that is not finite is kept, reported or saved, and errors undo it.

Every case is drawn from its seed, which a failure prints. ``SEARCH_SEEDS=2000 pytest tests/learner/test_extremes.py``
searches longer than the default.
"""

import os
import warnings
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from confidently import IELLIP, RULES, IELLIPMargin, OnlineClassifier
from confidently.covariances.settings import Settings
from confidently.covariances.state import OutOfRange
from confidently.covariances.table import COVARIANCES
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.models.model import Model
from confidently.river import OnlineClassifier as RiverClassifier
from confidently.river import OnlineMultiLabelClassifier as RiverMultiLabelClassifier
from tests.covariance_cases import has_task, known, serves
from tests.tables.tasks import MULTILABEL

SHORT = 12
SEEDS = range(int(os.environ.get("SEARCH_SEEDS", "40")))
TASKS = ("binary", "joint", "one-vs-rest", "softmax", *MULTILABEL)
LARGEST = {"float64": 1e100, "float32": 1e10}
HINGES = ("pa", "pa1", "pa2", "bayespa")


def drawn_rule(rng):
    """Return a rule with the default parameters, or with some far from them."""
    rule = RULES[list(RULES)[rng.integers(len(RULES))]]()
    if rng.random() < 0.5:
        return rule
    changes = {}
    for f in fields(rule):
        span = f.metadata["range"]
        value = 10.0 ** rng.uniform(-8, 8)
        if f.name == "eta":
            continue
        if f.name == "phi":
            value = 10.0 ** rng.uniform(-3, 1)
        if span.high == 1.0:
            value = float(rng.uniform(0.01, 0.99))
        changes[f.name] = value
    return rule.with_params(**changes)


def drawn_settings(rng):
    rule = drawn_rule(rng)
    covariance = list(COVARIANCES)[rng.integers(len(COVARIANCES))]
    task = rng.choice([task for task in TASKS if serves(covariance, task) and has_task(rule, task)])
    options = {
        "prior_variance": float(rng.choice([1e-15, 1e-3, 1.0, 1.0, 1.0, 1e9])),
        "fit_intercept": bool(rng.random() < 0.5),
        "average": bool(rng.random() < 0.3),
        "min_variance": float(rng.choice([1e-20, 1e-12, 1e-12, 1e-3])),
        "dtype": str(rng.choice(["float64", "float64", "float32"])),
    }
    if covariance == "diag":
        options["projection"] = str(rng.choice(["precision", "moments"]))
        if rule.learns_precision and rng.random() < 0.3:
            options["forget"] = float(rng.choice([1e-6, 0.01, 0.9]))
    elif rng.random() < 0.5:
        options["rows_per_product"] = 5
    if covariance == "kernel":
        options["kernel"] = str(rng.choice(["linear", "rbf", "poly"]))
        options["dtype"] = "float64"
    return Settings(rule, covariance, str(task), **options)


def drawn_rows(rng, n, d, dtype):
    """Return rows of values of about the same size each, whose sizes differ by up to 310 decades."""
    low, high = [(-160, 150), (-3, 3), (-160, -80), (-30, np.log10(LARGEST[dtype])), (0, 0)][rng.integers(5)]
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.8) * 10.0 ** rng.uniform(low, high, size=(n, 1))
    if rng.random() < 0.3:
        X *= 10.0 ** rng.uniform(-20, 20, size=(n, d))
    if rng.random() < 0.8:  # within the limit, beyond which rows are refused
        X = np.clip(X, -LARGEST[dtype], LARGEST[dtype])
    return X


def drawn_labels(rng, task, n):
    if task in MULTILABEL:
        sets = [np.flatnonzero(rng.random(3) < 0.5) for _ in range(n)]
        start = np.cumsum([0, *map(len, sets)])
        return np.concatenate([*sets, []]).astype(np.int32), start
    return rng.integers(0, 2 if task == "binary" else 3, n).astype(np.int32), None


def drawn_weights(rng, n):
    return [None, np.full(n, 1e9), 10.0 ** rng.uniform(-9, 9, n), np.full(n, 10.0), rng.choice([0.0, 1.0, 3.0], n)][
        rng.integers(5)
    ]


def bytes_of(learner):
    return {name: array.tobytes() for name, array in learner.state.items()}


def assert_finite(learner, X):
    for name, array in learner.state.items():
        assert np.isfinite(array).all(), name
    for found in (
        learner.decision(X), *learner.margin_distribution(X), learner.probabilities(X), learner.probabilities(X, None),
        *learner.top_margins(X),
    ):  # fmt: skip
        assert np.isfinite(found).all()


def assert_loads(learner, X, path):
    names = ["a", "b", "c"][: learner.n_classes]
    Model(learner, names).save(path)
    again = Model.load(path).learner
    before = known(learner)
    for name, array in known(again).items():
        assert np.array_equal(array, before[name]), name
    assert np.array_equal(again.decision(X), learner.decision(X))


def most(X, settings, weights):
    """Bound of a weight of a rule with a hinge: every step is a projection, so none adds more than it adds at 0."""
    z = np.append(X, np.full((len(X), 1), float(settings.fit_intercept)), axis=1)
    lengths = np.linalg.norm(z, axis=1)
    margin = getattr(settings.rule, "epsilon", 1.0)
    return 2.001 * (margin / lengths[(lengths > 0) & (weights > 0)]).sum()


@pytest.mark.long("a dozen trainings and files of each seed")
@pytest.mark.parametrize(
    "seed", [*SEEDS[:SHORT], *(pytest.param(seed, marks=pytest.mark.long("more seeds")) for seed in SEEDS[SHORT:])]
)
def test_nothing_that_is_not_finite_is_kept_reported_or_saved(seed, tmp_path):
    rng = np.random.default_rng(seed)
    for number in range(4):
        settings = drawn_settings(rng)
        d = int(rng.integers(1, 6))
        learner = Learner(settings, 2 if settings.task.name == "binary" else 3, d)
        case = f"seed {seed}, case {number}: {settings}"
        bound, learned = 0.0, False
        for _ in range(3):
            n = int(rng.integers(1, 25))
            X, (labels, start), weights = drawn_rows(rng, n, d, settings.dtype), *[
                drawn_labels(rng, settings.task.name, n), drawn_weights(rng, n)
            ]  # fmt: skip
            before, cost = bytes_of(learner), np.zeros(1)
            order = rng.permutation(n) if rng.random() < 0.3 else None
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    matrix = as_matrix(X, settings.dtype, check=bool(rng.random() < 0.5))
                    learner.learn(matrix, labels, start, weight=weights, order=order, log_loss=cost)
                except ValueError as error:
                    assert isinstance(error, OutOfRange) or "values must be finite" in str(error), case
                    assert bytes_of(learner) == before, case
                    assert cost[0] == 0.0, case
                else:
                    learned = True
                    assert np.isfinite(cost).all(), case
                    bound += most(X, settings, np.ones(n) if weights is None else weights)
            largest = 1e10 if settings.covariance == "kernel" else LARGEST[settings.dtype]
            probe = as_matrix(np.clip(X, -largest, largest), settings.dtype)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    try:
                        assert_finite(learner, probe)
                    except OutOfRange:
                        assert settings.covariance == "kernel"
                    assert_loads(learner, probe, tmp_path / "model.cw")
                if learned and settings.rule.name in HINGES and settings.covariance != "kernel":
                    assert np.abs(learner.weights[:, 0]).max(initial=0.0) <= bound
            except Exception as error:
                raise AssertionError(case) from error


def test_dicts_of_extreme_values_leave_the_model_finite():
    refused = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        settings = drawn_settings(rng)
        if settings.covariance == "kernel" or not serves(settings.covariance, settings.rule.multiclass):
            continue
        own = {name: getattr(settings, name) for name in ("prior_variance", "fit_intercept", "average", "dtype")}
        model = RiverClassifier(settings.rule, settings.covariance, **own)
        for x in np.clip(drawn_rows(rng, 25, 3, settings.dtype), -LARGEST[settings.dtype], LARGEST[settings.dtype]):
            row, label, w = dict(enumerate(x)), "abc"[rng.integers(3)], float(10.0 ** rng.uniform(-9, 9))
            before = None if model._rows.table.get(label) is None else bytes_of(model._rows.learner)
            try:
                model.learn_one(row, label, w)
            except OutOfRange:
                refused += 1
                assert before is None or bytes_of(model._rows.learner) == before, seed
            assert np.isfinite(list(model.predict_proba_one(row).values())).all(), seed
        for name, array in model._rows.learner.state.items():
            assert np.isfinite(array).all(), (seed, name)


FAR = IELLIP(gamma=1e300)  # asks for a margin beyond the range of weights
ALWAYS_FAR = IELLIPMargin(gamma=1e300)  # does so for every row


def overflowing(task, covariance, dtype="float64", **options):
    """Return a learner that has trained on rows and then got the rule ``FAR``, with these rows and their labels."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 2, 50).astype(np.int32)
    start = np.arange(51) if task in MULTILABEL else None
    learner = Learner(Settings("arow", covariance, task, dtype=dtype, **options), 2, 3)
    learner.learn(as_matrix(X), y, start)
    learner.settings = replace(learner.settings, rule=FAR)
    return learner, X, y, start


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("task", [task for task in TASKS if has_task("arow", task)])
@pytest.mark.parametrize("covariance", list(COVARIANCES))
def test_a_step_out_of_range_is_one_error_and_undone(covariance, task, dtype):
    if not serves(covariance, task) or (covariance == "kernel" and dtype == "float32"):
        pytest.skip("not served")
    for options in ({}, {"average": True}, {"rows_per_product": 7} if COVARIANCES[covariance].by_products else {}):
        learner, X, y, start = overflowing(task, covariance, dtype, **options)
        before, cost = bytes_of(learner), np.zeros(1)
        with pytest.raises(OutOfRange, match=f"out of the range of {dtype}"):
            learner.learn(as_matrix(X, dtype), y, start, log_loss=cost)
        assert bytes_of(learner) == before
        assert cost[0] == 0.0


@pytest.mark.parametrize("options", [{}, {"forget": 0.5}, {"average": True}])
def test_few_rows_of_a_large_model_are_undone_from_a_log(options):
    """A state that is large compared with the rows is not copied; a rescaling rule folds its scale on the way."""
    rule = IELLIP(gamma=1e300, b=0.99, c=0.99)
    learner = Learner(Settings(rule, prior_variance=1.0, **options), 2, 20_000)
    learner.state["scale"][:] = 1e99  # so that the first update folds it
    before = bytes_of(learner)
    X = csr_matrix((np.ones(4), [0, 1, 0, 2], [0, 2, 4]), shape=(2, 20_000))
    with pytest.raises(OutOfRange):
        learner.learn(as_matrix(X), np.array([0, 1], dtype=np.int32))
    assert bytes_of(learner) == before


@pytest.mark.long("10,000 rows of each covariance")
@pytest.mark.few(1)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("covariance", "options"),
    [
        (name, options)
        for name, kind in COVARIANCES.items()
        for options in ({}, {"rows_per_product": 7})[: 1 + kind.by_products]
    ]
    + [("diag", {"forget": 0.5}), ("diag", {"average": True})],
)
def test_an_interruption_is_undone(covariance, task, options):
    if not serves(covariance, task):
        pytest.skip("not served")
    rng, n = np.random.default_rng(0), 200 if covariance == "kernel" else 10_000
    values, columns, start = rng.normal(size=2 * n), np.sort(rng.integers(0, 6, (n, 2))), np.arange(0, 2 * n + 1, 2)
    columns[:, 1] += columns[:, 0] == columns[:, 1]
    y, labels = rng.integers(0, 2, n).astype(np.int32), np.arange(n + 1) if task in MULTILABEL else None
    for n_features in (7, 100_000) if covariance == "diag" else (7,):  # the state is copied, or its changes are logged
        X = as_matrix(csr_matrix((values, columns.ravel(), start), shape=(n, n_features)))
        learner, cost = (
            Learner(Settings("logistic" if task == "softmax" else "arow", covariance, task, **options), 2, n_features),
            np.zeros(1),
        )
        learner.learn(X, y, labels)
        before = bytes_of(learner)

        def interrupt(done):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            learner.learn(X, y, labels, log_loss=cost, progress=interrupt)
        assert (bytes_of(learner), cost[0]) == (before, 0.0)


def test_an_estimator_is_unchanged_also_where_a_class_is_new():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 2, 30)
    classifier = OnlineClassifier("arow").fit(X, y)
    before = classifier.coef_, classifier.classes_.tolist(), classifier.n_seen_
    classifier.set_params(rule=FAR)
    with pytest.raises(ValueError, match="out of the range of float64"):
        classifier.partial_fit(X, np.where(np.arange(30) < 25, y, 2), classes=[0, 1, 2])
    assert np.array_equal(classifier.coef_, before[0])
    assert (classifier.classes_.tolist(), classifier.n_seen_) == before[1:]


def test_training_out_of_range_is_one_line_and_keeps_the_model(call, tmp_path):
    (tmp_path / "rows.vw").write_text("1 | a:1\n-1 | b:1\n" * 20)
    arguments = ("train", tmp_path / "rows.vw", "--no-shuffle", "--rule=arow", "-o", tmp_path / "model.cw")
    assert call(*arguments)[0] == 0
    before = (tmp_path / "model.cw").read_bytes()
    code, _, err = call(*arguments, "--rule", "iellip", "--gamma", "1e300")
    assert code == 2 and err.count("\n") == 1 and "out of the range of float64" in err
    assert (tmp_path / "model.cw").read_bytes() == before


def test_nothing_that_is_not_finite_is_saved(tmp_path):
    learner = Learner(Settings("arow"), 2, 3)
    for value in (np.nan, np.inf, 1e200):
        learner.state["weights"][0, 0, 0] = value
        with pytest.raises(ValueError, match=r"model\.cw: not saved"):
            Model(learner, ["a", "b"]).save(tmp_path / "model.cw")
        assert not list(tmp_path.iterdir())


@pytest.mark.long("each rule of each covariance and task")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("covariance", list(COVARIANCES))
def test_rows_whose_length_underflows_are_seen_and_change_nothing(covariance, task, dtype, tmp_path):
    if not serves(covariance, task):
        pytest.skip("not served")
    tiny = [1e-200, 1e-150, 1e-101] if dtype == "float64" or covariance == "kernel" else [1e-200, 1e-100, 1e-32]
    X = as_matrix(np.array(tiny)[:, None] * [[1.0, -0.5]], dtype)
    own = {"kernel": "linear"} if covariance == "kernel" else {"rows_per_product": 2} if covariance != "diag" else {}
    rules = ("pa", "cw_stdev", "arow", "perceptron", "probit", "logistic")
    for rule in (rule for rule in rules if has_task(rule, task)):
        learner = Learner(Settings(rule, covariance, task, fit_intercept=False, dtype=dtype, **own), 2, 2)
        counting = (
            "counters", "calibration", "conformal", "variances",
            *(name for name in learner.state if name.startswith("block.")),
        )  # fmt: skip
        before = {name: array.copy() for name, array in known(learner).items() if name not in counting}
        learner.learn(X, np.array([0, 1, 0], dtype=np.int32), np.arange(4) if task in MULTILABEL else None)
        assert (learner.n_seen, learner.updates) == (3, 0)
        after = known(learner)
        assert all(np.array_equal(after[name], array) for name, array in before.items())
        assert_loads(learner, X, tmp_path / "model.cw")


@pytest.mark.parametrize(("name", "text"), [
    ("rows.vw", "1 | x:1e-200\n-1 | x:-1e-160 y:1e-150\n"), ("rows.svm", "1 1:1e-200\n-1 1:-1e-160 2:1e-150\n"),
    ("rows.csv", "label,x,y\n1,1e-200,0\n-1,-1e-160,1e-150\n"),
    ("rows.jsonl", '{"label": 1, "x": 1e-200}\n{"label": -1, "x": -1e-160, "y": 1e-150}\n'),
])  # fmt: skip
def test_files_of_rows_whose_length_underflows_give_models_that_can_be_read(name, text, ok, tmp_path):
    (tmp_path / name).write_text(text)
    columns = () if name.endswith(("vw", "svm")) else ("--label", "label")
    for rule in ("pa", "arow", "cellip"):
        ok("train", tmp_path / name, "-o", tmp_path / "model.cw", "--rule", rule, "--no-intercept", *columns)
        assert "nan" not in ok("inspect", tmp_path / "model.cw")


def known_of(model):
    rows = model._rows
    names = list(rows.core.features()[0]), list(rows.table.names), rows.fewer_than_two
    rows.grow_features()
    learner = rows.learner
    packed = learner.covariance.packed(learner.state, learner.n_features)  # without room for further features
    return *names, learner.n_features, learner.task.name, {name: packed[name].tobytes() for name in packed}


@pytest.mark.parametrize("classes", ["ab", "a", "abc"])
@pytest.mark.parametrize("covariance", ["diag", "full", "shared"])
def test_a_refused_dict_adds_no_feature_and_no_class(covariance, classes):
    first = [({"x": 1.0, "y": float(k)}, label) for k, label in enumerate(classes)]

    def trained():
        model = RiverClassifier("arow", covariance)
        for x, y in first:
            model.learn_one(x, y)
        return model

    model, other = trained(), trained()
    before = known_of(model)
    model._rows.learner.settings = replace(model._rows.learner.settings, rule=ALWAYS_FAR)
    model._rows._make_room()
    rows = [{"x": -1.0, f"new {k}": 2.0} for k in range(9)]
    for x, y in zip(rows, "baxbaxbax", strict=True):
        with pytest.raises(OutOfRange):
            model.learn_one(x, y, 1e9)
        assert known_of(model) == before
    with pytest.raises(OutOfRange):
        model.learn_many(pd.DataFrame(rows).fillna(0.0), pd.Series(list("baxbaxbax")))
    assert known_of(model) == before
    model._rows.learner.settings = other._rows.learner.settings
    model._rows._make_room()
    for each in (model, other):
        each.learn_one({"x": 1.0, "z": 1.0}, "x")
    assert known_of(model) == known_of(other)


def test_refused_labels_are_not_added():
    model = RiverMultiLabelClassifier("arow")
    model.learn_one({"x": 1.0}, {"a": True, "b": False})
    before = known_of(model)
    model._rows.learner.settings = replace(model._rows.learner.settings, rule=ALWAYS_FAR)
    model._rows._make_room()
    for labels in ({"a": True, "b": False}, {"a": False, "c": True}):
        with pytest.raises(OutOfRange):
            model.learn_one({"x": 1.0, "y": 1.0}, labels)
        assert known_of(model) == before
