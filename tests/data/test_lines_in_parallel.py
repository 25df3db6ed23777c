"""Rows of lines, and results of threads, do not depend on how many threads there are."""

import random
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from confidently.data import open_stream
from confidently.data.features import Features
from confidently.data.selection import joined
from confidently.data.sources.background import in_order
from tests.data.tables import write
from tests.line_rows import parsers_of, pieces_of

WORDS = [f"w{k}" for k in range(60)]
LINES = {
    "vw": lambda label, words: f"{label} |a {' '.join(words)} |b {words[0]}:2 {words[-1]}:x",
    "text": lambda label, words: f"{label}\t{' '.join(words)}",
    "jsonl": lambda label, words: f'{{"label": "{label}", "bag": {list(words)}, "x": {len(words)}}}'.replace("'", '"'),
    "svmlight": lambda label, words: f"{label} {' '.join(f'{WORDS.index(w) + 1}:1' for w in words)}",
}


def same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return np.array_equal(a, b)


rows = st.lists(
    st.tuples(st.sampled_from(["a", "1", "x y", "wrong |"]), st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)),
    min_size=1, max_size=30,
)  # fmt: skip
hows = st.fixed_dictionaries({
    "format": st.sampled_from(sorted(LINES)), "bits": st.sampled_from([3, 22]), "vocabulary": st.booleans(),
    "normalize": st.sampled_from(["l2", "none"]),
})  # fmt: skip


@given(rows, hows, st.lists(st.integers(0, 2000), max_size=12), st.sampled_from([None, True, False]), st.booleans())
@settings(max_examples=60)
def test_the_number_of_parsers_does_not_matter(rows, how, cuts, frozen, multilabel):
    text = "\n".join(LINES[how["format"]](*row) for row in rows).encode()
    request = {"multilabel": multilabel, "skip_errors": True}
    if frozen is not None and how["format"] != "svmlight" and (how["vocabulary"] or how["bits"] == 22):
        request |= {"features": Features.named(["a^w7", "w7", "bag=w7", "w8"]), "freeze": frozen}
        if not how["vocabulary"]:
            request["features"] = Features(request["features"].key & (2**22 - 1))
    alone, *others = (pieces_of(parsers_of(how, n, **request), text, cuts) for n in (1, 2, 3))
    others.append(pieces_of(parsers_of(how, 1, parsers=0, **request), text, cuts))
    for several in others:
        assert same(several, alone)


@pytest.mark.parametrize("format", ["svmlight", "csv", "parquet"])
def test_without_parsers_nothing_is_read_ahead(tmp_path, format):
    path, n = tmp_path / f"rows.{format}", 20_000
    if format == "svmlight":
        path.write_text("".join(f"{k % 3} 1:{k}\n" for k in range(n)))
    else:
        write(path, {"label": [k % 3 for k in range(n)], "x": range(n)})
    with (
        open_stream(path, format=format, chunk_bytes=4096, parsers=0) as alone,
        open_stream(path, format=format) as usual,
    ):
        ours, theirs = joined(list(alone)), joined(list(usual))
    assert len(ours) == n
    for name in ("labels", "start", "columns", "values"):
        assert_array_equal(getattr(ours, name), getattr(theirs, name))
    with open_stream(path, format=format, chunk_bytes=4096, parsers=0) as alone:
        next(alone)
        assert not [thread for thread in threading.enumerate() if thread.name == "confidently-reader"]


def test_a_generator_may_end_in_a_thread_of_its_own():
    """As where the collector of garbage runs there and finds it."""
    suspended, ended = threading.Event(), threading.Event()

    def work(item, turn):
        if item == 1:
            assert suspended.wait(30)
            results.close()
            ended.set()
        return item

    results = in_order(range(4), [work], 1)
    assert next(results) == 0
    suspended.set()
    assert ended.wait(30) and list(results) == []


def test_results_come_in_the_order_of_items_and_turns_are_taken_in_it():
    passed, chance = [], random.Random(0)

    def work(item, turn):
        time.sleep(chance.random() / 1000)
        with turn:
            passed.append(item)
        time.sleep(chance.random() / 1000)
        return -item

    assert list(in_order(range(50), [work] * 4, 6)) == [-k for k in range(50)]
    assert passed == list(range(50))


@pytest.mark.parametrize("where", ["items", "before its turn", "in its turn"])
def test_an_error_comes_in_its_place_and_ends_all(where):
    def items():
        yield from range(5)
        if where == "items":
            raise KeyError("five")
        yield from range(5, 100)

    def work(item, turn):
        if item == 5 and where == "before its turn":
            raise KeyError("five")
        with turn:
            if item == 5:
                raise KeyError("five")
            return item

    results = in_order(items(), [work] * 3, 4)
    assert [next(results) for _ in range(5)] == list(range(5))
    with pytest.raises(KeyError, match="five"):
        next(results)
    assert not [thread for thread in threading.enumerate() if thread.name == "confidently-reader"]


def test_no_more_is_taken_than_was_announced():
    taken = []
    results = in_order((taken.append(k) or k for k in range(1000)), [lambda item, turn: item] * 3, 5)
    for k in range(20):
        assert next(results) == k
        assert len(taken) <= k + 1 + 5
    results.close()
    assert len(taken) < 30
