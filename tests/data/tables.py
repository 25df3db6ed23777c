"""The same table in any format that has columns, and what reading says."""

import csv
import json
import warnings

from confidently.data import DataWarning, open_stream


def write(path, columns):
    """Write columns, whose missing cells are ``None``, in the format of the suffix; return the path."""
    names, rows = list(columns), list(zip(*columns.values(), strict=True))
    if path.suffix in (".csv", ".tsv"):
        with open(path, "w", newline="", encoding="utf-8") as file:
            between = "," if path.suffix == ".csv" else "\t"
            csv.writer(file, delimiter=between, lineterminator="\n").writerows([names, *rows])
    elif path.suffix == ".jsonl":
        objects = (dict(zip(names, row, strict=True)) for row in rows)
        path.write_text("".join(json.dumps(one) + "\n" for one in objects), encoding="utf-8")
    else:
        import pyarrow as pa
        from pyarrow import feather, parquet

        make = parquet.write_table if path.suffix == ".parquet" else feather.write_feather
        make(pa.table({name: list(cells) for name, cells in columns.items()}), str(path))
    return path


def said(path, **how):
    """Return the warnings of reading all rows."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with open_stream(path, **how) as stream:
            for _ in stream:
                pass
    assert all(warning.category is DataWarning for warning in found)
    return [str(warning.message) for warning in found]
