"""What the reference of the Python interface adds to docstrings and leaves out."""

from dataclasses import fields
from typing import Any

from related import links
from rule_tables import formulas, tex
from sphinx.application import Sphinx

from confidently import RegressionRule, Rule, step


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
    always = thing.acts_when == "always"
    when = "always updates" if always else rf"updates when :math:`{tex(thing.acts_when)}`"
    lines += ["", f"Its name is ``{thing.name}``. It {when}:", ""]
    if "=" in thing.formula:
        lines += [line for part in formulas(thing.formula) for line in (".. math::", "", f"    {part}", "")]
    else:  # which is the result of an integral
        lines += [f"``{thing.formula}``"]
    lines += ["", "Parameters", "----------"] if parameters else []
    for field in parameters:
        value = thing.default_eta if field.name == "eta" else field.default
        default = "optional" if value is None else f"default={value}"
        lines += [f"{field.name} : float, {default}", f"    {field.metadata['meaning']}; in {field.metadata['range']}."]
    lines += ["", "References", "----------", thing.source, *example(thing)]


def example(rule: type[Rule]) -> list[str]:
    """Return a step of a rule as an example, as it is computed here."""
    target = ", target=1.0" if issubclass(rule, RegressionRule) else ""
    call = f"step({rule.__name__}(), margin=-0.5, variance=2.0{target})"
    found = step(rule(), -0.5, 2.0, target=1.0 if target else None)
    shown = None if found is None else tuple(round(number, 4) for number in found)
    imported = f">>> from confidently import {rule.__name__}, step"
    return ["", "Examples", "--------", imported, f">>> {call}  # alpha, zeta, scale", f"{shown}"]


def with_links(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Append the guides and what is related, after all sections."""
    if what in ("class", "function", "exception"):
        lines += links(name)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-skip-member", is_skipped)
    app.connect("autodoc-process-docstring", with_facts, priority=400)  # before numpydoc reads the sections
    app.connect("autodoc-process-docstring", with_links, priority=600)  # after
    return {"parallel_read_safe": True, "parallel_write_safe": True}
