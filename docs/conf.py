"""Configuration of Sphinx for the documentation site: make docs."""

import os
import shutil
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from urllib.parse import urlsplit

from confidently import REGRESSION_RULES, RULES, VIEWS

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS / "site"), str(DOCS)]
shutil.copytree(DOCS.parent / "examples", DOCS / "notebooks", dirs_exist_ok=True)  # Sphinx reads below its folder only

project = "confidently"
author = "the confidently developers"
version = release = installed_version("confidently")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "notfound.extension",
    "sphinx_copybutton",
    "sphinx_sitemap",
    "sphinxext.opengraph",
    "formulas",
    "docstrings",
    "pages",
]
exclude_patterns = ["site", "pictures"]
nitpicky = True
nitpick_ignore_regex = [("py:(class|obj)", r"(?!confidently\b).*")]  # types of other packages, and shapes in words

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # the tests execute the notebooks

templates_path = ["site/templates"]
autosummary_generate = True
autosummary_context = {
    "rules": [f"confidently.{rule.__name__}" for rule in (RULES | REGRESSION_RULES).values()],
    "views": [f"confidently.{view.__name__}" for view in VIEWS.values()],
    "river_members": [
        *("learn_one", "predict_one", "predict_proba_one", "margin_distribution_one"),
        *("predict_set_one", "abstain_one", "novelty_one"),
        *("learn_many", "predict_many", "predict_proba_many", "weights", "variances", "members", "save"),
    ],
}
autodoc_typehints = "none"  # docstrings have types, with shapes and ranges
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False  # autodoc lists them
numpydoc_xref_param_type = False
highlight_language = "text"

html_theme = "furo"
html_title = f"confidently {version}"
html_static_path = ["site/static"]
html_favicon = "site/static/favicon.svg"
html_css_files = ["style.css"]
html_js_files = [("scrolling.js", {"defer": "defer"})]
html_use_index = False
html_copy_source = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
html_math_renderer = "formulas"

# Where the site will be, for links that need the whole address: make docs SITE_URL=https://...
# Otherwise it is where python -m http.server -d build/site has it.
site_address = os.environ.get("SITE_URL", "http://localhost:8000")
html_baseurl = ogp_site_url = site_address.rstrip("/") + "/"
sitemap_url_scheme = "{link}"
sitemap_excludes = ["404.html", "search.html"]
notfound_urls_prefix = urlsplit(html_baseurl).path
notfound_context = {
    "title": "Page not found",
    "body": "<h1>Page not found</h1><p>There is no page at this address. See the list of pages, or search them.</p>",
}
ogp_site_name = project
ogp_image = "_static/card.png"
ogp_image_alt = "Wrong predictions along a stream that changes, of a learner that learns on and of one that does not"
ogp_social_cards = {"enable": False}
ogp_custom_meta_tags = ['<meta name="twitter:card" content="summary_large_image">']

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
pygments_style = "default"  # with monokai, 4.5 : 1 of contrast or more: site/check_pages.py
pygments_dark_style = "monokai"
