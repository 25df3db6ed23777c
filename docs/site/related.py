"""What a page of the reference links to: the guides of its section, and what else is in it."""

import re
from pathlib import Path
from typing import NamedTuple

REFERENCE = Path(__file__).parents[1] / "api" / "index.md"
GUIDE = re.compile(r"\[([^\]]+)\]\(\.\./([\w/-]+)\.md")
MODULE, NAME = re.compile(r"\.\. currentmodule:: (\S+)"), re.compile(r"^   ([A-Za-z][\w.]*)$", re.MULTILINE)
NEAREST = 4  # names before and after


class Section(NamedTuple):
    """A section of the reference: pages and their titles, and full names in the order of the section."""

    guides: list[tuple[str, str]]
    names: list[str]


def sections() -> list[Section]:
    """Return the sections of the reference."""
    found = []
    for text in REFERENCE.read_text(encoding="utf-8").split("\n## ")[1:]:
        guides = [(page, title) for title, page in GUIDE.findall(text)]
        module = MODULE.search(text)
        names = [f"{module[1]}.{name}" for name in NAME.findall(text)] if module else []
        found.append(Section(guides, names))
    return found


def links(name: str) -> list[str]:
    """Return lines of reStructuredText with the guides and neighbours of a name of the reference; none for others."""
    for section in sections():
        if name in section.names:
            at = section.names.index(name)
            near = [*section.names[max(at - NEAREST, 0) : at], *section.names[at + 1 : at + 1 + NEAREST]]
            guides = ", ".join(f":doc:`{title} </{page}>`" for page, title in section.guides)
            return ["", ".. seealso::", "", f"   Guide: {guides}.", "", f"   {', '.join(map(_reference, near))}."]
    return []


def _reference(name: str) -> str:
    return f":obj:`~{name}`"
