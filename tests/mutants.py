"""Faults put into modules, one at a time, and how many of them the tests catch.

``python -m tests.mutants -n 60 src/confidently/tasks/conformal.py core/tasks/counts.hpp`` draws sixty. Each is written
into its module, which is as it was afterwards, and the package is built again if the module is compiled. Tests run
until one fails: first those of the module, ``tests/tasks/test_conformal*.py``; then those of its room, ``tests/tasks``;
and with ``--whole`` all short ones. It prints of each fault whether a test has caught it, and those that none has.
"""

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PYTEST = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "2", "-p", "no:cacheprovider", "--no-header"]
BUILD = ["make", ".venv/installed"]
SECONDS = 1200  # after which a fault that makes loops endless is caught
NONE_RAN = 5  # what pytest returns where there is no test
OTHERS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "is": "is not", "is not": "is", "in": "not in",
    "not in": "in", "+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "**": "*", "%": "*", "and": "or", "or": "and",
    "&&": "||", "||": "&&", "True": "False", "False": "True", "true": "false", "false": "true", "|": "&", "&": "|",
    "std::min": "std::max", "std::max": "std::min",
}  # fmt: skip
BETWEEN = re.compile(r"<=|>=|==|!=|is\s+not|not\s+in|//|\*\*|\b(?:is|in|and|or)\b|[<>+\-*/%|&]")
COMPILED = re.compile(
    r"(?<= )(?:<=|>=|==|!=|&&|\|\||[<>+\-*/%])(?= )|\b(?:true|false|std::min|std::max)\b|(?<![\w.\"])\d+(?:\.\d+)?\b"
)


class Fault(NamedTuple):
    """What takes the place of a part of a module's bytes."""

    path: Path
    begin: int
    end: int
    text: str

    def __str__(self) -> str:
        source = self.path.read_bytes()
        line = source.count(b"\n", 0, self.begin)
        was = source[self.begin : self.end].decode()
        text = source.splitlines()[line].decode().strip()
        return f"{self.path.relative_to(ROOT)}:{line + 1}: {was} -> {self.text or 'nothing'}: {text}"


def faults_of(path: Path) -> Iterator[Fault]:
    """Yield all faults of a module."""
    return _in_python(path) if path.suffix == ".py" else _in_cpp(path)


def _in_cpp(path: Path) -> Iterator[Fault]:
    first = 0
    for line in path.read_text().splitlines(keepends=True):
        code = line.split("//")[0]
        if not code.lstrip().startswith(("#", "template", "require(", '"')):
            for found in COMPILED.finditer(code):
                yield Fault(path, first + found.start(), first + found.end(), _other(found[0]))
        first += len(line.encode())


def _in_python(path: Path) -> Iterator[Fault]:
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def span(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    def between(left: ast.expr, right: ast.expr) -> Iterator[Fault]:
        begin, end = span(left)[1], span(right)[0]
        if found := BETWEEN.search(source[begin:end].decode()):
            yield Fault(path, begin + found.start(), begin + found.end(), _other(" ".join(found[0].split())))

    for node in _executed(ast.parse(source)):
        match node:
            case ast.Compare():
                for left, right in zip([node.left, *node.comparators], node.comparators, strict=False):
                    yield from between(left, right)
            case ast.BinOp():
                yield from between(node.left, node.right)
            case ast.BoolOp():
                yield from between(*node.values[:2])
            case ast.UnaryOp(op=ast.Not()):
                yield Fault(path, span(node)[0], span(node.operand)[0], "")
            case ast.If() | ast.IfExp():
                yield Fault(path, *span(node.test), f"(not ({source[slice(*span(node.test))].decode()}))")
            case ast.Constant(value=bool() | int() | float()):
                yield Fault(path, *span(node), _other(source[slice(*span(node))].decode()))
            case ast.Expr(value=ast.Call()):
                yield Fault(path, *span(node), "pass")


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree, but no annotations and nothing that only type checkers read."""
    yield node
    for name, value in ast.iter_fields(node):
        only_types = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        if name in ("annotation", "returns") or only_types:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _executed(child)


def _other(text: str) -> str:
    """Return what takes the place of an operator, or of a number."""
    return OTHERS.get(text, f"({text} + 1)")


def tests_of(path: Path, whole: bool) -> list[list[str]]:
    """Return the paths of tests that run in turn."""
    parts = path.resolve().relative_to(ROOT).parts
    room = parts[1 + (parts[0] == "src")]  # of modules in its folders, too
    room = "" if room == path.name else room
    folder = ROOT / "tests" / room
    own = sorted(str(test) for test in folder.rglob(f"test_{path.stem}*.py"))
    return [paths for paths in (own, [str(folder)] if room else [], ["tests"] if whole else []) if paths]


def caught_by(fault: Fault, whole: bool) -> str | None:
    """Put a fault into its module, run tests until one fails, and return which; ``None``: all pass."""
    source, compiled = fault.path.read_bytes(), fault.path.suffix != ".py"
    try:
        fault.path.write_bytes(source[: fault.begin] + fault.text.encode() + source[fault.end :])
        if compiled and subprocess.run(BUILD, cwd=ROOT, capture_output=True, check=False).returncode:
            return "the compiler"
        for paths in tests_of(fault.path, whole):
            try:
                done = subprocess.run([*PYTEST, *paths], cwd=ROOT, capture_output=True, timeout=SECONDS, check=False)
            except subprocess.TimeoutExpired:
                return " ".join(paths)
            if done.returncode not in (0, NONE_RAN):
                return " ".join(paths)
        return None
    finally:
        fault.path.write_bytes(source)


def main() -> None:
    """Print which faults the tests catch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="+", type=Path)
    parser.add_argument("-n", type=int, default=60, help="faults, drawn from all modules")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--whole", action="store_true", help="run all short tests where those of the room pass")
    given = parser.parse_args()
    faults = [fault for path in given.modules for fault in faults_of(path.resolve())]
    drawn = Random(given.seed).sample(faults, min(given.n, len(faults)))
    left: list[str] = []
    try:
        for k, fault in enumerate(drawn, 1):
            by, text = caught_by(fault, given.whole), str(fault)
            print(f"{k}/{len(drawn)} {'NOT CAUGHT' if by is None else 'caught'} {text}", flush=True)
            left += [text] if by is None else []
    finally:
        if any(path.suffix != ".py" for path in given.modules):
            subprocess.run(BUILD, cwd=ROOT, capture_output=True, check=True)
    print(f"\n{len(drawn) - len(left)} of {len(drawn)} faults caught, of {len(faults)} there are; not caught:")
    print("\n".join(left) or "none")


if __name__ == "__main__":
    main()
