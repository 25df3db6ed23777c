"""Every path that the processor has reads the same rows, labels and errors from the same text, and from its pieces."""

import json
import math
import random
import re
import struct
from decimal import Decimal
from itertools import cycle, pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from confidently import _core
from confidently.data.formats.lines import pieces

PATHS = _core.build()["paths"]
EXACT = -1  # bits: names are kept as they are
COUNTS = {name: getattr(_core.LabelCount, name) for name in ("ignored", "any", "one", "several", "target")}


def options_of(labels="any", **options):
    usual = {"largest": 1e100, "max_columns": 2**31 - 1, "skip_errors": True, "l2": False, "bits": 22, "classes": []}
    both = usual | {"n_kept": 0, "zeros": False, "own_columns": False} | options
    return _core.ReaderOptions(**both, labels=COUNTS[labels])


def numbering_of(bits=22):
    return _core.Numbering(options_of(bits=bits))


def reader_on(path, format="svmlight", zero_based=False, dates=(), **options):
    """A reader that takes this path."""
    return _core.line_reader(
        format, options_of(**options, path=path), zero_based=zero_based,
        ngrams=_core.NgramOptions(characters=False, shortest=1, longest=1, binary=False), label="label", weight="",
        drop=[], category=[], text=[], keep=[], only=[], dates=list(dates),
    )  # fmt: skip


def plain_object(value):
    """Arrays, also in tuples, as bytes."""
    if isinstance(value, tuple):
        return [plain_object(v) for v in value]
    return value.tobytes() if hasattr(value, "tobytes") else value


def read(path, text, cuts=(), bits=22, n_readers=1, **options):
    """Every batch, from each reader in turn, as a dict of plain objects, and the error that ended the reading."""
    numbering = numbering_of(bits)
    readers, batches = cycle([reader_on(path, bits=bits, **options) for _ in range(n_readers)]), []
    ends = [*sorted(cut for cut in cuts if 0 < cut < len(text)), len(text)]
    try:
        for piece in pieces((text[a:b], 0) for a, b in zip([0, *ends], ends, strict=False)):
            reader = next(readers)
            reader.parse(piece.begun, piece.text, piece.line)
            reader.number(numbering)
            rows = reader.take()
            batches.append({k: plain_object(v) for k, v in rows.items()})
    except ValueError as error:
        return batches, str(error)
    return batches, None


def check(text, cuts=(), **options):
    plain = read("plain", text, cuts, **options)
    for path in PATHS[1:]:
        assert read(path, text, cuts, **options) == plain, path
    return plain


def plain_line(chance, value, n=8):
    columns = sorted(chance.sample(range(1, 60_000), n))
    return f"{chance.choice(['+1', '-1', '1', 'spam'])} " + " ".join(f"{c}:{value(chance)}" for c in columns)


