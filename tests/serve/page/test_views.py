"""Overview, figures, explanations, documentation, tokens."""

import re
from contextlib import contextmanager

import pytest

from confidently.serve.http.tokens import new_token
from tests.serve.page.acts import offer, shown_id, teach
from tests.serve.page.browser import AWAY
from tests.serve.running import running, wait_until


def test_the_overview_follows_the_server(server, client, visit):
    teach(server, "watched", n=10)
    page = visit().open()
    card = page.locator(".card", has=page.get_by_role("link", name="watched", exact=True))
    assert "10 rows learned" in card.inner_text()
    card.locator(".spark path").first.wait_for(state="attached")
    body = {"features": {"text": "lunch"}, "label": "ham"}
    client.post("/v1/models/watched/learn?wait=learned", json=body).raise_for_status()
    card.get_by_text("11 rows learned").wait_for()
    card.get_by_role("link", name="watched", exact=True).click()
    page.get_by_role("heading", name="watched").wait_for()
    page.locator(".chart .line.first").first.wait_for(state="attached")
    assert page.title() == "watched – confidently"
    error = client.get("/v1/models/watched/metrics").json()["error"]
    assert f"{100 * error:.1f} %" in page.locator(".tile").first.inner_text()


def test_a_model_is_deleted_after_a_question(server, client, visit):
    teach(server, "doomed", n=2)
    page = visit().open("/#/m/doomed")
    page.get_by_role("button", name="Delete the model").click()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Delete the model").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/#/")
    assert client.get("/v1/models/doomed").status_code == 404


@pytest.mark.parametrize("auto", [False, True])
def test_an_explanation_shows_what_the_server_says(server, client, visit, auto):
    name = f"why-{'auto' if auto else 'one'}"
    teach(server, name, **({"auto": True} if auto else {}))
    offer(server, name, {"row-9": {"text": "prize lunch", "links": 1}})
    page = visit().open(f"/#/m/{name}/explain")
    page.get_by_label("Id of a stored row").fill("row-9")
    page.get_by_role("button", name="Look up").click()
    page.wait_for_function("() => document.querySelector('#features').value.includes('prize lunch')")
    body = {"features": {"text": "prize lunch", "links": 1}}
    found = client.post(f"/v1/models/{name}/explain", json=body).json()
    features = page.get_by_role("table", name="What each feature adds to the margin")
    features.get_by_role("rowheader", name="text:prize", exact=True).wait_for()
    names = features.get_by_role("rowheader").all_inner_texts()
    assert names == [str(one["feature"]) for one in found["contributions"]]
    assert f"Predicted: {found['predicted']}" in page.inner_text("main")
    learners = page.get_by_role("table", name="What each learner adds").get_by_role("rowheader").all_inner_texts()
    assert learners == [one["name"] for one in found["members"]] and bool(learners) == auto


def test_an_explanation_of_nonsense_says_so(server, visit):
    teach(server, "sense", n=2)
    page = visit(expected=("422",)).open("/#/m/sense/explain")
    page.get_by_label("Row, a JSON object").fill("{")
    page.get_by_role("button", name="Explain").click()
    page.get_by_text("The row is not JSON").wait_for()
    page.get_by_label("Row, a JSON object").fill("[1]")
    page.get_by_role("button", name="Explain").click()
    page.wait_for_function("() => /^(?!.*not JSON).+/.test(document.querySelector('form ~ .error').textContent)")


def test_the_documentation_has_every_address_and_examples_that_work(client, visit):
    page = visit().open("/docs")
    page.wait_for_selector(".operation")
    paths = client.get("/openapi.json").json()["paths"]
    expected = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    headings = page.locator(".operation h3").all_inner_texts()
    assert {" ".join(text.split()) for text in headings} == expected
    client.put("/v1/models/spam", json={}).raise_for_status()
    for operation, status in (("predict", 200), ("learn", 200), ("explain", 200), ("post_answer", 409)):
        example = page.locator(f"article[aria-labelledby={operation}] pre").inner_text()
        address, body = re.fullmatch(r"curl (\S+) \\\s+-d '(.*)'", example).groups()
        params = {"wait": "learned"} if operation == "learn" else {}  # there is nothing to explain before
        assert client.post(address, content=body, params=params).status_code in (200, status), example


def bearer(token):
    return {"authorization": f"Bearer {token}"}


@contextmanager
def guarded(tmp_path):
    """A server with a token for everything and one for labelling."""
    scopes = {"all": "admin,label,learn,predict", "ann": "label,predict"}
    tokens = {name: new_token(name, one) for name, one in scopes.items()}
    file = tmp_path / "tokens"
    file.write_text("".join(f"{line}\n" for _, line in tokens.values()))
    with running(tmp_path / "served", "--token-file", file) as server:
        yield server, {name: token for name, (token, _) in tokens.items()}


def test_a_token_opens_the_page_and_answers_carry_the_csrf_token(tmp_path, visit):
    with guarded(tmp_path) as (server, tokens), server.client(headers=bearer(tokens["all"])) as client:
        client.put("/v1/models/locked", json={"classes": ["ham", "spam"]}).raise_for_status()
        client.post("/v1/models/locked/predict", json={"id": "row-1", "features": {"n": 1}}).raise_for_status()
        page = visit(server.url, expected=("401", *AWAY)).open("/#/m/locked/label")
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("Sign-in failed").wait_for()
        page.get_by_label("Token").fill(tokens["ann"])
        page.get_by_role("button", name="Sign in").click()
        assert shown_id(page) == "row-1"
        page.keyboard.press("x")
        wait_until(lambda: client.get("/v1/models/locked").json()["rows"] == 1)
        page.goto(f"{server.url}/#/m/locked")
        page.get_by_role("heading", name="About the model").wait_for()
        assert page.get_by_role("button", name="Delete the model").count() == 0
        assert tokens["ann"] not in page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
