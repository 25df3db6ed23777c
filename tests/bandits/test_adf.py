"""Vowpal Wabbit's logged decisions: what is read, what VW itself reads, and what is refused."""

import gzip

import numpy as np
import pytest

from confidently.bandits import read_cb_adf, vw_text
from confidently.data import DataError

TEXT = """shared |user age:0.5 |s x
|item news
0:-1.5:0.25 |item sport :2

2:1:1 'tag | a b
| c

shared |
|item a
'tag |item b


0:0:0.5 | last
"""


def read(tmp_path, text, **options):
    path = tmp_path / "log.vw"
    path.write_text(text)
    return list(read_cb_adf(path, **options))


def entries(rows):
    """The values of each row, ascending, for features are hashed."""
    return [sorted(rows[[i]].data.tolist()) for i in range(rows.shape[0])]


def test_decisions_are_read(tmp_path):
    found = read(tmp_path, TEXT)
    assert [(one.chosen, one.cost, one.probability, one.line) for one in found] == [
        (1, -1.5, 0.25, 1), (0, 1.0, 1.0, 5), (None, None, None, 8), (0, 0.0, 0.5, 13),
    ]  # fmt: skip
    assert [entries(one.actions) for one in found] == [[[1], [1, 2]], [[1, 1], [1]], [[1], [1]], [[1]]]
    assert entries(found[0].shared) == [[0.5, 1]]
    news, sport = found[0].actions[[0]].indices, found[0].actions[[1]].indices
    assert not set(news) & set(sport)
    assert found[1].shared.nnz == found[2].shared.nnz == 0


@pytest.mark.parametrize("lines_per_call", [1, 3, 4096])
def test_pieces_of_the_file_do_not_matter(tmp_path, monkeypatch, lines_per_call):
    monkeypatch.setattr(vw_text, "LINES_PER_CALL", lines_per_call)
    whole = tmp_path / "log.vw.gz"
    whole.write_bytes(gzip.compress((TEXT + "\n").encode() * 50))
    found = list(read_cb_adf(whole, bits=10))
    assert [one.line for one in found[:6]] == [1, 5, 8, 13, 15, 19]
    assert len(found) == 200
    for k, one in enumerate(found):  # a name has one column in all of the file
        np.testing.assert_array_equal(one.actions.toarray(), found[k % 4].actions.toarray())
        np.testing.assert_array_equal(one.shared.toarray(), found[k % 4].shared.toarray())


def test_columns_are_hashes_of_names(tmp_path):
    """They do not depend on what came before."""
    first, second = read(tmp_path, "|n a b c\n\n|n c\n")
    assert read(tmp_path, "|n c\n")[0].actions.indices == second.actions.indices
    assert set(second.actions.indices) < set(first.actions.indices)


def test_windows_line_ends_and_no_line_end(tmp_path):
    found = read(tmp_path, "0:1:0.5 | a\r\n| b\r\n\r\n| c\r\n0:2:1 | d")
    assert [(one.chosen, one.cost, one.actions.shape[0]) for one in found] == [(0, 1.0, 2), (1, 2.0, 2)]
    assert read(tmp_path, "\n\n\n") == []


def test_crossed_rows_have_all_products(tmp_path):
    text = "shared |s a:2 b:3\n0:1:1 |x c:5\n|x d:7 e:1\n\n| c\n"
    first, second = read(tmp_path, text)
    rows = first.crossed()
    assert rows.shape == first.actions.shape
    np.testing.assert_allclose(np.sort(rows[[0]].data), [2, 3, 5, 10, 15])
    np.testing.assert_allclose(np.sort(rows[[1]].data), [1, 2, 2, 3, 3, 7, 14, 21])
    # The same pair of features has the same column in every decision, others (here) another one.
    again = read(tmp_path, "shared |s b:1\n|x c:1\n|x d:1\n")[0].crossed()
    own = set(rows[[0]].indices) & set(again[[0]].indices)
    assert len(own) == 3  # b, c and their product
    np.testing.assert_array_equal(second.crossed().toarray(), second.actions.toarray())


def test_products_are_spread_over_all_columns(tmp_path):
    shared = " ".join(f"f{k}" for k in range(100))
    rows = read(tmp_path, f"shared |s {shared}\n|a {shared}\n", bits=16)[0].crossed()
    columns = rows.indices[200:]
    assert columns.min() >= 0 and columns.max() < 1 << 16
    expected = (1 << 16) * (1 - np.exp(-10_000 / (1 << 16)))  # of random ones
    assert len(np.unique(columns)) > 0.97 * expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("| a\n\n0:1 | b\n", "line 3: expected a label action:cost:probability, got '0:1'"),
        ("0:1:0.5:2 | a\n", "line 1: expected a label"),
        ("x:1:0.5 | a\n", "line 1: expected a label"),
        ("-1:1:0.5 | a\n", "line 1: expected a label"),
        ("0:nan:0.5 | a\n", "line 1: expected a label"),
        ("0:1:0.5 0:1:0.5 | a\n", "line 1: expected a label"),
        ("0:1:0 | a\n", r"line 1: the probability of the chosen action must be in \(0, 1\], got 0"),
        ("0:1:1.5 | a\n", r"line 1: the probability .* got 1.5"),
        ("| a\nshared | b\n", "line 2: shared is not the first line of its decision"),
        ("shared | b\n\n| a\n", "line 1: shared features without an action"),
        ("0:1:0.5 | a\n0:1:0.5 | b\n", "line 2: another label before a blank line"),
        ("0:1:0.5| a\n", "line 1: '0:1:0.5' touches the |, which makes it a tag"),
        ("| a\nb\n", "line 2: no | in a line"),
        ("| a\n\n| b\n| c:x:y d:nan\n", "line 4"),
    ],
)
@pytest.mark.parametrize("lines_per_call", [1, 4096])
def test_invalid_lines_are_refused_with_file_and_line(tmp_path, monkeypatch, text, message, lines_per_call):
    monkeypatch.setattr(vw_text, "LINES_PER_CALL", lines_per_call)
    with pytest.raises(DataError, match=rf"log\.vw, {message}"):
        read(tmp_path, text)


def test_invalid_bits_and_missing_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match="bits: expected one of"):
        read(tmp_path, TEXT, bits=31)
    with pytest.raises(FileNotFoundError):
        list(read_cb_adf(tmp_path / "absent"))


def test_vowpal_wabbit_reads_the_same_decisions(tmp_path):
    vw = pytest.importorskip("vowpalwabbit", reason="needs vowpalwabbit")
    path = tmp_path / "log.vw"
    path.write_text(TEXT + "\n")
    workspace = vw.Workspace(f"--cb_explore_adf --quiet --noconstant -d {path}")
    found = list(read_cb_adf(path))
    assert workspace.get_weighted_examples() == len(found)
    workspace.finish()
    probabilities = vw.Workspace("--cb_explore_adf --quiet")
    for one, block in zip(found, path.read_text().split("\n\n"), strict=False):
        predicted = probabilities.predict([line for line in block.splitlines() if line])
        assert len(predicted) == one.actions.shape[0]
    probabilities.finish()
