"""``confidently reproduce``: the experiments of a paper, with a report."""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..common import json_option, table
from ..output.pictures import drawing_is_possible

if TYPE_CHECKING:
    from ...papers.report import Report


@click.command()
@click.argument("paper")
@click.option(
    "--out", required=True, metavar="FOLDER", type=click.Path(file_okay=False, path_type=Path),
    help="Where the report, figures, tables and results.json go.",
)  # fmt: skip
@click.option("--quick", is_flag=True, help="A reduced size, to see what comes out.")
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="All that is random follows from it."
)
@click.option(
    "--data", metavar="FOLDER", type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the data sets; without it experiments on real data are left out.",
)  # fmt: skip
@click.option(
    "--axes", "axes", multiple=True, metavar="LONG:SHORT[:NOISE]", callback=lambda _, __, given: _axes(given),
    help="cw2008: standard deviations of the points that it draws, which the paper leaves open; more than once for "
    "several.  [default: 2:1 and 10:1, noise 2]",
)  # fmt: skip
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1), help="Processes.")
@click.option("--quiet", is_flag=True, help="Do not show progress.")
@json_option
def reproduce(
    paper: str, out: Path, quick: bool, seed: int, data: Path | None, axes: tuple[tuple[float, ...], ...], jobs: int,
    quiet: bool, as_json: bool,
) -> None:  # fmt: skip
    """Run a paper's experiments and report which of its claims are reproduced.

    PAPER is cw2008 (Crammer, Dredze & Pereira, confidence-weighted learning), ellipsoid2009 (Yang, Jin & Ye, the
    ellipsoid method) or bayespa2014 (Shi & Zhu, Bayesian passive-aggressive learning). FOLDER gets report.html, which
    needs no other file, the figures as PNG and SVG, the tables as CSV and all numbers in results.json. Needs
    matplotlib.
    """
    from ...papers import PAPERS
    from ...papers import reproduce as run_paper
    from ...papers.run import Progress, Run

    if paper not in PAPERS:
        raise click.UsageError(f"no paper is called {paper!r}; there are {', '.join(PAPERS)}")
    if not drawing_is_possible():
        raise click.UsageError("reproduce draws figures: pip install 'confidently[plots]'")
    began = time.monotonic()
    progress = Progress() if quiet else Live() if sys.stderr.isatty() else Plain()
    report = run_paper(paper, Run(seed, quick, data, jobs, axes, progress))
    report.settings["seconds"] = round(time.monotonic() - began, 1)
    report.write(out)
    click.echo(json.dumps(report.results()) if as_json else _summary(report, out))


def _axes(given: tuple[str, ...]) -> tuple[tuple[float, ...], ...]:
    """Two or three standard deviations each."""
    found = []
    for text in given:
        try:
            numbers = tuple(float(part) for part in text.split(":"))
        except ValueError:
            numbers = ()
        if not (2 <= len(numbers) <= 3 and all(0 < number < math.inf for number in numbers)):
            raise click.BadParameter(f"{text!r} is not two or three numbers > 0 with colons, such as 2:1 or 2:1:2")
        found.append(numbers)
    return tuple(found)


def _summary(report: Report, out: Path) -> str:
    from ...papers.report import Claim

    claims = report.parts(Claim)
    lines = [report.title, ""]
    for claim in claims:
        lines += [f"{claim.verdict:<16}{claim.says}", f"{'':16}{claim.found}"]
    held = sum(claim.holds for claim in claims)
    seconds = report.settings["seconds"]
    facts = table([["claims reproduced", f"{held} of {len(claims)}"], ["seconds", f"{seconds:.0f}"]])
    return "\n".join([*lines, "", facts, f"Report: {out / 'report.html'}"])


class Plain:
    """A line when a stage begins and one when it is over."""

    def begin(self, stage: str, pieces: int) -> None:
        self.stage, self.began = stage, time.monotonic()
        click.echo(f"{stage}: {pieces} pieces", err=True)

    def advance(self) -> None:
        """A piece is done."""

    def end(self) -> None:
        click.echo(f"{self.stage}: {time.monotonic() - self.began:.0f} s", err=True)


class Live:
    """A bar a stage."""

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
