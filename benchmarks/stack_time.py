"""Time and memory of AutoClassifier beside one AROW, and of its single rows beside forests; nothing is tuned.

Rows: predicted and learned one by one, as dicts, by River's interface; microseconds of processor time per row, from the
first 5,000 rows on and in all. CapyMOA's forests join where it is installed. Numbers: the same of regressions, which
predict the price. Fits: ``fit`` of arrays, sparse rows and
texts; ratios of the processor time and of the wall time. Files: whole processes of ``train``, wall time and peak
memory. Learners take turns, and every ratio is the median over turns.
"""

from __future__ import annotations

import gzip
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from harness import FOLDER, arguments, have_data, load, machine, markdown, table, write_json
from processes import CONFIDENTLY, in_turns, medians, quotient
from scipy.sparse import issparse

from confidently import AutoClassifier, OnlineClassifier

PARTS = ("rows", "numbers", "fits", "files")
PRICE = "nswprice"
WARM = 5000  # rows, after which most members have been dropped
SETS = ("elec2", "letter", "spambase", "a9a", "newsgroups")
SPARSE_ROWS, SPARSE_COLUMNS, NON_ZEROS = 60_000, 47_000, 41


def dicts(rows: int) -> list[tuple[dict[str, float], int]]:
    """Return the first rows of Electricity, in the order of time."""
    with gzip.open(FOLDER / "elec2" / "elec2.csv.gz", "rt") as file:
        names, values = file.readline().strip().split(","), np.loadtxt(file, delimiter=",", max_rows=rows)
    return [(dict(zip(names[:-1], row[:-1], strict=True)), int(row[-1])) for row in values.tolist()]


def one_by_one(rows: list[tuple[dict[str, float], int]]) -> dict[str, dict[str, float]]:
    """Return the errors and the microseconds of a row of every learner of classes."""
    from river import forest, linear_model, preprocessing

    from confidently import river

    def of_river(model: Any) -> Iterator[int]:
        for x, y in rows:
            yield model.predict_one(x) != y
            model.learn_one(x, y)

    def of_capymoa(name: str, **options: Any) -> Iterator[int]:
        from capymoa import classifier
        from capymoa.stream import NumpyStream

        X, y = np.array([list(x.values()) for x, _ in rows]), np.array([y for _, y in rows])
        stream = NumpyStream(X, y, target_type="categorical")
        model = getattr(classifier, name)(schema=stream.get_schema(), **options)
        while stream.has_more_instances():
            row = stream.next_instance()
            yield model.predict(row) != row.y_index
            model.train(row)

    learners: dict[str, Callable[[], Iterator[float]]] = {
        "AROW": lambda: of_river(river.OnlineClassifier()),
        'AROW, view="standard"': lambda: of_river(river.OnlineClassifier(view="standard")),
        "River, scaler and logistic regression": lambda: of_river(
            preprocessing.StandardScaler() | linear_model.LogisticRegression()
        ),
        "AutoClassifier": lambda: of_river(river.AutoClassifier()),
        "AutoClassifier, no trees": lambda: of_river(river.AutoClassifier(trees=False)),
        "River, forest of 10 trees": lambda: of_river(forest.ARFClassifier(seed=1)),
    }
    if find_spec("capymoa"):
        for trees in (10, 100):
            learners[f"CapyMOA, forest of {trees} trees"] = lambda trees=trees: of_capymoa(
                "AdaptiveRandomForestClassifier", ensemble_size=trees
            )
    return timed(learners)


def numbers_one_by_one(rows: list[tuple[dict[str, float], int]]) -> dict[str, dict[str, float]]:
    """Return the mean absolute errors and the microseconds of a row of every regression, of prices."""
    from river import forest, linear_model, preprocessing

    from confidently import river

    priced = [({name: x[name] for name in x if name != PRICE}, x[PRICE]) for x, _ in rows]

    def of_river(model: Any) -> Iterator[float]:
        for x, y in priced:
            yield abs(model.predict_one(x) - y)
            model.learn_one(x, y)

    return timed({
        "OnlineRegressor": lambda: of_river(river.OnlineRegressor()),
        "River, scaler and linear regression": lambda: of_river(
            preprocessing.StandardScaler() | linear_model.LinearRegression()
        ),
        "AutoRegressor": lambda: of_river(river.AutoRegressor()),
        "River, forest of 10 trees": lambda: of_river(forest.ARFRegressor(seed=1)),
    })  # fmt: skip


def timed(learners: dict[str, Callable[[], Iterator[float]]]) -> dict[str, dict[str, float]]:
    """Return the mean of the losses that learners yield row by row, and microseconds of a row."""
    found = {}
    for name, learner in learners.items():
        lost, times = 0.0, [time.process_time()]
        for own in learner():
            lost += own
            times.append(time.process_time())
        n = len(times) - 1
        late = (times[-1] - times[WARM]) / (n - WARM) if n > WARM else float("nan")
        found[name] = {"error": lost / n, "all": 1e6 * (times[-1] - times[0]) / n, "late": 1e6 * late}
        print(name, found[name], flush=True)
    return found


