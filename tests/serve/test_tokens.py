"""Who may do what: tokens and their scopes, sessions of browsers, requests of other sites."""

import hashlib
import json
import time
from itertools import combinations
from types import SimpleNamespace

import pytest

from confidently.serve.http import tokens
from confidently.serve.http.api import ROUTES
from confidently.serve.http.tokens import COOKIE, CSRF, SCOPES, SESSION_SECONDS, Guard, new_token, read_tokens
from confidently.serve.server import Server, UsageError
from tests.serve.conftest import Local
from tests.serve.running import kind_of, threaded, wait_until

FIRST = "/v1/models/m"
ALL = ",".join(SCOPES)
PATTERNS = {"*": {"m", "team-a", "other"}, "m": {"m"}, "team-*": {"team-a"}, "m,team-*": {"m", "team-a"}}


def token_file(folder, *given):
    """A file of tokens, each with these scopes, or with a name, scopes and models; and the tokens."""
    made = [new_token(*([f"name-{k}", one] if isinstance(one, str) else one)) for k, one in enumerate(given)]
    path = folder / "tokens"
    path.write_text("# tokens\n\n" + "".join(f"{line}\n" for _, line in made))
    return path, [token for token, _ in made]


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def guarded(local, tmp_path):
    """A server with one token for each scope, and the tokens by scope."""
    path, tokens = token_file(tmp_path, *SCOPES)
    return local(guard=Guard(read_tokens(path))), dict(zip(SCOPES, tokens, strict=True))


# --- tokens ----------------------------------------------------------------------------------------------------------


SETS = [",".join(some) for n in (1, 3) for some in combinations(SCOPES, n)]


@pytest.fixture(scope="module")
def tokened(tmp_path_factory):
    """A server with tokens of each scope alone and of all but one, for every kind of models, and the tokens."""
    given = [(scopes, models) for scopes in [*SETS, ALL] for models in PATTERNS]
    path, tokens = token_file(tmp_path_factory.mktemp("tokened"), *(("one", *one) for one in given))
    server = Local(path.parent / "served", guard=Guard(read_tokens(path)))
    yield server, dict(zip(given, tokens, strict=True))
    server.stop()


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long("7,000 requests"))])
@pytest.mark.parametrize("route", ROUTES, ids=lambda one: one.name)
def test_every_address_wants_its_scope_and_its_model(tokened, route, every):
    """On a model of each pattern: what is not said is refused."""
    server, made = tokened
    if not every:
        made = {given: made[given] for given in made if given[0] == ALL or given[1] == "*"}
    names = ("m", "team-a", "other") if "{m}" in route.path else (None,)
    for name in names:
        address = route.path.replace("{m}", str(name)).replace("{id}", "x")
        refused = server(route.method, address)
        assert kind_of(refused) == "unauthorized"
        assert refused.headers["www-authenticate"] == "Bearer"
        for (scopes, models), token in made.items():
            allowed = route.some if name is None and models != "*" else name is None or name in PATTERNS[models]
            if route.scope in scopes.split(",") and allowed:
                if route.name != "events":  # which do not end
                    assert server(route.method, address, headers=bearer(token)).status_code not in (401, 403, 500)
                continue
            answer = server(route.method, address, headers=bearer(token))
            assert kind_of(answer) == "forbidden"
            told = answer.json()["detail"]
            assert f"scope {route.scope!r}" in told or f"the token is for {', '.join(models.split(','))}" in told


def test_a_token_for_some_models_shows_no_others(local, tmp_path):
    path, made = token_file(tmp_path, *(("one", "predict,admin", models) for models in ("*", "team-*", "other")))
    server = local(guard=Guard(read_tokens(path)))
    everything, team, _ = map(bearer, made)
    for name in ("team-a", "team-b", "other"):
        server("PUT", f"/v1/models/{name}", {}, headers=everything)
    assert kind_of(server("PUT", "/v1/models/more", {}, headers=team)) == "forbidden"
    assert server("PUT", "/v1/models/team-c", {}, headers=team).status_code == 201
    shown = [one["name"] for one in server("GET", "/v1/models", headers=team).json()["models"]]
    assert shown == ["team-a", "team-b", "team-c"]
    for method, below in (("GET", ""), ("DELETE", ""), ("GET", "/metrics")):
        missing = server(method, f"/v1/models/team-x{below}", headers=team)
        assert kind_of(missing) == "unknown-model"
        assert "team-a, team-b, team-c)" in missing.json()["detail"] and "other" not in missing.text
    assert kind_of(server("GET", "/metrics", headers=team)) == "forbidden"
    assert server("GET", "/metrics", headers=everything).status_code == 200


