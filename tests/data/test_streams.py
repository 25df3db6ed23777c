"""Learning from streams: the classes and features of a file become known row by row, wherever its bytes are cut."""

import numpy as np
import pytest

from confidently import CELLIP, IELLIP, RULES, _core
from confidently.covariances.settings import Settings
from confidently.data import Batch, DataError, open_stream
from confidently.data.classes import ClassTable
from confidently.learner.learner import Learner
from confidently.learner.streams import StreamLearner, StreamPredictor
from confidently.models.model import Model
from tests.covariance_cases import OVER_WEIGHTS, known, serves

SIZES = (11, 64, 1000, 1 << 20)  # bytes read at a time


def text_of(rows):
    return "".join(
        f"{label} {' '.join(f'{j + 1}:{x!r}' for j, x in sorted(features.items()))}\n" for label, features in rows
    ).encode()


def random_rows(labels, n=400, seed=0):
    """Rows of labels, each label kept from appearing before its turn; features appear late as well."""
    random = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        there = labels[: 1 + i * len(labels) // n]
        label = there[random.integers(len(there))]
        columns = random.choice(5 + i // 4, size=4, replace=False)
        rows.append((label, {int(j): float(x) for j, x in zip(columns, random.normal(size=4), strict=True)}))
    return rows


def random_sets(n=300, seed=0):
    random = np.random.default_rng(seed)
    return [
        (",".join(map(str, sorted(set(random.integers(0, 2 + i // 40, size=random.integers(0, 4)))))), features)
        for i, (_, features) in enumerate(random_rows([1], n, seed))
    ]


def trained(path, rule="arow", chunk_bytes=1 << 20, stream_learner=None, multiclass=None, how=None, **options):
    with open_stream(path, chunk_bytes=chunk_bytes, **(how or {})) as stream:
        if stream_learner is None:
            task, n_classes = ("multilabel", 0) if stream.multilabel else ("binary", 2)
            learner = Learner(Settings(rule, task=task, **options), n_classes=n_classes)
            stream_learner = StreamLearner(learner, ClassTable(multilabel=stream.multilabel), multiclass)
        for _ in stream_learner.learn(stream):
            pass
    return stream_learner


def assert_same(a, b):
    assert a.classes.names == b.classes.names
    assert a.learner.settings == b.learner.settings
    assert (a.learner.n_features, a.learner.n_classes) == (b.learner.n_features, b.learner.n_classes)
    assert a.learner.state.keys() == b.learner.state.keys()
    if a.learner.covariance.by_products:
        return assert_same_but_for_rounding(a.learner, b.learner)
    if not a.learner.covariance.binds_rows:
        for left, right in zip(known(a.learner).values(), known(b.learner).values(), strict=True):
            np.testing.assert_array_equal(left, right)
        return None
    for name in a.learner.state:
        left, right = (without_room(x.learner, name) for x in (a, b))
        np.testing.assert_array_equal(left, right, err_msg=name)


def without_room(learner, name):
    """An array of the state, without the room for more features that it may have."""
    if name in ("diagonal", "factors"):  # of covariance="low_rank"
        return learner.state[name][:, : len(learner.weights)]
    return learner.weights if name == "weights" else learner.state[name]


def assert_same_but_for_rounding(a, b):
    """Products of matrices add in an order that depends on where the blocks are cut."""
    tolerance = 1e-3 if a.settings.dtype == "float32" else 1e-9
    for name in ("counters", "updates", "folded"):
        np.testing.assert_array_equal(a.state[name], b.state[name], err_msg=name)
    for left, right in (
        (a.mean(), b.mean()), (a.covariance_matrix(), b.covariance_matrix()),
        (a.state["calibration"], b.state["calibration"]),
    ):  # fmt: skip
        np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance * np.abs(right).max())


TASKS = {
    "one class": lambda: random_rows([1]), "two classes": lambda: random_rows(["-1", "+1"]),
    "five classes": lambda: random_rows(["+1", "-1", "x", "2.0", "y"]), "sets": random_sets,
}  # fmt: skip


@pytest.mark.long("three trainings of each rule")
@pytest.mark.few(1)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("rule", RULES)
def test_training_goes_on_exactly_where_it_stopped(tmp_path, rule, task, dtype):
    rows = TASKS[task]()
    paths = [tmp_path / name for name in ("all.svm", "first.svm", "second.svm")]
    for path, part in zip(paths, (rows, rows[:151], rows[151:]), strict=True):
        path.write_bytes(text_of(part))
    whole = trained(paths[0], rule, dtype=dtype, prior_variance=0.3)
    first = trained(paths[1], rule, dtype=dtype, prior_variance=0.3)
    Model(first.learner, first.classes.names).save(tmp_path / "model.cw")
    model = Model.load(tmp_path / "model.cw")
    classes = ClassTable(model.classes, task == "sets")
    with open_stream(paths[2], multilabel=task == "sets", chunk_bytes=100) as stream:
        resumed = StreamLearner(model.learner, classes)
        for _ in resumed.learn(stream):
            pass
    assert_same(whole, resumed)


@pytest.mark.long("4,000 rows, twice")
@pytest.mark.few(1)
@pytest.mark.parametrize("covariance", OVER_WEIGHTS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rule", [CELLIP(gamma=0.01), IELLIP(b=0.999, c=0.3)])
def test_features_that_come_late_are_scaled_like_all_others(tmp_path, rule, dtype, covariance):
    random = np.random.default_rng(0)
    rows = [(random.choice([-1, 1]), {int(j): 1.0 for j in random.choice(20, 3)}) for _ in range(4000)]
    rows[2000] = (1, {50: 1.0})
    file = tmp_path / "rows.svm"
    file.write_bytes(text_of(rows))
    options = {"dtype": dtype, "prior_variance": 0.7, "covariance": covariance}
    whole = trained(file, rule, **options)
    assert_same(whole, trained(file, rule, 1000, **options))
    if rule.name == "iellip" and dtype == "float32":
        assert whole.learner.state["folded"] != 1  # or nothing was tested


@pytest.mark.parametrize(("labels", "names"), [
    ([1, -1], [-1, 1]), ([-1, 1], [-1, 1]), ([0, 1], [0, 1]), ([1, 0], [0, 1]), ([1, 2], [2, 1]), ([2, 1], [2, 1]),
    (["ham", "spam"], ["ham", "spam"]), ([3, 2], [3, 2]), ([1], [None, 1]), ([0], [0, None]), ([1, 5, -1], [5, 1, -1]),
])  # fmt: skip
def test_numbers_of_classes(labels, names):
    table = ClassTable()
    numbers = [table.number(label) for label in labels]
    assert table.names == names
    assert [table.names[k] for k in numbers] == labels
    assert numbers == [table.number(label) for label in labels]


def test_a_closed_table_refuses_others(tmp_path):
    file = tmp_path / "rows.svm"
    file.write_text("a 1:1\nb 1:1\nc 1:1\n")
    learner = StreamLearner(Learner(Settings()), ClassTable(["b", "a"], closed=True))
    with (
        pytest.raises(DataError, match=r"rows.svm, line 3: the label 'c' is not one of the classes \(b, a\)"),
        open_stream(file) as stream,
    ):
        list(learner.learn(stream))


def test_the_first_thousand_rows_show_whether_labels_are_sets(tmp_path):
    file = tmp_path / "rows.svm"
    for size in SIZES:
        for before, expected in ((0, True), (999, True), (1000, False)):
            file.write_text("1 1:1\n" * before + "1,2 1:1\n")
            with open_stream(file, chunk_bytes=size) as stream:
                assert stream.multilabel is expected
                if not expected:
                    with pytest.raises(DataError, match=r"line 1001: the row has 2 labels.*--multilabel"):
                        list(stream)
    file.write_text("1 1:1\n 1:1\n")
    with pytest.raises(DataError, match="line 2: the row has no label"):
        list(open_stream(file, multilabel=False))


def test_rows_before_the_first_label_of_all_teach_nothing(tmp_path):
    file = tmp_path / "rows.svm"
    rows = random_sets()
    file.write_bytes(text_of(rows))
    plain = trained(file)
    file.write_bytes(b" 1:1\n 2:1\n" + text_of(rows))
    assert_same(plain, trained(file))


def test_an_index_that_makes_the_model_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("confidently.memory.available_bytes", lambda: 10_000)
    file = tmp_path / "rows.svm"
    file.write_text("1 1:1\n-1 2000000000:1\n")
    learner = StreamLearner(Learner(Settings()), ClassTable())
    with pytest.raises(DataError, match=r"rows\.svm, line 1, or soon after it: feature 1999999999"):
        list(learner.learn(open_stream(file)))
    assert learner.learner.n_features == 0


@pytest.mark.parametrize("covariance", OVER_WEIGHTS)
@pytest.mark.parametrize("task", ["two classes", "five classes", "sets"])
def test_unknown_features_only_add_their_priors_variance(tmp_path, task, covariance):
    if task == "sets" and not serves(covariance, "multilabel"):
        pytest.skip("refused")
    file, more = tmp_path / "rows.svm", tmp_path / "more.svm"
    file.write_bytes(text_of(TASKS[task]()[:60]))
    more.write_text(" 1:1 3:2 500:1\n 2:1 400:0.5 450:2 600:1\n 1:1\n 700:1\n")
    asked = trained(file, covariance=covariance, prior_variance=0.5)
    grown = trained(file, covariance=covariance, prior_variance=0.5)
    [batch] = open_stream(more, ignore_labels=True)
    answering = StreamPredictor(asked.learner)
    grown.learner.grow(n_features=batch.n_columns)
    for method in ("margin_distribution", "probabilities", "decision"):
        left = getattr(asked.learner, method)(answering.matrix(batch))
        right = getattr(grown.learner, method)(batch.matrix)
        for a, b in zip(np.atleast_2d(left), np.atleast_2d(right), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    assert asked.learner.n_features == answering.known + 1


def test_a_learner_fresh_from_training_answers_about_unknown_features(tmp_path):
    file, more = tmp_path / "rows.svm", tmp_path / "more.svm"
    file.write_text("".join(f"{(-1) ** i:+d} {i // 20 + 1}:1\n" for i in range(1000)))
    more.write_text(" 1:1 900:1\n 1:1\n")
    learner = trained(file, chunk_bytes=100, prior_variance=0.5).learner
    assert len(learner.state["weights"]) > learner.n_features + 2  # there is room, or nothing is tested
    [batch] = open_stream(more, ignore_labels=True)
    mean, variance = learner.margin_distribution(StreamPredictor(learner).matrix(batch))
    assert mean[0] == mean[1] and variance[0] - variance[1] == pytest.approx(0.5)


def test_parts_of_a_batch_are_its_rows(tmp_path):
    file = tmp_path / "rows.svm"
    file.write_bytes(text_of(random_sets(50)))
    [batch] = open_stream(file, multilabel=True)
    parts = [batch.rows(0, 7), batch.rows(7, 8), batch.rows(8, 50)]
    for name in ("values", "columns", "labels"):
        np.testing.assert_array_equal(np.concatenate([getattr(p, name) for p in parts]), getattr(batch, name))
    for name in ("start", "label_start"):
        sizes = np.concatenate([np.diff(getattr(p, name)) for p in parts])
        np.testing.assert_array_equal(sizes, np.diff(getattr(batch, name)))
    assert [new.name for p in parts for new in p.new_labels] == [new.name for new in batch.new_labels]
    assert isinstance(parts[0], Batch) and isinstance(parts[0].matrix, _core.Matrix)
