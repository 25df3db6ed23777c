"""The import law of the package: imports only go down, and no two modules import each other.

Every import counts: those inside functions, which save start-up time, and those for type checkers, too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeGuard

import pytest

import confidently

PACKAGE = Path(confidently.__file__).parent
LAYERS = (  # from the highest; a layer imports those below it, and folders of one layer do not import each other
    ("__main__",),
    ("cli",),
    ("serve",),
    ("mlflow", "plots"),
    ("__init__", "active", "river", "theory"),  # thin modules: the public names, and the modules that define them
    ("distributed", "loading", "spark"),
    ("rounds",),
    ("bandits", "entities", "evaluation"),
    ("estimators",),
    ("topics",),
    ("models",),
    ("stack",),
    ("learner",),
    ("data", "covariances", "views"),
    ("tasks", "encoders"),
    ("rules", "samples", "arrays", "exclusive", "extras", "lazy", "memory", "printable", "spreadsheets", "wording"),
    ("similar",),
    ("_core",),
)
LIGHT = ("rules", "tasks", "covariances", "learner")  # import neither scikit-learn nor SciPy until they need them
HEAVY = ("package sklearn", "package scipy")
PRINTS = ("cli/", "distributed/fitting.py")  # fit(progress=True) is told to write to standard error
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Import(NamedTuple):
    """One import; ``top`` is whether it runs when the importing module is imported."""

    path: str
    line: int
    module: str
    imported: str
    top: bool

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.module} imports {self.imported}"


@cache
def modules() -> dict[str, Path]:
    """Every module of the package, by its dotted name without the package's; those of folders end in ``__init__``."""
    found = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}
    return found | {"_core": PACKAGE / "_core.pyi"}


def module_of(name: str) -> str | None:
    """The module of the package that a full dotted name stands for, if it is one."""
    if name != "confidently" and not name.startswith("confidently."):
        return None
    short = name.removeprefix("confidently").removeprefix(".")
    package = f"{short}.__init__" if short else "__init__"
    return short if short in modules() else package if package in modules() else None


@cache
def imports_of(module: str) -> list[Import]:
    """The imports of a module: of the package's own modules by their short names, of others as they are written."""
    return list(_imports_of(module))


def _imports_of(module: str) -> Iterator[Import]:
    path = modules()[module]
    tree = ast.parse(path.read_text())
    lazy = {inner for node in ast.walk(tree) if isinstance(node, FUNCTIONS) for inner in ast.walk(node)}
    checking = [node for node in ast.walk(tree) if is_type_checking(node)]
    lazy |= {inner for node in checking for statement in node.body for inner in ast.walk(statement)}
    stub = ast.parse(path.with_suffix(".pyi").read_text()) if path.with_suffix(".pyi").exists() else ast.Module([], [])
    lazy |= {*ast.walk(stub)}  # names that are imported when they are used
    for node in (*ast.walk(tree), *ast.walk(stub)):
        names: Iterable[str] = ()
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = dict.fromkeys(imported_from(node, module))
        for name in names:
            short = module_of(name) or f"package {name}"
            yield Import(str(path.relative_to(PACKAGE.parent)), node.lineno, module, short, node not in lazy)


def is_type_checking(node: ast.AST) -> TypeGuard[ast.If]:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imported_from(node: ast.ImportFrom, module: str) -> Iterator[str]:
    """Full names of the modules that ``from ... import ...`` imports from or, where it names modules, imports."""
    base = node.module or ""
    if node.level:
        package = ["confidently", *module.split(".")[:-1]]
        base = ".".join([*package[: len(package) + 1 - node.level], *([base] if base else [])])
    for alias in node.names:
        full = f"{base}.{alias.name}"
        yield full if module_of(full) else base


@cache
def own_imports() -> list[Import]:
    """The imports of one module of the package by another."""
    found = [one for module in modules() if module != "_core" for one in imports_of(module)]
    return [one for one in found if one.imported in modules()]


def folder(module: str) -> str:
    """The folder at the root of the package, or the module itself where it lies there."""
    return module.partition(".")[0]


def rank(module: str) -> int:
    """The number of a module's layer, from the highest."""
    for k, layer in enumerate(LAYERS):
        if folder(module) in layer:
            return k
    raise AssertionError(f"{module} is in no layer: add its folder to LAYERS")


def imports_up() -> list[Import]:
    """Imports of another folder that is not of a lower layer."""
    own = [one for one in own_imports() if folder(one.module) != folder(one.imported)]
    return [one for one in own if rank(one.module) >= rank(one.imported)]


def imports_in_cycles(imports: Sequence[Import]) -> list[Import]:
    """Those of the imports from which a chain of others leads back to the importing module."""
    edges: dict[str, set[str]] = {module: set() for module in modules()}
    for one in imports:
        edges[one.module].add(one.imported)

    @cache
    def reached(module: str) -> frozenset[str]:
        found, waiting = set[str](), [module]
        while waiting:
            new = edges[waiting.pop()] - found
            found |= new
            waiting += new
        return frozenset(found)

    return [one for one in imports if one.module in reached(one.imported)]


def test_imports_only_go_down() -> None:
    wrong = [f"{one}: layer {folder(one.module)} may not import layer {folder(one.imported)}" for one in imports_up()]
    assert not wrong, "\n".join(["imports that do not go down:", *wrong])


def test_every_imported_module_exists() -> None:
    """Imports inside functions, too, which fail only when the function runs."""
    every = [one for module in modules() if module != "_core" for one in imports_of(module)]
    missing = [str(one) for one in every if one.imported.startswith("package confidently")]
    assert not missing, "\n".join(["imports of modules that do not exist:", *missing])


def test_no_modules_import_each_other() -> None:
    """No cycle, not even one that an import inside a function would hide."""
    wrong = imports_in_cycles(own_imports())
    assert not wrong, "\n".join(["imports that form cycles:", *map(str, wrong)])


def test_every_folder_has_its_layer() -> None:
    assert {folder(module) for module in modules()} >= {name for layer in LAYERS for name in layer} - {"serve", "views"}
    for module in modules():
        rank(module)


@pytest.mark.parametrize("layer", LIGHT)
def test_the_lowest_layers_need_numpy_only(layer: str) -> None:
    wrong = [
        str(one)
        for module in modules()
        if folder(module) == layer
        for one in imports_of(module)
        if one.top and one.imported.startswith(HEAVY)
    ]
    assert not wrong, "\n".join(wrong)


def test_only_the_command_line_prints() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE.parent)}:{node.lineno}: only the command line prints"
        for path in PACKAGE.rglob("*.py")
        if not str(path.relative_to(PACKAGE)).startswith(PRINTS) and "print(" in path.read_text()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not wrong, "\n".join(wrong)
