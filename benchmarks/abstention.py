"""Which certainty to abstain by: error by coverage, and the rejection of classes that training did not have.

Test rows are sorted by three certainties: the probability of the predicted class, |m|/sd and |m| of the margin between
the two best classes. Error: the area under the error by coverage, in percent; smaller is better. Rejection: classes
are left out of the training rows in turns; the area under the ROC curve of telling the test rows of the other classes
from theirs by the certainty, mean over the turns; larger is better. One pass, one setting of each learner for all sets.

--part thresholds measures two fixed thresholds instead: the rows predicted, in percent, and their error, where |m| is
at least one standard deviation, and where the probability is at least .9.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import arguments, have_data, load, machine, markdown, table, write_json

from confidently import AROW, CWStdev, Logistic, OnlineClassifier, Probit
from confidently.evaluation.abstention import risk_coverage
from confidently.evaluation.metrics import area_under_curve

SETS = ("a9a", "w8a", "spambase", "phishing", "letter", "usps", "shuttle", "newsgroups", "stackoverflow", "enron1",
        "books", "imdb", "tweet_emoji", "goemotions", "avazu", "ssa_names")  # fmt: skip
DENSE = ("usps", "letter", "shuttle", "spambase", "phishing")  # few enough columns for a full covariance
LEFT_OUT = {"stackoverflow": 5, "newsgroups": 4, "usps": 2, "letter": 5}  # classes left out in each turn
FULL = "arow, full"
LEARNERS = {
    "arow": OnlineClassifier(AROW(r=0.1), view=None),
    "cw_stdev": OnlineClassifier(CWStdev(eta=0.9), view=None),
    "probit": OnlineClassifier(Probit(noise=0.3), view=None),
    "logistic": OnlineClassifier(Logistic(), view=None),
    FULL: OnlineClassifier(AROW(r=0.1), "full", multiclass="joint", view=None),
}
DIAGONAL = [name for name in LEARNERS if name != FULL]
SHORT = (100, 1000)  # rows of short training
CERTAINTIES = ("p", "|m|/sd", "|m|")
PARTLY = 0.8  # coverage of the table
THRESHOLDS = {"|m|/sd": 1.0, "p": 0.9}


def certainties(learner: str, X: Any, y: np.ndarray, X_test: Any) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the predicted classes of test rows and every certainty of them, after one pass."""
    model = LEARNERS[learner].fit(X, y)
    predicted = model.predict(X_test)
    margin, variance = model.learner_.top_margins(model._matrix(X_test))
    p = model.predict_proba(X_test)[np.arange(len(predicted)), np.searchsorted(model.classes_, predicted)]
    values = p, np.abs(margin) / np.sqrt(variance), np.abs(margin)
    return predicted, dict(zip(CERTAINTIES, values, strict=True))


def by_coverage(name: str, learner: str, rows: int | None = None) -> dict[str, float]:
    """Return the error, for each certainty the area under the error by coverage, and the error at one coverage."""
    X, y, X_test, y_test = load(name)
    predicted, found = certainties(learner, X[:rows], y[:rows], X_test)
    curves = {certainty: risk_coverage(y_test, predicted, values) for certainty, values in found.items()}
    return (
        {"error": float(np.mean(predicted != y_test))}
        | {f"area, {certainty}": curve.area for certainty, curve in curves.items()}
        | {f"{PARTLY:.0%}, {certainty}": curve.error_at(PARTLY) for certainty, curve in curves.items()}
    )


def by_threshold(name: str, rows: int | None = None) -> dict[str, float]:
    """Return AROW's error, and the fraction of rows that each threshold keeps with their error."""
    X, y, X_test, y_test = load(name)
    predicted, found = certainties("arow", X[:rows], y[:rows], X_test)
    wrong = predicted != y_test
    results = {"error": float(wrong.mean())}
    for certainty, threshold in THRESHOLDS.items():
        kept = found[certainty] >= threshold
        results[f"{certainty} >= {threshold:g}"] = float(kept.mean())
        results[f"error, {certainty} >= {threshold:g}"] = float(wrong[kept].mean()) if kept.any() else float("nan")
    return results


