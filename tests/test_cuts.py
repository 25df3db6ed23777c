"""The bytes of a model do not depend on how rows are cut into files, pieces, checkpoints, calls and threads.

A failing seed is one case: ``python -m tests.cuts SEED`` trains it again and prints it.
"""

import pytest

from confidently import _core
from tests.cuts import Case, same
from tests.simd_paths import printed

FEW, MANY, TOGETHER = 20, 980, 96
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


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(k, marks=pytest.mark.long("more seeds")) for k in range(4, FEW))]
)
def test_bytes_do_not_depend_on_cuts(seed):
    assert same(seed) is not False, Case(seed)


@pytest.mark.long("960 cases")
@pytest.mark.parametrize("first", range(FEW, MANY, TOGETHER))
def test_bytes_of_many_cases_do_not_depend_on_cuts(first):
    different = [str(Case(seed)) for seed in range(first, first + TOGETHER) if same(seed) is False]
    assert not different


@pytest.mark.long("40 cases")
def test_most_cases_train():
    """Options of a case that fit no learner are no case."""
    assert sum(same(seed) is None for seed in range(40)) < 4


@pytest.mark.long("144 cases on each path")
@pytest.mark.parametrize("first", range(0, 144, 36))
def test_bytes_do_not_depend_on_the_path_of_the_processor(first):
    code = OF_PATHS.format(first=first, last=first + 36)
    every = {path: printed(path, code) for path in _core.build()["paths"]}
    assert len(set(every.values())) == 1, every
