"""The lines of the tables of docs/benchmarks.md, from the results of the benchmarks of speed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

Result = dict[str, Any]


@dataclass(frozen=True, order=True)
class Line:
    """A comparison: the peer's time divided by ours, and both as they are shown. Ratio 0: there is no peer."""

    work: str
    peer: str
    theirs: str
    ours: str
    ratio: float


def seconds(x: float) -> str:
    """Return a time for people."""
    return f"{x:.2f} s" if x >= 0.2 else f"{1e3 * x:.3g} ms" if x >= 1e-3 else f"{1e6 * x:.3g} µs"


def files(result: Result) -> list[Line]:
    """Return the comparisons with Vowpal Wabbit on its text and from its cache, and those of 17 digits."""
    found = []
    for name, measured in result.get("vw", {}).items():
        peer = measured["peer"]
        for (rows, runs), ratio in zip(measured["runs"].items(), measured["ratios"], strict=True):
            if name != peer:
                theirs = seconds(result["vw"][peer]["runs"][rows]["seconds"])
                work = f"{int(rows):,} rows of 63 features, {name.partition(', ')[2]}"
                found.append(Line(work, peer, theirs, seconds(runs["seconds"]), ratio))
    if "digits" in result:
        found.append(_pair("values of 17 digits, svmlight", result["digits"]))
    return found


def _pair(work: str, compared: Result) -> Line:
    [peer] = [name for name in compared["runs"] if name != "confidently"]
    theirs, ours = (seconds(compared["runs"][name]["seconds"]) for name in (peer, "confidently"))
    return Line(work, peer, theirs, ours, compared["ratio"])


def text(result: Result) -> list[Line]:
    """Return the comparisons on JSON lines and CSV."""
    found = [
        _pair(f"reviews, words and pairs in 2^22 columns, {file}", compared)
        for file, compared in result.get("text", {}).items()
    ]
    if "csv" in result:
        found.append(_pair("two million names, n-grams of 1 to 3 characters, CSV", result["csv"]))
    return found + [_pair("ten columns of numbers, CSV", compared) for compared in result.get("numbers", {}).values()]


def predict(result: Result) -> list[Line]:
    """Return the comparisons of ``confidently predict``."""
    return [_pair(f"predict from svmlight text, {name}", compared) for name, compared in result["predict"].items()]


def starts(result: Result) -> list[Line]:
    """Return the times of processes with almost nothing to do."""
    return [Line(f"`{name}`", "", "", seconds(taken), 0) for name, taken in result["starts"].items()]


def peaks(result: Result) -> list[Line]:
    """Return the peak memory by size of file."""
    return [Line(f"peak memory, {size} of svmlight text", "", "", f"{peak:.0f} MB", 0)
            for size, peak in result["memory"].items()]  # fmt: skip


def fit(result: Result) -> list[Line]:
    """Return the comparisons of ``fit`` in memory, of which the first learner of each is ours."""
    found = []
    for title, learners in result["results"].items():
        own, *peers = learners
        for peer in peers:
            theirs, ours = (seconds(median(learners[name]["seconds"])) for name in (peer, own))
            found.append(Line(f"fit, {own}: {title[4:]}", peer, theirs, ours, learners[peer]["ratio"]))
    return found


def compared(result: Result) -> list[Line]:
    """Return the lines that a script wrote as they are shown, its times in seconds."""
    return [
        Line(line["work"], line["peer"], seconds(line["theirs"]), seconds(line["ours"]), line["ratio"])
        for line in result["comparisons"]
    ]


def partial_fit(result: Result) -> list[Line]:
    """Return the comparisons of calls of ``partial_fit``."""
    return [
        Line(
            f"partial_fit, rows of a call: {n}", "SGDClassifier", f"{of['microseconds']['SGDClassifier']:.0f} µs",
            f"{of['microseconds']['arow']:.0f} µs", of["ratio"],
        )
        for n, of in result["results"].items()
    ]  # fmt: skip


def dicts(result: Result) -> list[Line]:
    """Return the comparisons of rows that are dicts with River's PAClassifier."""
    peer, found = "River PAClassifier", []
    for name, measured in result["rows"].items():
        stream, _, learner = name.partition(": ")
        if learner in ("pa1", "arow"):
            theirs = median(result["rows"][f"{stream}: {peer}"]["microseconds"])
            ours = median(measured["microseconds"])
            work = f"predict and learn a dict of 75, {learner}: {stream}"
            found.append(Line(work, peer, f"{theirs:.1f} µs", f"{ours:.2f} µs", measured["times_faster"]))
    return found


def covariance(result: Result) -> list[Line]:
    """Return full covariances: rows per second compared with row-by-row updates, the machine's products, one thread."""
    found = []
    for measured in result["speed"]:
        rates, work = measured["rows/s"], f"{measured['rule']}, full covariance, {measured['d']} features"
        ours = f"{rates['float64']:,.0f} rows/s"
        for name, peer in (("blas2", "row by row, BLAS 2"), ("one thread", "ours with one BLAS thread")):
            if name in rates:
                ratio = rates["float64"] / rates[name]
                found.append(Line(work, peer, f"{rates[name]:,.0f} rows/s", ours, ratio))
        gemm = measured["gemm GF/s"]["float64"]
        found.append(Line(work, "this machine's gemm", f"{gemm:.0f} GF/s", f"{measured['fraction']['float64']:.0%}", 0))
    return found


def kernel(result: Result) -> list[Line]:
    """Return the times of kernel learners on usps compared with SVC's."""
    (peer, _, theirs, error), *ours = result["kernel"]
    return [
        Line(
            f"usps, {name} ({errors} % test error)", f"{peer} ({error} %)", f"{theirs} s", f"{seconds} s",
            float(theirs) / float(seconds),
        )
        for name, _, seconds, errors in ours
    ]  # fmt: skip


LINES: dict[str, Callable[[Result], list[Line]]] = {
    "files": files,
    "text": text,
    "predict": predict,
    "starts": starts,
    "peaks": peaks,
    "fit": fit,
    "prediction": compared,
    "partial_fit": partial_fit,
    "dicts": dicts,
    "covariance": covariance,
    "kernel": kernel,
}
