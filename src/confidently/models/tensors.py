"""Files of safetensors, written without a copy of the arrays.

A file is the size of its header in eight bytes, the header (JSON: of every array its type, shape and place, and
metadata), and the numbers of the arrays, all in little-endian order.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

CODES = {  # of types, in the order of the arrays in a file, as the library of this format has it
    "int64": "I64", "float64": "F64", "float32": "F32", "uint32": "U32", "int32": "I32", "int8": "I8", "uint8": "U8",
}  # fmt: skip
TYPES = {code: name for name, code in CODES.items()}
ALIGNMENT = 8  # of the first array


def write(file: BinaryIO, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    """Write contiguous arrays and metadata.

    Arrays of the widest numbers come first, so that all are aligned; those of the same type by name.
    """
    header, begin = dict[str, Any]({"__metadata__": dict(metadata)}), 0
    types, places = {name: str(array.dtype) for name, array in arrays.items()}, list(CODES)
    order = sorted(arrays, key=lambda name: (places.index(types[name]), name))
    for name in order:
        end = begin + arrays[name].nbytes
        header[name] = {"dtype": CODES[types[name]], "shape": arrays[name].shape, "data_offsets": (begin, end)}
        begin = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for name in order:
        file.write(arrays[name].data if sys.byteorder == "little" else np.asarray(arrays[name]).byteswap().data)


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
    return {name: _array(found["data"], found["shape"], TYPES[found["dtype"]]) for name, found in entries}


def _array(data: bytearray, shape: list[int], dtype: str) -> np.ndarray:
    stored = np.frombuffer(data, dtype)
    return (stored if sys.byteorder == "little" else stored.byteswap()).reshape(shape)
