"""Comparing rules: the numbers are those of training each rule alone, however the work is divided."""

import json
import subprocess
import sys

import numpy as np
import pytest

from confidently import RULES
from confidently.cli.output import reporter
from confidently.covariances.settings import Settings
from confidently.data import open_stream
from confidently.evaluation.comparison import compare, contending_rules
from confidently.learner.learner import Learner
from confidently.models.model import Model
from tests.command_line import COMMAND, rows
from tests.data_sets import shared_data


def compared(path, rules=None, chunk_bytes=1 << 20, **options):
    with open_stream(path, chunk_bytes=chunk_bytes) as stream:
        return compare(stream, rules, **options)


def numbers(found):
    return [(t.rule, t.rows, t.mistakes, t.updates, t.log_loss, t.curve) for t in found.trials]


@pytest.mark.long("a training of each rule, twice")
@pytest.mark.few(1)
@pytest.mark.parametrize("labels", [("-1", "+1"), ("a", "b", "c", "d"), ("1,2", "2", "", "3,1")])
@pytest.mark.parametrize("options", [(), ("--multiclass", "one-vs-rest", "--prior-variance", 0.5, "--no-intercept")])
def test_numbers_are_those_of_training_each_rule_alone(ok, tmp_path, labels, options):
    path, model = tmp_path / "data.svm", tmp_path / "m.cw"
    path.write_text(rows(150, labels))
    result = json.loads(ok("compare", path, "--json", *options))
    assert {trial["rule"] for trial in result["trials"]} == set(RULES) and result["rows"] == 150
    assert [t["error"] for t in result["trials"]] == sorted(t["error"] for t in result["trials"])
    assert [t["best"] for t in result["trials"]] == [True] + [False] * (len(RULES) - 1)
    for trial in result["trials"]:
        alone = json.loads(
            ok("train", path, "--no-shuffle", "-q", "--json", "--rule", trial["rule"], "-o", model, *options)
        )
        same = ("error", "mistakes", "updates", "infeasible")
        assert [trial[key] for key in same] == [alone[key] for key in same], trial["rule"]
        assert trial["parameters"] == {k: v for k, v in alone["rule"]["parameters"].items() if v is not None}
    assert result["task"] == Model.load(model).learner.settings.task.name