@pytest.mark.long("waits for an event")
def test_events_tell_of_the_models_of_the_token(tmp_path):
    path, [everything, team] = token_file(tmp_path, *(("one", "predict,admin", models) for models in ("*", "team-*")))
    with threaded(tmp_path / "served", "--token-file", path) as server, server.client() as client:
        for name in ("team-a", "other"):
            client.put(f"/v1/models/{name}", json={}, headers=bearer(everything))
        with client.stream("GET", "/v1/events", headers=bearer(team)) as stream:
            told = next(line for line in stream.iter_lines() if line.startswith("data:"))
        assert [one["name"] for one in json.loads(told.removeprefix("data:"))["models"]] == ["team-a"]


@pytest.mark.parametrize(
    "value", ["Bearer", "Bearer ", "Bearer wrong", "Basic abc", "Bearer \xe9", "bearer  x", "x" * 10_000]
)
def test_wrong_tokens(guarded, value):
    server, _ = guarded
    answer = server("GET", "/v1/models", headers={"Authorization": value.encode("latin-1")})
    assert kind_of(answer) == "unauthorized"
    assert value not in answer.text or len(value) < 10


def test_what_needs_no_token(guarded):
    server, tokens = guarded
    for path in ("/livez", "/readyz", "/openapi.json"):
        assert server("GET", path).status_code == 200
    assert kind_of(server("GET", "/metrics")) == "unauthorized"
    assert server("GET", "/metrics", headers=bearer(tokens["predict"])).status_code == 200
    assert server("GET", "/v1/models", headers=bearer(tokens["predict"]) | {"Host": "example.org"}).status_code == 200


def test_a_file_of_tokens_tells_no_token(tmp_path):
    token, line = new_token("ann", "predict,label")
    assert token not in line and hashlib.sha256(token.encode()).hexdigest() in line
    (tmp_path / "tokens").write_text(f"# comment\n\n{line}\n")
    [found] = read_tokens(tmp_path / "tokens")
    assert (found.name, found.scopes) == ("ann", {"predict", "label"})


@pytest.mark.parametrize(("wrong", "told"), [
    *((("ann", scopes), "scopes: expected some of") for scopes in ("", "all", "predict,", "Predict")),
    *((("ann", "predict", models), "models: expected names") for models in ("", "team-*,", "*-team", "a b", "**")),
    *(((name, "predict"), "the name of a token") for name in ("", "a b", "#ann")),
])  # fmt: skip
def test_tokens_that_are_not_made(wrong, told):
    with pytest.raises(ValueError, match=told):
        new_token(*wrong)


@pytest.mark.parametrize(("models", "seen"), [("m", "m"), ("team-*,m", "m team-a team-"), ("*", "m team-a team- x")])
def test_a_token_for_models_is_read_as_it_was_made(tmp_path, models, seen):
    _, line = new_token("ann", "predict", models)
    (tmp_path / "tokens").write_text(line)
    [found] = read_tokens(tmp_path / "tokens")
    assert [name for name in ("m", "team-a", "team-", "x") if found.sees(name)] == sorted(seen.split(), key=seen.index)


@pytest.mark.parametrize("text", [
    "", "# only a comment\n", "ann predict\n", f"ann all {'0' * 64}\n", f"ann predict {'0' * 63}\n",
    f"ann predict *-team {'0' * 64}\n",
])  # fmt: skip
def test_files_that_are_no_tokens(tmp_path, text):
    path = tmp_path / "tokens"
    path.write_text(text)
    with pytest.raises(ValueError, match="--new-token") as caught:
        read_tokens(path)
    assert str(path) in str(caught.value)


def test_without_tokens_only_this_machine_is_served(tmp_path):
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with pytest.raises(UsageError, match="--token-file"):
            Server(tmp_path, host)


