"""Reading takes memory that does not grow with the file."""

import subprocess
import sys

import pytest

ROWS, CELLS = 20_000, 20
PEAK = """
import resource, sys
from confidently.data import open_stream
print(sum(map(len, open_stream(sys.argv[1], multilabel=False))))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak_bytes(path, rows):
    done = subprocess.run([sys.executable, "-c", PEAK, path], capture_output=True, text=True, check=True)
    read, kib = map(int, done.stdout.split())
    assert read == rows
    return kib * 1024


def write_csv(path, times):
    lines = "".join(f"{k % 2}{f',{k}.25' * CELLS}\n" for k in range(ROWS))
    with open(path, "w") as file:
        file.write(f"label,{','.join(f'x{k}' for k in range(CELLS))}\n")
        for _ in range(times):
            file.write(lines)


def write_parquet(path, times):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"label": pa.array([k % 2 for k in range(ROWS)])}
    columns |= {f"x{j}": pa.array([float(k) for k in range(ROWS)]) for j in range(2 * CELLS)}
    table = pa.table(columns)
    with parquet.ParquetWriter(path, table.schema, compression="none", use_dictionary=False) as writer:
        for _ in range(times):
            writer.write_table(table)


@pytest.mark.parametrize(
    ("suffix", "write"),
    [("csv", write_csv), pytest.param("parquet", write_parquet, marks=pytest.mark.long("another format"))],
)
def test_memory_is_flat_in_the_size_of_the_file(tmp_path, suffix, write):
    small, large = tmp_path / f"small.{suffix}", tmp_path / f"large.{suffix}"
    write(small, 4)
    write(large, 24)
    difference = large.stat().st_size - small.stat().st_size
    assert difference > 60e6
    assert peak_bytes(large, 24 * ROWS) - peak_bytes(small, 4 * ROWS) < 0.4 * difference