def sets() -> Iterator[tuple[str, Any, np.ndarray]]:
    """Yield name, rows and labels of arrays, sparse rows and texts."""
    for name in SETS:
        yield name, *load(name)[:2]
    generator = np.random.default_rng(0)
    frequency = 1.0 / np.arange(10, SPARSE_COLUMNS + 10)
    drawn = generator.choice(SPARSE_COLUMNS, (SPARSE_ROWS, NON_ZEROS), p=frequency / frequency.sum())
    truth = generator.standard_normal(SPARSE_COLUMNS)
    from scipy.sparse import csr_array

    start = np.arange(0, SPARSE_ROWS * NON_ZEROS + 1, NON_ZEROS)
    X = csr_array((np.ones(SPARSE_ROWS * NON_ZEROS), drawn.ravel(), start), (SPARSE_ROWS, SPARSE_COLUMNS))
    X.sum_duplicates()
    yield "made, like words", X, (truth[drawn].sum(axis=1) > 0).astype(int)


def fitted(X: Any, y: np.ndarray, turns: int) -> dict[str, float]:
    """Return how many times as long a stack takes as one AROW."""
    ratios: dict[str, list[float]] = {"processor": [], "wall": []}
    for _ in range(turns):
        spent = []
        for model in (AutoClassifier(), OnlineClassifier()):
            start = time.process_time(), time.perf_counter()
            model.fit(X, y)
            spent.append((time.process_time() - start[0], time.perf_counter() - start[1]))
        for kind, own, one in zip(ratios, *spent, strict=True):
            ratios[kind].append(own / one)
    found = {kind: median(values) for kind, values in ratios.items()}
    nonzeros = X.nnz / len(y) if issparse(X) else X.shape[1]
    return found | {"rows": len(y), "values": nonzeros, "seconds": spent[0][0]}


def files(folder: Path, turns: int) -> dict[str, dict[str, float]]:
    """Return how many times as long, and how much memory, ``train`` takes for a stack as for one AROW."""
    path = folder / "imdb.jsonl"
    path.write_bytes(gzip.decompress((FOLDER / "imdb" / "train.jsonl.gz").read_bytes()))
    found = {}
    for name, ngrams in (("words", "1"), ("words and pairs", "1-2")):
        read = ["--text", "text", "--ngrams", ngrams, "--drop", "id", "--drop", "rating", "-q", "--json"]
        train = [*CONFIDENTLY, "train", str(path), *read, "-o", str(folder / "model")]
        runs = in_turns({"AutoClassifier": train, "AROW": [*train, "--rule", "arow"]}, turns)
        peaks = [medians(of)["peak_mb"] for of in runs.values()]
        found[name] = {"wall": quotient(runs, "AutoClassifier", "AROW"), "memory": peaks[0] / peaks[1]}
    return found


def main() -> None:
    """Print a table of every part."""
    options = arguments(
        __doc__ or "",
        ("--part", {"choices": PARTS, "help": "only this part"}),
        ("--rows", {"type": int, "default": 40_000, "help": "of the stream of single rows"}),
        ("--turns", {"type": int, "default": 3, "help": "of fits and processes"}),
    )
    if not have_data():
        return
    print(machine(), flush=True)
    result: dict[str, Any] = {}

    def report(part: str, head: list[str], lines: list[list[str]]) -> None:
        print(f"\n{part}", table(head, lines), markdown(head, lines), sep="\n\n", flush=True)

    by_row: dict[str, tuple[Callable[..., dict[str, dict[str, float]]], str, Callable[[float], str]]] = {
        "rows": (one_by_one, "error in %", lambda error: f"{100 * error:.2f}"),
        "numbers": (numbers_one_by_one, "mean absolute error", lambda error: f"{error:.4f}"),
    }
    for part, (measured, loss, shown) in by_row.items():
        if options.part in (None, part):
            result[part] = measured(dicts(options.rows))
            lines = [
                [name, shown(of["error"]), f"{of['all']:.0f}", f"{of['late']:.0f}"] for name, of in result[part].items()
            ]
            report(part, ["learner", loss, "µs per row", f"after {WARM:,} rows"], lines)
    if options.part in (None, "fits"):
        result["fits"] = {name: fitted(X, y, options.turns) for name, X, y in sets()}
        lines = [
            [name, f"{of['rows']:,}", f"{of['values']:.0f}", f"{of['seconds']:.2f}", f"{of['processor']:.1f}x",
             f"{of['wall']:.1f}x"]
            for name, of in result["fits"].items()
        ]  # fmt: skip
        report("fits", ["set", "rows", "values of a row", "seconds", "AROW's processor time", "AROW's time"], lines)
    if options.part in (None, "files"):
        with tempfile.TemporaryDirectory() as folder:
            result["files"] = files(Path(folder), options.turns)
        lines = [[name, f"{of['wall']:.1f}x", f"{of['memory']:.1f}x"] for name, of in result["files"].items()]
        report("files", ["reviews as", "AROW's time", "AROW's memory"], lines)
    write_json(options.json, result)


if __name__ == "__main__":
    main()
