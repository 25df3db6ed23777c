"""Converting rows: there and back they are the same rows, in every format that can hold them."""

import json
import re

import numpy as np
import pytest

from confidently.data import Batch, DataError, NewLabel, ReaderOptions, open_stream
from confidently.data.features import NewFeatures, Strings
from confidently.data.formats.table import BY_NAME, FORMATS, WRITABLE
from confidently.data.writing import write_rows
from confidently.data.writing.rows import Row, Rows
from tests.command_line import rows

PLAIN = {"normalize": "none"}
NAMED = [kind for kind in WRITABLE if BY_NAME[kind].named]


class Given:
    """A stream of rows made by hand, to be written."""

    def __init__(self, given, named=True, multilabel=False):
        self.given, self.multilabel = given, multilabel
        self.reading = ReaderOptions(format="vw" if named else "svmlight")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def __iter__(self):
        columns, labels, new_labels, names, name_rows = {}, {}, [], [], []
        entries, ids, starts, label_start = [], [], [0], [0]
        for i, row in enumerate(self.given):
            for name, value in row.features:
                if name not in columns:
                    columns[name] = len(columns)
                    names.append(str(name))
                    name_rows.append(i)
                entries.append((columns[name] if self.reading.named else name - 1, value))
            own = row.labels if isinstance(row.labels, list) else [row.labels]
            for label in own:
                if label not in labels:
                    labels[label] = len(labels)
                    new_labels.append(NewLabel(label, i, "here"))
                ids.append(labels[label])
            starts.append(len(entries))
            label_start.append(len(ids))
        weights = np.array([row.weight for row in self.given])
        key = np.arange(len(names), dtype=np.uint32)
        yield Batch(
            np.array([v for _, v in entries]), np.array([c for c, _ in entries], dtype=np.int32), np.array(starts),
            len(columns), np.array(ids, dtype=np.int32), np.array(label_start) if self.multilabel else None,
            weights=None if (weights == 1).all() else weights, new_labels=new_labels,
            new_features=NewFeatures(np.array(name_rows), key, Strings.of(names)),
            kept={"tag": Strings.of([row.tag for row in self.given])},
        )  # fmt: skip


def read(path, kind, given=None, multilabel=None):
    """Rows as a reader finds them; features in any order."""
    how = dict(PLAIN, vocabulary=kind != "svmlight")
    keep = ()
    if given is not None and kind not in ("svmlight", "vw"):
        how |= {"weight": "weight"} if any(row.weight != 1 for row in given) else {}
        how |= {"drop": ("tag",)} if any(row.tag for row in given) else {}
    if given is not None and any(row.tag for row in given) and kind != "svmlight":
        keep = ("tag",)
    with open_stream(path, format=kind, multilabel=multilabel, keep=keep, **how) as stream:
        return comparable(Rows(stream, named=kind != "svmlight"))


def comparable(given):
    return [
        Row(row.labels if not isinstance(row.labels, list) else sorted(map(str, row.labels)), row.weight, row.tag,
            sorted((str(name), value) for name, value in row.features))
        for row in given
    ]  # fmt: skip


EASY = [
    Row(1, 1.0, "", [("price", 0.1), ("city=Rome", 1.0)]),
    Row(-1, 1.0, "", [("price", -2.5e-7), ("a.b", 123456789.125)]),
    Row(1, 1.0, "", [("city=Rome", 1.0), ("a.b", 1e99)]),
]
WEIGHTED = [row._replace(weight=w) for row, w in zip(EASY, (1.0, 0.25, 3.0), strict=True)]
TAGGED = [row._replace(tag=t) for row, t in zip(EASY, ("first", "second", "3rd"), strict=True)]
WORDS = [row._replace(labels=w) for row, w in zip(EASY, ("spam", "ham", "eggs"), strict=True)]
SETS = [row._replace(labels=s) for row, s in zip(EASY, (["a", "b"], ["b"], ["c", "a"]), strict=True)]
CASES = {"easy": EASY, "weighted": WEIGHTED, "tagged": TAGGED, "words": WORDS, "sets": SETS}


def readable(kind):
    if kind not in FORMATS:
        pytest.skip(f"there is no reader of {kind}")
    if kind in ("parquet", "feather"):
        pytest.importorskip("pyarrow")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", NAMED)
def test_what_is_written_is_read_as_the_same_rows(tmp_path, kind, case):
    readable(kind)
    given, path = CASES[case], tmp_path / f"x.{kind}"
    multilabel = case == "sets"
    assert write_rows(str(path), kind, lambda: Given(given, multilabel=multilabel)) == len(given)
    assert read(path, kind, given, multilabel) == comparable(given)


