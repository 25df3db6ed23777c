"""Rows in the forms of Label Studio and Prodigy."""

import json
from unittest import mock

import pytest

from confidently.serve import Client, ServerError
from confidently.serve.exchange import label_studio, prodigy
from confidently.serve.work import answers
from tests.serve.running import threaded, wait_until

CONFIG = """<View><Text name="body" value="$text"/><Header value="$title"/>
  <Choices name="kind" toName="body"><Choice value="ham"/><Choice value="spam" alias="junk"/></Choices></View>"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with mock.patch.object(answers, "UNDO_SECONDS", 0.1), threaded(tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture
def model(served, request):
    """A client of a new model, by default of one class per row."""
    settings = getattr(request, "param", {"classes": ["ham", "spam"]})
    with Client(served.url, "m") as found:
        found.create(reading={"text": ["text"]}, **settings)
        yield found
        found.delete()


def task(text, *annotations, **more):
    return {"data": {"text": text}, "annotations": list(annotations)} | more


def annotation(label, control="kind", **more):
    choices = [label] if isinstance(label, str) else label
    value = {"choices": choices}
    return {"result": [{"from_name": control, "to_name": "body", "type": "choices", "value": value}]} | more


def learned(model):
    return [(row["id"], row["features"], row["label"], row.get("by")) for row in model.examples()]


def shown(model):
    """What is learned, but for events and times."""
    return sorted(json.dumps(row, sort_keys=True) for row in learned(model))


# --- Label Studio ----------------------------------------------------------------------------------------------------


def test_annotations_are_rows(model):
    tasks = [
        task("win cash", annotation("spam", id=7, completed_by=3), id=1, project=2),
        task("lunch", annotation("ham", id=8, completed_by={"id": 4, "email": "ann@x"}), project=2),
        task("skipped", annotation([], id=9, was_cancelled=True), id=3, project=2),
        task("by two", annotation("ham", id=10), annotation("spam", id=11), id=4, project=2),
        task("a box", {"result": [{"type": "rectanglelabels", "value": {}}], "id": 12}, id=5, project=2),
        task("nobody"),
        task("by hand", annotation("ham", completed_by={"id": 5})),
    ]
    told = model.import_label_studio(tasks)
    assert (told["rows"], told["skipped"], told["failed"], told["batch"]) == (5, 2, 0, model.batch)
    hand = label_studio.content_id("label-studio", b'{"text":"by hand"}')
    expected = [
        ("label-studio-2-7", {"text": "win cash"}, "spam", "user-3"),
        ("label-studio-2-8", {"text": "lunch"}, "ham", "ann@x"),
        ("label-studio-2-10", {"text": "by two"}, "ham", None),
        ("label-studio-2-11", {"text": "by two"}, "spam", None),
        (hand, {"text": "by hand"}, "ham", "user-5"),
    ]
    assert learned(model) == expected
    assert model.import_label_studio(tasks)["rows"] == 5 and learned(model) == expected, "nothing is learned twice"
    tasks[1]["annotations"][0] = annotation("spam", id=8, completed_by=3)
    model.import_label_studio(tasks)
    assert learned(model)[-1] == ("label-studio-2-8", {"text": "lunch"}, "spam", "user-3"), "a correction"
    model.take_out(wait=True)
    assert learned(model) == []


def test_what_is_wrong_with_tasks(model):
    tasks = [
        task("good", annotation("ham", id=1)),
        task("other class", annotation("eggs", id=2)),
        task("two", annotation(["ham", "spam"], id=3)),
        task("two controls", {"id": 4, "result": annotation("ham")["result"] + annotation("ham", "mood")["result"]}),
        {"data": 7, "annotations": [annotation("ham", id=5)]},
        {"annotations": []},
        task("numbers", annotation([1], id=6)),
        task("other text", annotation("ham", id=1)),
    ]
    told = model.import_label_studio(tasks)
    assert (told["rows"], told["failed"]) == (1, 7)
    kinds = {problem["pointer"].split("/")[1]: problem["type"].rpartition(":")[2] for problem in told["problems"]}
    assert kinds == dict.fromkeys("23456", "invalid-body") | {"1": "unknown-class", "7": "other-content"}
    told = model.import_label_studio([tasks[3]], control="mood")
    assert (told["rows"], told["failed"]) == (1, 0)


def test_columns_of_tasks_may_be_chosen(model):
    given = {"data": {"text": "win", "url": "https://x", "n": 1}, "annotations": [annotation("spam", id=1)]}
    model.import_label_studio([given], columns=["text"])
    assert [row["features"] for row in model.examples()] == [{"text": "win"}]


def label_all(model):
    """Teach rows by labels, by answers and by an import with names."""
    model.learn({"text": "lunch", "n_links": 1.5, "tags": ["a", "b"]}, "ham", "r/1")
    model.predict({"text": "win"}, "r-2")
    model.predict({"text": "later"}, "r-3")
    model.answer("r-2", "spam", "ann")
    model.import_label_studio([task("cash", annotation("spam", id=1, completed_by={"email": "bob@x"}))])
    wait_until(lambda: len(list(model.examples())) == 3)


def comes_back(model, given, put, **settings):
    """Put what was taken from a model into a new one of its name, which then has the same rows."""
    before = shown(model)
    model.delete()
    model.create(reading={"text": ["text"]}, **settings)
    told = put(given)
    assert (told["rows"], told["failed"]) == (3, 0) and shown(model) == before


def test_tasks_go_there_and_back(model):
    label_all(model)
    tasks = model.label_studio_tasks(control="kind", target="body")
    assert {one["meta"].get("by") for one in tasks} == {None, "ann", "bob@x"}
    comes_back(model, tasks, model.import_label_studio)
    assert model.label_studio_tasks("waiting") == []


def test_rows_without_a_label_are_tasks_with_predictions(model):
    assert model.label_studio_tasks() == model.label_studio_tasks("waiting") == []
    texts = {"win cash": "spam", "lunch": "ham"}
    model.learn_many([{"features": {"text": text}, "label": texts[text]} for text in texts] * 4, wait=True)
    model.predict({"text": "cash"}, "q-1")
    model.predict({"text": "lunch"}, "q-2")
    first, second = model.label_studio_tasks("waiting", control="kind", target="body")
    assert [one["meta"]["id"] for one in (first, second)] == ["q-1", "q-2"]
    [guess] = first["predictions"]
    assert guess["result"] == annotation("spam")["result"] and 0.5 < guess["score"] <= 1
    assert first["annotations"] == [] and guess["model_version"].startswith("m-1.")
    model.import_label_studio([first | {"id": 77, "project": 1, "annotations": [annotation("spam", id=5)]}])
    assert model.example("q-1")["label"] == "spam", "it comes back to its row"


@pytest.mark.parametrize("model", [{"multilabel": True}], indirect=True)
def test_label_sets_go_there_and_back(model):
    labels = {"a b": ["a", "b"], "none": [], "a": "a"}
    tasks = [task(text, annotation(label, id=k)) for k, (text, label) in enumerate(labels.items())]
    assert model.import_label_studio(tasks)["rows"] == 3
    assert [row["label"] for row in model.examples()] == [["a", "b"], [], ["a"]]
    for get, put in (
        (model.label_studio_tasks, model.import_label_studio), (model.prodigy_records, model.import_prodigy),
    ):  # fmt: skip
        comes_back(model, get(), put, multilabel=True)


def test_a_body_may_be_one_array(served, model):
    path = "/v1/models/m/exchange/label-studio"
    with served.client() as client:
        told = client.post(path, json=[task("win", annotation("spam", id=1))]).json()
        assert told["rows"] == 1 and told["batch"].startswith("label-studio-20")
        refused = client.post(path, json={"data": {}})
        assert (refused.status_code, refused.json()["type"]) == (422, "urn:confidently:invalid-body")
        assert client.post(path, json=[], params={"batch": "monday"}).json()["batch"] == "monday"


# --- labeling configs ------------------------------------------------------------------------------------------------


def test_what_a_labeling_config_asks():
    found = label_studio.read_config(CONFIG)
    assert found == label_studio.Config("kind", "body", ("text",), ("ham", "junk"), False)
    more = CONFIG.replace("<View>", '<View><HyperText name="s" value="$subject"/>').replace(
        "<Choices", '<Choices choice="multiple"'
    )
    found = label_studio.read_config(more)
    assert found.columns == ("subject", "text") and found.multiple


@pytest.mark.parametrize(("config", "message"), [
        ("", "not XML"),
        ("<View>", "not XML"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]>" + CONFIG, "without <!DOCTYPE>"),
        ("<View/>", "expected one <Choices> in the labeling config, got none"),
        (CONFIG.replace("</View>", '<Choices name="b" toName="body"/></View>'), "got 'kind', 'b'"),
        (CONFIG.replace("Text", "Image"), "got <Image>"),
        (CONFIG.replace('toName="body"', 'toName="other"'), "got nothing"),
        (CONFIG.replace("<Text", '<Text valueType="url"'), "takes its text from an address"),
])  # fmt: skip
def test_labeling_configs_that_ask_for_something_else(config, message):
    with pytest.raises(ValueError, match=message):
        label_studio.read_config(config)


def test_tasks_are_those_of_the_sdk(model):
    """Label Studio's own package accepts what is exported, and reads configs alike."""
    sdk = pytest.importorskip("label_studio_sdk.label_interface", reason="Label Studio's SDK is not installed")
    label_all(model)
    model.learn_many([{"features": {"text": "x"}, "label": label} for label in ("ham", "spam")], wait=True)
    config = CONFIG.replace(' alias="junk"', "").replace('<Header value="$title"/>', "")
    theirs, ours = sdk.LabelInterface(config), label_studio.read_config(config)
    control = theirs.get_control()
    assert (control.name, control.to_name, tuple(control.labels)) == (ours.control, [ours.target], ours.classes)
    for rows in ("learned", "waiting"):
        tasks = model.label_studio_tasks(rows, control="kind", target="body")
        assert len(tasks) == {"learned": 5, "waiting": 1}[rows]
        for one in tasks:
            assert theirs.validate_task({"data": one["data"]})
            for given in one["annotations"]:
                assert theirs.validate_annotation(given)
            for guess in one["predictions"]:
                assert theirs.validate_prediction(guess, return_errors=True) == []


