"""Runs a target on random inputs for some seconds, in limited memory, and says how many there were.

A target is a module with ``inputs(random, folder)``, which yields the paths of files that it has written, and
``check(path)``, which raises for anything that must not happen. An input depends on the seed alone.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
import traceback
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

MEMORY = 512 << 20  # bytes that the machine seems to have, in addition to those of the start
PLACE, MULTIPLE = 1 << 20, 100  # what reading takes at most: docs/promises.md


class TookMemory(AssertionError):
    """What reads a file took more memory than it may."""


@contextmanager
def bounded(path: Path) -> Iterator[None]:
    """Raise ``TookMemory`` if what reads a file takes more than PLACE bytes and MULTIPLE times its size."""
    if not tracemalloc.is_tracing():
        tracemalloc.start()  # once: every start takes some memory that a stop does not give back
    before, size = tracemalloc.get_traced_memory()[0], path.stat().st_size
    tracemalloc.reset_peak()
    try:
        yield
    finally:
        most = tracemalloc.get_traced_memory()[1] - before
        if most > PLACE + MULTIPLE * size:
            raise TookMemory(f"reading {size:,} bytes took {most:,}")


def limit_memory() -> None:
    """Let estimates and the system refuse more than MEMORY; not under AddressSanitizer, which maps terabytes."""
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        return
    import resource

    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def run(name: str, inputs: Callable[[Random, Path], Iterator[Path]], check: Callable[[Path], None]) -> None:
    """The command line of a target."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--runs", type=int, default=sys.maxsize, help="most inputs")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)), help="random by default")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for inputs that fail")
    options = parser.parse_args()
    warnings.simplefilter("error")
    print(f"{name}: seed {options.seed}", flush=True)
    end, done = time.monotonic() + options.seconds, 0
    with TemporaryDirectory(prefix="fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        found = inputs(Random(options.seed), Path(folder))
        limit_memory()
        while done < options.runs and time.monotonic() < end:
            path = next(found)
            try:
                try:
                    check(path)
                except TookMemory:  # perhaps of the interpreter, whose table of names grows at once by some megabytes
                    check(path)
            except Exception:
                traceback.print_exc()
                options.out.mkdir(exist_ok=True)
                kept = shutil.copy(path, options.out / f"crash-{name}-{options.seed}-{done}{path.suffix}")
                sys.exit(f"{name}: input {done} of seed {options.seed} fails; it is kept as {kept}")
            done += 1
    print(f"stat::number_of_executed_units: {done}", flush=True)
