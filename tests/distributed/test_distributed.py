"""Training on clusters: nothing lost, nothing counted twice, the same on any number of workers, near to one learner."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from functools import partial
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.linear_model import Perceptron

pytest.importorskip("distributed")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import dask.array as da
    import dask.bag as db
    import dask.dataframe as dd
    import pandas as pd

from confidently import AROW, AutoClassifier, OnlineClassifier, distributed
from confidently.data import DataError, ReaderOptions, features, open_stream
from confidently.data.sources.file_range import FileRange
from confidently.distributed import rounds, sources, tasks
from confidently.distributed.cells import cells_of
from confidently.distributed.change import advanced, merge_changes, model_bytes
from confidently.distributed.cluster import connected
from confidently.distributed.rounds import MAX_ATTEMPTS, Rounds
from confidently.models.merging import merge_models
from confidently.stack.members import parts_of

X, Y = load_digits(return_X_y=True)
X = X / 16
TRAIN = slice(0, 1400)


def lines(kind):
    """The training rows as text."""
    start, label = (1, "{} ") if kind == "svm" else (1, "{} | ")
    name = "{}:{}" if kind == "svm" else "x{}:{}"
    return [
        label.format(y) + " ".join(name.format(j + start, v) for j, v in enumerate(row) if v)
        for row, y in zip(X[TRAIN], Y[TRAIN], strict=True)
    ]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for kind in ("svm", "vw"):
        (folder / f"all.{kind}").write_text("\n".join(lines(kind)) + "\n")
    for k in range(3):
        (folder / f"third{k}.vw").write_text("\n".join(lines("vw")[k * 467 : (k + 1) * 467]) + "\n")
    return folder


def knows_the_same(one, other):
    """To the bit."""
    assert_array_equal(one.classes_, other.classes_)
    for ours, theirs in zip(parts_of(one.learner_), parts_of(other.learner_), strict=True):
        for name, array in ours.state.items():
            assert_array_equal(array, theirs.state[name], err_msg=name)


def error_of(classifier, path):
    return np.mean(np.concatenate(list(classifier.predict_stream(path))) != Y[TRAIN])


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


# --- on a cluster ----------------------------------------------------------------------------------------------------


def test_one_part_in_one_round_is_one_learner(client, files):
    path = files / "all.vw"
    one = OnlineClassifier().fit_stream(open_stream(path))
    knows_the_same(distributed.fit(OnlineClassifier(), path, client=client, partitions=1, rounds=1), one)
    several = distributed.fit(OnlineClassifier(), path, client=client, partitions=1, rounds=5)
    assert several.mistakes_ == one.mistakes_  # a merge of one part is that part
    assert_allclose(several.coef_, one.coef_)


@pytest.mark.parametrize("kind", ["svm", "vw"])
def test_near_to_one_learner_and_nothing_lost(client, files, kind):
    path, accounts = str(files / f"all.{kind}"), []
    one = error_of(OnlineClassifier().fit_stream(open_stream(path)), path)
    fitted = distributed.fit(OnlineClassifier(), path, client=client, partitions=4, rounds=8, progress=accounts.append)
    assert fitted.n_seen_ == 1400 and set(fitted.classes_) == set(range(10))
    assert sum(account.rows for account in accounts) == 1400
    assert fitted.mistakes_ == sum(account.mistakes for account in accounts)
    assert error_of(fitted, path) < one + 0.03
    p = np.concatenate(list(fitted.predict_stream(path, "predict_proba")))
    truth = np.searchsorted(np.sort(fitted.classes_), Y[TRAIN])
    assert -np.log(p[np.arange(1400), np.argsort(fitted.classes_)[truth]]).mean() < 0.5


@pytest.mark.parametrize("kind", [OnlineClassifier, pytest.param(AutoClassifier, marks=pytest.mark.long)])
def test_the_number_of_workers_does_not_matter(client, files, kind):
    options = {"partitions": 5, "rounds": 3, "shuffle": "between"}
    two = distributed.fit(kind(random_state=1), files / "all.vw", client=client, **options)
    one = distributed.fit(kind(random_state=1), files / "all.vw", workers=1, **options)
    knows_the_same(one, two)
    other = distributed.fit(kind(random_state=2), files / "all.vw", client=client, **options)
    assert other.n_seen_ == 1400
    scores = (list(model.predict_stream(files / "all.vw", "decision_function")) for model in (one, other))
    assert not np.array_equal(*map(np.concatenate, scores))


def test_arrays_and_frames_and_bags(client, files):
    x, y = da.from_array(X[TRAIN], chunks=(300, -1)), da.from_array(Y[TRAIN], chunks=300)
    weights = da.from_array((np.arange(1400) % 7 > 0).astype(float), chunks=300)
    fit = partial(distributed.fit, client=client, partitions=3, rounds=4)
    array = fit(OnlineClassifier(), x, y)
    assert array.n_seen_ == 1400 and list(array.classes_) == list(range(10))
    assert array.score(X[1400:], Y[1400:]) > 0.8
    weighted = fit(OnlineClassifier(), x, y, sample_weight=weights, classes=range(10))
    assert weighted.n_seen_ == 1200
    rows = pd.DataFrame(X[TRAIN], columns=[f"p{k}" for k in range(64)]).assign(digit=[f"d{k}" for k in Y[TRAIN]])
    frame = fit(OnlineClassifier(shuffle=True, passes=2), dd.from_pandas(rows, npartitions=4), "digit")
    assert frame.n_seen_ == 2800 and list(frame.feature_names_in_[:2]) == ["p0", "p1"]
    assert frame.predict(rows.drop(columns="digit"))[0] in frame.classes_
    sets = fit(OnlineClassifier(), x, da.from_array(np.eye(10, dtype=int)[Y[TRAIN]], chunks=(300, 10)))
    assert sets.predict(X[:5]).shape == (5, 10)
    bag = fit(OnlineClassifier(), db.from_sequence([str(files / f"third{k}.vw") for k in range(3)]))
    assert bag.n_seen_ == 1400


def test_going_on(client, files):
    classifier = distributed.fit(OnlineClassifier(), files / "third0.vw", client=client, partitions=2, rounds=2)
    paths = [files / "third1.vw", files / "third2.vw"]
    distributed.partial_fit(classifier, paths, client=client, partitions=2, rounds=2)
    assert classifier.n_seen_ == 1400
    assert error_of(classifier, str(files / "all.vw")) < 0.12


def slow(base, paths, job, calibrate, seed, marker):
    """As a part is learned, slowly; the first to come here tells its process."""
    try:
        with open(marker, "x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        pass
    time.sleep(0.5)
    return tasks.learn_files(base, paths, job, calibrate, seed)


@pytest.mark.long
@pytest.mark.parametrize(("kind", "workers"), [(OnlineClassifier, 1), (OnlineClassifier, 2), (AutoClassifier, 2)])
def test_a_killed_worker_loses_nothing(client, files, tmp_path, monkeypatch, kind, workers):
    """SIGKILL in the middle of a round; with one worker every copy of the base is lost as well."""
    expected = distributed.fit(kind(), files / "all.vw", client=client, partitions=4, rounds=2)
    marker, accounts = tmp_path / "pid", []
    monkeypatch.setattr(sources, "learn_files", partial(slow, marker=str(marker)))
    with connected(workers=workers) as other:

        def kill():
            while not (marker.exists() and marker.read_text()):
                time.sleep(0.01)
            os.kill(int(marker.read_text()), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        fitted = distributed.fit(
            kind(), files / "all.vw", client=other, partitions=4, rounds=2, progress=accounts.append
        )
        killer.join()
    assert fitted.n_seen_ == 1400 and sum(account.rows for account in accounts) == 1400
    knows_the_same(fitted, expected)


def failing(base, paths, job, calibrate, seed):
    return tasks.Failure(DataError("the file changed after it was surveyed"))


def test_an_error_in_a_round_reaches_the_caller(client, files, monkeypatch):
    monkeypatch.setattr(sources, "learn_files", failing)
    with pytest.raises(DataError, match="the file changed after it was surveyed"):
        distributed.fit(OnlineClassifier(), files / "third0.vw", client=client, partitions=2, rounds=1)


def failing_at_once(base, paths, job, calibrate, seed, folder):
    """The part that begins first has a fault; each other one takes a while and leaves word."""
    _, _, part = seed
    try:
        (folder / "fault").touch(exist_ok=False)
    except FileExistsError:
        time.sleep(0.3)
    else:
        raise RuntimeError("a fault")
    (folder / str(part)).touch()
    return tasks.learn_files(base, paths, job, calibrate, seed)


def test_a_fault_in_one_part_ends_the_others(client, files, tmp_path, monkeypatch):
    """Also those that wait for a worker, although whoever has the error keeps the futures alive."""
    monkeypatch.setattr(sources, "learn_files", partial(failing_at_once, folder=tmp_path))
    with pytest.raises(RuntimeError, match="a fault") as kept:
        distributed.fit(OnlineClassifier(), files / "all.vw", client=client, partitions=100, rounds=1)
    time.sleep(1.0)  # for those that have begun
    learned = len(list(tmp_path.iterdir()))
    time.sleep(1.0)
    assert len(list(tmp_path.iterdir())) == learned < 100
    del kept


def test_a_round_that_always_loses_its_workers_ends(client, files, monkeypatch):
    result, lost = rounds._result, SimpleNamespace(status="lost")
    monkeypatch.setattr(rounds, "_result", lambda total, base: result(SimpleNamespace(status="pending"), lost))
    with pytest.raises(RuntimeError, match=f"round 1 was started {MAX_ATTEMPTS} times and lost its workers each time"):
        distributed.fit(OnlineClassifier(), files / "third0.vw", client=client, partitions=2, rounds=1)


def test_a_model_that_no_worker_takes_is_an_error():
    tried = []

    def scatter(models, hash):
        tried.append(models)
        raise TimeoutError("no worker")

    unsent = Rounds(SimpleNamespace(scatter=scatter), "model", None, [], None)
    with pytest.raises(TimeoutError, match="no worker"):
        unsent._send_base()
    assert tried == [["model"]] * MAX_ATTEMPTS


def signing(base, paths, job, calibrate, seed, folder):
    """As a part is learned; leaves word of the process that learns it."""
    _, number, part = seed
    (folder / f"{number} {part}").write_text(str(os.getpid()))
    time.sleep(0.05)  # less than Dask waits before it takes tasks from one worker for another
    return tasks.learn_files(base, paths, job, calibrate, seed)


def test_what_parts_have_learned_is_added_up(files):
    base, found = begun_and_gone_on("vw", files)
    whole = tasks.merge_learned(base, found)
    for name in ("rows", "log_loss", "bytes_sent", "seconds"):
        assert getattr(whole, name) == pytest.approx(sum(getattr(one, name) for one in found))
    assert whole.rows == 1400 and whole.log_loss > max(one.log_loss for one in found)


def test_a_round_tells_what_it_moves(client, files):
    """The base once to every worker, and every change once."""
    classifier, told = OnlineClassifier().fit_stream(open_stream(files / "third0.vw")).set_params(passes=3), []
    base, path = classifier.as_model(), str(files / "third1.vw")
    distributed.partial_fit(classifier, path, client=client, partitions=1, rounds=1, progress=told.append)
    [one] = told  # there is one pass
    change = tasks.learn_files(base, [path], tasks.Job(open_stream(path).reading), True, (0,)).change
    assert one.bytes_moved == 2 * model_bytes(base) + change.nbytes


def test_the_parts_of_a_round_are_learned_side_by_side(client, files, tmp_path, monkeypatch):
    """Not one after the other on the worker that has the base; Dask may decide otherwise once in a while."""
    monkeypatch.setattr(sources, "learn_files", partial(signing, folder=tmp_path))
    distributed.fit(OnlineClassifier(), files / "all.vw", client=client, partitions=2, rounds=6)
    signed = [{(tmp_path / f"{number} {part}").read_text() for part in range(2)} for number in range(1, 7)]
    assert sum(len(processes) == 2 for processes in signed) >= 4, signed


# --- what is refused -------------------------------------------------------------------------------------------------


def test_errors_of_data_reach_the_caller(client, files, tmp_path):
    classifier = distributed.fit(OnlineClassifier(), files / "third0.vw", client=client, partitions=2, rounds=1)
    text = lines("svm")
    (tmp_path / "bad.svm").write_text("\n".join([*text[:900], "3 1:x", *text[900:]]) + "\n")
    before = classifier.learner_
    with pytest.raises(DataError, match=r"bad\.svm, .*line \d+"):
        distributed.fit(classifier, tmp_path / "bad.svm", client=client, partitions=2, rounds=3)
    assert classifier.learner_ is before
    fitted = distributed.fit(
        OnlineClassifier(), tmp_path / "bad.svm", client=client, partitions=2, rounds=3, on_error="skip"
    )
    assert fitted.n_seen_ == 1400
    with pytest.raises(DataError, match="more than 0 invalid rows"):
        distributed.fit(OnlineClassifier(), tmp_path / "bad.svm", client=client, partitions=2, rounds=3, on_error=0)
    # exactly as many as allowed, in several rounds; a second pass meets the same ones
    (tmp_path / "two.svm").write_text("\n".join(["3 1:x", *text, "3 1:y"]) + "\n")
    options = {"client": client, "partitions": 2, "rounds": 3}
    fitted = distributed.fit(OnlineClassifier(passes=2), tmp_path / "two.svm", on_error=2, **options)
    assert fitted.n_seen_ == 2800
    with pytest.raises(DataError, match=r"more than 1 invalid row; some of them: .*two\.svm"):
        distributed.fit(OnlineClassifier(), tmp_path / "two.svm", on_error=1, **options)
    with pytest.raises((DataError, OSError), match="nowhere"):
        distributed.fit(OnlineClassifier(), tmp_path / "nowhere.svm", client=client)
    (tmp_path / "one.svm").write_text("1 1:1\n" * 50)
    with pytest.raises(ValueError, match="one class only"):
        distributed.fit(OnlineClassifier(), tmp_path / "one.svm", client=client)


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        ({"covariance": "kernel"}, {}, "kernel model keeps coefficients of examples"),
        ({"forget": 0.1}, {}, "no rows come last"),
        ({"encoder": "wordllama"}, {}, "encoder: not supported on a cluster"),
        ({"coverage_by": "tag"}, {}, "coverage_by is not supported on a cluster"),
        ({}, {"rounds": 0}, "rounds must be an integer >= 1, got 0"),
        ({}, {"shuffle": "all"}, "shuffle: expected one of"),
        ({}, {"workers": 2}, "an existing cluster has its own"),
        ({}, {"y": "label"}, "y and sample_weight apply to arrays"),
        ({"class_weight": "balanced"}, {}, "balanced"),
    ],
)
def test_what_does_not_go_together_is_refused(client, files, settings, options, message):
    with pytest.raises(ValueError, match=message):
        distributed.fit(OnlineClassifier(**settings), files / "all.vw", client=client, **options)


def test_rows_in_memory_are_refused(client):
    with pytest.raises(TypeError, match=r"dask\.array\.from_array"):
        distributed.fit(OnlineClassifier(AROW()), X, client=client)


def test_estimators_that_cannot_train_on_a_cluster(client, files):
    with pytest.raises(ValueError, match="partial_fit needs a fitted classifier; call fit first"):
        distributed.partial_fit(OnlineClassifier(), files / "all.vw", client=client)
    needed = "needs an OnlineClassifier, AutoClassifier, OnlineRegressor or AutoRegressor, got Perceptron"
    with pytest.raises(TypeError, match=needed):
        distributed.fit(Perceptron(), files / "all.vw", client=client)
    on_arrays = OnlineClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="trained on arrays, which do not define the columns of files"):
        distributed.partial_fit(on_arrays, files / "all.vw", client=client)


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (300, {"format": "vw"}, "format: options of reading apply to files, got rows"),
        (300, {"on_error": "skip"}, "multilabel or on_error: options of reading apply to files, got rows"),
        (None, {}, "arrays and data frames need labels; pass y"),
        (700, {}, "must have the same blocks of rows, got 5, 2 and 5 blocks"),
    ],
)
def test_rows_that_do_not_go_with_their_labels_or_options(client, labels, options, message):
    x, y = da.from_array(X[TRAIN], chunks=(300, -1)), labels and da.from_array(Y[TRAIN], chunks=labels)
    with pytest.raises(ValueError, match=message):
        distributed.fit(OnlineClassifier(), x, y, client=client, **options)


def test_without_dask():
    code = """
import sys
from importlib import util
found = util.find_spec
util.find_spec = lambda name: None if name == "distributed" else found(name)
try:
    import confidently.distributed
except ImportError as error:
    assert "pip install '.[dask]'" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)
