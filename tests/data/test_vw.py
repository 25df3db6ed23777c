"""The reader of Vowpal Wabbit's text against a slow one in plain Python, written from the format's description."""

import math
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from confidently.data import DataError, open_stream
from tests.line_rows import parsers_of, pieces_of, rows_of

PLAIN = {"format": "vw", "vocabulary": True, "normalize": "none"}


def read(text, cuts=(), how=PLAIN, **request):
    return rows_of(parsers_of(how, keep=("tag",), **{"multilabel": True, **request}), text, cuts)


def slowly(text):
    """The same in plain Python, for valid text."""
    rows = []
    for line in re.split("\n", text.decode()):
        if not line.strip(" \t\r"):
            continue
        head, *spaces = line.split("|")
        words = re.findall(r"[^ \t\r]+", head)
        tag = ""
        if words and (words[-1].startswith("'") or head.endswith(words[-1])):
            tag = words.pop().removeprefix("'")
        labels = words[0].split(",") if words else []
        features = {}
        for space in spaces:
            prefix, scale, tokens = "", 1.0, re.findall(r"[^ \t\r]+", space)
            if space and space[0] not in " \t\r":
                name, _, given_scale = tokens.pop(0).partition(":")
                prefix, scale = name + "^", float(given_scale or 1)
            unnamed = 0
            for token in tokens:
                name, colon, value = token.partition(":")
                if colon and value[0].isalpha():
                    name, value = token, 1
                elif not name:
                    name, unnamed = str(unnamed), unnamed + 1
                if (x := scale * float(value or 1)) != 0.0:
                    features[prefix + name] = features.get(prefix + name, 0.0) + x
        numbers = [int(x) if re.fullmatch(r"[+-]?\d+", x) else x for x in labels]
        rows.append((list(dict.fromkeys(numbers)), float(words[1]) if words[1:] else 1.0, features, tag))
    return rows


numbers = st.floats(-1e40, 1e40).map(repr) | st.integers(-(10**9), 10**9).map(str) | st.sampled_from(["0", ".5"])
names = st.sampled_from(
    ["a", "b", "word", "0", "1", "12345", "ß", "日本語", "x^y", "#", "'", "a,b", "10e5", "-", "nan"]
)
features = st.one_of(
    names,
    st.tuples(names | st.just(""), numbers).map(":".join),
    st.tuples(names, st.sampled_from(["red", "é", "x:y", "null"])).map(":".join),
)
gaps = st.sampled_from([" ", " ", "  ", "\t", " \t ", "\r "])
labels = st.lists(st.integers(-9, 9).map("{:+d}".format) | st.sampled_from(["spam", "ß", "C#"]), min_size=1, max_size=3)


@st.composite
def lines(draw):
    text = draw(st.just("") | gaps)
    if draw(st.booleans()):
        text += ",".join(draw(labels)) + draw(gaps)
        if draw(st.booleans()):
            text += draw(st.sampled_from(["0.5", "2", "1e-3", "0"])) + draw(gaps)
            text += draw(st.sampled_from(["", "0 ", "0.0\t"]))
    text += draw(st.sampled_from(["", "", "tag", "'tag", "'1 ", "'", "17"]))
    for _ in range(draw(st.integers(1, 3))):
        text += "|" + draw(st.sampled_from(["", "", "a", "user", "ß", "long_namespace:0.5", "s:-2", "z:0"]))
        for feature in draw(st.lists(features, max_size=5)):
            text += draw(gaps) + feature
        text += draw(st.just("") | gaps)
    return text + draw(st.sampled_from(["\n", "\r\n", "\n \n"]))


@given(
    st.lists(lines(), max_size=8).map(lambda rows: "".join(rows).encode()), st.lists(st.integers(0, 400), max_size=6)
)
@example(b"1 |f a b:2", [3])
@example(b"|", [])
@example(b"| a|b c||  |d", [1, 2])
def test_reads_as_the_slow_reader_wherever_the_text_is_cut(text, cuts):
    for (labels, weight, row, tag), (labels_there, weight_there, row_there, tag_there) in zip(
        read(text, cuts), slowly(text), strict=True
    ):
        assert (labels, weight, tag) == (labels_there, weight_there, tag_there)
        assert row == pytest.approx(row_there, rel=1e-14, abs=0) and all(map(math.isfinite, row.values()))


def test_what_stands_before_the_first_bar():
    heads = {
        b"1 |": ([1], 1.0, ""), b"|": ([], 1.0, ""), b"  |": ([], 1.0, ""),
        b"1|": ([], 1.0, "1"),  # a word that touches the bar is a tag
        b"1 2|": ([1], 1.0, "2"), b"1 2 |": ([1], 2.0, ""), b"1 'tag |": ([1], 1.0, "tag"),
        b"1 2 0 'tag |": ([1], 2.0, "tag"), b"1 2 0 tag|": ([1], 2.0, "tag"), b"'tag |": ([], 1.0, "tag"),
        b"1 '|": ([1], 1.0, ""), b"\t-1\t0.25\t|": ([-1], 0.25, ""), b"sports,2 |": (["sports", 2], 1.0, ""),
        b"\xef\xbb\xbf1 |": ([1], 1.0, ""),
    }  # fmt: skip
    for head, expected in heads.items():
        [(labels, weight, row, tag)] = read(head + b" a\r\n")
        assert ((labels, weight, tag), row) == (expected, {"a": 1.0}), head


