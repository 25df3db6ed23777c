"""The command line as its users meet it: processes of their own for what processes do, the same code for the rest."""

import gzip
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from data_sets import shared_data

from confidently import RULES
from confidently.cli import COMMANDS, cli, run
from confidently.model_file import load

COMMAND = [sys.executable, "-c", "from confidently.cli import main; main()"]


def rows(n=300, labels=("-1", "+1"), seed=0, d=20):
    """Separable enough: each class has features of its own."""
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(n):
        k = random.integers(len(labels))
        columns = sorted({int(k), *map(int, random.choice(np.arange(len(labels), d), 4))})
        lines.append(f"{labels[k]} " + " ".join(f"{j + 1}:{random.uniform(0.5, 1.5):.4f}" for j in columns))
    return "\n".join(lines) + "\n"


@pytest.fixture
def call(capsys):
    """Run a command in this process: exit code, standard output, standard error."""

    def called(*arguments):
        code = run([str(a) for a in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return called


@pytest.fixture
def ok(call):
    def succeeded(*arguments):
        code, out, err = call(*arguments)
        assert code == 0, err
        return out

    return succeeded


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text(rows())
    return path


def process(*arguments, **options):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False, **options)


# --- training ----------------------------------------------------------------------------------------------------


def test_train_predict_evaluate(ok, data, tmp_path):
    model, test = tmp_path / "m.cw", tmp_path / "test.svm"
    test.write_text(rows(100, seed=1))
    result = json.loads(ok("train", data, "--rule", "cw_stdev", "--eta", "0.9", "-o", model, "--json"))
    assert result["rows"] == 300 and result["classes"] == ["-1", "1"] and result["features"] == 20
    assert result["rule"] == {"name": "cw_stdev", "parameters": {"eta": 0.9, "phi": None}}
    assert result["model_bytes"] == model.stat().st_size
    evaluation = json.loads(ok("evaluate", model, test, "--json"))
    assert evaluation["error"] < 0.1 and evaluation["auc"] > 0.9
    predicted = ok("predict", model, test).split()
    truth = [str(int(line.split()[0])) for line in test.read_text().splitlines()]
    wrong = sum(p != t for p, t in zip(predicted, truth, strict=True))
    assert wrong / 100 == pytest.approx(evaluation["error"])
    assert np.trace(evaluation["confusion"]) == 100 - wrong


def test_the_summary_is_for_people(ok, data, tmp_path):
    out = ok("train", data, "-q", "-o", tmp_path / "m.cw")
    assert "classes    2 (-1, 1)" in out and "arow(r=0.1)" in out and "progressive error" in out and "m.cw" in out
    assert "not saved" in ok("train", data, "-q")


def test_json_is_all_there_is_on_standard_output(call, data):
    code, out, err = call("train", data, "--json")
    assert code == 0 and isinstance(json.loads(out), dict) and out.count("\n") == 1
    assert "since last" not in out and "rows/s" in err
    assert call("train", data, "--json", "-q")[2] == ""


def test_progress_comes_at_doubling_counts(call, tmp_path):
    path = tmp_path / "data.svm"
    path.write_text(rows(5000))
    _, _, err = call("train", path)
    lines = [line.split() for line in err.splitlines()[2:]]
    assert [line[0] for line in lines] == ["1,000", "2,000", "4,000", "5,000"]
    first, second = lines[0], lines[1]
    assert float(second[1]) == pytest.approx((float(first[1]) + float(second[2])) / 2, abs=1e-4)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_trains(ok, data, tmp_path, rule):
    ok("train", data, "--rule", rule, "-q", "-o", tmp_path / "m.cw")
    assert load(tmp_path / "m.cw").learner.settings.rule.name == rule


def test_options_reach_the_learner(ok, data, tmp_path):
    model = tmp_path / "m.cw"
    ok(
        "train", data, "-q", "-o", model, "--rule", "iellip", "--c", "0.2", "--rule-param", "b=0.5",
        "--covariance", "full", "--prior-variance", "0.1", "--min-variance", "1e-9", "--no-intercept", "--average",
        "--dtype", "float32", "--multiclass", "one-vs-rest", "--calibration", "none",
    )  # fmt: skip
    found = load(model)
    settings = found.learner.settings
    assert settings.rule.get_params() == {"gamma": 0.1, "b": 0.5, "c": 0.2}
    assert (settings.covariance, settings.prior_variance, settings.min_variance) == ("full", 0.1, 1e-9)
    assert (settings.fit_intercept, settings.average, settings.dtype) == (False, True, "float32")
    assert found.estimator == {"multiclass": "one-vs-rest", "calibration": None}
    assert found.learner.state["calibration"][0] == 1.0


def test_c_and_capital_c_are_different(call, data):
    assert call("train", data, "-q", "--rule", "pa1", "--C", "0.5")[0] == 0
    code, _, err = call("train", data, "-q", "--rule", "pa1", "--c", "0.5")
    assert code == 2 and "PA1 has no parameter 'c'; it has C" in err


def test_passes_read_the_data_again(ok, data, tmp_path):
    result = json.loads(ok("train", data, "--passes", 3, "--json", "-q", "-o", tmp_path / "m.cw"))
    assert result["rows"] == 300 and result["rows_seen"] == 900
    once = json.loads(ok("train", data, "--json", "-q"))
    assert result["error"] == once["error"]
    one_pass = load(tmp_path / "m.cw").learner.state["calibration"]
    ok("train", data, "-q", "-o", tmp_path / "once.cw")
    np.testing.assert_array_equal(load(tmp_path / "once.cw").learner.state["calibration"], one_pass)


@pytest.mark.parametrize("labels", [("-1", "+1"), ("a", "b", "c", "d"), ("1,2", "2", "", "3,1")])
@pytest.mark.parametrize("options", [(), ("--multiclass", "one-vs-rest", "--rule", "gibbs_pa", "--average")])
def test_a_model_continues_as_if_it_had_never_stopped(ok, tmp_path, labels, options):
    first, second = tmp_path / "first.svm", tmp_path / "second.svm"
    first.write_text(rows(90, labels[:2] if len(labels[0]) < 2 else labels))
    second.write_text(rows(200, labels, seed=1, d=50))
    ok("train", first, second, "-q", "-o", tmp_path / "whole.cw", *options)
    ok("train", first, "-q", "-o", tmp_path / "part.cw", *options)
    ok("train", second, "-q", "--start", tmp_path / "part.cw", "-o", tmp_path / "both.cw")
    whole, both = load(tmp_path / "whole.cw"), load(tmp_path / "both.cw")
    assert whole.header() == both.header()
    for name, array in whole.learner.state.items():
        np.testing.assert_array_equal(array, both.learner.state[name], err_msg=name)


def test_classes_in_a_given_order(ok, call, tmp_path):
    path = tmp_path / "data.svm"
    path.write_text(rows(labels=("x", "y", "+3")))
    ok("train", path, "-q", "--classes", "y,3.0,x", "-o", tmp_path / "m.cw")
    assert load(tmp_path / "m.cw").classes == ["y", 3, "x"]
    code, _, err = call("train", path, "-q", "--classes", "x,y", "-o", tmp_path / "n.cw")
    assert code == 2 and "the label '3' is none of the classes announced (x, y)" in err
    assert not (tmp_path / "n.cw").exists()


def test_one_class_alone_is_learned(ok, tmp_path):
    path = tmp_path / "data.svm"
    path.write_text("1 1:1\n1 2:1\n")
    result = json.loads(ok("train", path, "-q", "--json", "-o", tmp_path / "m.cw"))
    assert result["classes"] == ["?", "1"]
    assert ok("predict", tmp_path / "m.cw", path) == "1\n1\n"


def test_examples_nothing_satisfies_are_reported(ok, tmp_path):
    path = tmp_path / "data.svm"
    path.write_text("1 1:1\n-1 1:1\n" * 50)
    assert "infeasible" in ok("train", path, "-q", "--rule", "cellip", "--gamma", "5", "--a", "1")


# --- predicting --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [("-1", "+1"), ("a", "b", "c"), ("1,2", "2", "3,1")])
def test_columns_and_json_say_the_same(ok, tmp_path, labels):
    path, model = tmp_path / "data.svm", tmp_path / "m.cw"
    path.write_text(rows(200, labels))
    ok("train", path, "-q", "-o", model)
    heading, *lines = ok("predict", model, path, "--proba", "--margin", "--variance").splitlines()
    names = [str(name) for name in load(model).classes]
    each = [""] if len(names) == 2 else [f":{name}" for name in names]
    expected = ["class", *(f"proba:{n}" for n in names), *(f"margin{e}" for e in each), *(f"variance{e}" for e in each)]
    assert heading.split("\t") == expected
    found = [
        json.loads(line)
        for line in ok("predict", model, path, "--proba", "--margin", "--variance", "--json").splitlines()
    ]
    for line, entry in zip(lines, found, strict=True):
        label, *numbers = line.split("\t")
        assert label == (",".join(map(str, entry["labels"])) if "labels" in entry else str(entry["class"]))
        parts = [entry[key] for key in ("proba", "margin", "variance")]
        flat = [x for part in parts for x in (part.values() if isinstance(part, dict) else [part])]
        np.testing.assert_allclose([float(x) for x in numbers], flat, rtol=1e-8)
    assert [line.split("\t")[0] for line in lines] == ok("predict", model, path).splitlines()


def test_rows_to_predict_need_no_labels(ok, data, tmp_path):
    model, unlabelled = tmp_path / "m.cw", tmp_path / "unlabelled.svm"
    ok("train", data, "-q", "-o", model)
    lines = data.read_text().splitlines()
    unlabelled.write_text("\n".join(" " + line.split(" ", 1)[1] for line in lines) + "\n")
    assert ok("predict", model, unlabelled) == ok("predict", model, data)
    unlabelled.write_text("\n".join("? " + line.split(" ", 1)[1] for line in lines) + "\n")
    assert ok("predict", model, unlabelled, "-o", tmp_path / "out.txt") == ""
    assert (tmp_path / "out.txt").read_text() == ok("predict", model, data)


def test_models_of_the_classifier_are_understood(ok, data, tmp_path):
    from sklearn.datasets import load_svmlight_file

    from confidently import OnlineClassifier
    from confidently import load as load_classifier

    X, y = load_svmlight_file(str(data))
    classifier = OnlineClassifier("arow").fit(X, y.astype(int))
    classifier.save(tmp_path / "m.cw")
    assert [int(p) for p in ok("predict", tmp_path / "m.cw", data).split()] == classifier.predict(X).tolist()
    ok("train", data, "-q", "-o", tmp_path / "n.cw")
    np.testing.assert_array_equal(load_classifier(tmp_path / "n.cw").coef_, classifier.coef_)


# --- evaluating --------------------------------------------------------------------------------------------------


def test_evaluation_of_two_classes_agrees_with_scikit_learn(ok, tmp_path):
    from sklearn.metrics import log_loss, precision_score, recall_score, roc_auc_score

    path, model, test = tmp_path / "data.svm", tmp_path / "m.cw", tmp_path / "test.svm"
    path.write_text(rows(60, d=4))
    test.write_text(rows(200, seed=3, d=4).replace("1:", "3:"))
    ok("train", path, "-q", "-o", model)
    result = json.loads(ok("evaluate", model, test, "--json"))
    found = [json.loads(line) for line in ok("predict", model, test, "--proba", "--margin", "--json").splitlines()]
    truth = [int(line.split()[0]) for line in test.read_text().splitlines()]
    predicted = [entry["class"] for entry in found]
    assert result["log_loss"] == pytest.approx(log_loss(truth, [e["proba"]["1"] for e in found]))
    assert result["auc"] == pytest.approx(roc_auc_score(truth, [e["margin"] for e in found]))
    assert result["classes"][1]["precision"] == pytest.approx(precision_score(truth, predicted))
    assert result["classes"][1]["recall"] == pytest.approx(recall_score(truth, predicted))


def test_evaluation_of_sets_agrees_with_scikit_learn(ok, tmp_path):
    from sklearn.metrics import accuracy_score, f1_score, hamming_loss, label_ranking_loss

    path, model = tmp_path / "data.svm", tmp_path / "m.cw"
    path.write_text(rows(200, ("1,2", "2", "", "3,1"), d=6))
    ok("train", path, "-q", "-o", model)
    result = json.loads(ok("evaluate", model, path, "--json"))
    found = [json.loads(line) for line in ok("predict", model, path, "--margin", "--json").splitlines()]
    names = load(model).classes
    labels = [line.split(" ")[0] for line in path.read_text().splitlines()]
    truth = np.array([[str(name) in label.split(",") for name in names] for label in labels])
    predicted = np.array([[name in entry["labels"] for name in names] for entry in found])
    scores = np.array([list(entry["margin"].values()) for entry in found])
    assert result["subset_accuracy"] == pytest.approx(accuracy_score(truth, predicted))
    assert result["micro_f1"] == pytest.approx(f1_score(truth, predicted, average="micro"))
    assert result["hamming_loss"] == pytest.approx(hamming_loss(truth, predicted))
    assert result["ranking_loss"] == pytest.approx(label_ranking_loss(truth, scores))


def test_classes_the_model_does_not_know_are_errors(ok, data, tmp_path):
    model, test = tmp_path / "m.cw", tmp_path / "test.svm"
    ok("train", data, "-q", "-o", model)
    test.write_text("7 1:1\n" + data.read_text())
    result = json.loads(ok("evaluate", model, test, "--json"))
    plain = json.loads(ok("evaluate", model, data, "--json"))
    assert result["rows_of_unknown_classes"] == 1 and result["log_loss"] == pytest.approx(plain["log_loss"])
    assert result["error"] * 301 == pytest.approx(plain["error"] * 300 + 1)
    assert "rows of unknown classes" in ok("evaluate", model, test)


def test_real_data(ok, tmp_path):
    folder = shared_data("a9a")
    ok("train", folder / "train.svm.gz", "-q", "-o", tmp_path / "m.cw")
    result = json.loads(ok("evaluate", tmp_path / "m.cw", folder / "test.svm.gz", "--json"))
    assert result["rows"] == 16281 and result["error"] < 0.16 and result["log_loss"] < 0.34 and result["auc"] > 0.89


# --- rules and help ----------------------------------------------------------------------------------------------


def test_rules_are_listed(ok, call):
    listed = ok("rules")
    assert all(f"\n{name} " in listed for name in RULES)
    assert [rule["name"] for rule in json.loads(ok("rules", "--json"))] == list(RULES)
    for name, rule in RULES.items():
        assert rule.formula in ok("rules", name)
    assert json.loads(ok("rules", "cw_stdev", "--json"))["parameters"][0]["default"] == 0.95
    assert call("rules", "nonsense")[0] == 2


def test_help_lists_every_command_in_its_own_words():
    for name, words in COMMANDS.items():
        assert cli.get_command(None, name).help.split("\n\n")[0].replace("\n", " ") == words


@pytest.mark.parametrize("arguments", [[], *([name] for name in COMMANDS)])
def test_help_works_everywhere(ok, arguments):
    assert "Usage: confidently" in ok(*arguments, "--help")


# --- what is wrong -----------------------------------------------------------------------------------------------

WRONG = [
    (["train"], "Missing argument"),
    (["train", "{data}", "--nonsense"], "No such option"),
    (["nonsense"], "No such command"),
    (["train", "{tmp}/missing.svm"], "missing.svm: No such file or directory"),
    (["train", "{tmp}"], "Is a directory"),
    (["train", "{bad}"], "bad.svm, line 2, column 5: feature '2:x' has a value that is not a number"),
    (["train", "{empty}"], "empty.svm is empty"),
    (["train", "{truncated}"], "truncated gzip"),
    (["train", "-", "--passes", "2"], "standard input can be read only once"),
    (["train", "{data}", "--passes", "0"], "--passes"),
    (["train", "{data}", "--rule", "nonsense"], "no rule is called 'nonsense'; there are perceptron, pa"),
    (["train", "{data}", "--eta", "0.9"], "AROW has no parameter 'eta'; it has r"),
    (["train", "{data}", "--rule", "cw_var", "--eta", "0.5"], "eta must be in (0.5, 1), got 0.5"),
    (["train", "{data}", "--rule", "cw_var", "--eta", "0.9", "--phi", "1"], "eta or phi, not both"),
    (["train", "{data}", "--r", "nan"], "r must be in (0, inf)"),
    (["train", "{data}", "--rule-param", "r"], "NAME=VALUE"),
    (["train", "{data}", "--r", "1", "--rule-param", "r=2"], "each name once"),
    (["train", "{data}", "--prior-variance", "0"], "prior_variance must be in ["),
    (["train", "{data}", "--covariance", "shared", "--multiclass", "one-vs-rest"], "couples the classes"),
    (["train", "{data}", "--classes", "a"], "--classes takes two or more"),
    (["train", "{data}", "--classes", "a,a"], "--classes takes two or more"),
    (["train", "{data}", "-o", "{data}"], "is also an input"),
    (["train", "{data}", "-o", "{tmp}"], "is a directory"),
    (["train", "{data}", "-o", "{tmp}/no/m.cw"], "there is no directory"),
    (["train", "{data}", "-o", "/dev/null"], "is no regular file"),
    (["train", "{data}", "--start", "{model}", "--rule", "pa", "--zero-based"], "leave out --rule, --zero-based"),
    (["train", "{data}", "--start", "{tmp}/missing.cw"], "missing.cw: No such file"),
    (["train", "{data}", "--dtype", "float16"], "float16"),
    (["predict", "{data}", "{data}"], "data.svm is no model file"),
    (["predict", "{damaged}", "{data}"], "damaged"),
    (["predict", "{model}", "{bad}"], "bad.svm, line 2"),
    (["evaluate", "{model}", "{sets}"], "--multilabel"),
]


@pytest.mark.parametrize(("arguments", "problem"), WRONG)
def test_what_is_wrong_is_one_line(ok, call, data, tmp_path, arguments, problem):
    files = {name: tmp_path / f"{name}.svm" for name in ("bad", "empty", "truncated", "sets")}
    files |= {"data": data, "tmp": tmp_path, "model": tmp_path / "model.cw", "damaged": tmp_path / "damaged.cw"}
    ok("train", data, "-q", "-o", files["model"])
    files["bad"].write_text("1 1:1\n1   2:x\n")
    files["empty"].write_text("")
    files["truncated"].write_bytes(gzip.compress(rows(1000).encode())[:-20])
    files["sets"].write_text("1,2 1:1\n")
    files["damaged"].write_bytes(files["model"].read_bytes()[:-10])
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    code, out, err = call(*(a.format(**files) for a in arguments), *(["-q"] if arguments[:1] == ["train"] else []))
    assert code == 2 and out == ""
    assert err.startswith("confidently: error: ") and err.count("\n") == 1 and problem in err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_nothing_is_written_before_the_data_are_read_to_their_end(call, ok, data, tmp_path):
    model, out = tmp_path / "m.cw", tmp_path / "out.txt"
    ok("train", data, "-q", "-o", model)
    before = model.read_bytes()
    bad = tmp_path / "bad.svm"
    bad.write_text(rows(100_000) + "1 1:x\n")
    for arguments in (["train", bad, "-q", "-o", model], ["predict", model, bad, "-o", out]):
        assert call(*arguments)[0] == 2
        assert model.read_bytes() == before and not out.exists()
        assert {path.name for path in tmp_path.iterdir()} == {"m.cw", "bad.svm", "data.svm"}


# --- processes ---------------------------------------------------------------------------------------------------


def test_standard_input_plain_and_gzip(data, tmp_path):
    for content in (data.read_bytes(), gzip.compress(data.read_bytes())):
        done = subprocess.run(
            [*COMMAND, "train", "-", "-q", "--json", "-o", tmp_path / "m.cw"],
            input=content,
            capture_output=True,
            check=True,
        )
        assert json.loads(done.stdout)["rows"] == 300
    done = process("predict", tmp_path / "m.cw", "-", input=data.read_text())
    assert done.returncode == 0 and done.stdout == process("predict", tmp_path / "m.cw", data).stdout


def test_predictions_come_as_rows_do(data, tmp_path):
    process("train", data, "-q", "-o", tmp_path / "m.cw")
    with subprocess.Popen(
        [*COMMAND, "predict", tmp_path / "m.cw", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as asked:
        for line in data.read_text().splitlines()[:3]:
            asked.stdin.write(line + "\n")
            asked.stdin.flush()
            assert asked.stdout.readline().strip() in ("-1", "1")
        asked.stdin.close()


def test_a_reader_that_has_gone_is_no_error(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text(rows(50_000))
    process("train", path, "-q", "-o", tmp_path / "m.cw")
    with subprocess.Popen(
        [*COMMAND, "predict", tmp_path / "m.cw", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as asked:
        asked.stdout.readline()
        asked.stdout.close()
        assert asked.stderr.read() == b"" and asked.wait() == 141


@pytest.mark.parametrize("waiting", [True, False])
def test_interrupted_training_leaves_nothing(tmp_path, waiting):
    model = tmp_path / "m.cw"
    with subprocess.Popen(
        [*COMMAND, "train", "-", "-o", model], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as training:
        text = rows(2000).encode()
        training.stdin.write(text)
        training.stdin.flush()
        training.stderr.readline()  # the heading: rows have been learned
        while not waiting and training.poll() is None and not training.stderr.readline().startswith(b"        2,000"):
            training.stdin.write(text)
        training.send_signal(signal.SIGINT)
        assert training.wait() == 130
        assert training.stderr.read().splitlines()[-1] == b"confidently: interrupted"
    assert list(tmp_path.iterdir()) == []


def test_memory_does_not_grow_with_the_file(tmp_path):
    code = (
        "import resource, sys; from confidently.cli import run; "
        "assert run(['train', sys.argv[1], '-q', '--json']) == 0; "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = []
    block = rows(20_000, d=200)
    for times, pack in ((4, open), (16, open), (16, gzip.open)):
        path = tmp_path / f"{times}.svm"
        with pack(path, "wt") as file:
            for _ in range(times):
                file.write(block)
        done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout.splitlines()[-1]))
    assert max(peaks) < peaks[0] * 1.15
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["train", "{data}", "-q", "-o", "{tmp}/m.cw"], ["predict", "{model}", "{data}", "--proba"], ["rules"]],
)
def test_heavy_libraries_stay_out(ok, data, tmp_path, arguments):
    ok("train", data, "-q", "-o", tmp_path / "model.cw")
    code = (
        "import sys; from confidently.cli import run; assert run(sys.argv[1:]) == 0; "
        "heavy = {'sklearn', 'scipy', 'pandas', 'pyarrow', 'rich', 'matplotlib'} & set(sys.modules); "
        "assert not heavy, heavy; "
        "assert sys.argv[1] not in ('--help', 'rules') or 'numpy' not in sys.modules"
    )
    filled = [a.format(data=data, tmp=tmp_path, model=tmp_path / "model.cw") for a in arguments]
    done = subprocess.run([sys.executable, "-c", code, *filled], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_terminal_sees_a_live_bar(data, tmp_path):
    controller, terminal = pty.openpty()
    path = tmp_path / "big.svm"
    path.write_text(rows(60_000))
    done = subprocess.Popen(
        [*COMMAND, "train", path], stdout=subprocess.PIPE, stderr=terminal, env={**os.environ, "TERM": "xterm"}
    )
    os.close(terminal)
    shown = b""
    while done.poll() is None or not shown:
        try:
            shown += os.read(controller, 65536)
        except OSError:  # the other end is closed
            break
        time.sleep(0.01)
    done.stdout.close()
    assert done.wait() == 0
    os.close(controller)
    assert b"100 %" in shown and b"rows/s" in shown and b"60,000 rows" in shown and b"since last" not in shown
