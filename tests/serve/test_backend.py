"""The backend of Label Studio: what Label Studio sends, in the form of its version 1.23, and what it expects."""

import base64
import warnings

import pytest

from confidently.serve.http.tokens import Guard, read_tokens
from tests.serve.running import lines_of
from tests.serve.test_tokens import token_file

CONFIG = """<View><Text name="body" value="$text"/>
  <Choices name="kind" toName="body"><Choice value="ham"/><Choice value="spam"/></Choices></View>"""
SEVERAL = CONFIG.replace("<Choices", '<Choices choice="multiple"')
PROJECT = {"id": 2, "title": "Mail", "label_config": CONFIG, "is_published": False, "model_version": "m-1.0"}
SETUP = {
    "project": "2.1700000000", "schema": CONFIG, "hostname": "http://localhost:8080", "access_token": "x",
    "extra_params": None,
}  # fmt: skip
MODEL = "/v1/models/m"


def task(id, text, **more):
    found = {
        "id": id, "data": {"text": text, "url": f"https://x/{id}"}, "meta": {}, "inner_id": id, "project": 2,
        "updated_at": "2026-01-02T03:04:05.678Z", "is_labeled": False, "overlap": 1, "created_at": "2026-01-02",
        "updated_by": None, "file_upload": 1, "annotations": [], "predictions": [],
    }  # fmt: skip
    return found | more


def annotation(id, *choices, **more):
    result = [{
        "value": {"choices": list(choices)}, "id": "aB3_x", "from_name": "kind", "to_name": "body", "type": "choices",
        "origin": "manual",
    }]  # fmt: skip
    found = {
        "id": id, "result": result if choices else [], "created_username": " ann@x, 3", "completed_by": 3,
        "unique_id": None, "was_cancelled": False, "ground_truth": False, "lead_time": 2.5, "task": 1, "project": 2,
    }  # fmt: skip
    return found | more


def event(action, given, of=None, config=CONFIG):
    body = {"action": action, "annotation": given, "project": PROJECT | {"label_config": config}}
    return body | ({} if of is None else {"task": of})


@pytest.fixture
def studio(local):
    """A server whose model was made by Label Studio, and a function that posts to its backend."""
    server = local()

    def post(path, body, status=200, name="m"):
        answer = server("POST", f"/label-studio/{name}/{path}", body)
        assert answer.status_code == status, answer.text
        return answer.json()

    post("setup", SETUP)
    server.post = post
    return server


def rows(server):
    found = [lines_of(server("GET", f"{MODEL}/examples"))][0]
    return [(row["id"], row["features"], row["label"], row["by"]) for row in found]


def created(id, label, text, **more):
    """The event of an annotation that was made."""
    return event("ANNOTATION_CREATED", annotation(id, label), task(id, text, **more))


def updated(id, text, *labels, **more):
    """The event of an annotation that was changed, or cancelled."""
    return event("ANNOTATION_UPDATED", annotation(id, *labels, **more), task(id, text))


def deleted(*ids):
    return {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": id} for id in ids], "project": PROJECT}


def teach(server, id, text, label):
    return server.post("webhook", created(id, label, text))


def test_a_project_makes_its_model(studio):
    health = studio("GET", "/label-studio/m/health")
    assert health.json() == {"status": "UP", "model": "m"}
    facts = studio("GET", MODEL).json()
    assert facts["settings"] == {"reading": {"text": ["text"]}}  # whose classes may become more
    again = studio.post("setup", SETUP)
    assert again == {"model_version": "m-1.0"} and studio("GET", MODEL).json()["version"] == 1
    studio.post("setup", SETUP | {"schema": SEVERAL}, name="sets")
    assert studio("GET", "/v1/models/sets").json()["settings"]["multilabel"] is True


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("<View/>", "expected one <Choices>"),
        (SEVERAL, "the model has one label per row, <Choices> asks for several"),
        (CONFIG.replace("$text", "$subject"), "the model does not read subject as text"),
    ],
)
def test_projects_that_the_model_does_not_fit(studio, schema, message):
    problem = studio.post("setup", SETUP | {"schema": schema}, status=422)
    assert message in problem["detail"] and problem["pointer"] == "/schema"


