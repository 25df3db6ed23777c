"""Text that is not UTF-8: refused at its line and byte in every format, or transcoded if its encoding is named."""

import codecs
import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confidently.data import DataError, ReaderOptions, open_stream
from confidently.data.formats.table import BY_NAME, FORMATS
from confidently.rounds.survey import can_be_cut

TEXT = [name for name in FORMATS if not BY_NAME[name].binary]
ROWS = {  # the same rows in every format; those of svmlight have no text but their labels
    "svmlight": "clé 1:2\nb 2:1\n",
    "vw": "clé |f été:2 x\nb |f naïve\n",
    "text": "clé\tun été\nb\tnaïve ça\n",
    "jsonl": '{"label": "clé", "été": 2}\n{"label": "b", "x": "naïve"}\n',
    "csv": "label,été,x\nclé,2,ça\nb,,naïve\n",
    "tsv": "label\tété\tx\nclé\t2\tça\nb\t\tnaïve\n",
}
ENCODINGS = ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8-sig", "UTF8", "mac_roman"]
MARKS = {"marked utf-16-le": codecs.BOM_UTF16_LE, "marked utf-16-be": codecs.BOM_UTF16_BE}  # which need not be named


def read(path, **how):
    how = {"vocabulary": True, "normalize": "none"} | how if how.get("format") != "svmlight" else how
    with open_stream(path, parsers=0, **how) as stream:
        batches = list(stream)
    return (
        [new.name for batch in batches for new in batch.new_labels],
        [name for batch in batches if batch.new_features is not None for name in batch.new_features.names],
        np.concatenate([batch.values for batch in batches]).tolist(),
        [label for batch in batches for label in batch.labels.tolist()],
    )


def test_every_text_format_is_tested():
    assert list(ROWS) == TEXT


@pytest.mark.parametrize("chunk_bytes", [1, 3, 1 << 20])
@pytest.mark.parametrize("encoding", [*ENCODINGS, *MARKS])
@pytest.mark.parametrize("kind", TEXT)
def test_an_encoding_changes_nothing_else(tmp_path, kind, encoding, chunk_bytes):
    plain, other, packed = (tmp_path / name for name in ("plain", "other", "other.gz"))
    plain.write_text(ROWS[kind], encoding="utf-8")
    other.write_bytes(MARKS.get(encoding, b"") + ROWS[kind].encode(encoding.removeprefix("marked ")))
    how = {} if encoding in MARKS else {"encoding": encoding}
    packed.write_bytes(gzip.compress(other.read_bytes()))
    expected = read(plain, format=kind)
    assert any("é" in str(name) for names in expected[:2] for name in names)
    for path in (other, packed):
        assert read(path, format=kind, chunk_bytes=chunk_bytes, **how) == expected


BEGINS = {  # a valid row before those of ROWS, with what must come before it
    "svmlight": "d 1:1\n",
    "vw": "d | x\n",
    "text": "d\tx\n",
    "jsonl": '{"label": "d", "x": 1}\n',
    "csv": "label,a,x\nd,1,\n",
    "tsv": "label\ta\tx\nd\t1\t\n",
}


@pytest.mark.parametrize("kind", TEXT)
def test_other_text_is_refused_at_its_line_and_byte(tmp_path, kind):
    path = tmp_path / "data"
    rows = ROWS[kind].partition("\n")[2] if BY_NAME[kind].delimiter else ROWS[kind]
    path.write_bytes((BEGINS[kind] + rows).encode("latin-1"))
    line = BEGINS[kind].count("\n") + 1
    with pytest.raises(DataError, match=rf"data, line {line}, column .*not UTF-8 text") as refused:
        read(path, format=kind)
    if kind != "svmlight":  # only labels of which are text
        assert "byte 0xe9 is not UTF-8 text; name the file's encoding (--encoding, often cp1252), or convert it" in str(
            refused.value
        )
    with open_stream(path, format=kind, on_error="skip") as stream:
        assert sum(map(len, stream)) >= 1 and stream.skipped >= 1


@settings(max_examples=30)
@given(lines=st.lists(st.binary(max_size=24) | st.text(max_size=12).map(str.encode), min_size=1))
def test_exactly_the_lines_that_python_cannot_decode_are_refused(tmp_path_factory, lines):
    lines = [b"1\t" + line.translate(None, b"\n\r") for line in lines]
    path = tmp_path_factory.getbasetemp() / "lines"
    path.write_bytes(b"\n".join([*lines, b"2\tx\n"]))
    with open_stream(path, format="text", on_error="skip") as stream:
        assert sum(map(len, stream)) == 1 + sum(map(decodes, lines))
        assert stream.skipped == len(lines) - sum(map(decodes, lines))


