"""Labelling by keyboard, by several people, while the server goes and comes back."""

import re

import pytest

from tests.serve.page.acts import labels, messages, of_messages, offer, outbox, shown_id, teach
from tests.serve.page.browser import AWAY
from tests.serve.running import running, wait_until


def test_keys_label_skip_and_stay_out_of_fields(server, visit):
    teach(server, "keys")
    offer(server, "keys", messages(8))
    page = visit().open("/#/m/keys/label")
    given = {}
    for key, label in (("a", "ham"), ("x", "spam"), ("1", "ham"), ("2", "spam")):
        given[shown_id(page)] = [label]
        page.keyboard.press(key)
        assert f"You: {label}" in page.inner_text(".said")
    assert len(given) == 4
    skipped = shown_id(page)
    page.keyboard.press(" ")
    assert shown_id(page) not in {skipped, *given}
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("a")
    page.keyboard.press("Escape")
    here = shown_id(page)
    page.get_by_label("New class").type("ax1 ?")
    page.keyboard.press("Backspace")
    assert (shown_id(page), page.get_by_label("New class").input_value()) == (here, "ax1 ")
    assert page.get_by_role("dialog").count() == 0
    page.get_by_label("New class").fill("news")
    page.keyboard.press("Enter")
    page.get_by_text("This class is new").wait_for()
    page.keyboard.press("Enter")
    given[here] = ["news"]
    assert page.locator(".choice-name").all_inner_texts() == ["ham", "spam", "news"]  # keys keep their classes
    wait_until(lambda: of_messages(labels(server, "keys")) == given)


@pytest.mark.long("waits until answers are learned")
def test_undo_before_and_after_learning(server, visit):
    teach(server, "undo")
    offer(server, "undo", messages(7))
    page = visit(expected=("409",)).open("/#/m/undo/label")  # which says that the answer was learned
    first = shown_id(page)
    page.keyboard.press("a")
    second = shown_id(page)
    page.keyboard.press("Backspace")
    assert shown_id(page) == first
    page.keyboard.press("x")
    assert shown_id(page) == second
    page.keyboard.press("a")
    wait_until(lambda: of_messages(labels(server, "undo")) == {first: ["spam"], second: ["ham"]})
    page.keyboard.press("Backspace")
    assert shown_id(page) == second
    page.keyboard.press("x")
    wait_until(lambda: of_messages(labels(server, "undo")) == {first: ["spam"], second: ["ham", "spam"]})
    page.get_by_text("was already learned").first.wait_for()


def reach(page, wanted):
    """Skip rows until the browser shows one of the ids."""
    while shown_id(page) not in wanted:
        page.keyboard.press(" ")


@pytest.fixture(scope="module")
def mixed(server):
    """A model with rows of which some are of the random share; the ids of those, and of the others."""
    teach(server, "guess")
    offer(server, "guess", messages(60))
    with server.client() as client:
        rows = client.get("/v1/models/guess/queue?n=60&labeller=nobody").json()["rows"]
        for row in rows:  # so that others get them
            body = {"id": row["id"], "skip": True, "labeller": "nobody"}
            client.post("/v1/models/guess/answers", json=body).raise_for_status()
    return [row["id"] for row in rows if row["random"]], [row["id"] for row in rows if not row["random"]]


def test_the_guess_is_shown_and_enter_accepts_it(server, mixed, visit):
    page = visit().open("/#/m/guess/label")
    reach(page, mixed[1])
    here, guessed = shown_id(page), page.locator(".choice.guessed")
    guess = guessed.get_attribute("data-class")
    assert re.search(r"\d+ %", guessed.inner_text())
    assert page.locator(".choice-name").all_inner_texts() == ["ham", "spam"], "whose keys never change"
    page.locator(".row-card mark.speaks").first.wait_for()
    page.keyboard.press("Enter")
    assert f"You: {guess} · Model: {guess}" in page.inner_text(".said")
    wait_until(lambda: labels(server, "guess").get(here) == [guess])


def test_the_guess_of_a_random_row_is_hidden_until_the_answer(mixed, visit):
    page = visit().open("/#/m/guess/label")
    reach(page, mixed[0])
    here = shown_id(page)
    assert "%" not in page.inner_text(".choices") and page.locator(".choice.guessed, mark").count() == 0
    page.get_by_text("this row was drawn at random").wait_for()
    page.keyboard.press("Enter")  # accepts nothing
    assert shown_id(page) == here
    page.keyboard.press("a")
    assert re.search(r"You: ham · Model: (ham|spam), \d+ %", page.inner_text(".said"))


def test_guesses_and_underlines_are_switched_off(mixed, visit):
    visitor = visit()
    page = visitor.open("/#/m/guess/label")
    reach(page, mixed[1])
    page.locator(".row-card mark.speaks").first.wait_for()
    page.keyboard.press("w")
    assert page.locator("mark").count() == 0 and page.locator(".choice.guessed").count() == 1
    page.get_by_label("Show the model's guesses").uncheck()
    assert page.locator(".choice.guessed").count() == 0 and "%" not in page.inner_text(".choices")
    assert page.get_by_label("Underline the words").is_disabled()
    other = visitor.open("/#/m/guess/label")
    reach(other, mixed[1])
    assert other.locator(".choice.guessed").count() == 0, "the browser remembers it"


