"""Formulas for Sphinx: pages contain their TeX, which static/formulas.js renders with the KaTeX (0.19.1) beside it."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(f'<span class="formula">{writer.encode(node.astext())}</span>')
    raise nodes.SkipNode


def displayed(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="formula">{writer.encode(node.astext())}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("formulas", inline_renderers=(inline, None), block_renderers=(displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
