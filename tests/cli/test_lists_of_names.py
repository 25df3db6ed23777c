"""Options that take names take lists of them, in every format with names; a name that is not there is one error."""

import pytest

from confidently.models.model import Model
from tests.data import tables

ROWS = [
    {"label": "no" if k % 2 else "yes", "rating": k % 2, "id": k, "a,b": k % 3, "x": (k * 7) % 5, "note": "good day"}
    for k in range(40)
]


def write(path):
    if path.suffix != ".vw":
        return tables.write(path, {name: [row[name] for row in ROWS] for name in ROWS[0]})
    numbers = [name for name in ROWS[0] if name not in ("label", "note")]
    lines = ((row["label"], "".join(f" |{name} v:{row[name] + 1}" for name in numbers)) for row in ROWS)
    path.write_text("".join(f"{label}{features}\n" for label, features in lines))
    return path


def columns_of(model):
    """The columns, or namespaces, that the features of a model come from."""
    names = Model.load(str(model)).features.names
    return {name.partition("^")[0].partition("=")[0].partition(":")[0] for name in names}


SUFFIXES = ["jsonl", "csv", "parquet", "feather", "vw"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_lists_of_names_are_those_names_one_by_one(suffix, call, tmp_path):
    path, notes = write(tmp_path / f"rows.{suffix}"), set() if suffix == "vw" else {"note"}
    ways = [["--drop", 'rating,id,"a,b"'], ["--drop", "rating", "--drop", 'id, "a,b"']]
    models = [tmp_path / f"{k}.cw" for k in range(len(ways))]
    for way, model in zip(ways, models, strict=True):
        code, _, err = call("train", path, "--rule=arow", "-q", "-o", model, *way)
        assert code == 0, err
        assert columns_of(model) == {"x"} | notes
    assert models[0].read_bytes() == models[1].read_bytes()
    code, _, err = call("train", path, "--rule=arow", "-q", "-o", models[0], "--only", 'x,"a,b"')
    assert code == 0 and columns_of(models[0]) == {"x", "a,b"}, err


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_lists_of_names_to_keep(suffix, call, tmp_path):
    path, model = write(tmp_path / f"rows.{suffix}"), tmp_path / "m.cw"
    assert call("train", path, "--rule=arow", "-q", "-o", model, "--drop", "rating")[0] == 0
    code, out, err = call("predict", model, path, "-q", "--keep", 'id,"a,b"')
    assert code == 0, err
    assert [line.split("\t")[:2] for line in out.splitlines()[:3]] == [["id", "a,b"], ["0", "0"], ["1", "1"]]
    code, _, err = call("predict", model, path, "-q", "--keep", "id,nothing")
    assert code == 2 and "no column 'nothing'" in err and err.count("\n") == 1


def test_lists_of_names_for_a_cache(call, tmp_path):
    path, cache, model = write(tmp_path / "rows.jsonl"), tmp_path / "rows.cache", tmp_path / "m.cw"
    assert call("cache", path, "-q", "-o", cache, "--drop", "rating,id", "--keep", 'id,"a,b"')[0] == 0
    assert call("train", cache, "--rule=arow", "-q", "-o", model)[0] == 0
    assert columns_of(model) == {"x", "a,b", "note"}
    assert call("predict", model, cache, "-q", "--keep", '"a,b",id')[0] == 0


def test_columns_of_a_file_without_a_header_may_have_commas(call, tmp_path):
    path, model = tmp_path / "rows.csv", tmp_path / "m.cw"
    path.write_text("yes,1,2\nno,2,1\n" * 5)
    assert (
        call("train", path, "--rule=arow", "-q", "--columns", 'label,"a,b",c', "--drop", '"a,b"', "-o", model)[0] == 0
    )
    assert columns_of(model) == {"c"}
