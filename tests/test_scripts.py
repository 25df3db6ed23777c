"""Scripts beside the package import names that exist, and workflows pin their actions: a fault in either shows late."""

import ast
import importlib
import re
from pathlib import Path

import pytest

from tests import raises

ROOT = Path(__file__).parents[1]
SCRIPTS = [*ROOT.glob("benchmarks/*.py"), *ROOT.glob("docs/*.py"), *ROOT.glob("docs/*/*.py")]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: str(script.relative_to(ROOT)))
def test_what_a_script_imports_from_the_project_exists(script):
    if script.name == "on_spark.py":
        pytest.importorskip("pyspark", reason="pyspark is not installed")
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or (node.module or "").split(".")[0] not in (
            "confidently",
            "papers",
            "tests",
        ):
            continue
        module = importlib.import_module(node.module)
        for name in (alias.name for alias in node.names):
            if not hasattr(module, name):
                importlib.import_module(f"{node.module}.{name}")


def test_raise_statements_that_are_reached_leave_a_mark(tmp_path):
    text = "def refuse(x):\n    if x:\n        raise ValueError(x)\n    raise TypeError\n\nraise NotImplementedError\n"
    found = {statement.lineno: raises.mark(tmp_path, "a/b.py", statement) for statement in raises.raises(text)}
    assert sorted(found) == [3, 4]
    (tmp_path / raises.MARKS).mkdir()
    module = {}
    with pytest.raises(NotImplementedError):
        exec(raises.marked(text, "a/b.py", tmp_path), module)
    with pytest.raises(ValueError, match=r"^1$") as error:
        module["refuse"](1)
    assert error.traceback[-1].lineno == 2  # counted from 0: the statement stays in its line
    assert found[3].exists() and not found[4].exists()


def test_continuous_integration_pins_actions_by_commit():
    uses = [
        line.split("uses:")[1].strip()
        for workflow in ROOT.glob(".github/workflows/*.yml")
        for line in workflow.read_text(encoding="utf-8").splitlines()
        if "uses:" in line
    ]
    assert uses
    assert [action for action in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", action)] == []
