"""Threads of the compiled core, of readers and of callers: results, errors and threads end as without them.

``make tsan`` runs these tests under ThreadSanitizer.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp

from confidently import AutoClassifier, OnlineClassifier
from confidently.data import DataError, open_stream
from confidently.exclusive import Exclusive
from confidently.river import OnlineClassifier as DictClassifier
from confidently.topics.estimator import OnlineMedLDA

RANDOM = np.random.default_rng(0)
X = sp.random_array((400, 30), density=0.2, random_state=RANDOM, format="csr")
Y = RANDOM.integers(0, 3, size=400)
COUNTS = sp.random_array(
    (60, 40), density=0.3, random_state=RANDOM, data_sampler=lambda size: np.ones(size), format="csr"
)


def in_two_threads(work):
    """The results of ``work(0)`` and ``work(1)``, in threads that start together."""
    start = threading.Barrier(2)

    def one(which):
        start.wait()
        return work(which)

    with ThreadPoolExecutor(2) as threads:
        return list(threads.map(one, range(2)))


@pytest.mark.parametrize("options", [{}, {"multiclass": "one-vs-rest"}, {"covariance": "full"}, {"dtype": "float32"}])
def test_two_estimators_at_once(options):
    def fitted(which):
        return OnlineClassifier(**options).fit(X, Y).predict_proba(X)

    expected = fitted(0)
    for found in in_two_threads(fitted):
        assert np.array_equal(found, expected)


def test_one_estimator_predicts_in_two_threads():
    model = OnlineClassifier().fit(X, Y)
    expected = model.predict_proba(X)
    for found in in_two_threads(lambda which: model.predict_proba(X)):
        assert np.array_equal(found, expected)


def test_two_learners_of_dicts_at_once():
    rows = [({f"x{k}": float(k) for k in range(i % 7)}, i % 2) for i in range(300)]

    def learned(which):
        model = DictClassifier()
        for x, y in rows:
            model.learn_one(x, y)
        return [model.predict_proba_one(x) for x, _ in rows]

    expected = learned(0)
    assert in_two_threads(learned) == [expected, expected]


def text_of(rows, seed):
    random = np.random.default_rng(seed)
    words = [" ".join(f"w{k}:{k}" for k in random.integers(0, 500, 20)) for _ in range(rows)]
    return "".join(f"{random.integers(0, 3)} |n {line}\n" for line in words)


def read(path, **options):
    with open_stream(path, chunk_bytes=4096, **options) as stream:
        return [(batch.labels.tolist(), batch.columns.tolist(), batch.values.tolist()) for batch in stream]


def test_two_streams_of_several_parsers_at_once(tmp_path):
    paths = [tmp_path / "a.vw", tmp_path / "b.vw"]
    for seed, path in enumerate(paths):
        path.write_text(text_of(400, seed))
    expected = [read(path, parsers=0) for path in paths]
    assert in_two_threads(lambda which: read(paths[which], parsers=4)) == expected


def readers():
    return [thread for thread in threading.enumerate() if thread.name == "confidently-reader"]


def test_a_row_that_a_parser_refuses_ends_its_stream_only(tmp_path):
    good, bad = tmp_path / "good.vw", tmp_path / "bad.vw"
    good.write_text(text_of(400, 0))
    lines = good.read_text().splitlines(keepends=True)
    bad.write_text("".join([*lines[:250], "1 |n w:nan\n", *lines[250:]]))
    expected = read(good, parsers=0)
    for _ in range(3):
        with pytest.raises(DataError, match="line 251"):
            read(bad, parsers=4)
        assert not readers()
        assert read(good, parsers=4) == expected
    assert not readers()


@pytest.mark.parametrize("options", [{}, {"classifier": "averaging"}])
def test_topics_in_parallel(options):
    labels = np.arange(COUNTS.shape[0]) % 3
    expected = None
    for threads in (1, 2, 4):
        model = OnlineMedLDA(4, random_state=0, n_jobs=threads, batch_size=8, **options).fit(COUNTS, labels)
        found = model.decision_function(COUNTS)
        expected = found if expected is None else expected
        assert np.array_equal(found, expected)


OUT_OF_MEMORY = '''
import resource, threading, time
import numpy as np
from confidently import _core

def threads():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Threads:"))

def ends_with(count):
    """Whether no thread is left over. The kernel counts a thread for a moment after it was joined."""
    for _ in range(10_000):
        if threads() == count:
            return True
        time.sleep(0.001)
    return False

core = _core.Topics(
    topics=2, tasks=1, nonparametric=False, digamma=False, gibbs=False, document_prior=0.5, word_prior=0.5,
    stick_prior=1.0, c=1.0, epsilon=1.0, prior_variance=1.0, step_size=1.0, inner=1, samples=1, burn_in=0, batch=2,
    seed=1,
)
state = {"words": np.ones((3, MODELS, 2)), "totals": np.full((MODELS, 2), 3.0), "shift": np.zeros((MODELS, 1, 2))}
start, words, out = np.array([0, 1, 2]), np.array([0, 1], np.int32), np.zeros((2, MODELS, 2))
infer = lambda *counts: core.infer(state, 3, start, words, np.array(counts, np.int32), 1, 1, out, 2)
infer(1, 2)
before, expected = threads(), out.copy()
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
for _ in range(3):
    try:
        infer(2**31 - 1, 2**31 - 1)
    except MemoryError:
        pass
    else:
        raise SystemExit("there was memory")
    assert ends_with(before), threads()
    out[:] = 0
    infer(1, 2)
    assert np.array_equal(out, expected)
'''


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited as Linux does")
@pytest.mark.parametrize("models", [1, 4])
def test_an_item_that_fails_in_a_team_of_threads_is_one_error(models):
    """The error of the item arrives, the threads are joined, and the next call works."""
    code = textwrap.dedent(OUT_OF_MEMORY).replace("MODELS", str(models))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_process_forked_while_it_trains_leaves_the_context():
    model, child = object(), None
    try:
        with Exclusive(model):
            child = os.fork()
    except KeyError:
        os._exit(1)
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_members_of_a_stack_learn_the_same_in_threads(tmp_path, monkeypatch):
    generator = np.random.default_rng(0)
    rows = sp.csr_array((generator.random((2900, 300)) < 0.2) * generator.random((2900, 300)))  # none are dropped
    y, saved = generator.integers(0, 3, 2900), []
    for threads in (1, 4):
        monkeypatch.setattr(import_module("confidently.stack.threads"), "processors", lambda n=threads: n)
        model = AutoClassifier().fit(rows, y)
        assert len(model.members_) >= 3
        model.save(tmp_path / "model")
        saved.append((tmp_path / "model").read_bytes())
    assert saved[0] == saved[1]
