"""Columns of Arrow record batches for the compiled reader (core/data/arrow_rows.hpp)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from ... import _core
from ..batch import DataError

LISTS = (types.is_list, types.is_large_list, types.is_fixed_size_list)
NUMBER_TYPES = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
EXACT_DIGITS, EXACT_POWER = 15, 22  # integers of so many digits, and powers of ten up to this one, are doubles
SECONDS_PER_DAY, SECONDS_PER_HOUR = 86_400, 3600
SECONDS_2000, SECONDS_PER_YEAR = 946_684_800, 365.2425 * SECONDS_PER_DAY  # from 1970 to 2000
TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # per second
NULL_BUFFER = np.empty(0, dtype=np.uint8)


def is_any(kind: pa.DataType, tests: tuple[Callable[[pa.DataType], bool], ...]) -> bool:
    return any(test(kind) for test in tests)


def is_string(kind: pa.DataType) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind) or kind == pa.string_view())


def is_date(kind: pa.DataType) -> bool:
    """Return whether a type is one of dates, times of day, or both."""
    return bool(types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind))


class Leaf(NamedTuple):
    """A column, or a part of a struct called ``a.b``, with its position in the column."""

    name: str
    kind: pa.DataType
    path: tuple[int, ...] = ()

    def of(self, array: pa.Array) -> pa.Array:
        """Return it, given the array of the column; it is null where the whole is."""
        for index in self.path:
            array = pc.struct_field(array, [index])
        return array


def leaves(name: str, kind: pa.DataType, path: tuple[int, ...] = ()) -> Iterator[Leaf]:
    """Yield a column, or the parts of a struct."""
    if types.is_struct(kind):
        for index, field in enumerate(kind):
            yield from leaves(f"{name}.{field.name}", field.type, (*path, index))
    else:
        yield Leaf(name, kind, path)


def check_kind(name: str, column: str, kind: pa.DataType, use: _core.Use) -> None:
    """Raise ``DataError`` if the type of a column does not fit its use."""
    of = kind.value_type if is_any(kind, LISTS) else kind
    of = of.value_type if types.is_dictionary(of) else of
    number, string = is_any(of, NUMBER_TYPES), is_string(of)
    where = f"{name}: column {column!r} holds {kind}"
    if types.is_null(of) or use == _core.Use.none:
        return
    if use == _core.Use.weight and (is_any(kind, LISTS) or not number):
        raise DataError(f"{where}, expected numbers for weights")
    if use == _core.Use.target and is_any(kind, LISTS):
        raise DataError(f"{where}, expected one number per row for targets")
    if use == _core.Use.text and not string:
        raise DataError(f"{where}, expected text")
    if use == _core.Use.category and types.is_temporal(of):
        return
    if use == _core.Use.date and not is_any(kind, LISTS) and (is_date(kind) or number or string):
        return
    if types.is_temporal(of):
        raise DataError(f"{where}; these cannot be features; drop it, or read it as a category")
    if use == _core.Use.date:
        raise DataError(f"{where}, expected dates or times")
    if not (number or string):
        raise DataError(f"{where}, which cannot be features; drop it")


def arrow_column(which: int, array: pa.Array, use: _core.Use) -> _core.ArrowColumn:
    """Return an array for the use of the reader's column ``which``; with ``Use.none``, strings, and lists as JSON."""
    kind, lists = array.type, {}
    if is_any(kind, LISTS) and use == _core.Use.none:
        array = pa.array([None if value is None else _json(value) for value in array.to_pylist()], pa.string())
    elif is_any(kind, LISTS):
        lists = {"list_start": _list_starts(array)} | _validity(array, "list_")
        array = array.values
    if types.is_dictionary(array.type):
        if use in (_core.Use.value, _core.Use.category) and is_string(array.type.value_type):
            return _entries(which, array, lists)
        array = array.dictionary_decode()
    numbers = use in (_core.Use.value, _core.Use.target) and not is_string(array.type)
    if use == _core.Use.weight or numbers:
        return _core.ArrowColumn(which, numbers=_numbers(array), **_validity(array), **lists)
    array = _strings(array, use)
    return _core.ArrowColumn(which, **_text(array), **_validity(array), **lists)


