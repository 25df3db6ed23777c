"""What the reference of the Python interface adds to docstrings and leaves out."""

from dataclasses import fields
from typing import Any

from sphinx.application import Sphinx

from confidently.rules.rule import Rule


def is_skipped(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Skip members that estimators inherit from scikit-learn, which documents them."""
    if name.startswith("set_") and name.endswith("_request"):
        return True
    module = getattr(member, "__module__", None) or ""
    return True if module.startswith("sklearn.") else None


def with_facts(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Append a rule's formula, parameters and source, which its class has as data, to its docstring."""
    if not (what == "class" and isinstance(thing, type) and issubclass(thing, Rule) and hasattr(thing, "formula")):
        return
    parameters = [field for field in fields(thing) if "meaning" in field.metadata]
    lines += ["", f"Its name is ``{thing.name}``. It updates when ``{thing.acts_when}``::", ""]
    lines += [f"    {line}" for line in thing.formula.splitlines()]
    lines += ["", "Parameters", "----------"] if parameters else []
    for field in parameters:
        value = thing.default_eta if field.name == "eta" else field.default
        default = "optional" if value is None else f"default={value}"
        lines += [f"{field.name} : float, {default}", f"    {field.metadata['meaning']}; in {field.metadata['range']}."]
    lines += ["", "References", "----------", thing.source]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-skip-member", is_skipped)
    app.connect("autodoc-process-docstring", with_facts, priority=400)  # before numpydoc reads the sections
    return {"parallel_read_safe": True, "parallel_write_safe": True}
