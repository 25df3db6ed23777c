"""Rows of CSV without quotes are read in a fast way: rows, errors and skipped lines are those of the careful way."""

import random

import numpy as np
import pytest

from confidently import _core

USES = dict(zip("nvctlwud", ("none", "value", "category", "text", "label", "weight", "number", "date"), strict=True))


def read(text, columns, careful, *, cuts=(), delimiter=",", quotes=True, header=True, known=None, **given):
    """Every batch as plain objects, and the error that ended the reading. The first letter of a column is its use; one
    whose name ends with a k is kept."""
    usual = {"largest": 1e100, "max_columns": 2**31 - 1, "labels": "any", "skip_errors": True, "l2": False, "bits": -1}
    options = usual | given
    options["labels"] = getattr(_core.LabelCount, options["labels"])
    reader = _core.CsvReader(
        _core.ReaderOptions(**options, classes=[], n_kept=1, zeros=False, own_columns=False),
        _core.NgramOptions(characters=False, shortest=1, longest=2, binary=False),
        delimiter=delimiter, quotes=quotes, careful=careful,
    )  # fmt: skip
    if known:
        start = np.cumsum([0, *map(len, known)], dtype=np.int64)
        letters = np.frombuffer("".join(known).encode(), np.uint8)
        reader.restore(np.arange(len(known), dtype=np.uint32), letters, start, True)
    ends, batches = [*sorted(cut for cut in cuts if 0 < cut < len(text)), len(text)], []
    assert not header or reader.header(b"header\n") is not None
    reader.describe(
        [_core.ColumnUse(name, getattr(_core.Use, USES[name[0]]), [0] * name.endswith("k")) for name in columns]
    )
    try:
        for first, last in zip([0, *ends], ends, strict=False):
            batches.append(plain(reader.feed(text[first:last])))
        batches.append(plain(reader.finish()))
    except ValueError as error:
        return batches, str(error)
    return batches, None


def plain(found):
    if isinstance(found, dict):
        return {name: plain(part) for name, part in found.items()}
    if isinstance(found, list | tuple):
        return [plain(part) for part in found]
    return found.tobytes() if isinstance(found, np.ndarray) else found


def check(text, columns, **options):
    careful = read(text, columns, True, **options)
    assert read(text, columns, False, **options) == careful
    return careful


