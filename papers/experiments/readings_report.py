"""What the readings of Yang et al. 2009 give: Figures 1 and 2, and the statements of section 3 that each bears out."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..report import Report
from .ellipsoid_figures import epoch_curves, ratio_bars, relative_to_mira
from .ellipsoids import (
    DECAYS,
    GATED_MIRA,
    IELLIP,
    IELLIP_LEMMA_2,
    IELLIP_MARGIN,
    IELLIP_SCALAR,
    PA_I,
    B,
    Epochs,
    decayed,
    mean_of,
    reading,
)

BY = dict[str, list[Epochs]]
TITLES = (IELLIP, IELLIP_MARGIN, IELLIP_LEMMA_2)
OPPONENTS = {"PA and MIRA": ("PA", "MIRA"), "PA-I and MIRA on mistakes": (PA_I.name, GATED_MIRA.name)}
CLEAR = 0.05  # relative, of error and updates
STATEMENTS = (
    "its error is at most that of both others",
    "it makes fewer updates than both others",
    "its error decreases with the epochs",
    f"it makes fewer updates with b = {DECAYS[-1]:g} than with b = {DECAYS[0]:g}",
    f"its error is higher with b = {DECAYS[-1]:g} than with b = {DECAYS[0]:g}",
)


def named(title: str, b: float) -> str:
    """Return the name of a reading with this decay; the literal one has names of its own."""
    return decayed(b) if title == IELLIP else reading(title, b)


def statements(by: BY, title: str, opponents: tuple[str, ...]) -> list[bool]:
    """Return which of :data:`STATEMENTS` a reading bears out on a set, in the third epoch.

    The last two count from a relative change of :data:`CLEAR` on.
    """
    last = {q: {name: float(mean_of(runs, q)[-1]) for name, runs in by.items()} for q in ("error", "updates")}
    change = {q: values[named(title, DECAYS[-1])] / values[named(title, DECAYS[0])] for q, values in last.items()}
    return [
        last["error"][title] <= min(last["error"][name] for name in opponents),
        last["updates"][title] < min(last["updates"][name] for name in opponents),
        bool((np.diff(mean_of(by[title], "error")) < 0).all()),
        change["updates"] < 1.0 - CLEAR,
        change["error"] > 1.0 + CLEAR,
    ]


def add(report: Report, results: dict[str, BY]) -> None:
    """Report all readings."""
    report.section(
        "Readings of the improved method",
        "As printed, IELLIP updates on mistakes only, and once its cuts have vanished it is PA that does so: its "
        "updates equal its mistakes, so that Figure 2, where a larger b has fewer updates and more errors, cannot be. "
        "Two readings update whenever the margin is below gamma: iellip_margin, by gamma/sqrt(v), and Lemma 2's step, "
        "by gamma/v; both with c_k = b^(k+1). Neither is printed: that the authors ran one of them is an inference. A "
        "third learner keeps of the ellipsoid of iellip_margin only its scale, prior/prod(1 - c_k).",
    )
    _figure_1(report, results)
    _figure_2(report, results)
    _statements(report, results)
    _scalar(report, results)


def _figure_1(report: Report, results: dict[str, BY]) -> None:
    figure = epoch_curves(results, ["PA", "MIRA", *TITLES])
    report.figure("readings_fig1", "Figure 1 with each reading; means of three runs.", figure)
    header = ["data", "learner", "epoch 1 %", "epoch 2 %", "epoch 3 %", "updates", "test error %"]
    rows = [
        [
            name, learner, *(100 * float(e) for e in mean_of(by[learner], "error")),
            float(mean_of(by[learner], "updates").sum()), 100 * float(np.mean([run.test for run in by[learner]])),
        ]
        for name, by in results.items()
        for learner in ("PA", PA_I.name, "MIRA", GATED_MIRA.name, *TITLES, IELLIP_SCALAR)
    ]  # fmt: skip
    caption = f"Online error by epoch, updates in three epochs, error on the test part; b = {B:g}; means of three runs."
    report.table("readings", caption, header, rows)
    report.numbers["readings"] = rows


def _figure_2(report: Report, results: dict[str, BY]) -> None:
    ratios = {
        title: {name: relative_to_mira(by, partial(named, title)) for name, by in results.items()} for title in TITLES
    }
    caption = "Figure 2 with each reading: error and updates in the third epoch, relative to MIRA's."
    report.figure("readings_fig2", caption, ratio_bars(ratios))
    report.numbers["readings, fig2"] = ratios


def _statements(report: Report, results: dict[str, BY]) -> None:
    rows, counts = [], {}
    for against, opponents in OPPONENTS.items():
        found = {title: {name: statements(by, title, opponents) for name, by in results.items()} for title in TITLES}
        counts[against] = {title: sum(map(sum, of.values())) for title, of in found.items()}
        for name in results:
            for k, statement in enumerate(STATEMENTS):
                if k < 2 or against == next(iter(OPPONENTS)):  # the others do not depend on the opponents
                    answers = ["yes" if found[title][name][k] else "no" for title in TITLES]
                    rows.append([f"{name}: {statement}" + (f" ({against})" if k < 2 else ""), *answers])
    report.table("statements", "Which statements of section 3 each reading bears out.", ["statement", *TITLES], rows)
    total = len(STATEMENTS) * len(results)
    report.text(
        "; ".join(
            f"Compared with {against}, of {total} statements " + ", ".join(f"{t} bears out {n}" for t, n in of.items())
            for against, of in counts.items()
        )
        + "."
    )
    report.numbers["statements"] = counts


def _scalar(report: Report, results: dict[str, BY]) -> None:
    texts = []
    for name, by in results.items():
        full, scalar = (
            [100 * float(mean_of(by[reading(title, b)], "error")[-1]) for b in DECAYS]
            for title in (IELLIP_MARGIN, IELLIP_SCALAR)
        )
        texts.append(f"{name} " + ", ".join(f"{x:.2f} and {y:.2f} %" for x, y in zip(full, scalar, strict=True)))
    decays = ", ".join(f"{b:g}" for b in DECAYS)
    report.text(
        f"Error in the third epoch of IELLIP-margin and of its scale alone, for b = {decays}: " + "; ".join(texts) + "."
    )
