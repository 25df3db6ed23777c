"""The svmlight reader against a slow one in plain Python, cut anywhere, and on everything it must refuse."""

import gzip
import math
import re
import threading

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from confidently.data import DataError, open_stream
from confidently.data.formats.lines import pieces
from confidently.data.sources.compression import Chunk
from tests import line_rows
from tests.line_rows import parsers_of


def rows_of(text, cuts=(), zero_based=False, **request):
    """Rows as the compiled readers see them: (labels, {column: value})."""
    parsers = parsers_of({"zero_based": zero_based}, **request)
    return [(labels, features) for labels, _, features in line_rows.rows_of(parsers, text, cuts)]


def slowly(text, base=1):
    """The same in plain Python, for valid text."""
    rows = []
    for line in re.split(r"\r?\n", text.decode()):
        tokens = re.split(r"(?:^|[ \t\r]+)#", line, maxsplit=1)[0].replace("\t", " ").replace("\r", " ")
        words = tokens.split()
        if not words:
            continue
        labelled = not re.match(r"\d+:|qid:", words[0])
        labels = words.pop(0).split(",") if labelled else []
        features = {}
        for word in words:
            index, value = word.split(":")
            if index != "qid":
                features[int(index) - base] = features.get(int(index) - base, 0.0) + float(value)
        rows.append((list(dict.fromkeys(int(x) if re.fullmatch(r"[+-]?\d+", x) else x for x in labels)), features))
    return rows


numbers = st.one_of(
    st.floats(-1e100, 1e100).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.from_regex(r"[+-]?[0-9]{1,25}\.[0-9]{0,25}(e[+-]?[0-9]{1,2})?", fullmatch=True).filter(
        lambda text: abs(float(text)) <= 1e100
    ),
)
features = st.tuples(st.integers(1, 40) | st.integers(1, (2**31 - 2)), numbers).map(lambda f: f"{f[0]}:{f[1]}")
labels = st.lists(st.integers(-20, 20).map("{:+d}".format) | st.sampled_from(["a", "spam", "ß", "C#"]), max_size=4)
spaces = st.sampled_from([" ", "  ", "\t", " \t "])


@st.composite
def lines(draw):
    text = draw(st.just("") | spaces) + ",".join(draw(labels))
    for token in draw(st.lists(features | st.just("qid:7"), max_size=8)):
        text += (draw(spaces) if text or draw(st.booleans()) else "") + token
    return (
        text + draw(st.sampled_from(["", " ", "\t", " # a comment 1:2", "\t#"])) + draw(st.sampled_from(["\n", "\r\n"]))
    )


@given(
    st.lists(lines(), max_size=12).map(lambda rows: "".join(rows).encode()), st.lists(st.integers(0, 500), max_size=6)
)
@example(b"+1 1:2 2:3", [3])
@example(b"1 3:1 1:2 3:4\n", [])
@example(b"\n\n# nothing\n \n1\n", [2])
@example(b" 1 1:2\n \t+1,a 1:2 #\n 1:2\n", [2])
@example(b"\xef\xbb\xbf1 1:1\n", [1])
def test_reads_as_the_slow_reader_wherever_the_text_is_cut(text, cuts):
    cuts = [cut for cut in cuts if cut <= len(text)]
    expected = slowly(text.removeprefix(b"\xef\xbb\xbf"))
    if text.startswith(b"\xef\xbb\xbf"):
        cuts = []
    assert rows_of(text, cuts) == expected


@given(numbers)
@example("9007199254740993")
@example("0.1e-5")
@example("123456789012345678901234567890e-10")
@example("1e-400")
@example("4.9e-324")
@example("2.4703282292062328e-324")
@example("179769313486231580793e-290")
@example("0." + "0" * 400 + "1")
@example("9007199254740993.0000000000000000000000000000000000000000000000001")
@example("1.")
@example(".5")
@example("+7")
def test_numbers_are_what_float_makes_of_them(text):
    [(_, row)] = rows_of(f"1 1:{text}\n".encode())
    assert math.copysign(1.0, row[0]) == math.copysign(1.0, float(text)) and row[0] == float(text)


def test_integer_labels_have_one_spelling_and_words_stay():
    text = (
        b"+1 1:1\n1 1:1\n1.0 1:1\n1e0 1:1\n001 1:1\n-0 1:1\n0 1:1\n1e2 1:1\nspam 1:1\n1st 1:1\na:b 1:1\nC# 1:1\n- 1:1\n"
    )
    assert [names for names, _ in rows_of(text)] == [
        [1], [1], [1], [1], [1], [0], [0], [100], ["spam"], ["1st"], ["a:b"], ["C#"], ["-"]
    ]  # fmt: skip


def test_sets_of_labels():
    text = b"3,1,3 1:1\n 1:2\n2:2 3:3\nqid:4 1:1\n2 1:1\n"
    assert rows_of(text) == [
        ([3, 1], {0: 1.0}),
        ([], {0: 2.0}),
        ([], {1: 2.0, 2: 3.0}),
        ([], {0: 1.0}),
        ([2], {0: 1.0}),
    ]


def test_indices_may_count_from_zero():
    assert rows_of(b"1 0:5 2:1\n", zero_based=True) == [([1], {0: 5.0, 2: 1.0})]


def test_labels_that_do_not_matter_are_not_looked_at():
    assert rows_of(b"0.5 1:1\nnan 1:1\n1,,2 2:1\n 3:1\n", ignore_labels=True) == [
        ([], {0: 1.0}), ([], {0: 1.0}), ([], {1: 1.0}), ([], {2: 1.0})
    ]  # fmt: skip


