"""Full covariance: products of matrices compared with row-by-row updates and the machine's rate of products; kernels.

Parts: ``speed`` (random dense rows), ``data`` (usps and mnist, one shared covariance), ``classes`` (usps and letter: a
matrix that the classes share, one of all weights, one per class), ``kernel`` (usps), ``picture`` (error against time).
Everything in one table is timed in turn, in one run; medians.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from harness import REPOSITORY, arguments, have_data, interleaved, load, machine, mnist_pixels, table, write_json
from scipy.linalg import blas
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import ThreadpoolController

from confidently import OnlineClassifier, step
from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner

SIZES = (100, 200, 300, 500, 1000, 2000, 4000)
RULES = ("arow", "cw_stdev")
ROWS = 1024
PARTS = ("speed", "data", "classes", "kernel", "picture")
# rule, several classes, budget
KERNELS = (
    ("cw_stdev", "joint", 500), ("cw_stdev", "joint", 1000), ("cw_stdev", "joint", 2000),
    ("cw_stdev", "one-vs-rest", 500), ("arow", "joint", 500), ("arow", "joint", 1000),
)  # fmt: skip


class RowByRow:
    """A full covariance updated row by row: (a) textbook NumPy; (b) the best form in BLAS 2, on one triangle."""

    def __init__(self, rule: str, d: int, triangle: bool) -> None:
        self.rule, self.triangle = rule, triangle
        self.mean, self.sigma = np.zeros(d), np.asfortranarray(np.eye(d))

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        for x, sign in zip(X, 2.0 * y - 1.0, strict=True):
            direction = blas.dsymv(1.0, self.sigma, x, lower=1) if self.triangle else self.sigma @ x
            v = float(x @ direction)
            found = step(self.rule, float(sign * (self.mean @ x)), v)
            if found is None:
                continue
            alpha, zeta, _ = found
            self.mean += alpha * sign * direction
            factor = zeta / (1.0 + zeta * v)
            if self.triangle:
                blas.dsyr(-factor, direction, lower=1, a=self.sigma, overwrite_a=1)
            else:
                self.sigma = self.sigma - factor * np.outer(direction, direction)


def noise(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of norm about 1 with random labels: nearly every row is an update."""
    return rng.normal(size=(n, d)) / np.sqrt(d), rng.integers(0, 2, n).astype(np.int32)


THREADS = ThreadpoolController()


def one_thread(run: Callable[[], Any]) -> None:
    """Run with one thread of the libraries of matrix products."""
    with THREADS.limit(limits=1):
        run()


