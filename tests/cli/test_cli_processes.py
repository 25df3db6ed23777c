"""The command line as a process: what is wrong is one line; pipes, interrupts, memory, imports, terminals."""

import gzip
import json
import os
import pty
import re
import resource
import shlex
import signal
import subprocess
import sys
import threading
from functools import partial
from importlib.util import find_spec

import pytest

from confidently.cli import COMMANDS, run
from tests.command_line import COMMAND, process, rows, shown_on


@pytest.mark.long("fifty thousand rows, processes")
@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "{data}", "--rule=arow", "-q", "-o", "{new}"], ["predict", "{model}", "{data}", "-o", "{new}"],
        ["cache", "{data}", "-o", "{new}"],
        ["train", "{data}", "--rule=arow", "-q", "--cache", "{new}", "-o", "{model}"],
    ],
)  # fmt: skip
def test_a_file_without_room_is_named(ok, tmp_path, arguments):
    """Of a file that must not grow beyond some size the system says no more than of a full disk: not its name."""
    files = {"data": tmp_path / "data.svm", "model": tmp_path / "m.cw", "new": tmp_path / "new"}
    files["data"].write_text(rows(50_000))
    ok("train", files["data"], "--rule=arow", "-q", "-o", files["model"])
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (500, 500))
    done = process(*(a.format(**files) for a in arguments), preexec_fn=limit)
    assert done.returncode == 2 and done.stderr == f"confidently: error: {files['new']}: File too large\n"
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.long("starts processes")
@pytest.mark.parametrize(("kind", "header"), [("tsv", False), ("csv", True), ("jsonl", False)])
def test_predictions_come_as_rows_do(data, tmp_path, kind, header):
    """Whoever reads them sees that of a row before the next row is sent."""
    process("train", data, "--rule=arow", "-q", "-o", tmp_path / "m.cw")
    command = [*COMMAND, "predict", tmp_path / "m.cw", "-", "--output-format", kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as asked:
        for number, line in enumerate(data.read_text().splitlines()[:3]):
            asked.stdin.write(line + "\n")
            asked.stdin.flush()
            if header and number == 0:
                assert "class" in asked.stdout.readline()
            assert "1" in asked.stdout.readline()
        asked.stdin.close()


@pytest.mark.long("fifty thousand rows, a process")
def test_a_reader_that_has_gone_is_no_error(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text(rows(50_000))
    process("train", path, "--rule=arow", "-q", "-o", tmp_path / "m.cw")
    with subprocess.Popen(
        [*COMMAND, "predict", tmp_path / "m.cw", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as asked:
        asked.stdout.readline()
        asked.stdout.close()
        assert asked.stderr.read() == b"" and asked.wait() == 141


@pytest.mark.long("interrupts a process")
def test_interrupted_training_leaves_a_checkpoint(tmp_path):
    model = tmp_path / "m.cw"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    listening = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a background job ignores Ctrl-C
    with subprocess.Popen(
        [*COMMAND, "train", "-", "--rule=arow", "-o", model], **pipes, preexec_fn=listening
    ) as training:
        training.stdin.write(rows(2000).encode())
        training.stdin.flush()
        training.stderr.readline()  # the heading: rows have been learned, and it waits for more
        training.send_signal(signal.SIGINT)
        assert training.wait() == 130
        found = training.stderr.read().decode().splitlines()
    assert re.fullmatch(r"confidently: interrupted after [1-9][0-9,]* rows of pass 1", found[-2])
    assert found[-1] == f"{model}.checkpoint is saved; resume with: confidently train - --rule=arow -o {model} --resume"
    assert list(tmp_path.iterdir()) == [tmp_path / "m.cw.checkpoint"]


@pytest.mark.long("a million rows")
@pytest.mark.parametrize("pack", [open, gzip.open])
def test_memory_does_not_grow_with_the_file(tmp_path, pack):
    code = (
        "import resource, sys; from confidently.cli import run; "
        "assert run(['train', sys.argv[1], '-q', '--json']) == 0; "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = []
    block = rows(20_000, d=200)
    for times, opened in ((4, open), (16, pack)):
        path = tmp_path / f"{times}.svm"
        with opened(path, "wt") as file:
            for _ in range(times):
                file.write(block)
        done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout.splitlines()[-1]))
    assert max(peaks) < peaks[0] * 1.15


HEAVY = [  # modules of the package that no command needs that trains and predicts with the default options
    f"confidently.{name}"
    for name in (
        "covariances.kernel_model", "covariances.batch_products", "topics.learner", "evaluation.measures",
        "cli.output.plots", "cli.training.cluster", "cli.training.topics", "stack.threads", "views.standard",
    )
] + ["concurrent.futures", "fractions", "numpy.ma"]  # fmt: skip


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Data of several formats and models, by what stands for them in arguments."""
    folder = tmp_path_factory.mktemp("inputs")
    names = {"data": "data.svm", "vw": "rows.vw", "words": "words.jsonl", "some": "some.jsonl", "table": "rows.csv",
             "several": "several.svm", "model": "model.cw", "cache": "rows.cache", "named": "named.cw"}  # fmt: skip
    files = {name: folder / file for name, file in names.items()}
    words = [json.dumps({"label": "ab"[k % 2], "text": f"word{k % 7} other{k % 5}"}) + "\n" for k in range(300)]
    files["data"].write_text(rows())
    files["vw"].write_text(re.sub("(?m)^(\\S+) ", r"\1 |a ", rows(labels=("-1", "1"))))
    files["words"].write_text("".join(words))
    files["some"].write_text("".join(words[:5]))  # not all words
    files["table"].write_text("label,x,town\n" + "a,1.5,Rome\nb,-2.5,Bonn\n" * 300)
    files["several"].write_text(rows(labels=tuple("abcdef")))
    for arguments in (["train", files["data"], "--rule=arow", "-q", "-o", files["model"]],
                      ["cache", files["data"], "-q", "-o", files["cache"]],
                      ["train", files["some"], "--rule=arow", "--text=text", "-q", "-o", files["named"]]):  # fmt: skip
        assert run([str(argument) for argument in arguments]) == 0
    return files


@pytest.mark.long("starts processes of dozens of commands")
@pytest.mark.parametrize(
    "commands",
    [
        [["--help"]],
        [
            ["rules"],
            ["predict", "{model}", "{data}", "-q"],
            ["predict", "{model}", "{data}", "--proba"],
            ["predict", "{named}", "{words}", "--proba", "--json", "--keep", "label"],
            *([name, "--help"] for name in COMMANDS),
            ["train", "{data}", "--rule=arow", "-q", "-o", "{tmp}/m.cw"],
            ["train", "{words}", "--rule=arow", "-q", "-o", "{tmp}/m.cw", "--text=text", "--ngrams=2", "--bits=18"],
            ["train", "{vw}", "-q", "-o", "{tmp}/m.cw", "--rule", "pa1", "--dtype", "float32"],
            ["train", "{cache}", "--rule=arow", "-q", "-o", "{tmp}/m.cw"],
            ["train", "{several}", "--rule=arow", "-q", "-o", "{tmp}/m.cw"],
        ],
        [["train", "{table}", "--rule=arow", "-q", "-o", "{tmp}/m.cw", "--label", "label"]],
    ],
    ids=["the first help", "all but tables", "tables"],
)
def test_heavy_libraries_stay_out(inputs, tmp_path, commands):
    """Of training from files, and of predicting classes and probabilities."""
    assert all(find_spec(name) for name in HEAVY)  # or they were renamed
    code = (
        "import json, sys; from confidently.cli import run; commands = json.loads(sys.argv[1]); "
        "assert all(run(arguments) == 0 for arguments in commands); "
        "heavy = {'sklearn', 'scipy', 'pandas', 'pyarrow', 'rich', 'matplotlib'}; "
        f"heavy |= {set(HEAVY)}; "
        "heavy -= {'confidently.views.standard'} if '--label' in commands[0] else set(); "  # which tables have
        "light = {'numpy', 'confidently._core', 'confidently.rules', 'dataclasses', 'importlib.metadata'}; "
        "heavy |= light if commands == [['--help']] else set(); "
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    given = [[argument.format(**inputs, tmp=tmp_path) for argument in arguments] for arguments in commands]
    done = subprocess.run([sys.executable, "-c", code, json.dumps(given)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys, confidently, confidently.cli; "
        "heavy = {'numpy', 'sklearn', 'scipy', 'pandas', 'pyarrow', 'rich', 'matplotlib', 'dask', 'distributed', "
        "'river', 'onnx', 'polars', 'torch'}; "
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.long("sixty thousand rows, a process")
def test_a_terminal_sees_a_live_bar(data, tmp_path):
    controller, terminal = pty.openpty()
    path = tmp_path / "big.svm"
    path.write_text(rows(60_000))
    done = subprocess.Popen(
        [*COMMAND, "train", path, "--rule=arow"],
        stdout=subprocess.PIPE,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(terminal)
    shown = shown_on(controller)
    done.stdout.close()
    assert done.wait() == 0
    assert b"100 %" in shown and b"rows/s" in shown and b"60,000 rows" in shown and b"since last" not in shown


@pytest.mark.long("starts processes")
@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("MemoryError()", "an allocation failed"),
        ("MemoryError('8 bytes')", "8 bytes"),
        ('RuntimeError("can\'t start new thread")', "can't start new thread"),
        ("ImportError('a.so: failed to map segment from shared object')", "failed to map segment"),
    ],
)
@pytest.mark.parametrize("where", ["confidently.data.stream", "confidently.learner.learner"])
def test_memory_that_is_refused_anywhere_is_one_sentence(data, tmp_path, where, error, said):
    code = (
        "import sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {where!r}: raise {error}\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "from confidently.__main__ import main; main()"
    )
    command = [sys.executable, "-c", code, "train", data, "-q", "-o", tmp_path / "m.cw"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"confidently: error: not enough memory: {said}\n")
    assert list(tmp_path.iterdir()) == [data]


def test_a_thread_that_cannot_be_started_is_one_sentence(call, data, tmp_path, monkeypatch):
    """The threads that were started before it end."""
    started, real = [], threading.Thread.start

    def start(thread):
        if thread.name == "confidently-reader" and len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    code, _, err = call("train", data, "--rule=arow", "-q", "-o", tmp_path / "m.cw")
    assert (code, err) == (2, "confidently: error: not enough memory: can't start new thread\n")
    assert not any(thread.is_alive() for thread in started) and list(tmp_path.iterdir()) == [data]


@pytest.mark.long("starts processes")
@pytest.mark.parametrize(
    ("redirected", "code", "said"),
    [
        ("train - --rule=arow -o {model} <&-", 2, "confidently: error: standard input is empty\n"),
        ("rules >&-", 2, "confidently: error: standard output is closed; use >/dev/null to ignore it\n"),
        ("rules >/dev/full", 2, "confidently: error: No space left on device\n"),
        ("train missing.svm 2>&-", 2, ""),
        ("train missing.svm 2>/dev/full", 2, ""),
        ("train {data} -o {model} >/dev/null <&- 2>&-", 0, ""),
    ],
)
def test_streams_that_are_closed_or_full(data, tmp_path, redirected, code, said):
    if "/dev/full" in redirected and not os.path.exists("/dev/full"):
        pytest.skip("no device without room")
    line = shlex.join(COMMAND) + " " + redirected.format(data=data, model=tmp_path / "m.cw")
    buffered = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False, env=buffered)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)
    assert (tmp_path / "m.cw").exists() == (code == 0)
