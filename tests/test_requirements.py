"""Packages that are missing, and the bounds of those that are needed."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from confidently.extras import INSTALL

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize(("module", "package", "extra"), [
    ("confidently.river", "river", "river"),
    ("confidently.distributed", "distributed", "dask"),
    ("confidently.spark", "pyspark", "spark"),
    ("confidently.mlflow", "mlflow", "mlflow"),
])  # fmt: skip
def test_a_module_without_its_package_names_the_extra(module, package, extra):
    code = f"import sys; sys.modules[{package!r}] = None; import {module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"ImportError: {module} needs " in done.stderr
    assert f"pip install '.[{extra}]'" in done.stderr.splitlines()[-1]


def test_every_page_and_message_installs_extras_in_the_same_way():
    """From a clone until there is a release, which changes one constant; this test then names the pages."""
    command, place = INSTALL.split("[{extra}]'")[0], INSTALL.partition("'")[2].partition("[")[0]
    files = [
        path for suffix in ("py", "md") for folder in ("src", "docs") for path in (ROOT / folder).rglob(f"*.{suffix}")
    ]
    extras, written = set(PROJECT["optional-dependencies"]), set()
    for path in [*files, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]:
        if path.name == "extras.py":
            continue
        text = path.read_text(encoding="utf-8")
        assert place == "confidently" or "confidently[" not in text, path
        for found in re.finditer(r"""(pip install ["']?[^\s"'\[\]]*)\[(\w+)\]""", text):
            assert found[1] == command or "RUN" in text[found.start() - 4 : found.start()], f"{path}: {found[0]}"
            written.add(found[2])
        for found in re.finditer(r"install\(['\"](\w+)['\"]\)", text):
            assert found[1] in extras, f"{path}: {found[0]}"
    assert extras - {"test"} == written <= extras, "docs/installation.md lists every extra"


def test_bounds_of_developers_are_those_of_users():
    """make test-lowest installs the extra test, so that the bounds of all extras are tried."""
    extras = PROJECT["optional-dependencies"]
    tested = {name(requirement): requirement.replace("[dataframe]", "") for requirement in extras["test"]}
    for extra, requirements in extras.items():
        for requirement in requirements:
            if extra not in ("test", "torch", "spark"):  # of which each is as large as all others together
                assert tested[name(requirement)] == requirement


def test_every_requirement_has_a_lower_bound():
    requirements = PROJECT["dependencies"] + [r for some in PROJECT["optional-dependencies"].values() for r in some]
    for requirement in requirements:
        assert re.fullmatch(r"[\w-]+(\[\w+\])?>=[\d.]+(b\d+)?(; .*)?", requirement), requirement


def name(requirement):
    return re.match(r"[\w-]+", requirement)[0]