def test_tasks_are_predicted(studio):
    question = {"tasks": [task(1, "win cash"), task(2, "lunch")], "project": "2.17", "label_config": CONFIG}
    question["params"] = {"login": None, "password": None, "context": None}
    empty = studio.post("predict", question)
    assert [one["result"] for one in empty["results"]] == [[], []], "who has learned nothing suggests nothing"
    for k in range(4):
        teach(studio, 10 + k, ("win cash", "lunch")[k % 2], ("spam", "ham")[k % 2])
    studio("GET", f"{MODEL}/file")  # of all rows, once they are learned
    found = studio.post("predict", question)
    first, second = found["results"]
    assert [one["result"][0]["value"] for one in (first, second)] == [{"choices": ["spam"]}, {"choices": ["ham"]}]
    assert (first["result"][0]["from_name"], first["result"][0]["to_name"]) == ("kind", "body")
    assert 0.5 < first["score"] <= 1.0 and first["model_version"] == found["model_version"] == "m-1.3"
    assert studio.post("predict", {"tasks": [], "label_config": CONFIG})["results"] == []


def test_choices_may_become_more_or_fewer(studio):
    """A model with classes of its own says that it lacks some; one that a project has made learns them."""
    more = CONFIG.replace("</Choices>", '<Choice value="eggs"/></Choices>')
    studio("PUT", "/v1/models/own", {"classes": ["ham", "spam"], "reading": {"text": ["text"]}})
    refused = studio.post("setup", SETUP | {"schema": more}, name="own", status=422)
    assert "the choices eggs are not classes of the model" in refused["detail"]
    for k in range(12):
        teach(studio, k, ("win cash", "lunch")[k % 2], ("spam", "ham")[k % 2])
    studio.post("setup", SETUP | {"schema": more})
    given = event("ANNOTATION_CREATED", annotation(20, "eggs"), task(20, "omelette"), more)
    assert studio.post("webhook", given) == {"learned": 1, "erased": 0}
    studio("GET", f"{MODEL}/file")
    for config, chosen in ((CONFIG, "spam"), (CONFIG.replace('<Choice value="spam"/>', ""), "ham")):
        [guess] = studio.post("predict", {"tasks": [task(1, "win cash")], "label_config": config})["results"]
        assert guess["result"][0]["value"] == {"choices": [chosen]}


