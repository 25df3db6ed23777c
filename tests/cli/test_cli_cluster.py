"""``confidently train`` on a cluster."""

import json
import re

import pytest

from tests.command_line import here
from tests.command_line import process as confidently

pytest.importorskip("distributed")


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "mail.txt"
    path.write_text("".join(f"spam\tfree money {k % 7}\nham\tsee you at {k % 5}\n" for k in range(100)))
    return path


@pytest.mark.long("starts worker processes")
def test_workers_of_its_own(texts, tmp_path):
    first, model = tmp_path / "first.cw", tmp_path / "m.cw"
    assert here("train", texts, "--rule=arow", "-q", "-o", first).returncode == 0
    done = confidently(
        "train", texts, "--workers", 1, "--partitions", 3, "--rounds", 2, "--passes", 2, "--init-model", first,
        "-o", model, "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    begun, *progress, result = map(json.loads, done.stdout.splitlines())
    assert begun["event"] == "cluster" and begun["partitions"] == 3 and begun["rounds"] == 4
    assert re.match("tcp://127", begun["scheduler"]) and begun["dashboard"]
    assert [line["rows"] for line in progress if line["event"] == "progress"] == [200, 200]
    assert (result["rows"], result["rows_seen"], result["passes"]) == (200, 600, 2)
    assert result["bytes_moved"] > 0 and set(result["classes"]) == {"spam", "ham"}
    assert json.loads(here("inspect", model, "--json").stdout)["rows_seen"] == 600
