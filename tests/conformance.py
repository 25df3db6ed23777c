"""Run the readers on the test suites of other projects: ``python -m tests.conformance FOLDER``.

FOLDER holds clones of their repositories, each under its own name; those that are missing are passed over. Prints a row
for each suite and every case that is not as it should be. docs/conformance.md says where they are and what came out.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import resource
import signal
import struct
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from confidently.data import DataError, open_stream
from tests.json_rows import Row
from tests.line_rows import parsers_of, rows_of

BITS = 30  # of Vowpal Wabbit's indices
MASK = (1 << BITS) - 1
SECONDS, BYTES = 60, 6 << 30  # for one file
Case = tuple[str, str]  # a case and what is wrong with it: nothing, or a sentence


def wrong(condition: bool, what: str) -> str:
    return what if condition else ""


# --- JSON ------------------------------------------------------------------------------------------------------------


def json_suite(folder: Path) -> Iterator[Case]:
    """Yield each text as the member of a row: as a feature, and dropped, where only its grammar counts."""
    for file in sorted((folder / "test_parsing").glob("*.json")):
        kind, text = file.name[0], file.read_bytes()
        if kind == "y":
            text = text.replace(b"\n", b" ")  # rows of JSON lines have no others
        line = b'{"label": 1, "x": ' + text + b"}\n"
        dropped, read = (accepted(line, drop=drop) for drop in ("x", ()))
        allowed = kind != "n" and known_by_python(line) is not None
        if kind == "y" and not dropped:
            yield file.name, "refused"
        elif kind == "n" and (dropped or read):
            yield file.name, "accepted"
        elif read and allowed:
            row = Row(known_by_python(line), label="label").features
            expected = {re.sub("[\ud800-\udfff]", "\ufffd", name): x for name, x in row.items() if x}
            yield file.name, wrong(read[0] != expected, "other features")
        else:
            yield file.name, wrong(kind == "y" and not read and "duplicated" not in file.name, "refused as a feature")


def accepted(line: bytes, **how) -> list[dict[str, float]]:
    try:
        return [
            row
            for _, _, row in rows_of(
                parsers_of({"format": "jsonl", "vocabulary": True, "normalize": "none", **how}), line
            )
        ]
    except ValueError:
        return []


def known_by_python(line: bytes):
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


# --- CSV -------------------------------------------------------------------------------------------------------------


def csv_suite(folder: Path) -> Iterator[Case]:
    """Yield each table: its cells are those of the JSON file beside it."""
    for file in sorted((folder / "csvs").glob("*.csv")):
        rows = json.loads((folder / "json" / f"{file.stem}.json").read_bytes())
        expected = [list(row.values()) for row in (rows if isinstance(rows, list) else [rows])]
        yield file.name, compared_cells(file, expected)


def compared_cells(file: Path, expected: list[list[str]]) -> str:
    with open(file, newline="", encoding="utf-8") as text:
        names = next(csv.reader(text))
    if not expected:
        return ""
    how = {"drop": tuple(names), "label": "no label", "keep": names, "ignore_labels": True, "normalize": "none"}
    try:
        found = [batch.kept for batch in open_stream(file, format="csv", **how)]
    except DataError as error:
        return str(error)
    cells = [list(row) for kept in found for row in zip(*(kept[name] for name in names), strict=True)]
    return wrong(cells != expected, f"{cells} instead of {expected}")


# --- numbers ---------------------------------------------------------------------------------------------------------


def number_suite(folder: Path) -> Iterator[Case]:
    """Yield each number: the double it is read as, to the last bit; beyond the range of doubles it is refused."""
    for file in sorted((folder / "data").glob("*.txt")):
        yield from numbers([words[2:] for line in file.open() if len(words := line.split()) == 4])


def numbers(pairs: list[list[str]]) -> Iterator[Case]:
    cases = [(text, struct.unpack(">d", bytes.fromhex(bits))[0]) for bits, text in pairs]
    lines = "".join(f"1 1:{text}\n" for text, _ in cases).encode()
    parsers = parsers_of({"format": "svmlight"}, n=1, largest=sys.float_info.max, skip_errors=True)
    rows = iter(rows_of(parsers, lines))
    for text, expected in cases:
        finite = abs(expected) < float("inf")
        found = next(rows)[2].get(0, 0.0) if finite else expected
        yield text, wrong(struct.pack("d", found) != struct.pack("d", expected), f"{found!r} instead of {expected!r}")
    if next(rows, None) is not None:
        yield "a number beyond the range of doubles", "read"


# --- Parquet and Arrow -----------------------------------------------------------------------------------------------


def table_suite(folder: Path) -> Iterator[Case]:
    """Yield each file: a process reads as many rows as pyarrow, or refuses it in one sentence, and lives."""
    for file in sorted(folder.rglob("*")):
        if (found := table_format(file)) is not None:
            yield os.path.relpath(file, folder), in_a_process(partial(read_table, file, found))


def table_format(file: Path) -> str | None:
    if not file.is_file() or file.suffix in (".md", ".gz", ".json", ".sh"):
        return None
    if ".parquet" in file.name or "parquet/fuzzing" in str(file):
        return "parquet"
    return "feather" if {"arrow-ipc-file", "arrow-ipc-stream"} & set(file.parts) else None


def read_table(file: Path, found: str) -> str:
    """Read all columns that can be features, dropping one after the other that cannot."""
    how: dict[str, tuple[str, ...]] = {"drop": ()}
    while True:
        try:
            n_rows = sum(map(len, open_stream(file, format=found, ignore_labels=True, **how)))
        except DataError as error:
            column = str(error).partition(": column '")[2].partition("' holds ")[0]
            if "drop it" not in str(error) or column in how["drop"]:
                return ""
            how["drop"] += (column,)
        else:
            return wrong(n_rows != rows_of_table(file, found), f"{n_rows} rows")


def rows_of_table(file: Path, found: str) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    if found == "parquet":
        return sum(rows.num_rows for rows in parquet.ParquetFile(file).iter_batches(columns=[]))
    with pa.OSFile(str(file)) as source:
        if file.read_bytes().startswith(b"ARROW1"):
            table = pa.ipc.open_file(source)
            return sum(table.get_batch(k).num_rows for k in range(table.num_record_batches))
        return sum(rows.num_rows for rows in pa.ipc.open_stream(source))


def in_a_process(work: Callable[[], str]) -> str:
    """Return what the work returns, or how a process of limited time and memory ended."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        signal.alarm(SECONDS)
        try:
            answer = work()
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(writing, answer.encode(errors="replace")[:1000])
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        answer = pipe.read().decode(errors="replace")
    status = os.waitpid(child, 0)[1]
    return f"ended by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else answer


