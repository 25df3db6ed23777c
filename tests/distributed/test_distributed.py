"""Training on clusters: nothing lost, nothing counted twice, the same on any number of workers, near to one learner."""

import gzip
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Perceptron

pytest.importorskip("distributed")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import dask.array as da
    import dask.bag as db
    import dask.dataframe as dd
    import pandas as pd

from confidently import AROW, AutoClassifier, OnlineClassifier, distributed
from confidently.data import DataError, DataWarning, open_stream
from confidently.distributed import engine, training
from confidently.distributed.cluster import connected
from confidently.distributed.engine import MAX_ATTEMPTS, DaskEngine
from confidently.rounds import tasks
from confidently.rounds.change import model_bytes
from confidently.stack.members import parts_of
from tests.rounds.digits import TRAIN, X, Y, lines, write_files


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("data"))


def knows_the_same(one, other):
    """To the bit."""
    assert_array_equal(one.classes_, other.classes_)
    for ours, theirs in zip(parts_of(one.learner_), parts_of(other.learner_), strict=True):
        for name, array in ours.state.items():
            assert_array_equal(array, theirs.state[name], err_msg=name)


def error_of(classifier, path):
    return np.mean(np.concatenate(list(classifier.predict_stream(path))) != Y[TRAIN])


# --- on a cluster ----------------------------------------------------------------------------------------------------


def test_one_part_in_one_round_is_one_learner(client, files):
    path = files / "all.vw"
    one = OnlineClassifier().fit_stream(open_stream(path))
    knows_the_same(distributed.fit(OnlineClassifier(), path, client=client, partitions=1, rounds=1), one)
    several = distributed.fit(OnlineClassifier(), path, client=client, partitions=1, rounds=5)
    assert several.mistakes_ == one.mistakes_  # a merge of one part is that part
    assert_allclose(several.coef_, one.coef_)


@pytest.mark.long("eight rounds on a cluster")
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


@pytest.mark.long("starts worker processes")
@pytest.mark.parametrize("kind", [OnlineClassifier, AutoClassifier])
def test_the_number_of_workers_does_not_matter(client, files, kind):
    options = {"partitions": 5, "rounds": 3, "shuffle": "between"}
    two = distributed.fit(kind(random_state=1), files / "all.vw", client=client, **options)
    one = distributed.fit(kind(random_state=1), files / "all.vw", workers=1, **options)
    knows_the_same(one, two)
    other = distributed.fit(kind(random_state=2), files / "all.vw", client=client, **options)
    assert other.n_seen_ == 1400
    scores = (list(model.predict_stream(files / "all.vw", "decision_function")) for model in (one, other))
    assert not np.array_equal(*map(np.concatenate, scores))


def test_a_file_that_cannot_be_divided_is_reported(client, files, tmp_path):
    """One compressed file keeps one partition busy, which is as slow as one process."""
    path = tmp_path / "all.svm.gz"
    path.write_bytes(gzip.compress((files / "all.svm").read_bytes()))
    with pytest.warns(DataWarning, match=r"one of 2 partitions trains at a time, because .*all\.svm\.gz cannot be div"):
        fitted = distributed.fit(OnlineClassifier(), path, client=client, partitions=2, rounds=4)
    assert fitted.n_seen_ == 1400
    distributed.fit(OnlineClassifier(), path, client=client, partitions=1, rounds=4)
    distributed.fit(OnlineClassifier(), [path, files / "all.svm"], client=client, partitions=2, rounds=4)


@pytest.mark.long("six trainings on a cluster")
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


@dataclass(frozen=True)
class OtherJob(tasks.Job):
    """A job whose cells are learned by another function."""

    function: Any = None

    def learn(self, base, paths, calibrate, seed):
        return self.function(base, paths, self, calibrate, seed)


def learns_by(monkeypatch, function):
    monkeypatch.setattr(training, "Job", partial(OtherJob, function=function))


