"""Full covariance: products of matrices compared with row-by-row updates and the machine's rate of products; kernels.

Parts: ``speed`` (random dense rows), ``data`` (usps and mnist, one shared covariance), ``classes`` (usps and letter: a
matrix that the classes share, one of all weights, one per class), ``low-rank`` (made rows of 4,096 columns), ``many``
(made rows of 3,000 classes), ``kernel`` (usps), ``picture`` (error against time).
``speed`` measures every form in a process of its own, since threads of a BLAS spin for a while after their work, with
the default threads and with one BLAS thread, in turns; medians, of ratios within a turn.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
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

from confidently import OnlineClassifier, step
from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner

SIZES = (100, 200, 300, 500, 1000, 2000, 4000)
RULES = ("arow", "cw_stdev")
ROWS = 1024
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
FORMS = (
    ("float64", ""), ("float64", "one thread"), ("blas2", ""), ("blas2", "one thread"), ("loop", ""),
    ("gemm float64", ""), ("gemm float64", "one thread"), ("float32", ""), ("gemm float32", ""),
)  # fmt: skip
PARTS = ("speed", "data", "classes", "low-rank", "many", "kernel", "picture")
NEEDS_NO_DATA = {"speed", "low-rank", "many"}
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


def measure(form: str, rule: str, d: int) -> float:
    """Return rows per second of a form of the algorithm, or gemm's operations per second, in this process."""
    rng = np.random.default_rng(0)
    if form.startswith("gemm"):
        square = rng.normal(size=(min(d, 2000),) * 2).astype(form.removeprefix("gemm "))
        return float(2 * len(square) ** 3 / median(interleaved({form: lambda: square @ square}, 3)[form]))
    few = {"loop": max(4, min(ROWS, 4_000_000 // d**2)), "blas2": max(16, min(ROWS, 40_000_000 // d**2))}
    pool = [noise(rng, few.get(form, ROWS), d) for _ in range(4)]
    run: Callable[..., Any]
    if form in few:
        run, parts = RowByRow(rule, d, triangle=form == "blas2").learn, cycle(pool)
    else:
        run = Learner(Settings(rule, "full", fit_intercept=False, dtype=form), n_features=d).learn
        parts = cycle([(as_matrix(X.astype(form)), y) for X, y in pool])
    with np.errstate(all="ignore"):
        return few.get(form, ROWS) / median(interleaved({form: lambda: run(*next(parts))}, 3)[form])


def rates(rule: str, d: int, repetitions: int) -> dict[str, Any]:
    """Return medians over turns, each form in a process of its own."""
    turns: list[dict[str, float]] = []
    for _ in range(repetitions):
        turn = {}
        for form, threads in FORMS:
            command = [sys.executable, __file__, "--measure", form, rule, str(d)]
            environment = os.environ | (ONE_THREAD if threads == "one thread" else {})
            out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            turn[f"{form}, {threads}" if threads else form] = float(out.stdout)
        turns.append(turn)

    def ratio(own: str, other: str, factor: float = 1.0) -> float:
        return factor * median(turn[own] / turn[other] for turn in turns)

    found, one = {name: median(turn[name] for turn in turns) for name in turns[0]}, "float64, one thread"
    return {
        "rule": rule, "d": d,
        "rows/s": {name: found[name] for name in ("float64", "float32", "loop", "blas2")} | {"one thread": found[one]},
        "ratio": {name: ratio("float64", name) for name in ("loop", "blas2")}
        | {"one thread": ratio("float64", one), "float32": ratio("float32", "float64")}
        | {"blas2, one thread": ratio(one, "blas2, one thread")},
        "gemm GF/s": {name: found[f"gemm {name}"] / 1e9 for name in ("float64", "float32")},
        "fraction": {name: ratio(name, f"gemm {name}", 3 * d**2) for name in ("float64", "float32")}
        | {"one thread": ratio(one, "gemm float64, one thread", 3 * d**2)},
    }  # fmt: skip


def speed(rules: list[str], sizes: list[int], repetitions: int) -> list[dict[str, Any]]:
    """Part 1: rows per second on random dense rows, with the libraries' default threads and with one BLAS thread."""
    found = []
    for rule in rules:
        for d in sizes:
            found.append(rates(rule, d, repetitions))
            print(found[-1], flush=True)
    head = [
        "rule", "d", "rows/s", "one thread", "ratio", "(a) NumPy loop", "(b) dsymv + dsyr", "ratio (a)", "ratio (b)",
        "(b), one thread", "of gemm", "one thread", "float32",
    ]  # fmt: skip
    lines = []
    for f in found:
        rate, ratio, fraction = f["rows/s"], f["ratio"], f["fraction"]
        lines.append([
            f["rule"], f["d"], f"{rate['float64']:,.0f}", f"{rate['one thread']:,.0f}", f"{ratio['one thread']:.2f}x",
            f"{rate['loop']:,.0f}", f"{rate['blas2']:,.0f}",
            *(f"{ratio[name]:.1f}x" for name in ("loop", "blas2", "blas2, one thread")),
            *(f"{fraction[name]:.0%}" for name in ("float64", "one thread")), f"{ratio['float32']:.1f}x",
        ])  # fmt: skip
    print("\nRows per second, random dense rows; of gemm: 3 d^2 flops per row over gemm's rate with as many threads\n")
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
            "cw_stdev, shared": OnlineClassifier("cw_stdev", "shared", view=None),
            "arow, shared": OnlineClassifier("arow", "shared", view=None),
            "arow, diag": OnlineClassifier("arow", "diag", view=None),
            "SGDClassifier, 1 epoch": SGDClassifier(max_iter=1, tol=None, random_state=0),
            "LinearSVC": LinearSVC(max_iter=200),
        }
        if name == "usps":
            models["cw_stdev, full joint"] = OnlineClassifier("cw_stdev", "full", multiclass="joint", view=None)
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
                model = OnlineClassifier(rule, "full", multiclass=multiclass, view=None)
                lines.append([name, rule, multiclass or "shared", *timed(model, split)])
                print(*lines[-1], sep="  ", flush=True)
    print(table(["data", "rule", "multiclass", "seconds", "test error %"], lines))
    return lines


def low_rank() -> list[list[Any]]:
    """Part 4: a covariance of low rank on rows whose k-th principal axis has the variance 1/k, in two classes."""
    rng, d, n = np.random.default_rng(0), 4096, 6000
    axes = np.linalg.qr(rng.normal(size=(d, d)))[0] / np.sqrt(np.arange(1, d + 1))[:, None]
    X = rng.normal(size=(2 * n, d)) @ axes
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    score = X @ rng.normal(size=d)
    y = (score + 0.3 * score.std() * rng.normal(size=2 * n) > 0).astype(np.int32)
    lines = []
    for covariance, rank in (("full", 32), ("low_rank", 8), ("low_rank", 32), ("low_rank", 128), ("diag", 32)):
        learner = Learner(Settings("arow", covariance, rank=rank), n_features=d)
        start = time.perf_counter()
        learner.learn(as_matrix(X[:n]), y[:n])
        seconds = time.perf_counter() - start
        error = np.mean((learner.decision(as_matrix(X[n:])) > 0) != y[n:])
        size = sum(array.nbytes for array in learner.state.values()) / 1e6
        name = f"{covariance}, rank {rank}" if covariance == "low_rank" else covariance
        lines.append([name, f"{n / seconds:,.0f}", f"{size:.2f}", f"{100 * error:.2f}"])
        print(*lines[-1], sep="  ", flush=True)
    print(table(["covariance", "rows/s", "MB", "test error %"], lines))
    return lines


def many() -> list[list[Any]]:
    """Part 5: thousands of classes that share a matrix, of rows around their centers; processor time of all threads."""
    rng, d, k, n = np.random.default_rng(0), 768, 3000, 15_000
    centers = rng.normal(size=(k, d))
    y = rng.integers(k, size=2 * n).astype(np.int32)
    X, parts = np.empty((2 * n, d)), [slice(first, first + 1000) for first in range(0, 2 * n, 1000)]
    for part in parts:  # so that the peak of the memory is that of learning
        rows = centers[y[part]] + 3.0 * rng.normal(size=(1000, d))
        X[part] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    lines = []
    for rule in ("arow", "logistic"):
        learner = Learner(Settings(rule, "shared", "softmax" if rule == "logistic" else "joint"), k, d)
        learner.learn(as_matrix(X[:1000]), y[:1000])
        start = time.process_time()
        learner.learn(as_matrix(X[1000:n]), y[1000:n])
        learned = time.process_time()
        best = np.concatenate([learner.decision(as_matrix(X[part])).argmax(axis=1) for part in parts[n // 1000 :]])
        scored = time.process_time()
        error = np.mean(best != y[n:])
        rates = (n - 1000) / (learned - start), n / (scored - learned)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        lines.append([rule, *(f"{rate:,.0f}" for rate in rates), f"{100 * error:.2f}", f"{peak:.2f}"])
        print(*lines[-1], sep="  ", flush=True)
    print(table(["rule", "learned rows per CPU second", "scored", "test error %", "peak GB of the process"], lines))
    return lines


def kernel() -> list[list[Any]]:
    """Part 6: kernel learners on usps compared with SVC."""
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
    """Part 7: test error against seconds of training, one pass."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axis, (name, dense, max_rows) in zip(axes, (("usps", "shared", None), ("a9a", "full", 6000)), strict=True):
        X, y, X_test, y_test = load(name, max_rows, 2000)
        for covariance in ("diag", dense, "kernel"):
            classifier = OnlineClassifier("arow", covariance, budget=400, kernel_params={"gamma": 1.0}, view=None)
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
        ("--measure", {"nargs": 3, "metavar": ("FORM", "RULE", "D"), "help": "one form in this process"}),
    )
    if options.measure:
        form, rule, d = options.measure
        print(measure(form, rule, int(d)))
        return
    parts, found = options.part or PARTS, {}
    print(machine())
    if "speed" in parts:
        found["speed"] = speed(options.rule or list(RULES), options.sizes, options.repetitions)
    if "low-rank" in parts:
        found["low-rank"] = low_rank()
    if "many" in parts:
        found["many"] = many()
    if set(parts) - NEEDS_NO_DATA and have_data():
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