def decodes(line):
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_text_that_the_encoding_does_not_have_is_refused_at_its_line(tmp_path):
    path = tmp_path / "data.txt"
    path.write_bytes(b"a\tone\nb\ttwo\na\tthr\xe9\xe9\n")
    for chunk_bytes in (1, 5, 1 << 20):
        with pytest.raises(DataError, match=r"data\.txt, line 3: byte 0xe9 is not ascii text; name another --encoding"):
            read(path, encoding="ascii", chunk_bytes=chunk_bytes)
    path.write_bytes(codecs.BOM_UTF16_BE + "a\tx\nb\ty\n".encode("utf-16-be") + b"\xd8\x00\x00a")
    for chunk_bytes in (1, 5, 1 << 20):
        with pytest.raises(DataError, match=r"data\.txt, line 3: byte 0xd8 is not utf-16 text"):
            read(path, encoding="utf-16", chunk_bytes=chunk_bytes)
    path.write_bytes("a\tx\n".encode("utf-16-le")[:-1])
    with pytest.raises(DataError, match=r"data\.txt, line 1: byte 0x0a is not utf-16-le text"):
        read(path, encoding="utf-16-le")


@pytest.mark.parametrize(("encoding", "text", "problem"), [
    ("utf-7", b"a\tone\nb\t+2AA- x\n", r"line 2: half a surrogate pair, U\+D800, is not utf-7 text"),
    ("unicode_escape", b"a\tone\nb\t\\udfff x\n", r"line 2: half a surrogate pair, U\+DFFF, is not unicode-escape"),
    ("utf-16", b"a\tx\n", r"line 1: something \(UTF-16 stream does not start with BOM\) is not utf-16 text"),
    ("punycode", b"a\t-- x\n", r"line 1: .* is not punycode text"),
    ("idna", b"a\txn--\xff x\n", r"line 1: .* is not idna text"),
])  # fmt: skip
def test_codecs_that_refuse_text_otherwise_are_one_error(tmp_path, encoding, text, problem):
    path = tmp_path / "data.txt"
    path.write_bytes(text)
    with pytest.raises(DataError, match=rf"data\.txt, {problem}.*; name another --encoding"):
        read(path, encoding=encoding)


def test_encodings_that_are_none_and_formats_without_are_refused():
    for name in ("klingon", "rot13", "hex", "", "utf-8\0"):
        with pytest.raises(ValueError, match="unknown encoding"):
            ReaderOptions(encoding=name)
    for kind in set(FORMATS) - set(TEXT):
        with pytest.raises(ValueError, match=f"encoding is for text; {kind} is binary"):
            ReaderOptions(format=kind, encoding="latin-1")


def test_a_model_is_asked_in_the_encoding_of_its_training(ok, tmp_path):
    files = {name: tmp_path / f"{name}.txt" for name in ("utf-8", "latin-1")}
    rows = "".join(f"{'clé' if k % 2 else 'b'}\t{'été ça' if k % 2 else 'naïve'}\n" for k in range(20))
    answers = []
    for encoding, path in files.items():
        path.write_text(rows, encoding=encoding)
        model = tmp_path / f"{encoding}.cw"
        ok("train", path, "--rule=arow", "--encoding", encoding, "-q", "--passes", 2, "-o", model)
        answers.append(
            ok("predict", model, path, "--proba") + ok("inspect", model, "--row", "x\tété").replace(encoding, "")
        )
        ok("cache", path, "--encoding", encoding, "-o", tmp_path / f"{encoding}.cache")
        ok("train", tmp_path / f"{encoding}.cache", "--rule=arow", "-q", "-o", model)
        answers[-1] += ok("predict", model, path)
    assert answers[0] == answers[1]


def test_only_text_whose_line_feeds_end_lines_is_cut_for_workers(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("a\tx\n")
    for encoding in ("utf-8", "latin-1", "shift_jis", "utf-16", "utf-32-le"):
        is_wide = encoding in ("utf-16", "utf-32-le")
        assert can_be_cut(path, ReaderOptions(format="text", encoding=encoding)) != is_wide
    path.write_text("a\tx\n", encoding="utf-16")
    assert not can_be_cut(path, ReaderOptions(format="text"))


def test_predictions_may_read_another_encoding_than_training(ok, call, tmp_path):
    train, test, model = tmp_path / "train.csv", tmp_path / "test.csv", tmp_path / "m.cw"
    train.write_text("label,town\n" + "a,Köln\nb,Malmö\n" * 20, encoding="utf-8")
    test.write_text("label,town\na,Köln\nb,Malmö\n", encoding="latin-1")
    ok("train", train, "--rule=arow", "-q", "-o", model)
    assert ok("predict", model, test, "--encoding", "latin-1").split() == ["a", "b"]
    assert "error     0.00 %" in ok("evaluate", model, test, "--encoding", "latin-1")
    code, _, err = call("predict", model, test)
    assert code == 2 and "0xf6 is not UTF-8 text" in err
