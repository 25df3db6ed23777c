"""Whole processes, from a file to a saved model, compared with Vowpal Wabbit, scikit-learn and pandas.

Commands take turns; every number is a median, every ratio the median of the ratios in the same turn. Two sizes of file
separate the cost of starting a process: the "marginal" rate is that of the additional rows of the larger one.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from harness import FOLDER, arguments, have_data, machine, table, write_json
from processes import BLOCK_ROWS, CONFIDENTLY, block, in_turns, medians, quotient, write

SMALL, LARGE = 200_000, 1_000_000
VW = [sys.executable, "-m", "vowpalwabbit", "--binary", "--loss_function", "hinge", "--quiet"]
TRAIN = [*CONFIDENTLY, "train", "--rule", "arow", "-q", "--json"]

SKLEARN_TEXT = """
import gzip, itertools, json, joblib, sys
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
vectorizer, model = HashingVectorizer(n_features=2**22, ngram_range=(1, 2)), SGDClassifier()
with gzip.open(sys.argv[1], "rt") if sys.argv[1].endswith(".gz") else open(sys.argv[1]) as file:
    while rows := [json.loads(line) for line in itertools.islice(file, 1000)]:
        X = vectorizer.transform([row["text"] for row in rows])
        model.partial_fit(X, [row["label"] for row in rows], classes=[0, 1])
joblib.dump(model, sys.argv[2])
"""
PANDAS_CSV = """
import joblib, pandas, sys
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
vectorizer = HashingVectorizer(n_features=2**22, analyzer="char", ngram_range=(1, 3))
model = SGDClassifier()
for rows in pandas.read_csv(sys.argv[1], chunksize=50_000, keep_default_na=False):
    model.partial_fit(vectorizer.transform(rows["name"]), rows["sex"], classes=["F", "M"])
joblib.dump(model, sys.argv[2])
"""
PANDAS_NUMBERS = """
import joblib, pandas, sys
from sklearn.linear_model import SGDClassifier
model = SGDClassifier()
for rows in pandas.read_csv(sys.argv[1], chunksize=50_000):
    model.partial_fit(rows.drop(columns="label").to_numpy(), rows["label"], classes=[0, 1])
