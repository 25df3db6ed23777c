"""What type checkers are told is what there is."""

import ast
import importlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from nanobind.stubgen import StubGen

import confidently
from confidently import _core, bandits
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


@pytest.mark.parametrize("stub", sorted(SOURCE.rglob("__init__.pyi")), ids=lambda stub: stub.parent.name)
def test_what_the_stub_of_a_package_declares_are_its_public_names(stub):
    """Also those that a line of another form would declare, which type checkers would see and Python would not."""
    package = importlib.import_module(".".join(stub.parent.relative_to(SOURCE.parent).parts))
    imports = [s for s in ast.parse(stub.read_text()).body if isinstance(s, ast.ImportFrom)]
    declared = {alias.asname: f"{package.__name__}.{s.module}" for s in imports for alias in s.names}
    assert sorted(declared) == sorted(package.__all__) and {*declared} <= {*dir(package)}
    for name, module in declared.items():
        assert getattr(package, name) is getattr(importlib.import_module(module), name)
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'unknown'"):
        package.unknown  # noqa: B018 (it raises)


def test_every_rule_view_and_policy_is_a_public_name():
    """Those of the tables; a new one needs a line in a stub."""
    of_root = [*confidently.RULES.values(), *confidently.REGRESSION_RULES.values(), *confidently.VIEWS.values()]
    for package, kinds in ((confidently, of_root), (bandits, bandits.POLICIES.values())):
        for kind in kinds:
            assert getattr(package, kind.__name__, None) is kind, (
                f"enter {kind.__name__} in {package.__name__}/__init__.pyi"
            )


def test_the_public_names_of_an_archive_are_found(tmp_path):
    with zipfile.ZipFile(tmp_path / "package.zip", "w") as archive:
        for name in ("__init__.py", "__init__.pyi", "lazy.py"):
            archive.write(SOURCE / name, f"confidently/{name}")
    code = "import sys; sys.path.insert(0, sys.argv[1]); import confidently; print(*confidently.__all__)"
    command = [sys.executable, "-S", "-c", code, tmp_path / "package.zip"]  # -S: without what is installed
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.split() == confidently.__all__


@pytest.mark.long("mypy reads all packages")
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