def _json(value: list[Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def date_column(which: int, array: pa.Array, part: str, use: _core.Use) -> _core.ArrowColumn:
    """Return a feature of an array of dates or times of day: its time, hour or weekday, as a number or a category.

    Notes
    -----
    core/data/dates.hpp computes the same from text, with the same roundings.
    """
    local = pc.local_timestamp(array) if types.is_timestamp(array.type) and array.type.tz else array
    seconds, fraction = _seconds(array if part == "time" else local)
    days, second = np.divmod(seconds, SECONDS_PER_DAY)
    if part == "time":
        found = ((seconds - SECONDS_2000).astype(np.float64) + fraction) / SECONDS_PER_YEAR
    elif part == "hour":
        found = (second.astype(np.float64) + fraction) / SECONDS_PER_HOUR
    else:
        found = ((days + 3) % 7 + 1).astype(np.float64)  # January 1, 1970 was a Thursday
    if use == _core.Use.category:
        whole = pa.array(np.floor(found).astype(np.int64), mask=array.is_null().to_numpy(zero_copy_only=False))
        whole = whole.cast(pa.large_string())
        return _core.ArrowColumn(which, **_text(whole), **_validity(whole))
    return _core.ArrowColumn(which, numbers=found, **_validity(array))


def _seconds(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return whole seconds since 1970 or midnight, and the fractions of seconds beyond them."""
    kind = array.type
    if types.is_date(kind):
        array, kind = array.cast(pa.timestamp("s")), pa.timestamp("s")
    of_32_bits = types.is_time(kind) and kind.bit_width == 32
    ticks = array.view(pa.int32() if of_32_bits else pa.int64()).fill_null(0).to_numpy().astype(np.int64)
    seconds, rest = np.divmod(ticks, TICKS[kind.unit])
    return seconds, (rest * (TICKS["ns"] // TICKS[kind.unit])).astype(np.float64) / TICKS["ns"]


def _entries(which: int, array: pa.DictionaryArray, lists: dict[str, Any]) -> _core.ArrowColumn:
    entries = array.indices.cast(pa.int32())
    if array.dictionary.null_count:  # a null entry is a null
        entries = pc.if_else(pc.is_null(array), pa.scalar(None, pa.int32()), entries)
    return _core.ArrowColumn(
        which,
        entry=_buffer(entries, 1, np.int32),
        **_text(array.dictionary.cast(pa.large_string())),
        **_validity(entries),
        **lists,
    )


def _numbers(array: pa.Array) -> np.ndarray:
    if types.is_null(array.type):
        array = array.cast(pa.float64())
    if types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    if types.is_float16(array.type):
        array = array.cast(pa.float32())
    if types.is_decimal(array.type):
        array = _decimals(array)
    return _buffer(array.cast(pa.float64(), safe=False), 1, np.float64)


def _decimals(array: pa.Array) -> pa.Array:
    """Return the nearest doubles, as CSV gives them; Arrow's own conversion does not round correctly."""
    kind = array.type
    if kind.precision <= EXACT_DIGITS and 0 <= kind.scale <= EXACT_POWER:  # a quotient of exact numbers is rounded once
        whole = getattr(pa, f"decimal{kind.bit_width}")(kind.precision, 0)
        return pc.divide(array.view(whole).cast(pa.float64()), 10.0**kind.scale)
    return array.cast(pa.string()).cast(pa.float64())


def _strings(array: pa.Array, use: _core.Use) -> pa.Array:
    if types.is_boolean(array.type) and use == _core.Use.label:
        array = array.cast(pa.uint8())
    if types.is_float16(array.type):
        array = array.cast(pa.float32())
    if types.is_floating(array.type):  # NaN is absent
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    return array.cast(pa.large_string())


def _text(array: pa.LargeStringArray) -> dict[str, Any]:
    text = array.buffers()[2]
    return {
        "start": _buffer(array, 1, np.int64, more=1) if len(array) else np.zeros(1, dtype=np.int64),
        "text": NULL_BUFFER if text is None else np.frombuffer(text, dtype=np.uint8),
    }


def _validity(array: pa.Array, prefix: str = "") -> dict[str, Any]:
    bits = array.buffers()[0] if array.null_count else None
    if bits is None:
        return {f"{prefix}valid": np.zeros((len(array) + 7) // 8, dtype=np.uint8)} if types.is_null(array.type) else {}
    return {f"{prefix}valid": np.frombuffer(bits, dtype=np.uint8), f"{prefix}valid_first": array.offset}


def _list_starts(array: pa.Array) -> np.ndarray:
    if types.is_fixed_size_list(array.type):
        starts: np.ndarray = (np.arange(len(array) + 1) + array.offset) * array.type.list_size
    else:
        starts = array.offsets.cast(pa.int64()).to_numpy()
    return starts


def _buffer(array: pa.Array, which: int, dtype: type, more: int = 0) -> np.ndarray:
    buffer = array.buffers()[which]
    if buffer is None:
        return np.empty(0, dtype=dtype)
    return np.frombuffer(buffer, dtype=dtype)[array.offset : array.offset + len(array) + more]
