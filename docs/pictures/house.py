"""Draws house.svg from the package: its folders, layer by layer, and which imports which. python docs/pictures/house.py

A folder's line is the first of its ``__init__``'s docstring. An arrow that follows from others is left out.
"""

import ast
import re
import sys
from html import escape
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.test_import_law import LAYERS, PACKAGE, folder, own_imports  # noqa: E402 (needs the path)

FILE = Path(__file__).with_name("house.svg")
WIDTH, GAP, LEFT = 600, 24, 56
TWO = (WIDTH - 16) // 2  # width of a box that shares its layer
STYLE = """
  .box { fill: #f6f8fa; stroke: #57606a }
  .axis { fill: #ddf4ff; stroke: #0969da }
  .name { font: bold 14px monospace; fill: #1f2328 }
  .line { font: 12px sans-serif; fill: #57606a }
  .arrow { fill: none; stroke: #8c959f; stroke-width: 1.4 }
  @media (prefers-color-scheme: dark) {
    .box { fill: #161b22; stroke: #8b949e } .axis { fill: #0c2d6b; stroke: #58a6ff }
    .name { fill: #e6edf3 } .line { fill: #9da7b1 } .arrow { stroke: #6e7681 }
  }"""
AXES = ("rules", "covariances", "views", "tasks")


def folders() -> dict[str, str]:
    """What each folder is for, by its name."""
    docs = {path.parent.name: ast.get_docstring(ast.parse(path.read_text())) for path in PACKAGE.glob("*/__init__.py")}
    return {name: _plain(doc or "") for name, doc in docs.items()} | {
        "_core": "The compiled core, made of the folders of core/"
    }


def _plain(doc: str) -> str:
    """The first line of a docstring up to a bracket or semicolon, without markup."""
    line = re.sub(r"`([^`<]+) <[^>]*>`_", r"\1", doc.split("\n")[0])
    return re.split(r" \(|;|\.$", line)[0].replace("`", "")


def arrows(known: set[str]) -> set[tuple[str, str]]:
    """Imports of one folder by another, except those that follow from others."""
    direct = {(folder(one.module), folder(one.imported)) for one in own_imports()}
    direct = {(a, b) for a, b in direct if a != b and {a, b} <= known}
    reached = {a: {b for x, b in direct if x == a} for a in known}
    for _ in known:
        reached = {a: found.union(*(reached[b] for b in found)) for a, found in reached.items()}
    return {(a, b) for a, b in direct if not any(b in reached[c] for x, c in direct if x == a and c != b)}


def drawing() -> str:
    """The picture."""
    about = folders()
    rows = [[name for name in layer if name in about] for layer in LAYERS]
    rows = [row for row in rows if row]
    boxes, places, y = [], {}, GAP
    for row in rows:
        w = TWO if len(row) > 1 else WIDTH
        texts = {name: wrap(about[name], w // 6) for name in row}
        height = 30 + 15 * max(map(len, texts.values()))
        for i, name in enumerate(row):
            x = LEFT + i * (w + 16)
            places[name] = x, y, w, height
            kind = "axis" if name in AXES else "box"
            boxes.append(
                f'<rect class="{kind}" x="{x}" y="{y}" width="{w}" height="{height}" rx="6"/>'
                f'<text class="name" x="{x + 12}" y="{y + 19}">{name}</text>'
                + "".join(
                    f'<text class="line" x="{x + 12}" y="{y + 36 + 15 * n}">{escape(line)}</text>'
                    for n, line in enumerate(texts[name])
                )
            )
        y += height + GAP
    lines = [_arrow(places[a], places[b]) for a, b in sorted(arrows(set(places)))]
    size = f"{WIDTH + 2 * LEFT} {y}"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img" '
        'aria-label="The folders of the package, layer by layer; imports only go down">',
        f"<style>{STYLE}\n</style>",
        '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#8c959f"/></marker>',
        *lines, *boxes, "</svg>", "",
    ])  # fmt: skip


def _arrow(above: tuple[int, int, int, int], below: tuple[int, int, int, int]) -> str:
    """From a box to one below it: straight to the next layer, otherwise round the left side."""
    (ax, ay, aw, ah), (bx, by, bw, bh) = above, below
    start, end = ay + ah, by
    if end - start <= GAP:
        x = (max(ax, bx) + min(ax + aw, bx + bw)) // 2
        path = f"M{x} {start}V{end}"
    else:
        path = f"M{ax} {ay + ah // 2}C{LEFT - 40} {start} {LEFT - 40} {end} {bx} {by + bh // 2}"
    return f'<path class="arrow" marker-end="url(#tip)" d="{path}"/>'


if __name__ == "__main__":
    FILE.write_text(drawing(), encoding="utf-8")
