"""What the tests of the command line share."""

import os
import subprocess
import sys
import warnings
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import cache
from io import StringIO

import numpy as np

from confidently.cli import run

COMMAND = [sys.executable, "-m", "confidently"]


DIFFERENT = 2000  # rows, which then come again


def rows(n=300, labels=("-1", "+1"), seed=0, d=20):
    """Separable enough: each class has features of its own."""
    return _rows(n, tuple(labels), seed, d)


@cache
def _rows(n, labels, seed, d):
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(min(n, DIFFERENT)):
        k = random.integers(len(labels))
        columns = sorted({int(k), *map(int, random.choice(np.arange(len(labels), d), 4))})
        lines.append(f"{labels[k]} " + " ".join(f"{j + 1}:{random.uniform(0.5, 1.5):.4f}" for j in columns))
    return "".join(f"{lines[k % DIFFERENT]}\n" for k in range(n))


def process(*arguments, **options):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False, **options)


def shown_on(terminal):
    """Return what processes write to a pseudo-terminal until they close it, read from its other end."""
    shown = b""
    with suppress(OSError):  # how Linux reports the end
        while part := os.read(terminal, 65536):
            shown += part
    os.close(terminal)
    return shown


def here(*arguments, cwd="."):
    """Run a command as :func:`process` does, but in this process, which is quicker."""
    with (
        chdir(cwd), redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err, warnings.catch_warnings(),
    ):  # fmt: skip
        warnings.simplefilter("default")
        code = run([str(argument) for argument in arguments])
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


@contextmanager
def standard_input(path):
    """Let commands in this process read a file as their standard input."""
    kept = os.dup(0)
    with open(path, "rb") as file:
        os.dup2(file.fileno(), 0)
    try:
        yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)
