"""Packages that are missing, and the bounds of those that are needed."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize(("module", "package", "extra"), [
    ("confidently.river", "river", "river"),
    ("confidently.distributed", "distributed", "dask"),
])  # fmt: skip
def test_a_module_without_its_package_names_the_extra(module, package, extra):
    code = f"import sys; sys.modules[{package!r}] = None; import {module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"ImportError: {module} needs " in done.stderr
    assert f"pip install 'confidently[{extra}]'" in done.stderr.splitlines()[-1]


def test_bounds_of_developers_are_those_of_users():
    """make test-lowest installs the extra test, so that the bounds of all extras are tried."""
    extras = PROJECT["optional-dependencies"]
    tested = {name(requirement): requirement.replace("[dataframe]", "") for requirement in extras["test"]}
    for extra, requirements in extras.items():
        for requirement in requirements:
            if extra not in ("test", "torch"):  # which is as large as all others together
                assert tested[name(requirement)] == requirement


def test_every_requirement_has_a_lower_bound():
    requirements = PROJECT["dependencies"] + [r for some in PROJECT["optional-dependencies"].values() for r in some]
    for requirement in requirements:
        assert re.fullmatch(r"[\w-]+(\[\w+\])?>=[\d.]+(; .*)?", requirement), requirement


def name(requirement):
    return re.match(r"[\w-]+", requirement)[0]
