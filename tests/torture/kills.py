"""Commands that are killed at random moments, go on, and end with the same bytes as if nothing had happened."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.command_line import COMMAND, rows
from tests.torture.scenarios import TEMPORARY, Folder


def phase(folder: Folder) -> str:
    """Return what a kill has interrupted, as the files show it."""
    names = [path.name for path in folder.folder.iterdir()]
    unfinished = [name for name in names if TEMPORARY.fullmatch(name)]
    if any(".checkpoint" in name for name in unfinished):
        return "checkpoint write"
    if unfinished:
        return "output write"
    if any(name.endswith(".partial") for name in names):
        return "cache build"
    if any(name.endswith((".training-cache", ".cache")) and name not in folder.old for name in names):
        return "later passes"
    return "first pass, or nothing left"


def kill(folders: Sequence[Folder], n: int, seed: int) -> Counter[tuple[str, str]]:
    """Kill runs of the scenarios in turn, n times; return how often each phase of each was hit."""
    moments, hit = random.Random(seed), Counter[tuple[str, str]]()
    durations = {folder.scenario.name: duration(folder) for folder in folders}
    while hit.total() < n:
        for folder in folders:
            name = folder.scenario.name
            after = moments.uniform(0.0, durations[name])
            outcome = folder.runs.run(
                folder.scenario.again(folder.folder), folder.folder, kill_after=after, armed=False
            )
            folder.check(unfinished=True)
            if outcome.killed:
                hit[name, phase(folder)] += 1
            else:
                assert outcome.status == 0, outcome.said
                folder.check_new()
                folder.restore()
    for folder in folders:
        folder.complete()
        folder.restore()
    return hit


def duration(folder: Folder) -> float:
    """Return the seconds of an undisturbed run."""
    began = time.monotonic()
    folder.complete()
    spent = time.monotonic() - began
    folder.restore()
    return spent


def kill_clusters(folder: Path, n: int, seed: int) -> int:
    """Kill trainings on a cluster, with their workers, n times; return how many of them had written a model."""
    data, model, whole = (folder / name for name in ("data.svm", "m.cw", "whole.cw"))
    data.write_text(rows(2000, d=50))
    moments, early = random.Random(seed), 0
    command = [
        *COMMAND, "train", str(data), "--rule=arow", "-q", "--workers", "2", "--partitions", "2", "--passes", "2",
        "-o",
    ]  # fmt: skip
    began = time.monotonic()
    subprocess.run([*command, whole], check=True, capture_output=True)
    spent = time.monotonic() - began
    for _ in range(n):
        model.unlink(missing_ok=True)
        with subprocess.Popen(
            [*command, str(model)], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as training:
            time.sleep(moments.uniform(0.2, 1.0) * spent)
            os.killpg(training.pid, signal.SIGKILL)
        assert not model.exists() or model.read_bytes() == whole.read_bytes()
        early += model.exists()
    subprocess.run([*command, model], check=True, capture_output=True)
    assert model.read_bytes() == whole.read_bytes()
    return early
