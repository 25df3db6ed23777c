"""The fuzzers of files run, find nothing in a few inputs, and find what is not checked."""

import runpy
import tracemalloc
from pathlib import Path
from random import Random

import pytest

from confidently.data.cache import reading
from confidently.models import file as model_file

STRUCTURED = Path(__file__).parents[1] / "fuzz" / "structured"
TARGETS = sorted(path.stem for path in STRUCTURED.glob("fuzz_*.py"))


@pytest.fixture
def target(monkeypatch):
    monkeypatch.syspath_prepend(str(STRUCTURED))
    yield lambda name: runpy.run_path(str(STRUCTURED / f"{name}.py"))
    tracemalloc.stop()


def run(module, folder, inputs, seed=0):
    found = module["inputs"](Random(seed), folder)
    for _ in range(inputs):
        module["check"](next(found))


@pytest.mark.parametrize("name", TARGETS)
def test_a_few_inputs(target, tmp_path, name):
    run(target(name), tmp_path, 30)


@pytest.mark.skipif(not TARGETS, reason="source distributions have no fuzzers")
def test_what_is_not_checked_is_found(target, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "check_rows", lambda *arguments: None)
    with pytest.raises(AssertionError):
        run(target("fuzz_caches"), tmp_path, 150)


@pytest.mark.skipif(not TARGETS, reason="source distributions have no fuzzers")
@pytest.mark.parametrize(
    ("name", "module", "function"), [("fuzz_caches", reading, "check_rows"), ("fuzz_models", model_file, "read")]
)
def test_too_much_memory_is_found(target, tmp_path, monkeypatch, name, module, function):
    reads = getattr(module, function)

    def reads_with_much_memory(*arguments):
        bytes(3 << 20)
        return reads(*arguments)

    monkeypatch.setattr(module, function, reads_with_much_memory)
    with pytest.raises(AssertionError, match=r"^reading .* bytes took"):
        run(target(name), tmp_path, 20)
