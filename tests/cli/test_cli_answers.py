"""confidently predict, evaluate and rules: their output, which scikit-learn's metrics confirm."""

import json

import numpy as np
import pandas as pd
import pytest

from confidently import load
from tests.command_line import rows


def test_rows_to_predict_need_no_labels(ok, data, tmp_path):
    model, unlabelled = tmp_path / "m.cw", tmp_path / "unlabelled.svm"
    ok("train", data, "--rule=arow", "-q", "-o", model)
    lines = data.read_text().splitlines()
    unlabelled.write_text("\n".join(" " + line.split(" ", 1)[1] for line in lines) + "\n")
    assert ok("predict", model, unlabelled) == ok("predict", model, data)
    unlabelled.write_text("\n".join("? " + line.split(" ", 1)[1] for line in lines) + "\n")
    assert ok("predict", model, unlabelled, "-o", tmp_path / "out.txt") == ""
    assert (tmp_path / "out.txt").read_text() == ok("predict", model, data)


def test_classes_the_model_does_not_know_are_named_and_errors(ok, data, tmp_path):
    model, test = tmp_path / "m.cw", tmp_path / "test.svm"
    ok("train", data, "--rule=arow", "-q", "-o", model)
    test.write_text("7 1:1\n" * 3 + "".join(f"{name} 1:1\n" for name in "yzuvwst") + data.read_text())
    result, plain = (json.loads(ok("evaluate", model, path, "--json")) for path in (test, data))
    assert result["rows_of_unknown_classes"] == 10 and result["unknown_classes"][0] == {"name": "7", "rows": 3}
    assert result["log_loss"] == pytest.approx(plain["log_loss"])
    assert result["error"] * 310 == pytest.approx(plain["error"] * 300 + 10)
    assert "unknown: 7 (3 rows), y (1 row), z (1 row), u (1 row), v (1 row) and 3 more" in ok("evaluate", model, test)


def test_unknown_labels_are_named(ok, tmp_path):
    path, more, model = tmp_path / "data.svm", tmp_path / "more.svm", tmp_path / "m.cw"
    path.write_text(rows(200, ("1,2", "2", "3,1"), d=6))
    ok("train", path, "--rule=arow", "-q", "-o", model)
    more.write_text(path.read_text() + "1,7 1:1\n8,7 1:1\n")
    found = json.loads(ok("evaluate", model, more, "--json"))
    assert found["unknown_classes"] == [{"name": "7", "rows": 2}, {"name": "8", "rows": 1}]
    by_class = [(2 * c["precision"] * c["recall"] / (c["precision"] + c["recall"])) for c in found["classes"]]
    assert found["macro_f1"] == pytest.approx(np.mean(by_class))


def test_the_curve_of_abstaining_is_plotted(ok, data, tmp_path):
    model, plot = tmp_path / "m.cw", tmp_path / "curve.png"
    ok("train", data, "--rule=arow", "-q", "-o", model)
    assert f"Plot: {plot}" in ok("evaluate", model, data, "--risk-coverage", "--plot", plot)
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "jsonl"])
def test_a_row_of_a_table_may_be_a_json_object(ok, tmp_path, suffix):
    rows = [
        {"n": k % 7 / 2, "code": f"{k % 3:03}", "day": f"2026-01-{k % 9 + 1:02}", "label": "xy"[k % 2]}
        for k in range(90)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path, model = tmp_path / f"data.{suffix}", tmp_path / "m.cw"
    pd.DataFrame(rows).to_csv(tmp_path / "data.csv", index=False)
    pd.DataFrame(rows).to_csv(tmp_path / "data.tsv", index=False, sep="\t")
    pd.DataFrame(rows).to_parquet(tmp_path / "data.parquet")
    (tmp_path / "data.jsonl").write_text((tmp_path / "rows.jsonl").read_text())
    ok("train", path, "--rule=arow", "--category", "code", "--dates", "day", "-q", "-o", model)
    del rows[5]["label"]
    found = json.loads(ok("inspect", model, "--row", json.dumps(rows[5]), "--json", "--top", 9))
    decision = next(load(model).predict_stream(path, method="decision_function"))[5]
    assert abs(found["margin"]["mean"]) == pytest.approx(abs(decision), rel=1e-9)
