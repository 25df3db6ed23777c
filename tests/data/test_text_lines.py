"""Plain text: a label, a tab, and text, whose words and n-grams scikit-learn's CountVectorizer counts as well."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from confidently.data import DataError, open_stream
from tests.data_sets import _enron1, shared_data
from tests.line_rows import parsers_of, rows_of

PLAIN = {"format": "text", "vocabulary": True, "normalize": "none"}
# Left out: letters whose lower case has another size in UTF-8, and the capital sigma, which has two lower cases.
LETTERS = "abzABZ019_ßäÄöÖéÉñÑçşŞčČłŁżŻАаБбЯяёЁЇїαΑΒβωΩ日本"
OTHERS = " .,;:!?'\"()-/\u00a0\u2013\u2026\u00ab\u00bb"
OPTIONS = {
    "words": ({}, {"token_pattern": r"(?u)\w+"}),
    "pairs": ({"ngrams": (1, 2)}, {"token_pattern": r"(?u)\w+", "ngram_range": (1, 2)}),
    "threes, once": (
        {"ngrams": (3, 3), "counts": "binary"},
        {"token_pattern": r"(?u)\w+", "ngram_range": (3, 3), "binary": True},
    ),
    "characters": ({"analyzer": "char", "ngrams": (2, 4)}, {"analyzer": "char", "ngram_range": (2, 4)}),
}


def read(text, cuts=(), how=PLAIN, **request):
    return rows_of(parsers_of(how, **{"multilabel": True, **request}), text, cuts)


def random_texts(n=60):
    random = np.random.default_rng(0)
    letters, others = list(LETTERS.replace("日本", "")), list(OTHERS)
    words = [["".join(random.choice(letters, random.integers(1, 6))) for _ in range(8)] for _ in range(n)]
    return ["".join(word + "".join(random.choice(others, random.integers(1, 3))) for word in row) for row in words]


def counted(texts, how):
    """By scikit-learn. Between words it knows no place where a text begins or ends; ours is a space."""
    if how.get("analyzer") == "char":
        texts = [" " + " ".join(text.split()) + " " for text in texts]
    vectorizer = CountVectorizer(**how)
    counts = vectorizer.fit_transform(texts)
    names = vectorizer.get_feature_names_out()
    return [
        dict(zip(names[row.indices].tolist(), row.data.astype(float).tolist(), strict=True))
        for row in (counts[[i]] for i in range(counts.shape[0]))
    ]


@pytest.mark.parametrize("name", OPTIONS)
def test_n_grams_are_those_scikit_learn_counts(name):
    ours, theirs = OPTIONS[name]
    texts = [text.replace("\u00a0", " ") for text in random_texts()]
    rows = read("".join(f"1\t{text}\r\n" for text in texts).encode(), how=PLAIN | ours)
    assert [row for _, _, row in rows] == counted(texts, theirs)


def test_n_grams_of_real_text_are_those_scikit_learn_counts():
    shared_data("enron_spam")
    texts = [" ".join(text.split()) for text in _enron1()[0][:150] if text.isascii()]
    rows = read("".join(f"1\t{text}\n" for text in texts).encode(), how=PLAIN | {"ngrams": (1, 2)})
    assert len(texts) > 100
    assert [row for _, _, row in rows] == counted(texts, {"token_pattern": r"(?u)\w+", "ngram_range": (1, 2)})


def test_ideographs_are_words_of_their_own():
    assert read("1\t日本 x日y\n".encode()) == [([1], 1.0, {"日": 2.0, "本": 1.0, "x": 1.0, "y": 1.0})]


@pytest.mark.parametrize("analyzer", ["word", "char"])
def test_rows_do_not_depend_on_where_the_text_is_cut(analyzer):
    how = PLAIN | {"analyzer": analyzer, "ngrams": (1, 3)}
    text = "".join(f"{i % 3},x\t{text}\n" for i, text in enumerate(random_texts(6))).encode()[:-1]
    whole = read(text, how=how)
    assert len(whole) == 6
    for step in (1, 2, 3, 7, 50):
        assert read(text, range(step, len(text), step), how=how) == whole


def test_what_stands_before_the_tab():
    text = b"\xef\xbb\xbfspam\tx\n+1\tx\r\n\n \r\nnot spam , 2.0\tx\n\tx\n  \tx\na\t\na\tx\ty\n-1\tx"
    assert read(text) == [
        (["spam"], 1.0, {"x": 1.0}), ([1], 1.0, {"x": 1.0}), (["not spam", 2], 1.0, {"x": 1.0}),
        ([], 1.0, {"x": 1.0}), ([], 1.0, {"x": 1.0}), (["a"], 1.0, {}), (["a"], 1.0, {"x": 1.0, "y": 1.0}),
        ([-1], 1.0, {"x": 1.0}),
    ]  # fmt: skip


def test_where_labels_do_not_matter_a_line_may_be_text_alone():
    rows = read(b"one two\n0.5\ttwo\nnan,,\t\n", ignore_labels=True)
    assert rows == [([], 1.0, {"one": 1.0, "two": 1.0}), ([], 1.0, {"two": 1.0}), ([], 1.0, {})]


@pytest.mark.parametrize(("line", "problem"), [
    (b"no tab", "line 2, column 1: line 'no tab' has no tab between its label and its text"),
    (b"0.5\tx", "line 2, column 1: label '0.5' is not a class"),
    (b"\xff\xfe\tx", "line 2, column 1: byte 0xff is not UTF-8 text"),
])  # fmt: skip
def test_what_is_wrong_is_named_with_its_place(tmp_path, line, problem):
    file = tmp_path / "bad.txt"
    file.write_bytes(b"1\tfine\n" + line + b"\n2\tfine\n")
    with pytest.raises(DataError) as error:
        list(open_stream(file))
    assert str(error.value).startswith(f"{file}, {problem}")


def test_an_empty_label_between_commas(tmp_path):
    file = tmp_path / "bad.txt"
    file.write_bytes(b"1\tfine\n1,,2\tx\n2\tfine\n")
    with pytest.raises(DataError, match="line 2, column 3: label '' has an empty label"):
        list(open_stream(file, multilabel=True))


def test_lines_of_fasttext():
    rows = read(b"__label__a one\n__label__b __label__c two two\n__label__a one\n")
    assert rows == [(["a"], 1.0, {"one": 1.0}), (["b", "c"], 1.0, {"two": 2.0}), (["a"], 1.0, {"one": 1.0})]


def test_rows_have_length_1_unless_told_otherwise():
    [(_, _, row)] = read(b"1\ta a a b b b b\n", how={"format": "text", "vocabulary": True})
    assert row == pytest.approx({"a": 0.6, "b": 0.8}, rel=1e-15)
