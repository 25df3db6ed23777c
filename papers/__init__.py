"""The experiments of three papers: ``confidently reproduce NAME``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .report import Report
    from .run import Run

# The papers by name; the module of the same name has a function ``reproduce(run) -> Report``.
PAPERS = {
    "cw2008": "Crammer, Dredze & Pereira, Exact Convex Confidence-Weighted Learning, NIPS 2008",
    "ellipsoid2009": "Yang, Jin & Ye, Online Learning by Ellipsoid Method, ICML 2009",
    "bayespa2014": "Shi & Zhu, Online Bayesian Passive-Aggressive Learning, ICML 2014",
}


def reproduce(name: str, run: Run) -> Report:
    """Run a paper's experiments.

    Raises
    ------
    ValueError
        For a name that is not in :data:`PAPERS`.
    """
    if name not in PAPERS:
        raise ValueError(f"unknown paper {name!r}; expected one of {', '.join(PAPERS)}")
    report: Report = import_module(f"{__name__}.{name}").reproduce(run)
    return report
