"""Whether every link inside the built site in FOLDER leads somewhere, and nothing is loaded from elsewhere."""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"link", "script", "img", "source", "iframe"}  # what a browser fetches without being asked


class Page(HTMLParser):
    """A page's anchors, and each link or file it asks for."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.wanted: list[tuple[str, str]] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.wanted.append((tag, value))


@cache
def page(file: Path) -> Page:
    return Page(file)


def complaint(file: Path, tag: str, target: str) -> str | None:
    """What is wrong with a link, if anything is."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return "is loaded from elsewhere" if tag in LOADED and parts.scheme != "data" else None
    other = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if not other.is_file():
        return "is no file of the site"
    if parts.fragment and other.suffix == ".html" and unquote(parts.fragment) not in page(other).anchors:
        return "has no such anchor"
    return None


def main(folder: Path) -> int:
    files = sorted(folder.resolve().rglob("*.html"))
    wrong = [
        f"{file.relative_to(folder.resolve())}: {target} {said}"
        for file in files
        for tag, target in page(file).wanted
        if (said := complaint(file, tag, target))
    ]
    print("\n".join(wrong) or f"{len(files)} pages, every link inside them leads somewhere")
    return bool(wrong) or not files


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
