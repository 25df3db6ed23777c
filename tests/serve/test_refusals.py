"""Requests that are refused: each as the table says, with its reason, and none changes anything.

``python -m tests.serve.test_refusals`` writes ``refusals.txt`` again; read the difference before committing it.
"""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from confidently import OnlineRegressor
from confidently.bandits import DecisionModel
from tests.model_files import contents_of, write_contents
from tests.serve.conftest import Local
from tests.serve.rows import made, numbered, trained
from tests.serve.running import NDJSON, as_lines, kind_of, lines_of, teach

TABLE = Path(__file__).with_name("refusals.txt")
MADE = {
    "m": {"view": "none"}, "closed": {"classes": ["ham", "spam"]}, "numbers": {"task": "numbers"},
    "sets": {"multilabel": True}, "shop": {"task": "decisions"}, "plain": {"calibration": "none"},
    "strict": {"view": "none", "strict": ["unknown-class"]}, "keyed": {"key": "user"},
    "plain-numbers": {"task": "numbers", "calibration": "none"}, "empty": {"view": "none"},
}  # fmt: skip
DEEP, LARGE = b"[" * 101 + b"]" * 101, b"x" * (17 << 20)
ROW = {"features": {"a": 1}, "label": "ham"}
LEARN = [  # of the model m
    b'{"features": {"a": 1}', b"", b"\xff\xfe", b'{"features": {"a": NaN}, "label": "x"}',
    b'{"features": {"a": "\\ud800"}, "label": "x"}', b'{"features": {"a": 1}}', b'{"label": "x"}', b"[]",
    b'{"features": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b'}, "label": "x"}',
    b'{"features": {"a": ' + DEEP + b'}, "label": "x"}', b'{"features": {"a": 1}, "label": "x", "extra": 1}',
    *(b'{"features": %s, "label": "x"}' % features for features in (
        b"[1]", b"null", b'"a"', b"1", b'{"a": 1e999}', b'{"a": -1e101}', b'{"a": 1, "a": 2}', b'{"label": 1}',
        b'{"' + b"x" * 10_000_000 + b'": 1}', b'{"a": "' + LARGE + b'"}',
    )),
    *(b'{"features": {"a": 1}, "label": %s}' % label for label in (
        b"null", b'""', b"1.5", b"99999999999999999999", b'{"x": 1}', b'"a\\u0000b"', b'["x", "y"]',
    )),
    *(b'{"features": {"a": 1}, "label": "x", %s}' % more for more in (
        b'"weight": -1', b'"weight": 1e10', b'"weight": 2e-101', b'"weight": "1"', b'"id": ""', b'"id": 7',
        b'"id": "' + b"i" * 257 + b'"',
    )),
]  # fmt: skip
NUMBERS = ["text", "", None, [1.0], [1, 2], [], {}, 1e308, -1e51, "nan", "inf", "0x10", "1_0"]
REQUESTS = {
    "GET": [
        "/nothing", "/page/../api.py", "/page/..%2Fapi.py", "/page/%2e%2e/engine.py", "/page/nothing.js",
        "/v1/models/unknown", "/v1/models/unknown/queue", "m?unknown=1", "m/examples/unknown", "m/rows/none",
        *(f"m/examples?{query}" for query in ("after=-1", "after=x", "limit=0", "after=99999999999999999999")),
        *(f"m/rows?{query}" for query in (
            "text=", f"text={'x' * 257}", "state=lost", "outcome=maybe", "since=-1", "until=soon", "before=0",
            "limit=0", "limit=201", "labels=ham",
        )),
        "numbers/exchange/label-studio", "numbers/exchange/prodigy",
        "m/queue?n=0", "m/queue?n=101", "m/queue?n=x", f"m/queue?labeller={'x' * 65}",
        "m/queue?" + "&".join(f"hold=q{k}" for k in range(101)),
        *(f"shop/evaluate?{query}" for query in (
            "policy=", "policy=linucb", "policy=always:", "policy=lin_ucb:beta=1", "policy=lin_ucb:alpha",
            "policy=uniform:a=1", "policy=lin_ts:least_share=2", "policy=lin_ucb:alpha=nan", "periods=0",
            "periods=week", "&".join(["policy=uniform"] * 11), "reward_range=1", "reward_range=1,0",
            "reward_range=0,nan",
        )),
        "m/evaluate", "shop/contribution", "keyed/contribution", "empty/contribution", "empty/file", "numbers/file?x=1",
        "m/replication/learned?after=-1", "m/replication/learned?begun=x", "m/replication/learned?more=1",
        "m/replication/snapshot?of=x", "m/replication/snapshot", "unknown/replication/learned",
    ],
    "DELETE": [
        "/livez", "m/examples/nothing", "m/batches/nothing", "m/edits/3", "m/edits/x", "m/versions/1", "m/versions/7",
        "m/answers/nothing", "m/answers/r1",
    ],
    "PATCH": ["m"],
    "POST": [
        "/v1/models", "/v1/models/unknown/learn", ("/v1/samples", {"sample": "none"}),
        *(("m/learn", content) for content in LEARN),
        *(("numbers/learn", {"features": {"a": 1}, "label": label}) for label in NUMBERS),
        *(("numbers/learn", b'{"features": {"a": 1}, "label": %s}' % n) for n in (b"NaN", b"Infinity", b"1e999")),
        *(("numbers/labels?park=true", {"id": "new", "label": label}) for label in NUMBERS),
        ("m/learn?wait=never", ROW), ("m/learn?batch=", ROW), ("m/learn?batch=a%0Ab", ROW), ("m/learn", {"a": 1}),
        ("m/learn?dry_run=perhaps", ROW), ("m/learn?dry_run=true", {"label": "ham"}),
        ("closed/learn", ROW | {"label": "eggs"}), ("strict/learn", ROW | {"label": "eggs"}),
        ("keyed/learn", ROW), ("keyed/learn", ROW | {"features": {"user": None}}),
        ("keyed/learn", ROW | {"features": {"user": 1.5}}), ("keyed/predict", {"features": {"user": True}}),
        ("keyed/predict?set=0.9", {"features": {"user": "ann"}}),
        ("m/labels?park=yes", {"id": "q", "label": "ham"}), ("m/labels", {"id": "q", "label": "ham"}),
        ("m/labels", {"id": "r1", "label": "other"}), ("closed/labels?park=true", {"id": "q", "label": "eggs"}),
        ("m/predict", {}), ("m/predict", {"features": {}, "instances": []}), ("m/predict", {"instances": []}),
        ("m/predict", {"subject": "win"}), ("m/predict", b'{"features":{"a":1}}\n{"features":{"a":2}}\n'),
        *((f"m/predict?{name}={value}", {"id": "q", "features": {"a": 1}}) for name in ("set", "max_risk") for value in
          ("0", "1", "90", "-0.5", "nan", "inf", "1e999", "0.5x", "", "0_1")),
        *((f"m/predict?top_k={k}", {"features": {"a": 1}}) for k in ("0", "-1", "x", "1.5", "10001")),
        ("m/predict?novelty=yes", {"features": {}}), ("plain/predict?set=0.9", {"features": {}}),
        ("plain/predict?max_risk=0.1", {"features": {}}), ("sets/predict?max_risk=0.1", {"features": {}}),
        ("numbers/predict?max_risk=0.1", {"features": {}}), ("plain-numbers/predict?novelty=true", {"features": {}}),
        ("m/explain", {"features": {"a": 1}, "about": "nothing"}), ("empty/explain", {"features": {"a": 1}}),
        ("m/answers", {"id": "nothing", "label": "ham"}), ("m/answers", {"id": "q"}),
        ("m/answers", {"id": "r1", "label": "ham", "labeller": ""}), ("m/answers", {"id": "nothing", "skip": True}),
        ("m/answers", {"id": "r1", "label": "ham", "reason": "unclear"}),
        ("m/edits", {"from": "nothing", "to": "ham"}), ("m/edits", {"from": "ham", "to": "ham"}),
        ("m/edits", {"to": "ham"}), ("m/edits", {"from": "", "to": "ham"}), ("closed/edits", {"from": "ham"}),
        "m/versions/7/promote", "m/versions/x/promote", "m/rollback", "m/rollback?wait=x",
        ("m/decide", {"actions": ["a"]}),
        *(("shop/decide", body) for body in (
            {"actions": []}, {"actions": ["a", "b", "a"]}, {"actions": ["1", 1]},
            {"actions": ["a"], "excluded": ["a"]}, {"actions": ["a"], "excluded": ["z"]},
            {"actions": ["a"], "baseline": "z"}, {"actions": ["a", "b"], "baseline": "a", "excluded": ["a"]},
            b'{"actions": ["a"], "context": {"x": 1e400}}', {"actions": [{"id": "a", "features": [1]}]},
            {"actions": [{"id": "a", "least": 0.7}, {"id": "b", "least": 0.7}]},
            {"actions": ["a"], "slots": [{"id": "1"}, {"id": "2"}]},
            {"actions": ["a"], "slots": [{"id": "s"}, {"id": "s"}]},
            {"actions": ["a"], "slots": [{"id": "s", "excluded": ["z"]}]}, {"id": "d1", "actions": ["b"]},
        )),
        *(("shop/rewards", b'{"id":"d1","reward":%s}' % one)
          for one in (b"NaN", b"1e400", b'"much"', b"null", b"1e10")),
        ("shop/rewards", {"id": "d1", "reward": 2e6}), ("shop/rewards", {"id": "nobody", "reward": 1.0}),
        ("shop/rewards", {"id": "row", "reward": 1.0}), ("shop/activate", {"id": "nobody"}),
        *(("shop/learn", {"features": features, "label": 1.0}) for features in (
            {"device": "phone"}, {"arm": "a", "other": 1}, {"arm": ["a"]}, {"arm": "a", "context": 3},
            {"arm": "a", "action": {"size": 1e60}},
        )),
        ("shop/predict", {"features": {"device": "phone"}}),
        ("m/exchange/label-studio", {"data": {}}), ("numbers/exchange/label-studio", []),
        (f"m/exchange/label-studio?column={'x' * 201}", []), ("m/exchange/label-studio?column=", []),
        ("numbers/exchange/prodigy", []), ("m/merge", b"{}"), ("m/merge", b""),
        *(("/v1/backup", {"name": name}) for name in ("", "../b", "/b", ".b", "b" * 65, "x\n", "x/y")),
    ],
    "PUT": [
        *(f"/v1/models/{name}" for name in ("-a", ".a", "a b", "ä", "x" * 65, "a%2Fb", "<b>", "x%0A")),
        ("m", {"rulee": "arow"}), ("numbers", {"task": "classes"}), ("m", {"task": "numbers"}),
        *(("new", settings) for settings in (
            {"rule": "nothing"}, {"rule_parameters": {"z": 1}}, {"covariance": "nothing"}, {"classes": ["one"]},
            {"classes": ["a", "a"]}, {"classes": ["1", 1]}, {"auto": True, "rule": "cw_stdev"}, {"trees": False},
            {"view": "nothing"},
            {"dtype": "float16"}, {"prior_variance": 0}, {"forget": 2}, {"reading": {"bits": 99}},
            {"reading": {"bits": "x"}}, {"reading": {"ngrams": [3, 1]}}, {"reading": {"unknown": 1}}, {"unknown": 1},
            {"file": "0" * 64}, {"strict": ["typo"]}, {"strict": "all"}, {"ask": 1.5}, {"ask": -1}, {"bounds": [0, 1]},
            {"task": "classes", "rule": "ridge"}, {"task": "classes", "covariance": "auto"}, {"task": "number"},
            {"arms": "shared"}, {"policy": {"name": "greedy"}}, {"encoder": "foo"},
            {"encoder": "wordllama", "reading": {"ngrams": [1, 2]}}, {"key": "user", "auto": True}, {"max_age": 3},
            {"key": "label"}, {"key": "user", "multilabel": True},
            {"encoder_info": {"name": "a", "version": "", "dimension": 1, "answers": [[1]]}},
            *({"task": "numbers"} | more for more in (
                {"classes": ["a", "b"]}, {"multilabel": True}, {"multiclass": "joint", "classes": [1, 2]},
                {"rule": "arow"}, {"rule": "none"}, {"auto": True, "rule": "quantile"},
                {"auto": True, "covariance": "diag"}, {"covariance": "kernel"}, {"bounds": [1, 0]}, {"arms": "shared"},
                {"key": "user", "rule": "quantile"},
            )),
            *({"task": "decisions"} | more for more in (
                {"view": "unit"}, {"auto": True}, {"policy": {"name": "linucb"}},
                {"policy": {"parameters": {"beta": 1.0}}}, {"classes": ["a", "b"]}, {"key": "user"},
                {"encoder": "wordllama"},
            )),
        )),
        *(("new/file", content) for content in (b"", b"rubbish", b"\x08\x00\x00\x00\x00\x00\x00\x00{}      ")),
    ],
}  # fmt: skip


