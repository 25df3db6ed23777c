"""Write the table of formats in data-formats.md from the table in the package: python docs/formats.py."""

import re
from pathlib import Path

from confidently.data.formats.table import TABLE

PAGE = Path(__file__).with_name("data-formats.md")
REFRESH = "python docs/formats.py"
HEAD = "| format | name | suffixes | row | features |\n|---|---|---|---|---|\n"
CACHE = "| [cache](cache-file.md) | | any | binary | as in the source |\n"
OLD = re.compile(r"^\| format \|(?:.*\n\|)*.*\n", re.MULTILINE)


def table() -> str:
    """Return the table of formats."""
    return HEAD + "".join(map(_row, TABLE)) + CACHE


def page() -> str:
    """Return the whole page with the current table."""
    text, count = OLD.subn(lambda _: table(), PAGE.read_text(encoding="utf-8"))
    assert count == 1, "data-formats.md has one table of formats"
    return text


def _row(format) -> str:
    title = format.title if format.page is None else f"[{format.title}]({format.page})"
    cells = (title, _code(format.name), ", ".join(map(_code, format.suffixes)), _piped(format.syntax), format.features)
    return f"| {' | '.join(cells)} |\n"


def _code(text: str) -> str:
    return f"`{text}`"


def _piped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
