"""Draw the pictures of some pages: run the code of the pages."""

import os
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib
from cycler import cycler
from front import FOLDER, LOOKS

PAGES = ("gallery.md", "active-learning.md", "uncertainty.md", "streams-that-move.md")
BOTH = ("prediction-sets.md",)  # whose pictures are drawn for light and for dark pages


def run(name: str) -> None:
    """Run the Python blocks of a page."""
    page = FOLDER.parent / name
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
    exec(compile(code, page, "exec"), {"__name__": "__main__"})


def settings(look: dict) -> dict:
    """Return matplotlib's settings for pages of a look."""
    paper, ink = (
        ("figure.facecolor", "axes.facecolor"),
        ("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"),
    )
    lines = ("axes.edgecolor", "xtick.color", "ytick.color", "grid.color")
    colors = dict.fromkeys(paper, look["paper"]) | dict.fromkeys(ink, look["ink"]) | dict.fromkeys(lines, look["faint"])
    return colors | {"axes.prop_cycle": cycler(color=[look["ends"][0]]), "savefig.dpi": 110}


if __name__ == "__main__":
    with TemporaryDirectory() as work:  # some pages write data too
        os.chdir(work)
        for name in PAGES:
            matplotlib.rcdefaults()  # settings of one page must not affect the next
            run(name)
        for picture in Path(work).glob("*.png"):
            shutil.move(picture, FOLDER / picture.name)
        for name in BOTH:
            for kind, look in LOOKS.items():
                matplotlib.rcdefaults()
                matplotlib.rcParams.update(settings(look))
                run(name)
                for picture in Path(work).glob("*.png"):
                    shutil.move(picture, FOLDER / f"{picture.stem}-{kind}.png")
        os.chdir(FOLDER)
