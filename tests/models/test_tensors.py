"""Files of arrays are those of the library of their format, byte for byte."""

import io

import numpy as np
import pytest
from safetensors import SafetensorError
from safetensors.numpy import load, save

from confidently.models import tensors

ARRAYS = {
    "weights": np.arange(24.0).reshape(4, 3, 2), "narrow": np.arange(3, dtype=np.float32), "b": np.arange(4),
    "a": np.arange(2), "columns": np.arange(5, dtype=np.int32), "key": np.arange(3, dtype=np.uint32),
    "kind": np.arange(3, dtype=np.int8), "text": np.frombuffer(b"abc", np.uint8), "none": np.zeros((0, 3)),
    "größe": np.zeros((2, 0), dtype=np.int32),
}  # fmt: skip
METADATA = {"confidently": 'größe "quoted" \\ \n {}'}


def written(arrays):
    file = io.BytesIO()
    tensors.write(file, arrays, METADATA)
    return file.getvalue()


@pytest.mark.parametrize("n", range(1, len(ARRAYS) + 1))
def test_files_are_those_of_the_library(n):
    arrays = dict(list(ARRAYS.items())[:n])
    assert written(arrays) == save(arrays, METADATA)


def test_files_are_read_as_the_library_reads_them():
    content = written(ARRAYS)
    found = tensors.read(content)
    for name, array in load(content).items():
        np.testing.assert_array_equal(found[name], array, strict=True)


def test_files_that_are_not_sound_are_refused():
    content = written(ARRAYS)
    for wrong in (b"", content[:-1], content + b"x", content[:7], b"\xff" * 100):
        with pytest.raises(SafetensorError):
            tensors.read(wrong)
    with pytest.raises(KeyError, match="F16"):
        tensors.read(save({"half": np.zeros(3, np.float16)}))
