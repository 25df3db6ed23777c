"""Training with views on clusters: rounds are merges, and statistics those of one pass over all rows."""

import json
import warnings
from copy import copy, deepcopy
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("distributed")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd

import confidently
from confidently import OnlineClassifier, distributed
from confidently.data import ReaderOptions, open_stream
from confidently.data.sources.file_range import FileRange
from confidently.models.merging import merge_models
from confidently.rounds import tasks
from confidently.rounds.change import advanced, merge_changes
from confidently.views.pairs import Pairs
from confidently.views.table import VIEWS

N = 480
OF_FIRST_VALUES = ["ranks", "bins", "bins,pairs"]  # which need a common base
EVERY = [*(view for view in VIEWS if view not in OF_FIRST_VALUES), "standard,pairs"]


SOME = [
    *EVERY[:1],
    EVERY[-1],
    *(pytest.param(view, marks=pytest.mark.long("each view on a cluster")) for view in EVERY[1:-1]),
]


def rows():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(N, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 50.0, 0.0, 1.0]
    return np.abs(X).round(4), (X[:, 0] + 0.1 * X[:, 1] > 5.3).astype(int)


X, Y = rows()
TOWNS = np.random.default_rng(1).choice(["Rome", "Oslo", "7"], size=N)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "rows.jsonl"
    rows = (dict(zip("abcd", x.tolist(), strict=True)) for x in X)
    lines = [row | {"town": town, "label": int(y)} for row, town, y in zip(rows, TOWNS, Y, strict=True)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


READING = {"vocabulary": True, "normalize": "none", "zeros": True}


def statistics(model):
    """What the view has counted, by the names of the columns; products by those of both."""
    learner = model.learner_
    named = model.features_.names if hasattr(model, "features_") else getattr(model, "feature_names_in_", None)
    names = list(range(learner.n_features) if named is None else named)
    packed = learner.view.packed(learner.state, learner.n_features)
    found = {}
    for key, array in packed.items():
        if len(array) == len(names) and not key.startswith("pairs"):
            found |= {(key, name): value for name, value in zip(names, array, strict=True)}
        elif key.endswith("rows"):
            found[key] = array
    if "pairs.first" in packed:
        ends = zip(packed["pairs.first"], packed["pairs.second"], strict=True)
        found["terms"] = {tuple(sorted(names[j] for j in term if j >= 0)) for term in ends}
    return found


@pytest.mark.parametrize("view", SOME)
def test_rounds_of_arrays_are_merges_by_hand(client, view):
    """Two partitions of two rounds each, merged after every round."""
    settings = {"view": view}
    blocks = da.from_array(X, chunks=(N // 4, -1)), da.from_array(Y, chunks=N // 4)
    found = distributed.fit(OnlineClassifier(**settings), *blocks, client=client, partitions=2, rounds=2)
    base = None
    for number in range(2):
        parts = []
        for k in range(2):
            start = (2 * k + number) * N // 4
            part = OnlineClassifier(**settings)
            part = part if base is None else part._take_model(copied(base))
            mine = slice(start, start + N // 4)
            parts.append(part.partial_fit(X[mine], Y[mine], classes=[0, 1]).as_model())
        base = merge_models(parts, "ab", base, "base", "rounds")
    assert found.learner_.state.keys() == base.learner.state.keys()
    for key in base.learner.state:
        assert_allclose(found.learner_.state[key], base.learner.state[key], rtol=1e-12, atol=1e-12, err_msg=key)


def copied(model):
    learner = copy(model.learner)
    learner.state = {key: array.copy() for key, array in learner.state.items()}
    return replace(model, learner=learner)


@pytest.mark.parametrize("view", [view for view in SOME if "trees" not in str(view)])  # those of parts
def test_rounds_of_files_give_the_statistics_of_one_pass(client, path, view):
    found = distributed.fit(OnlineClassifier(view=view), path, client=client, partitions=3, rounds=4, **READING)
    one = OnlineClassifier(view=view).fit_stream(open_stream(path, **READING))
    ours, theirs = statistics(found), statistics(one)
    assert ours.keys() == theirs.keys()
    for key, expected in theirs.items():
        assert ours[key] == (expected if key == "terms" else pytest.approx(expected, rel=1e-12)), key
    assert found.n_seen_ == N
    errors = [np.mean(np.concatenate(list(model.predict_stream(path))) != Y) for model in (found, one)]
    assert errors[0] < errors[1] + 0.05


@pytest.mark.parametrize("view", EVERY)
def test_merging_changes_is_merging_models(path, view):
    """In a tree, from a base that has seen some of the features."""
    size = path.stat().st_size
    first = FileRange(str(path), 0, 1500)
    base = OnlineClassifier(view=view).fit_stream(open_stream(first, **READING)).as_model()
    job = tasks.Job(ReaderOptions(format="jsonl", **READING))
    ranges = [FileRange(str(path), size * k // 3, size * (k + 1) // 3) for k in range(3)]
    changes = [tasks.learn_files(base, [part], job, True, (0,)).change for part in ranges]
    whole = merge_models([advanced(base, change) for change in changes], "abc", base, "base", "rounds")
    tree = advanced(base, merge_changes(base, [merge_changes(base, changes[:2]), changes[2]]))
    assert list(tree.features.names) == list(whole.features.names)
    for one, other in zip(*(by_column(model) for model in (tree, whole)), strict=True):
        assert_allclose(one, other, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("view", OF_FIRST_VALUES)
def test_a_model_of_a_thousand_rows_continues_in_partitions(client, path, view):
    """Its quantiles are those of all partitions."""
    base = OnlineClassifier(view=view).fit_stream(open_stream(path, **READING))
    for _ in range(2):
        base.partial_fit_stream(path)
    found = distributed.partial_fit(deepcopy(base), path, client=client, partitions=3, rounds=2)
    one = base.partial_fit_stream(path)
    assert found.n_seen_ == one.n_seen_ == 4 * N
    for key in [key for key in one.learner_.state if key.startswith(("ranks.", "bins."))]:
        assert np.array_equal(found.learner_.state[key], one.learner_.state[key]), key
    errors = [np.mean(np.concatenate(list(model.predict_stream(path))) != Y) for model in (found, one)]
    assert errors[0] < errors[1] + 0.05


@pytest.mark.long("a training on a cluster for each view")
@pytest.mark.few(1)
@pytest.mark.parametrize("view", OF_FIRST_VALUES)
@pytest.mark.parametrize("kind", ["files", "arrays"])
def test_fewer_than_a_thousand_rows_are_the_first_values_of_all_partitions(client, path, view, kind):
    """Their quantiles are those of the rows, several times over, and no partition adds to them."""
    blocks = da.from_array(X, chunks=(N // 4, -1)), da.from_array(Y, chunks=N // 4)
    data, how = ([path], READING) if kind == "files" else (blocks, {})
    found = distributed.fit(OnlineClassifier(view=view), *data, client=client, partitions=2, rounds=2, **how)
    name = view.split(",")[0]
    knots = found.learner_.state[f"{name}.knots"]
    several = OnlineClassifier(view=name).fit(np.tile(X, (3, 1))[:1000], np.tile(Y, 3)[:1000])
    assert_array_equal(knots, several.learner_.state[f"{name}.knots"])
    assert (found.n_seen_, found.learner_.state[f"{name}.rows"][0]) == (N, 1000)
    error = np.mean(np.concatenate(list(found.predict_stream(path))) != Y) if kind == "files" else 1 - found.score(X, Y)
    assert error < 1 - OnlineClassifier(view=view).fit(X, Y).score(X, Y) + 0.05


def by_column(model):
    """Means and variances, with columns in an order that does not depend on their numbers."""
    learner = model.learner
    names = [learner.view.column_name(learner.state, j, str) for j in range(learner.width)]
    order = np.append(np.argsort(names), learner.width)
    return learner.mean()[:, order], learner.variance()[:, order]


def test_numbered_features_that_a_partition_lacks_are_0(client, tmp_path):
    path = tmp_path / "rows.svm"
    values = X.copy()
    values[: N // 2, 2:] = 0.0
    lines = (" ".join(f"{j + 1}:{x}" for j, x in enumerate(row) if x) for row in values)
    path.write_text("".join(f"{y} {line}\n" for line, y in zip(lines, Y, strict=True)))
    found = distributed.fit(OnlineClassifier(view="standard"), path, client=client, partitions=4, rounds=3)
    state = found.learner_.state
    assert state["standard.count"].tolist() == [N] * 4
    assert state["standard.mean"] == pytest.approx(values.mean(axis=0), rel=1e-12)
    assert state["standard.squares"] == pytest.approx(values.var(axis=0) * N, rel=1e-10)


@pytest.mark.long("two trainings on a cluster")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_columns_of_frames_are_multiplied_by_name(client):
    frame = pd.DataFrame(X, columns=list("abcd"))
    view = Pairs(columns=[("a", "c")])
    found = distributed.fit(
        OnlineClassifier(view=view), dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(Y), npartitions=3),
        client=client, partitions=2, rounds=2,
    )  # fmt: skip
    assert statistics(found)["terms"] == {("a",), ("b",), ("c",), ("d",), ("a", "c")}
    found.partial_fit(frame, Y)
    distributed.partial_fit(
        found, da.from_array(X, chunks=(N // 4, -1)), da.from_array(Y, chunks=N // 4), client=client
    )
    assert found.n_seen_ == 3 * N


# --- what does not go together --------------------------------------------------------------------------------------


def test_values_that_were_scaled_are_refused(client, path):
    with pytest.raises(ValueError, match="needs rows as they are; open the stream with normalize='none', zeros=True"):
        distributed.fit(OnlineClassifier(view="standard"), path, client=client, vocabulary=True)


@pytest.mark.long("six trainings on a cluster")
def test_rows_choose_a_view_as_without_a_cluster(client, path):
    """Arrays, data frames and files as they are have the view that ``confidently train`` gives them."""
    arrays = distributed.fit(OnlineClassifier(), da.from_array(X, 120), da.from_array(Y, 120), client=client, rounds=2)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")).assign(y=Y), npartitions=2)
    frames = distributed.fit(OnlineClassifier(), frame, "y", client=client, rounds=2)
    reading = {"normalize": "none", "zeros": True}
    files = distributed.fit(OnlineClassifier(), [path], client=client, rounds=2, **reading)
    named = distributed.fit(OnlineClassifier(view="standard"), [path], client=client, rounds=2, **reading)
    assert arrays.view_ == frames.view_ == files.view_ == confidently.Standard()
    assert np.array_equal(files.coef_, named.coef_)
    more = distributed.partial_fit(files, [path], client=client, rounds=1)
    assert more.view_ == confidently.Standard() and more.n_seen_ == 2 * N
    with pytest.warns(confidently.data.DataWarning, match="numeric columns are not standardized"):
        scaled = distributed.fit(OnlineClassifier(), [path], client=client, rounds=1)
    assert scaled.view_ is None
