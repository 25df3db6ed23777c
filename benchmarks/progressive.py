"""Errors while learning: every row is predicted before it is learned, compared with Vowpal Wabbit's on the same file.

The rows of every set, shuffled, are written as VW text. Vowpal Wabbit (hinge and logistic loss, otherwise defaults),
AROW and ``train --auto`` (nothing set) read the file once and report the error of the labels that they predicted. Means
over ORDERS orders. Vowpal Wabbit is installed by ``pip install vowpalwabbit``.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from harness import FOLDER, arguments, have_data, load, machine, markdown, table, write_json
from processes import CONFIDENTLY
from scipy.sparse import csr_matrix
from sklearn.datasets import load_svmlight_file

from papers.experiments.text import TEXT_TASKS, rows_of

FILES = {"rcv1_sample": "rcv1_sample/train.svm.gz", "spambase": "spambase/spambase.svm.gz"}  # as they come
SETS = ("a9a", "w8a", "phishing", "newsgroups")
ORDERS = 1
VW = [sys.executable, "-m", "vowpalwabbit"]
TRAIN = [*CONFIDENTLY, "train", "--quiet", "--json"]
HEADER = ["set", "rows", "VW, hinge", "VW, logistic", "AROW", "--auto"]


def sets() -> Iterator[tuple[str, Any, np.ndarray]]:
    """Yield name, rows and labels."""
    for name, file in FILES.items():
        yield name, *load_svmlight_file(str(FOLDER / file))
    for name in SETS:
        yield name, *load(name)[:2]
    by_files: dict[tuple[str, ...], list[str]] = {}
    for name, task in TEXT_TASKS.items():
        by_files.setdefault(task.files, []).append(name)
    for names in by_files.values():
        for name, (X, y) in rows_of(names, FOLDER).items():
            yield name, X, y


def write_vw(path: Path, X: Any, y: np.ndarray, seed: int) -> None:
    """Write the rows, shuffled, with the labels -1 and 1, or 1 to K for more classes."""
    X = csr_matrix(X)
    classes, numbers = np.unique(y, return_inverse=True)
    labels = ("-1", "1") if len(classes) == 2 else [str(k + 1) for k in range(len(classes))]
    with open(path, "w") as file:
        for i in np.random.default_rng(seed).permutation(len(y)):
            row = slice(X.indptr[i], X.indptr[i + 1])
            values = zip(X.indices[row], X.data[row], strict=True)
            file.write(f"{labels[numbers[i]]} | {' '.join(f'f{j}:{x:.6g}' for j, x in values)}\n")


def errors(path: Path, n_classes: int) -> list[float]:
    """Return the errors of all programs, in percent."""
    found = []
    for loss in ("hinge", "logistic"):
        decide = ["--binary"] if n_classes == 2 else ["--oaa", str(n_classes)]
        command = [*VW, *decide, "--loss_function", loss, "-d", str(path)]
        report = subprocess.run(command, capture_output=True, text=True, check=True)
        average = re.search(r"average loss = ([0-9.]+)", report.stderr + report.stdout)
        if average is None:
            raise SystemExit(f"{' '.join(command)} reports no average loss")
        found.append(100 * float(average[1]))
    for options in (["--rule", "arow"], ["--auto"]):
        output = subprocess.run([*TRAIN, str(path), *options], capture_output=True, text=True, check=True).stdout
        found.append(100 * json.loads(output.splitlines()[-1])["error"])
    return found


def main() -> None:
    options = arguments(
        __doc__ or "",
        ("--orders", {"type": int, "default": ORDERS, "help": "of the rows of every set"}),
        ("--only", {"metavar": "NAMES", "help": "only these sets, separated by commas"}),
    )
    if not have_data():
        return
    print(machine(), flush=True)
    only, found = options.only.split(",") if options.only else None, {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.vw"
        for name, X, y in sets():
            if only is not None and name not in only:
                continue
            orders = []
            for seed in range(options.orders):
                write_vw(path, X, y, seed)
                orders.append(errors(path, len(np.unique(y))))
            found[name] = [len(y), *np.mean(orders, axis=0).tolist()]
            print(name, *(f"{value:.2f}" for value in found[name][1:]), flush=True)
    rows = [[name, f"{n:,}", *(f"{value:.2f}" for value in values)] for name, (n, *values) in found.items()]
    print(table(HEADER, rows), markdown(HEADER, rows), sep="\n\n")
    write_json(options.json, found)


if __name__ == "__main__":
    main()
