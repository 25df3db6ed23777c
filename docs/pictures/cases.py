"""Draw the four use cases of the front page from the pictures of their recipes: python docs/pictures/cases.py.

It needs Playwright and Chromium, and the pictures of docs/pictures/draw.py and tickets.py.
"""

import io
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parent
CASES = ("spam-filter", "support-tickets", "drifting-prices", "recommender")
WIDTH, HEIGHT = 440, 210  # twice as wide as they are shown on a page


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for case in CASES:
            [picture] = FOLDER.glob(f"{case}-light.*")
            page = browser.new_page(viewport={"width": 2 * WIDTH, "height": 2 * HEIGHT})
            style = "width: 100%; height: 100%; object-fit: contain; object-position: top"
            page.goto(FOLDER.as_uri() + "/")
            page.set_content(f"<body style='margin: 0'><img style='{style}' src='{picture.as_uri()}'>")
            page.wait_for_timeout(300)
            taken = Image.open(io.BytesIO(page.screenshot()))
            small = taken.convert("RGB").resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
            small.save(FOLDER / f"case-{case}.webp", quality=70, method=6)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
