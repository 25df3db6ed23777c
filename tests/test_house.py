"""The picture and the table of the house in docs/design.md show the package as it is."""

import re
import runpy
from pathlib import Path

import confidently

ROOT = Path(__file__).parents[1]
PACKAGE = Path(confidently.__file__).parent
FOLDERS = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


def test_the_picture_is_current():
    script = runpy.run_path(str(ROOT / "docs" / "pictures" / "house.py"))
    drawn = (ROOT / "docs" / "pictures" / "house.svg").read_text(encoding="utf-8")
    assert drawn == script["drawing"](), "the imports have changed: run python docs/pictures/house.py"


def test_the_table_names_every_folder_its_base_file_and_its_tests():
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)/` \| .+ \| `([\w/.]+)` \| `(tests/\w+)` \|$", page, flags=re.M)
    assert {name for name, _, _ in rows} == FOLDERS
    for name, base, tests in rows:
        assert (PACKAGE / name / base).exists(), f"{name}/{base}"
        assert any((ROOT / tests).glob("test_*.py")), tests


def test_the_walks_name_functions_that_exist():
    """In the walks a path is followed by the functions or classes it defines."""
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    walks = page[page.index("## Four walks") : page.index("## A covariance is one object")]
    steps = re.findall(r"^\d\. `([\w/.]+)`(?:: `([\w.]+)`)?", walks, flags=re.M)
    assert len(steps) == 4 * 5
    for path, name in steps:
        file = ROOT / path if path.startswith("core/") else PACKAGE / path
        *_, last = name.split(".")
        defined = rf"\b{last}\(" if path.startswith("core/") else rf"\b(def|class) {last}\b"
        assert not name or re.search(defined, file.read_text(encoding="utf-8")), f"{path} does not define {name}"
