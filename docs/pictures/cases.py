"""Draw the six use cases of the front page from the pictures of their recipes: python docs/pictures/cases.py.

Curves are drawn without their texts, which would be too small to read, and of the page of the server the question.

It needs Playwright and Chromium, and the pictures of docs/pictures/draw.py and tickets.py.
"""

import io
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parent
CASES = ("spam-filter", "support-tickets", "drifting-prices", "sensors", "recommender", "model-router")
WIDTH, HEIGHT = 440, 210  # twice as wide as they are shown on a page
QUESTION, ABOVE = {"width": 670, "height": 320}, 95  # of the server's page, and what is above it
BARE = """() => {
  const svg = document.querySelector("svg");
  svg.querySelectorAll('[id^="text_"], [id^="legend_"], [id^="xtick_"], [id^="ytick_"]').forEach(part => part.remove());
  const frame = document.querySelector('[id^="axes_"] path').getBBox();
  svg.setAttribute("viewBox", [frame.x - 4, frame.y - 4, frame.width + 8, frame.height + 8].join(" "));
  svg.setAttribute("preserveAspectRatio", "none");
  Object.assign(svg.style, {width: "100vw", height: "100vh"});
  svg.querySelectorAll('[id^="line2d_"] path').forEach(line => { line.style.strokeWidth = 4; });
}"""


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for case in CASES:
            [picture] = FOLDER.glob(f"{case}-light.*")
            page = browser.new_page(viewport={"width": 2 * WIDTH, "height": 2 * HEIGHT})
            page.goto(FOLDER.as_uri() + "/")
            if picture.suffix == ".svg":
                page.set_content(f"<body style='margin: 0'>{picture.read_text(encoding='utf-8').partition('?>')[2]}")
                page.evaluate(BARE)
            else:
                page.set_viewport_size(QUESTION)
                page.set_content(f"<body style='margin: -{ABOVE}px 0 0'><img src='{picture.as_uri()}'>")
            page.wait_for_timeout(300)
            taken = Image.open(io.BytesIO(page.screenshot()))
            small = taken.convert("RGB").resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
            small.save(FOLDER / f"case-{case}.webp", quality=70, method=6)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
