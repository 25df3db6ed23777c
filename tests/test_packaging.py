"""What is published: the source distribution, and what the metadata say."""

import re
import subprocess
import sys
import tarfile
import tomllib
from email import message_from_bytes
from pathlib import Path

import pytest

import confidently

pytest.importorskip("scikit_build_core", reason="needs scikit-build-core")
ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TEXTS = {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff"}
BUILD = {"CMakeLists.txt", "pyproject.toml", "tests/installed.py"}


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The files of the source distribution, by their paths."""
    folder = tmp_path_factory.mktemp("sdist")
    code = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, folder], cwd=ROOT, check=True, capture_output=True)
    [archive] = folder.glob("*.tar.gz")
    top = f"confidently-{confidently.__version__}/"
    assert archive.name == top.replace("/", ".tar.gz")
    with tarfile.open(archive) as tar:
        assert all(member.isfile() and member.name.startswith(top) for member in tar)
        return {member.name.removeprefix(top): tar.extractfile(member).read() for member in tar}


@pytest.mark.long("builds the source distribution")
def test_the_source_distribution_has_what_a_build_needs_and_no_more(sdist):
    sources = {
        path.relative_to(ROOT).as_posix()
        for folder in ("core", "src")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert set(sdist) == sources | TEXTS | BUILD | {"PKG-INFO"}
    assert max(map(len, sdist.values())) < 100_000


def test_the_metadata_are_those_of_this_version(sdist):
    found = message_from_bytes(sdist["PKG-INFO"])
    assert found["Version"] == confidently.__version__
    assert (found["License-Expression"], found.get_all("License-File")) == ("BSD-3-Clause", ["LICENSE"])
    assert found.get_payload().strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()


def test_the_changelog_begins_with_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", text, re.MULTILINE)[1] == confidently.__version__


def test_wheels_are_built_for_the_pythons_that_the_metadata_name():
    named = re.findall(r"Python :: 3\.(\d+)", "\n".join(PYPROJECT["project"]["classifiers"]))
    assert PYPROJECT["tool"]["cibuildwheel"]["build"] == [f"cp3{minor}-*" for minor in named]
    assert PYPROJECT["project"]["requires-python"] == f">=3.{named[0]}"
