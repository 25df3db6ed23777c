"""Take pictures of the labeling page of docs/recipes/support-tickets.md: python docs/pictures/tickets.py.

It needs Playwright and Chromium. A server runs for as long as the pictures take, with the tickets of the page.
"""

import io
import re
import shutil
import tempfile

import httpx
from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from serve import FOLDER, post_lines, served

TAUGHT, WAITING, ANSWERED = 300, 60, 14
WIDTH, HEIGHT = 1000, 520


def tickets() -> tuple[list[tuple[str, str]], dict[str, float]]:
    """Return the stream of tickets of the page, and its desks."""
    page = (FOLDER.parent / "recipes" / "support-tickets.md").read_text(encoding="utf-8")
    names: dict = {}
    exec(re.search(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1], names)
    return names["stream"], names["desks"]


def teach(client: httpx.Client, stream: list[tuple[str, str]], desks: dict[str, float]) -> None:
    """Make the model, teach it some tickets, and leave others to be labeled."""
    settings = {"classes": list(desks), "reading": {"text": ["text"]}}
    client.put("/v1/models/tickets", json=settings).raise_for_status()
    rows = [{"id": f"ticket-{k}", "features": {"text": text}} for k, (text, _) in enumerate(stream)]
    taught = [row | {"label": desk} for row, (_, desk) in zip(rows, stream, strict=True)]
    post_lines(client, "/v1/models/tickets/learn?wait=learned", taught[:TAUGHT])
    post_lines(client, "/v1/models/tickets/predict", rows[TAUGHT : TAUGHT + WAITING])


def shoot(browser: Browser, address: str, theme: str, desk_of: dict[str, str]) -> None:
    """Answer some tickets as a person would, and take the picture."""
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=theme)
    context.add_init_script("try { localStorage.setItem('confidently.name', 'Ann') } catch {}")
    page = context.new_page()
    page.goto(f"{address}/#/m/tickets/label")
    for _ in range(ANSWERED):
        page.wait_for_selector(".row-card .prose")
        desk = desk_of.get(page.inner_text(".row-card .prose").strip(), "")
        page.get_by_role("button", name=desk).first.click()
        page.wait_for_timeout(150)
    page.wait_for_timeout(1500)
    picture = Image.open(io.BytesIO(page.screenshot()))
    picture.save(FOLDER / f"support-tickets-{theme}.webp", quality=80, method=6)
    context.close()


def main() -> None:
    stream, desks = tickets()
    for theme in ("light", "dark"):
        with tempfile.TemporaryDirectory() as data, served(data) as address, sync_playwright() as playwright:
            with httpx.Client(base_url=address, timeout=60) as client:
                teach(client, stream, desks)
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
            shoot(browser, address, theme, dict(stream))
            browser.close()


if __name__ == "__main__":
    main()
