"""Draw the pictures of docs/plots.md anew: run the page's code in this folder."""

import os
import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "plots.md"

if __name__ == "__main__":
    os.chdir(FOLDER)
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
    exec(compile(code, PAGE, "exec"), {"__name__": "__main__"})