# --- Prodigy ---------------------------------------------------------------------------------------------------------


def test_records_of_prodigy_are_rows(model):
    given = [
        {"text": "win", "label": "spam", "answer": "accept", "_annotator_id": "set-ann", "_timestamp": 1_700_000_000},
        {"text": "lunch", "label": "spam", "answer": "reject", "_session_id": "set-bob"},
        {"text": "eh", "label": "spam", "answer": "ignore"},
        {"text": "tea", "options": [{"id": "ham", "text": "Ham"}], "accept": ["ham"], "answer": "accept"},
        {"text": "none", "options": [], "accept": [], "answer": "accept"},
        {"text": "rejected", "options": [], "accept": ["ham"], "answer": "reject"},
        {"text": "unanswered", "label": "spam"},
    ]
    told = model.import_prodigy(given)
    assert (told["rows"], told["skipped"], told["failed"]) == (3, 4, 0)
    assert [row[1:] for row in learned(model)] == [
        ({"text": "win"}, "spam", "set-ann"), ({"text": "lunch"}, "ham", "set-bob"), ({"text": "tea"}, "ham", None)
    ]  # fmt: skip
    assert model.import_prodigy(given)["rows"] == 3 and len(learned(model)) == 3, "nothing is learned twice"


def test_what_is_wrong_with_records(model):
    given = [
        {"label": "spam", "answer": "accept"},
        {"text": "x", "answer": "accept"},
        {"text": "x", "label": "eggs", "answer": "accept"},
        {"text": "x", "accept": ["ham", "spam"], "answer": "accept"},
    ]
    told = model.import_prodigy(given)
    assert (told["rows"], told["failed"]) == (0, 4)
    assert [problem["pointer"].split("/")[1] for problem in told["problems"]] == ["0", "1", "2", "3"]


