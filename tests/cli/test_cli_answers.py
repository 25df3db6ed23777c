"""confidently predict, evaluate and rules: their output, which scikit-learn's metrics confirm."""

import json

import numpy as np
import pandas as pd
import pytest

from confidently import load
from confidently.models.model import Model
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


def test_evaluation_of_sets_agrees_with_scikit_learn(ok, tmp_path):
    from sklearn.metrics import accuracy_score, f1_score, hamming_loss, label_ranking_loss

    path, model = tmp_path / "data.svm", tmp_path / "m.cw"
    path.write_text(rows(200, ("1,2", "2", "", "3,1"), d=6))
    ok("train", path, "--rule=arow", "-q", "-o", model)
    result = json.loads(ok("evaluate", model, path, "--json"))
    found = [json.loads(line) for line in ok("predict", model, path, "--margin", "--json").splitlines()]
    names = sorted(Model.load(model).classes)
    labels = [line.split(" ")[0] for line in path.read_text().splitlines()]
    truth = np.array([[str(name) in label.split(",") for name in names] for label in labels])
    predicted = np.array([[name in entry["labels"] for name in names] for entry in found])
    scores = np.array([list(entry["margin"].values()) for entry in found])
    assert result["subset_accuracy"] == pytest.approx(accuracy_score(truth, predicted))
    assert result["micro_f1"] == pytest.approx(f1_score(truth, predicted, average="micro"))
    assert result["hamming_loss"] == pytest.approx(hamming_loss(truth, predicted))
    assert result["ranking_loss"] == pytest.approx(label_ranking_loss(truth, scores))


def test_many_classes_are_summarized(ok, tmp_path):
    """macro-F1 as of scikit-learn, and the classes with the lowest recall; unknown ones by name."""
    from sklearn.metrics import f1_score, recall_score

    path, model = tmp_path / "data.svm", tmp_path / "m.cw"
    names = [f"c{k:02}" for k in range(40)]
    noise = np.random.default_rng(0)
    lines = [line.split(" ", 1)[1] for line in rows(1500, names, d=60).splitlines()]
    labels = [f"c{int(line.split(':')[0]) % 40:02}" if noise.random() < 0.7 else noise.choice(names) for line in lines]
    path.write_text("".join(f"{label} {line}\n" for label, line in zip(labels, lines, strict=True)))
    ok("train", path, "--rule=arow", "-q", "-o", model)
    result = json.loads(ok("evaluate", model, path, "--json"))
    truth = [line.split(" ")[0] for line in path.read_text().splitlines()]
    predicted = ok("predict", model, path).splitlines()
    assert result["macro_f1"] == pytest.approx(f1_score(truth, predicted, average="macro"))
    recall = dict(zip(names, recall_score(truth, predicted, labels=names, average=None), strict=True))
    text = ok("evaluate", model, path)
    _, worst = text.split("Those with the lowest recall:\n")
    listed = [line.split()[0] for line in worst.splitlines()[1:]]
    assert len(listed) == 10
    assert [recall[name] for name in listed] == sorted(recall.values())[:10]
    assert "The largest of 40 classes:" in text
    more = tmp_path / "more.svm"
    more.write_text(path.read_text() + "x 1:1\n" * 3 + "".join(f"{name} 1:1\n" for name in "yzuvwst"))
    found = json.loads(ok("evaluate", model, more, "--json"))
    assert found["rows_of_unknown_classes"] == 10 and found["unknown_classes"][0] == {"name": "x", "rows": 3}
    assert "unknown: x (3 rows), y (1 row), z (1 row), u (1 row), v (1 row) and 3 more" in ok("evaluate", model, more)


def test_unknown_labels_are_named(ok, tmp_path):
    path, more, model = tmp_path / "data.svm", tmp_path / "more.svm", tmp_path / "m.cw"
    path.write_text(rows(200, ("1,2", "2", "3,1"), d=6))
    ok("train", path, "--rule=arow", "-q", "-o", model)
    more.write_text(path.read_text() + "1,7 1:1\n8,7 1:1\n")
    found = json.loads(ok("evaluate", model, more, "--json"))
    assert found["unknown_classes"] == [{"name": "7", "rows": 2}, {"name": "8", "rows": 1}]
    by_class = [(2 * c["precision"] * c["recall"] / (c["precision"] + c["recall"])) for c in found["classes"]]
    assert found["macro_f1"] == pytest.approx(np.mean(by_class))


