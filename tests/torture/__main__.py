"""Torture of the commands: python -m tests.torture [--kills N] [--calls N] [--clusters N] [--servers N] [--seed N]."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.serve.kills import Torture
from tests.torture.failures import failures
from tests.torture.kills import kill, kill_clusters
from tests.torture.power import check_power_cuts
from tests.torture.runs import CALLS, Runs
from tests.torture.scenarios import SCENARIOS, Folder


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="SIGKILLs, over all commands")
    parser.add_argument("--calls", type=int, default=40, help="failing calls of each kind and command, at most")
    parser.add_argument("--clusters", type=int, default=10, help="SIGKILLs of trainings on a cluster")
    parser.add_argument("--servers", type=int, default=200, help="SIGKILLs of a server with clients")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    options = parser.parse_args()
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {text}", flush=True)

    with TemporaryDirectory() as name, Runs(Path(name)) as runs:
        folders = []
        for scenario in SCENARIOS:
            place = Path(name, scenario.name)
            place.mkdir()
            folders.append(Folder(runs, scenario, place))
        cuts = {folder.scenario.name: check_power_cuts(folder.log, folder.old, folder.new) for folder in folders}
        say(f"{sum(cuts.values()):,} power cuts")
        failed = dict[str, Counter[str]]()
        for folder in folders:
            failed[folder.scenario.name] = Counter(call for call, _ in failures(folder, options.calls))
            say(f"{failed[folder.scenario.name].total():,} calls of {folder.scenario.name} failed")
        hit = Counter[tuple[str, str]]()
        for part in range(0, options.kills, 50):
            hit += kill(folders, min(50, options.kills - part), options.seed + part)
            say(f"{hit.total():,} kills")
        clusters = Path(name, "clusters")
        clusters.mkdir()
        early = kill_clusters(clusters, options.clusters, options.seed)
        say(f"{options.clusters} kills of clusters, {early} of them after the model was written")
        kill_servers(Path(name, "served"), options.servers, options.seed, say)
    phases = sorted({phase for _, phase in hit})
    header = ["command", *CALLS, "power cuts", *phases]
    table = []
    for name, counts in failed.items():
        struck = [str(hit[name, phase]) for phase in phases]
        table.append([name, *(str(counts[call]) for call in CALLS), f"{cuts[name]:,}", *struck])
    widths = [max(map(len, column)) for column in zip(header, *table, strict=True)]
    print("\nFailing calls, power cuts, and kills by phase. Every file was the old one or the new one, whole:")
    for row in [header, *table]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def kill_servers(place: Path, kills: int, seed: int, say: Callable[[str], None]) -> None:
    """Kill servers that learn or decide, in runs of 25 kills: by rows, by blocks, with an operator; and decisions."""
    blocks = {"settings": {"covariance": "full", "view": "none"}, "options": ("--covariance", "full", "--view", "none")}
    decisions = {"settings": {"task": "decisions"}}
    kinds: list[dict[str, Any]] = [{"changing": True, "erasing": True}, {}, {"changing": True}, blocks, decisions]
    total = Counter[str]()
    for part in range(0, kills, 25):
        folder = place / str(part)
        folder.mkdir(parents=True)
        torture = Torture(folder, seed + part, **kinds[part // 25 % len(kinds)])
        for _ in range(min(25, kills - part)):
            torture.round(0.5)
        torture.check()
        total += torture.counts
        say(f"servers: {', '.join(f'{n:,} {what}' for what, n in sorted(total.items()))}")


if __name__ == "__main__":
    main()
