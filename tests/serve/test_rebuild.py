"""Training again from the log: the model is then that of the rows that are left."""

import json
import threading

from confidently.serve.engine.requests import Request
from confidently.serve.work.checking import taught
from confidently.serve.work.erasing import erase
from confidently.serve.work.listing import export
from confidently.serve.work.models import download
from confidently.serve.work.teaching import learn
from confidently.serve.work.versions import train_again
from tests.serve.rows import trained as trained_on
from tests.serve.running import wait_until


def ask(engine, request):
    return engine.submit(request.blocking()).answer()


def row(k):
    label = "ham" if (k * 7) % 5 < 3 else "spam"
    return {"n": k % 11, "word": f"w{k % 40}", "x": (k * 37 % 101) / 10.0 - 5.0 * (label == "ham")}, label


def teach(engine, hosted, numbers, wait=True):
    rows = [taught(hosted, f"r{k}", json.dumps(row(k)[0]).encode(), row(k)[1], 1.0) for k in numbers]
    return ask(engine, learn(engine, hosted, rows, wait))


def model_file(engine, hosted, path):
    engine.ask(download(hosted, path).blocking()).answer()
    return path.read_bytes()


def trained(engine, hosted, folder):
    """The file that ``confidently train`` makes of the rows that are left."""
    rows, _ = ask(engine, export(hosted, 0, 100_000))
    return trained_on(folder, [(json.loads(bytes(one["features"])), json.loads(bytes(one["label"]))) for one in rows])


def rebuilt(engine, hosted):
    """Train a model again, and wait until the new version answers; return its number."""
    number = ask(engine, train_again(engine, hosted, "again"))
    wait_until(lambda: hosted.live.number == number)
    return number


def test_a_rebuilt_model_is_that_of_the_rows_that_are_left(engines, tmp_path, capsys):
    (engine, hosted), n = engines(), 1040
    teach(engine, hosted, range(n))
    for k in range(0, n, 9):
        erase(engine, hosted, f"r{k}")
    teach(engine, hosted, range(n, n + 30))
    before = model_file(engine, hosted, tmp_path / "before.cw")
    number = rebuilt(engine, hosted)
    after = model_file(engine, hosted, tmp_path / "after.cw")
    assert after == trained(engine, hosted, tmp_path) != before
    assert hosted.metrics.rows == n + 30 - len(range(0, n, 9))
    teach(engine, hosted, range(n + 30, n + 50))
    last = model_file(engine, hosted, tmp_path / "last.cw")
    assert last == trained(engine, hosted, tmp_path)
    engine.stop()
    again, hosted = engines()
    assert hosted.live.number == number
    assert model_file(again, hosted, tmp_path / "again.cw") == last


def test_rows_that_wait_until_a_rebuild_has_learned_them_are_learned_once(engines):
    (engine, hosted), release = engines(classes=["ham", "spam"], view="none"), threading.Event()
    teach(engine, hosted, range(40))
    hosted.live.row_seconds = 1.0  # as if rows took so long that they are learned one by one, between questions
    engine.ask(Request(lambda log, request: release.wait()))
    for k in range(40, 46):
        teach(engine, hosted, [k], wait=False)
    number = ask(engine, train_again(engine, hosted, "again"))
    wait_until(lambda: engine.learner._queue.requests)  # to take the new model for the old one
    assert len(hosted.waiting) == 6
    release.set()
    wait_until(lambda: hosted.live.number == number)
    wait_until(lambda: not hosted.waiting)
    engine.ask(Request(lambda log, request: None).blocking()).answer()
    assert hosted.model.stream.learner.n_seen == hosted.metrics.rows == 46
    assert engine.waiting.rows == engine.waiting.size == 0
