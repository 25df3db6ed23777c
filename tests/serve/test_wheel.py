"""What is installed: the wheel has every file of the page."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import confidently

pytest.importorskip("scikit_build_core", reason="needs scikit-build-core")
ROOT = Path(__file__).parents[2]
PAGE = Path(confidently.__file__).parent / "serve" / "page"


def test_a_wheel_has_the_page(tmp_path):
    """Without its compiled part, which takes minutes and is no matter here."""
    options = ["--quiet", "--no-deps", "--no-build-isolation", "-C", "wheel.cmake=false"]
    command = [sys.executable, "-m", "pip", "wheel", str(ROOT), *options, "-w", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        found = {name: archive.read(name) for name in archive.namelist() if "/serve/page/" in name}
    expected = {
        f"confidently/serve/page/{path.relative_to(PAGE).as_posix()}": path.read_bytes()
        for path in PAGE.rglob("*")
        if path.is_file()
    }
    assert found == expected
    assert len(found) > 20
