"""Model files taken apart and put together again with right checksums, whatever is in them."""

import json
import zlib

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from confidently.models import file as model_file


def contents_of(path):
    """Header and arrays of a model file."""
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()[model_file.KEY])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it has no __iter__)
    del header["header_crc32"]
    return header, arrays


def write_contents(path, header, arrays):
    """Write a model file whose checksums are right."""
    if isinstance(header, dict) and header:
        header = header | {"crc32": {name: zlib.crc32(np.ascontiguousarray(array)) for name, array in arrays.items()}}
    write_text(path, json.dumps(header), arrays)


def write_text(path, header, arrays):
    """Write a model file with this text as its header, whose own checksum is right."""
    save_file(arrays, path, metadata={model_file.KEY: model_file._signed(header)})
