"""The table of formats: every capability holds or is clearly rejected, and no other place compares names."""

import ast
import gzip
import importlib.util
from contextlib import nullcontext
from pathlib import Path

import click
import pytest

import confidently
from confidently import _core
from confidently.cli.commands import convert, predict, train
from confidently.cli.options.reading import READING, chosen_reading
from confidently.cli.output.writers import WRITERS
from confidently.data import FORMATS, DataError, DataWarning, ReaderOptions, open_stream
from confidently.data.formats.table import (
    BY_NAME,
    BY_SUFFIX,
    DEFAULT,
    FOR_PREDICTIONS,
    TABLE,
    WRITABLE,
    format_of_suffix,
)  # fmt: skip
from confidently.data.sources.file_range import FileRange
from confidently.data.writing import write_rows
from confidently.data.writing.rows import Rows
from tests.data.test_cache import cached

PACKAGE = Path(confidently.__file__).parent
TABLE_SCRIPT = Path(__file__).parents[2] / "docs" / "formats.py"
PLAIN = {"normalize": "none"}
ROWS = [("a", ["x"], [2.0]), ("b", ["y"], [1.0])]

every_format = pytest.mark.parametrize("format", TABLE, ids=lambda format: format.name)


@pytest.fixture
def example(format, tmp_path):
    """A file of the format with its example; of a binary format, the rows of the CSV example."""
    path = tmp_path / f"rows{format.suffixes[0]}"
    if format.example is not None:
        path.write_text(format.example)
        return path
    assert format.writable, f"{format.name}: a format that cannot be written needs an example"
    source = tmp_path / "source.csv"
    source.write_text(BY_NAME["csv"].example)
    write_rows(str(path), format.name, lambda: open_stream(source, vocabulary=True, **PLAIN))
    return path


def options(format):
    return PLAIN | ({"vocabulary": True} if format.named else {})


def rows_of(stream, named):
    """(label, names of features, values) of every row."""
    with stream:
        return [
            (row.labels, [name for name, _ in row.features], [value for _, value in row.features])
            for row in Rows(stream, named)
        ]


def expected(format):
    return ROWS if format.named else [("a", [1], [2.0]), ("b", [2], [1.0])]


# --- nobody compares names of formats --------------------------------------------------------------------------------


def names_of_formats(source):
    """(line, text) of every comparison with a format's name, list of several names, and suffix in Python source."""
    names, suffixes = set(FORMATS), set(BY_SUFFIX)
    if not any(f'"{name}"' in source for name in names | suffixes):
        return

    def direct(nodes):
        return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}

    tree = ast.parse(source)
    made = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}  # f"{name}.csv"
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            found = direct([node.left, *node.comparators])
            if isinstance(node.ops[0], (ast.In, ast.NotIn)):
                found -= {"text"}  # the name of an option too: "text" in given
            for part in node.comparators:
                if isinstance(part, (ast.Tuple, ast.List, ast.Set)):
                    found |= direct(part.elts)
            found &= names
        elif isinstance(node, ast.MatchValue):
            found = direct([node.value]) & names
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            found = direct(node.elts) & names
            found = found if len(found) > 1 else set()
        elif isinstance(node, ast.Dict):
            found = direct([key for key in node.keys if key is not None]) & names
            found = found if len(found) > 1 else set()
        elif isinstance(node, ast.Constant) and node.value in suffixes and node not in made:
            found = {node.value}
        else:
            continue
        if found:
            yield node.lineno, ", ".join(sorted(found))


def test_only_the_formats_compare_names_of_formats_and_list_suffixes():
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {what}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if PACKAGE / "data" / "formats" not in path.parents and path.name != "spreadsheets.py"  # which read two of them
        for line, what in names_of_formats(path.read_text())
    ]
    assert not found, "ask confidently.data.formats.table instead:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "source",
    ['format == "csv"', 'kind in ("csv", "tsv")', 'X = ["vw", "jsonl"]', '{"csv": 1, "vw": 2}', 'name.endswith(".svm")',
     'match x:\n    case "text":\n        pass', 'format == "text"'],
)  # fmt: skip
def test_comparisons_and_lists_are_found(source):
    assert list(names_of_formats(source))


# --- the table is complete --------------------------------------------------------------------------------------------


def test_every_line_format_of_the_core_has_a_row_and_the_reverse():
    assert set(_core.line_formats()) == {format.name for format in TABLE if format.lines}, (
        "core/data/line_formats.hpp and src/confidently/data/formats/table.py list different formats"
    )


def test_names_and_suffixes_are_unique():
    assert len(BY_NAME) == len(TABLE) and DEFAULT in BY_NAME
    assert len(BY_SUFFIX) == sum(len(format.suffixes) for format in TABLE)


def test_every_format_for_predictions_has_a_writer_and_the_reverse():
    assert set(WRITERS) == set(FOR_PREDICTIONS)


