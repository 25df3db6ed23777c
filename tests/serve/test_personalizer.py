"""Azure Personalizer's API: Microsoft's clients for Python, unchanged, against a server in a process of its own."""

import json

import httpx
import pytest
from azure.ai.personalizer import PersonalizerAdministrationClient, PersonalizerClient
from azure.cognitiveservices.personalizer import PersonalizerClient as EarlierClient
from azure.cognitiveservices.personalizer.models import ErrorResponseException, RankableAction, RankRequest
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError, ResourceNotFoundError
from msrest.authentication import CognitiveServicesCredentials
from msrest.exceptions import HttpOperationError

from confidently.data import open_stream
from confidently.serve.exchange.personalizer import ranking
from tests.serve.running import PATIENCE, threaded, wait_until
from tests.serve.test_tokens import token_file

KEY = AzureKeyCredential("any")
CONTEXT = [{"user": {"plan": "free", "hours": 2.5}}, {"device": {"mobile": True}}]
ACTIONS = [
    {"id": "tea", "features": [{"taste": "mild", "price": 2}, {"tags": ["hot", "leaf"]}]},
    {"id": "coffee", "features": [{"taste": "strong", "price": 3}]},
    {"id": "juice", "features": [{"taste": "sweet", "price": 4}]},
]
SLOTS = [
    {"id": "Top", "baselineAction": "tea", "features": [{"size": "large"}]},
    {"id": "Side bar", "baselineAction": "juice", "positionFeatures": [{"size": "small"}]},
]
TASK = {"task": "decisions"}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """The address of a server without tokens."""
    with threaded(tmp_path_factory.mktemp("personalizer")) as server:
        yield server.url


def http(url, method, path, body=None, key=None):
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    with httpx.Client(timeout=PATIENCE, trust_env=False, headers=headers) as client:
        return client.request(method, url + path, json=body)


@pytest.fixture
def shop(url, request):
    """The address of a new model, which is the endpoint of clients."""
    settings = getattr(request, "param", {})
    path = f"/v1/models/shop-{sum(map(ord, request.node.name))}"
    http(url, "DELETE", path)
    assert http(url, "PUT", path, TASK | settings).status_code == 201
    return f"{url}{path}"


@pytest.fixture
def client(shop):
    with PersonalizerClient(shop, KEY) as made:
        yield made


@pytest.fixture
def earlier(shop):
    return EarlierClient(f"{shop}/", CognitiveServicesCredentials("any"))


def stored(client, id):
    """A decision as the model's own API shows it."""
    path = client._client._config.endpoint
    return http(path, "GET", f"/examples/{id}").json()


def request(**more):
    return {"contextFeatures": CONTEXT, "actions": ACTIONS} | more


# --- one action ------------------------------------------------------------------------------------------------------


def test_the_client_ranks_and_rewards(client):
    answer = client.rank(request(eventId="visit-1"))
    assert answer["eventId"] == "visit-1"
    assert answer["ranking"][0]["id"] == answer["rewardActionId"]
    assert {one["id"] for one in answer["ranking"]} == {"tea", "coffee", "juice"}
    assert sum(one["probability"] for one in answer["ranking"]) == pytest.approx(1.0)
    assert client.reward("visit-1", {"value": 0.5}) is None
    row = stored(client, "visit-1")
    assert row["label"] == 0.5
    chosen = next(action for action in ACTIONS if action["id"] == answer["rewardActionId"])
    assert row["features"] == {
        "context": {"user": {"plan": "free", "hours": 2.5}, "device": {"mobile": True}},
        "arm": chosen["id"], "action": {name: one[name] for one in chosen["features"] for name in one},
    }  # fmt: skip


def test_the_earlier_client_ranks_and_rewards(earlier, shop):
    actions = [RankableAction(id=one["id"], features=one["features"]) for one in ACTIONS]
    body = RankRequest(actions=actions, context_features=CONTEXT, excluded_actions=["tea"], event_id="a/b")
    answer = earlier.rank(body)
    assert answer.event_id == "a/b" and answer.reward_action_id in ("coffee", "juice")
    assert [one.probability for one in answer.ranking if one.id == "tea"] == [0.0]
    earlier.events.activate("a/b")
    earlier.events.reward("a/b", 1.0)
    assert http(shop, "GET", "/examples/a%2Fb").json()["label"] == 1.0


