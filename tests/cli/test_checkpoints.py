"""Training that is killed, interrupted or stopped goes on as if nothing had happened."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest

from confidently import load
from confidently.cli import BAD_INPUT
from confidently.cli.options.files import CHECKPOINT
from confidently.cli.training.interrupts import Interrupted
from confidently.cli.training.learner import LearnerTraining
from confidently.models.model import Model
from tests.command_line import COMMAND, rows
from tests.model_files import contents_of, write_contents

# A process that has imported everything forks one that runs the command line: so a kill hits the training, not imports.
ZYGOTE = """
import json, os, signal, sys, time
from confidently.cli import run
answers = os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
run(json.loads(sys.argv[1]))
for line in sys.stdin:
    arguments, kill_after = json.loads(line)
    pid = os.fork()
    if not pid:
        os._exit(run(arguments))
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(pid, signal.SIGKILL)
    print(os.waitpid(pid, 0)[1], file=answers, flush=True)
"""


class Runs:
    """Runs of the command line that may be killed."""

    def __init__(self, warm_up):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        command = [sys.executable, "-c", ZYGOTE, json.dumps(warm_up)]
        self.process = subprocess.Popen(command, text=True, bufsize=1, **pipes)

    def run(self, arguments, kill_after=None):
        """The wait status of a run, killed after so many seconds."""
        self.process.stdin.write(json.dumps([[str(a) for a in arguments], kill_after]) + "\n")
        return int(self.process.stdout.readline())

    def finished(self, arguments, model, kill_after=None):
        """Whether a run completes the model, or finds that one did which was killed at its very end."""
        status = self.run([*arguments, "--resume"], kill_after)
        refused = os.WIFEXITED(status) and os.WEXITSTATUS(status) == BAD_INPUT
        assert status == 0 or os.WIFSIGNALED(status) or refused
        assert not refused or (model.exists() and not model.with_name(model.name + CHECKPOINT).exists())
        return not os.WIFSIGNALED(status)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


KILLED = {
    "rows": (500, ("train", "--average", "--holdout", "0.1", "--early-stop", "--patience", 9, "--passes", 4)),
    "stack": (2500, ("train", "--auto", "--passes", 4)),
    "topics": (900, ("topics", "train", "--topics", 4, "--stream", "--classes", "1,-1,x,y", "--passes", 2)),
}  # fmt: skip


@pytest.mark.long("kills processes")
@pytest.mark.parametrize(("kind", "most"), [
    ("rows", 2), *(pytest.param(kind, most, marks=pytest.mark.long("kills dozens of processes"))
                   for kind, most in (("rows", 30), ("stack", 10), ("topics", 10))),
])  # fmt: skip
def test_kills_change_nothing(ok, tmp_path, kind, most):
    n_rows, (*command, _, passes) = KILLED[kind]
    data, folder = tmp_path / "data.svm", tmp_path / "out"
    data.write_text(rows(n_rows, ("-1", "+1", "x", "y"), d=200))
    folder.mkdir()
    model, whole = folder / "m.cw", tmp_path / "whole.cw"
    options = [*command, data, "--passes", passes, "-q"]
    ok(*options, "-o", whole)
    arguments = [*options, "-o", model, "--checkpoint-every", 37]
    runs, moments = (
        Runs(["topics", "train", str(data), "-q"] if kind == "topics" else ["train", str(data), "-q"]),
        random.Random(0),
    )
    try:
        for path in (tmp_path / "first.cw", tmp_path / "other.cw"):  # the first has to wait for the imports
            start = time.monotonic()
            assert runs.run([*options, "-o", path, "--checkpoint-every", 37]) == 0
        duration, kills = time.monotonic() - start, 0
        while kills < most:
            complete = runs.finished(arguments, model, kill_after=moments.uniform(0, duration / 4))
            kills += not complete
            for path in folder.glob("m.cw*"):
                if "training" not in path.name:
                    load(path)  # whole, whenever the kill came
            if complete:
                assert model.read_bytes() == whole.read_bytes()
                model.unlink()
        assert runs.finished(arguments, model)
    finally:
        runs.close()
    assert model.read_bytes() == whole.read_bytes()
    assert [path.name for path in folder.iterdir()] == ["m.cw"]


def interrupted(arguments, number, begun="        1,000"):
    """Run until a line of progress begins so, then send a signal: exit code and last lines of standard error."""
    listening = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a background job ignores Ctrl-C
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*COMMAND, *map(str, arguments)], preexec_fn=listening, **pipes) as training:
        while not training.stderr.readline().startswith(begun):
            assert training.poll() is None
        training.send_signal(number)
        said = training.stderr.read().splitlines()
        return training.wait(), said


SIGNALED = {
    "rows": (("train", "--rule=arow"), "rows", 10, "20"),
    "topics": (("topics", "train", "--topics", "4"), "documents", 1, "9"),
    "stream": (("topics", "train", "--topics", "4", "--stream", "--classes", "1,-1"), "documents", 1, "9"),
}  # fmt: skip


@pytest.mark.long("interrupts processes of thousands of rows")
@pytest.mark.parametrize(
    ("kind", "number", "code"),
    [
        *(("rows", getattr(signal, name), code) for name, code in (("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129))),
        ("topics", signal.SIGINT, 130), ("stream", signal.SIGINT, 130),
    ],
)  # fmt: skip
def test_a_signal_leaves_a_checkpoint(ok, tmp_path, kind, number, code):
    data, model, whole = (tmp_path / name for name in ("data.svm", "m.cw", "whole.cw"))
    command, what, times, passes = SIGNALED[kind]
    data.write_text(rows(4000, d=50) * times)
    arguments = [*command, data, "-o", model, "--passes", passes]
    found, said = interrupted(arguments, number, "        1,0")
    assert found == code
    assert re.fullmatch(rf"confidently: interrupted after [0-9,]+ {what} of pass [0-9]+", said[-2])
    assert said[-1] == f"{model}.checkpoint is saved; resume with: confidently {' '.join(map(str, arguments))} --resume"
    assert not model.exists() and load(f"{model}.checkpoint") is not None
    ok(*arguments, "--resume", "-q")
    ok(*command, data, "-o", whole, "--passes", passes, "-q")
    assert model.read_bytes() == whole.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"data.svm", "m.cw", "whole.cw"}


def test_without_an_output_nothing_is_left(tmp_path):
    data = tmp_path / "data.svm"
    data.write_text(rows(4000, d=50) * 10)
    code, said = interrupted(["train", data, "--rule=arow", "--passes", 20], signal.SIGINT)
    assert code == 130 and said[-1] == "nothing is saved; use -o MODEL to save checkpoints"
    assert list(tmp_path.iterdir()) == [data]


@pytest.fixture
def stopped(stopped_after, data, tmp_path):
    """A training of several passes that ended at an error in the middle of the second, after checkpoints."""

    def run(after, *more, data=data):
        rule = [] if "--auto" in more else ["--rule=arow"]
        arguments = ["train", data, *rule, "-q", "-o", tmp_path / "m.cw", "--passes", 3, "--checkpoint-every", 100]
        stopped_after([*arguments, *more], after)
        return arguments

    return run


@pytest.mark.long("stacks of thousands of rows")
def test_a_stack_of_shuffled_rows_follows_nothing_until_it_is_continued(ok, tmp_path, stopped_after):
    data, generator = tmp_path / "data.svm", np.random.default_rng(0)
    rows = ((int(x[0] + 2 * x[1] > 3), x.tolist()) for x in generator.integers(0, 4, (2500, 3)))
    data.write_text("".join(f"{y} 1:{a} 2:{b} 3:{c}\n" for y, (a, b, c) in rows))
    arguments = ["train", data, "--auto", "--shuffle", "-q", "-o", tmp_path / "m.cw"]
    stopped_after([*arguments, "--checkpoint-every", 100], 2)
    ok(*arguments, "--checkpoint-every", 100, "--resume")
    ok("train", data, "--auto", "--shuffle", "-q", "-o", tmp_path / "whole.cw")
    assert (tmp_path / "m.cw").read_bytes() == (tmp_path / "whole.cw").read_bytes()
    header, found = contents_of(tmp_path / "m.cw")
    assert header["later"]
    assert found["mixture.share"].tolist() == [0.0, 0.0, 1.0]
    for more in ((), ("--shuffle",)):
        ok("train", data, "--init-model", tmp_path / "m.cw", "-q", "-o", tmp_path / "next.cw", *more)
        header, found = contents_of(tmp_path / "next.cw")
        assert "later" not in header
        assert (found["mixture.share"] > 0).all()


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "command", [("train", "--rule=arow"), ("topics", "train"), ("topics", "train", "--stream", "--classes", "1,-1")]
)
@pytest.mark.parametrize(("after", "before", "now"), [(2, 1, 2), (2, 3, 5), (5, 2, 4), (6, 3, 2), (8, 3, 7)])
def test_a_training_resumes_with_another_number_of_passes(
    ok, data, tmp_path, stopped_after, command, after, before, now
):
    arguments = [*command, data, "-q", "-o", tmp_path / "m.cw", "--checkpoint-every", 100]
    stopped_after([*arguments, "--passes", before], after)
    ok(*arguments, "--passes", now, "--resume")
    ok(*command, data, "-q", "-o", tmp_path / "whole.cw", "--passes", now)
    assert (tmp_path / "m.cw").read_bytes() == (tmp_path / "whole.cw").read_bytes()


@pytest.mark.long("fifteen trainings, of stacks too")
@pytest.mark.parametrize(
    "more", [("--rule=arow", "--holdout=.2", "--early-stop", "--patience=9"), ("--covariance", "full"), ("--auto",)]
)
def test_more_passes_with_other_learners(ok, data, tmp_path, stopped, more):
    stopped(7, *more)
    arguments = ["train", data, "-q", "--passes", 6, *more]
    ok(*arguments, "-o", tmp_path / "m.cw", "--checkpoint-every", 100, "--resume")
    ok(*arguments, "-o", tmp_path / "whole.cw")
    (header, found), (_, whole) = (contents_of(tmp_path / name) for name in ("m.cw", "whole.cw"))
    assert found.keys() == whole.keys()
    for name, array in found.items():
        if header.get("members") and name.endswith(".counters"):
            # in later passes, members' calibrations move within a cut and are then taken back: mistakes are near
            np.testing.assert_array_equal(np.delete(array, 1), np.delete(whole[name], 1))
            assert abs(array[1] - whole[name][1]) <= 3
        else:
            np.testing.assert_array_equal(array, whole[name], err_msg=name)
    if not header.get("members"):
        assert (tmp_path / "m.cw").read_bytes() == (tmp_path / "whole.cw").read_bytes()


def test_no_fewer_passes_than_have_begun(call, stopped):
    arguments = stopped(6)
    code, _, err = call(*arguments, "--passes", 1, "--resume")
    assert code == 2 and err.count("\n") == 1
    assert "--passes: " in err and "has begun pass 2, got 1; use 2 or more, or omit --resume" in err


def test_a_checkpoint_is_a_model(ok, data, tmp_path, stopped):
    stopped(2, "--no-shuffle")
    head = tmp_path / "head.svm"
    head.write_text("".join(data.read_text().splitlines(keepends=True)[:200]))
    ok("train", head, "--rule=arow", "--no-shuffle", "-q", "-o", tmp_path / "head.cw")
    assert ok("predict", tmp_path / "m.cw.checkpoint", data, "--proba") == ok(
        "predict", tmp_path / "head.cw", data, "--proba"
    )


def test_resuming_reports_where_it_goes_on_and_the_whole(ok, call, data, tmp_path, stopped):
    arguments = [*stopped(5)[:-2], "--json", "--resume", "--checkpoint-every", 500]
    arguments.remove("-q")
    *events, result = [json.loads(line) for line in ok(*arguments).splitlines()]
    assert events[0] == {"event": "resume", "pass": 2, "rows": 100}
    whole = json.loads(ok("train", data, "--rule=arow", "-q", "--json", "--passes", 3, "-o", tmp_path / "whole.cw"))
    for name in ("rows", "mistakes", "error", "log_loss", "updates", "rows_seen", "passes"):
        assert result[name] == whole[name]


@pytest.mark.parametrize("command", [("train", "--rule=arow"), ("topics", "train")])
def test_resume_does_not_train_over_a_finished_model(ok, call, data, tmp_path, command):
    model = tmp_path / "a.cw"
    ok(*command, data, "-q", "-o", model)
    before = model.read_bytes(), model.stat().st_mtime_ns
    code, out, err = call(*command, data, "-q", "-o", model, "--resume")
    assert (code, out) == (2, "") and f"{model} exists and has no checkpoint: its training is complete" in err
    assert before == (model.read_bytes(), model.stat().st_mtime_ns)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (["--r", "3"], "--r was not set and is 3.0"),
        (["--on-error", "limit=4"], "--on-error was stop and is 4"),
        (["{other}"], "the data were {data} and are {data} {other}"),
        (["--validation", "{other}"], "the validation were none and are {other}"),
    ],
)
def test_another_training_is_not_gone_on_with(call, data, tmp_path, stopped, change, problem):
    arguments, other = stopped(1), tmp_path / "other.svm"
    other.write_text(rows(10))
    names = {"data": data, "other": other}
    code, out, err = call(*arguments, *(c.format(**names) for c in change), "--resume")
    assert code == 2 and out == "" and err.count("\n") == 1
    assert "is the checkpoint of another training" in err and problem.format(**names) in err


def test_data_that_have_changed_are_not_gone_on_with(call, data, stopped):
    arguments = stopped(1)
    data.write_text(data.read_text() + "1 1:1\n")
    code, _, err = call(*arguments, "--resume")
    assert code == 2 and "data.svm has changed since" in err


def test_a_damaged_checkpoint_is_refused(call, tmp_path, stopped):
    arguments, path = stopped(1), tmp_path / "m.cw.checkpoint"
    content = path.read_bytes()
    for damaged in (content[:-5], content[:50], b"", content[:-1] + bytes([content[-1] ^ 1])):
        path.write_bytes(damaged)
        code, _, err = call(*arguments, "--resume")
        assert code == 2 and "m.cw.checkpoint" in err and err.count("\n") == 1
    code, _, err = call(*(a for a in arguments if a != "-q"))
    assert code == 0 and "training from scratch; use --resume to resume from it" in err


@pytest.mark.long("seven trainings of each kind of names")
@pytest.mark.parametrize("options", [("--text", "t", "--ngrams", "1-2"), ("--vocabulary",), ("--bits", "6")])
def test_features_with_names(ok, tmp_path, stopped, options):
    data, draw = tmp_path / "data.jsonl", random.Random(0)
    lines = []
    for _ in range(300):
        words = [f"w{min(draw.randrange(60), draw.randrange(60))}" for _ in range(5)]
        row = {"label": draw.randrange(2), "x": draw.random(), "c": words[0], "t": " ".join(words)}
        lines.append(json.dumps(row) + "\n")
    data.write_text("".join(lines))
    models = [tmp_path / f"{name}.cw" for name in ("whole", "cached", "m")]
    ok("cache", data, *options, "-o", tmp_path / "data.cache")
    ok("train", data, "--rule=arow", *options, "-q", "--passes", 3, "-o", models[0])
    ok("train", tmp_path / "data.cache", "--rule=arow", "-q", "--passes", 3, "-o", models[1])
    ok(*stopped(5, *options, data=data), *options, "--resume")
    assert len({model.read_bytes() for model in models}) == 1
    data.write_text("".join(lines[::-1]))
    ok(
        "train", data, "--rule=arow", *options, "-q", "-o", models[0]
    )  # whose features have other columns than the cache's
    data.write_text("".join(lines))
    for command in (["predict", models[0], "--proba"], ["evaluate", models[0]]):
        assert ok(*command, data) == ok(*command, tmp_path / "data.cache")


def test_features_not_met_when_a_third_class_comes_weigh_zero_without_a_sign(ok, tmp_path):
    # a feature of a later row is there already if the rows are read together, and not if a checkpoint came between
    data, model = tmp_path / "data.svm", tmp_path / "m.cw"
    data.write_text(rows(500, ("-1", "+1", "x", "y"), d=200))
    ok("train", data, "--rule=arow", "-o", model, "-q")
    weights = Model.load(model).learner.state["weights"]
    assert (weights == 0).any()
    assert not np.signbit(weights[weights == 0]).any()


def test_interrupted_before_the_first_row_saves_nothing(call, data, tmp_path, monkeypatch):
    """A checkpoint that knows no class yet could not be loaded."""

    def interrupted(training):
        raise Interrupted(signal.SIGINT)

    monkeypatch.setattr(LearnerTraining, "open_pass", interrupted)
    code, out, err = call("train", data, "--rule=arow", "-q", "-o", tmp_path / "m.cw")
    assert (code, out) == (130, "") and "interrupted before the first row; nothing is saved" in err
    assert not list(tmp_path.glob("m.cw*"))


# --- damaged checkpoints ----------------------------------------------------------------------------------------------

DAMAGED_POSITIONS = {
    "no position": lambda t: t.pop("position"),
    "no run": lambda t: t.pop("run"),
    "run is a list": lambda t: t.update(run=[]),
    "options are a list": lambda t: t["run"].update(options=[]),
    "no passes": lambda t: t["run"]["options"].pop("--passes"),
    "data are numbers": lambda t: t["run"].update(data=[1, 2]),
    "data without a path": lambda t: t["run"]["data"][0].pop("path"),
    "validation is null": lambda t: t["run"].update(validation=None),
    "position is text": lambda t: t.update(position="7"),
    "no counts": lambda t: t["position"].pop("now") and t["position"].update(now=None),
    "rows are text": lambda t: t["position"]["now"].update(rows="7"),
    "fewer rows than were learned": lambda t: t["position"]["now"].update(rows=1),
    "negative rows": lambda t: t["position"]["now"].update(rows=-7),
    "fractions of rows": lambda t: t["position"]["now"].update(rows=7.5),
    "other mistakes": lambda t: t["position"]["now"].update(mistakes=10**6),
    "negative passes": lambda t: t["position"].update(passes=-1),
    "too many passes": lambda t: t["position"].update(passes=10**18),
    "passes are a list": lambda t: t["position"].update(passes=[1]),
    "began has two numbers": lambda t: t["position"].update(began=[0, 0]),
    "began elsewhere": lambda t: t["position"].update(began=[5, 0, 0]),
    "the first pass is a number": lambda t: t["position"].update(first=1),
    "the best is a number": lambda t: t["position"].update(best=3.0),
    "the best has no loss": lambda t: t["position"].update(best={"pass": 1, "rows": 2, "error": 0.5}),
    "the last is not finite": lambda t: t["position"].update(
        last={"pass": 1, "rows": 2, "error": 0, "log_loss": np.inf}
    ),
    "waited is null": lambda t: t["position"].update(waited=None),
    "seconds are text": lambda t: t["position"].update(seconds="1"),
}


@pytest.mark.parametrize("case", DAMAGED_POSITIONS)
def test_damaged_positions_are_one_error(case, call, data, tmp_path, stopped):
    arguments, path = stopped(2), tmp_path / "m.cw.checkpoint"
    header, arrays = contents_of(path)
    DAMAGED_POSITIONS[case](header["training"])
    write_contents(path, header, arrays)
    before = path.read_bytes()
    code, out, err = call(*arguments, "--resume")
    assert code == BAD_INPUT and out == "" and err.count("\n") == 1
    assert err.startswith(f"confidently: error: {path}: damaged model file"), err
    assert path.read_bytes() == before and not (tmp_path / "m.cw").exists()


def test_rows_beyond_the_data_are_one_error(call, data, tmp_path, stopped):
    arguments, path = stopped(2), tmp_path / "m.cw.checkpoint"
    header, arrays = contents_of(path)
    header["training"]["position"]["now"]["rows"] = 10**12
    write_contents(path, header, arrays)
    code, _, err = call(*arguments, "--resume")
    assert code == BAD_INPUT and "rows before the first row to read" in err
    assert not (tmp_path / "m.cw").exists()
