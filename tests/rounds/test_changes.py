"""Cells have every row once, and changes and their merges are what models and theirs are; no engine is needed."""

import os
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from confidently import OnlineClassifier
from confidently.data import DataError, ReaderOptions, features, open_stream
from confidently.data.sources.file_range import FileRange
from confidently.models.merging import merge_models
from confidently.rounds import tasks
from confidently.rounds.cells import cells_of
from confidently.rounds.change import advanced, merge_changes
from tests.rounds.digits import write_files


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("data"))


# --- parts of files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["a\nbb\n\nccc\n", "a\nbb\nccc", "\n\n", "long line without an end", "x\r\ny\r\n"])
def test_ranges_have_every_line_once_wherever_they_are_cut(tmp_path, text):
    path = tmp_path / "file"
    path.write_bytes(text.encode())
    n = len(text)
    for a in range(n + 1):
        for b in range(a, n + 1):
            for chunk in (1, 3, 100):
                found = []
                for first, last in ((0, a), (a, b), (b, n)):
                    with open(path, "rb", buffering=0) as file:
                        found.append(b"".join(c.data for c in FileRange(str(path), first, last).chunks(file, chunk)))
                assert b"".join(found) == text.encode()


def test_streams_of_ranges_are_the_stream(files):
    path = str(files / "all.svm")
    size = os.path.getsize(path)
    borders = [0, 7, 1000, 1001, size // 2, size]
    ranges = [FileRange(path, a, b) for a, b in pairwise(borders)]
    values = np.concatenate([batch.values for batch in open_stream(ranges)])
    assert_array_equal(values, np.concatenate([batch.values for batch in open_stream(path)]))


def test_an_error_in_a_range_tells_where_lines_are_counted_from(tmp_path):
    path = tmp_path / "bad.svm"
    path.write_text("1 1:1\n0 1:1\n1 1:x\n")
    with pytest.raises(DataError, match=r"bad.svm, counted from the first line at or after byte 6, line 2"):
        list(open_stream(FileRange(str(path), 6, 18)))


@pytest.mark.parametrize("deal", [None, 0])
@pytest.mark.parametrize(("partitions", "rounds"), [(1, 1), (3, 2), (16, 16)])
def test_cells_have_everything_once(deal, partitions, rounds):
    sizes, divisible = [1000, 1, 0, 77, 5000, 0], [True, False, True, False, True, False]
    grid = cells_of(sizes, divisible, partitions, rounds, None if deal is None else np.random.default_rng(deal))
    assert len(grid) == rounds and all(len(row) == partitions for row in grid)
    pieces = sorted(piece for row in grid for cell in row for piece in cell)
    for unit, size in enumerate(sizes):
        own = [piece for piece in pieces if piece.unit == unit]
        assert [piece.first for piece in own[1:]] == [piece.last for piece in own[:-1]]
        if size:
            assert (own[0].first, own[-1].last) == (0, size)
        assert divisible[unit] or len(own) == 1
    most = max(sum(p.last - p.first for p in cell) for row in grid for cell in row)
    assert most <= sum(sizes) / (partitions * rounds) + 80


# --- changes ---------------------------------------------------------------------------------------------------------


def begun_and_gone_on(kind, files, **settings):
    """A model, and three that went on from it with a third of the rows each."""
    paths = [str(files / "all.svm")] if kind == "svm" else [str(files / f"third{k}.vw") for k in range(3)]
    size = os.path.getsize(paths[0])
    if kind == "svm":
        paths = [FileRange(paths[0], size * k // 3, size * (k + 1) // 3) for k in range(3)]
    first = FileRange(os.fspath(paths[0]), 0, 3000)
    base = OnlineClassifier(**settings).fit_stream(open_stream(first)).as_model()
    job = tasks.Job(open_stream(paths[0]).reading)
    return base, [tasks.learn_files(base, [path], job, True, (0,)) for path in paths]


@pytest.mark.parametrize("kind", ["svm", "vw"])
@pytest.mark.parametrize(
    "settings",
    [
        {}, {"rule": "cellip"}, {"rule": "pa1"}, {"average": True}, {"covariance": "shared"}, {"dtype": "float32"},
        {"multiclass": "one-vs-rest"}, {"rule": "logistic"},
    ],
    ids=str,
)  # fmt: skip
def test_merging_changes_is_merging_models(kind, settings, files):
    """What is left out of a change is as in the base; so a tree of changes is the merge of whole models."""
    base, found = begun_and_gone_on(kind, files, **settings)
    assert not any(isinstance(one, tasks.Failure) for one in found), found
    changes = [one.change for one in found]
    whole = merge_models([advanced(base, change) for change in changes], "abc", base, "base", "rounds")
    together = [merge_changes(base, changes[:2]), changes[2]]
    if settings.get("rule") == "pa1":  # without precisions, parts count by their updates, so that groups of them matter
        together = changes
    tree = advanced(base, merge_changes(base, together))
    assert tree.classes == whole.classes
    if whole.features is not None:
        assert_array_equal(tree.features.key, whole.features.key)
        assert list(tree.features.names) == list(whole.features.names)
    tolerance = 1e-4 if settings.get("dtype") == "float32" else 1e-7
    for name in ("mean", "variance"):
        ours, theirs = getattr(tree.learner, name)(), getattr(whole.learner, name)()
        assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    assert_array_equal(tree.learner.state["counters"], whole.learner.state["counters"])
    assert_array_equal(tree.learner.state["updates"], whole.learner.state["updates"])


@pytest.mark.parametrize(
    "settings",
    [
        {}, {"average": True}, {"rule": "cellip"}, {"rule": "pa1", "average": True}, {"covariance": "full"},
        {"covariance": "shared"}, {"multiclass": "one-vs-rest"}, {"rule": "perceptron"}, {"view": "standard"},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize(
    ("classes", "then"), [(2, 3), (3, 3), (3, 4)], ids=["of two classes", "of three", "of three and four"]
)
def test_a_change_has_all_that_training_has_changed(settings, classes, then, tmp_path):
    """The base with a change is the model that continued, to the bit, also where few features were in the rows."""
    rng = np.random.default_rng(0)
    first, second = tmp_path / "first.svm", tmp_path / "second.svm"
    for path, columns, names in ((first, range(1, 9), range(classes)), (second, (2, 3, 11, 12), range(then))):
        rows = [
            f"{rng.choice(names)} "
            + " ".join(f"{j}:{x:.3f}" for j, x in zip(columns, rng.normal(size=8), strict=False))
            for _ in range(40)
        ]
        path.write_text("".join(row + "\n" for row in (*(f"{k} 1:0.1" for k in names), *rows)))
    base = OnlineClassifier(**settings).fit_stream(open_stream(first)).as_model()
    found = tasks.learn_files(base, [str(second)], tasks.Job(open_stream(second).reading), True, (0,))
    straight = OnlineClassifier(**settings).fit_stream(open_stream(first)).partial_fit_stream(second)
    one = advanced(base, found.change)
    assert one.learner.n_features == straight.learner_.n_features == 12
    assert one.learner.settings == straight.learner_.settings
    for quantity in ("mean", "variance"):
        assert_array_equal(getattr(one.learner, quantity)(), getattr(straight.learner_, quantity)(), err_msg=quantity)
    assert_array_equal(one.learner.state["calibration"], straight.learner_.state["calibration"])


def about_to_fold(learner):
    """Let the same Gaussian have the smallest scale; the next one is multiplied into the variances of all features."""
    state, least = learner.state, 1.005e-100
    state["weights"][:, 1] *= state["scale"] / least
    state["folded"] *= state["scale"] / least
    state["scale"][:] = least


@pytest.mark.parametrize(
    ("settings", "special"),
    [
        ({}, ""), ({"covariance": "full"}, ""), ({"view": "standard"}, ""), ({"rule": "cellip"}, ""),
        ({"average": True}, ""), ({}, "late class"), ({"rule": "cellip"}, "folding"),
    ],
    ids=str,
)  # fmt: skip
def test_numbered_features_of_few_partitions_are_merged_in_any_tree(settings, special, tmp_path):
    """A merged change of models that change everywhere must be one, too: other changes may have more features."""
    rng, paths = np.random.default_rng(1), []  # feature 2 is in rows of the base only
    for k, columns in enumerate((range(1, 5), (1, 3, 4, 5), range(3, 7), range(3, 10), (1, 3))):
        paths.append(tmp_path / f"{k}.svm")
        rows = (
            f"{label} " + " ".join(f"{j}:{x + (j == 3) * label:.3f}" for j, x in zip(columns, numbers, strict=False))
            for label, numbers in zip(rng.integers(2, size=60), rng.normal(size=(60, 9)), strict=True)
        )
        late = "2 1:0.3\n" if special == "late class" and k == 1 else ""  # in one partition
        paths[-1].write_text("1 1:0.1\n0 1:0.2\n" + late + "".join(row + "\n" for row in rows))
    base = OnlineClassifier(**settings).fit_stream(open_stream(paths[0])).as_model()
    if special == "folding":
        about_to_fold(base.learner)
    job = tasks.Job(open_stream(paths[0]).reading)
    changes = [tasks.learn_files(base, [str(path)], job, True, (0,)).change for path in paths[1:]]
    if special == "folding":
        assert any(change.model.learner.state["folded"] != base.learner.state["folded"] for change in changes)
    flat = merge_models([advanced(base, change) for change in changes], "abcd", base, "base", "rounds").learner
    for cut in (1, 2, 3):
        pair = [merge_changes(base, changes[:cut]), merge_changes(base, changes[cut:])]
        tree = advanced(base, merge_changes(base, pair)).learner
        assert tree.n_features == flat.n_features == 9
        near = 1e-4 if special == "late class" else 1e-9  # of two classes and of three: they are not merged exactly
        assert_allclose(tree.mean(), flat.mean(), rtol=1e-7, atol=near)
        assert_allclose(tree.variance(), flat.variance(), rtol=1e-7, atol=near)


def test_a_change_is_small_where_little_changed(files):
    base = OnlineClassifier().fit_stream(open_stream(str(files / "all.vw"))).as_model()
    before = {name: array.copy() for name, array in base.learner.state.items()}
    (files / "few.vw").write_text("1 | x3:1 new:1\n7 | x4:1\n")
    found = tasks.learn_files(base, [str(files / "few.vw")], tasks.Job(ReaderOptions(format="vw")), True, (0,))
    assert len(found.change.columns) <= 2
    assert found.change.model.learner.n_features == len(found.change.columns) + 1
    assert list(found.change.new.names) == ["new"]
    for name, array in before.items():
        assert_array_equal(base.learner.state[name], array)  # the base is shared by all tasks of a worker
    one = advanced(base, found.change)
    straight = OnlineClassifier().fit_stream(open_stream([str(files / "all.vw"), str(files / "few.vw")]))
    assert_array_equal(one.learner.weights, straight.learner_.weights)
    assert list(one.features.names) == list(straight.features_.names)


def test_names_of_hashed_features_stay_few(tmp_path, monkeypatch):
    """Each part has room for its own names, and all of them together have not."""
    monkeypatch.setattr(features, "MAX_NAMES", 30)
    monkeypatch.setattr(features, "KEPT_NAMES", 15)
    for name, known in (("base", 20), ("a", 8), ("b", 8)):
        rows = (f"{k % 2} | {name}{k % known}:{1 + k % 3} {name}{(k + 1) % known}\n" for k in range(60))
        (tmp_path / name).write_text("".join(rows))
    paths = [str(tmp_path / name) for name in ("base", "a", "b")]
    base = OnlineClassifier().fit_stream(open_stream(paths[0], format="vw")).as_model()
    job = tasks.Job(ReaderOptions(format="vw"))
    changes = [tasks.learn_files(base, [path], job, True, (0,)).change for path in paths[1:]]
    assert [len(list(change.new.names)) for change in changes] == [8, 8]
    one = advanced(base, merge_changes(base, changes))
    assert one.learner.n_features == 36
    assert len(one.features.names) == 15


def test_rows_of_a_shuffled_cell_have_all_their_features(tmp_path, monkeypatch):
    """Wherever the row has gone that had a feature first, and however few names there is room for."""
    monkeypatch.setattr(features, "MAX_NAMES", 30)
    monkeypatch.setattr(features, "KEPT_NAMES", 15)
    path = tmp_path / "rows.vw"
    path.write_text("".join(f"{k % 2} | {'ab'[k % 2]} own{k}:3\n" for k in range(200)))
    base = OnlineClassifier().fit_stream(open_stream(str(path), format="vw")).as_model()
    path.write_text("".join(f"{k % 2} | {'ab'[k % 2]} new{k}:3\n" for k in range(200)))
    found = tasks.learn_files(base, [str(path)], tasks.Job(ReaderOptions(format="vw"), shuffle=True), True, (0,))
    one = advanced(base, found.change)
    assert one.learner.n_features == 402 and one.learner.n_seen == 400
    assert np.count_nonzero(one.learner.variance() < 1.0) == 403  # every one was in a row; and the intercept


def test_moves_are_merged_as_from_a_base_of_little_precision():
    """What rounds are documented to do, written down for a diagonal; precisions add up."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(90, 3)), rng.integers(2, size=90)
    base = OnlineClassifier(fit_intercept=False).fit(rows[:30], labels[:30])
    parts = [
        OnlineClassifier(fit_intercept=False).fit(rows[:30], labels[:30]).partial_fit(rows[a:b], labels[a:b])
        for a, b in ((30, 45), (45, 90))
    ]
    merged = merge_models([part.as_model() for part in parts], "ab", base.as_model(), "base", "rounds").learner
    gains = [1 / part.variance_ - 1 / base.variance_ for part in parts]
    moves = [part.coef_ - base.coef_ for part in parts]
    expected = base.coef_ + sum((0.1 + g) * m for g, m in zip(gains, moves, strict=True)) / (0.1 + sum(gains))
    assert_allclose(merged.mean(), expected)
    assert_allclose(1 / merged.variance(), 1 / base.variance_ + sum(gains))


def test_what_parts_have_learned_is_added_up(files):
    base, found = begun_and_gone_on("vw", files)
    whole = tasks.merge_learned(base, found, tasks.Job())
    for name in ("rows", "log_loss", "bytes_sent", "seconds"):
        assert getattr(whole, name) == pytest.approx(sum(getattr(one, name) for one in found))
    assert whole.rows == 1400 and whole.log_loss > max(one.log_loss for one in found)
