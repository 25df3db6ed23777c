"""Stacks on clusters: the members of one process, merged after every round as each of them alone would be."""

from __future__ import annotations

import json
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_friedman1

pytest.importorskip("distributed")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd

import confidently
from confidently import AROW, AutoClassifier, AutoRegressor, Logistic, OnlineClassifier, distributed
from confidently.data import DataError, open_stream
from confidently.data.sources.file_range import FileRange
from confidently.models.stack_merging import merge_all
from confidently.rounds import tasks
from confidently.rounds.change import advanced, merge_changes
from confidently.stack.members import COUNTERS, WEIGHTS
from confidently.stack.members import ROWS as MIXTURE_ROWS
from confidently.stack.naive_bayes import ENTRIES, FREQUENCY, KNOWN, ROWS, NaiveBayes
from confidently.stack.stack import HESSIAN
from confidently.stack.threads import _one_thread, members_in_turn, threads_for
from tests.command_line import process

N = 1600
GIVEN = [OnlineClassifier(AROW(r=0.5), view="standard"), OnlineClassifier(Logistic(), view="unit,pairs")]
TABLE = {"normalize": "none", "zeros": True, "label": "label"}


def numbers():
    """Rows whose class needs the product of two columns of very different sizes."""
    X = np.random.default_rng(0).normal(size=(N, 3)) * [1.0, 1e4, 10.0]
    return X.round(3), np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")


X, Y = numbers()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "rows.jsonl"
    towns = np.random.default_rng(1).choice(["Rome", "Oslo"], size=N)
    rows = (dict(zip("abc", x.tolist(), strict=True)) | {"town": town} for x, town in zip(X, towns, strict=True))
    path.write_text("".join(json.dumps(row | {"label": y}) + "\n" for row, y in zip(rows, Y.tolist(), strict=True)))
    return path


