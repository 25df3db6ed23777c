"""Learning from files that grow, pipes and Kafka: every row once, across restarts."""

import json
import subprocess
import threading

import pytest

from confidently.serve.model.settings import Reading
from confidently.serve.problems import Problem
from confidently.serve.sources.follow import Follower, sources_of
from confidently.serve.sources.source import FileSource
from confidently.serve.waiting import Limits
from confidently.serve.work.listing import export
from tests.serve.running import COMMAND, wait_until

kafka = pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")


def line(k):
    return json.dumps({"label": "ab"[k % 2], "n": k})


class Following:
    """An engine with a model that follows a file."""

    def __init__(self, folder, engine):
        self.path, self.said, self.followers, self.engine = folder / "rows.jsonl", [], [], engine

    def ask(self, request):
        return self.engine.submit(request.blocking()).answer()

    def begin(self, source=None):
        source = source or FileSource(self.path)
        self.followers.append(Follower(self.engine, self.engine.find("m"), source, self.said.append))
        self.followers[-1].start()
        return self.followers[-1]

    def learned(self):
        rows, _ = self.ask(export(self.engine.find("m"), 0, 100_000))
        return [json.loads(bytes(row["features"]))["n"] for row in rows]

    def wait(self, n):
        """Wait until so many rows are learned, and end."""
        wait_until(lambda: len(self.learned()) == n)
        found = sorted(self.learned())
        self.stop()
        return found

    def stop(self):
        for follower in self.followers:
            follower.stop()
        self.engine.stop()


@pytest.fixture
def following(engines, tmp_path):
    """Makes models that follow the file rows.jsonl."""
    made = []

    def make(name="", **options):
        (tmp_path / name).mkdir(exist_ok=True)
        engine, _ = engines(f"{name}/served" if name else "served", **options)
        made.append(Following(tmp_path / name, engine))
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.mark.parametrize("seconds", [0.0, 3600.0])
def test_the_audit_log_tells_what_is_followed_and_how_many_rows_were_learned(following, monkeypatch, seconds):
    monkeypatch.setattr("confidently.serve.sources.follow.AUDIT_SECONDS", seconds)
    one = following()
    one.path.write_text("".join(line(k) + "\n" for k in range(700)))
    follower = one.begin()
    wait_until(lambda: follower.learned == 700)
    one.stop()
    found = [(entry.action, entry.model, entry.id, entry.rows) for entry in one.engine.audit.lines()]
    assert {entry[1:3] for entry in found} == {("m", FileSource(one.path).name)}
    assert sum(entry[3] for entry in found) == 700
    begun = ["begin_follow", *(["follow"] * 2 if seconds == 0.0 else []), "end_follow"]
    assert [entry[0] for entry in found] == begun


def test_a_file_that_grows_is_learned_once_across_restarts(following):
    one = following()
    one.path.write_text("".join(line(k) + "\n" for k in range(700)) + line(700)[:9])
    one.begin()
    wait_until(lambda: len(one.learned()) == 700)
    with open(one.path, "a") as file:
        file.write(line(700)[9:] + "\n" + line(701) + "\n")
    assert one.wait(702) == list(range(702))
    with open(one.path, "a") as file:
        file.write(line(702) + "\n")
    again = following()
    before = threading.active_count()
    again.begin().stop()
    again.followers.clear()
    assert threading.active_count() == before
    again.begin()
    assert again.wait(703) == list(range(703))


LEFT_OUT = {
    b'{"n": 1}': "the row has no label: nothing at the key 'label'", b"rubbish": "not a JSON object",
    b'{"label": "a", "x": 1e300}': "1e300", b"[1]": "", b'{"label": "a", "d": "\xff"}': "not UTF-8",
    b'{"label": "a", "x": ' + b"[" * 5000 + b"]" * 5000 + b"}": "nested deeper",
    b'{"label": "a", "d": 1e400}': "beyond the range", b'{"label": "a", "x": 1, "x": 2}': "twice",
    b"\xff\xfe": "not a JSON object", b'{"label": null, "n": 1}': "", b'{"label": "", "n": 1}': "",
}  # fmt: skip


