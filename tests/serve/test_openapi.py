"""The OpenAPI document is complete, and the server does what it says (schemathesis)."""

import inspect
import json
import re
from importlib import import_module
from pkgutil import iter_modules

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from confidently.serve.engine.engine import Engine
from confidently.serve.http import handlers
from confidently.serve.http.api import MODEL, ROUTES
from confidently.serve.http.app import PAGE, make_app
from confidently.serve.http.openapi import COMMON, document
from confidently.serve.http.replies import JSON
from confidently.serve.problems import KINDS

HEADERS = {"Host": "localhost"}
REQUEST = re.compile(r'(?:request\("([A-Z]+)", |href(?: =|:) )(?:`\$\{)?modelPath\([\w.]+(?:, ["`]([^"`]*)["`])?\)')
# Routes that no view asks by a request about a model or a link: those for programs, and list_models, events, predict
# and post_sample, which the page reaches by a stream of events, by uploads and by a request about no model.
ELSEWHERE = {
    "list_models", "events", "predict", "post_sample", "rebuild", "snapshot", "backup", "get_audit",
    "get_followed", "get_snapshot", "get_learned", "get_prodigy", "post_prodigy", "post_label_studio",
    "decide", "activate", "reward", "backend_health", "backend_setup", "backend_predict", "backend_webhook",
    "personalizer_rank", "personalizer_rank_slots", "personalizer_reward", "personalizer_reward_slots",
    "personalizer_activate", "personalizer_activate_slots", "get_contribution", "merge",
}  # fmt: skip


def test_every_handler_is_in_the_table():
    modules = [import_module(f"{handlers.__name__}.{found.name}") for found in iter_modules(handlers.__path__)]
    names = [name for module in modules for name, _ in inspect.getmembers(module, inspect.iscoroutinefunction)]
    defined = {name for name in names if not name.startswith("_")}
    assert defined == {route.name for route in ROUTES}, "complete ROUTES in serve/http/api.py"


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_every_parameter_that_a_handler_reads_is_described(route):
    """The handler, or one of the functions of its module that it calls, reads each by its name."""
    below = [route.handler.__globals__.get(name) for name in route.handler.__code__.co_names if name.startswith("_")]
    source = "".join(map(inspect.getsource, [route.handler, *filter(inspect.isfunction, below)]))
    read = re.findall(r'call\.(?:number|fraction|choice|text|query\.get|query\.getlist)\("([\w-]+)"', source)
    assert sorted(read) == sorted(name for name, _ in route.query)


def test_every_route_has_its_place_on_the_page_or_is_for_programs():
    """The requests and links in the scripts of the page are those of the table."""
    found = [match for path in PAGE.glob("js/*.js") for match in REQUEST.findall(path.read_text(encoding="utf-8"))]
    asked = {(method or "GET", MODEL + re.sub(r"\$\{.*?\}", "{id}", rest.partition("?")[0])) for method, rest in found}
    routes = {(route.method, route.path): route.name for route in ROUTES}
    assert asked <= routes.keys(), "the page asks what the server does not answer"
    assert {routes[one] for one in routes.keys() - asked} == ELSEWHERE


def test_every_address_is_in_the_document():
    listed = {(method.upper(), path): one for path, all in document()["paths"].items() for method, one in all.items()}
    assert listed.keys() == {(route.method, route.path) for route in ROUTES}
    for (_, path), operation in listed.items():
        assert operation["summary"] and operation["operationId"]
        named = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
        assert named == {part[1:-1] for part in path.split("/") if part.startswith("{")}


def test_every_problem_has_a_status_that_the_document_names():
    internal = {kind for kind, (status, _) in KINDS.items() if str(status) not in COMMON}
    assert internal <= {"internal", "media-type"}


def test_the_references_of_the_document_lead_somewhere():
    found = document()
    targets = re.findall(r'"\$ref": "#/components/schemas/([^"]+)"', json.dumps(found))
    assert targets and json.dumps(found).count('"$ref"') == len(targets)
    assert {*targets} <= found["components"]["schemas"].keys()


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    """The operations of a server with a model that has rows, by method and path."""
    engine = Engine(tmp_path_factory.mktemp("served"))
    engine.start()
    app = make_app(engine)
    found = schemathesis.openapi.from_asgi("/openapi.json", app)
    yield {(one.ok().method.upper(), one.ok().path): one.ok() for one in found.get_all_operations()}
    engine.stop()


ROW = {"id": "row-1", "features": {"a": 1.5}}
MADE = {  # so that answers have contents: settings, and a label
    "m": ({"classes": ["ham", "spam"]}, "ham"), "numbers": ({"task": "numbers"}, 2.5),
    "sets": ({"multilabel": True}, ["ham", "short"]), "decisions": ({"task": "decisions"}, 1.0),
}  # fmt: skip
ASKED = {route.name: route for route in ROUTES if route.name not in ("events", "get_learned")}  # which never end


def refuses_a_row(response):
    """Whether one of several predictions is a problem."""
    if response.status_code != 200 or b'"predictions"' not in response.content:
        return False
    found = response.json()  # a list, if tasks of Label Studio have predictions
    return isinstance(found, dict) and any("status" in one for one in found["predictions"])


@pytest.mark.few(1)
@pytest.mark.parametrize("examples", [1, pytest.param(10, marks=pytest.mark.long("1,800 requests"))])
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["valid", "invalid"])
@pytest.mark.parametrize("name", ASKED)
def test_the_server_does_what_its_document_says(api, name, mode, examples):
    """No fault of the server, answers of the form described, and refusals where the form is wrong."""
    operation = api[ASKED[name].method, ASKED[name].path]

    @given(case=operation.as_strategy(generation_mode=mode), there=st.sampled_from([*MADE, None]))
    @settings(max_examples=examples, suppress_health_check=[*HealthCheck], phases=[Phase.explicit, Phase.generate])
    def check(case, there):
        wrong = {place for place, info in case.meta.components.items() if info.mode == GenerationMode.NEGATIVE}
        if there is not None and "m" in (case.path_parameters or {}) and wrong != {ParameterLocation.PATH}:
            case.path_parameters["m"] = there
            made, label = MADE[there]
            for method, path, body in (("PUT", MODEL, made), ("POST", f"{MODEL}/learn", ROW | {"label": label})):
                api[method, path].Case(path_parameters={"m": there}, body=body, media_type=JSON).call(headers=HEADERS)
        response = case.call(headers=HEADERS)
        # What has the right form may still be refused for what it says; a row of several is refused in its place.
        excluded = [positive_data_acceptance, *([negative_data_rejection] if refuses_a_row(response) else [])]
        case.validate_response(response, headers=HEADERS, excluded_checks=excluded)

    try:
        check()
    except Unsatisfiable:
        pytest.skip("nothing of it can be invalid")
