"""Where the package compares names that only one folder of it knows."""

import ast
from pathlib import Path

import confidently

PACKAGE = Path(confidently.__file__).parent


def constants(side):
    """Return a constant, or those of a literal tuple, list or set."""
    parts = side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]
    return {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}


def compared_names(folder, names):
    """Yield every comparison with one of some names outside a folder, as ``path:line``."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.is_relative_to(PACKAGE / folder):
            continue
        text = path.read_text(encoding="utf-8")
        if not any(f'"{name}"' in text for name in names):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
            elif isinstance(node, ast.MatchValue):
                sides = [node.value]
            else:
                continue
            if any(constants(side) & names for side in sides):
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}"
