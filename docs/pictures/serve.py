"""Take pictures of the server's page, light and dark: python docs/pictures/serve.py [FOLDER [WIDTH]].

It needs Playwright and Chromium. A server runs for as long as the pictures take.
"""

import io
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

FOLDER = Path(__file__).parent
VIEWS = ("overview", "model", "label", "explain")
KEPT = ("model", "label")  # of which the documentation has pictures
ROWS, BATCH, UNLABELED = 3000, 25, 60
PAUSE = 16.0  # seconds, so that charts over time have more than one point, one for each 15 s
SPAM = re.findall(r"\w+", "win prize free money claim offer cash click urgent winner bonus credit account")
HAM = re.findall(r"\w+", "meeting lunch report thanks tomorrow project review schedule notes call draft budget team")
BOTH = re.findall(r"\w+", "please send the new list today about your order details information now time update reply")
SENTENCE = (
    "hello, could you look at the {0} and the {1} before {2}? the {3} is ready, and {4} asked for the {5}. {6} {7}"
)


def message(draw: random.Random) -> tuple[dict[str, object], str]:
    """Return a message that a filter could see, and its label."""
    spam = draw.random() < 0.45
    own, other = (SPAM, HAM) if spam else (HAM, SPAM)
    words = [draw.choice(own if draw.random() < 0.42 else other if draw.random() < 0.25 else BOTH) for _ in range(8)]
    features = {
        "text": SENTENCE.format(*words), "links": draw.choice([0, 1, 2, 4] if spam else [0, 0, 0, 1]),
        "sender": draw.choice(["known", "unknown", "unknown"] if spam else ["known", "known", "unknown"]),
    }  # fmt: skip
    return features, "spam" if spam else "ham"


@contextmanager
def served(folder: str) -> Iterator[str]:
    """Run a server; yield its address."""
    command = [sys.executable, "-m", "confidently", "serve", folder, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None
            yield found[0]
        finally:
            process.send_signal(signal.SIGTERM)


def teach(client: httpx.Client) -> None:
    """Make models, teach them messages, and leave some to be labelled."""
    draw = random.Random(5)
    for name, forget in (("messages", 0.0), ("messages-forgetting", 0.01)):
        settings = {"forget": forget, "reading": {"text": ["text"]}}
        client.put(f"/v1/models/{name}", json=settings).raise_for_status()
    for k in range(ROWS // BATCH):
        if k == ROWS // BATCH // 2:
            time.sleep(PAUSE)
        rows = [message(draw) for _ in range(BATCH)]
        asked = [{"features": features} for features, _ in rows]
        client.post("/v1/models/messages/predict", json={"instances": asked}).raise_for_status()
        for name in ("messages", "messages-forgetting"):
            taught = [{"features": features, "label": label} for features, label in rows]
            post_lines(client, f"/v1/models/{name}/learn?wait=learned", taught)
    unlabeled = [{"id": f"message-{k}", "features": message(draw)[0]} for k in range(UNLABELED)]
    post_lines(client, "/v1/models/messages/predict", unlabeled)


def post_lines(client: httpx.Client, path: str, rows: list[dict[str, object]]) -> None:
    """Send rows as NDJSON."""
    body = "".join(json.dumps(row) + "\n" for row in rows)
    client.post(path, content=body, headers={"content-type": "application/x-ndjson"}).raise_for_status()


def shoot(browser: Browser, address: str, theme: str, width: int, folder: Path, view: str) -> None:
    """Take the picture of a view in one theme."""
    context = browser.new_context(
        viewport={"width": width, "height": 620}, color_scheme="dark" if theme == "dark" else "light"
    )
    context.add_init_script("try { localStorage.setItem('confidently.name', 'Ann') } catch {}")
    page = context.new_page()
    page.set_default_timeout(60_000)
    prepare(page, address, view)
    picture = Image.open(io.BytesIO(page.screenshot(full_page=view != "label")))
    picture.convert("RGB").save(folder / f"serve-{view}-{theme}.webp", lossless=True, method=6)
    context.close()


def prepare(page: Page, address: str, view: str) -> None:
    """Open a view, and wait until it shows something."""
    page.goto("about:blank")
    if view == "overview":
        page.goto(f"{address}/#/")
        page.wait_for_selector(".spark path")
    elif view == "docs":
        page.goto(f"{address}/docs")
        page.wait_for_selector(".operation")
    elif view == "add":
        page.goto(f"{address}/#/add")
        text = 'id,message,links,label\n1,"win a free prize, now",3,spam\n2,see you at lunch tomorrow,0,ham\n'
        page.set_input_files("#file", {"name": "mail.csv", "mimeType": "text/csv", "buffer": text.encode()})
        page.wait_for_selector(".table")
    elif view == "model":
        page.goto(f"{address}/#/m/messages")
        page.get_by_role("heading", name="Predictions asked for, last hour").wait_for()
    elif view == "explain":
        page.goto(f"{address}/#/m/messages/explain")
        page.wait_for_selector(".bar")
    else:
        page.goto(f"{address}/#/m/messages/label")
        for _ in range(12):
            page.wait_for_selector(".row-card .prose")
            text = page.inner_text(".row-card").split()
            page.keyboard.press("x" if sum(w in SPAM for w in text) > sum(w in HAM for w in text) else "a")
        page.wait_for_timeout(1500)


def main(folder: Path = FOLDER, width: int = 1100, views: tuple[str, ...] = KEPT) -> None:
    with tempfile.TemporaryDirectory() as data, served(data) as address, sync_playwright() as playwright:
        with httpx.Client(base_url=address, timeout=60) as client:
            teach(client)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for view in views:
            for theme in ("light", "dark"):
                shoot(browser, address, theme, width, folder, view)
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1280, (*VIEWS, "docs", "add"))
    else:
        main()
