"""Runs of the command line in which system calls fail, are recorded, or which a signal ends.

A process that has imported everything, with the library of faults.c preloaded, forks one that runs the command line: so
a run takes as long as its work.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("faults.c")
CALLS = ("write", "fsync", "rename", "open", "mmap", "malloc", "thread")

ZYGOTE = """
import ctypes, json, os, signal, sys, time, traceback
import confidently.cli.training.learner, confidently.cli.training.saving, confidently.cli.training.topics
import confidently.cli.output.training_summaries, confidently.cli.output.model_summaries
import confidently.cli.output.writers, confidently.models.merging, safetensors.numpy
import confidently.data.writing, confidently.cli.training.checkpoint, confidently.data.formats.lines
from confidently.cli import run

faults = ctypes.CDLL(None)
faults.faults_count.restype = ctypes.c_long
answers = os.fdopen(os.dup(1), "w")

def child(request):
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(request["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    os.chdir(request["folder"])
    if request["armed"]:
        folder, log, call, nth, error = request["armed"]
        faults.faults_arm(folder.encode(), log and log.encode(), call.encode(), ctypes.c_long(nth), error)
    try:
        code = run(request["arguments"])
    except BaseException:
        traceback.print_exc()
        code = 1
    if request["armed"]:
        counts = {call: faults.faults_count(call.encode()) for call in request["calls"]}
        faults.faults_arm(folder.encode(), None, b"", ctypes.c_long(0), 0)  # a call that never came must not fail here
        with open(request["counts"], "w") as file:
            json.dump(counts, file)
    sys.stderr.flush()
    os._exit(code)

for line in sys.stdin:
    request = json.loads(line)
    pid = os.fork()
    if not pid:
        child(request)
    if request["kill_after"] is not None:
        time.sleep(request["kill_after"])
        os.kill(pid, signal.SIGKILL)
    end, done = time.monotonic() + request["limit"], (0, 0)
    while not (done := os.waitpid(pid, os.WNOHANG))[0] and time.monotonic() < end:
        time.sleep(0.001)
    if not done[0]:
        os.kill(pid, signal.SIGABRT)
        done = os.waitpid(pid, 0)
    print(done[1], file=answers, flush=True)
"""
LIMIT = 60  # seconds, after which a run hangs


@dataclass(frozen=True)
class Outcome:
    """The wait status of a run, its standard error, and how often it made each call."""

    status: int
    said: str
    counts: dict[str, int]

    @property
    def killed(self) -> bool:
        return os.WIFSIGNALED(self.status)

    @property
    def code(self) -> int:
        return os.WEXITSTATUS(self.status)


def built(folder: Path) -> Path:
    """Compile faults.c; raise ``FileNotFoundError`` or ``CalledProcessError`` where that cannot be done."""
    library = folder / "faults.so"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    return library


class Runs:
    """Runs of the command line, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # a sanitizer's runtime comes first
        libraries = f"{os.environ.get('LD_PRELOAD', '')} {built(folder)}"
        environment = {**os.environ, "LD_PRELOAD": libraries, "PYTHONMALLOC": "malloc"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", ZYGOTE], text=True, bufsize=1, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=environment,
        )  # fmt: skip

    def __enter__(self) -> Runs:
        return self

    def __exit__(self, *error: object) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def run(
        self, arguments: list[str], where: Path, *, log: Path | None = None, call: str = "", nth: int = 0,
        error: int = 0, kill_after: float | None = None, armed: bool = True,
    ) -> Outcome:  # fmt: skip
        """Run the command line in a folder, whose files are watched."""
        said, counts = self.folder / "said", self.folder / "counts"
        counts.unlink(missing_ok=True)
        request: dict[str, Any] = {
            "arguments": arguments, "folder": str(where), "said": str(said), "counts": str(counts), "calls": CALLS,
            "kill_after": kill_after, "limit": LIMIT,
            "armed": [str(where), log and str(log), call, nth, error] if armed else None,
        }  # fmt: skip
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        status = int(self.process.stdout.readline())
        found = json.loads(counts.read_text()) if counts.exists() else {}
        return Outcome(status, said.read_text(errors="replace"), found)
