"""Hypothesis without chance and without clocks, the same examples everywhere; common fixtures."""

import gc
import signal
from itertools import compress
from zlib import crc32

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from confidently.cli import run
from tests.combinations import mark_long
from tests.command_line import rows
from tests.full_run import room, rooms_changed
from tests.stopping import Stop, stopping_after

settings.register_profile(
    "confidently",
    max_examples=50,
    derandomize=True,
    deadline=None,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("confidently")

gc.disable()  # until the thousands of tests are collected

# Under nohup or in the background of a script, signals are ignored, and so they are by the commands that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser):
    parser.addoption("--part", default="1/1", help="run one part of the tests, such as 2/3, the second of three")
    parser.addoption("--changed", action="store_true", help="with a part: run those of changed rooms too")


@pytest.hookimpl(tryfirst=True)  # before the choice of pytest -m
def pytest_collection_modifyitems(config, items):
    mark_long(items)
    if bare := [item.nodeid for item in items for mark in item.iter_markers("long") if not mark.args]:
        raise pytest.UsageError(f"{bare[0]}: say why it is long, @pytest.mark.long('a million rows')")
    part, parts = map(int, config.getoption("--part").split("/"))
    if not 1 <= part <= parts:
        raise pytest.UsageError(f"--part {part}/{parts}: there is no such part")
    changed = rooms_changed() if config.getoption("--changed") else set()
    chosen = [crc32(i.nodeid.encode()) % parts == part - 1 or room(i.nodeid) in changed for i in items]
    config.hook.pytest_deselected(items=[item for item, kept in zip(items, chosen, strict=True) if not kept])
    items[:] = compress(items, chosen)


def pytest_collection_finish():
    gc.freeze()  # or each search for garbage looks at the millions of objects of thousands of tests
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    np.random.seed(0)  # what estimators without a random_state draw from: no test is red by chance


@pytest.fixture
def call(capsys):
    """Run a command in this process: exit code, standard output, standard error."""

    def called(*arguments):
        code = run([str(a) for a in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return called


@pytest.fixture
def table(tmp_path):
    """A table whose label needs the product of two columns of very different sizes."""
    generator = np.random.default_rng(0)
    lines = ["age,town,income,label"]
    for _ in range(1500):
        age, town, income = generator.integers(18, 90), generator.choice(["Rom", "Bonn", "Oslo"]), generator.normal()
        lines.append(f"{age},{town},{1e6 * income:.2f},{'yes' if income * (age - 50) > 0 else 'no'}")
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def ok(call):
    def succeeded(*arguments):
        code, out, err = call(*arguments)
        assert code == 0, err
        return out

    return succeeded


@pytest.fixture
def stopped_after(call):
    """Runs a training that an error ends after so many checkpoints."""

    def run_until(arguments, after):
        with stopping_after(after), pytest.raises(Stop):
            call(*arguments)

    return run_until


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text(rows())
    return path
