"""The bytes of a model do not depend on how rows are cut into files, pieces, checkpoints, calls and threads.

A failing seed is one case: ``python -m tests.cuts SEED`` trains it again and prints it.
"""

import pytest

from confidently import _core
from tests.cuts import Case, same
from tests.simd_paths import printed

FEW, MANY = 200, 4000
OF_PATHS = """
import hashlib, tempfile, warnings
from pathlib import Path
from tests.cuts import Case
warnings.simplefilter("ignore")
for seed in range({first}, {last}):
    with tempfile.TemporaryDirectory() as folder:
        found = Case(seed).both(Path(folder))
        print(seed, found and [hashlib.sha256(part).hexdigest() for part in found])
"""


@pytest.mark.parametrize("seed", [
    *range(FEW), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(FEW, MANY)),
])  # fmt: skip
def test_bytes_do_not_depend_on_cuts(seed):
    assert same(seed) is not False, Case(seed)


def test_most_cases_train():
    """Options of a case that fit no learner are no case."""
    assert sum(same(seed) is None for seed in range(40)) < 4


@pytest.mark.parametrize("first", [0, *(pytest.param(first, marks=pytest.mark.long) for first in range(12, 400, 12))])
def test_bytes_do_not_depend_on_the_path_of_the_processor(first):
    code = OF_PATHS.format(first=first, last=first + 12)
    every = {path: printed(path, code) for path in _core.build()["paths"]}
    assert len(set(every.values())) == 1, every