def rates(rule: str, d: int, repetitions: int) -> dict[str, Any]:
    """Return rows per second of every form, and the rate of gemm."""
    rng = np.random.default_rng(0)
    pool = [noise(rng, ROWS, d) for _ in range(repetitions + 1)]
    few = {"loop": max(4, min(ROWS, 4_000_000 // d**2)), "blas2": max(16, min(ROWS, 40_000_000 // d**2))}
    learners = {
        name: Learner(Settings(rule, "full", fit_intercept=False, dtype=name), n_features=d)
        for name in ("float64", "float32")
    }
    matrices = {name: cycle([(as_matrix(X.astype(name)), y) for X, y in pool]) for name in learners}
    slow = {"loop": RowByRow(rule, d, triangle=False), "blas2": RowByRow(rule, d, triangle=True)}
    rows = {name: cycle([(X[: few[name]], y[: few[name]]) for X, y in pool]) for name in slow}
    size = min(d, 2000)
    square = {name: np.asarray(rng.normal(size=(size, size)), dtype=name) for name in learners}
    runs = {name: (lambda name=name: learners[name].learn(*next(matrices[name]))) for name in learners}
    runs |= {name: (lambda name=name: slow[name].learn(*next(rows[name]))) for name in slow}
    runs["one thread"] = lambda: one_thread(lambda: learners["float64"].learn(*next(matrices["float64"])))
    runs |= {f"gemm {name}": (lambda name=name: square[name] @ square[name]) for name in learners}
    with np.errstate(all="ignore"):
        seconds = {name: median(times) for name, times in interleaved(runs, repetitions).items()}
    found = {name: ROWS / seconds[name] for name in (*learners, "one thread")} | {
        name: few[name] / seconds[name] for name in slow
    }
    gemm = {name: 2 * size**3 / seconds[f"gemm {name}"] for name in learners}
    return {
        "rule": rule, "d": d, "rows/s": found, "gemm GF/s": {name: rate / 1e9 for name, rate in gemm.items()},
        "fraction": {name: 3 * d**2 * found[name] / gemm[name] for name in learners},
        "updates": learners["float64"].updates / learners["float64"].n_seen,
    }  # fmt: skip


def speed(rules: list[str], sizes: list[int], repetitions: int) -> list[dict[str, Any]]:
    """Part 1: rows per second on random dense rows."""
    found = []
    for rule in rules:
        for d in sizes:
            found.append(rates(rule, d, repetitions))
            print(found[-1], flush=True)
    head = [
        "rule", "d", "ours", "(a) NumPy loop", "(b) dsymv + dsyr", "ours/(a)", "ours/(b)", "of gemm", "float32",
        "float32/float64", "of gemm",
    ]  # fmt: skip
    lines = []
    for f in found:
        r = f["rows/s"]
        lines.append([
            f["rule"], f["d"], f"{r['float64']:,.0f}", f"{r['loop']:,.0f}", f"{r['blas2']:,.0f}",
            f"{r['float64'] / r['loop']:.1f}x", f"{r['float64'] / r['blas2']:.1f}x", f"{f['fraction']['float64']:.0%}",
            f"{r['float32']:,.0f}", f"{r['float32'] / r['float64']:.1f}x", f"{f['fraction']['float32']:.0%}",
        ])  # fmt: skip
    print("\nRows per second, random dense rows; of gemm: 3 d^2 flops per row over gemm's rate in the same run\n")
    print(table(head, lines))
    return found


def timed(model: Any, data: tuple[Any, ...]) -> list[Any]:
    """Return the seconds of one fit, and the test error."""
    X, y, X_test, y_test = data
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    return [f"{seconds:.1f}", f"{100 * (1 - model.score(X_test, y_test)):.2f}"]


def data() -> list[list[Any]]:
    """Part 2: one covariance for all classes on pixels."""
    lines = []
    for name, split in (("usps", load("usps")), ("mnist", mnist_pixels())):
        models = {
            "cw_stdev, shared": OnlineClassifier("cw_stdev", "shared"),
            "arow, shared": OnlineClassifier("arow", "shared"),
            "arow, diag": OnlineClassifier("arow", "diag"),
            "SGDClassifier, 1 epoch": SGDClassifier(max_iter=1, tol=None, random_state=0),
            "LinearSVC": LinearSVC(max_iter=200),
        }
        if name == "usps":
            models["cw_stdev, full joint"] = OnlineClassifier("cw_stdev", "full", multiclass="joint")
        for label, model in models.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # LinearSVC stops before it converges
                lines.append([name, label, *timed(model, split)])
                print(*lines[-1], sep="  ", flush=True)
    print(table(["data", "learner", "seconds", "test error %"], lines))
    return lines


def classes() -> list[list[Any]]:
    """Part 3: several classes that share a matrix, or have one each, or one of all weights."""
    lines = []
    for name in ("usps", "letter"):
        split = load(name)
        for rule in ("arow", "cw_stdev", "logistic"):
            own = ("joint", "one-vs-rest", "softmax") if rule == "logistic" else ("joint", "one-vs-rest")
            for multiclass in (None, *own):
                model = OnlineClassifier(rule, "full", multiclass=multiclass)
                lines.append([name, rule, multiclass or "shared", *timed(model, split)])
                print(*lines[-1], sep="  ", flush=True)
    print(table(["data", "rule", "multiclass", "seconds", "test error %"], lines))
    return lines


def kernel() -> list[list[Any]]:
    """Part 4: kernel learners on usps compared with SVC."""
    split, lines = load("usps"), []
    X = split[0]
    gamma = 1.0 / (X.shape[1] * X.var())  # SVC's default
    models: dict[str, Any] = {"SVC(kernel='rbf')": SVC()}
    for rule, multiclass, budget in KERNELS:
        models[f"{rule}, {multiclass}, budget {budget}"] = OnlineClassifier(
            rule, "kernel", multiclass=multiclass, budget=budget, kernel_params={"gamma": gamma}
        )
    for label, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the budget drops examples
            found = timed(model, split)
        lines.append([label, len(model.support_vectors_), *found])
        print(*lines[-1], sep="  ", flush=True)
    print(table(["learner", "examples kept", "seconds", "test error %"], lines))
    return lines


def picture(file: Path) -> None:
    """Part 5: test error against seconds of training, one pass."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axis, (name, dense, max_rows) in zip(axes, (("usps", "shared", None), ("a9a", "full", 6000)), strict=True):
        X, y, X_test, y_test = load(name, max_rows, 2000)
        for covariance in ("diag", dense, "kernel"):
            classifier = OnlineClassifier("arow", covariance, budget=400, kernel_params={"gamma": 1.0})
            seconds, errors, spent = [], [], 0.0
            cuts = np.unique(np.geomspace(50, len(y), 10).astype(int))
            for first, last in zip([0, *cuts[:-1]], cuts, strict=True):
                start = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    classifier.partial_fit(X[first:last], y[first:last], classes=np.unique(y))
                spent += time.perf_counter() - start
                seconds.append(spent)
                errors.append(100 * (1 - classifier.score(X_test, y_test)))
            axis.plot(seconds, errors, marker="o", markersize=3, label=covariance)
            print(name, covariance, f"{spent:.2f} s, {errors[-1]:.2f} %", flush=True)
        axis.set(xscale="log", xlabel="seconds of training", ylabel="test error, %", title=f"{name}, AROW, one pass")
        axis.legend(frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)


def main() -> None:
    options = arguments(
        __doc__,
        ("--part", {"choices": PARTS, "action": "append", "help": "default: all"}),
        ("--rule", {"choices": RULES, "action": "append", "help": "of the speed; default: all"}),
        ("--sizes", {"type": int, "nargs": "*", "default": list(SIZES), "help": "numbers of features"}),
        ("--repetitions", {"type": int, "default": 5}),
    )
    parts, found = options.part or PARTS, {}
    print(machine())
    if "speed" in parts:
        found["speed"] = speed(options.rule or list(RULES), options.sizes, options.repetitions)
    if set(parts) - {"speed"} and have_data():
        if "data" in parts:
            found["data"] = data()
        if "classes" in parts:
            found["classes"] = classes()
        if "kernel" in parts:
            found["kernel"] = kernel()
        if "picture" in parts:
            picture(REPOSITORY / "docs" / "pictures" / "full-covariance.png")
    if options.json:
        write_json(options.json, found)


if __name__ == "__main__":
    main()
