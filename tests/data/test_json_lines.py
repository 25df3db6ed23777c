"""The reader of JSON lines against Python's json and a slow twin, cut anywhere, and on everything it must refuse."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from confidently.data import DataError, open_stream
from confidently.data.features import Features, Strings
from tests import line_rows
from tests.json_rows import Row
from tests.line_rows import parsers_of

READ = {"format": "jsonl", "vocabulary": True, "normalize": "none"}


def pieces_of(text, /, cuts=(), request=None, **how):
    """What the compiled readers make of the text; names are kept."""
    return line_rows.pieces_of(parsers_of(READ | how, **request or {}), text, cuts)


def rows_of(text, /, cuts=(), request=None, **how):
    """(labels, {name: value}, weight, [kept]) of every row."""
    parsers = parsers_of(READ | how, **request or {})
    return [(labels, row, weight, kept) for labels, weight, row, *kept in line_rows.rows_of(parsers, text, cuts)]


letters = st.text('ab.é"\\\n1 =ÉßЖ', max_size=5)
keys = st.sampled_from(["a", "b", "a.b", "c", "id", 'q"\\\t', "", "ключ"]) | letters
numbers = st.integers(-(10**20), 10**20) | st.floats(-1e100, 1e100)
values = st.recursive(
    st.none() | st.booleans() | numbers | letters,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
paths = st.lists(st.sampled_from(["a", "b", "c", "a.b", "a.0", "b.a", "id", "ключ", "a.b.c"]), max_size=2).map(tuple)
labels = st.integers(-3, 3) | st.booleans() | st.sampled_from(["spam", "ß", "a b"])
objects = st.builds(
    lambda row, label, weight: row | {"label": label, "weight": weight},
    st.dictionaries(keys, values, max_size=6),
    labels | st.lists(labels, max_size=3),
    st.none() | st.just(0.0) | st.floats(1e-100, 100),  # of which those between are rejected
)
ways_to_write = st.fixed_dictionaries(
    {
        "ensure_ascii": st.booleans(),
        "separators": st.sampled_from([(", ", ": "), (",", ":"), (" ,\t", "\r : ")]),
        "sort_keys": st.booleans(),
    }
)


def text_of(rows, way, ends=("\n", "\r\n", " \t\n \n")):
    return "".join(json.dumps(row, **way) + ends[i % len(ends)] for i, row in enumerate(rows)).encode()


@pytest.mark.long("fifty texts by a slow twin")
@given(
    st.lists(objects, max_size=5), ways_to_write, st.lists(st.integers(0, 400), max_size=5),
    st.fixed_dictionaries({"drop": paths, "category": paths, "text": paths}),
)  # fmt: skip
@example([{"a": [1, [2, "x"], {"b": 3}, {"b": 4}, None, True], "label": 1}], {}, [], {})
@example([{"a": {"b": {"c": 1}}, "label": [], "weight": 2.5}], {}, [3], {"drop": ("a",), "text": ("a.b",)})
def test_rows_are_those_of_the_slow_twin_wherever_the_text_is_cut(rows, way, cuts, how):
    text = text_of(rows, way)
    found = rows_of(text, [cut for cut in cuts if cut <= len(text)], {"multilabel": True}, weight="weight", **how)
    written = [json.loads(json.dumps(row, **way)) for row in rows]
    expected = [Row(row, weight="weight", **how) for row in written]
    assert found == [(list(dict.fromkeys(row.labels)), row.features, row.weight, []) for row in expected]


@given(objects, ways_to_write)
def test_what_is_kept_comes_back(row, way):
    keep = ("id", "a", "weight", "label")
    [(*_, kept)] = rows_of(
        json.dumps(row, **way).encode(), request={"keep": keep, "multilabel": True}, drop=("a",), weight="weight"
    )
    for text, value in zip(kept, [row.get(name) for name in keep], strict=True):
        if isinstance(value, str):
            assert text == value
        else:
            assert (json.loads(text) if text else None) == value


@given(st.text(st.characters()), st.booleans())
@example("\ud83d\ude00", True)
def test_strings_are_what_json_makes_of_them(string, ascii_only):
    written = json.dumps({"label": 1, "s": string}, ensure_ascii=ascii_only).encode(errors="surrogatepass")
    expected = json.loads(written.decode(errors="surrogatepass"))["s"].encode("utf-16-le", "surrogatepass")
    [(_, features, _, _)] = rows_of(written)
    string = expected.decode("utf-16-le", errors="surrogatepass")
    clean = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in string)
    assert features == ({f"s={clean}": 1.0} if clean else {})


def test_half_a_surrogate_pair_is_a_mark():
    text = rb'{"label": 1, "s": ["\ud83d\ude00", "\ud83d", "x\ude00y", "\ud83d\ud83d\ude00", "\ud83dA"]}'
    [(_, features, _, _)] = rows_of(text)
    assert list(features) == ["s=😀", "s=\ufffd", "s=x\ufffdy", "s=\ufffd😀", "s=\ufffdA"]


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?", fullmatch=True))
@example("9007199254740993")
@example("123456789012345")
@example("1e-400")
@example("-0")
@example("0.1E-5")
def test_numbers_are_what_json_makes_of_them(written):
    value = float(json.loads(written))
    if abs(value) <= 1e100:
        assert rows_of(f'{{"label":1,"x":{written}}}'.encode())[0][1] == ({"x": value} if value else {})


def judged(text):
    """Whether Python's json takes the text for an object without a key twice, Python's own numbers aside."""

    def refuse(_):
        raise ValueError

    def once(pairs):
        if len(dict(pairs)) < len(pairs):
            raise ValueError
        return dict(pairs)

    try:
        return isinstance(json.loads(text, parse_constant=refuse, object_pairs_hook=once), dict)
    except ValueError:
        return False


@given(
    objects, ways_to_write,
    st.lists(st.tuples(st.integers(0, 80), st.integers(0, 2), st.sampled_from('{}[]",:\\u0-1.eE+ tnf\tx')), max_size=3),
)  # fmt: skip
@example({"a": 1}, {}, [(0, 0, "{")])
def test_what_is_json_and_what_is_not(row, way, edits):
    text = json.dumps(row, **way)
    for at, deleted, inserted in edits:
        at = min(at, len(text))
        text = text[:at] + inserted + text[at + deleted :]
    if not text.strip(" \t\r"):
        return
    try:
        accepted = bool(rows_of(text.encode(), request={"ignore_labels": True, "largest": np.inf}))
    except ValueError as error:
        assert str(error).startswith("line 1, column ")
        accepted = False
    assert accepted == judged(text)


def test_rows_that_are_passed_over_leave_no_trace():
    good = [{"label": f"l{i % 3}", "x": i, f"k{i % 7}": "v", "id": f"r{i}", "w": 1 + i % 2} for i in range(60)]
    bad = [
        b'{"label":"new","other":"thing","id":"x","w":3', b'{"label":"l9","id":1,"a":{"z":1,"z":2}}', b"[]",
        b'{"y":"u"}',
    ]  # fmt: skip
    lines = []
    for i, row in enumerate(good):
        lines += [json.dumps(row).encode(), bad[i % len(bad)]]
    how = {"request": {"keep": ("id",), "skip_errors": True, "multilabel": False}, "weight": "w", "normalize": "l2"}
    clean = pieces_of("\n".join(map(json.dumps, good)).encode(), **how)
    for cuts in ((), (10, 11, 500, 2000)):
        mixed = pieces_of(b"\n".join(lines), cuts, **how)
        assert sum(piece["n_skipped"] for piece in mixed) == len(good)
        assert rows_of(b"\n".join(lines), cuts, **how) == rows_of("\n".join(map(json.dumps, good)).encode(), **how)
    assert (
        "line 2, column 46: the line ends here"
        in mixed[2]["skipped"][0] + pieces_of(b"\n".join(lines), **how)[0]["skipped"][0]
    )
    keys = [np.concatenate([piece["new_features"][1] for piece in pieces]) for pieces in (clean, mixed)]
    np.testing.assert_array_equal(*keys)


def test_other_features_are_forgotten_with_their_batch():
    text = b'{"known":1,"new":2}\n'
    request = {"ignore_labels": True, "features": Features.named(["other", "known"]), "freeze": True}
    for piece in pieces_of(text * 3, [len(text), 2 * len(text)], request):
        assert piece["columns"].tolist() == [1, 2]
        assert list(Strings(*piece["new_features"][2])) == ["new"]


def test_keys_that_are_new_in_every_row_are_forgotten_again():
    n = 150_000
    text = b"".join(b'{"label":%d,"k%d":"v"}\n' % (i % 2, i) for i in range(n))
    pieces = pieces_of(text, vocabulary=False, bits=4)
    assert sum(len(piece["start"]) - 1 for piece in pieces) == n
    assert sum(len(piece["new_features"][1]) for piece in pieces) == 16


def test_names_and_prefixes():
    row = {"label": 1, "n": 2, "s": "v", "o": {"n": 1, "s": "w"}, "t": "Big Cat", "c": 7, "l": [0, 1.5, "x", True]}
    [(_, features, _, _)] = rows_of(json.dumps(row).encode(), text=("t",), category=("c",), ngrams=(1, 2))
    names = ["n", "s=v", "o.n", "o.s=w", "t:big", "t:big cat", "t:cat", "c=7", "l.1", "l=x", "l.3"]
    assert list(features) == names


WRONG = [
    ("[", "column 1", "a list begins here; JSON lines have one object per line"),
    ("{", "column 2", "the line ends here, but a key in double quotes is expected (JSON lines"),
    ("spam,1,2", "column 1", "'spam,1,2' is not a JSON object"),
    ('{"label" 1}', "column 10", "'1}' is not JSON: a colon is expected"),
    ('{"label":1 "a":2}', "column 12", "a comma or } is expected"),
    ('{"label":1,}', "column 12", "a key in double quotes is expected"),
    ('{"label":1,"a":[1,]}', "column 19", "a value is expected"),
    ('{"label":1,"a":[1 2]}', "column 19", "a comma or ] is expected"),
    ("{'label':1}", "column 2", "a key in double quotes"),
    ('{"label":1,"a":nul}', "column 16", "'nul}' is not JSON: a value is expected"),
    ('{"label":1,"a":NaN}', "column 16", "write null where there is none"),
    ('{"label":1,"a":-Infinity}', "column 16", "write null where there is none"),
    ('{"label":1,"a":01}', "column 16", "numbers do not begin with 0"),
    ('{"label":1,"a":1.}', "column 16", "digits follow the point"),
    ('{"label":1,"a":.5}', "column 16", "a value is expected"),
    ('{"label":1,"a":1e}', "column 17", "a comma or } is expected"),
    ('{"label":1,"a":1e999}', "column 16", "'1e999' has a value above 1e+100"),
    ('{"label":1,"a":"x', "column 18", "a string has no closing quote"),
    ('{"label":1,"a":"\t"}', "column 17", "control characters"),
    (r'{"label":1,"a":"\x"}', "column 17", "a backslash is followed by"),
    (r'{"label":1,"a":"\u12g4"}', "column 21", "four hexadecimal digits"),
    ('{"label":1} {"label":2}', "column 13", "follows the object of the row"),
    ('{"label":1,"a":1,"a":2}', "column 18", "the key 'a' appears twice"),
    ('{"a":1}', "", "no label: nothing at the key 'label'; name the label's key with --label"),
    ('{"label":null}', "", "no label"), ('{"label":[1,2]}', "", "the row has 2 labels, expected one"),
    ('{"label":0.5}', "column 10", "'0.5' is not a class"),
    ('{"label":{"a":"b"}}', "column 10", "the label is an object"),
    ('{"label":[[1]]}', "column 11", "a label is a list"), (r'{"label":"a\u0001b"}', "column 10", "control characters"),
    ('{"label":1,"w":-1}', "column 16", "weight '-1' is not a number from 0 to 1e9"),
    ('{"label":1,"w":"2"}', "column 16", "is not a number"), ('{"label":1,"w":[2]}', "column 16", "is not a number"),
    ('{"label":1,"w":true}', "column 16", "is not a number"),
    ('{"label":1,"a":' + "[" * 101, "column 115", "deeper than 100 levels"),
    ('{"label":1,"d":' + "[" * 101, "column 115", "deeper than 100 levels"),
    ('{"label":1,"' + "k" * 1025 + '":1}', "column 12", "longer than 1024 bytes"),
    ('{"label":1,"a":[{"id":1},{"id":2}]}', "column 32", "more than one 'a.id' in the row"),
    ('{"label":1,"d":{"x":tru}}', "column 21", "a value is expected"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "place", "problem"), WRONG)
def test_what_is_wrong_is_named_with_its_place(tmp_path, line, place, problem):
    file = tmp_path / "bad.jsonl"
    file.write_bytes(b'{"label":1}\r\n\n \t\n' + line.encode() + b'\n{"label":2,"w":1,"d":1,"a":{"id":1}}\n')
    with pytest.raises(DataError) as error:
        list(open_stream(file, weight="w", drop="d", keep=["a.id"], multilabel=False))
    message = str(error.value)
    assert message.startswith(f"{file}, line 4{', ' if place else ''}{place}: ") and problem in message
    assert len(message) < len(str(file)) + 250 and message.isprintable()


@pytest.mark.parametrize(
    "bytes_", [b"\xff", b"\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"]
)
def test_text_must_be_utf8_unless_it_is_dropped(bytes_):
    for row in (
        b'{"label":"%s"}',
        b'{"label":1,"a":"%s"}',
        b'{"label":1,"%s":1}',
        b'{"label":1,"a":"12345678%s12345678"}',
    ):
        with pytest.raises(ValueError, match=r"line 1, column \d+: byte 0x.. is not UTF-8 text"):
            rows_of(row % bytes_)
    assert rows_of(b'{"label":1,"a":{"%s":"%s"}}' % (bytes_, bytes_), drop=("a",)) == [([1], {}, 1.0, [])]


def test_a_whole_document_is_told_from_lines(tmp_path):
    file = tmp_path / "rows.json"
    for document in ([{"label": 1}, {"label": 2}], {"label": 1, "a": [1, 2]}):
        file.write_text(json.dumps(document, indent=2))
        with pytest.raises(DataError, match="JSON lines") as error:
            list(open_stream(file))
        assert str(error.value).startswith(f"{file}, line 1, column ")


def test_labels_may_be_at_a_path_and_in_lists_of_objects():
    text = b'{"tags":[{"name":"x"},{"name":"y"}],"label":"z","n":1}'
    assert rows_of(text, label="tags.name") == [(["x", "y"], {"label=z": 1.0, "n": 1.0}, 1.0, [])]


def test_lists_of_labels_are_sets(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text('{"label":["a"],"x":1}\n{"label":[],"x":1}\n{"label":["b","a",null],"x":2}\n')
    with open_stream(file) as stream:
        [batch] = stream
    assert stream.multilabel and batch.label_start.tolist() == [0, 1, 1, 3] and batch.labels.tolist() == [0, 1, 0]


def test_a_byte_order_mark_is_passed_over():
    assert rows_of(b'\xef\xbb\xbf{"label":1,"x":2}') == [([1], {"x": 2.0}, 1.0, [])]


def test_a_row_without_a_label_is_no_matter_where_labels_are_not_read():
    text = b'{"x":1}\n{"x":2,"label":0.5}\n{"x":3,"label":{"a":[1]}}\n'
    assert [row[1] for row in rows_of(text, request={"ignore_labels": True})] == [{"x": 1.0}, {"x": 2.0}, {"x": 3.0}]
