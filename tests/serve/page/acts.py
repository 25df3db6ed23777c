"""What tests of the page do beside it: models, rows, and what became of them."""

import re

from tests.serve.running import NDJSON, as_lines, lines_of

WORDS = {"ham": ["lunch", "report", "meeting"], "spam": ["prize", "winner", "cash"]}


def text_of(label, k):
    return f"{WORDS[label][k % 3]} {WORDS[label][(k // 3) % 3]} number{k}"


def teach(server, name, n=40, **settings):
    """Make a model that has learned messages."""
    with server.client() as client:
        made = client.put(f"/v1/models/{name}", json={"reading": {"text": ["text"]}} | settings)
        assert made.status_code == 201, made.text
        rows = [(("ham", "spam")[k % 2], k) for k in range(n)]
        taught = [{"features": {"text": text_of(label, k), "links": k % 2}, "label": label} for label, k in rows]
        for part in (taught[:1], taught[1 : n // 2], taught[n // 2 :]):  # of a curve with several points
            post_lines(client, f"/v1/models/{name}/learn?wait=learned", part)


def post_lines(client, path, rows):
    """Send rows as NDJSON."""
    body = as_lines(rows)
    answer = client.post(path, content=body, headers=NDJSON)
    assert not [one for one in lines_of(answer) if "detail" in one], answer.text


def offer(server, name, rows):
    """Have rows predicted, so that they wait for labels."""
    with server.client() as client:
        asked = [{"id": id, "features": features} for id, features in rows.items()]
        post_lines(client, f"/v1/models/{name}/predict", asked)


def messages(n, first="row"):
    return {f"{first}-{k}": {"text": text_of(("ham", "spam")[k % 2], 100 + k), "links": k % 2} for k in range(n)}


def labels(server, name):
    """Return the labels of the learned rows that have ids of ours, a list for each."""
    found = {}
    with server.client() as client:
        for row in lines_of(client.get(f"/v1/models/{name}/examples")):
            if not row["id"].startswith("row-") or re.fullmatch(r"row-\d+", row["id"]):
                found.setdefault(row["id"], []).append(row["label"])
    return found


def fits(page, what=""):
    """The page is as wide as its window, and axe finds nothing in it."""
    from axe_playwright_python.sync_playwright import Axe

    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"], what
    found = Axe().run(page).response["violations"]
    assert not found, [(what, one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in found]


def shown_id(page):
    page.locator(".row-card[data-row]").wait_for()
    return page.locator(".row-card").get_attribute("data-row")


def outbox(page):
    return page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('confidently.outbox.')).length")


def of_messages(found):
    return {id: given for id, given in found.items() if id in messages(100)}
