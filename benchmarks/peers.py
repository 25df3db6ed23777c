"""Whole processes, from a file to a saved model, compared with Vowpal Wabbit, scikit-learn and pandas.

Commands take turns; every number is a median, every ratio the median of the ratios in the same turn. Two sizes of file
separate the cost of starting a process: the "marginal" rate is that of the additional rows of the larger one.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from harness import FOLDER, arguments, machine, table, write_json
from processes import BLOCK_ROWS, CONFIDENTLY, block, in_turns, medians, quotient, write

SMALL, LARGE = 200_000, 1_000_000
VW = [sys.executable, "-m", "vowpalwabbit", "--binary", "--loss_function", "hinge", "--quiet"]
TRAIN = [*CONFIDENTLY, "train", "-q", "--json"]

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


def vowpal_wabbit(folder: Path, repetitions: int) -> dict[str, Any]:
    """Compare the same rows as svmlight and VW text, and from each program's cache."""
    runs = {}
    for rows in (SMALL, LARGE):
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
    peers = {name: "VW, its cache" if "cache" in name else "VW, its text" for name in runs[SMALL]}
    lines, result = [], {}
    for name, peer in peers.items():
        found = {rows: medians(runs[rows][name]) for rows in runs}
        marginal = _marginal_seconds(runs, peer) / _marginal_seconds(runs, name)
        ratios = [quotient(runs[rows], peer, name) for rows in runs]
        result[name] = {"runs": found, "ratios": ratios, "marginal": marginal}
        lines.append([
            name, *(f"{found[rows]['seconds']:.2f} s" for rows in runs), *(f"{r:.1f}x" for r in ratios),
            f"{(LARGE - SMALL) / _marginal_seconds(runs, name) / 1e3:,.0f} k rows/s", f"{marginal:.1f}x",
            f"{found[LARGE]['peak_mb']:.0f} MB",
        ])  # fmt: skip
    print(f"\n{SMALL:,} and {LARGE:,} rows of 63 features; ratios to VW on its own text or cache")
    print(table(["", *(f"{r:,}" for r in runs), "ratio", "ratio", "marginal", "ratio", "peak memory"], lines))
    return result


def _marginal_seconds(runs: dict[int, Any], name: str) -> float:
    """Return the seconds for the additional rows of the larger file."""
    pairs = zip(runs[LARGE][name], runs[SMALL][name], strict=True)
    return median(large["seconds"] - small["seconds"] for large, small in pairs)


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


def memory(folder: Path) -> dict[str, float]:
    """Return the peak memory for files of 100 MB, 1 GB and 3 GB."""
    found, content = {}, block(lambda x: f"{x:.4f}")
    path = folder / "large.svm"
    for megabytes in (100, 1000, 3000):
        write(path, content, megabytes * 1_000_000 // len(content))
        run = in_turns({"": [*TRAIN, str(path), "-o", str(folder / "ours")]}, 1)[""][0]
        found[f"{megabytes} MB"] = run["peak_mb"]
    print("\npeak memory, svmlight")
    print(table(["file", "peak memory"], [[name, f"{peak:.0f} MB"] for name, peak in found.items()]))
    return found


def main() -> None:
    options = arguments(
        __doc__,
        ("--repetitions", {"type": int, "default": 5, "help": "runs of each (default 5)"}),
        ("--only", {"nargs": "+", "choices": ["vw", "text", "csv", "memory"], "help": "run only these"}),
    )
    print(machine())
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder, chosen = Path(name), options.only or ["vw", "text", "csv", "memory"]
        if "vw" in chosen:
            results["vw"] = vowpal_wabbit(folder, options.repetitions)
        if "text" in chosen and FOLDER.is_dir():
            results["text"] = text(folder, options.repetitions)
        if "csv" in chosen and FOLDER.is_dir():
            results["csv"] = csv(folder, options.repetitions)
        if "memory" in chosen:
            results["memory"] = memory(folder)
    write_json(options.json, results)


if __name__ == "__main__":
    main()