def test_classes_the_model_does_not_know_are_errors(ok, data, tmp_path):
    model, test = tmp_path / "m.cw", tmp_path / "test.svm"
    ok("train", data, "--rule=arow", "-q", "-o", model)
    test.write_text("7 1:1\n" + data.read_text())
    result = json.loads(ok("evaluate", model, test, "--json"))
    plain = json.loads(ok("evaluate", model, data, "--json"))
    assert result["rows_of_unknown_classes"] == 1 and result["log_loss"] == pytest.approx(plain["log_loss"])
    assert result["error"] * 301 == pytest.approx(plain["error"] * 300 + 1)
    assert "rows of unknown classes" in ok("evaluate", model, test)


@pytest.mark.parametrize("labels", [("-1", "+1"), ("a", "b", "c")])
def test_abstaining_is_measured_as_predict_abstains(ok, tmp_path, labels):
    path, model, test = tmp_path / "data.svm", tmp_path / "m.cw", tmp_path / "test.svm"
    path.write_text(rows(60, labels, d=4))
    test.write_text("stranger 1:1\n" * 9 + rows(200, labels, seed=3, d=4).replace("1:", "3:"))
    ok("train", path, "--rule=arow", "-q", "-o", model)
    found = [json.loads(line) for line in ok("predict", model, test, "--proba", "--json").splitlines()]
    certain = np.array([entry["proba"][str(entry["class"])] for entry in found])
    truth = [line.split()[0].lstrip("+") for line in test.read_text().splitlines()]
    right = np.array([str(entry["class"]) == label for entry, label in zip(found, truth, strict=True)])
    limit = float(np.quantile(certain, 0.3))
    result = json.loads(ok("evaluate", model, test, "--abstain", repr(limit), "--risk-coverage", "--json"))
    said = ok("predict", model, test, "--abstain", repr(limit)).splitlines()
    predicted = np.array([name != "-" for name in said])
    assert 0 < predicted.sum() < len(said)
    assert result["abstain"] == {
        "probability": limit, "rows_predicted": predicted.sum(), "coverage": pytest.approx(predicted.mean()),
        "error": pytest.approx(1 - right[predicted].mean()),
    }  # fmt: skip
    assert [point["coverage"] for point in result["risk_coverage"]] == [1.0, 0.95, 0.9, 0.8, 0.5]
    assert result["risk_coverage"][0]["error"] == pytest.approx(result["error"])
    # rows that are alike have one certainty; the largest threshold at which enough rows are predicted
    for point in result["risk_coverage"]:
        kept = certain >= point["probability"]
        assert kept.mean() >= point["coverage"] > (certain > point["probability"]).mean()
        above, ties = ~right[certain > point["probability"]], ~right[certain == point["probability"]]
        wanted = point["coverage"] * len(right)
        wrong = above.sum() + (wanted - len(above)) * ties.mean()
        assert point["error"] == pytest.approx(wrong / wanted)
    text = ok("evaluate", model, test, "--abstain", 0.9, "--risk-coverage")
    assert "coverage at p >= 0.9" in text and f"area under the curve: {result['risk_coverage_area']:.4f}" in text
    assert "error at p >= 1 -" in " ".join(ok("evaluate", model, test, "--abstain", 1).split())


def test_the_curve_of_abstaining_is_plotted(ok, call, data, tmp_path):
    model, plot = tmp_path / "m.cw", tmp_path / "curve.png"
    ok("train", data, "--rule=arow", "-q", "-o", model)
    assert f"Plot: {plot}" in ok("evaluate", model, data, "--risk-coverage", "--plot", plot)
    assert plot.read_bytes().startswith(b"\x89PNG")
    code, _, err = call("evaluate", model, data, "--plot", plot)
    assert code == 2 and "--plot draws the curve of --risk-coverage; use both" in err


def test_the_row_to_explain_is_no_file(ok, call, tmp_path):
    table, model = tmp_path / "rows.csv", tmp_path / "m.cw"
    table.write_text("a,b,label\n" + "1,2,x\n2,1,y\n" * 20)
    ok("train", table, "--rule=arow", "-q", "-o", model)
    code, _, err = call("inspect", model, "--row", table)
    assert code == 2 and err.count("\n") == 1
    assert f"--row: {table} is a file, expected the row itself" in err and f"--row - < {table}" in err
    code, _, err = call("inspect", model, "--row", "1,2")
    assert code == 2 and "expected the header and the row in two lines, got one; use --row $'a,b\\n...'" in err
    assert "predicted  x" in ok("inspect", model, "--row", "a,b\n1,2")


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
