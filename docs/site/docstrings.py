"""What the reference of the Python interface adds to docstrings, and what it leaves out."""

from dataclasses import fields
from typing import Any

from sphinx.application import Sphinx

from confidently.rules.rule import Rule


def is_skipped(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Members that estimators inherit are documented where they come from, by scikit-learn."""
    if name.startswith("set_") and name.endswith("_request"):
        return True
    module = getattr(member, "__module__", None) or ""
    return True if module.startswith("sklearn.") else None


def with_facts(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """A rule's formula, source and parameters, which its class has as data, below what its docstring says."""
    if not (what == "class" and isinstance(thing, type) and issubclass(thing, Rule) and hasattr(thing, "formula")):
        return
    parameters = [field for field in fields(thing) if "meaning" in field.metadata]
    lines += ["", f"Called ``{thing.name}``. Acts when ``{thing.acts_when}``::", ""]
    lines += [f"    {line}" for line in thing.formula.splitlines()]
    lines += ["", "Parameters", "----------"] if parameters else []
    for field in parameters:
        usual = thing.default_eta if field.name == "eta" else field.default
        default = "optional" if usual is None else f"default={usual}"
        lines += [f"{field.name} : float, {default}", f"    {field.metadata['meaning']}; in {field.metadata['range']}."]
    lines += ["", "References", "----------", thing.source]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-skip-member", is_skipped)
    app.connect("autodoc-process-docstring", with_facts, priority=400)  # before numpydoc reads the sections
    return {"parallel_read_safe": True, "parallel_write_safe": True}
