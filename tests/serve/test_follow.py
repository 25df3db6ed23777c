"""Learning from files that grow, pipes and Kafka: every row once, across restarts."""

import json
import re
import subprocess
import sys
import threading
import time

import pytest

from confidently.serve.engine.engine import Engine
from confidently.serve.model.settings import ModelSettings, Reading
from confidently.serve.problems import Problem
from confidently.serve.sources.follow import Follower, sources_of
from confidently.serve.sources.source import FileSource
from confidently.serve.waiting import Limits
from confidently.serve.work.listing import export
from confidently.serve.work.models import create

kafka = pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")


def ask(engine, request):
    return engine.submit(request.blocking()).answer()


def started(folder, settings=ModelSettings(), limits=None):  # noqa: B008 (it cannot change)
    engine = Engine(folder, limits)
    engine.start()
    ask(engine, create(engine, "m", settings))
    return engine


def line(k):
    return json.dumps({"label": "ab"[k % 2], "n": k})


def line_of(k):
    return line(k).encode()


def learned(engine):
    rows, _ = ask(engine, export(engine.find("m"), 0, 100_000))
    return [json.loads(bytes(row["features"]))["n"] for row in rows]


def until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def follow(engine, source, said=None):
    follower = Follower(engine, engine.find("m"), source, (said if said is not None else []).append)
    follower.start()
    return follower


def audited(engine):
    return [(one.action, one.model, one.id, one.rows) for one in engine.audit.lines()]


@pytest.mark.parametrize("seconds", [0.0, 3600.0])
def test_the_audit_log_tells_what_is_followed_and_how_many_rows_were_learned(tmp_path, monkeypatch, seconds):
    monkeypatch.setattr("confidently.serve.sources.follow.AUDIT_SECONDS", seconds)
    path, engine = tmp_path / "rows.jsonl", started(tmp_path / "served")
    path.write_text("".join(line(k) + "\n" for k in range(700)))
    source = FileSource(path)
    follower = follow(engine, source)
    until(lambda: follower.learned == 700)
    follower.stop()
    engine.stop()
    found = audited(engine)
    assert {one[1:3] for one in found} == {("m", source.name)} and sum(one[3] for one in found) == 700
    assert [one[0] for one in found] == ["begin_follow", *(["follow"] * 2 if seconds == 0.0 else []), "end_follow"]


def test_a_file_that_grows_is_learned_once_across_restarts(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(line(k) + "\n" for k in range(700)) + line(700)[:9])
    engine = started(tmp_path / "served")
    follower = follow(engine, FileSource(path))
    until(lambda: len(learned(engine)) == 700)
    with open(path, "a") as file:
        file.write(line(700)[9:] + "\n" + line(701) + "\n")
    until(lambda: len(learned(engine)) == 702)
    follower.stop()
    engine.stop()
    with open(path, "a") as file:
        file.write(line(702) + "\n")
    engine = started(tmp_path / "served")
    follower = follow(engine, FileSource(path))
    until(lambda: len(learned(engine)) == 703)
    assert learned(engine) == list(range(703))
    follower.stop()
    engine.stop()


def test_rows_that_cannot_be_read_are_left_out_and_told(tmp_path):
    path, said = tmp_path / "rows.jsonl", []
    bad = ['{"n": 1}', "rubbish", '{"label": "a", "x": 1e300}', "[1]", ""]
    path.write_text("\n".join([line(0), *bad, line(1)]) + "\n")
    engine = started(tmp_path / "served")
    follower = follow(engine, FileSource(path), said)
    until(lambda: len(learned(engine)) == 2)
    assert learned(engine) == [0, 1] and follower.refused == 4 == len(said)
    assert "has no label" in said[0] and "1e300" in said[2]
    follower.stop()
    engine.stop()


def test_a_line_that_no_decoder_takes_is_left_out_and_the_next_ones_are_learned(tmp_path):
    """Before, the first such line ended the thread without a word, and each restart came to it again."""
    path, said = tmp_path / "rows.jsonl", []
    deep = b'{"label": "a", "x": ' + b"[" * 5000 + b"]" * 5000 + b"}"
    bad = [
        b'{"label": "a", "d": "\xff"}',
        deep,
        b'{"label": "a", "d": 1e400}',
        b'{"label": "a", "x": 1, "x": 2}',
        b"\xff\xfe",
    ]
    lines = [line for k, one in enumerate(bad) for line in (line_of(k), one)]
    path.write_bytes(b"\n".join([*lines, line_of(len(bad)), b""]))
    engine = started(tmp_path / "served", ModelSettings(reading=Reading(drop=["d"])))
    follower = follow(engine, FileSource(path), said)
    until(lambda: len(learned(engine)) == len(bad) + 1)
    assert learned(engine) == list(range(len(bad) + 1)) and follower.refused == len(bad) == len(said)
    for told, reason in zip(
        said, ["not UTF-8", "nested deeper", "beyond the range", "twice", "not a JSON object"], strict=True
    ):
        assert "a row is left out" in told and reason in told
    follower.stop()
    engine.stop()


