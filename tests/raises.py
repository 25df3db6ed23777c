"""Which ``raise`` statements of the package no test reaches; ``make raises`` runs this around the tests.

``python tests/raises.py install FOLDER`` copies the package to an environment, with a mark before every ``raise``: an
empty file that the statement creates. So what is reached in processes that tests start counts too, however these end.
``python tests/raises.py report FOLDER`` lists the statements without a mark, and exits with 1 if there are any.

A plain ``raise NotImplementedError`` does not count: it stands for what a derived class supplies.
"""

from __future__ import annotations

import ast
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import confidently
from confidently import _core

SOURCE = Path(confidently.__file__).parent
MARKS = ".raises"  # beside the copy


def raises(text: str) -> Iterator[ast.Raise]:
    """Yield the ``raise`` statements of a module that count."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Raise) and (node.exc is None or ast.unparse(node.exc) != "NotImplementedError"):
            yield node


def mark(folder: Path, module: str, statement: ast.Raise) -> Path:
    """Return the file that a statement of a module (``data/batch.py``) creates when it is reached."""
    return folder / MARKS / f"{module.replace('/', '.')}-{statement.lineno}"


def marked(text: str, module: str, folder: Path) -> str:
    """Return the text of a module with a mark before every ``raise``, on the same line."""
    lines = text.splitlines(keepends=True)
    for statement in raises(text):
        line = lines[statement.lineno - 1].encode()
        before, after = line[: statement.col_offset].decode(), line[statement.col_offset :].decode()
        lines[statement.lineno - 1] = f"{before}open({str(mark(folder, module, statement))!r}, 'a').close(); {after}"
    return "".join(lines)


def modules() -> list[str]:
    return sorted(str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py"))


def install(folder: Path) -> None:
    """Copy the package to the folder of packages of another environment, which gets those of this one too."""
    (folder / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    shutil.rmtree(folder / MARKS, ignore_errors=True)
    (folder / MARKS).mkdir(parents=True)
    package = folder / SOURCE.name
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(_core.__file__, package)
    for module in modules():
        path = package / module
        path.write_text(marked(path.read_text(), module, folder))


def report(folder: Path) -> int:
    """Print the statements that were not reached, and return their number."""
    found = 0
    for module in modules():
        text = (SOURCE / module).read_text()
        for statement in raises(text):
            if not mark(folder, module, statement).exists():
                print(f"{SOURCE / module}:{statement.lineno}: {text.splitlines()[statement.lineno - 1].strip()}")
                found += 1
    print(f"{found} raise statements are reached by no test")
    return found


if __name__ == "__main__":
    command, target = sys.argv[1:]
    sys.exit({"install": install, "report": lambda folder: report(folder) > 0}[command](Path(target).resolve()))
