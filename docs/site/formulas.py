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


def load(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Load KaTeX, which is as large as the rest of a page, with the pages that have formulas."""
    if 'class="formula"' in context.get("body", ""):
        app.add_css_file("katex/katex.min.css")
        app.add_js_file("katex/katex.min.js", defer="defer")
        app.add_js_file("formulas.js", defer="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", load)
    app.add_html_math_renderer("formulas", inline_renderers=(inline, None), block_renderers=(displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