@pytest.fixture(scope="module", params=[2, 3])
def texts(request, tmp_path_factory):
    """Texts of two or three classes, the last of which only later rows have."""
    path, generator = tmp_path_factory.mktemp("data") / "texts.vw", np.random.default_rng(0)
    with path.open("w") as file:
        for k in range(N):
            label = int(generator.integers(0, 2 if k < N // 2 else request.param))
            own = [f"w{generator.integers(0, 300) * 3 + (label if t < 9 else 0)}" for t in range(45)]
            print(f"{label + 1} | {' '.join(own)}", file=file)
    return path


def error_of(model, path, truth):
    return np.mean(np.concatenate(list(model.predict_stream(path))) != truth)


def labels_of(path):
    return np.array([int(line.split()[0]) for line in path.read_text().splitlines()])


# --- near to one process --------------------------------------------------------------------------------------------


@pytest.mark.long("four stacks")
def test_one_partition_in_one_round_is_one_process(client, table, texts, tmp_path):
    few = tmp_path / "few.jsonl"  # without members on first values, which a base of partitions has from the beginning
    few.write_text("".join(table.read_text().splitlines(keepends=True)[:900]))
    for path, how in ((few, TABLE), (texts, {})):
        found = distributed.fit(AutoClassifier(), path, client=client, partitions=1, rounds=1, **how)
        found.save(tmp_path / "cluster")
        one = AutoClassifier().fit_stream(open_stream(path, **how))
        one.learner_.choose_for_good()  # as clusters do
        one.save(tmp_path / "process")
        assert (tmp_path / "cluster").read_bytes() == (tmp_path / "process").read_bytes()


@pytest.mark.long("a stack on a cluster")
def test_tables_have_the_members_and_nearly_the_error_of_one_process(client, table):
    accounts = []
    found = distributed.fit(
        AutoClassifier(), table, client=client, partitions=4, rounds=4, progress=accounts.append, **TABLE
    )
    one = AutoClassifier().fit_stream(open_stream(table, **TABLE))
    assert list(found.members_) == list(one.members_)
    assert found.n_seen_ == sum(account.rows for account in accounts) == N
    assert found.mistakes_ == sum(account.mistakes for account in accounts)
    assert sum(account.log_loss for account in accounts) / N < np.log(2)
    assert error_of(found, table, Y) < error_of(one, table, Y) + 0.03
    assert found.members == "auto"
    assert found.partial_fit_stream([str(table)]).n_seen_ == 2 * N


@pytest.fixture(scope="module")
def label_sets(tmp_path_factory):
    """Rows of a table with any of three labels, the last of which only later rows have."""
    path = tmp_path_factory.mktemp("data") / "sets.jsonl"
    named = (X[:, 0] > 0, X[:, 1] > 1e4, (X[:, 2] > 5) & (np.arange(N) > N // 2))
    with path.open("w") as file:
        for x, *own in zip(X.tolist(), *named, strict=True):
            names = [name for name, one in zip(("one", "two", "three"), own, strict=True) if one]
            print(json.dumps(dict(zip("abc", x, strict=True)) | {"label": names}), file=file)
    return path


@pytest.mark.long("a stack of labels on a cluster")
def test_label_sets_are_learned_on_clusters(client, label_sets):
    how = TABLE | {"multilabel": True}
    found = distributed.fit(AutoClassifier(), label_sets, client=client, partitions=3, rounds=3, **how)
    one = AutoClassifier().fit_stream(open_stream(label_sets, **how))
    assert list(found.members_) == list(one.members_)
    assert found.classes_.tolist() == one.classes_.tolist() == ["one", "three", "two"]
    assert found.n_seen_ == one.n_seen_
    ours, theirs = (np.concatenate(list(model.predict_stream(label_sets))) for model in (found, one))
    assert (ours != theirs).mean() < 0.05


@pytest.mark.long("two stacks")
def test_texts_are_counted_exactly_and_classes_aligned(client, texts):
    """By naive Bayes, whose counts of a round are the base's and what each partition has added."""
    found = distributed.fit(AutoClassifier(), texts, client=client, partitions=3, rounds=4)
    one = AutoClassifier().fit_stream(open_stream(texts))
    assert list(found.members_) == list(one.members_)
    ours, theirs = (next(m for m in model.learner_.members if isinstance(m, NaiveBayes)) for model in (found, one))
    rows = [[list(model.features_.key).index(key) for key in one.features_.key] for model in (found, one)]
    classes = [np.argsort(model.classes_) for model in (found, one)]
    for name in (FREQUENCY, ENTRIES, ROWS):
        a, b = (part.state[name][..., order] for part, order in zip((ours, theirs), classes, strict=True))
        if name == FREQUENCY:
            a, b = a[rows[0]], b[rows[1]]
        assert_array_equal(a, b)
    assert_array_equal(ours.state[KNOWN], theirs.state[KNOWN])
    truth = labels_of(texts)
    assert error_of(found, texts, truth) < error_of(one, texts, truth) + 0.04


@pytest.mark.parametrize("members", [GIVEN, pytest.param("auto", marks=pytest.mark.long("each member on a cluster"))])
def test_rounds_of_arrays_are_merges_by_hand(client, members):
    """Two partitions of two rounds each, merged after every round; the first rows of all choose the members."""
    blocks = da.from_array(X, chunks=(N // 4, -1)), da.from_array(Y, chunks=N // 4)
    found = distributed.fit(AutoClassifier(members), *blocks, client=client, partitions=2, rounds=2)
    chosen = AutoClassifier(members, shuffle=False).fit(X, Y)
    assert list(found.members_) == list(chosen.members_)
    for k, member in enumerate(chosen.members_.values()):
        if member.forget:
            continue  # by itself it is refused
        alone = distributed.fit(member, *blocks, client=client, partitions=2, rounds=2)
        assert_allclose(list(found.members_.values())[k].decision_function(X), alone.decision_function(X))
    assert found.n_seen_ == N


@pytest.mark.long("four stacks on a cluster")
def test_passes_frames_and_more_rows(client):
    frame = pd.DataFrame(X, columns=list("abc")).assign(label=Y)
    options = {"client": client, "partitions": 2, "rounds": 2}
    rows = dd.from_pandas(frame, npartitions=5)
    once = distributed.fit(AutoClassifier(), rows, "label", **options)
    found = distributed.fit(AutoClassifier(passes=2, shuffle=True, random_state=0), rows, "label", **options)
    assert found.n_seen_ == 2 * N
    assert list(found.feature_names_in_) == list("abc")
    assert found.score(frame[list("abc")], Y) > 0.9
    state = once.learner_.state
    shuffled = distributed.fit(AutoClassifier(shuffle=True, random_state=0), rows, "label", **options).learner_.state
    for name in (WEIGHTS, HESSIAN, MIXTURE_ROWS):  # learned in the first pass only
        assert_allclose(found.learner_.state[name], shuffled[name], rtol=1e-12, err_msg=name)
    assert not np.array_equal(state[WEIGHTS], shuffled[WEIGHTS])
    distributed.partial_fit(once, rows, "label", **options)
    assert once.n_seen_ == 2 * N
    dropped = once.learner_.dropped
    assert dropped and set(dropped.values()) == {once.n_seen_}  # after the last round
    assert list(once.members_) == [name for name in found.members_ if name not in dropped]


def test_merging_changes_is_merging_stacks(texts):
    """In a tree, from a base that has seen some of the features."""
    size = texts.stat().st_size
    base = AutoClassifier().fit_stream(open_stream(FileRange(str(texts), 0, size * 5 // 8))).as_model()
    job = tasks.Job(open_stream(texts).reading)
    ranges = [FileRange(str(texts), size * k // 8, size * (k + 1) // 8) for k in (5, 6, 7)]
    changes = [tasks.learn_files(base, [part], job, True, (0,)).change for part in ranges]
    whole = merge_all([advanced(base, change) for change in changes], "abc", base, "base", "rounds")
    tree = advanced(base, merge_changes(base, [merge_changes(base, changes[:2]), changes[2]]))
    assert tree.classes == whole.classes
    assert list(tree.features.names) == list(whole.features.names)
    for ours, theirs in zip(tree.learner.members, whole.learner.members, strict=True):
        for array in ("mean", "variance") if hasattr(ours, "mean") else ():
            assert_allclose(getattr(ours, array)(), getattr(theirs, array)(), rtol=1e-7, atol=1e-9)
    assert_array_equal(tree.learner.state[COUNTERS], whole.learner.state[COUNTERS])
    assert changes[0].nbytes > sum(member.state["weights"].nbytes for member in whole.learner.members[:2]) / 4


@pytest.mark.long("stacks of thousands of rows on a cluster")
@pytest.mark.filterwarnings("ignore:one of 2 partitions trains at a time")  # CSV cannot be divided
def test_regressions_on_clusters_are_near_to_one_process(client, tmp_path):
    """The first rows of all are those with which bins and ranks begin in every partition."""
    rows, targets = make_friedman1(5000, n_features=5, noise=1.0, random_state=0)
    blocks = da.from_array(rows[:4000], chunks=(500, -1)), da.from_array(targets[:4000], chunks=500)
    of_arrays = distributed.fit(AutoRegressor(), *blocks, client=client, partitions=2, rounds=4)
    one = AutoRegressor(shuffle=False).fit(rows[:4000], targets[:4000])
    lines = [
        f"{y!r},{','.join(map(repr, x))}\n" for y, x in zip(targets[:4000].tolist(), rows[:4000].tolist(), strict=True)
    ]
    path = tmp_path / "rows.csv"
    path.write_text("y,a,b,c,d,e\n" + "".join(lines))
    how = {"label": "y", "normalize": "none", "zeros": True}
    of_files = distributed.fit(AutoRegressor(), path, client=client, partitions=2, rounds=4, **how)
    least = np.mean((one.predict(rows[4000:]) - targets[4000:]) ** 2)
    for found in (of_arrays, of_files):
        assert list(found.members_) == list(one.members_)
        assert found.n_seen_ == 4000
        assert np.mean((found.predict(rows[4000:]) - targets[4000:]) ** 2) < 1.05 * least


@pytest.mark.long("three stacks on a cluster")
def test_several_numbers_are_learned_on_clusters(client):
    rows, y = make_friedman1(2400, n_features=5, noise=1.0, random_state=0)
    targets = np.column_stack([y, rows[:, 0] - y])
    options = {"client": client, "partitions": 2, "rounds": 2}
    blocks = da.from_array(rows, chunks=(300, -1)), da.from_array(targets, chunks=(300, -1))
    found = distributed.fit(AutoRegressor(passes=2, trees=False), *blocks, **options)
    assert (found.n_seen_, found.weights_.shape) == (4800, (2, len(found.members_)))
    for k in range(2):
        own = blocks[0], da.from_array(targets[:, k], chunks=300)
        alone = distributed.fit(AutoRegressor(passes=2, trees=False), *own, **options)
        assert_allclose(found.predict(rows)[:, k], alone.predict(rows), rtol=1e-6)


def test_partitions_leave_the_processors_to_each_other():
    with members_in_turn():
        with threads_for(4, 10_000) as threads:
            assert threads is None
        with ThreadPoolExecutor(1) as pool:  # of this thread only
            assert pool.submit(_one_more_thread).result()
    assert _one_more_thread()


def _one_more_thread():
    return not _one_thread.get()


# --- the command line -----------------------------------------------------------------------------------------------


@pytest.mark.long("starts worker processes")
def test_the_command_line_trains_on_a_cluster(table, tmp_path):
    options = ["--label", "label", "--auto", "--workers", "2", "--partitions", "2", "--rounds", "3", "--json"]
    done = process("train", table, "-o", tmp_path / "model", *options)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    found = confidently.load(tmp_path / "model")
    assert [member["name"] for member in result["members"]] == list(found.members_)
    assert (result["rows"], found.n_seen_, found.members) == (N, N, "auto")
    same = distributed.fit(AutoClassifier(), table, workers=1, partitions=2, rounds=3, **TABLE)
    assert_array_equal(found.learner_.state[WEIGHTS], same.learner_.state[WEIGHTS])
    more = process("train", table, "-o", tmp_path / "more", "--init-model", tmp_path / "model", "--workers", "1", "-q")
    assert more.returncode == 0, more.stderr
    assert confidently.load(tmp_path / "more").n_seen_ == 2 * N


# --- what does not go together --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([OnlineClassifier(covariance="kernel")], "a kernel model keeps coefficients"),
        ([OnlineClassifier(), OnlineClassifier(forget=0.1)], "no rows come last for forget to keep"),
        ([OnlineClassifier(passes=0)], "passes must be an integer"),
    ],
)
def test_members_that_cannot_be_merged_are_refused(client, table, members, message):
    with pytest.raises(ValueError, match=message):
        distributed.fit(AutoClassifier(members), table, client=client, **TABLE)


def test_cosines_of_columns_that_partitions_number_differently_are_merged(client, tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = ({f"c{j + (k >= 300) * 4}": float(x) for j, x in enumerate(row)} for k, row in enumerate(X[:600]))
    path.write_text("".join(json.dumps(row | {"label": y}) + "\n" for row, y in zip(rows, Y.tolist(), strict=False)))
    members = [GIVEN[0], OnlineClassifier(view="cosines")]
    found = distributed.fit(AutoClassifier(members), path, client=client, partitions=4, rounds=2, **TABLE)
    assert (found.n_seen_, found.features_ is not None and len(found.features_)) == (600, 6)


@pytest.mark.long("a stack on a cluster")
def test_indicator_matrices_are_learned_in_partitions(client):
    relevant = np.column_stack([X[:, 0] > 0, X[:, 1] > 1e4]).astype(int)
    rows = da.from_array(X, chunks=(400, -1)), da.from_array(relevant, chunks=(400, -1))
    found = distributed.fit(AutoClassifier(), *rows, client=client)
    assert found.weights_.shape == (2, len(found.members_))
    assert (found.predict(X) == relevant).mean() > 0.9


def test_first_rows_that_cannot_be_read_or_used_are_one_error(client, tmp_path):
    bad = X.copy()
    bad[700, 1] = np.nan
    with pytest.raises(ValueError, match="row 700"):
        distributed.fit(
            AutoClassifier(), da.from_array(bad, chunks=(400, -1)), da.from_array(Y, chunks=400), client=client
        )
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n2 1:2\n" * 400 + "2 1:x\n")
    with pytest.raises(DataError, match="line 801"):
        distributed.fit(AutoClassifier(), path, client=client, partitions=1)