def test_rows_that_are_left_out_are_told_with_their_places_and_counted(following):
    """The first ones each, then how many there are; those between them are learned."""
    bad = [*LEFT_OUT] * 3
    content = b"".join(b"%s\n%s\n\n" % (line(k).encode(), one) for k, one in enumerate(bad))
    for first in (0, 5, 8):  # so that each is among those that are told
        one = following(str(first), reading=Reading(drop=["d"]))
        one.path.write_bytes(b"".join(content.splitlines(keepends=True)[3 * first :]))
        follower = one.begin(FileSource(one.path))
        wait_until(lambda: follower.refused == len(bad) - first)  # noqa: B023
        n = len(bad) - first
        assert one.wait(n) == list(range(first, len(bad)))
        assert not any("--" in told for told in one.said)
        for told, (row, reason) in zip(one.said[:5], [*LEFT_OUT.items()][first:], strict=False):
            place, _, why = told.removeprefix(f"file:{one.path}, byte ").partition(": a row is left out: ")
            assert one.path.read_bytes()[int(place.replace(",", "")) :].startswith(row + b"\n")
            assert reason in why
        assert one.said[4].endswith("; from now on only their number is reported")
        assert ": 10 rows left out so far; this one: " in one.said[5]
        assert one.said[-1] == f"file:{one.path}: {n} rows left out"


def test_what_cannot_be_followed_is_told(following):
    class Faulty(FileSource):
        def rows(self, position, stopping):
            raise RuntimeError("a fault")

    one = following()
    one.begin().stop()
    assert "No such file" in one.said[0]
    one.path.write_text(line(0) + "\n" + line(1) + "\n")
    one.begin()
    wait_until(lambda: len(one.learned()) == 2)
    one.followers[-1].stop()
    one.path.write_text(line(5) + "\n")
    one.begin().stop()
    wait_until(lambda: len(one.said) == 2)
    assert "shorter" in one.said[1] and one.learned() == [0, 1]
    one.begin(Faulty(one.path)).stop()
    assert one.said[2] == f"file:{one.path}: RuntimeError: a fault; following ends"


@pytest.mark.long("waits between tries")
def test_rows_that_find_no_room_are_sent_again(following):
    """Every row is refused at first, while another one waits for the log, and none is lost."""
    one = following(limits=Limits(waiting_rows=2))
    one.path.write_text("".join(line(k) + "\n" for k in range(1300)))
    one.engine.waiting.add(2, 0)  # as rows of others do
    refused, submit = [], one.engine.writer.submit

    def counted(request):
        try:
            submit(request)
        except Problem as problem:
            refused.append(problem.kind)
            raise

    one.engine.writer.submit = counted
    follower = one.begin()
    wait_until(lambda: len(refused) >= 2)
    assert follower.learned == 0
    one.engine.waiting.add(-2, 0)
    wait_until(lambda: follower.learned == 1300 and one.engine.waiting.rows == 0)  # a question waits like rows do
    assert one.learned() == list(range(1300)) and set(refused) == {"overloaded"} and one.said == []


@pytest.mark.long("a process")
def test_a_pipe_teaches_a_server(following, tmp_path):
    command = [*COMMAND, str(tmp_path / "served"), "--port", "0", "--follow", "-", "--into", "m"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert "confidently serves" in server.stdout.readline()
        server.stdin.write("".join(line(k) + "\n" for k in range(50)))
        server.stdin.close()
        threading.Event().wait(1.0)
        server.terminate()
        assert server.wait(60) == 0
    assert following().wait(50) == list(range(50))


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


@pytest.mark.long("a broker")
def test_a_topic_of_kafka_is_learned_once_across_restarts(following, broker):
    address, send = broker
    for new, n in ((range(100), 100), (range(100, 160), 160), ((), 160)):
        send(new)
        one = following()
        for source in sources_of(f"kafka://{address}/rows"):
            one.begin(source)
        assert one.wait(n) == list(range(n))
    for url in ("kafka://", "kafka://host:1", "kafka://host:1/a/b"):
        with pytest.raises(Problem, match="expected kafka://HOST"):
            sources_of(url)
