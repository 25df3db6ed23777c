"""Labelling with many classes, long texts, other scripts; by several people."""

import random
import re
from statistics import median

import pytest

from tests.serve.page.acts import fits, labels, messages, offer, post_lines, shown_id, teach
from tests.serve.page.browser import AWAY
from tests.serve.running import lines_of, running, wait_until

TOPICS = ["billing", "account", "shipping", "returns", "login", "password", "invoice", "refund", "cancel", "upgrade"]
KINDS = [
    "question", "problem", "request", "complaint", "praise", "delay", "error", "change", "status", "urgent", "missing",
    "other", "wrong", "new", "old",
]  # fmt: skip
CLASSES = [f"{topic}-{kind}" for topic in TOPICS for kind in KINDS]
NOISE = ["please", "help", "customer", "order", "today", "thanks", "the", "with", "my", "our", "since", "yesterday"]


def text_about(chance, label):
    return " ".join(chance.sample([*label.split("-") * 2, *chance.choices(NOISE, k=8)], 12))


@pytest.fixture(scope="module")
def many(server):
    """A model of 150 classes, and the class of each row that waits."""
    chance = random.Random(0)
    assert len(CLASSES) == 150
    with server.client() as client:
        client.put("/v1/models/many", json={"reading": {"text": ["text"]}}).raise_for_status()
        taught = [label for label in CLASSES for _ in range(12)]
        chance.shuffle(taught)
        rows = [{"features": {"text": text_about(chance, label)}, "label": label} for label in taught]
        post_lines(client, "/v1/models/many/learn?wait=learned", rows)
    truth = {f"q-{k}": chance.choice(CLASSES) for k in range(150)}
    offer(server, "many", {id: {"text": f"{text_about(chance, label)} no{id}"} for id, label in truth.items()})
    return truth


def press_for(page, label):
    """Answer with a class by the keyboard; return the keys that it took."""
    for button in page.locator(".choice").all():
        if button.get_attribute("data-class") == label:
            page.keyboard.press(button.locator("kbd").first.inner_text())
            return 1
    page.keyboard.press("/")
    first = page.locator("#class-list [aria-selected=true]")
    pressed = 1
    for letter in label:
        if first.inner_text() == label:
            break
        page.keyboard.press(letter)
        pressed += 1
    assert first.inner_text() == label
    page.keyboard.press("Enter")
    return pressed + 1


@pytest.mark.long("sixty answers in the browser")
def test_150_classes_take_two_keys(server, many, visit):
    page, presses, among, given = visit().open("/#/m/many/label"), [], [], {}
    for _ in range(60):
        id = shown_id(page)
        likely = page.locator(".choice", has=page.locator(".chance")).all()
        guesses = [one.get_attribute("data-class") for one in likely]
        if guesses:
            among.append(many[id] in guesses)
            assert len(guesses) == 5
        presses.append(press_for(page, many[id]))
        given[id] = [many[id]]
        assert f"You: {many[id]}" in page.inner_text(".said")
    assert sum(among) >= 0.9 * len(among), "the model knows these classes"
    assert median(presses) <= 2
    assert 0 < len(among) < 60, "the rows that were drawn at random show no guesses"
    wait_until(lambda: labels(server, "many").items() >= given.items())


def test_the_guesses_are_those_of_the_server_and_the_list_keeps_its_order(client, many, visit):
    page = visit().open("/#/m/many/label")
    while not page.locator(".chance").count():
        here = shown_id(page)
        page.keyboard.press(" ")
        page.wait_for_function("(id) => document.querySelector('[data-row]')?.dataset.row !== id", arg=here)
    features = {"text": page.inner_text(".prose p")}
    probability = client.post("/v1/models/many/predict", json={"features": features}).json()["probability"]
    best = sorted(probability, key=probability.get, reverse=True)[:5]
    shown = [one.get_attribute("data-class") for one in page.locator(".choice").all()]
    keys = [one.locator("kbd").first.inner_text() for one in page.locator(".choice").all()]
    assert shown == best and keys == list("12345")
    page.keyboard.press("/")
    assert page.locator("#class-list li").all_inner_texts() == sorted(CLASSES)
    page.keyboard.type("err")
    assert page.locator("#class-list li").all_inner_texts()[:-1] == sorted(f"{one}-error" for one in TOPICS)
    page.keyboard.type(" re")
    assert page.locator("#class-list li").all_inner_texts()[:-1] == ["refund-error", "returns-error"]
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.className") == "row-card"