@pytest.mark.parametrize("version", ["v1.0", "v1.1-preview.3"])
def test_paths_with_a_version(shop, version):
    for slashes in ("/", "//"):
        path = f"{slashes}personalizer/{version}"
        assert http(shop, "POST", f"{path}/rank", request(eventId="e")).status_code == 201
        assert http(shop, "POST", f"{path}/multislot/rank", request(eventId="m", slots=SLOTS)).status_code == 201
        assert http(shop, "POST", f"{path}/multislot/events/m/activate").status_code == 204
    assert http(shop, "POST", "/personalizer/v2.0/rank", request()).status_code == 404


def test_the_chosen_action_is_first_and_then_the_more_probable():
    found = ranking(["a", "x", "b", "c", "d"], "c", {"a": 0.1, "b": 0.3, "c": 0.2, "d": 0.4})
    assert [one.id for one in found] == ["c", "x", "d", "b", "a"]


def test_an_event_is_ranked_once(client):
    first = client.rank(request(eventId="once"))
    client.reward("once", {"value": 1.0})
    assert client.rank(request(eventId="once")) == first
    with pytest.raises(HttpResponseError, match=r"\(BadRequest\) the id 'once' was used with other content") as caught:
        client.rank(request(eventId="once", contextFeatures=[{"user": {"plan": "paid"}}]))
    assert caught.value.error.target == "/eventId"


# --- features --------------------------------------------------------------------------------------------------------


def test_objects_with_the_same_names_lose_nothing(client, tmp_path):
    context = [{"user": {"age": 30}, "n": 1, "tag": "a"}, {"user": {"age": 31, "tier": "gold"}, "n": 2, "tag": "b"}]
    client.rank({"contextFeatures": context, "actions": [{"id": "one", "features": []}], "eventId": "e"})
    assert stored(client, "e")["features"] == {
        "context": {"user": {"age": [30, 31], "tier": "gold"}, "n": [1, 2], "tag": ["a", "b"]}, "arm": "one"
    }  # fmt: skip
    (tmp_path / "row.jsonl").write_text(json.dumps({"label": 1} | stored(client, "e")["features"]))
    [batch] = open_stream(tmp_path / "row.jsonl")
    assert {"context.user.age.0", "context.user.age.1", "context.n.0", "context.n.1", "context.tag=a"} <= set(
        batch.new_features.names
    )


@pytest.mark.parametrize("depth", [90, 400, 800, 2000])
def test_features_that_are_nested_deeply(shop, depth):
    """Those of several objects are merged, however deep they are."""
    deep = '{"a":' * depth + "1" + "}" * depth
    for features in (f"[{deep}]", f"[{deep},{deep}]"):
        body = f'{{"actions": [{{"id": "one"}}], "contextFeatures": {features}}}'
        answer = httpx.post(f"{shop}/personalizer/rank", content=body, timeout=PATIENCE, trust_env=False)
        assert answer.status_code in ((201,) if depth < 100 else (400, 422)), answer.text


# --- rewards and activation ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deferred", [False, True])
def test_the_first_reward_counts(client, earlier, deferred):
    """It may come before the activation; what is sent without an id gets one, and features may be left out."""
    first = client.rank({"actions": [{"id": "a"}, {"id": "b", "features": None}], "deferActivation": deferred})
    assert first["rewardActionId"] in ("a", "b") and client.rank(request())["eventId"] != first["eventId"]
    client.reward(first["eventId"], {"value": 0.25})
    client.reward(first["eventId"], {"value": 1.0})
    earlier.events.reward(first["eventId"], 0.5)
    if deferred:
        client.activate(first["eventId"])
    assert stored(client, first["eventId"])["label"] == 0.25


