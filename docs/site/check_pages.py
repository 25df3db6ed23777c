"""Check the built site in FOLDER: contrast of code, ways on from every page, texts for what is not read, weight."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

CONTRAST = 4.5  # of text that is not large: WCAG 2.2, 1.4.3
RULE = re.compile(r"^(.*?\.highlight[^{]*)\{([^}]*)\}", re.MULTILINE)
COLOR = re.compile(r"(?<![-\w])(color|background|background-color): *(#[0-9a-fA-F]{3,6})")
INVISIBLE = (".w ", ".ws", ".hll", "linenos", ".esc")  # white space, and what no page has
ENDS = {"index.html", "search.html", "404.html"}
WEIGHT = 300_000  # bytes of the front page and what a browser loads with it: its pictures in one color


class Page(HTMLParser):
    """Whether a page has links to others in order and a description, its files, and its pictures without a text."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.linked, self.described, self.wordless = False, False, []
        self.files: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self.linked |= tag == "a" and bool({"next-page", "prev-page"} & set((values.get("class") or "").split()))
        self.described |= values.get("name") == "description" and bool(values.get("content"))
        if tag == "img" and not values.get("alt"):
            self.wordless.append(values.get("src"))
        other = "only-dark" in (values.get("class") or "")
        if (tag in ("img", "script") and not other) or (values.get("rel") or "").endswith(("stylesheet", "icon")):
            self.files.add(urlsplit(values.get("src") or values.get("href") or "").path)


def luminance(color: str) -> float:
    """Return the relative luminance of a color such as #08f or #0088ff."""
    digits = color[1:] if len(color) == 7 else "".join(2 * digit for digit in color[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colors, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def faint(style: str) -> list[str]:
    """Return the kinds of code whose contrast is too small, of a style sheet with one or several themes."""
    found, grounds = [], {}
    for selector, body in RULE.findall(style):
        theme = selector.partition(".highlight")[0].strip()
        colors = dict(COLOR.findall(body))
        ground = colors.get("background") or colors.get("background-color")
        if selector.strip().endswith(".highlight") and ground:
            grounds[theme] = ground
        if "color" in colors and theme in grounds and not any(name in selector + " " for name in INVISIBLE):
            value = contrast(colors["color"], ground or grounds[theme])
            if value < CONTRAST:
                found.append(f"{selector.strip()} {colors['color']} has a contrast of {value:.2f}")
    return found if grounds else ["no background of code was found"]


def main(folder: Path) -> int:
    """Print all problems; return the exit code."""
    problems = faint((folder / "_static" / "pygments.css").read_text(encoding="utf-8"))
    files = sorted(folder.rglob("*.html"))
    for file in files:
        name = file.relative_to(folder).as_posix()
        page = Page(file)
        if name not in ENDS and not page.linked:
            problems.append(f"{name}: no link to the previous or next page")
        if not page.described:
            problems.append(f"{name}: no description")
        problems += [f"{name}: {source} has no text" for source in page.wordless]
    front = sum((folder / file).stat().st_size for file in {"index.html"} | Page(folder / "index.html").files if file)
    if front > WEIGHT:
        problems.append(f"index.html: {front} bytes with what it loads, more than {WEIGHT}")
    print("\n".join(problems) or f"{len(files)} pages, code is readable and pages lead on; the first has {front} bytes")
    return bool(problems) or not files


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