@pytest.mark.parametrize(("model", "answer", "told"), [
    ({"multilabel": True}, "accept", "failed"), ({}, "reject", "skipped")
], indirect=["model"])  # fmt: skip
def test_one_label_says_nothing_of_a_set_and_a_rejected_one_nothing_of_many(model, answer, told):
    found = model.import_prodigy([{"text": "x", "label": "a", "answer": answer}])
    assert found[told] == 1 and (told == "skipped" or '"accept"' in found["problems"][0]["detail"])


def test_records_go_there_and_back(model):
    label_all(model)
    records = model.prodigy_records()
    assert {one.get("_annotator_id") for one in records} == {None, "ann", "bob@x"}
    [waiting] = model.prodigy_records("waiting")
    assert (waiting["text"], [one["id"] for one in waiting["options"]]) == ("later", ["ham", "spam"])
    assert "answer" not in waiting
    comes_back(model, records, model.import_prodigy)


def test_texts_may_be_in_another_column(model):
    model.import_prodigy([{"text": "win", "label": "spam", "answer": "accept"}], text="subject")
    assert [row["features"] for row in model.examples()] == [{"subject": "win"}]
    assert [one["text"] for one in model.prodigy_records(text="subject")] == ["win"]
    with pytest.raises(ServerError, match="no text in its column 'text'; name that of texts"):
        model.prodigy_records()


def test_records_are_what_prodigy_reads():
    """Its own fields are there, and none has another type."""
    row = {"id": "r", "features": {"text": "win", "n": 1}, "label": "spam", "by": "ann", "time": 1_700_000_000.5}
    assert json.loads(prodigy.msgspec.json.encode(prodigy.exported(row, "text", ["ham", "spam"]))) == {
        "text": "win", "label": "spam", "answer": "accept", "id": "r", "features": {"n": 1}, "_annotator_id": "ann",
        "_session_id": "ann", "_timestamp": 1_700_000_000,
    }  # fmt: skip
