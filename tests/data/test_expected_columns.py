"""Columns that a model knows and data lack, or the other way round, are reported, and refused where nothing is left."""

import json
import re
import warnings

import pytest

from confidently import OnlineClassifier, load
from confidently.data import DataError, DataWarning, open_stream
from tests.command_line import here
from tests.data.tables import write

FORMATS = ("csv", "tsv", "jsonl", "parquet", "feather")
ROWS = {"amount": [1.0, 2.0, 3.0, 4.0] * 5, "town": ["Delft", "Lund", "Delft", "Bonn"] * 5, "label": ["y", "n"] * 10}


def renamed(**names):
    """The rows with other names of columns; ``None`` leaves a column out."""
    columns = {names.get(name, name): cells for name, cells in ROWS.items()}
    columns.pop(None, None)
    return columns


def trained(path, columns=ROWS, **options):
    with warnings.catch_warnings(action="ignore", category=DataWarning):
        return OnlineClassifier().fit_stream(open_stream(write(path, columns), **options))


def outcome(classifier, path, **options):
    """The error and the warnings of predicting a file."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            list(classifier.predict_stream(path, **options))
            error = None
        except DataError as refused:
            error = str(refused).removeprefix(str(path))
    return error, [str(one.message).removeprefix(str(path)) for one in found]


CASES = [
    # columns of the data, the message, whether it is an error without strict
    (renamed(), None, False),
    (renamed(label=None), None, False),
    (renamed(amount="Amount", town="Town"), "missing 2 of 2 columns of training: 'amount', 'town'; 2 new columns: "
     "'Amount', 'Town'; did you mean 'amount' instead of 'Amount' and 'town' instead of 'Town'?", True),
    (renamed(town="Town"), "missing 1 of 2 columns of training: 'town'; 1 new column: 'Town'; did you mean 'town' "
     "instead of 'Town'?", False),
    (renamed(town="city"), "missing 1 of 2 columns of training: 'town'; 1 new column: 'city'", False),
    (renamed(amount="amuont"), "missing 1 of 2 columns of training: 'amount'; 1 new column: 'amuont'; did you mean "
     "'amount' instead of 'amuont'?", True),
    (ROWS | {"id": list(range(1, 21))}, "1 new column: 'id'", False),
    (ROWS | {f"x{k}": [1.0] * 20 for k in range(7)}, "7 new columns: 'x0', 'x1', 'x2', 'x3', 'x4' and 2 more", False),
]  # fmt: skip


@pytest.mark.parametrize("columns, message, refused", CASES)
@pytest.mark.parametrize("suffix", FORMATS)
def test_differences_are_said_or_refused(tmp_path, suffix, columns, message, refused):
    classifier, file = trained(tmp_path / f"train.{suffix}"), write(tmp_path / f"test.{suffix}", columns)
    where = ", first 20 rows: " if suffix == "jsonl" else ": "
    if suffix == "jsonl" and "amount" not in columns and "town" in columns:
        refused = False  # rows of JSON lines need not have every key
    error, said = outcome(classifier, file)
    strict, nothing = outcome(classifier, file, strict=True)
    assert nothing == []
    if message is None:
        assert error is None and strict is None and said == []
        return
    end = " " if message.endswith("?") else "; "
    remedy = "rename the columns, or add them with empty cells" if refused else "omit --strict to go on"
    assert strict == where + message + end + remedy
    assert (error, said) == ((strict, []) if refused else (None, [where + message]))


def test_a_missing_column_of_numbers_is_refused_in_tables(tmp_path):
    classifier = trained(tmp_path / "train.csv", ROWS | {"when": ["2024-01-05", "2024-02-05"] * 10})
    for column in ("amount", "when"):
        left = {name: cells for name, cells in (ROWS | {"when": ["2024-01-05"] * 20}).items() if name != column}
        error, _ = outcome(classifier, write(tmp_path / "test.csv", left))
        assert (
            error
            == f": missing 1 of 3 columns of training: {column!r}; rename the columns, or add them with empty cells"
        )
    with_empty = write(tmp_path / "test.csv", ROWS | {"amount": [""] * 20, "when": [""] * 20})
    assert outcome(classifier, with_empty) == (None, [])


def test_columns_without_features_are_known_and_kept_ones_are_not_new(tmp_path):
    columns = ROWS | {"rare": ["", "", "", ""] * 5, "nothing": [0] * 20, "secret": ["s"] * 20}
    classifier = trained(tmp_path / "train.csv", columns, drop="secret")
    assert classifier.source_["header"] == ["amount", "town", "rare", "nothing"]
    file = write(tmp_path / "test.csv", columns | {"id": ["k"] * 20})
    assert outcome(classifier, file, keep=["id"], strict=True) == (None, [])
    assert outcome(classifier, file)[1] == [": 1 new column: 'id'"]


def test_the_first_file_may_lack_columns_of_later_ones(tmp_path):
    later = ROWS | {"a=b": [1.0, 2.0] * 10, "note": ["x:y", "z"] * 10}
    files = [write(tmp_path / "a.csv", ROWS), write(tmp_path / "b.csv", later)]
    classifier = OnlineClassifier(view=None).fit_stream(open_stream(files))
    assert outcome(classifier, files[1], strict=True) == (None, [])


def test_a_difference_of_several_files_is_said_once(tmp_path):
    classifier = trained(tmp_path / "train.csv")
    files = [write(tmp_path / f"{k}.csv", renamed(town="city")) for k in range(3)]
    files.append(write(tmp_path / "3.csv", ROWS | {"id": [7] * 20}))
    _, said = outcome(classifier, files)
    assert [re.sub(r".*/", "", text) for text in said] == [
        "0.csv: missing 1 of 2 columns of training: 'town'; 1 new column: 'city'", "3.csv: 1 new column: 'id'",
    ]  # fmt: skip


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_models_of_earlier_versions_know_columns_by_their_features(tmp_path, suffix):
    columns = ROWS | {"a=b": [1.0, 2.0] * 10, "c:d": ["x", "y"] * 10}
    classifier = trained(tmp_path / f"train.{suffix}", columns)
    for name in ("header", "numbers", "dates"):
        del classifier.source_[name]
    assert outcome(classifier, write(tmp_path / f"test.{suffix}", columns), strict=True) == (None, [])
    left = {name: cells for name, cells in columns.items() if name not in ("amount", "c:d")}
    error, _ = outcome(classifier, write(tmp_path / f"test.{suffix}", left | {"e": [1.0] * 20}))
    assert error is not None and error.startswith(
        ": missing 2 of 4 columns of training: 'amount', 'c'; 1 new column: 'e'; "
    )


def test_words_as_keys_are_no_columns(tmp_path):
    def bag(first):
        return "".join(
            json.dumps({"label": "yn"[k % 2], f"word{first + k}": 1, f"word{k % 5}": 2}) + "\n" for k in range(50)
        )

    train, test, other = (tmp_path / f"{name}.jsonl" for name in ("train", "test", "other"))
    train.write_text(bag(100))
    test.write_text(bag(1000))
    other.write_text("".join(f'{{"label": "y", "term{k}": 1}}\n' for k in range(30)))
    classifier = OnlineClassifier().fit_stream(open_stream(train))
    assert outcome(classifier, test) == (None, [])
    error, _ = outcome(classifier, other)
    assert ", first 30 rows: missing 55 of 55 columns of training: " in error and "30 new columns: 'term0', " in error


def test_texts_of_unknown_words_are_predicted(tmp_path):
    train, test = tmp_path / "train.jsonl", tmp_path / "test.jsonl"
    train.write_text("".join(f'{{"label": "{"yn"[k % 2]}", "note": "word{k % 3}"}}\n' for k in range(30)))
    test.write_text("".join(f'{{"label": "y", "note": "term{k}"}}\n' for k in range(30)))
    classifier = OnlineClassifier().fit_stream(open_stream(train, text="note"))
    error, said = outcome(classifier, test)
    assert error is None and len(said) == 1 and "the model knows none of the features" in said[0]


def test_continued_training_says_what_differs(tmp_path):
    classifier = trained(tmp_path / "train.csv")
    with pytest.warns(DataWarning, match="b.csv: missing 1 of 2 columns of training: 'amount'; 1 new column: 'id'$"):
        classifier.partial_fit_stream(write(tmp_path / "b.csv", renamed(amount="id")))
    assert outcome(classifier, write(tmp_path / "c.csv", ROWS | {"id": [1] * 20}), strict=True) == (None, [])


def test_merged_models_know_the_columns_of_all(tmp_path):
    from confidently import merge

    columns = [ROWS | {"a": [1.0] * 20}, ROWS | {"b": ["x", "y"] * 10}]
    merged = merge([trained(tmp_path / "train.csv", these) for these in columns])
    assert merged.source_["header"] == ["amount", "town", "a", "b"]
    merged.save(tmp_path / "m.cw")
    assert outcome(load(tmp_path / "m.cw"), write(tmp_path / "t.csv", columns[0] | columns[1]), strict=True) == (
        None,
        [],
    )


def test_the_command_line(tmp_path):
    train, other = write(tmp_path / "train.csv", ROWS), write(tmp_path / "other.csv", renamed(town="Town"))
    model, test = tmp_path / "m.cw", write(tmp_path / "test.csv", renamed(amount="Amount", town="Town"))
    assert here("train", train, "--rule=arow", "-q", "-o", model).returncode == 0
    for command in ("predict", "evaluate"):
        found = here(command, model, other)
        assert found.returncode == 0 and found.stderr.count("did you mean 'town' instead of 'Town'?") == 1
        for refused in ((test,), (other, "--strict")):
            found = here(command, model, *refused)
            assert (found.returncode, found.stdout, found.stderr.count("\n")) == (2, "", 1)
    found = here("train", other, "--init-model", model, "-o", tmp_path / "n.cw", "--passes", 3, "-q")
    assert found.returncode == 0 and found.stderr.count("1 new column: 'Town'") == 1
    wider, cache = write(tmp_path / "wider.csv", ROWS | {"id": [7] * 20}), tmp_path / "wider.cache"
    assert here("cache", wider, "-o", cache).returncode == 0
    found = here("predict", model, cache, "--strict")
    assert found.returncode == 2 and "wider.cache: 1 new column: 'id'; omit --strict" in found.stderr


@pytest.mark.parametrize("options, column, meant", [
    ({"label": "lable"}, "lable", "label"), ({"weight": "AMOUNT"}, "AMOUNT", "amount"),
    ({"text": "Town"}, "Town", "town"),
    ({"category": "amount_"}, "amount_", "amount"), ({"drop": "towns"}, "towns", "town"), ({"drop": "id"}, "id", None),
    ({"only": "towns"}, "towns", "town"), ({"dates": "towns"}, "towns", "town"),
])  # fmt: skip
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_options_that_name_no_column_ask_about_similar_ones(tmp_path, suffix, options, column, meant):
    file = write(tmp_path / f"rows.{suffix}", ROWS)
    with pytest.raises(DataError) as refused:
        list(open_stream(file, **options))
    text = str(refused.value).removeprefix(str(file))
    assert text.startswith(f" has no column {column!r}")
    assert (f" (did you mean {meant!r}?)" in text) if meant else "did you mean" not in text