@pytest.mark.parametrize(
    ("command", "option", "names"),
    [(train.train, "format", FORMATS), (convert.convert, "kind", WRITABLE),
     (predict.predict, "output_format", FOR_PREDICTIONS)],
    ids=["train --format", "convert --to", "predict --output-format"],
)  # fmt: skip
def test_the_command_line_offers_every_format(command, option, names):
    (found,) = [parameter for parameter in command.params if parameter.name == option]
    assert tuple(found.type.choices) == names


def test_the_table_of_the_documentation_is_current():
    spec = importlib.util.spec_from_file_location("formats", TABLE_SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), f"docs are stale; run: {script.REFRESH}"


# --- every capability holds or is rejected ----------------------------------------------------------------------------


def accepted(holds, error, message):
    return nullcontext() if holds else pytest.raises(error, match=message)


@every_format
def test_suffixes_name_the_format(format):
    for suffix in format.suffixes:
        assert format_of_suffix(f"a/b{suffix}") == format_of_suffix(f"b{suffix.upper()}") == format.name
        assert format_of_suffix(f"b{suffix}.gz") == format.name


@every_format
def test_rows_are_read(format, example):
    how = options(format)
    assert rows_of(open_stream(example, **how), format.named) == expected(format)
    assert rows_of(open_stream(example, format=format.name, parsers=0, **how), format.named) == expected(format)
    assert rows_of(open_stream(example, chunk_bytes=1, **how), format.named) == expected(format)


@every_format
def test_text_may_be_compressed(format, example, tmp_path):
    packed = tmp_path / f"{example.name}.gz"
    packed.write_bytes(gzip.compress(example.read_bytes()))
    with accepted(format.example is not None, DataError, "damaged"):
        assert rows_of(open_stream(packed, **options(format)), format.named) == expected(format)


@every_format
def test_features_have_names_or_numbers(format, example):
    reading = ReaderOptions(format=format.name)
    assert reading.named is format.named
    assert reading.normalize == ("l2" if format.named else "none")
    with open_stream(example, vocabulary=True) as stream:
        new_features = next(stream).new_features
    assert (list(new_features.names) == ["x", "y"]) if format.named else (new_features is None)


@every_format
@pytest.mark.parametrize("option", ["label", "weight", "drop", "only", "category", "text"])
def test_options_of_columns(format, option):
    value = "x" if option in ("label", "weight") else ("x",)
    selects = option in ("drop", "only")
    problem = f"{option} is for named columns and namespaces" if selects else f"{option} is for formats with named"
    with accepted(format.columns or (selects and format.namespaces), ValueError, problem):
        ReaderOptions(format=format.name, **{option: value})


@every_format
def test_columns_can_be_dropped(format, example):
    if format.columns:
        found = rows_of(open_stream(example, drop="x", **options(format)), format.named)
        assert found == [("a", [], []), ("b", ["y"], [1.0])]


@every_format
@pytest.mark.parametrize("option", ["columns", "codes"])
def test_options_of_formats_whose_columns_are_in_doubt(format, option):
    with accepted(format.delimiter is not None, ValueError, f"{option} is for csv and tsv"):
        ReaderOptions(format=format.name, **{option: ("x",)})


@every_format
@pytest.mark.parametrize("option", ["zero_based", "ngrams", "bits"])
def test_options_of_the_command_line(format, example, option):
    holds = {"zero_based": not format.named, "ngrams": format.text, "bits": format.named}[option]
    value, read = {"zero_based": (True, True), "ngrams": ("1-2", (1, 2)), "bits": (10, 10)}[option]
    with accepted(holds, click.UsageError, f"--{option.replace('_', '-')} is for"):
        reading = chosen_reading(dict.fromkeys(READING) | {option: value}, [str(example)])
        assert getattr(reading, option) == read


@every_format
def test_what_can_be_kept(format, example):
    names = ("x",) if format.keepable is None else format.keepable
    for name in names:
        with open_stream(example, keep=(name,)) as stream:
            assert len(next(stream).kept[name]) == 2
    expected = rf"has no 'z' to keep; expected {', '.join(names)}" if format.keepable else "'z'"
    # columns of JSON lines come and go: there it is a warning, which is an error in tests
    with pytest.raises((DataError, DataWarning), match=expected), open_stream(example, keep=("z",)) as stream:
        next(stream)


@every_format
def test_a_file_of_lines_can_be_cut_anywhere(format, example):
    size = example.stat().st_size
    for border in range(size + 1) if format.lines else ():
        parts = [FileRange(str(example), 0, border), FileRange(str(example), border, size)]
        assert rows_of(open_stream(parts, **options(format)), format.named) == expected(format)


@every_format
def test_rows_are_written(format, example, tmp_path):
    path = tmp_path / f"written{format.suffixes[0]}"
    with accepted(format.writable, ValueError, "unknown kind"):
        assert write_rows(str(path), format.name, lambda: open_stream(example, **options(format))) == 2
        assert rows_of(open_stream(path, **options(format)), format.named) == expected(format)


@every_format
def test_rows_are_cached(format, example, tmp_path):
    reading = ReaderOptions(format=format.name, codes=() if format.delimiter else None, **options(format))
    cache = cached(example, tmp_path / "cache", reading)
    assert rows_of(open_stream(cache), format.named) == expected(format)