@pytest.mark.long("many keys in the browser")
def test_a_new_class_asks_first_and_names_those_alike(server, visit):
    teach(server, "news")
    offer(server, "news", messages(8))
    page = visit().open("/#/m/news/label")
    first = shown_id(page)
    page.keyboard.press("/")
    page.keyboard.type("Spams")
    page.keyboard.press("Enter")
    page.get_by_text("There is a similar class.").wait_for()
    assert page.locator("#class-list li").all_inner_texts() == ["Use “spam”", "Add “Spams” as a new class"]
    assert shown_id(page) == first, "nothing was answered"
    page.keyboard.press("Enter")
    second = shown_id(page)
    page.keyboard.press("/")
    page.keyboard.type("Spams")
    for key in ("Enter", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    third = shown_id(page)
    page.keyboard.press("/")
    page.keyboard.type("invoice")
    page.keyboard.press("Enter")
    page.get_by_text("This class is new.").wait_for()
    page.keyboard.press("Escape")
    assert shown_id(page) == third
    found = {first: ["spam"], second: ["Spams"]}
    wait_until(lambda: {id: one for id, one in labels(server, "news").items() if id in messages(8)} == found)
    assert page.locator(".choice-name").all_inner_texts() == ["ham", "spam", "Spams"]


@pytest.mark.long("axe looks at each dialog twice")
@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing_in_fields_lists_and_dialogs(many, visit, theme, width):
    page = visit(person=None, viewport={"width": width, "height": 780}, color_scheme=theme).open("/#/m/many/label")

    def check(what):
        page.wait_for_timeout(200)  # for colors that change slowly
        fits(page, what)

    page.get_by_label("Your name").wait_for()
    check("the question for a name")
    page.keyboard.press("Escape")
    shown_id(page)
    check("a row")
    for typed, what in (("/", "all classes"), ("err", "some classes"), ("zzz", "a new class")):
        page.keyboard.type(typed)
        check(what)
    page.keyboard.press("Enter")
    check("the question about a new class")
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    check("reasons")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    check("keys")


ALIKE = [
    ("spam", "Spam", True), ("spam", "spams", True), ("category", "categories", True), ("box", "boxes", True),
    ("returns", "retruns", True), ("e-mail", "email", True), ("café", "cafe", True), ("complaint", "complain", True),
    ("cat", "car", False), ("ham", "spam", False), ("yes", "no", False), ("glass", "glas", True), ("a1", "a2", False),
]  # fmt: skip


def test_names_that_are_alike(server, visit):
    page = visit().open("/#/add")
    told = page.evaluate(
        "async (pairs) => { const { similar } = await import('/page/js/classes.js');"
        "return pairs.map(([a, b]) => [similar([a, 'zebra'], b).length, similar([b], a).length]); }",
        [pair[:2] for pair in ALIKE],
    )
    assert [(a, b) for a, b in told] == [(int(same), int(same)) for _, _, same in ALIKE]
    distances = page.evaluate(
        "async (pairs) => { const { distance } = await import('/page/js/classes.js');"
        "return pairs.map(([a, b]) => distance(a, b)); }",
        [["kitten", "sitting"], ["flaw", "lawn"], ["", "abc"], ["abc", "abc"], ["ab", "ba"], ["ca", "abc"]],
    )
    assert distances == [3, 2, 3, 0, 1, 3]


# --- long texts, other scripts ---------------------------------------------------------------------------------------


@pytest.mark.long("long texts in the browser")
@pytest.mark.parametrize("width", [390, 1280])
def test_a_long_text_scrolls_in_its_own_box(server, visit, width):
    name = f"long-{width}"
    teach(server, name)
    chance = random.Random(1)
    words = ["prize", "winner", "lunch", "report", *NOISE]
    offer(server, name, {f"q-{k}": {"text": " ".join(chance.choices(words, k=1700)), "links": k} for k in range(4)})
    page = visit(viewport={"width": width, "height": 780}).open(f"/#/m/{name}/label")
    shown_id(page)
    assert len(page.inner_text(".prose p")) > 9000
    card = page.locator(".row-card")
    assert card.evaluate("(box) => box.scrollHeight > 2 * box.clientHeight")
    for label in ("ham", "spam"):
        box = page.locator(f".choice[data-class={label}]").bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 780, "in sight without scrolling"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => document.querySelector('.row-card').scrollTop > 0")
    page.keyboard.press("a")
    assert card.evaluate("(box) => box.scrollTop") == 0, "the next text begins at its beginning"


def test_texts_have_their_direction(server, client, visit):
    client.put("/v1/models/arabic", json={"reading": {"text": ["text"]}}).raise_for_status()
    pairs = [("ربحت جائزة نقدية", "بريد مزعج"), ("hello", "ok")] * 20
    rows = [{"features": {"text": text}, "label": label} for text, label in pairs]
    post_lines(client, "/v1/models/arabic/learn?wait=learned", rows)
    offer(server, "arabic", {f"q-{k}": {"text": f"لقد ربحت جائزة {k}", "city": "Cairo"} for k in range(9)})
    page = visit(viewport={"width": 390, "height": 780}).open("/#/m/arabic/label")
    shown_id(page)
    # In one call, as the page may be drawn again between two.
    shown = "(e) => [e.innerText, getComputedStyle(e).direction]"
    directions = f"(which) => [...document.querySelectorAll(which)].map({shown})"
    assert [found for _, found in page.evaluate(directions, ".prose p")] == ["rtl"]
    assert [found for _, found in page.evaluate(directions, ".facts dd")] == ["ltr"]
    assert dict(page.evaluate(directions, ".choice-name")) == {"بريد مزعج": "rtl", "ok": "ltr"}
    while not page.locator("mark").count():
        page.keyboard.press(" ")
        page.wait_for_timeout(100)
    assert set(page.locator("mark").all_inner_texts()) <= {"ربحت", "جائزة"}


def test_words_that_speak_for_the_guess_are_those_of_the_explanation(server, client, visit):
    teach(server, "speaks")
    offer(server, "speaks", {f"q-{k}": {"text": f"Prize, lunch and CASH {k}", "links": 1} for k in range(30)})
    page = visit().open("/#/m/speaks/label")
    shown_id(page)
    while not page.locator("mark").count():
        page.keyboard.press(" ")
        page.wait_for_timeout(100)
    guess = page.locator(".choice.guessed").get_attribute("data-class")
    body = {"features": {"text": page.inner_text(".prose p"), "links": 1}, "about": guess}
    found = client.post("/v1/models/speaks/explain", json=body).json()
    sign = 1 if found["supported"] == guess else -1
    means = {one["feature"].removeprefix("text:"): sign * one["mean"] for one in found["contributions"]}
    words = {"prize", "lunch", "cash"}
    for_it = {word for word in words if means[word] >= 0.25 * max(means[one] for one in words)}
    assert {one.lower() for one in page.locator("mark").all_inner_texts()} & words == for_it


def test_numbers_are_typed(server, client, visit):
    client.put("/v1/models/prices", json={"task": "numbers"}).raise_for_status()
    rows = [{"features": {"rooms": k % 7, "area": 10 * k}, "label": 100.5 + 3 * (k % 7)} for k in range(60)]
    post_lines(client, "/v1/models/prices/learn?wait=learned", rows)
    offer(server, "prices", {f"q-{k}": {"rooms": k % 7, "area": 7 * k + 0.5} for k in range(30)})
    page, given = visit().open("/#/m/prices/label"), {}
    here = shown_id(page)
    field = page.get_by_label("Number", exact=True)
    field.wait_for()
    for typed, number in (("12,5", 12.5), ("-3", -3), ("1e3", 1000)):
        here = shown_id(page)
        page.keyboard.type(typed)
        page.keyboard.press("Enter")
        given[here] = [number]
        assert f"You: {typed.replace(',', '.') if typed != '1e3' else 1000}" in page.inner_text(".said")
    while not page.get_by_text("An empty field accepts it.").count():
        here = shown_id(page)
        page.keyboard.press(" ")
        page.wait_for_function("(id) => document.querySelector('[data-row]')?.dataset.row !== id", arg=here)
    here = shown_id(page)
    page.keyboard.type("dear")
    page.keyboard.press("Enter")
    page.get_by_text("Type a number, such as 12.5.").wait_for()
    assert shown_id(page) == here
    field.fill("")
    page.keyboard.press("Enter")  # accepts the guess
    assert shown_id(page) != here
    page.keyboard.press("Backspace")  # of an empty field
    assert shown_id(page) == here
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    given[here] = [7]
    wait_until(lambda: labels(server, "prices").items() >= given.items())
    assert "Mean absolute error on random rows" in page.inner_text("aside")


# --- people ----------------------------------------------------------------------------------------------------------


@pytest.mark.long("waits until answers are learned")
def test_the_name_is_asked_once_and_stands_in_exports(server, client, visit):
    teach(server, "named")
    offer(server, "named", messages(20))
    visitor = visit(person=None)
    page = visitor.open("/#/m/named/label")
    page.get_by_label("Your name").fill("Zoë")
    page.keyboard.press("Enter")
    first = shown_id(page)
    page.keyboard.press("a")
    page.reload()
    page.get_by_text("You label as Zoë.").wait_for()
    assert page.locator("dialog[open]").count() == 0
    page.get_by_role("button", name="Change").click()
    page.get_by_label("Your name").fill("Bob")
    page.keyboard.press("Enter")
    page.get_by_text("You label as Bob.").wait_for()
    second = shown_id(page)
    assert second != first
    page.keyboard.press("x")

    def by():
        rows = lines_of(client.get("/v1/models/named/examples"))
        return {one["id"]: one["by"] for one in rows if "by" in one}

    wait_until(lambda: by() == {first: "Zoë", second: "Bob"})
    assert re.search(r"Zoë\s*1", page.inner_text("aside")) and re.search(r"Bob\s*1", page.inner_text("aside"))
    assert "row-" not in page.inner_text("main"), "no ids"
    other = visit(person=None).open("/#/m/named/label")
    other.get_by_role("button", name="Without a name").click()
    shown_id(other)
    other.get_by_text("You label without a name.").wait_for()


@pytest.mark.long("a server of its own, and waits for answers")
def test_a_second_opinion_is_compared_and_not_learned(tmp_path, visit):
    with running(tmp_path, limits={"model.opinions.SECOND_SHARE": 1.0}) as server:
        teach(server, "twice")
        offer(server, "twice", messages(4))
        ann = visit(server.url, expected=AWAY, person="Ann").open("/#/m/twice/label")
        first = {}
        for _ in range(4):
            first[shown_id(ann)] = ["ham"]
            ann.keyboard.press("a")
        ann.get_by_text("Nothing to label").wait_for()
        wait_until(lambda: {id: one for id, one in labels(server, "twice").items() if id in first} == first)
        bob = visit(server.url, expected=AWAY, person="Bob").open("/#/m/twice/label")
        for key in "axa":
            assert shown_id(bob) in first
            bob.get_by_text("some rows measure how far people agree").wait_for()
            assert bob.locator(".choice.guessed").count() == 0
            bob.keyboard.press(key)
            bob.get_by_text("This row was asked about a second time").wait_for()
        bob.keyboard.press("Backspace")
        bob.keyboard.press("x")
        bob.get_by_text("33 % of rows that two people answered have the same label twice (1 of 3).").wait_for()
        with server.client() as client:
            rows = [one for one in lines_of(client.get("/v1/models/twice/examples")) if one["id"] in first]
        assert [(one["label"], one["by"]) for one in rows] == [("ham", "Ann")] * 4


def test_rows_are_skipped_with_a_reason(server, client, visit):
    teach(server, "why-not")
    offer(server, "why-not", messages(12))
    page = visit(person="Ann").open("/#/m/why-not/label")
    skipped = {}
    for keys, reason in ((("1",), "I cannot tell"), (("Tab",) * 4, None), (("Escape",), "back")):
        here = shown_id(page)
        page.keyboard.press("s")
        page.get_by_role("dialog").wait_for()
        if reason is None:
            page.get_by_label("Another reason").fill("a1 spoon")
            page.keyboard.press("Enter")
            reason = "a1 spoon"
        else:
            for key in keys:
                page.keyboard.press(key)
        page.get_by_role("dialog").wait_for(state="detached")
        if reason == "back":
            assert shown_id(page) == here
        else:
            assert shown_id(page) != here
            skipped[here] = reason

    def told(id):
        return [one.get("reason") for one in client.get(f"/v1/models/why-not/examples/{id}").json()["history"]]

    wait_until(lambda: all(told(id) == [None, reason] for id, reason in skipped.items()))


@pytest.mark.long("forty answers in the browser")
def test_the_queue_does_not_end_while_rows_wait(server, visit):
    teach(server, "endless")
    offer(server, "endless", messages(30))
    page, seen = visit().open("/#/m/endless/label"), set()
    for k in range(40):
        seen.add(shown_id(page))
        page.keyboard.press("ax"[k % 2])
        if k == 5:
            offer(server, "endless", {f"more-{j}": {"text": f"prize lunch extra{j}", "links": 0} for j in range(30)})
    assert len(seen) == 40 and any(id.startswith("more") for id in seen)


def test_a_rejected_answer_names_no_id(server, client, visit):
    teach(server, "refused")
    offer(server, "refused", {"secret-1": {"text": "prize"}})
    page = visit(expected=("409",)).open("/#/m/refused/label")
    here = shown_id(page)
    client.post("/v1/models/refused/labels?wait=learned", json={"id": here, "label": "spam"}).raise_for_status()
    page.keyboard.press("a")
    notice = page.get_by_text("An answer was rejected: the row has another label already.")
    notice.wait_for()
    assert "secret" not in page.inner_text("body")