@pytest.mark.long("waits for two deadlines")
@pytest.mark.parametrize("shop", [{"policy": {"deadline": 0.5, "default_reward": -0.5}}], indirect=True)
def test_the_default_reward_counts_after_the_reward_wait_time(client):
    client.rank(request(eventId="late"))
    client.rank(request(eventId="deferred", deferActivation=True))
    wait_until(lambda: stored(client, "late")["label"] is not None)
    client.reward("late", {"value": 1.0})
    assert stored(client, "late")["label"] == -0.5
    assert stored(client, "deferred")["label"] is None
    client.activate("deferred")
    wait_until(lambda: stored(client, "deferred")["label"] is not None)
    assert stored(client, "deferred")["label"] == -0.5


@pytest.mark.parametrize("shop", [{"policy": {"apprentice": True}}], indirect=True)
def test_an_apprentice_gives_the_baseline(client):
    assert client.rank(request())["rewardActionId"] == "tea"
    assert client.rank(request(excludedActions=["tea"]))["rewardActionId"] == "coffee"
    slots = client.rank_multi_slot(request(slots=SLOTS))["slots"]
    assert [one["rewardActionId"] for one in slots] == ["tea", "juice"]


# --- several slots ---------------------------------------------------------------------------------------------------


def test_slots_are_ranked_rewarded_and_activated(client):
    answer = client.rank_multi_slot(request(slots=SLOTS, eventId="page", deferActivation=True))
    assert answer["eventId"] == "page"
    assert [one["id"] for one in answer["slots"]] == ["Top", "Side bar"]
    assert len({one["rewardActionId"] for one in answer["slots"]}) == 2
    client.activate_multi_slot("page")
    client.activate_multi_slot("page")
    client.reward_multi_slot("page", {"reward": [{"slotId": "Top", "value": 1.0}, {"slotId": "Side bar", "value": 0}]})
    client.reward_multi_slot("page", {"reward": [{"slotId": "Top", "value": 0.0}]})
    top, side = stored(client, "page%2FTop"), stored(client, "page%2FSide%20bar")
    assert (top["label"], side["label"]) == (1.0, 0.0)
    assert (top["features"]["slot"], side["features"]["slot"]) == ({"size": "large"}, {"size": "small"})
    wait_until(lambda: http(client._client._config.endpoint, "GET", "").json()["rows"] == 2)


@pytest.mark.long("waits for a deadline")
@pytest.mark.parametrize("shop", [{"policy": {"deadline": 0.5}}], indirect=True)
def test_activation_is_of_one_event(client):
    """Ids of events and of slots may have slashes, and one id may begin with another one."""
    names = {"a": "b/c", "a/b": "d", "ab": "c"}
    for event, slot in names.items():
        slots = [{"id": slot, "baselineAction": "tea"}]
        client.rank_multi_slot(request(slots=slots, eventId=event, deferActivation=True))
    client.activate_multi_slot("a")
    wait_until(lambda: stored(client, "a%2Fb%2Fc")["label"] is not None)
    assert [stored(client, id)["label"] for id in ("a%2Fb%2Fd", "ab%2Fc")] == [None, None]
    client.activate_multi_slot("a/b")
    for event in ("b", "a/b/d", "a/"):
        with pytest.raises(ResourceNotFoundError, match="no decisions for slots"):
            client.activate_multi_slot(event)


# --- what is wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("more", "kind", "target"), [
        ({"actions": []}, "invalid-body", "/actions"),
        ({"excludedActions": ["tea", "coffee", "juice"]}, "invalid-body", "/excludedActions"),
        ({"excludedActions": ["wine"]}, "invalid-body", "/excludedActions"),
        ({"actions": [{"id": "a"}, {"id": "a"}]}, "invalid-body", "/actions/1"),
        ({"actions": [{"id": 7}]}, "invalid-body", "/actions/0/id"),
        ({"contextFeatures": {"user": 1}}, "invalid-body", "/contextFeatures"),
        ({"contextFeatures": [{"n": 1e200}]}, "invalid-row", "/contextFeatures"),
        ({"context": []}, "invalid-body", None),
])  # fmt: skip
def test_errors_are_those_of_the_client(client, more, kind, target):
    with pytest.raises(HttpResponseError, match=r"^\(BadRequest\) ") as caught:
        client.rank(request(**more))
    error = caught.value.error
    assert (error.code, error.innererror["code"] if error.innererror else kind, error.target or None) == (
        "BadRequest", kind, target
    )  # fmt: skip
    assert caught.value.status_code == 422