def filled(folder):
    """A server with models of all kinds, which have learned something."""
    server = Local(folder)
    for name, settings in MADE.items():
        assert server("PUT", f"/v1/models/{name}", settings).status_code == 201
    teach(server, made(20), 0, "m")
    teach(server, numbered(20, "numbers"), 0, "numbers")
    teach(server, made(120), 0, "strict")
    server("POST", "/v1/models/shop/decide", {"id": "d1", "actions": ["a"]})
    server("POST", "/v1/models/shop/predict", {"id": "row", "features": {"arm": "a"}})
    return server


def asked(server):
    """Send all requests; yield each with its answer."""
    for method, requests in REQUESTS.items():
        for request in requests:
            path, body = request if isinstance(request, tuple) else (request, None)
            options = {"content": body} if isinstance(body, bytes) else {"json": body} if body is not None else {}
            answer = server(method, path if path.startswith("/") else f"/v1/models/{path}", **options)
            shown = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
            yield f"{method} {path[:100]} {repr(shown[:100])[2:-1]}".rstrip(), answer


def told(name, answer):
    """What the table says of an answer."""
    assert len(answer.content) < 1500, name
    found = answer.json()
    return f"{name}\n    {answer.status_code} {kind_of(answer)} {found.get('pointer', '')}: {found['detail']}\n"


