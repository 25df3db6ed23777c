"""Files of safetensors, written and read without NumPy, and written without a copy of the arrays.

A file is the size of its header in eight bytes, the header (JSON: of every array its type, shape and place, and
metadata), and the numbers of the arrays, all in little-endian order.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any, BinaryIO

from .. import _core
from ..late import numpy as np

TYPES = {"l": "I64", "q": "I64", "d": "F64", "f": "F32", "I": "U32", "i": "I32", "b": "I8", "B": "U8"}  # by format
ORDER = list(dict.fromkeys(TYPES.values()))  # of the arrays in a file, as the library of this format has it
NAMES = {
    "I64": "int64", "F64": "float64", "F32": "float32", "U32": "uint32", "I32": "int32", "I8": "int8", "U8": "uint8",
}  # fmt: skip
ALIGNMENT = 8  # of the first array
MAX_DIMENSIONS = 3  # of a plain array


def write(file: BinaryIO, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    """Write contiguous arrays and metadata.

    Arrays of the widest numbers come first, so that all are aligned; those of the same type by name.
    """
    header, begin = dict[str, Any]({"__metadata__": dict(metadata)}), 0
    views = {name: array.data for name, array in arrays.items()}
    order = sorted(views, key=lambda name: (ORDER.index(_type(views[name])), name))
    for name in order:
        view = views[name]
        end = begin + view.nbytes
        header[name] = {"dtype": _type(view), "shape": view.shape, "data_offsets": (begin, end)}
        begin = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for name in order:
        file.write(views[name] if sys.byteorder == "little" else np.asarray(arrays[name]).byteswap().data)


def _type(view: memoryview) -> str:
    return TYPES[view.format[-1]]  # after the order of its bytes, if that is given


def read(content: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of a file.

    Raises
    ------
    SafetensorError
        If the content is not that of a sound file.
    KeyError
        If an array has a type that model files do not have.
    """
    import safetensors  # imported here since most commands that train read no model

    entries: list[tuple[str, dict[str, Any]]] = safetensors.deserialize(content)  # type: ignore[no-untyped-call]
    return {name: _array(found["data"], found["shape"], NAMES[found["dtype"]]) for name, found in entries}


def _array(data: bytearray, shape: list[int], dtype: str) -> np.ndarray:
    if _core.makes_plain_arrays() and sys.byteorder == "little" and len(shape) <= MAX_DIMENSIONS:
        return _core.over(bytearray(data) if isinstance(data, bytes) else data, shape, dtype)
    stored = np.frombuffer(data, dtype)
    return (stored if sys.byteorder == "little" else stored.byteswap()).reshape(shape)