def rejection(name: str, learner: str) -> dict[str, list[float]]:
    """Return the area under the ROC curve of every certainty, one for each turn of classes left out."""
    X, y, X_test, y_test = load(name)
    classes = np.random.default_rng(0).permutation(np.unique(y))
    areas: dict[str, list[float]] = {certainty: [] for certainty in CERTAINTIES}
    for first in range(0, len(classes), LEFT_OUT[name]):
        left_out = classes[first : first + LEFT_OUT[name]]
        kept = ~np.isin(y, left_out)
        for certainty, values in certainties(learner, X[kept], y[kept], X_test)[1].items():
            area = area_under_curve(values, ~np.isin(y_test, left_out))
            assert area is not None  # both kinds of rows are there
            areas[certainty].append(area)
    return areas


def show(header: list[str], rows: list[list[str]]) -> None:
    """Print a table as text and as Markdown, where a bar would end a cell."""
    print(table(header, rows), markdown([cell.replace("|", "\\|") for cell in header], rows), sep="\n\n")


def show_errors(found: dict[str, dict[str, float]]) -> None:
    """Print the numbers of a learner on every set in percent, and their means."""
    header = ["set", *next(iter(found.values()))]
    rows = [[name, *(f"{100 * value:.2f}" for value in of.values())] for name, of in found.items()]
    means = np.mean([list(of.values()) for of in found.values()], axis=0)
    show(header, [*rows, ["mean", *(f"{100 * value:.2f}" for value in means)]])


def mean_row(name: str, found: list[dict[str, float]]) -> list[str]:
    """Return means over sets, and on how many of them the probability is the better certainty."""
    columns = ["error", *(f"area, {certainty}" for certainty in CERTAINTIES)]
    better = sum(of["area, p"] < of["area, |m|/sd"] for of in found)
    return [name, *(f"{100 * np.mean([of[c] for of in found]):.2f}" for c in columns), f"{better} of {len(found)}"]


def main() -> None:
    options = arguments(__doc__ or "", ("--part", {"choices": ["thresholds"], "help": "only this part"}))
    if not have_data():
        return
    print(machine())
    if options.part == "thresholds":
        thresholds = {
            f"{rows or 'all'} rows": {name: by_threshold(name, rows) for name in SETS} for rows in (None, *SHORT)
        }
        for rows, found in thresholds.items():
            print(rows)
            show_errors(found)
        return write_json(options.json, thresholds)
    results: dict[str, dict[str, dict[str, float]]] = {learner: {} for learner in DIAGONAL}
    short: dict[int, dict[str, dict[str, float]]] = {rows: {} for rows in SHORT}
    for name in SETS:  # a set is loaded once
        for learner in DIAGONAL:
            results[learner][name] = by_coverage(name, learner)
        for rows in SHORT:
            short[rows][name] = by_coverage(name, "arow", rows)
        print(f"done: {name}", flush=True)
    results[FULL] = {name: by_coverage(name, FULL) for name in DENSE}
    show_errors(results["arow"])
    show_errors(results[FULL])
    lines = [mean_row(learner, list(results[learner].values())) for learner in DIAGONAL]
    lines += [mean_row(f"arow, {rows:,} rows", list(found.values())) for rows, found in short.items()]
    show(["learner", "error", *CERTAINTIES, "p better than |m|/sd"], lines)
    rejected, lines = {}, []
    for name in LEFT_OUT:
        for learner in ("arow", "logistic", *([FULL] if name in DENSE else [])):
            found = rejected[f"{name}, {learner}"] = rejection(name, learner)
            lines.append([f"{name}, {learner}", *(f"{np.mean(areas):.3f}" for areas in found.values())])
    show(["classes left out of", *CERTAINTIES], lines)
    write_json(options.json, {"error": results, "short": short, "rejection": rejected})


if __name__ == "__main__":
    main()