joblib.dump(model, sys.argv[2])
"""


def vowpal_wabbit(folder: Path, repetitions: int, sizes: tuple[int, int] = (SMALL, LARGE)) -> dict[str, Any]:
    """Compare the same rows as svmlight and VW text, and from each program's cache."""
    runs = {}
    for rows in sizes:
        svm, vw, model = folder / f"{rows}.svm", folder / f"{rows}.vw", str(folder / "model")
        for path in (svm, vw):
            write(path, block(lambda x: f"{x:.4f}", path == vw), rows // BLOCK_ROWS)
        cache, theirs = folder / f"{rows}.cache", folder / f"{rows}.vwcache"
        in_turns({"": [*CONFIDENTLY, "cache", str(svm), "-o", str(cache)]}, 0)
        in_turns({"": [*VW, "-d", str(vw), "--cache_file", str(theirs), "-k"]}, 0)
        commands = {
            "VW, its text": [*VW, "-d", str(vw), "-f", model],
            "confidently, svmlight": [*TRAIN, str(svm), "-o", model],
            "confidently, VW text": [*TRAIN, str(vw), "-o", model],
            "VW, its cache": [*VW, "-d", str(vw), "--cache_file", str(theirs), "-f", model],
            "confidently, its cache": [*TRAIN, str(cache), "-o", model],
        }
        runs[rows] = in_turns(commands, repetitions)
    peers = {name: "VW, its cache" if "cache" in name else "VW, its text" for name in runs[sizes[0]]}
    lines, result = [], {}
    for name, peer in peers.items():
        found = {rows: medians(runs[rows][name]) for rows in runs}
        marginal = _marginal_seconds(runs, peer) / _marginal_seconds(runs, name)
        ratios = [quotient(runs[rows], peer, name) for rows in runs]
        result[name] = {"peer": peer, "runs": found, "ratios": ratios, "marginal": marginal}
        lines.append([
            name, *(f"{found[rows]['seconds']:.2f} s" for rows in runs), *(f"{r:.1f}x" for r in ratios),
            f"{(sizes[1] - sizes[0]) / _marginal_seconds(runs, name) / 1e3:,.0f} k rows/s", f"{marginal:.1f}x",
            f"{found[sizes[1]]['peak_mb']:.0f} MB",
        ])  # fmt: skip
    print(f"\n{sizes[0]:,} and {sizes[1]:,} rows of 63 features; ratios to VW on its own text or cache")
    print(table(["", *(f"{r:,}" for r in runs), "ratio", "ratio", "marginal", "ratio", "peak memory"], lines))
    return result


def _marginal_seconds(runs: dict[int, Any], name: str) -> float:
    """Return the seconds for the additional rows of the larger file."""
    pairs = zip(runs[max(runs)][name], runs[min(runs)][name], strict=True)
    return median(large["seconds"] - small["seconds"] for large, small in pairs)


def digits(folder: Path, repetitions: int, rows: int = 60_000) -> dict[str, Any]:
    """Compare on values of 17 digits, as programs write them."""
    svm, vw, model = folder / "digits.svm", folder / "digits.vw", str(folder / "model")
    for path in (svm, vw):
        write(path, block(repr, path == vw), rows // BLOCK_ROWS)
    return _compare(
        f"{rows:,} rows with values of 17 digits, {svm.stat().st_size / 1e6:.0f} MB", "VW, its text",
        [*VW, "-d", str(vw), "-f", model], [*TRAIN, str(svm), "-o", model], repetitions,
    )  # fmt: skip


def predict(folder: Path, repetitions: int, rows: int = LARGE // 5) -> dict[str, Any]:
    """Compare predictions from text: each program reads its own format and writes a line per row."""
    svm, vw = folder / "test.svm", folder / "test.vw"
    for path in (svm, vw):
        write(path, block(lambda x: f"{x:.4f}", path == vw), rows // BLOCK_ROWS)
    ours, theirs = str(folder / "ours.cw"), str(folder / "theirs.vw")
    logistic = [*VW[:3], "--binary", "--loss_function", "logistic", "--quiet"]
    in_turns({"": [*TRAIN, str(svm), "-o", ours]}, 0)
    in_turns({"": [*logistic, "-d", str(vw), "-f", theirs]}, 0)
    command = [*CONFIDENTLY, "predict", ours, str(svm), "-o", str(folder / "predicted")]
    peer = [*VW[:3], "--quiet", "-t", "-i", theirs, "-d", str(vw), "-p", str(folder / "predicted.vw")]
    return {
        name: _compare(f"predict, {rows:,} rows: {name}", "VW -t -p", peer, [*command, *how], repetitions)
        for name, how in (("labels", []), ("probabilities", ["--proba"]))
    }


def numbers(folder: Path, repetitions: int, rows: int = 5_000_000) -> dict[str, Any]:
    """Compare on a CSV of ten columns of numbers, with VW on the same rows as VW text."""
    random = np.random.default_rng(0)
    X = random.normal(size=(BLOCK_ROWS, 10))
    y = (X @ random.normal(size=10) > random.normal(size=BLOCK_ROWS)).astype(int)
    names = [f"x{j}" for j in range(10)]
    lines = ["".join([str(label), *(f",{x:.4f}" for x in row), "\n"]) for label, row in zip(y, X, strict=True)]
    texts = [
        f"{2 * label - 1} | " + " ".join(f"{name}:{x:.4f}" for name, x in zip(names, row, strict=True)) + "\n"
        for label, row in zip(y, X, strict=True)
    ]
    path, vw, model = folder / "numbers.csv", folder / "numbers.vw", str(folder / "ours")
    with path.open("w") as file:
        file.write(",".join(["label", *names]) + "\n")
        file.writelines("".join(lines) for _ in range(rows // BLOCK_ROWS))
    write(vw, "".join(texts).encode(), rows // BLOCK_ROWS)
    ours = [*TRAIN, str(path), "--label", "label", "--view", "none", "-o", model]
    pandas = [sys.executable, "-c", PANDAS_NUMBERS, str(path), str(folder / "theirs")]
    found = {
        "pandas, SGDClassifier": _compare(f"CSV, {rows:,} rows", "pandas, SGDClassifier", pandas, ours, repetitions)
    }
    vw_command = [*VW, "-d", str(vw), "-f", str(folder / "theirs.vw")]
    found["VW"] = _compare(f"CSV, {rows:,} rows; VW reads VW text", "VW, its text", vw_command, ours, repetitions)
    return found


def text(folder: Path, repetitions: int) -> dict[str, Any]:
    """Compare on reviews: words and pairs of words in 2^22 columns."""
    packed, plain = FOLDER / "imdb" / "train.jsonl.gz", folder / "imdb.jsonl"
    plain.write_bytes(gzip.decompress(packed.read_bytes()))
    how = ["--text", "text", "--ngrams", "1-2", "--drop", "id", "--drop", "rating"]
    return {
        path.name: _compare(
            path.name, "scikit-learn", [sys.executable, "-c", SKLEARN_TEXT, str(path), str(folder / "theirs")],
            [*TRAIN, str(path), *how, "-o", str(folder / "ours")], repetitions,
        )
        for path in (packed, plain)
    }  # fmt: skip


def csv(folder: Path, repetitions: int) -> dict[str, Any]:
    """Compare on two million names: n-grams of one to three characters."""
    path = folder / "names.csv"
    with gzip.open(FOLDER / "ssa_names" / "names.csv.gz") as packed:
        path.write_bytes(packed.read())
    how = ["--label", "sex", "--drop", "year", "--drop", "count", "--text", "name", "--analyzer", "char"]
    return _compare(
        path.name, "pandas, scikit-learn", [sys.executable, "-c", PANDAS_CSV, str(path), str(folder / "theirs")],
        [*TRAIN, str(path), *how, "--ngrams", "1-3", "-o", str(folder / "ours")], repetitions,
    )  # fmt: skip


def _compare(title: str, peer: str, theirs: list[str], ours: list[str], repetitions: int) -> dict[str, Any]:
    runs = in_turns({peer: theirs, "confidently": ours}, repetitions)
    found = {name: medians(measured) for name, measured in runs.items()}
    ratio = quotient(runs, peer, "confidently")
    rows = [[name, f"{m['seconds']:.2f} s", f"{m['peak_mb']:.0f} MB"] for name, m in found.items()]
    print(f"\n{title}: {ratio:.1f}x")
    print(table(["", "whole process", "peak memory"], rows))
    return {"runs": found, "ratio": ratio}


def memory(folder: Path, sizes: tuple[int, ...] = (100, 1000, 3000)) -> dict[str, float]:
    """Return the peak memory for files of 100 MB, 1 GB and 3 GB."""
    found, content = {}, block(lambda x: f"{x:.4f}")
    path = folder / "large.svm"
    for megabytes in sizes:
        write(path, content, megabytes * 1_000_000 // len(content))
        run = in_turns({"": [*TRAIN, str(path), "-o", str(folder / "ours")]}, 1)[""][0]
        found[f"{megabytes} MB"] = run["peak_mb"]
    print("\npeak memory, svmlight")
    print(table(["file", "peak memory"], [[name, f"{peak:.0f} MB"] for name, peak in found.items()]))
    return found


PARTS = ("vw", "digits", "text", "csv", "numbers", "predict", "memory")


def main() -> None:
    options = arguments(
        __doc__,
        ("--repetitions", {"type": int, "default": 5, "help": "runs of each (default 5)"}),
        ("--only", {"nargs": "+", "choices": PARTS, "default": list(PARTS), "help": "run only these"}),
        ("--quick", {"action": "store_true", "help": "one run of each, on small files"}),
    )
    print(machine())
    results: dict[str, Any] = {}
    quick, n = options.quick, 1 if options.quick else options.repetitions
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts: dict[str, Callable[[], Any]] = {
            "vw": lambda: vowpal_wabbit(folder, n, (20_000, 100_000) if quick else (SMALL, LARGE)),
            "digits": lambda: digits(folder, n, 20_000 if quick else 60_000),
            "text": lambda: text(folder, n),
            "csv": lambda: csv(folder, n),
            "numbers": lambda: numbers(folder, n, 200_000 if quick else 5_000_000),
            "predict": lambda: predict(folder, n, 40_000 if quick else 200_000),
            "memory": lambda: memory(folder, (30, 100) if quick else (100, 1000, 3000)),
        }
        for part in options.only:
            if part in ("text", "csv") and not have_data():
                continue
            results[part] = parts[part]()
            for file in folder.iterdir():
                file.unlink()
    write_json(options.json, results)


if __name__ == "__main__":
    main()