VALUES = {
    "ones": lambda chance: "1", "fractions": lambda chance: f"{chance.random():.4f}",
    "signed": lambda chance: f"{chance.gauss(0, 1):.6f}", "eight digits": lambda chance: f"{chance.random():.8g}",
    "long": lambda chance: repr(chance.gauss(0, 1)), "exponents": lambda chance: f"{chance.gauss(0, 1e-4):.3g}",
    "integers": lambda chance: str(chance.randrange(10 ** chance.randrange(1, 9))),
    "mixed": lambda chance: VALUES[chance.choice(list(VALUES)[:-1])](chance),
}  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n", " # why\n"])
@pytest.mark.parametrize("kind", VALUES)
def test_paths_read_the_same_rows(kind, end):
    chance = random.Random(kind)
    lines = [plain_line(chance, VALUES[kind], chance.choice([1, 3, 4, 5, 63])) + end for _ in range(300)]
    text = "".join(lines).encode()
    (batch, error) = check(text, [len(text) // 3, len(text) // 2])
    assert error is None and sum(len(b["labels"]) // 4 for b in batch) == 300
    check(text, l2=True, labels="one")
    check(text, labels="ignored", largest=0.5)
    check(text, zero_based=True, max_columns=30_000)


BEHIND = {
    "svmlight": b"1 1:1\n",
    "vw": b"1 | a:1 b c:0.5 d\n",
}  # so that the last lines are not left to the plain parser


@pytest.mark.parametrize("format", BEHIND)
@pytest.mark.parametrize("kind", VALUES)
def test_paths_see_every_changed_byte(kind, format):
    """Any byte of a text in any place: the rows of the others, and the error of this one, stay what they are."""
    chance, vw = random.Random(kind), format == "vw"
    line = plain_line(chance, VALUES[kind], 5) + "\n"
    for _ in range(400):
        line = vw_line(chance, kind, chance.choice([3, 10, 20])) if vw else line
        rows = [bytearray(line.encode()) for _ in range(4)]
        for row in rows[1:3]:
            for _ in range(chance.choice([0, 1, 1, 2])):
                place = chance.randrange(len(row))
                new = chance.choice([*b" :.-+e#,|\t\r\n\0\x0b09q", chance.randrange(256)])
                row[place : place + chance.choice([0, 1, 1, 2])] = bytes([new])
        bits = chance.choice([EXACT, 4, 22]) if vw else 22
        text = b"".join(rows) + BEHIND[format] * chance.choice([0, 30])
        check(text, format=format, skip_errors=chance.random() < 0.5, bits=bits)


numbers = st.one_of(
    st.from_regex(r"[+-]?[0-9]{0,9}\.?[0-9]{0,9}(e-?[0-9]{1,2})?", fullmatch=True),
    st.sampled_from(["0", "-0", "0.", ".5", "-.5", "0.0", "00.5", "-0.12345678", "0.123456789", "99999999", "-", "."]),
)  # fmt: skip
features = st.tuples(st.integers(0, 10**9) | st.integers(0, 9), numbers).map(lambda f: f"{f[0]}:{f[1]}")
tokens = features | st.sampled_from(
    ["qid:7", "sid:1", "cost:2", "#", "# 1:2", "#a:b", "1:2#c", "a", "1:", ":1", "1:2:3", ""]
)
lines = st.tuples(
    st.sampled_from(["1", "-1", "+1", "a", "1,2", "2,1,1", "a,", ",", "", "01", "1.0", "ß", "qid:3"]),
    st.lists(tokens, max_size=12), st.sampled_from([" ", " ", " ", "  ", "\t"]), st.sampled_from(["\n", "\r\n", " \n"]),
).map(lambda line: line[2].join([line[0], *line[1]]) + line[3])  # fmt: skip


@given(
    st.lists(lines, max_size=8).map(lambda rows: "".join(rows).encode()),
    st.lists(st.integers(0, 600), max_size=3), st.sampled_from(list(COUNTS)), st.booleans(), st.booleans(),
)  # fmt: skip
@example(b"1 1:1\n1 1:1 2:-0.5\n1 1:1 2:-\n", [], "any", False, False)
@example(b"1 1:1\n1\0 1:1\n", [], "any", False, False)
@settings(max_examples=50)
def test_paths_agree_on_any_lines(text, cuts, labels, zero_based, skip_errors):
    for behind in (b"", BEHIND["svmlight"] * 20):
        check(text + behind, cuts, labels=labels, zero_based=zero_based, skip_errors=skip_errors)


def test_values_are_what_float_makes_of_them():
    """Up to 19 digits, also next to the middle between two doubles, with exponents, and up to 40 digits."""
    chance = random.Random(2)
    texts = [f"{n}.5" for n in (chance.randrange(2**52, 2**53) for _ in range(300))]  # exactly in the middle
    texts += [repr(chance.uniform(-1, 1) * 10.0 ** chance.randrange(-8, 8)) for _ in range(2000)]
    texts += [f"{chance.randrange(10**7)}.{chance.randrange(10**12):0{chance.randrange(8, 15)}}" for _ in range(2000)]
    for form, most, scale in [("f", 19, 0), ("e", 40, 12)] * 500:
        low = chance.uniform(0, 2) * 10.0 ** chance.randint(-scale, scale)
        middle = (Decimal(low) + Decimal(math.nextafter(low, math.inf))) / 2
        texts += [f"{middle:.{digits}{form}}" for digits in (15, 16, 17, 18, most)]
    texts += [f"{chance.randrange(10**18, 2**63 - 1)}e-3" for _ in range(500)]
    texts += [f"{chance.random():.{chance.randrange(8, 19)}}e{chance.randrange(-60, 60)}" for _ in range(1000)]
    chance.shuffle(texts)
    rows = [" ".join(f"{k + 1}:{x}" for k, x in enumerate(texts[a : a + 20])) for a in range(0, len(texts), 20)]
    batches, error = check("".join(f"1 {row}\n" for row in ["1:1", *rows, "1:1"]).encode())
    expected = [1.0, *map(float, texts), 1.0]
    assert error is None and batches[0]["values"] == struct.pack(f"{len(expected)}d", *expected)


def test_paths_read_rows_of_any_length():
    chance = random.Random(1)
    rows = [plain_line(chance, VALUES["signed"], n) for n in (1, 500, 511, 512, 513, 2000, 7000)] * 2
    text = "\n".join(rows).encode() + b"\n"
    batches, error = check(text)
    assert error is None and len(batches[0]["labels"]) == 4 * len(rows)
    check(text, [len(text) // 2])
    found = re.findall(rb":(\S+)", text)
    assert b"".join(b["values"] for b in batches) == struct.pack(f"{len(found)}d", *map(float, found))


@pytest.mark.parametrize("own_columns", [False, True])
def test_paths_sort_rows_alike(own_columns):
    """Rows of any length, columns in any order and some of them twice: these are summed in the order of the text."""
    chance = random.Random(3)
    rows = []
    for n in [*range(0, 70), 127, 128, 129, 255, 256, 257, 1000]:
        names = [chance.randrange(chance.choice([20, 300, 50_000])) for _ in range(n)]
        rows.append("1 | " + " ".join(f"{name}:{chance.gauss(0, 1):.3f}" for name in names) + "\n")
    chance.shuffle(rows)
    batches, error = check("".join(rows).encode(), format="vw", own_columns=own_columns)
    assert error is None
    start, columns = np.frombuffer(batches[0]["start"], "i8"), np.frombuffer(batches[0]["columns"], "i4")
    for a, b in pairwise(start):
        assert (np.diff(columns[a:b]) > 0).all()


@pytest.mark.parametrize("n", [2, 15, 16, 17, 32, 33, 64, 65, 128, 129, 256, 257, 512, 513, 1024, 1025])
@pytest.mark.parametrize("largest", [2**22 - 1, 2**22, 2**24 - 1, 2**24, 2**31 - 2])
def test_paths_sort_columns_of_any_size(n, largest):
    """Some have no room for the number of their entry in the same 32 bits."""
    chance = random.Random(n)
    columns = [largest, *chance.sample(range(largest), n - 1)]
    rows = [columns, columns[::-1], [*columns[1:], columns[0]], [columns[0], *columns[:-1]]]
    values = [chance.gauss(0, 1) for _ in columns]
    text = "".join("1 " + " ".join(f"{c + 1}:{x!r}" for c, x in zip(row, values, strict=True)) + "\n" for row in rows)
    batches, error = check(text.encode())
    assert error is None
    start, found = np.frombuffer(batches[0]["start"], "i8"), np.frombuffer(batches[0]["columns"], "i4")
    for row, a, b in zip(rows, start, start[1:], strict=False):
        assert found[a:b].tolist() == sorted(set(row))
        sums = dict.fromkeys(sorted(row), 0.0)
        for c, x in zip(row, values, strict=True):
            sums[c] += x
        assert np.frombuffer(batches[0]["values"], "f8")[a:b].tolist() == list(sums.values())


@pytest.mark.few(1)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("bits", [EXACT, 4, 22])
@pytest.mark.parametrize("l2", [False, True])
def test_columns_from_the_stream_are_those_of_a_reader_alone(path, bits, l2):
    """Rows with old and new features are the same, whether one reader numbers these for good or three for a piece."""
    chance = random.Random(bits)
    vw = "".join(vw_line(chance, "signed", chance.choice([0, 1, 5, 64, 200, 700])) for _ in range(200)).encode()
    days = [f"20{chance.randrange(10, 30)}-05-{chance.randrange(10, 30)}" for _ in range(300)]
    cells = [{f"c{k}": k + 0.5 for k in range(20)} | {f"w{chance.randrange(40)}": "new", "day": day} for day in days]
    jsonl = "".join(json.dumps({"label": 1} | row) + "\n" for row in cells).encode()
    for format, text, dates in (("vw", vw, []), ("jsonl", jsonl, ["day"])):
        cuts = [chance.randrange(len(text)) for _ in range(12)]
        options = {"format": format, "bits": bits, "l2": l2, "labels": "one", "dates": dates}
        several = read(path, text, cuts, n_readers=3, own_columns=True, **options)
        assert several == read(path, text, cuts, **options)


ALPHABET = "abcxyz0123456789_-.^=/#'+,\x01\x7fß€"


def vw_name(chance):
    shortest, longest = chance.choice([(1, 1), (1, 3), (1, 8), (3, 8), (7, 10), (1, 30)])
    return "".join(chance.choices(ALPHABET, k=chance.randrange(shortest, longest + 1)))


def vw_line(chance, kind, n):
    """Names with and without values, in one namespace or several, some of them scaled."""
    bare = chance.choice([0, 0, 0.3, 1])
    words = ["1", "|"]
    for _ in range(n):
        name = vw_name(chance) if chance.random() < 0.5 else str(chance.randrange(60_000))
        words.append(name if chance.random() < bare else f"{name}:{VALUES[kind](chance)}")
        if chance.random() < 0.02:
            words.append(chance.choice(["|", "|", "|a", "|spam:0.5", "|b:1"]))
    return " ".join(words) + "\n"


@pytest.mark.parametrize("bits", [EXACT, 4, 22])
@pytest.mark.parametrize("kind", VALUES)
def test_paths_read_the_same_rows_of_vw(kind, bits):
    chance = random.Random(kind)
    lines = [vw_line(chance, kind, chance.choice([1, 3, 5, 7, 8, 9, 63, 127, 128, 129, 300])) for _ in range(80)]
    text = "".join(lines).encode()
    usual = [{}, {"own_columns": True}, {"l2": True, "labels": "one"}]
    for options in [*usual, {"largest": 0.5}, {"largest": 99_999_999.0}]:
        batches, error = check(text, [len(text) // 3, len(text) // 2], format="vw", bits=bits, **options)
        assert error is None and sum(len(b["labels"]) // 4 + b["n_skipped"] for b in batches) == 80
    for max_columns in (3, 100, 400, 1000):  # where no more fit, whether or not an invalid feature follows
        check(text.replace(b"7:", b"7:x:", 20), format="vw", bits=bits, max_columns=max_columns)


vw_names = st.sampled_from(["a", "b1", "12345678", "123456789", "seven77", "four", "", "ß", "x.y", "-"])
vw_tokens = st.tuples(vw_names, numbers).map(":".join) | vw_names | st.sampled_from(
    ["|", "|n", "|n:2", "a:b", "a:1:2", ":1", "a:", ":", "a\x01b", "\x01", "a:0", "a:-0.0"]
)  # fmt: skip


@given(
    st.lists(st.lists(vw_tokens, max_size=20).map(lambda row: "1 | " + " ".join(row)), max_size=8),
    st.sampled_from([" ", "  ", "\t"]), st.sampled_from(["\n", "\r\n", " \n"]), st.booleans(),
    st.sampled_from([EXACT, 4, 22]),
)  # fmt: skip
@settings(max_examples=50)
def test_paths_agree_on_any_lines_of_vw(rows, between, end, skip_errors, bits):
    text = "".join(row.replace(" ", between, row.count(" ") // 2) + end for row in rows).encode()
    for behind in (b"", BEHIND["vw"] * 20):
        check(text + behind, format="vw", skip_errors=skip_errors, bits=bits)


@pytest.mark.parametrize("space", ["", "spam"])
def test_hashes_of_names_are_those_of_the_plain_path(space):
    """Every length of names, and every byte in every place: what is hashed at once is what is hashed alone."""
    chance = random.Random(4)
    plain = [byte for byte in range(33, 127) if byte not in b":|"]
    names = [bytes(chance.choices(plain, k=size)) for size in range(1, 10) for _ in range(99)]
    text = b"".join(b"1 |%s %s\n" % (space.encode(), b" ".join(names[a::11])) for a in range(11))
    batches, error = check(b"1 | x\n" + text, format="vw", bits=32)
    assert error is None and len(batches[0]["new_features"][0]) > 8 * 700