def test_sighup_reads_the_tokens_again(tmp_path):
    path, [old] = token_file(tmp_path, "admin")
    with threaded(tmp_path / "served", "--token-file", path) as server:
        with server.client() as client:
            assert client.get("/v1/models", headers=bearer(old)).status_code == 403
            assert client.put(FIRST, json={}, headers=bearer(old)).status_code == 201
            _, [new] = token_file(tmp_path, "admin")
            server.reload()
            wait_until(lambda: client.put(FIRST, json={}, headers=bearer(new)).status_code == 200)
            assert client.put(FIRST, json={}, headers=bearer(old)).status_code == 401
            path.write_text("rubbish")
            server.reload()
            wait_until(lambda: any("stay as they were" in line for line in server.told))
            assert client.put(FIRST, json={}, headers=bearer(new)).status_code == 200
        assert server.stop() == 0


# --- browsers --------------------------------------------------------------------------------------------------------


def test_a_browser_shows_its_token_once(guarded):
    server, tokens = guarded
    assert kind_of(server("POST", "/session", {"token": "wrong"})) == "unauthorized"
    assert kind_of(server("POST", "/session", {"token": 1})) == "invalid-body"
    assert server("GET", "/session").json() == {"needed": True, "csrf": "", "scopes": []}
    answer = server("POST", "/session", {"token": tokens["admin"]})
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    assert tokens["admin"] not in cookie
    found = {"Cookie": cookie.partition(";")[0]}
    csrf = answer.json()["csrf"]
    assert server("GET", "/session", headers=found).json() == {"needed": False, "csrf": csrf, "scopes": ["admin"]}
    assert server("GET", f"{FIRST}/file", headers=found).status_code == 404
    assert kind_of(server("PUT", FIRST, {}, headers=found)) == "cross-site"
    assert kind_of(server("PUT", FIRST, {}, headers=found | {CSRF: "wrong"})) == "cross-site"
    for foreign in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        assert kind_of(server("PUT", FIRST, {}, headers=found | {CSRF: csrf} | foreign)) == "cross-site"
        assert kind_of(server("POST", "/session", {"token": tokens["admin"]}, headers=foreign)) == "cross-site"
    assert server("PUT", FIRST, {}, headers=found | {CSRF: csrf, "Origin": "http://localhost"}).status_code == 201
    assert kind_of(server("POST", f"{FIRST}/predict", {}, headers=found | {CSRF: csrf})) == "forbidden"
    forged = {"Cookie": f"{COOKIE}=forged"}
    assert kind_of(server("GET", "/v1/models", headers=forged)) == "unauthorized"


def test_a_session_ends_after_its_time(guarded, monkeypatch):
    server, tokens_of = guarded
    answer = server("POST", "/session", {"token": tokens_of["predict"]})
    found, began = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}, time.monotonic()
    assert f"Max-Age={SESSION_SECONDS:.0f}" in answer.headers["set-cookie"]
    for seconds, status in ((SESSION_SECONDS - 60, 200), (SESSION_SECONDS + 60, 401)):
        monkeypatch.setattr(tokens, "time", SimpleNamespace(monotonic=lambda at=began + seconds: at))
        assert server("GET", "/v1/models", headers=found).status_code == status
        assert server("GET", "/session", headers=found).json()["needed"] == (status == 401)


def test_a_session_ends_with_its_token(local, tmp_path):
    path, [token] = token_file(tmp_path, "predict")
    guard = Guard(read_tokens(path))
    server = local(guard=guard)
    answer = server("POST", "/session", {"token": token})
    found = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
    assert server("GET", "/v1/models", headers=found).status_code == 200
    token_file(tmp_path, "predict")
    guard.tokens = read_tokens(path)
    assert kind_of(server("GET", "/v1/models", headers=found)) == "unauthorized"


@pytest.mark.parametrize("headers", [
    {"Host": "evil.example"}, {"Host": "127.0.0.1.evil.example"}, {"Host": "localhost.evil.example:80"},
    {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://localhost:9999"},
    {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
], ids=str)  # fmt: skip
def test_pages_of_other_sites_cannot_use_a_server_without_tokens(local, headers):
    server = local()
    assert kind_of(server("PUT", FIRST, {}, headers=headers)) == "cross-site"
    assert server("GET", "/v1/models").json() == {"models": []}
    if "Host" in headers:
        assert kind_of(server("GET", "/v1/models", headers=headers)) == "cross-site"


@pytest.mark.parametrize("host", ["localhost", "localhost:8642", "127.0.0.1:1", "[::1]:8642"])
def test_this_machine_has_several_names(local, host):
    headers = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    assert local()("PUT", FIRST, {}, headers=headers).status_code == 201