@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_learners_are_those_of_training_alone(ok, tmp_path, data, covariance):
    for trial in compared(data, ["arow", "gibbs_pa"], covariance=covariance).trials:
        options = "--rule", trial.rule.name, "--covariance", covariance, "-o", tmp_path / "m.cw"
        ok("train", data, "--no-shuffle", "-q", *options)
        alone = Model.load(tmp_path / "m.cw").learner
        np.testing.assert_array_equal(trial.learner.state["counters"], alone.state["counters"])
        # products of matrices, and so dense covariances, are rounded otherwise where rows come in other blocks
        tolerance = 0.0 if covariance == "diag" else 1e-9
        np.testing.assert_allclose(trial.learner.weights, alone.weights, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(trial.learner.variance(), alone.variance(), rtol=tolerance)
        np.testing.assert_allclose(trial.learner.state["calibration"], alone.state["calibration"], rtol=tolerance)


@pytest.mark.long("three comparisons of all rules")
@pytest.mark.parametrize("labels", [("-1", "+1"), ("a", "b", "c"), ("1,2", "2", "3,1"), "a stack"])
def test_threads_and_batches_change_nothing(tmp_path, labels):
    path, options = tmp_path / "data.svm", {}
    if labels == "a stack":
        (path, _), options = written(tmp_path, "numbers"), {"rules": ["arow"], "auto": True}
    else:
        path.write_text(rows(500, labels))
    whole = numbers(compared(path, threads=1, **options))
    assert [rule for rule, *_ in whole].count(None) == (labels == "a stack")
    assert numbers(compared(path, threads=5, **options)) == whole
    assert numbers(compared(path, chunk_bytes=700, **options)) == whole


def test_the_curve_is_the_error_after_so_many_rows(tmp_path, data):
    (trial,) = compared(data, ["cw_stdev"]).trials
    assert trial.curve[-1] == (300, trial.error) and [r for r, _ in trial.curve] == sorted({r for r, _ in trial.curve})
    lines = data.read_text().splitlines(keepends=True)
    for count, error in trial.curve[:3]:
        part = tmp_path / "part.svm"
        part.write_text("".join(lines[:count]))
        assert compared(part, ["cw_stdev"]).trials[0].error == error


def test_the_log_loss_is_that_of_probabilities_before_learning(tmp_path, data):
    learner, cost = Learner(Settings("arow"), n_features=100), 0.0
    with open_stream(data) as stream:
        for batch in stream:
            positive = [new.name for new in batch.new_labels].index(1)
            for i in range(len(batch)):
                row, label = batch.rows(i, i + 1), int(batch.labels[i] == positive)
                p = learner.probabilities(row.matrix)[0]
                cost -= np.log(p[label])
                learner.learn(row.matrix, np.array([label], dtype=np.int32))
    assert compared(data, ["arow"]).trials[0].log_loss == pytest.approx(cost / 300, rel=1e-10)


def test_every_rule_has_a_grid_that_holds_its_defaults():
    for name, rule in RULES.items():
        values = rule.grid()
        assert bool(values) == bool(rule().get_params())  # a rule without one would be compared by its defaults only
        tried = contending_rules([name], grid=True)
        size = int(np.prod([len(v) for v in values.values()]))
        assert len(tried) == size and tried[0] == (RULES[name](), True)
        assert sum(default for _, default in tried) == 1 and len({rule for rule, _ in tried}) == size


def test_a_grid_shows_the_best_and_the_default(ok, data):
    found = json.loads(ok("compare", data, "--rules", "arow,pa", "--grid", "--json"))["trials"]
    assert len(found) == 5 and [t["rule"] for t in found if t["default"]].count("arow") == 1
    arow = [t for t in found if t["rule"] == "arow"]
    best = min(arow, key=lambda t: (t["error"], t["log_loss"]))
    assert [t["best_of_rule"] for t in arow] == [t is best for t in arow]
    text = ok("compare", data, "--rules", "arow,pa", "--grid")
    assert "default error" in text and f"r={best['parameters']['r']:g}" in text
    for trial in arow:
        alone = json.loads(ok("train", data, "--no-shuffle", "-q", "--json", "--r", trial["parameters"]["r"]))
        assert alone["mistakes"] == trial["mistakes"]


def test_the_table_is_sorted_and_marks_the_best(ok, data):
    lines = ok("compare", data).splitlines()
    body = lines[3:]
    assert len(body) == len(RULES) and [line[0] for line in body] == ["*"] + [" "] * (len(RULES) - 1)
    errors = [float(line.split(" %")[0].split()[-1]) for line in body]
    assert errors == sorted(errors)


def test_progress_comes_after_a_while(call, monkeypatch, tmp_path):
    path = tmp_path / "data.svm"
    path.write_text(rows(5000))
    assert call("compare", path, "--rules", "pa,arow")[2] == ""
    monkeypatch.setattr(reporter, "SILENT_SECONDS", 0.0)
    code, out, err = call("compare", path, "--rules", "pa,arow", "--json")
    title, header, *lines = [line.split() for line in err.splitlines()]
    assert code == 0 and title == ["comparing"] and header[:2] == ["rows", "error"] and lines[-1][0] == "5,000"
    best = json.loads(out)["trials"][0]
    assert lines[-1][3] == best["rule"] and lines[-1][1] == f"{best['error']:.4f}"
    assert call("compare", path, "-q")[2] == ""


@pytest.mark.long("three pictures")
def test_a_plot_is_drawn(ok, data, tmp_path):
    for suffix, magic in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        path = tmp_path / f"curves{suffix}"
        assert f"Plot: {path}" in ok("compare", data, "--rules", "pa,arow", "--plot", path)
        assert path.read_bytes().startswith(magic)
    assert {p.name for p in tmp_path.iterdir()} == {"data.svm", "curves.png", "curves.svg", "curves.pdf"}


@pytest.mark.parametrize(("arguments", "problem"), [
    (["--rules", "arow,nonsense"], "unknown rule 'nonsense'; expected one of perceptron"),
    (["--rules", ""], "unknown rule ''"),
    (["--plot", "{tmp}/x.txt"], "--plot: unknown file type, got {tmp}/x.txt; expected one of .png, .svg, .pdf"),
    (["--plot", "{tmp}/no/x.png"], "directory {tmp}/no does not exist"),
    (["--covariance", "shared", "--multiclass", "one-vs-rest", "--classes", "-1,1,2"], "couples the classes"),
    (["--prior-variance", "0"], "prior_variance must be in"), (["--classes", "a,b"], "is not one of the classes"),
    (["--threads", "0"], "--threads"),
])  # fmt: skip
def test_what_is_wrong_is_one_line(call, data, tmp_path, arguments, problem):
    code, out, err = call("compare", data, *(a.format(data=data, tmp=tmp_path) for a in arguments))
    assert code == 2 and out == "" and err.startswith("confidently: error: ") and err.count("\n") == 1
    assert problem.format(data=data, tmp=tmp_path) in err and list(tmp_path.iterdir()) == [data]


def test_a_plot_without_matplotlib_is_refused_before_any_work(call, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = call("compare", tmp_path / "missing.svm", "--plot", tmp_path / "x.png")
    assert code == 2 and "pip install '.[plots]'" in err


def test_data_that_break_off_leave_no_plot(call, tmp_path):
    path = tmp_path / "bad.svm"
    path.write_text(rows(50) + "1 1:x\n")
    code, out, err = call("compare", path, "--plot", tmp_path / "x.png")
    assert code == 2 and out == "" and "bad.svm, line 51" in err and list(tmp_path.iterdir()) == [path]


def test_real_data(ok):
    found = json.loads(ok("compare", shared_data("a9a") / "train.svm.gz", "--json"))
    assert found["rows"] == 32561 and found["trials"][0]["error"] < 0.16 and found["trials"][0]["log_loss"] < 0.34


def test_skipped_rows_are_counted(ok, call, tmp_path):
    path = tmp_path / "bad.svm"
    path.write_text(rows(50) + "1 1:x\n")
    assert json.loads(ok("compare", path, "--on-error", "skip", "--json"))["skipped"] == 1
    assert "1 invalid row skipped" in ok("compare", path, "--on-error", "skip")
    path.write_text("1 1:x\n")
    code, _, err = call("compare", path, "--on-error", "skip")
    assert code == 2 and "no rows to train on" in err


def test_settings_of_learners_are_those_of_train(ok, data):
    options = ["--average", "--min-variance", "1e-3", "--prior-variance", "0.2", "--dtype", "float32"]
    (trial,) = json.loads(ok("compare", data, "--rules", "arow", "--json", *options))["trials"]
    assert (
        trial["mistakes"]
        == json.loads(ok("train", data, "--no-shuffle", "--rule=arow", "-q", "--json", *options))["mistakes"]
    )


# --- beside a stack -------------------------------------------------------------------------------------------------


def written(folder, kind, n=1300):
    """Write rows of two classes, the second of which comes late; return the file and the options that read it."""
    random = np.random.default_rng(0)
    y = np.where(np.arange(n) < 60, 0, random.integers(2, size=n))
    X = random.normal(size=(n, 4)) * [1.0, 5.0, 0.5, 1.0] + y[:, None] * [1.0, 2.0, 0.5, 0.0]
    X[random.random((n, 4)) < 0.1] = 0.0
    words = [" ".join(f"w{k}" for k in random.integers(0, 300, 6) + 100 * label) for label in y]
    if kind == "table":
        lines = ["a,b,c,d,town,y", *(f"{','.join(map(str, x))},t{k % 5},c{k}" for x, k in zip(X, y, strict=True))]
        options = ["--label", "y"]
    elif kind == "numbers":
        lines, options = [f"{k} " + " ".join(f"{j}:{v}" for j, v in enumerate(x, 1)) for x, k in zip(X, y)], []  # noqa: B905
    else:
        lines, options = [f"c{k}\t{text}" for text, k in zip(words, y, strict=True)], ["--format", "text"]
    path = folder / f"rows.{'csv' if kind == 'table' else 'svm' if kind == 'numbers' else 'txt'}"
    path.write_text("\n".join(lines) + "\n")
    return path, options


@pytest.mark.long("three stacks of each kind of rows")
@pytest.mark.few(1)
@pytest.mark.parametrize("n", [300, 1300])
@pytest.mark.parametrize("kind", ["table", "numbers", "words"])
def test_the_stack_and_the_rules_are_those_of_training_each_alone(ok, tmp_path, kind, n):
    """Although a stack scales rows itself, and rules have them scaled."""
    path, options = written(tmp_path, kind, n)
    found = json.loads(ok("compare", path, "--auto", "--rules", "arow,pa", "-q", "--json", *options))
    trials = {trial["rule"]: trial for trial in found["trials"]}
    assert trials.keys() == {"auto", "arow", "pa"} and found["rows"] == n
    for name, trial in trials.items():
        chosen = ["--auto"] if name == "auto" else ["--rule", name]
        alone = json.loads(ok("train", path, "--no-shuffle", "-q", "--json", *chosen, *options))
        assert [trial[key] for key in ("mistakes", "updates")] == [alone[key] for key in ("mistakes", "updates")], name
        assert trial["log_loss"] == pytest.approx(alone["log_loss"], rel=1e-9)
        assert trial["curve"]["error"][-1] == trial["error"]
    members = json.loads(ok("train", path, "--no-shuffle", "-q", "--json", "--auto", *options))["members"]
    assert [m["name"] for m in trials["auto"]["members"]] == [m["name"] for m in members]
    assert [m["weight"] for m in trials["auto"]["members"]] == pytest.approx([m["weight"] for m in members], rel=1e-6)
    assert trials["auto"]["infeasible"] is None and "members" not in trials["arow"]


@pytest.mark.long("two stacks of 1,300 rows")
def test_the_stack_is_a_row_of_the_table_and_a_line_of_the_plot(call, ok, tmp_path, monkeypatch):
    path, options = written(tmp_path, "table")
    text = ok("compare", path, *options, "-q", "--auto", "--rules", "arow,pa", "--grid", "--plot", tmp_path / "x.svg")
    (line,) = (line for line in text.splitlines() if " auto " in line)
    assert "19 members" in line
    assert " auto" in (tmp_path / "x.svg").read_text()
    monkeypatch.setattr(reporter, "SILENT_SECONDS", 0.0)
    code, _, err = call("compare", path, *options, "--auto", "--rules", "pa")
    assert code == 0 and err.splitlines()[-1].split()[0] == "1,300" and err.splitlines()[-1].endswith(" auto")


def test_a_stack_beside_rules_reads_standard_input_once(tmp_path):
    path, options = written(tmp_path, "words")
    done = subprocess.run([*COMMAND, "compare", "-", "--auto", "--rules", "pa", "--json", *options],
                          input=path.read_bytes(), capture_output=True, check=True)  # fmt: skip
    assert json.loads(done.stdout)["rows"] == 1300


@pytest.mark.parametrize("options", [["--multilabel"], []])
def test_a_stack_of_label_sets_is_the_one_that_is_trained_alone(ok, tmp_path, options):
    path = tmp_path / "data.svm"
    path.write_text(rows(300, ("1,2", "2", "3,1")))
    found = json.loads(ok("compare", path, "--auto", "--rules", "arow", "-q", "--json", *options))
    alone = json.loads(ok("train", path, "--no-shuffle", "--auto", "-q", "--json", "-o", tmp_path / "m.cw", *options))
    (auto,) = [trial for trial in found["trials"] if trial["rule"] == "auto"]
    assert (auto["mistakes"], auto["log_loss"]) == (alone["mistakes"], pytest.approx(alone["log_loss"]))


def test_views_know_all_columns_of_a_batch(ok, tmp_path):
    """Of which the parts up to the points of a curve announce only some: categories that come late, as words do."""
    path, options = tmp_path / "late.csv", ["--label", "y"]
    path.write_text("a,town,y\n" + "".join(f"{k % 7},t{k // 20},{'xz'[k * k % 3 % 2]}\n" for k in range(600)))
    (trial,) = json.loads(ok("compare", path, "--rules", "arow", "-q", "--json", *options))["trials"]
    alone = json.loads(ok("train", path, "--no-shuffle", "--rule=arow", "-q", "--json", *options))
    assert (trial["mistakes"], trial["log_loss"]) == (alone["mistakes"], pytest.approx(alone["log_loss"]))
    assert alone["view"][0]["name"] == "standard" and alone["features"] == 31
