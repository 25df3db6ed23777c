"""Servers that cannot begin: one sentence says why, and the exit status is 2."""

import threading

import pytest

from confidently.cli import run
from confidently.serve.engine.engine import Engine
from confidently.serve.log.log_file import LogError
from tests.serve.rows import made, trained
from tests.serve.running import not_served, threaded


@pytest.mark.long("waits for four seconds")
def test_a_second_server_is_refused(tmp_path):
    engine = Engine(tmp_path)
    try:
        with pytest.raises(LogError, match="another server uses this directory"):
            Engine(tmp_path)
        status, told = not_served(tmp_path)
        assert status == 2 and "another server uses this directory" in told
    finally:
        engine.stop()


def test_a_server_that_is_about_to_stop_is_waited_for(tmp_path):
    engine = Engine(tmp_path)
    stopping = threading.Timer(0.5, engine.stop)
    stopping.start()
    Engine(tmp_path).stop()
    stopping.join()


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    told = f"confidently: error: {tmp_path}/file/served: Not a directory"
    assert not_served(tmp_path / "file" / "served") == (2, told)


def test_a_port_that_is_taken(tmp_path):
    with threaded(tmp_path / "first") as first:
        status, told = not_served(tmp_path / "second", "--port", first.url.rpartition(":")[2])
    assert status == 2 and "use another --port" in told


@pytest.mark.long("trains a topic model for each")
@pytest.mark.parametrize(("name", "told"), [
    ("none.cw", "none.cw: No such file or directory"),
    ("text.cw", "text.cw: not a model file, but text"),
    ("topics.cw", "topics.cw: expected a classifier or a regression model, got a topic model"),
    ("a b.cw", "a b.cw: the name of a model: expected 1 to 64 letters"),
])  # fmt: skip
def test_first_models_that_cannot_be_served(local, tmp_path, name, told):
    (tmp_path / "text.cw").write_text("text")
    (tmp_path / "texts.svm").write_text("0 1:1 2:1\n1 2:1 3:2\n")
    files = [str(tmp_path / name) for name in ("texts.svm", "topics.cw")]
    assert run(["topics", "train", files[0], "-q", "--topics", "2", "-o", files[1]]) == 0
    trained(tmp_path, made(20))
    (tmp_path / "trained.cw").rename(tmp_path / "a b.cw")
    status, line = not_served(tmp_path / "served", "--model", tmp_path / name)
    assert status == 2 and told in line
    assert local()("GET", "/v1/models").json() == {"models": []}


@pytest.mark.long("a start for each option")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--follow", "none.jsonl", "--into", "m"], "none.jsonl: No such file or directory"),
        (["--follow", ".", "--into", "m"], ".: Is a directory"),
        (["--follow", "-", "--into", "a b"], "--into a b: the name of a model: expected 1 to 64 letters"),
        (["--follow", "kafka://host", "--into", "m"], "expected kafka://HOST"),
        (["--follow", "rows.jsonl"], "--follow FILE and --into MODEL belong together"),
        (["--token-file", "none"], "none: No such file or directory"),
        (["--models", "team-*"], "--models says what a token is for"),
        (["--host", "0.0.0.0"], "use --token-file FILE"),
    ],
    ids=lambda part: part[1] if isinstance(part, list) else "",
)
def test_options_that_cannot_be_followed(tmp_path, options, told):
    status, line = not_served(tmp_path / "served", *options)
    assert status == 2 and told in line
