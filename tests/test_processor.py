"""The path that the environment asks for is the one that the compiled core takes."""

import json
import os
import subprocess
import sys

import pytest

from confidently import _core
from tests.command_line import COMMAND

PATHS = ("plain", "avx2")
BUILD = "import json; from confidently import _core; print(json.dumps(_core.build()))"


def run(path):
    environment = {name: value for name, value in os.environ.items() if name != "CONFIDENTLY_SIMD"}
    if path is not None:
        environment["CONFIDENTLY_SIMD"] = path
    return subprocess.run([sys.executable, "-c", BUILD], env=environment, capture_output=True, text=True, check=False)


def test_the_best_path_is_taken_unless_another_is_asked_for():
    paths = _core.build()["paths"]
    assert paths == list(PATHS[: len(paths)])
    for asked in (None, "", *paths):
        assert json.loads(run(asked).stdout)["path"] == (asked or paths[-1])


@pytest.mark.parametrize("path", ["AVX2", "sse", " plain"])
def test_an_unknown_path_is_an_error(path):
    assert f"CONFIDENTLY_SIMD is '{path}'; expected plain or avx2" in run(path).stderr


def test_a_path_that_the_processor_lacks_is_an_error():
    for path in PATHS[len(_core.build()["paths"]) :]:
        assert f"this processor lacks {path}, which CONFIDENTLY_SIMD asks for" in run(path).stderr


def test_commands_say_so_in_one_line():
    environment = {**os.environ, "CONFIDENTLY_SIMD": "sse"}  # which is looked at once per process
    done = subprocess.run([*COMMAND, "doctor"], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
    assert "CONFIDENTLY_SIMD is 'sse'; expected plain or avx2" in done.stderr
