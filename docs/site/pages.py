"""What the pages of the site load, and what they say of themselves to search engines."""

import re
from html import escape
from textwrap import shorten
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

LENGTH = 160  # of a description, of which search engines show about as much
NO_HEADER = re.compile(r"<th[^>]*>(<p></p>)?</th>")  # the corner of a table, which heads nothing
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


def free_corners(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Make headers without a text plain cells, as screen readers expect."""
    context["body"] = NO_HEADER.sub("<td></td>", context.get("body", ""))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", describe, priority=400)  # before sphinxext.opengraph, which takes it
    app.connect("html-page-context", lighten)
    app.connect("html-page-context", free_corners)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
