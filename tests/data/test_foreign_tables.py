"""Parquet and Feather files as other programs, or attackers, write them."""

import decimal
import re
import struct

import numpy as np
import pytest

from confidently.data import DataError, open_stream
from tests.data.test_arrow_tables import WRITE, read

pa = pytest.importorskip("pyarrow")
from pyarrow import ipc, parquet  # noqa: E402
from pyarrow.parquet import encryption  # noqa: E402

N_ROWS = 300
LABELS = [0, 1, 1] * (N_ROWS // 3)
KEY = b"0123456789012345"


def union(values):
    return pa.UnionArray.from_sparse(pa.array([0] * len(values), pa.int8()), [pa.array(values, pa.int64())])


def write_batches(path, batches, new=ipc.new_file):
    with pa.OSFile(str(path), "wb") as file, new(file, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


@pytest.mark.parametrize("new", [ipc.new_file, ipc.new_stream])
def test_a_dropped_union_is_not_looked_at(tmp_path, new):
    file = tmp_path / "rows.arrow"
    parts = [union([1, 2]), pa.array([1.0, 2.0])]
    part = pa.StructArray.from_arrays(parts, ["u", "n"], mask=pa.array([True, False]))
    batch = pa.record_batch({"label": [0, 1], "u": union([1, 2]), "a": part})
    write_batches(file, [batch.slice(0, 0), batch, batch.slice(0, 0)], new)
    assert read(file, drop=["u", "a.u"]) == [([0], {}), ([1], {"a.n": 2.0})]
    for column in ("u", "a.u"):
        with pytest.raises(DataError, match=f"column '{column}' holds sparse_union.*drop it"):
            read(file, drop={"u", "a.u"} - {column})


def varint(number):
    number = (number << 1) ^ (number >> 63)
    digits = []
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    return bytes([*digits, number])


def write_counts(path, table, of_file=N_ROWS, of_group=N_ROWS, of_column=N_ROWS):
    """Write a Parquet file of one row group with these numbers of rows and values in its metadata."""
    parquet.write_table(table, path, write_statistics=False)
    content = path.read_bytes()
    (size,) = struct.unpack("<I", content[-8:-4])
    rows, footer = content[: -8 - size], content[-8 - size : -8]
    number = b"\x16"  # a field of 64 bits that follows the one before
    parts = footer.split(number + varint(N_ROWS))
    counts = [of_file, *[of_column] * (len(parts) - 3), of_group]
    assert len(counts) == table.num_columns + 2
    footer = parts[0] + b"".join(number + varint(n) + part for n, part in zip(counts, parts[1:], strict=True))
    path.write_bytes(rows + footer + struct.pack("<I", len(footer)) + b"PAR1")


@pytest.mark.parametrize("column", [[0.5] * N_ROWS, [[0.5]] * N_ROWS])
@pytest.mark.parametrize("counts", [
    {"of_file": 0}, {"of_file": -1}, {"of_group": -1}, {"of_file": -1, "of_group": -1}, {"of_file": 1 << 60},
    {"of_file": 1 << 60, "of_group": 1 << 60}, {"of_file": 1 << 60, "of_group": 1 << 60, "of_column": 1 << 60},
    {"of_file": N_ROWS + 1, "of_group": N_ROWS + 1}, {"of_column": -1},
])  # fmt: skip
def test_counts_of_parquet_that_contradict_each_other_are_damage(tmp_path, counts, column):
    file = tmp_path / "rows.parquet"
    table = pa.table({"label": LABELS, "x": column})
    write_counts(file, table)
    assert len(read(file)) == N_ROWS
    write_counts(file, table, **counts)
    for drop in ((), "x"):
        with pytest.raises(DataError, match=f"^{file} is damaged"):
            read(file, drop=drop)


@pytest.mark.parametrize("n", [-1, 1 << 60])
@pytest.mark.parametrize("drop", [(), "x"])
def test_counts_of_feather_that_contradict_each_other_are_damage(tmp_path, n, drop):
    file = tmp_path / "rows.arrow"
    write_batches(file, [pa.record_batch({"label": LABELS, "x": [0.5] * N_ROWS})])
    content = bytearray(file.read_bytes())
    right = struct.pack("<q", N_ROWS)
    places = [match.start() for match in re.finditer(re.escape(right), content)]
    assert len(places) == 3  # of the batch and of each column
    for place in places:
        damaged = bytearray(content)
        damaged[place : place + len(right)] = struct.pack("<q", n)
        file.write_bytes(damaged)
        if not drop or place != places[2]:
            with pytest.raises(DataError, match=f"^{file} is damaged"):
                list(open_stream(file, drop=drop))


def test_a_table_without_columns_to_read_is_one_error(tmp_path):
    """Nothing but its metadata would say how many rows it has."""
    for name, write in WRITE.items():
        for table in (pa.table({}), pa.table({"label": [1, 2], "x": [3, 4]})):
            write(table, tmp_path / name)
            with pytest.raises(DataError, match=f"^{tmp_path / name} has no columns to read"):
                list(open_stream(tmp_path / name, ignore_labels=True, drop=table.column_names[1:]))


@pytest.mark.parametrize("name", WRITE)
def test_names_of_columns_that_are_not_utf8_are_damage(tmp_path, name):
    file = tmp_path / name
    WRITE[name](pa.table({"label": [0, 1], "surname": [1.5, 2.5]}), file)
    file.write_bytes(file.read_bytes().replace(b"surname", b"surn\xe4me"))
    with pytest.raises(DataError, match=f"^{file} is damaged"):
        list(open_stream(file))


class Keys(encryption.KmsClient):
    """Wraps keys by doing nothing."""

    def __init__(self, config):
        super().__init__()

    def wrap_key(self, key, master_key_identifier):
        return key

    def unwrap_key(self, wrapped, master_key_identifier):
        return wrapped


@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_encrypted_parquet_is_called_encrypted(tmp_path, plaintext_footer):
    file = tmp_path / "rows.parquet"
    config = encryption.EncryptionConfiguration(
        footer_key="footer", column_keys={"column": ["x"]}, plaintext_footer=plaintext_footer, double_wrapping=False
    )
    factory = encryption.CryptoFactory(Keys)
    keys = factory.file_encryption_properties(encryption.KmsConnectionConfig(), config)
    table = pa.table({"label": [0, 1], "x": [1.5, 2.5]})
    with parquet.ParquetWriter(file, table.schema, encryption_properties=keys) as writer:
        writer.write_table(table)
    with pytest.raises(DataError, match=f"^{file} is encrypted; write it again without encryption$"):
        list(open_stream(file))
    if plaintext_footer:
        assert len(read(file, drop="x")) == 2


@pytest.mark.parametrize(
    ("precision", "scale"), [(5, 2), (12, 2), (15, 15), (15, -3), (16, 2), (18, 9), (30, 25), (38, 0), (50, 10)]
)
def test_decimals_are_those_of_csv(tmp_path, precision, scale):
    random = np.random.default_rng(precision)
    kind = pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    whole = [int("".join(map(str, random.integers(0, 10, random.integers(1, precision + 1))))) for _ in range(500)]
    with decimal.localcontext(prec=60):
        numbers = [decimal.Decimal(n).scaleb(-scale) * (-1) ** k for k, n in enumerate(whole)]
    file, text = tmp_path / "rows.feather", tmp_path / "rows.csv"
    WRITE[file.name](pa.table({"label": [0, 1] * 250, "x": pa.array(numbers, kind), "n": [1] * 500}), file)
    text.write_text("label,x,n\n" + "".join(f"{k % 2},{number},1\n" for k, number in enumerate(numbers)))
    assert read(file) == read(text)


@pytest.mark.parametrize("offsets", [(0, 7, 10_000), (0, 19, 12), (-5, 7, 12), (0, -7, 12)])
def test_offsets_beyond_the_data_are_damage(tmp_path, offsets):
    path = tmp_path / "rows.feather"
    table = pa.table({"label": [1, 0], "town": ["x" * 7, "y" * 5]})
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    sound = np.array([0, 7, 12], np.int32).tobytes()
    content = path.read_bytes()
    assert content.count(sound) == 1
    path.write_bytes(content.replace(sound, np.array(offsets, np.int32).tobytes()))
    with pytest.raises(DataError, match=r"rows\.feather is damaged"), open_stream(path) as stream:
        list(stream)
