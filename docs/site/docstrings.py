"""Which of the members that estimators inherit the reference leaves out: those that scikit-learn documents itself."""

from typing import Any

from sphinx.application import Sphinx


def is_skipped(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    if name.startswith("set_") and name.endswith("_request"):
        return True
    module = getattr(member, "__module__", None) or ""
    return True if module.startswith("sklearn.") else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-skip-member", is_skipped)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