def slow(base, paths, job, calibrate, seed, marker):
    """As a part is learned, slowly; the first to come here tells its process."""
    try:
        with open(marker, "x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        pass
    time.sleep(0.5)
    return tasks.learn_files(base, paths, job, calibrate, seed)


@pytest.mark.long("kills worker processes")
@pytest.mark.parametrize(("kind", "workers"), [(OnlineClassifier, 1), (OnlineClassifier, 2), (AutoClassifier, 2)])
def test_a_killed_worker_loses_nothing(client, files, tmp_path, monkeypatch, kind, workers):
    """SIGKILL in the middle of a round; with one worker every copy of the base is lost as well."""
    expected = distributed.fit(kind(), files / "all.vw", client=client, partitions=4, rounds=2)
    marker, accounts = tmp_path / "pid", []
    learns_by(monkeypatch, partial(slow, marker=str(marker)))
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
    learns_by(monkeypatch, failing)
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


@pytest.mark.long("waits for parts that must not begin")
def test_a_fault_in_one_part_ends_the_others(client, files, tmp_path, monkeypatch):
    """Also those that wait for a worker, although whoever has the error keeps the futures alive."""
    learns_by(monkeypatch, partial(failing_at_once, folder=tmp_path))
    with pytest.raises(RuntimeError, match="a fault") as kept:
        distributed.fit(OnlineClassifier(), files / "all.vw", client=client, partitions=100, rounds=1)
    time.sleep(1.0)  # for those that have begun
    learned = len(list(tmp_path.iterdir()))
    time.sleep(1.0)
    assert len(list(tmp_path.iterdir())) == learned < 100
    del kept


def test_a_round_that_always_loses_its_workers_ends(client, files, monkeypatch):
    result, lost = engine._result, SimpleNamespace(status="lost")
    monkeypatch.setattr(engine, "_result", lambda total, base: result(SimpleNamespace(status="pending"), lost))
    with pytest.raises(RuntimeError, match=f"round 1 was started {MAX_ATTEMPTS} times and lost its workers each time"):
        distributed.fit(OnlineClassifier(), files / "third0.vw", client=client, partitions=2, rounds=1)


def test_a_model_that_no_worker_takes_is_an_error():
    tried = []

    def scatter(models, hash):
        tried.append(models)
        raise TimeoutError("no worker")

    unsent = DaskEngine(SimpleNamespace(scatter=scatter), None)
    with pytest.raises(TimeoutError, match="no worker"):
        unsent._send("model")
    assert tried == [["model"]] * MAX_ATTEMPTS


def signing(base, paths, job, calibrate, seed, folder):
    """As a part is learned; leaves word of the process that learns it."""
    _, number, part = seed
    (folder / f"{number} {part}").write_text(str(os.getpid()))
    time.sleep(0.05)  # less than Dask waits before it takes tasks from one worker for another
    return tasks.learn_files(base, paths, job, calibrate, seed)


def test_a_round_tells_what_it_moves(client, files):
    """The base once to every worker, and every change once."""
    classifier, told = OnlineClassifier().fit_stream(open_stream(files / "third0.vw")).set_params(passes=3), []
    base, path = classifier.as_model(), str(files / "third1.vw")
    distributed.partial_fit(classifier, path, client=client, partitions=1, rounds=1, progress=told.append)
    [one] = told  # there is one pass
    change = tasks.learn_files(base, [path], tasks.Job(open_stream(path).reading), True, (0,)).change
    assert one.bytes_moved == 2 * model_bytes(base) + change.nbytes


@pytest.mark.long("waits for what worker processes take of each other")
def test_the_parts_of_a_round_are_learned_side_by_side(processes, files, tmp_path, monkeypatch):
    """Not one after the other on the worker that has the base; Dask may decide otherwise once in a while."""
    learns_by(monkeypatch, partial(signing, folder=tmp_path))
    distributed.fit(OnlineClassifier(), files / "all.vw", client=processes, partitions=2, rounds=6)
    signed = [{(tmp_path / f"{number} {part}").read_text() for part in range(2)} for number in range(1, 7)]
    assert sum(len(processes) == 2 for processes in signed) >= 4, signed


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.long("ten trainings on a cluster")
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
