"""What Prometheus is told of the server itself: threads, queues, the log and the disk."""

import sys
import threading

import pytest

from confidently import __version__
from confidently.serve.engine.requests import Request
from tests.serve.running import measured, wait_until
from tests.serve.test_network import FIRST, row


def test_what_is_measured_of_a_server_that_works(local):
    server = local()
    before = measured(server)
    server("PUT", FIRST, {"view": "none"})
    for k in range(3):
        server("POST", f"{FIRST}/learn?wait=learned", row(f"m-{k}", "ab"[k % 2]))
    found = measured(server)
    assert found["confidently_build_info", __version__] == found["confidently_ready",] == 1
    assert found["confidently_commit_seconds_count",] == before["confidently_commit_seconds_count",] + 4
    assert 0 < found["confidently_commit_seconds_sum",] < 60
    for thread in ("log", "learner"):
        assert found["confidently_thread_alive", thread] == 1
        assert found["confidently_queue_age_seconds", thread] == 0
    assert found["confidently_learning_lag_seconds", "m"] == 0
    assert found["confidently_log_bytes", "events.db-wal"] > before["confidently_log_bytes", "events.db-wal"]
    assert found["confidently_disk_free_bytes",] > 0
    assert ("confidently_snapshot_age_seconds", "m") not in found
    server("POST", "/v1/snapshot")
    assert 0 <= measured(server)["confidently_snapshot_age_seconds", "m"] < 60
    server.stop()
    found = measured(server)
    assert found["confidently_ready",] == found["confidently_thread_alive", "log"] == 0


def test_what_waits_grows_old(local):
    """For each of the two threads, while it is busy with something else."""
    server = local()
    server("PUT", FIRST, {"view": "none"})
    for name, queue in (("log", server.engine.submit), ("learner", server.engine.ask)):
        begun, ending = threading.Event(), threading.Event()

        def work(log, request, begun=begun, ending=ending):
            begun.set()
            ending.wait()

        busy, late = Request(work).blocking(), Request(lambda log, request: None).blocking()
        queue(busy)
        begun.wait()
        queue(late)
        at = "confidently_queue_age_seconds", name
        first = wait_until(lambda at=at: measured(server)[at])
        wait_until(lambda at=at, first=first: measured(server)[at] > first + 0.05)
        ending.set()
        late.answer()
        assert measured(server)[at] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_process_is_measured(local):
    """Its memory, processor time and files, under the names that dashboards know."""
    found = measured(local())
    for name in ("process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds"):
        assert found[name,] > 0
