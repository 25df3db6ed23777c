"""``confidently train`` on a cluster."""

import json
import re

import numpy as np
import pytest

from confidently import OnlineClassifier, distributed, load
from tests.command_line import here

dask = pytest.importorskip("distributed")


@pytest.mark.parametrize("processes", [False, pytest.param(True, marks=pytest.mark.long("starts worker processes"))])
def test_workers_of_its_own(tmp_path, monkeypatch, processes):
    texts, first, model = (tmp_path / name for name in ("mail.txt", "first.cw", "m.cw"))
    texts.write_text("".join(f"spam\tfree money {k % 7}\nham\tsee you at {k % 5}\n" for k in range(100)))
    if not processes:
        how = {
            "threads_per_worker": 1,
            "processes": False,
            "protocol": "tcp",
            "host": "127.0.0.1",
            "dashboard_address": "127.0.0.1:0",
        }
        monkeypatch.setattr(distributed.cluster, "local_cluster", lambda workers: dask.LocalCluster(workers, **how))
    assert here("train", texts, "--rule=arow", "-q", "-o", first).returncode == 0
    cluster = ("--workers", 1, "--partitions", 3, "--rounds", 2)
    done = here("train", texts, *cluster, "--passes", 2, "--init-model", first, "-o", model, "--json")
    assert done.returncode == 0, done.stderr
    begun, *progress, result = map(json.loads, done.stdout.splitlines())
    assert begun["event"] == "cluster" and begun["partitions"] == 3 and begun["rounds"] == 4
    assert re.match("tcp://127", begun["scheduler"]) and begun["dashboard"]
    assert [line["rows"] for line in progress if line["event"] == "progress"] == [200, 200]
    assert (result["rows"], result["rows_seen"], result["passes"]) == (200, 600, 2)
    assert result["bytes_moved"] > 0 and set(result["classes"]) == {"spam", "ham"}
    assert json.loads(here("inspect", model, "--json").stdout)["rows_seen"] == 600
    assert here("train", texts, "--rule=arow", "-q", *cluster, "-o", model).returncode == 0
    expected = distributed.fit(OnlineClassifier(), texts, workers=1, partitions=3, rounds=2)
    np.testing.assert_array_equal(load(model).coef_, expected.coef_)