def state(server):
    models = server("GET", "/v1/models").json()["models"]
    return models, [lines_of(server("GET", f"/v1/models/{one['name']}/examples")) for one in models]


def table(server):
    return "".join(told(name, answer) for name, answer in asked(server))


def test_refusals_are_those_of_the_table_and_change_nothing(tmp_path):
    server = filled(tmp_path)
    try:
        before = state(server)
        assert table(server).splitlines() == TABLE.read_text().splitlines()
        after = state(server)
        for model in (*before[0], *after[0]):
            model["guards"] = model["waiting"] = None  # odd rows are counted
        assert after == before
        assert server.engine.waiting.rows == server.engine.waiting.size == 0
        assert not list(tmp_path.glob(".passing-*"))
        assert server("POST", "/v1/models/m/learn", ROW).status_code == 200
    finally:
        server.stop()


def test_of_lines_each_is_refused_alone_as_it_would_be_by_itself(tmp_path):
    server = filled(tmp_path)
    try:
        bad = [content for content in LEARN if len(content) < 10_000 and content.strip() and b"\n" not in content]
        good = [json.dumps(ROW | {"id": f"good-{k}"}).encode() for k in range(len(bad))]
        content = b"".join(b"%s\n%s\n" % pair for pair in zip(bad, good, strict=True))
        found = lines_of(server("POST", "/v1/models/m/learn?wait=learned", content=content, headers=NDJSON))
        assert [one["status"] for one in found[1::2]] == ["learned"] * len(good)
        for one, line in zip(bad, found[::2], strict=True):
            alone = server("POST", "/v1/models/m/learn", content=one).json()
            assert {**alone, "request": 0} == {**line, "request": 0}, one
    finally:
        server.stop()


