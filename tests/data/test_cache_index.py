"""The index of a cache is checked as its types say, and its blocks are read into memory that serves again."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from confidently.data import open_stream
from confidently.data.cache.contents import RowDetails, row_details
from confidently.data.cache.file import Block, _blocks
from confidently.data.sources.json_schema import conform
from tests.data.test_cache import cached

COUNTS = st.one_of(st.integers(-1, 2), st.sampled_from([2**63 - 1, 2**63, 1.0, True, "1", None]))
LARGEST = st.one_of(st.sampled_from([0.0, 1.5, -1.0, 1, math.inf, math.nan, True, None]), st.floats())
NEW_LABELS = st.sampled_from([[], [["a", 0, "x.svm, line 1"]], [["a", -1, "x"]], {}, 0, None, "", [[]]])
DETAILS = st.fixed_dictionaries(
    {"first_row": COUNTS, "rows": COUNTS, "n_columns": COUNTS, "largest": LARGEST},
    optional={"new_labels": NEW_LABELS, "more": COUNTS},
)
ARRAYS = st.dictionaries(
    st.sampled_from(["values", "columns"]),
    st.one_of(st.tuples(st.sampled_from(["<f8", "<i4", "<i2", 1]), COUNTS).map(list), st.just([]), COUNTS),
)
BLOCKS = st.lists(
    st.one_of(st.tuples(COUNTS, COUNTS, COUNTS, ARRAYS, st.one_of(st.just({}), DETAILS, COUNTS)).map(list), COUNTS),
    max_size=2,
)


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except (ValueError, TypeError) as error:
        return type(error), str(error)


@given(DETAILS, st.one_of(BLOCKS, st.just({})))
@settings(max_examples=100)
def test_the_quick_checks_of_an_index_find_what_the_types_do(details, blocks):
    assert repr(outcome(row_details, details)) == repr(outcome(conform, details, RowDetails, "details"))
    assert repr(outcome(_blocks, blocks)) == repr(outcome(conform, blocks, list[Block], "blocks"))


def test_blocks_are_read_into_memory_that_serves_again(tmp_path, monkeypatch):
    monkeypatch.setattr("confidently.data.cache.building.BLOCK_ROWS", 10)
    source, path = tmp_path / "rows.svm", tmp_path / "rows.cache"
    source.write_text("".join(f"{k % 2} {k % 7 + 1}:{k}\n" for k in range(1, 2001)))
    cached(source, path)
    kept, copies, places = [], [], set()
    for k, batch in enumerate(open_stream(path, multilabel=False)):
        assert not batch.values.flags.writeable
        places.add(batch.values.ctypes.data)
        if k % 20 == 0:
            kept.append(batch)
            copies.append(batch.values.copy())
    assert k == 199 and len(places) < 40
    assert all((batch.values == values).all() for batch, values in zip(kept, copies, strict=True))
