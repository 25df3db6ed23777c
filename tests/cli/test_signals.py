"""Signals end every command in order, from its first moments on: one line, exit code 128 + the signal, nothing left."""

import signal
import subprocess
import sys

import pytest

from confidently.cli.training.interrupts import Interrupted, Interruptions
from tests.command_line import COMMAND, rows

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]

# The command, which a signal hits when it imports a module.
STRUCK = """
import os, sys
number, struck = int(sys.argv[1]), sys.argv[2]
del sys.argv[1:3]

class Strike:
    def find_spec(self, name, path=None, target=None):
        if name == struck:
            os.kill(os.getpid(), number)

import confidently.__main__
sys.meta_path.insert(0, Strike())
confidently.__main__.main()
"""


@pytest.mark.few(1)
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(
    "struck",
    [
        "confidently.cli", "click", "confidently.cli.commands.train", "confidently._core", "confidently.models.model",
        "json",
    ],
)  # fmt: skip
def test_a_signal_at_any_import_ends_in_one_line(data, tmp_path, number, struck):
    command = [sys.executable, "-c", STRUCK, str(int(number)), struck, "train", data, "-o", tmp_path / "m.cw", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "confidently: interrupted\n")
    assert list(tmp_path.iterdir()) == [data]


@pytest.mark.long("starts processes")
@pytest.mark.few(1)
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("arguments", [["predict", "m.cw", "-", "-o", "new", "-q"], ["cache", "-", "-o", "new", "-q"]])
def test_a_signal_leaves_no_temporary_file(ok, data, tmp_path, number, arguments):
    ok("train", data, "--rule=arow", "-q", "-o", tmp_path / "m.cw")
    before = set(tmp_path.iterdir())
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*COMMAND, *arguments], cwd=tmp_path, **pipes) as waiting:
        waiting.stdin.write(rows(50_000))
        waiting.stdin.flush()
        while set(tmp_path.iterdir()) == before:  # until it writes
            assert waiting.poll() is None
        waiting.send_signal(number)
        assert waiting.wait() == 128 + number
        assert waiting.stderr.read() == "confidently: interrupted\n"
    assert set(tmp_path.iterdir()) == before


def test_a_signal_ends_the_wait_for_a_batch():
    handler, seen = signal.getsignal(signal.SIGTERM), []

    def batches():
        yield 1
        signal.raise_signal(signal.SIGTERM)  # which the source of batches does not see
        yield 2

    with Interruptions() as interruptions, pytest.raises(Interrupted, match="SIGTERM"):
        seen.extend(interruptions.watch(batches()))
    assert seen == [1] and interruptions.received == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is handler


@pytest.mark.long("starts a process")
def test_an_ignored_signal_stays_ignored(data, tmp_path):
    """As under nohup."""
    model, struck = tmp_path / "m.cw", [str(int(signal.SIGHUP)), "numpy"]
    command = [sys.executable, "-c", STRUCK, *struck, "train", data, "-o", model, "-q"]
    ignoring = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}
    assert subprocess.run(command, stdout=subprocess.DEVNULL, check=False, **ignoring).returncode == 0
    assert model.exists()
