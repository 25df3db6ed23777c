"""The first rows choose the members; how a stream is divided into calls changes nothing."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from confidently import AutoClassifier, AutoRegressor, load, river
from confidently.covariances.examples import Examples
from confidently.data.memory.matrix import as_matrix
from confidently.models import packing
from confidently.models.file import ModelFileError
from confidently.stack.early import CHOICES, MAX_VALUES, Early, Rows
from tests.model_files import contents_of, write_contents

N = 1150


def numbers(n, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 6))
    X[:, 5] = np.round(X[:, 5])
    return X, (X[:, 0] * X[:, 1] + generator.normal(size=n) > 0).astype(int)


def frame(n, seed=0):
    generator = np.random.default_rng(seed)
    X, y = numbers(n, seed)
    kinds = generator.choice(["a", "b", "c"], n, p=[0.9, 0.095, 0.005])  # the last one is late
    rows = pd.DataFrame(X[:, :3], columns=["u", "v", "w"])
    rows["kind"] = generator.choice(["red", "green", "blue"], n)
    rows["who"] = [f"n{k}" for k in generator.integers(0, 400, n)]
    rows.loc[generator.random(n) < 0.1, "u"] = np.nan
    return rows, np.where(y == 1, kinds, "a")


def words(n, seed=0):
    """Rows of 0 and 1, few of which are 1."""
    generator = np.random.default_rng(seed)
    X = (generator.random((n, 300)) < 0.03).astype(float)
    return X, (X[:, :30].sum(axis=1) > 0).astype(int)


def with_long_rows(n, seed=0):
    """Rows of a narrow table as dicts; one of the first is far longer, and so is a later one."""
    generator = np.random.default_rng(seed)
    X, y = numbers(n, seed)
    rows = [{f"c{j}": value for j, value in enumerate(x)} for x in X.tolist()]
    for k in generator.choice(min(n, 200), 2, replace=False).tolist():
        rows[k] |= {f"long{j}": 1.0 for j in range(k, k + 300)}
    return rows, y


def cuts(generator, n):
    """Where calls end: often near where members are chosen."""
    near = [k for choice in CHOICES for k in (choice - 1, choice, choice + 1) if 0 < k < n]
    inside = {*generator.integers(1, n, generator.integers(0, 6)), *generator.choice(near, generator.integers(0, 5))}
    return [0, *sorted(map(int, inside)), n]


def assert_same(one, other):
    assert one.learner_.header() == other.learner_.header()
    found, expected = packing.packed(one.learner_), packing.packed(other.learner_)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


def divided(model, rows, y, at, path=None, **options):
    """Return a model after training in parts, between which it may be saved and loaded."""
    for first, last in pairwise(at):
        weight = None if "weight" not in options else {"sample_weight": options["weight"][first:last]}
        more = {"classes": options["classes"]} if "classes" in options else {}
        model.partial_fit(rows[first:last], y[first:last], **more, **(weight or {}))
        if path is not None:
            model.save(path)
            model = load(path)
    return model


CASES = {
    "numbers": lambda n, seed: (AutoClassifier(), *numbers(n, seed), {"classes": [0, 1]}),
    "single precision": lambda n, seed: (AutoClassifier(dtype="float32"), *numbers(n, seed), {"classes": [0, 1]}),
    "words": lambda n, seed: (AutoClassifier(), *words(n, seed), {"classes": [0, 1]}),
    "weights": lambda n, seed: (
        AutoClassifier(class_weight={0: 1.5, 1: 0.7}), *numbers(n, seed),
        {"classes": [0, 1], "weight": np.random.default_rng(seed).choice([0.0, 0.5, 2.0], n)},
    ),
    "groups": lambda n, seed: (AutoClassifier(coverage_by=5), *numbers(n, seed), {"classes": [0, 1]}),
    "long rows": lambda n, seed: (AutoClassifier(), *with_long_rows(n, seed), {"classes": [0, 1]}),
    "long rows of targets": lambda n, seed: (AutoRegressor(), *with_long_rows(n, seed), {}),
    "columns by name": lambda n, seed: (AutoClassifier(), *frame(n, seed), {"classes": ["a", "b", "c"]}),
    "targets": lambda n, seed: (AutoRegressor(), numbers(n, seed)[0], numbers(n, seed)[0] @ np.arange(6.0), {}),
    "skewed targets": lambda n, seed: (
        AutoRegressor(bounds=(0, None)), numbers(n, seed)[0], np.exp(1.5 * numbers(n, seed)[0][:, 0]), {},
    ),
    "two targets": lambda n, seed: (AutoRegressor(), numbers(n, seed)[0], numbers(n, seed)[0][:, :2], {}),
    "label sets": lambda n, seed: (
        AutoClassifier(), words(n, seed)[0], words(n, seed)[0][:, :3].astype(int), {"classes": [0, 1, 2]},
    ),
}  # fmt: skip


@pytest.mark.long("two stacks of each kind of rows")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long("another seed")) for seed in range(1, 6))]
)
def test_the_division_of_a_stream_changes_nothing(name, seed, tmp_path):
    generator = np.random.default_rng([seed, *name.encode()])
    n = int(generator.choice([7, 60, 130, 700, N]))
    model, X, y, options = CASES[name](n, seed)
    path = tmp_path / "model" if generator.random() < 0.7 else None
    one = divided(model, X, y, [0, n], **options)
    model = CASES[name](n, seed)[0]
    other = divided(model, X, y, cuts(generator, n), path, **options)
    assert_same(other, one)
    assert one.learner_.n_seen == np.count_nonzero(options.get("weight", np.ones(n)))
    assert (one.learner_.early is None) == (n >= CHOICES[-1])


@pytest.mark.long("stacks of several files")
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long("another seed")) for seed in range(1, 6))]
)
def test_files_may_be_divided(seed, tmp_path):
    """With classes and columns that come late."""
    generator = np.random.default_rng(seed)
    n = int(generator.choice([60, 700, N]))
    rows, y = frame(n, seed)
    rows.insert(0, "label", y)
    models = []
    several = int(np.argmax(y != y[0]))  # the first file has two classes
    for at in ([0, n], [at for at in cuts(generator, n) if at == 0 or at > several]):
        model = None
        for k, (first, last) in enumerate(pairwise(at)):
            path = tmp_path / f"part{k}.csv"
            rows[first:last].to_csv(path, index=False)
            if model is None:
                model = AutoClassifier().fit_stream(path)
            else:
                model.save(tmp_path / "model")
                model = load(tmp_path / "model").partial_fit_stream(path)
        models.append(model)
    assert_same(*models)


@pytest.mark.long("1,150 rows one by one")
def test_after_1000_rows_dicts_and_frames_have_the_same_members():
    rows, y = frame(N)
    one, other = river.AutoClassifier(), river.AutoClassifier()
    for x, label in zip(rows.to_dict("records"), y, strict=True):
        one.learn_one({name: value for name, value in x.items() if value == value}, label)
    for first, last in pairwise(cuts(np.random.default_rng(1), N)):
        other.learn_many(rows[first:last], pd.Series(y[first:last]))
    assert list(one.members) == list(other.members)
    np.testing.assert_array_equal(list(one.members.values()), list(other.members.values()))


def test_an_error_in_a_call_that_would_choose_other_members_leaves_all_as_it_was():
    X, y = numbers(150)
    model = AutoRegressor(bounds=(0, None)).partial_fit(X[:50], y[:50])
    before = model.learner_.header(), packing.packed(model.learner_)
    for wrong, of in ((-1.0, "targets"), (np.nan, "targets")):
        targets = np.append(y[50:149], wrong)
        with pytest.raises(ValueError, match=f"{of}|NaN"):
            model.partial_fit(X[50:], targets)
    assert model.learner_.header() == before[0]
    for name, array in packing.packed(model.learner_).items():
        np.testing.assert_array_equal(array, before[1][name])


def test_rows_in_random_order_choose_once():
    X, y = numbers(200)
    model = AutoClassifier().fit(X, y)
    names = model.learner_.names
    assert model.learner_.early is None
    model.partial_fit(*numbers(2000))
    assert {name.partition(", forget")[0] for name in model.learner_.names} <= set(names)


@pytest.mark.long("millions of values")
def test_many_values_end_the_first_rows():
    n = 5
    X = np.random.default_rng(0).normal(size=(n, MAX_VALUES // 3 + 1))
    examples = Examples(as_matrix(X), np.zeros(n, np.int32))
    whole = Early().after(examples, 2)
    assert whole.n == whole.due == 3
    assert whole.is_full
    parts = Early().after(examples.part(0, 1), 2).after(examples.part(1, 5), 2)
    assert parts.n == 3
    for found, expected in zip(parts.rows, whole.rows, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_kept_rows_are_those_of_the_order_of_training():
    X, y = numbers(20)
    order = np.random.default_rng(0).permutation(20)
    examples = Examples(as_matrix(X), y.astype(np.int32), weight=np.arange(20.0), order=order)
    rows = Rows.of(examples, 7, 2, groups=[str(k) for k in range(20)])
    np.testing.assert_array_equal(
        csr_array((rows.values, rows.columns, rows.start), shape=(7, 6)).toarray(), X[order[:7]]
    )
    np.testing.assert_array_equal(rows.labels, y[order[:7]])
    np.testing.assert_array_equal(rows.weight, order[:7])
    assert rows.groups == tuple(str(k) for k in order[:7])
    assert [part.n for part in rows._replace(classes=np.array([1, 1, 2, 2, 2, 3, 3])).by_classes()] == [2, 3, 2]


@pytest.mark.long("a stack for each damage")
@pytest.mark.parametrize(("name", "change"), [
    ("early.columns", lambda array: array + 100), ("early.start", lambda array: array[::-1].copy()),
    ("early.labels", lambda array: array + 2), ("early.weight", lambda array: -array),
    ("early.classes", lambda array: array[1:]), ("early.kind", lambda array: array + 5),
    ("early.values", lambda array: array * np.nan),
])  # fmt: skip
def test_damaged_first_rows_are_refused(name, change, tmp_path):
    AutoClassifier().partial_fit(*numbers(30), classes=[0, 1]).save(tmp_path / "model")
    header, arrays = contents_of(tmp_path / "model")
    write_contents(tmp_path / "model", header, arrays | {name: change(arrays[name])})
    with pytest.raises(ModelFileError, match="damaged"):
        load(tmp_path / "model")


@pytest.mark.parametrize("kind", [river.AutoRegressor, river.AutoClassifier])
def test_a_first_row_may_have_zeros_only(kind):
    model = kind()
    for k in range(3):
        model.learn_one({"a": 0, "b": k}, k % 2)
    assert model.predict_one({"a": 1.0, "b": 0.0}) is not None