@pytest.mark.parametrize("kind", WRITABLE)
def test_there_and_back(ok, tmp_path, kind):
    """From svmlight to each format and back; named features come back numbered as they first appear."""
    readable(kind)
    source, there, back = tmp_path / "a.svm", tmp_path / f"b.{kind}", tmp_path / "c.svm"
    lines = rows(200, ("a", "b", "c")).replace("a 1:", "a cost:0.5 1:").splitlines()
    # within a row no value stands twice, so that values tell features apart
    source.write_text(
        "\n".join(line for line in lines if len(set(re.findall(r":(\S+)", line))) == line.count(":")) + "\n"
    )
    result = json.loads(ok("convert", source, "-o", there, "--to", kind, "--json"))
    assert (result["rows"], result["format"], result["bytes"]) == (
        len(source.read_text().splitlines()),
        kind,
        there.stat().st_size,
    )
    weight = ["--weight", "weight"] if kind in ("jsonl", "csv", "tsv", "parquet", "feather") else []
    ok("convert", there, "--format", kind, *weight, "-o", back)
    before, after = read(source, "svmlight"), read(back, "svmlight")
    assert [row.labels for row in before] == [row.labels for row in after]
    assert [row.weight for row in before] == [row.weight for row in after] and before[0].weight in (0.5, 1.0)
    number: dict[str, str] = {}  # of each feature, in the file that came back
    for old, new in zip(before, after, strict=True):
        new_features = {value: name for name, value in new.features}
        assert len(old.features) == len(new.features)
        for name, value in old.features:
            assert number.setdefault(name, new_features[value]) == new_features[value]


@pytest.mark.parametrize("options", [(), ("--zero-based",)])
def test_svmlight_stays_as_it_is(ok, tmp_path, options):
    source, target = tmp_path / "a.svm", tmp_path / "b.svm"
    source.write_text("1 cost:2 1:0.1 7:3\n-1 2:1e-99 # words\n\n3 qid:4 1:1 2:0.30000000000000004\n")
    ok("convert", source, "-o", target, *options)
    assert target.read_text() == "1 cost:2 1:0.1 7:3\n-1 2:1e-99\n3 1:1 2:0.30000000000000004\n"


def test_lines_as_people_read_them(tmp_path):
    given = [Row("a", 0.5, "t1", [("x", 1.0), ("y^z", 2.5)]), Row("b", 1.0, "", [])]
    for kind, text in (
        ("vw", "a 0.5 't1| x y^z:2.5\nb |\n"),
        ("jsonl", '{"label": "a", "weight": 0.5, "tag": "t1", "x": 1, "y^z": 2.5}\n{"label": "b"}\n'),
        ("svmlight", "a cost:0.5 1:1 2:2.5\nb\n"),
        ("csv", "label,weight,tag,x,y^z\na,0.5,t1,1,2.5\nb,1,,,\n"),
        ("tsv", "label\tweight\ttag\tx\ty^z\na\t0.5\tt1\t1\t2.5\nb\t1\t\t\t\n"),
    ):
        write_rows(str(tmp_path / "out"), kind, lambda: Given(given))
        assert (tmp_path / "out").read_text() == text, kind


@pytest.mark.parametrize(
    ("kind", "row", "problem"),
    [
        ("vw", EASY[0]._replace(features=[("a b", 1.0)]), "VW text cannot hold the name 'a b'"),
        ("vw", EASY[0]._replace(features=[("", 1.0)]), "VW text cannot hold the name ''"),
        ("vw", EASY[0]._replace(labels="very good"), "VW text cannot hold the label 'very good'"),
        ("vw", EASY[0]._replace(labels=None, weight=2.0), "VW text cannot hold a weight without a label"),
        ("svmlight", EASY[0]._replace(labels="a,b"), "svmlight cannot hold the label 'a,b'"),
        ("jsonl", EASY[0]._replace(features=[("label", 1.0)]), "a feature is called 'label'"),
        ("csv", EASY[0]._replace(features=[("label", 1.0)]), "a feature is called 'label'"),
        ("tsv", EASY[0]._replace(features=[("a\tb", 1.0)]), "has a tab or a line end, which TSV cannot hold"),
    ],
)
def test_what_a_format_cannot_hold_is_refused(tmp_path, kind, row, problem):
    with pytest.raises(DataError, match=problem):
        write_rows(str(tmp_path / "out"), kind, lambda: Given([row]))


def test_too_many_features_for_a_table(ok, call, tmp_path, monkeypatch):
    monkeypatch.setattr("confidently.data.writing.tables.MAX_TABLE_COLUMNS", 10)
    path = tmp_path / "a.svm"
    path.write_text("1 11:1\n")
    code, _, err = call("convert", path, "-o", tmp_path / "b.csv")
    assert code == 2 and "more than 10 features, too many for one column each" in err
    assert list(tmp_path.iterdir()) == [path]
