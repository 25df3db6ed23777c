"""Draw the pictures of some pages: run the code of the pages, and of recipes their commands too."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib
from cycler import cycler
from front import FOLDER, LOOKS

from confidently.cli import run as run_command

PAGES = ("gallery.md", "active-learning.md", "uncertainty.md", "streams-that-move.md")
RECIPES = tuple(sorted(f"recipes/{page.name}" for page in (FOLDER.parent / "recipes").glob("*.md")))
BOTH = ("prediction-sets.md", *RECIPES)  # whose pictures are drawn for light and for dark pages
BLOCK = re.compile(r"(?<!-->\n)^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)", re.MULTILINE)


def run(name: str) -> None:
    """Run the Python blocks of a page, and of a recipe the commands between them."""
    page, names = FOLDER.parent / name, {"__name__": "__main__"}
    for language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            exec(compile(code, page, "exec"), names)
        elif name in RECIPES:
            for command in COMMAND.findall(code):
                run_in_shell(command.replace("\\\n", " "))


def run_in_shell(command: str) -> None:
    """Run a command; one that draws in this process, in its colors."""
    if " --plot " in command:
        run_command(shlex.split(command)[1:])
    else:
        subprocess.run(["bash", "-c", command], check=True, stdout=subprocess.DEVNULL)


def settings(look: dict) -> dict:
    """Return matplotlib's settings for pages of a look."""
    paper, ink = (
        ("figure.facecolor", "axes.facecolor"),
        ("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"),
    )
    lines = ("axes.edgecolor", "xtick.color", "ytick.color", "grid.color")
    colors = dict.fromkeys(paper, look["paper"]) | dict.fromkeys(ink, look["ink"]) | dict.fromkeys(lines, look["faint"])
    cycle = cycler(color=[*look["ends"], "#c58a1a", "#3f9a6b"])
    return colors | {"axes.prop_cycle": cycle, "savefig.dpi": 110, "svg.hashsalt": "recipe"}


def collect(work: str, ending: str = "") -> None:
    """Move the pictures in a folder to the others."""
    for picture in (path for path in Path(work).iterdir() if path.suffix in (".png", ".svg", ".webp")):
        shutil.move(picture, FOLDER / f"{picture.stem}{ending}{picture.suffix}")


def main(names: list[str]) -> None:
    """Draw the pictures of these pages, by default of all."""
    os.environ |= {"MPLBACKEND": "agg", "SOURCE_DATE_EPOCH": "0"}  # the same file each time
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with TemporaryDirectory() as work:  # some pages write data too
        os.chdir(work)
        for name in (page for page in PAGES if page in names or not names):
            matplotlib.rcdefaults()  # settings of one page must not affect the next
            run(name)
            collect(work)
        for name in (page for page in BOTH if page in names or not names):
            for kind, look in LOOKS.items():
                matplotlib.rcdefaults()
                matplotlib.rcParams.update(settings(look))
                run(name)
                collect(work, f"-{kind}")
        os.chdir(FOLDER)


if __name__ == "__main__":
    main(sys.argv[1:])
