"""Prediction on rows with unseen features, in formats whose features have names."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from confidently import _core
from confidently.covariances.settings import Settings
from confidently.data import open_stream
from confidently.data.classes import ClassTable
from confidently.data.features import Features
from confidently.learner.learner import Learner
from confidently.learner.streams import StreamLearner, StreamPredictor
from tests.covariance_cases import OVER_WEIGHTS
from tests.data.test_streams import trained


def named_rows(kind, n, words, seed, labels=3):
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        chosen = [f"w{k}" for k in random.integers(0, words, 6)]
        label = random.integers(labels)
        rows.append(
            f"{label} |f {' '.join(w + ':0.5' for w in chosen)}" if kind == "vw" else f"{label}\t{' '.join(chosen)}"
        )
    return "\n".join(rows) + "\n"


def learned(path, how, **options):
    """Return a learner and its features."""
    with open_stream(path, **how) as stream:
        features = Features()
        learner = StreamLearner(Learner(Settings("arow", **options)), ClassTable(), features=features)
        for _ in learner.learn(stream):
            pass
    return learner.learner, features


@pytest.mark.long("each covariance over weights, twice")
@pytest.mark.parametrize("vocabulary", [False, True])
@pytest.mark.parametrize("covariance", OVER_WEIGHTS)
@pytest.mark.parametrize("kind", ["vw", "text"])
def test_unseen_features_only_add_their_prior_variance(tmp_path, kind, covariance, vocabulary):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text(named_rows(kind, 80, 25, seed=0))
    new.write_text(named_rows(kind, 60, 200, seed=1))
    how = {"format": kind, "vocabulary": vocabulary}
    options = {"covariance": covariance, "prior_variance": 0.5}
    known, features = learned(old, how, **options)
    grown, _ = learned(old, how, **options)
    [batch] = open_stream(new, ignore_labels=True, features=features, **how)
    assert batch.n_columns > len(features) + 50
    grown.grow(n_features=batch.n_columns)
    answering = StreamPredictor(known)
    for chunk_bytes in (1 << 20, 100):
        with open_stream(
            new, ignore_labels=True, features=features, freeze=True, chunk_bytes=chunk_bytes, **how
        ) as parts:
            found = []
            for part in parts:
                matrix = answering.matrix(part)
                found.append((*np.atleast_2d(known.probabilities(matrix)).T, *np.atleast_2d(known.decision(matrix)).T))
        expected = (*np.atleast_2d(grown.probabilities(batch.matrix)).T, *np.atleast_2d(grown.decision(batch.matrix)).T)
        together = np.concatenate([np.array(part) for part in found], axis=1)
        np.testing.assert_allclose(together, np.array(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("named", [False, True])
def test_columns_that_a_model_lacks_become_one(named, dtype):
    """The length of what is left of each row, next to the columns that the model has."""
    random, known = np.random.default_rng(0), 6
    X = random.normal(size=(40, 15)) * (random.random((40, 15)) < 0.4)
    X[3], X[4, known:] = 0.0, 0.0
    X = sparse.csr_array(X.astype(dtype))
    model = np.sort(random.choice(15, known, replace=False)) if named else np.arange(known)
    found = _core.rows_of_known(
        X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64), known, model if named else None
    )
    values, columns, start = found
    rest = np.delete(X.toarray().astype(np.float64), model, axis=1)
    expected = np.column_stack([X.toarray()[:, model], np.sqrt((rest**2).sum(axis=1))])
    np.testing.assert_allclose(sparse.csr_array(found, shape=expected.shape).toarray(), expected, rtol=1e-15)
    assert len(values) == np.count_nonzero(expected)
    assert all((np.diff(columns[a:b]) > 0).all() for a, b in pairwise(start))


@pytest.mark.parametrize("kind", ["vw", "text"])
def test_unseen_features_are_dropped_after_their_batch(tmp_path, kind):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text(named_rows(kind, 20, 10, seed=0))
    _, features = learned(old, {"format": kind})
    new.write_text("".join(f"0 |f a{i} b{i} w1\n" if kind == "vw" else f"0\ta{i} b{i} w1\n" for i in range(20_000)))
    with open_stream(new, format=kind, features=features, freeze=True, chunk_bytes=4096, ignore_labels=True) as batches:
        for batch in batches:
            assert batch.n_columns <= len(features) + 2 * len(batch) <= len(features) + 4096
            assert len(batch.new_features.key) == batch.n_columns - len(features)


def test_known_features_have_their_columns(tmp_path):
    path = tmp_path / "rows.vw"
    path.write_text("1 |f a b |g a\n-1 | a :1\n")
    for how in ({"vocabulary": True}, {"bits": 12}, {"bits": 30}):
        first, second = (
            [(b.columns.tolist(), b.values.tolist()) for b in open_stream(path, features=known, **how)]
            for known in (None, learned(path, how)[1])
        )
        assert first == second


def test_exact_and_hashed_names_train_the_same(tmp_path):
    path = tmp_path / "rows.vw"
    path.write_text(named_rows("vw", 50, 20, seed=3, labels=2))
    exact, hashed = (trained(path, how=how) for how in ({"vocabulary": True}, {"bits": 30}))
    np.testing.assert_array_equal(exact.learner.weights, hashed.learner.weights)
