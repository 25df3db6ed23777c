"""Draw the pictures of some pages: run the code of the pages."""

import os
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib

matplotlib.use("Agg")
FOLDER = Path(__file__).parent
PAGES = ("gallery.md", "active-learning.md", "uncertainty.md", "streams-that-move.md")

if __name__ == "__main__":
    with TemporaryDirectory() as work:  # some pages write data too
        os.chdir(work)
        for name in PAGES:
            matplotlib.rcdefaults()  # settings of one page must not affect the next
            page = FOLDER.parent / name
            code = "\n".join(
                re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
            )
            exec(compile(code, page, "exec"), {"__name__": "__main__"})
        for picture in Path(work).glob("*.png"):
            shutil.copy(picture, FOLDER)
        os.chdir(FOLDER)