def test_model_files_that_the_server_does_not_take(local, tmp_path, data, ok):
    """Of rows without names, of sets that cover by a column, of several numbers; a file of training it takes."""
    ok("train", data, "--rule=arow", "-o", tmp_path / "numbered.cw")
    OnlineRegressor().fit([{"a": 1.0}, {"a": 2.0}, {"a": 4.0}], np.eye(3)[:, :2]).save(tmp_path / "two.cw")
    by_column = partial(trained, tmp_path, [({"a": k % 3}, k % 2) for k in range(60)])
    files = {
        "svmlight": (tmp_path / "numbered.cw").read_bytes(), "2 numbers per row": (tmp_path / "two.cw").read_bytes(),
        "train it without --coverage-by": by_column("--coverage-by", "a"),
    }  # fmt: skip
    server = local()
    for reason, content in files.items():
        answer = server("PUT", "/v1/models/m/file", content=content)
        assert kind_of(answer) == "invalid-body" and reason in answer.json()["detail"]
    assert server("GET", "/v1/models").json() == {"models": []}


@pytest.mark.parametrize(("name", "change"), [
    ("scales", lambda a: 0 * a), ("scales", lambda a: a * np.nan), ("covariance", lambda a: -a),
    ("covariance", lambda a: a[:, :1]), ("mean", lambda a: a + np.inf), ("tried", lambda a: a + 2**40),
    ("drift.text", lambda a: a[::-1].copy()), ("contexts.start", lambda a: a * 2**40),
])  # fmt: skip
def test_damaged_files_of_decisions_are_refused_and_leave_nothing(local, tmp_path, name, change):
    model, path = DecisionModel(), tmp_path / "model"
    for k in range(9):
        model.learn({"x": k}, "abc"[k % 3], 1.0)
    model.save(path)
    header, arrays = contents_of(path)
    write_contents(path, header, arrays | {name: change(arrays[name])})
    server = local()
    assert kind_of(server("PUT", "/v1/models/m/file", content=path.read_bytes())) == "invalid-body"
    assert server("GET", "/v1/models").json() == {"models": []}


if __name__ == "__main__":
    import tempfile

    server = filled(Path(tempfile.mkdtemp()))
    TABLE.write_text(table(server))
    server.stop()
    print(as_lines([]), TABLE)
