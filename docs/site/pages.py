"""What the pages of the site load, and what they say of themselves to search engines."""

from html import escape
from textwrap import shorten
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

LENGTH = 160  # of a description, of which search engines show about as much
TEXTS = (nodes.document, nodes.section, addnodes.desc_content)


def description(doctree: nodes.document) -> str:
    """Return how a page begins: its first paragraphs, without those of lists and tables."""
    found = (node.astext() for node in doctree.findall(nodes.paragraph) if isinstance(node.parent, TEXTS))
    return shorten(" ".join(found), LENGTH, placeholder=" ...")


def describe(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Give each page a description, the search too."""
    text = escape((doctree and description(doctree)) or f"The documentation of {app.config.html_title}")
    context["metatags"] = context.get("metatags", "") + f'<meta name="description" content="{text}">'
    context["meta"] = (context.get("meta") or {}) | {"og:description": text}


def lighten(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Load the style of notebooks with these only."""
    if not pagename.startswith("notebooks/"):
        context["css_files"][:] = [file for file in context["css_files"] if "mystnb" not in str(file.filename)]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", describe, priority=400)  # before sphinxext.opengraph, which takes it
    app.connect("html-page-context", lighten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