def test_errors_of_slots(client):
    slots = [SLOTS[0], SLOTS[1] | {"excludedActions": ["juice"]}]
    with pytest.raises(HttpResponseError, match="the baseline 'juice' is excluded") as caught:
        client.rank_multi_slot(request(slots=slots))
    assert caught.value.error.target == "/slots/1/baselineAction"
    client.rank_multi_slot(request(slots=SLOTS, eventId="page"))
    with pytest.raises(ResourceNotFoundError, match="'page/Bottom'"):
        client.reward_multi_slot("page", {"reward": [{"slotId": "Bottom", "value": 1.0}]})


def test_events_that_were_never_ranked_are_unknown(client, earlier):
    for ask in (lambda: client.reward("nobody", {"value": 1.0}), lambda: client.activate("nobody")):
        with pytest.raises(ResourceNotFoundError, match=r"\(ResourceNotFound\) no decision has the id 'nobody'"):
            ask()
    with pytest.raises(HttpOperationError):
        earlier.events.reward("nobody", 1.0)
    with pytest.raises(ErrorResponseException, match="all actions are excluded") as caught:
        earlier.rank(RankRequest(actions=[RankableAction(id="a", features=[])], excluded_actions=["a"]))
    assert caught.value.error.error.code == "BadRequest"


def test_models_of_other_tasks_do_not_rank(url):
    http(url, "PUT", "/v1/models/words", {})
    with PersonalizerClient(f"{url}/v1/models/words", KEY) as client, pytest.raises(HttpResponseError) as caught:
        client.rank(request())
    assert "makes no decisions" in str(caught.value)
    with PersonalizerClient(f"{url}/v1/models/none", KEY) as client, pytest.raises(ResourceNotFoundError):
        client.rank(request())


def test_other_versions_of_the_api_are_refused(shop):
    client = PersonalizerClient(shop, KEY, api_version="2030-01-01")
    with pytest.raises(HttpResponseError, match="api-version: expected one of 2022-09-01-preview"):
        client.rank(request())


@pytest.mark.parametrize(
    "operation", ["get_service_configuration", "get_policy", "reset_model", "delete_logs", "get_model_properties"]
)
def test_management_is_not_there(shop, operation):
    client = PersonalizerAdministrationClient(shop, KEY)
    with pytest.raises(ResourceNotFoundError, match=r"\(ResourceNotFound\) .*there are rank, reward and activate"):
        getattr(client, operation)()


# --- tokens ----------------------------------------------------------------------------------------------------------


@pytest.mark.long("waits for the audit log")
def test_the_key_is_a_token(tmp_path):
    scopes = ("admin", "predict", "label")
    path, made = token_file(tmp_path, *scopes)
    keys = dict(zip(scopes, made, strict=True))
    with threaded(tmp_path / "served", "--token-file", path) as server:
        http(server.url, "PUT", "/v1/models/shop", TASK, keys["admin"])
        by_scope = {
            scope: PersonalizerClient(f"{server.url}/v1/models/shop", AzureKeyCredential(key))
            for scope, key in (keys | {"wrong": "wrong"}).items()
        }
        asked = {
            "rank": lambda client: client.rank(request(eventId="e")),
            "activate": lambda client: client.activate("e"),
            "reward": lambda client: client.reward("e", {"value": 1.0}),
        }
        needs = {"rank": "predict", "activate": "predict", "reward": "label"}
        for name, ask in asked.items():
            for scope, client in by_scope.items():
                if scope == needs[name]:
                    ask(client)
                    continue
                error = ClientAuthenticationError if scope == "wrong" else HttpResponseError
                with pytest.raises(error) as caught:
                    ask(client)
                assert caught.value.status_code == (401 if scope == "wrong" else 403)
                assert "token" in caught.value.error.message
        told = '"action":"personalizer_reward","model":"shop"'  # written once a second
        wait_until(lambda: told in http(server.url, "GET", "/v1/audit", key=keys["admin"]).text)
        earlier = EarlierClient(f"{server.url}/v1/models/shop", CognitiveServicesCredentials(keys["predict"]))
        assert earlier.rank(RankRequest(actions=[RankableAction(id="a", features=[])])).reward_action_id == "a"