# --- Vowpal Wabbit ---------------------------------------------------------------------------------------------------


def vw_suite(folder: Path) -> Iterator[Case]:
    """Yield each feature that Vowpal Wabbit reads from the features of a line."""
    from vowpalwabbit import Workspace

    theirs = Workspace(f"--quiet --noconstant --hash all -b {BITS} --sparse_weights --no_stdin")
    for file in sorted((folder / "test" / "train-sets").iterdir()):
        if file.is_file() and file.suffix not in (".json", ".dsjson", ".fb", ".csv", ".model"):
            with gzip.open(file) if file.suffix == ".gz" else open(file, "rb") as text:
                for number, line in enumerate(text, 1):
                    if b"|" in line and is_text(line):
                        yield from vw_features(theirs, f"{file.name}:{number}", line[line.index(b"|") :].rstrip(b"\n"))


def is_text(line: bytes) -> bool:
    try:
        return line.decode().isprintable() or True
    except UnicodeDecodeError:
        return False


def vw_features(theirs, place: str, line: bytes) -> Iterator[Case]:
    example = theirs.example(line.decode())
    expected: dict[int, float] = Counter()
    for index, value in example.iter_features():
        expected[index & MASK] += value
    expected = {index: value for index, value in expected.items() if value}
    theirs.finish_example(example)
    how = {"format": "vw", "vocabulary": True, "normalize": "none"}
    try:
        rows = rows_of(parsers_of(how, n=1, ignore_labels=True), line + b"\n")
    except ValueError as error:
        yield from ((place, str(error)) for _ in expected)
        return
    for name, value in rows[0][2].items() if rows else ():
        found = next((index for index in indices(name.encode()) if index in expected), None)
        if found is not None and np.isclose(expected[found], value, rtol=1e-6, atol=0.0):  # theirs are single precision
            del expected[found]
            yield place, ""
        else:
            yield place, f"{name} = {value} is not in Vowpal Wabbit's example"
    yield from ((place, f"{index} = {value} is missing") for index, value in expected.items())


def indices(name: bytes) -> Iterator[int]:
    """Yield the indices that Vowpal Wabbit may give a feature with this full name."""
    from sklearn.utils import murmurhash3_32

    def murmur(text: bytes, seed: int) -> int:
        return murmurhash3_32(text, seed, positive=True)

    places = [k for k in range(len(name)) if name[k : k + 1] == b"^"]
    for rest, seed in [(name, 0), *((name[k + 1 :], murmur(name[:k], 0)) for k in places)]:
        yield murmur(rest, seed) & MASK
        if rest.isdigit():  # without a name: counted
            yield seed + int(rest) & MASK
        key, colon, value = rest.partition(b":")
        if colon:
            yield murmur(value, murmur(key, seed)) & MASK


SUITES = {
    "JSONTestSuite": json_suite, "csv-spectrum": csv_suite, "parse-number-fxx-test-data": number_suite,
    "parquet-testing": table_suite, "arrow-testing": table_suite, "vowpal_wabbit": vw_suite,
}  # fmt: skip


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    for name, suite in SUITES.items():
        if (folder / name).is_dir():
            results = list(suite(folder / name))
            for case, what in results:
                if what:
                    print(f"{name}, {case}: {what[:300]}")
            right = sum(not what for _, what in results)
            print(f"{name}: {right:,} of {len(results):,} as they should be", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