def test_unnamed_values_are_numbered_in_their_namespace():
    [(_, _, row, _)] = read(b"|f 0:1 :0.5 a :2 :0 :3 |g:2 :1 |f :8 | :4\n")
    assert row == {"f^0": 9.5, "f^a": 1.0, "f^1": 2.0, "f^3": 3.0, "g^0": 2.0, "0": 4.0}


def test_labels_that_do_not_matter_are_not_looked_at():
    rows = read(b"0.5 |a\n1:2:0.4 3:1:0.6 |a x\n1 nan 7 8 9 t| x\n", ignore_labels=True)
    assert rows == [([], 1.0, {}, ""), ([], 1.0, {"a^x": 1.0}, ""), ([], 1.0, {"x": 1.0}, "t")]


def test_features_are_hashed_as_scikit_learn_does():
    random = np.random.default_rng(0)
    words = ["".join(random.choice(list("abcxyzäßжλ日"), size)) for size in random.integers(1, 12, 500)]
    text = " ".join(f"|{words[i]} {words[i + 1]} {words[i + 2]}:2 :3" for i in range(400))
    for bits in (9, 22, 30):
        parsers = parsers_of({"format": "vw", "bits": bits}, multilabel=True)
        [piece] = pieces_of(parsers, f"1 {text} | {' '.join(words)}\n".encode())
        expected = []
        for i in range(400):
            seed = murmurhash3_32(words[i] + "^", 0, positive=True)
            expected += [murmurhash3_32(w, seed, positive=True) for w in (words[i + 1], words[i + 2], "0")]
        expected += [murmurhash3_32(w, 0, positive=True) for w in words]
        assert piece["new_features"][1].tolist() == list(dict.fromkeys(h % 2**bits for h in expected))


def test_there_may_be_any_number_of_namespaces():
    text = "".join(f"1 |{i % 7000} x |{i} x:2\n" for i in range(12000)).encode()
    for i, (_, _, row, _) in enumerate(read(text)):
        assert row == ({f"{i}^x": 3.0} if i < 7000 else {f"{i % 7000}^x": 1.0, f"{i}^x": 2.0})


WRONG = [
    ("1 1:0.5 2:1", "column 1", "'1' has no | before its features"),
    ("1 | a:1.5.2", "column 5", "'a:1.5.2' has a value that is not a number"), ("1 | a:1e", "column 5", "not a number"),
    ("1 | a:1_000", "column 5", "not a number"), ("1 | a:--1", "column 5", "not a number"),
    ("1 | t:12:30", "column 5", "not a number"), ("1 | a:", "column 5", "'a:' has no value after the colon"),
    ("1 | a: 2", "column 5", "has no value"), ("1 | :", "column 5", "has no value"),
    ("1 | a::1", "column 5", "not a number"), ("1 | a:nan", "column 5", "not finite"),
    ("1 |f b a:-Inf|", "column 8", "'a:-Inf' has a value that is not finite"), ("1 | :NaN", "column 5", "not finite"),
    ("1 | a:1e101", "column 5", "above 1e+100"), ("1 |f:1e60 a:1e60", "column 11", "above 1e+100"),
    ("1 |f:nan a", "column 4", "namespace 'f:nan' has a value that is not finite"),
    ("1 |f:x a", "column 4", "namespace 'f:x' has a value that is not a number"),
    ("1 |f: a", "column 4", "namespace 'f:' has no value after the colon"),
    ("1 |f:1e999 a", "column 4", "namespace 'f:1e999' has a value above"),
    ("1 |:2 a", "column 4", "has no name before the colon"),
    ("1 -1 | a", "column 3", "weight '-1' is not a number from 0 to 1e9"), ("1 x | a", "column 3", "weight 'x'"),
    ("1 1 0.5 | a", "column 5", "base '0.5' is not 0"), ("1 1 0 7 | a", "column 7", "one too many"),
    ("1 't 2 | a", "column 3", "tag ''t' is not the last word"), ("1:0.5 2:1.5 | a", "column 1", "cost-sensitive"),
    ("1:2:0.4 | a", "column 1", "contextual bandit"), ("0.5 | a", "column 1", "'0.5' is not a class"),
    ("nan | a", "column 1", "not a class"), ("1,,2 | a", "column 3", "empty label"),
    ("\x01\x02 | a", "column 1", "binary"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "place", "problem"), WRONG)
def test_what_is_wrong_is_named_with_its_place(tmp_path, line, place, problem):
    file = tmp_path / "bad.vw"
    file.write_bytes(b"1 |f a\r\n\n" + line.encode() + b"\n2 | b\n")
    with pytest.raises(DataError) as error:
        list(open_stream(file))
    message = str(error.value)
    assert message.startswith(f"{file}, line 3, {place}: ") and problem in message
    assert len(message) < len(str(file)) + 250 and message.isprintable()
