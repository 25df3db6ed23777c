"""Draw the pictures of some pages of the docs anew: run the pages' code in this folder."""

import os
import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
FOLDER = Path(__file__).parent
PAGES = ("plots.md", "active-learning.md")

if __name__ == "__main__":
    os.chdir(FOLDER)
    for name in PAGES:
        matplotlib.rcdefaults()  # one page's settings are not the next one's
        page = FOLDER.parent / name
        code = "\n".join(
            re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        )
        exec(compile(code, page, "exec"), {"__name__": "__main__"})
