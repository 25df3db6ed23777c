"""``python -m papers NAME``: a paper's experiments, with a report."""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from confidently.cli.options.arguments import NONNEGATIVE_INTEGER, POSITIVE_INTEGER, json_option, quiet_option
from confidently.cli.options.command import Command
from confidently.cli.options.files import InputFolder, OutputFolder
from confidently.cli.options.plot import can_plot
from confidently.cli.output.text import say, table
from confidently.extras import install

if TYPE_CHECKING:
    from .report import Report


EXAMPLES = ("python -m papers cw2008 --quick --out report",)


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("paper", metavar="NAME")
@click.option(
    "--out", required=True, metavar="FOLDER", type=OutputFolder(),
    help="Write the report, figures, tables and results.json to this folder.",
)  # fmt: skip
@click.option("--quick", is_flag=True, help="Run smaller experiments.")
@click.option("--seed", default=0, type=NONNEGATIVE_INTEGER, help="Set the random seed.")
@click.option(
    "--data", metavar="FOLDER", type=InputFolder(),
    help="Read data sets from this folder.  [default: skip experiments on real data]",
)  # fmt: skip
@click.option(
    "--axes", "axes", multiple=True, metavar="LONG:SHORT[:NOISE]", callback=lambda _, __, given: _axes(given),
    help="cw2008: draw points with these standard deviations, which the paper does not state. Repeatable.  [default: "
    "2:1 and 10:1, noise 2]",
)  # fmt: skip
@click.option("--jobs", default=1, type=POSITIVE_INTEGER, help="Run this many processes.")
@quiet_option
@json_option
def reproduce(
    paper: str, out: Path, quick: bool, seed: int, data: Path | None, axes: tuple[tuple[float, ...], ...], jobs: int,
    quiet: bool, as_json: bool,
) -> None:  # fmt: skip
    """Run a paper's experiments and report which of its claims are reproduced.

    NAME is cw2008 (Crammer, Dredze & Pereira, confidence-weighted learning), ellipsoid2009 (Yang, Jin & Ye, the
    ellipsoid method) or bayespa2014 (Shi & Zhu, Bayesian passive-aggressive learning). It writes a
    self-contained report.html, the figures as PNG and SVG, the tables as CSV and all numbers in results.json. Needs
    matplotlib.
    """
    from . import PAPERS
    from . import reproduce as run_paper
    from .run import Progress, Run

    if paper not in PAPERS:
        raise click.UsageError(f"unknown paper {paper!r}; expected one of {', '.join(PAPERS)}")
    if not can_plot():
        raise click.UsageError(f"matplotlib is not installed; run {install('plots')}")
    began = time.monotonic()
    progress = Progress() if quiet else Live() if sys.stderr.isatty() else Plain()
    report = run_paper(paper, Run(seed, quick, data, jobs, axes, progress))
    report.settings["seconds"] = round(time.monotonic() - began, 1)
    report.write(out)
    say(json.dumps(report.results()) if as_json else _summary(report, out))


def _axes(given: tuple[str, ...]) -> tuple[tuple[float, ...], ...]:
    """Parse two or three standard deviations from each text."""
    found = []
    for text in given:
        try:
            numbers = tuple(float(part) for part in text.split(":"))
        except ValueError:
            numbers = ()
        if not (2 <= len(numbers) <= 3 and all(0 < number < math.inf for number in numbers)):
            raise click.BadParameter(
                f"expected two or three positive numbers separated by colons, got {text!r}; use 2:1 or 2:1:2"
            )
        found.append(numbers)
    return tuple(found)


def _summary(report: Report, out: Path) -> str:
    from .report import Claim

    claims = report.parts(Claim)
    lines = [report.title, ""]
    for claim in claims:
        lines += [f"{claim.verdict:<16}{claim.says}", f"{'':16}{claim.found}"]
    held = sum(claim.holds for claim in claims)
    seconds = report.settings["seconds"]
    facts = table([["claims reproduced", f"{held} of {len(claims)}"], ["seconds", f"{seconds:.0f}"]])
    return "\n".join([*lines, "", facts, f"Report: {out / 'report.html'}"])


class Plain:
    """One line when a stage begins and one when it ends."""

    def begin(self, stage: str, pieces: int) -> None:
        self.stage, self.began = stage, time.monotonic()
        say(f"{stage}: {pieces} pieces", err=True)

    def advance(self) -> None:
        """One piece is done."""

    def end(self) -> None:
        say(f"{self.stage}: {time.monotonic() - self.began:.0f} s", err=True)


class Live:
    """One bar per stage."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self.bars: Any = Progress(
            TextColumn("{task.description:<26}"), BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("eta"),
            TimeRemainingColumn(compact=True), TimeElapsedColumn(), console=Console(stderr=True),
        )  # fmt: skip

    def begin(self, stage: str, pieces: int) -> None:
        self.task = self.bars.add_task(stage, total=pieces)
        self.bars.start()

    def advance(self) -> None:
        self.bars.advance(self.task)

    def end(self) -> None:
        self.bars.stop_task(self.task)
        self.bars.stop()


if __name__ == "__main__":
    reproduce(prog_name="python -m papers")
