"""Training on a cluster: test error against rounds, bytes moved, and rows per second of one and of two workers.

Errors: film reviews as JSON lines, hashed binary words and word pairs of unit L2 norm, AROW with r = 0.1, one pass, 16
partitions; compared with one classifier trained on all rows, and with several passes of one round each. No setting is
chosen on the test rows. Rows are shuffled beforehand, the same for all. Stacks: the same for AutoClassifier on svmlight
files of letters (numbers, 26 classes), colors of skin (three numbers) and the film reviews, with 8 partitions. Speed: a
generated svmlight file, one partition per worker; one worker and two take turns, and both clusters are started before.
The possible gain of a second worker depends on the machine's processors: two processes that train on half of the file
each, without merging, show it. Break-even: one process and two workers in turns on files of several sizes, by processor
time, as if each had a processor of its own.
"""

from __future__ import annotations

import gzip
import json
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from harness import FOLDER, arguments, have_data, load, machine, markdown, table, write_json
from sklearn.datasets import dump_svmlight_file

from confidently import AROW, AutoClassifier, OnlineClassifier, distributed
from confidently.data import ReaderOptions, open_stream
from confidently.data.sources.file_range import FileRange
from confidently.distributed.cluster import connected

PARTITIONS, R, SEED = 16, 0.1, 0
ROUNDS, PASSES = (1, 2, 4, 8, 16, 32), (2, 4)
READING = ReaderOptions(format="jsonl", text=("text",), ngrams=(1, 2), counts="binary")
HEADER = ["learner", "test error %", "seconds", "MB moved per round"]
STACK_SETS, STACK_PARTITIONS, STACK_ROUNDS = ("letter", "skin", "imdb"), 8, (1, 4, 16)
SPEED_ROUNDS = (4, 16)
SIZES, EVEN_ROUNDS = (34e6, 275e6, 1100e6), (4, 16)
EVEN_HEADER = [
    "MB", "one process",
    *(f"{part}, {n} rounds" for n in EVEN_ROUNDS for part in ("two workers", "start", "work", "scheduler")),
]  # fmt: skip
BLOCK_ROWS, FEATURES, NONZEROS = 25_000, 100_000, 60


