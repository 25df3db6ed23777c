"""Public names that are imported when they are used; the stub of their package is the only list of them.

A line ``from .module import Name as Name`` of `__init__.pyi` tells type checkers the name, and this module where it is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import PurePath
from typing import Any

LINE = re.compile(r"^from \.([\w.]+) import (\w+) as \2$", re.MULTILINE)


def stub_names(spec: ModuleSpec) -> dict[str, str]:
    """Return the public names in the stub of a package, and the module of each, without the package's name."""
    loader: Any = spec.loader
    stub = loader.get_data(str(PurePath(spec.origin or "").with_suffix(".pyi")))  # of a file, or inside an archive
    return {name: module for module, name in LINE.findall(stub.decode())}


def lazy_names(spec: ModuleSpec) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package, given its ``__spec__``."""
    package, names = spec.name, stub_names(spec)

    def get_attribute(name: str) -> Any:
        if name in names:
            return getattr(import_module(f"{package}.{names[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def directory() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names})

    return list(names), get_attribute, directory
