"""Check that all links within the built site in FOLDER exist and that nothing is loaded from other sites."""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"link", "script", "img", "source", "iframe"}  # what a browser fetches with the page


class Page(HTMLParser):
    """The anchors of a page, its links and files, and its address."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[str, str]] = []
        self.address = ""
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if ("rel", "canonical") in attributes:
            self.address = dict(attributes)["href"] or ""
            return
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append((tag, value))


@cache
def page(file: Path) -> Page:
    """Parse a page."""
    return Page(file)


def problem(root: Path, file: Path, tag: str, target: str) -> str | None:
    """Return what is wrong with a link, or None."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return "is loaded from another site" if tag in LOADED and parts.scheme != "data" else None
    path, folder = unquote(parts.path), file.parent
    if path.startswith("/"):  # on the page of addresses that do not exist, whatever they are
        site = urlsplit(page(file).address).path.removesuffix(file.relative_to(root).as_posix())
        path, folder = path.removeprefix(site), root
    other = (folder / path).resolve() if path else file
    if not other.is_file():
        return "is not a file of the site"
    if parts.fragment and other.suffix == ".html" and unquote(parts.fragment) not in page(other).anchors:
        return "has no such anchor"
    return None


def main(folder: Path) -> int:
    """Print all wrong links; return the exit code."""
    root = folder.resolve()
    files = sorted(root.rglob("*.html"))
    wrong = [
        f"{file.relative_to(root)}: {target} {found}"
        for file in files
        for tag, target in page(file).links
        if (found := problem(root, file, tag, target))
    ]
    print("\n".join(wrong) or f"{len(files)} pages, all links within the site exist")
    return bool(wrong) or not files


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