def shuffled(name: str, folder: Path) -> tuple[str, np.ndarray]:
    """Write a file of reviews in random order; return its path and their labels."""
    with gzip.open(FOLDER / "imdb" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = list(lines)
    rows = [rows[k] for k in np.random.default_rng(SEED).permutation(len(rows))]
    path = folder / f"{name}.jsonl"
    found = [{key: row[key] for key in ("text", "label")} for row in map(json.loads, rows)]  # no other columns
    path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    return str(path), np.array([row["label"] for row in found])


def measured(name: str, fit: Any, test: str, truth: np.ndarray) -> list[str]:
    """Return test error, seconds, and bytes per round if there are any."""
    summaries: list[distributed.Round] = []
    began = time.perf_counter()
    classifier = fit(summaries.append)
    seconds = time.perf_counter() - began
    wrong = np.mean(np.concatenate(list(classifier.predict_stream(test))) != truth)
    moved = f"{np.mean([one.bytes_moved for one in summaries]) / 1e6:.1f}" if summaries else ""
    row = [name, f"{100 * wrong:.2f}", f"{seconds:.0f}", moved]
    print(*row, sep=", ", flush=True)
    return row


def errors(folder: Path, workers: int) -> list[list[str]]:
    train, _ = shuffled("train", folder)
    test, truth = shuffled("test", folder)

    def one(report: Any) -> OnlineClassifier:
        return OnlineClassifier(AROW(r=R), view=None).fit_stream(open_stream(train, READING))

    def many(report: Any, client: Any, rounds: int, passes: int = 1) -> OnlineClassifier:
        return distributed.fit(
            OnlineClassifier(AROW(r=R), passes=passes, view=None), train, client=client, partitions=PARTITIONS,
            rounds=rounds, reading=READING, progress=report,
        )  # fmt: skip

    rows = [measured("one learner", one, test, truth)]
    with connected(workers=workers) as client:
        many(lambda summary: None, client, 1)  # so that workers have imported what they need
        for rounds in ROUNDS:
            fit = partial(many, client=client, rounds=rounds)
            rows.append(measured(f"{PARTITIONS} partitions, {rounds} rounds", fit, test, truth))
        for passes in PASSES:
            fit = partial(many, client=client, rounds=1, passes=passes)
            rows.append(measured(f"{PARTITIONS} partitions, {passes} passes of 1 round", fit, test, truth))
    return rows


def errors_of_stacks(folder: Path, workers: int) -> list[list[str]]:
    rows = []
    with connected(workers=workers) as client:
        for name in STACK_SETS:
            X, y, X_test, truth = load(name)
            train, test = (str(folder / f"{name}.{part}.svm") for part in ("train", "test"))
            dump_svmlight_file(X, y, train, zero_based=False)
            dump_svmlight_file(X_test, truth, test, zero_based=False)

            def one(report: Any, path: str = train) -> AutoClassifier:
                return AutoClassifier().fit_stream(open_stream(path))

            def many(report: Any, path: str = train, rounds: int = 1) -> AutoClassifier:
                return distributed.fit(
                    AutoClassifier(), path, client=client, partitions=STACK_PARTITIONS, rounds=rounds, progress=report
                )

            rows.append(measured(f"{name}, one process", one, test, truth))
            for rounds in STACK_ROUNDS:
                shown = f"{name}, {STACK_PARTITIONS} partitions, {rounds} rounds"
                rows.append(measured(shown, partial(many, rounds=rounds), test, truth))
    return rows


def write_rows(path: Path, min_bytes: float) -> None:
    """Write rows of two classes with at least so many bytes: one block repeated."""
    random = np.random.default_rng(SEED)
    weights, lines = random.normal(size=FEATURES), []
    for _ in range(BLOCK_ROWS):
        columns = np.unique((FEATURES * random.random(NONZEROS) ** 3).astype(int))
        values = random.random(len(columns)).round(3)
        label = "+1" if values @ weights[columns] + random.normal() > 0 else "-1"
        lines.append(f"{label} " + " ".join(f"{c + 1}:{v}" for c, v in zip(columns, values, strict=True)))
    block = ("\n".join(lines) + "\n").encode()
    with path.open("wb") as file:
        while file.tell() < min_bytes:
            file.write(block)


def alone(path: Path, parts: int, part: int) -> float:
    """Return the seconds of training on one part of a file, in one thread, without merging."""
    size, began = path.stat().st_size, time.perf_counter()
    rows = FileRange(str(path), size * part // parts, size * (part + 1) // parts)
    OnlineClassifier(AROW(r=R), view=None).fit_stream(open_stream([rows], parsers=0))
    return time.perf_counter() - began


def speed(folder: Path, min_bytes: float, repetitions: int) -> dict[str, Any]:
    """Return rows per second of one and of two workers in turn, and of one and two processes without merging."""
    path = folder / "rows.svm"
    write_rows(path, min_bytes)
    found: dict[str, list[float]] = {}

    def note(name: str, rows_per_second: float) -> None:
        found.setdefault(name, []).append(rows_per_second)
        print(f"{name}: {rows_per_second:,.0f} rows/s", "(to warm up)" * (len(found[name]) == 1), flush=True)

    with connected(workers=1) as one, connected(workers=2) as two, ProcessPoolExecutor(2) as processes:
        for _ in range(repetitions + 1):
            for rounds, (workers, client) in product(SPEED_ROUNDS, ((1, one), (2, two))):
                began, classifier = time.perf_counter(), OnlineClassifier(AROW(r=R), view=None)
                distributed.fit(classifier, path, client=client, partitions=workers, rounds=rounds)
                note(f"{workers} workers, {rounds} rounds", classifier.n_seen_ / (time.perf_counter() - began))
            for parts in (1, 2):
                seconds = max(processes.map(partial(alone, path, parts), range(parts)))
                note(f"{parts} processes, no merging", classifier.n_seen_ / seconds)
    ratios = {}
    for name in (*(f"workers, {rounds} rounds" for rounds in SPEED_ROUNDS), "processes, no merging"):
        several = zip(found[f"1 {name}"][1:], found[f"2 {name}"][1:], strict=True)
        ratios[name] = median(b / a for a, b in several)
        print(f"two {name}: {ratios[name]:.2f} times as fast as one (median of {repetitions})")
    return {"bytes": path.stat().st_size, "rows_per_second": found, "ratios": ratios}


def worker_seconds() -> float:
    """Return the processor time of a worker, which has imported what training needs."""
    import confidently.rounds.tasks  # noqa: F401

    return time.process_time()


def together(path: Path, rounds: int) -> list[float]:
    """Return the processor time of two workers, as if each part waited for the one before; and of the parts.

    These are the start of the workers with their imports, their work, and that of the scheduler and the client.
    """
    began = time.process_time()
    with connected(workers=2) as client:
        before = client.run(worker_seconds)
        start = time.process_time() - began + max(before.values())
        began, classifier = time.process_time(), OnlineClassifier(AROW(r=R), view=None)
        distributed.fit(classifier, path, client=client, partitions=2, rounds=rounds)
        after = client.run(worker_seconds)
        work, others = max(after[name] - before[name] for name in after), time.process_time() - began
    return [start + work + others, start, work, others]


def one_process(path: Path) -> float:
    """Return the processor time of one process, or of its thread that learns if that is more than half of it."""
    began, learning = time.process_time(), time.thread_time()
    OnlineClassifier(AROW(r=R), view=None).fit_stream(path)
    return max((time.process_time() - began) / 2, time.thread_time() - learning)


def break_even(folder: Path, repetitions: int) -> dict[str, Any]:
    """Return the seconds of one process and of two workers by size, and the size from which on the workers pay."""
    found, megabytes = [], []
    for n_bytes in SIZES:
        path = folder / f"{n_bytes:.0f}.svm"
        write_rows(path, n_bytes)
        megabytes.append(path.stat().st_size / 1e6)
        turns = [[one_process(path), *(together(path, rounds) for rounds in EVEN_ROUNDS)] for _ in range(repetitions)]
        one, *by_rounds = zip(*turns, strict=True)
        parts = [[median(part) for part in zip(*several, strict=True)] for several in by_rounds]
        found.append([median(one), *(part for rounds in parts for part in rounds)])
        print(f"{megabytes[-1]:.0f} MB", *(f"{seconds:.2f}" for seconds in found[-1]), sep=", ", flush=True)
    seconds = np.array(found)
    lines = {name: np.polyfit(megabytes, seconds[:, k], 1) for name, k in (("one process", 0), ("two workers", 1))}
    for name, (slope, start) in lines.items():
        print(f"{name}: {start:.2f} s + {1000 * slope:.2f} s per GB")
    rows = [
        [f"{size:.0f}", *(f"{one:.2f}" for one in row)] for size, row in zip(megabytes, seconds.tolist(), strict=True)
    ]
    return {"even": rows, "lines": {name: line.tolist() for name, line in lines.items()}}


def main() -> None:
    options = arguments(
        __doc__,
        ("--workers", {"type": int, "default": 2, "help": "of the cluster on which errors are measured"}),
        ("--gigabytes", {"type": float, "default": 1.0, "help": "size of the generated file; 0: skip the speed"}),
        ("--repetitions", {"type": int, "default": 5}),
        ("--no-errors", {"action": "store_true", "help": "measure the speed only"}),
        ("--stacks", {"action": "store_true", "help": "measure the errors of stacks only"}),
        ("--break-even", {"action": "store_true", "help": "measure from which size on two workers pay only"}),
    )
    print(machine())
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        if options.stacks and have_data():
            result["stacks"] = errors_of_stacks(Path(folder), options.workers)
            print(table(HEADER, result["stacks"]), markdown(HEADER, result["stacks"]), sep="\n\n")
            write_json(options.json, result)
            return
        if options.break_even:
            result = break_even(Path(folder), options.repetitions)
            print(table(EVEN_HEADER, result["even"]), markdown(EVEN_HEADER, result["even"]), sep="\n\n")
            write_json(options.json, result)
            return
        if options.gigabytes:
            result |= speed(Path(folder), options.gigabytes * 1e9, options.repetitions)
        if not options.no_errors and have_data():
            result["rows"] = errors(Path(folder), options.workers)
            print(table(HEADER, result["rows"]), markdown(HEADER, result["rows"]), sep="\n\n")
    write_json(options.json, result)


if __name__ == "__main__":
    main()