def test_accuracy_is_that_of_the_rows_drawn_at_random(server, client, visit):
    teach(server, "honest")
    offer(server, "honest", messages(60))
    page = visit().open("/#/m/honest/label")
    for k in range(20):
        shown_id(page)
        page.keyboard.press("ax"[k % 2])
    page.wait_for_function("() => document.querySelector('.progress dd').innerText === '20'")
    found = client.get("/v1/models/honest/metrics").json()["labelling"]["random"]
    assert 0 < found["answers"] < 20
    told = page.inner_text("aside")
    low, high = (f"{100 * one:.0f} %" for one in found["interval"])
    assert f"{100 * found['accuracy']:.0f} %" in told and f"95 % interval {low} to {high}" in told


@pytest.mark.long("waits until answers are learned")
def test_labellers_and_tabs_never_have_the_same_row(server, visit):
    teach(server, "shared")
    offer(server, "shared", messages(60))
    ann, bob = visit(), visit()
    pages = [visitor.open("/#/m/shared/label") for visitor in (ann, ann, ann, bob)]
    seen = []
    for _ in range(3):
        for page in pages:
            seen.append(shown_id(page))
            page.keyboard.press("a")
    seen += [shown_id(page) for page in pages]
    assert len(set(seen)) == len(seen)
    wait_until(lambda: len(of_messages(labels(server, "shared"))) == 12)


@pytest.mark.long("waits until answers are learned")
def test_a_model_without_classes_and_rows_says_what_to_do(server, client, visit):
    client.put("/v1/models/new", json={}).raise_for_status()
    page = visit().open("/#/m/new/label")
    page.get_by_text("Nothing to label").wait_for()
    offer(server, "new", {"row-1": {"words": "hello"}})
    assert shown_id(page) == "row-1"  # without loading the page again
    page.get_by_label("New class").fill("greeting")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    wait_until(lambda: labels(server, "new") == {"row-1": ["greeting"]})


@pytest.mark.long("waits until answers are learned")
def test_rows_with_several_labels(server, client, visit):
    client.put("/v1/models/tags", json={"multilabel": True, "classes": ["a", "b", "c"]}).raise_for_status()
    offer(server, "tags", {"row-1": {"words": "hello"}})
    page = visit().open("/#/m/tags/label")
    shown_id(page)
    page.get_by_role("button", name="Done").wait_for()
    for key in ("1", "2", "3", "2", "Enter"):
        page.keyboard.press(key)
    wait_until(lambda: labels(server, "tags") == {"row-1": [["a", "c"]]})


# --- the server goes and comes back ----------------------------------------------------------------------------------


def all_are_sent(pages):
    """Whether no tab keeps an answer; all are asked, since each sees what another one keeps a little later."""
    return all(outbox(page) == 0 for page in pages) or pages[0].wait_for_timeout(50)


@pytest.mark.long("two servers of its own")
def test_answers_are_kept_while_the_server_is_away_and_sent_later(tmp_path, visit):
    from playwright.sync_api import expect  # here, since tests are collected where there is no Playwright

    with running(tmp_path) as server:
        port = server.url.rsplit(":", 1)[1]
        teach(server, "away")
        offer(server, "away", messages(12))
        visitor = visit(server.url, expected=AWAY)
        pages = [visitor.open("/#/m/away/label") for _ in range(2)]
        given, arrived = {}, []
        for page in pages:
            page.on("response", lambda answer: "/answers" in answer.url and arrived.append(answer.status))
            given[shown_id(page)] = ["ham"]
            page.keyboard.press("a")
        wait_until(lambda: all_are_sent(pages))
        server.kill()
    for page in pages:
        for _ in range(2):
            given[shown_id(page)] = ["spam"]
            page.keyboard.press("x")
    for page in pages:
        expect(page.locator(".away-note")).to_contain_text("4 answers are kept", timeout=30_000)
        assert outbox(page) == 4
    with running(tmp_path, "--port", port) as server:
        for page in pages:
            page.get_by_text("Live", exact=True).wait_for()
        wait_until(lambda: all_are_sent(pages))
        wait_until(lambda: of_messages(labels(server, "away")) == given)
        answered = [status for status in arrived if status != 503]
        assert len(answered) >= 6 and set(answered) == {200}  # one whose answer was lost is sent again
        here = [shown_id(page) for page in pages]
        assert len({*here, *given}) == 8


@pytest.mark.long("two servers of its own")
def test_a_lease_lives_through_a_restart(tmp_path, visit):
    with running(tmp_path) as server:
        port = server.url.rsplit(":", 1)[1]
        teach(server, "held", n=4)
        offer(server, "held", messages(3))
        page = visit(server.url, expected=AWAY).open("/#/m/held/label")
        here = shown_id(page)
        server.stop()
    page.get_by_text("The server cannot be reached.").wait_for()
    with running(tmp_path, "--port", port) as server:
        page.get_by_text("Live", exact=True).wait_for()
        page.wait_for_timeout(500)
        with server.client() as client:
            rows = client.get("/v1/models/held/queue?n=10&labeller=another").json()["rows"]
        assert rows == [] and shown_id(page) == here


def test_texts_of_an_encoder_are_shown_as_texts(server, visit):
    pytest.importorskip("wordllama", reason="wordllama is not installed")
    teach(server, "vectors", encoder="wordllama", reading={})
    offer(server, "vectors", messages(3))
    page = visit().open("/#/m/vectors/label")
    assert shown_id(page)
    assert not page.get_by_label("Underline").is_visible() and "__vector__" not in page.inner_text("main")
    page.keyboard.press("a")
    page.get_by_text("You: ham").wait_for()
    assert page.get_by_role("link", name="Why?").count() == 0
