"""What type checkers are told is what there is."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from nanobind.stubgen import StubGen

import confidently
import confidently.data
from confidently import _core
from tests import typing_example

SOURCE = Path(__file__).parent.parent / "src" / "confidently"


def statements(stub: str) -> list[str]:
    """A stub's statements but for imports, however it is laid out."""
    return sorted(ast.unparse(s) for s in ast.parse(stub).body if not isinstance(s, ast.Import | ast.ImportFrom))


def test_the_stub_of_the_compiled_module_says_what_the_module_does():
    fresh = StubGen(_core)
    fresh.put(_core)
    kept = (SOURCE / "_core.pyi").read_text()
    assert statements(kept) == statements(fresh.get()), "the bindings have changed: run make stub"


@pytest.mark.parametrize("package", [confidently, confidently.data], ids=lambda package: package.__name__)
def test_names_fetched_lazily_are_declared_to_type_checkers_and_no_others(package):
    tree = ast.parse(Path(package.__file__).read_text())
    (block,) = [s for s in tree.body if isinstance(s, ast.If) and ast.unparse(s.test) == "TYPE_CHECKING"]
    declared = {name.name: s.module for s in block.body if isinstance(s, ast.ImportFrom) for name in s.names}
    assert declared == package.LAZY
    for name, module in declared.items():
        assert getattr(package, name) is getattr(importlib.import_module(f"{package.__name__}.{module}"), name)


def test_a_typed_program_of_a_user_is_checked_and_runs(tmp_path):
    assert (SOURCE / "py.typed").exists()
    root, program = SOURCE.parent.parent, Path(typing_example.__file__)
    settings = ["--config-file", root / "pyproject.toml", "--cache-dir", root / ".mypy_cache"]  # as make lint has them
    found = subprocess.run(
        [sys.executable, "-m", "mypy", *map(str, settings), program], env=os.environ | {"MYPYPATH": str(SOURCE.parent)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout + found.stderr
    typing_example.main(tmp_path)
