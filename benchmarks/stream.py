"""The command line on a large svmlight file and without one: text per second, peak memory, start-up time.

Every run is a separate process. Megabytes are those of uncompressed text. "whole" includes the start of the process and
writing the model; "training" is what the command itself reports: reading, parsing and training.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from harness import arguments, machine, table, write_json
from processes import CONFIDENTLY, FEATURES, NON_ZEROS, block, in_turns, medians, write

VALUES: dict[str, Callable[[float], str]] = {
    "values of 4 digits": lambda x: f"{x:.4f}",
    "ones": lambda x: "1",
    "values of 17 digits": repr,
}
ONE = ("--rule", "arow")  # a single learner


def repeated(arguments: Sequence[str], repetitions: int) -> dict[str, float]:
    """Return medians over several runs, after one that warms the caches."""
    return medians(in_turns({"": [*CONFIDENTLY, *arguments]}, repetitions)[""])


def throughput(folder: Path, megabytes: int, repetitions: int) -> dict[str, Any]:
    """Measure training on large files."""
    results, rows = {}, []
    for name, format_value in VALUES.items():
        text = block(format_value)
        for suffix in (".svm", ".svm.gz") if name == "values of 4 digits" else (".svm",):
            path = folder / f"data{suffix}"
            size = write(path, text, -(-megabytes * 1_000_000 // len(text))) / 1e6
            found = repeated(["train", str(path), *ONE, "-q", "--json", "-o", str(folder / "model.cw")], repetitions)
            found |= {
                "text_mb": size,
                "mb_per_s": size / found["seconds"],
                "learning_mb_per_s": size / found["learning"],
            }
            label = name + (", gzip" if suffix.endswith("gz") else "")
            results[label] = found
            rows.append([
                label, f"{size:.0f} MB", f"{found['seconds']:.2f} s", f"{found['mb_per_s']:.0f} MB/s",
                f"{found['learning_mb_per_s']:.0f} MB/s", f"{found['peak_mb']:.0f} MB", f"{found['model_mb']:.1f} MB",
            ])  # fmt: skip
            path.unlink()
    print(f"\nconfidently train, {NON_ZEROS} of {FEATURES:,} features per row, diagonal AROW")
    print(table(["", "text", "whole", "whole", "training", "peak memory", "model"], rows))
    return results


def starts(folder: Path, repetitions: int) -> dict[str, Any]:
    """Measure whole processes with almost nothing to do."""
    path = folder / "small.svm"
    path.write_bytes(b"".join(line + b"\n" for line in block(VALUES["values of 4 digits"]).splitlines()[:1000]))
    runs = {
        "python -c pass": None,
        "confidently --help": ["--help"],
        "confidently train --rule arow, 1,000 rows": ["train", str(path), *ONE, "-q", "-o", str(folder / "model.cw")],
    }
    results = {"import confidently": _python("import confidently", repetitions)}
    for name, command in runs.items():
        results[name] = repeated(command, repetitions)["seconds"] if command else _python("pass", repetitions)
    print("\nwhole processes", table(["", "median"], [[n, f"{s:.3f} s"] for n, s in results.items()]), sep="\n")
    return results


def _python(code: str, repetitions: int) -> float:
    seconds = []
    for _ in range(repetitions + 1):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        seconds.append(time.perf_counter() - start)
    return median(seconds[1:])


def main() -> None:
    options = arguments(
        __doc__,
        ("--repetitions", {"type": int, "default": 5, "help": "runs of each (default 5)"}),
        ("--only", {"nargs": "+", "choices": ["starts", "train"], "default": ["starts", "train"]}),
        ("--megabytes", {"type": int, "default": 300, "help": "size of the files (default 300)"}),
    )
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results = {}
        if "starts" in options.only:
            results["starts"] = starts(folder, options.repetitions)
        if "train" in options.only:
            results["train"] = throughput(folder, options.megabytes, options.repetitions)
    write_json(options.json, results)


if __name__ == "__main__":
    main()