def n_rows(batches):
    return sum(len(batch["start"]) // 8 - 1 for batch in batches)


@pytest.mark.parametrize("skip", [True, False])
@pytest.mark.parametrize("columns", [["l", "v", "c"], ["l", "v", "t"], ["l", "v", "d"], ["v", "v2", "l"]])
def test_a_row_with_too_few_cells_is_no_row_with_too_many_features(columns, skip):
    """Its first cells alone have more features than there may be."""
    good, more = b"1,,\n" if columns[0] == "l" else b",,1\n", b"0,2,a b" if columns[0] == "l" else b"2,3,0"
    for wrong in (more[: more.rindex(b",")], more + b",5", more + b","):
        batches, error = check(good * 3 + wrong + b"\n" + good, columns, max_columns=0, skip_errors=skip)
        assert error == (None if skip else f"line 5: the row has {wrong.count(b',') + 1} cells, expected 3")
        if skip:
            assert n_rows(batches) == 4 and sum(batch["n_skipped"] for batch in batches) == 1
            assert batches[0]["skipped"] == [f"line 5: the row has {wrong.count(b',') + 1} cells, expected 3"]
    assert check(good * 3 + more + b"\n" + good, columns, max_columns=0)[1].startswith("the data have more than 0")


def test_features_of_rows_without_a_label_take_no_room():
    for columns in (["l", "t"], ["t", "l"]):
        row = b",a b c\n" if columns[0] == "l" else b"a b c,\n"
        for text in (row * 2, row.replace(b" b c", b"") * 2):
            batches, error = check(text, columns, max_columns=1, labels="one")
            assert error is None and [batch["n_skipped"] for batch in batches] == [2, 0]


def test_what_a_fuzzer_found():
    columns = ["v", "v2", "texu", "", "t", "texu2", "", "t2", "texu3", "", "texu4", "", "v\xf6k"]
    columns = [name or f"v{k}" for k, name in enumerate(columns)]
    text = b"1,2,01,0.5,-3,:1qul,weight,rd.a2exu,\xf6k\n1,2,01,/\0\0\0\0\0\0\0\x001qul,we`hdgt,\nra2=47483647,y\x05"
    for cut in range(len(text)):
        check(text, columns, cuts=[cut], max_columns=6, labels="several")


ODD = [
    b"", b" ", b" 2", b"3 ", b"+4", b"1e-3", b"1e-400", b"nan", b"-inf", b"abc", b"1e200", b"-", b".", b"5.", b".5",
    b"0", b"-0", b"0.12345678901234567890", b"12345678", b"1\r2", b"a\r", b"\r", b"\0", b"1\x002", b"\xff",
    b"\xc3\x9f", b"NA", b"?", b'"', b'a"b', b'1"', b'"1"', b'""', b' "x"', b'\t"x"', b'"a""b" ', b'"a\nb"', b'"a,b"',
    b'"a" b', b"2020-02-03 04:05", b"12:30", b"a,b", b"x y z x", b"yes\tno", b"1;2",
]  # fmt: skip


def table(chance, columns, delimiter, wrong):
    """A table, a part of whose rows and cells are wrong or odd."""

    def cell(name):
        if chance.random() < wrong:
            return chance.choice(ODD)
        if name[0] == "l":
            return b"%d" % chance.randrange(4)
        if name[0] in "ct":
            return chance.choice([b"a", b"b", b"a b", b"c%d" % chance.randrange(100), b""])
        size = "%g" if chance.random() < 0.2 else f"%.{chance.randrange(18)}f"
        return (size % chance.gauss(0, 10)).encode().lstrip(b"-" if name[0] == "w" else b"")

    lines = []
    for _ in range(chance.choice([1, 2, 4, 8, 80])):
        cells = [cell(name) for name in columns]
        if chance.random() < wrong:
            cells = chance.choice([cells[:-1], [*cells, b""], [*cells, b"7"], [], [b" "], cells[1:], cells * 2])
        end = chance.choice([b"\n", b"\r\n", b"\r\r\n", b" \n", b"\n\n"]) if chance.random() < wrong else b"\n"
        lines.append(delimiter.encode().join(cells) + end)
    text = b"".join(lines)
    if chance.random() < 0.3:
        text = text.replace(b"\n", b"\r\n")
    return text.removesuffix(b"\n") if chance.random() < 0.3 else text


@pytest.mark.parametrize("wrong", [0.0, 0.01, 0.05, 0.3])
def test_both_ways_read_the_same(wrong):
    chance, skipped, errors = random.Random(wrong), 0, set()
    for _ in range(500):
        columns = [f"{chance.choice('nvvvvvctlwud')}{k}" for k in range(chance.randrange(1, 7))]
        if chance.random() < 0.3:
            columns[chance.randrange(len(columns))] += "k"
        delimiter = chance.choice([",", ",", ",", "\t", ";", "|", " "])
        text = chance.choice([b"", b"", b"\xef\xbb\xbf"]) + table(chance, columns, delimiter, wrong)
        cuts = [chance.randrange(len(text) + 1) for _ in range(chance.choice([0, 0, 1, 5]))]
        batches, error = check(
            text, columns, delimiter=delimiter, cuts=cuts, quotes=chance.random() < 0.7, header=chance.random() < 0.7,
            max_columns=chance.choice([0, 1, 2, 3, 5, 8, 13, 2**31 - 1]), skip_errors=chance.random() < 0.7,
            labels=chance.choice(["ignored", "any", "one", "several"]), l2=chance.random() < 0.3,
            bits=chance.choice([-1, -1, 2, 22]), largest=chance.choice([1e100, 1e100, 20.0]),
        )  # fmt: skip
        skipped += sum(batch["n_skipped"] for batch in batches)
        errors.add((error or "no error").split(":")[-1].split(" ")[1])
    assert wrong < 0.05 or (skipped > 100 and len(errors) > 5)


def test_unknown_features_are_forgotten_alike():
    chance = random.Random(0)
    columns = ["l", "v1", "v2", "c", "t"]
    for _ in range(200):
        text = table(chance, columns, ",", 0.05)
        cuts = [chance.randrange(len(text) + 1) for _ in range(4)]
        check(text, columns, cuts=cuts, known=["v2", "c=a", "t:b"], max_columns=chance.choice([4, 5, 2**31 - 1]))


def cell(chance):
    """A number as programs write it, or another cell."""
    kind = chance.randrange(12)
    if kind < 6:
        return f"{chance.uniform(-10, 10) ** 3:.{chance.randrange(7)}f}"
    if kind < 8:
        return str(chance.randrange(-(10 ** chance.randrange(1, 9)), 10 ** chance.randrange(1, 10)))
    usual = [
        "", "0", "-0", "0.", "-0.0", "00.5", "0.00000001", "1e3", "-.5", "+1", "12345678", "0.12345678",
        repr(chance.random()),
    ]  # fmt: skip
    rare = ["NA", "nan", "x", " 1", "1 ", "1.2.3", "--1", "-", ".", '"3"', "123456789", "99999999999999999999"]
    return chance.choice(usual if kind < 11 else rare)


@pytest.mark.parametrize("numbers", [4, 7, 8, 9, 25])
@pytest.mark.parametrize("places", ["l..", "..l", ".lnw.", "u.l", ".."])
def test_rows_of_numbers(numbers, places):
    """Several numbers are read at once, whatever is before, between and behind them."""
    chance = random.Random(numbers)
    columns = []
    for place in places:
        run = [f"{chance.choice('vvu')}{len(columns) + k}" for k in range(numbers)]
        columns += run if place == "." else [f"{place}z"]
    lines = []
    for _ in range(150):
        cells = [{"l": "1", "w": "2"}.get(name[0]) or cell(chance) for name in columns]
        if chance.random() < 0.05:
            cells = chance.choice([cells[:-1], [*cells, "1"], [""], ["1\n2", *cells[1:]]])
        lines.append(",".join(cells) + chance.choice(["\n", "\n", "\n", "\r\n"]))
    text = "".join(lines).encode()
    labels = "one" if "l" in places else "ignored"
    for options in ({}, {"largest": 99_999_999.0}, {"l2": True}, {"largest": 50.0}, {"bits": 1}, {"bits": 3}):
        batches, error = check(text, columns, cuts=(1000, 1001, 5000), labels=labels, **options)
        assert error is None
        assert "largest" in options or n_rows(batches) > 50