def test_predictions_are_those_of_the_sdk(studio):
    sdk = pytest.importorskip("label_studio_sdk.label_interface", reason="Label Studio's SDK is not installed")
    objects = pytest.importorskip("label_studio_sdk.label_interface.objects")
    teach(studio, 1, "win cash", "spam")
    teach(studio, 2, "lunch", "ham")
    studio("GET", f"{MODEL}/file")
    found = studio.post("predict", {"tasks": [task(1, "win"), task(2, "lunch")], "label_config": CONFIG})
    theirs = sdk.LabelInterface(CONFIG)
    for one in found["results"]:
        assert theirs.validate_prediction(one, return_errors=True) == []
        parsed = objects.PredictionValue(**one)
        assert (parsed.score, parsed.model_version) == (one["score"], one["model_version"])
    sample = theirs.generate_sample_task()
    assert len(studio.post("predict", {"tasks": [{"data": sample}], "label_config": CONFIG})["results"]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it calls what its own dependencies have deprecated
        given = theirs.generate_sample_annotation() | {"id": 90}
    assert studio.post("webhook", event("ANNOTATION_CREATED", given, task(90, "sample")))["learned"] == 1


def test_annotations_teach_correct_and_erase(studio):
    assert teach(studio, 1, "win cash", "spam") == {"learned": 1, "erased": 0}
    teach(studio, 1, "win cash", "spam")
    once = [("label-studio-2-1", {"text": "win cash"}, "spam", "user-3")]
    assert rows(studio) == once, "columns that are shown, once"
    studio.post("webhook", updated(1, "win cash", "ham"))
    assert [row[2] for row in rows(studio)] == ["spam", "ham"]
    given = [annotation(2, "ham"), annotation(3, "spam")]
    both = event("ANNOTATIONS_CREATED", given, [task(2, "tea"), task(3, "cash")])
    assert studio.post("webhook", both)["learned"] == 2
    for erased in (2, 0):
        assert studio.post("webhook", deleted(1, 3, 99)) == {"learned": 0, "erased": erased}
    assert [row[0] for row in rows(studio)] == ["label-studio-2-2"]
    assert studio("GET", f"{MODEL}/examples/label-studio-2-1").status_code == 410
    batches = studio("GET", f"{MODEL}/batches").json()["batches"]
    assert [one["batch"] for one in batches] == ["label-studio"]


CANCELLED = {"was_cancelled": True}
STORIES = {  # events, how many rows each teaches and erases, and the rows that are left
    "skipped": ([(event("ANNOTATION_CREATED", annotation(1, **CANCELLED), task(1, "x")), (0, 0))], []),
    "skipped later": ([(created(2, "spam", "win"), (1, 0)), (updated(2, "win", **CANCELLED), (0, 1))], []),
    "labelled again": (  # in a row with another id, since the first was erased
        [(created(1, "spam", "win"), (1, 0)), (updated(1, "win", **CANCELLED), (0, 1)),
         *((updated(1, "win", label), (1, 0)) for label in ("ham", "ham", "spam"))],
        [("label-studio-2-1.2", "win", "ham"), ("label-studio-2-1.2", "win", "spam")],
    ),
    "labelled again and deleted": (
        [(created(1, "spam", "win"), (1, 0)), (updated(1, "win", **CANCELLED), (0, 1)),
         (updated(1, "win", "ham"), (1, 0)), (deleted(1), (0, 1))], [],
    ),
    "a text that was edited": (  # is another row
        [(created(1, "spam", "win"), (1, 0)), (updated(1, "win a chess game", "ham"), (1, 0))],
        [("label-studio-2-1", "win", "spam"), (None, "win a chess game", "ham")],
    ),
    "edited and deleted": (
        [(created(1, "spam", "win"), (1, 0)), (updated(1, "win a chess game", "ham"), (1, 0)),
         (deleted(1), (0, 2))], [],
    ),
    **{action: ([({"action": action, "project": PROJECT, "tasks": [{"id": 1}]}, (0, 0))], []) for action in (
        "START_TRAINING", "PROJECT_UPDATED", "TASKS_CREATED", "TASKS_DELETED", "LATER",
    )},
}  # fmt: skip


@pytest.mark.parametrize(("events", "left"), STORIES.values(), ids=STORIES)
def test_what_events_teach_and_erase(studio, events, left):
    for given, (learned, erased) in events:
        assert studio.post("webhook", given) == {"learned": learned, "erased": erased}
    found = [(id, features["text"], label) for id, features, label, _ in rows(studio)]
    assert found == [(id or one, text, label) for (id, text, label), (one, _, _) in zip(left, found, strict=True)]


def test_skipping_erases_no_row_that_waits_or_that_another_person_has_labelled(studio):
    studio("POST", f"{MODEL}/predict", {"id": "r-1", "features": {"text": "win"}})
    there = task(5, "", data={"text": "win"}, meta={"id": "r-1"})
    skipped = annotation(5, was_cancelled=True)
    for action in ("ANNOTATION_CREATED", "ANNOTATION_UPDATED"):
        assert studio.post("webhook", event(action, skipped, there))["erased"] == 0
    assert studio("GET", f"{MODEL}/examples/r-1").json()["features"] == {"text": "win"}
    studio.post("webhook", event("ANNOTATION_CREATED", annotation(6, "spam"), there))
    studio.post("webhook", event("ANNOTATION_CREATED", annotation(7, was_cancelled=True), there))
    assert [row[0] for row in rows(studio)] == ["r-1"]


def test_a_wrong_annotation_among_others_fails_alone(studio):
    given = [annotation(1, "eggs"), annotation(2, "ham"), annotation(3, "ham", "spam")]
    both = event("ANNOTATIONS_CREATED", given, [task(k, f"t{k}") for k in (1, 2, 3)])
    assert "'eggs'" in studio.post("webhook", both, status=422)["detail"]
    assert [row[0] for row in rows(studio)] == ["label-studio-2-2"]


def test_label_sets(studio):
    studio.post("setup", SETUP | {"schema": SEVERAL}, name="sets")
    for id, labels in ((1, ("ham", "spam")), (2, ()), (3, ("ham",))):
        given = event("ANNOTATION_CREATED", annotation(id, *labels), task(id, f"t{id}"), SEVERAL)
        assert studio.post("webhook", given, name="sets")["learned"] == 1
    found = lines_of(studio("GET", "/v1/models/sets/examples"))
    assert [row["label"] for row in found] == [["ham", "spam"], [], ["ham"]]
    studio("POST", "/v1/models/sets/learn?wait=learned", {"features": {"text": "x"}, "label": []})
    [guess] = studio.post("predict", {"tasks": [task(1, "t1")], "label_config": SEVERAL}, name="sets")["results"]
    assert set(guess["result"][0]["value"]["choices"]) <= {"ham", "spam"}


def test_a_task_that_came_from_here_labels_its_row(studio):
    studio("POST", f"{MODEL}/predict", {"id": "r-1", "features": {"text": "win", "n": 1}})
    [exported] = studio("GET", f"{MODEL}/exchange/label-studio?rows=waiting").json()
    there = task(5, "", data=exported["data"], meta=exported["meta"])
    studio.post("webhook", event("ANNOTATION_CREATED", annotation(5, "spam"), there))
    assert rows(studio) == [("r-1", {"text": "win", "n": 1}, "spam", "user-3")]


def test_what_is_wrong_with_requests(studio):
    ham = annotation(1, "ham")
    for path, body, pointer in (
        ("predict", {"tasks": [{"data": 7}], "label_config": CONFIG}, "/tasks/0/data"),
        ("predict", {"tasks": [{}], "label_config": CONFIG}, "/tasks/0"),
        ("predict", {"tasks": [task(1, "x")]}, "/label_config"),
        ("webhook", {}, ""),
        ("webhook", {"action": "ANNOTATION_CREATED", "project": PROJECT}, "/task"),
        ("webhook", event("ANNOTATION_CREATED", ham), "/task"),
        ("webhook", event("ANNOTATION_CREATED", annotation(1, "eggs"), task(1, "x")), "/annotation"),
        ("webhook", event("ANNOTATION_CREATED", annotation(1, "ham", "spam"), task(1, "x")), "/annotation"),
        ("webhook", event("ANNOTATION_CREATED", ham, task(1, "x"), "<View/>"), "/project/label_config"),
    ):
        problem = studio.post(path, body, status=422)
        assert problem.get("pointer") == pointer, (path, body)
    assert rows(studio) == []
    assert studio.post("predict", {"tasks": []}, status=404, name="none")["type"] == "urn:confidently:unknown-model"


def test_tokens_of_label_studio(local, tmp_path):
    """It sends a token as the password of Basic authentication; making a model needs more than predicting."""
    path, made = token_file(tmp_path, "predict,learn", "predict,admin")
    server = local(guard=Guard(read_tokens(path)))
    studio, boss = ({"Authorization": "Basic " + base64.b64encode(f"any:{one}".encode()).decode()} for one in made)
    setup = "/label-studio/m/setup"
    assert server("POST", setup, SETUP).status_code == 401
    assert server("POST", setup, SETUP, headers=studio).json()["type"] == "urn:confidently:forbidden"
    assert server("POST", setup, SETUP, headers=boss).status_code == 200
    assert server("POST", setup, SETUP, headers=studio).status_code == 200
    for wrong in ("Basic", "Basic !", "Basic " + base64.b64encode(b"any:wrong").decode(), "Basic /w=="):
        assert server("GET", "/label-studio/m/health", headers={"Authorization": wrong}).status_code == 401
    event = {"action": "START_TRAINING"}
    for sent in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):  # by a browser of itself
        answer = server("POST", "/label-studio/m/webhook", event, headers=studio | sent)
        assert answer.json()["type"] == "urn:confidently:cross-site"
    assert server("POST", "/label-studio/m/webhook", event, headers=studio).status_code == 200