WRONG = [
    ("1 x:1", "column 3", "'x:1' has an index that is not an integer from 1"),
    ("1 1:x", "column 3", "'1:x' has a value that is not a number"), ("1 1:1.5.2", "column 3", "not a number"),
    ("1 1:1e", "column 3", "not a number"), ("1 1:0x10", "column 3", "not a number"),
    ("1 1:1_000", "column 3", "not a number"), ("1 1:--1", "column 3", "not a number"),
    ("1 1:2 3:", "column 7", "'3:' has no value after the colon"), ("1 1: 2:1", "column 3", "has no value"),
    ("1 5", "column 3", "'5' is not index:value"), ("1 2 3:1", "column 3", "is not index:value"),
    ("1 1:nan", "column 3", "not finite"), ("1 1:-Infinity", "column 3", "not finite"),
    ("1 1:1e101", "column 3", "above 1e+100"), ("1 1:-1e400", "column 3", "above 1e+100"),
    ("1 0:1", "column 3", "--zero-based"), ("1 -3:1", "column 3", "not an integer"),
    ("1 1.5:1", "column 3", "not an integer"), ("1 2147483647:1", "column 3", "above 2147483646"),
    ("1 99999999999999999999:1", "column 3", "above 2147483646"),
    ("1 18446744073709551617:1", "column 3", "above 2147483646"), ("1 :1", "column 3", "not an integer"),
    ("0.5 1:1", "column 1", "'0.5' is not a class: labels are integers or strings"),
    ("nan 1:1", "column 1", "not a class"), ("-inf 1:1", "column 1", "not a class"),
    ("1,,2 1:1", "column 3", "empty label between commas"), ("1, 1:1", "column 3", "empty label"),
    ("\x01\x02 1:1", "column 1", "binary"), ("1 \x00\x00\x00", "column 3", r"'\x00\x00\x00'"),
    ("1 1:2\x00", "column 3", r"'1:2\x00'"), ("x" * 300 + " 1:1", "column 1", "longer than 256 bytes"),
    ("1 " + "y" * 300, "column 3", "'" + "y" * 40 + "...'"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "place", "problem"), WRONG)
def test_what_is_wrong_is_named_with_its_place(tmp_path, line, place, problem):
    file = tmp_path / "bad.svm"
    file.write_bytes(b"1 1:1\r\n\n# comment\n" + line.encode() + b"\n2 2:2\n")
    with pytest.raises(DataError) as error:
        list(open_stream(file))
    message = str(error.value)
    assert message.startswith(f"{file}, line 4, {place}: ") and problem in message
    assert len(message) < len(str(file)) + 250 and message.isprintable()


def test_a_last_line_without_an_end_is_a_line(tmp_path):
    file = tmp_path / "bad.svm"
    file.write_text("1 1:1\n2 1:x")
    with pytest.raises(DataError, match="line 2, column 3"):
        list(open_stream(file))


def test_labels_must_be_utf8(tmp_path):
    file = tmp_path / "bad.svm"
    file.write_bytes(b"1 1:1\n\xff\xfe\xfd 1:1\n")
    with pytest.raises(DataError, match=r"line 2.*UTF-8"):
        list(open_stream(file))


def test_a_line_without_end_does_not_fill_the_memory():
    taken = []
    chunks = (taken.append(k) or Chunk(b"1:1 " * (1 << 18), k) for k in range(1000))
    with pytest.raises(ValueError, match="line 1 is longer than 64 MiB"):
        list(parsers_of().rows(pieces(chunks)))
    assert len(taken) == 65


# --- files -------------------------------------------------------------------------------------------------------

TEXT = b"".join(b"%+d %d:1 %d:0.25\n" % ((-1) ** (i % 3), 1 + i % 7, 8 + i % 5) for i in range(5000))


def joined(stream):
    batches = list(stream)
    parts = [(batch.columns, batch.values, np.diff(batch.start), batch.labels) for batch in batches]
    return [np.concatenate(part).tolist() for part in zip(*parts, strict=True)]


def test_several_files_are_one_stream(tmp_path):
    whole, first, second = tmp_path / "whole", tmp_path / "first", tmp_path / "second"
    whole.write_bytes(TEXT)
    cut = TEXT.index(b"\n", 30000)
    first.write_bytes(TEXT[:cut])  # its last line lacks an end
    second.write_bytes(gzip.compress(TEXT[cut + 1 :]))
    assert joined(open_stream([first, second])) == joined(open_stream(whole))
    second.write_bytes(b"1 1:1\n1 1:x\n")
    with pytest.raises(DataError, match=r"second, line 2"):
        list(open_stream([first, second]))


UNREADABLE = {
    "empty": (b"", "is empty"), "comments": (b"# only\n\n# comments\n", "has no rows"),
    "empty gzip": (gzip.compress(b"", mtime=0), "has no rows"), "magic of a gzip": (b"\x1f\x8b", "truncated gzip"),
    "gzip with a false sum": (gzip.compress(TEXT, mtime=0)[:-8] + b"12345678", "damaged gzip"),
    "bzip2": (b"BZh91AY", "truncated bzip2"), "xz": (b"\xfd7zXZ\x00\x00", "truncated xz"),
    "zip": (b"PK\x03\x04", "is zip"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "problem"), UNREADABLE.values(), ids=UNREADABLE)
def test_files_that_cannot_be_read(tmp_path, content, problem):
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(DataError, match=problem) as error:
        list(open_stream(file))
    assert str(error.value).startswith(str(file))


def test_a_stream_left_early_stops_reading(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(TEXT)
    with open_stream(file, chunk_bytes=100) as stream:
        next(stream)
    assert not [thread for thread in threading.enumerate() if thread.name == "confidently-reader"]