def test_rows_that_are_left_out_are_told_with_their_places_and_counted(tmp_path):
    """The first ones each, then how many there are; nothing names options that a server does not have."""
    path, said = tmp_path / "rows.jsonl", []
    bad = ['{"n": 1}', '{"label": null, "n": 1}', '{"label": "", "n": 1}', "[]"] * 8
    lines = [one for k, one_bad in enumerate(bad) for one in (line(k), one_bad)]
    path.write_text("".join(one + "\n" for one in lines))
    engine = started(tmp_path / "served")
    follower = follow(engine, FileSource(path), said)
    until(lambda: len(learned(engine)) == len(bad))
    follower.stop()
    engine.stop()
    content = path.read_bytes()
    assert len(said) == 7 and not any("--" in told for told in said)
    for told, one in zip(said[:5], bad, strict=False):
        place = int(
            re.fullmatch(f"file:{re.escape(str(path))}, byte ([0-9,]+): a row is left out: .*", told)[1].replace(
                ",", ""
            )
        )
        assert content[place:].startswith(one.encode() + b"\n")
    assert said[0].endswith("the row has no label: nothing at the key 'label'")
    assert said[4].endswith("; from now on only their number is reported")
    assert ": 10 rows left out so far; this one: " in said[5]
    assert said[6] == f"file:{path}: 32 rows left out"


def test_a_fault_of_following_is_told(tmp_path):
    class Faulty(FileSource):
        def rows(self, position, stopping):
            raise RuntimeError("a fault")

    path, said = tmp_path / "rows.jsonl", []
    path.touch()
    engine = started(tmp_path / "served")
    follow(engine, Faulty(path), said).stop()
    assert said == [f"file:{path}: RuntimeError: a fault; following ends"]
    engine.stop()


def test_rows_that_find_no_room_are_sent_again(tmp_path):
    """Every row is refused at first, while another one waits for the log, and none is lost."""
    path, said = tmp_path / "rows.jsonl", []
    path.write_text("".join(line(k) + "\n" for k in range(1300)))
    engine = started(tmp_path / "served", limits=Limits(waiting_rows=2))
    engine.waiting.add(2, 0)  # as rows of others do
    refused, submit = [], engine.writer.submit

    def counted(request):
        try:
            submit(request)
        except Problem as problem:
            refused.append(problem.kind)
            raise

    engine.writer.submit = counted
    follower = follow(engine, FileSource(path), said)
    until(lambda: len(refused) >= 2)
    assert follower.learned == 0
    engine.waiting.add(-2, 0)
    until(lambda: follower.learned == 1300 and engine.waiting.rows == 0)  # a question waits like rows do
    assert learned(engine) == list(range(1300)) and set(refused) == {"overloaded"}
    follower.stop()
    engine.stop()
    assert said == []


def test_a_file_that_became_shorter_is_not_followed(tmp_path):
    path, said = tmp_path / "rows.jsonl", []
    path.write_text(line(0) + "\n" + line(1) + "\n")
    engine = started(tmp_path / "served")
    follower = follow(engine, FileSource(path))
    until(lambda: len(learned(engine)) == 2)
    follower.stop()
    path.write_text(line(5) + "\n")
    follow(engine, FileSource(path), said).stop()
    until(lambda: said)
    assert "shorter" in said[0] and learned(engine) == [0, 1]
    engine.stop()


def test_a_missing_file_is_told(tmp_path):
    said, engine = [], started(tmp_path / "served")
    follow(engine, FileSource(tmp_path / "none.jsonl"), said).stop()
    assert "No such file" in said[0]
    engine.stop()


@pytest.mark.long("a process")
def test_a_pipe_teaches_a_server(tmp_path):
    command = [sys.executable, "-m", "confidently", "serve", str(tmp_path / "served"), "--port", "0"]
    with subprocess.Popen(
        [*command, "--follow", "-", "--into", "m"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert "confidently serves" in server.stdout.readline()
        server.stdin.write("".join(line(k) + "\n" for k in range(50)))
        server.stdin.close()
        time.sleep(1.0)
        server.terminate()
        assert server.wait(60) == 0
    engine = Engine(tmp_path / "served")
    engine.start()
    assert learned(engine) == list(range(50))
    engine.stop()


@pytest.fixture
def broker():
    """A cluster of the client's library, in this process: real requests to a broker that forgets everything."""
    producer = kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none", "log_level": 2})
    [one] = producer.list_topics(timeout=30).brokers.values()

    def send(numbers):
        for k in numbers:
            producer.produce("rows", line(k).encode(), partition=k % 2)
        assert producer.flush(30) == 0

    send([])
    return f"{one.host}:{one.port}", send


def test_a_topic_of_kafka_is_learned_once_across_restarts(tmp_path, broker):
    address, send = broker
    for new, n in ((range(100), 100), (range(100, 160), 160), ((), 160)):
        send(new)
        engine = started(tmp_path / "served")
        followers = [follow(engine, source) for source in sources_of(f"kafka://{address}/rows")]
        until(lambda engine=engine, n=n: len(learned(engine)) == n)
        for follower in followers:
            follower.stop()
        assert sorted(learned(engine)) == list(range(n))
        engine.stop()


def test_wrong_addresses_of_kafka_are_told(broker):
    for url in ("kafka://", "kafka://host:1", "kafka://host:1/a/b"):
        with pytest.raises(Problem, match="expected kafka://HOST"):
            sources_of(url)


def test_a_stopped_follower_ends_its_thread(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.touch()
    engine = started(tmp_path / "served")
    before = threading.active_count()
    follow(engine, FileSource(path)).stop()
    assert threading.active_count() == before
    engine.stop()
