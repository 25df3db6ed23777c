"""Run the benchmarks of speed, and write their part of docs/benchmarks.md with its pictures.

Every part is a script of this folder with ``--json``, whose results stay in ``out/bench``; the page is made of the
parts that have results, so it can be made in several runs. A part whose script or data set is missing is skipped.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from page_lines import LINES, Line
from page_pictures import draw

HERE = Path(__file__).parent
RESULTS = HERE.parent / "out" / "bench"
PAGE = HERE.parent / "docs" / "benchmarks.md"
FIRST, LAST = "<!-- speed: written by benchmarks/page.py -->\n", "<!-- end of speed -->\n"


@dataclass(frozen=True)
class Part:
    """A script and its options; ``quick``: how it is told to be quick."""

    heading: str
    command: tuple[str, ...]
    quick: tuple[str, ...] = ("--quick",)


FILES, MEMORY = "Speed from files", "Speed in memory"
PARTS = {
    "files": Part(FILES, ("peers.py", "--only", "vw", "digits")),
    "text": Part(FILES, ("peers.py", "--only", "text", "csv", "numbers")),
    "predict": Part(FILES, ("peers.py", "--only", "predict")),
    "starts": Part(FILES, ("stream.py", "--only", "starts"), ("--repetitions", "2")),
    "peaks": Part(FILES, ("peers.py", "--only", "memory")),
    "fit": Part(MEMORY, ("speed.py",), ("--repetitions", "1")),
    "prediction": Part(MEMORY, ("prediction.py",)),
    "partial_fit": Part(MEMORY, ("partial_fit.py",)),
    "dicts": Part(MEMORY, ("dicts.py",)),
    "covariance": Part(
        MEMORY, ("full_covariance.py", "--part", "speed", "--rule", "arow"),
        ("--repetitions", "1", "--sizes", "100", "300"),
    ),
    "kernel": Part(MEMORY, ("full_covariance.py", "--part", "kernel"), ()),
    "scaling": Part(MEMORY, ("scaling.py",)),
}  # fmt: skip


def run(name: str, quick: bool) -> None:
    """Run a part, whose results replace those of an earlier run."""
    part = PARTS[name]
    script = HERE / part.command[0]
    if not script.exists():
        print(f"{name}: skipped, there is no {script.name}")
        return
    options = [*part.command[1:], *(part.quick if quick else ())]
    print(f"{name}: {script.name} {' '.join(options)}", flush=True)
    RESULTS.mkdir(parents=True, exist_ok=True)
    written = RESULTS / "new.json"
    done = subprocess.run([sys.executable, str(script), *options, "--json", str(written)], check=False)
    if done.returncode or not written.exists():
        print(f"{name}: no results; the page keeps those of before")
        return
    found = json.loads(written.read_text()) | {"quick": quick}
    (RESULTS / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")
    written.unlink()


def results() -> dict[str, dict[str, Any]]:
    """Return the results of every part that has some."""
    files = {name: RESULTS / f"{name}.json" for name in PARTS}
    return {name: json.loads(file.read_text()) for name, file in files.items() if file.exists()}


def page(found: dict[str, dict[str, Any]], pictures: dict[str, str]) -> str:
    """Return the part of the page about speed."""
    lines = {name: LINES[name](result) for name, result in found.items() if name in LINES}
    text = ["## Speed", "", _machines(found), ""]
    for file, caption in pictures.items():
        text += [f"![{caption}](pictures/{file})", ""]
    for heading in (FILES, MEMORY):
        text += [f"### {heading}", ""]
        for name, part in PARTS.items():
            if part.heading == heading and lines.get(name):
                text += [*_table(lines[name]), "", f"`python benchmarks/{' '.join(part.command)}`", ""]
    text += ["### Where it is slower", "", *_slower([line for each in lines.values() for line in each]), ""]
    return "\n".join(text)


def _machines(found: dict[str, dict[str, Any]]) -> str:
    quick = ", ".join(f"`{name}`" for name, result in found.items() if result.get("quick"))
    machines = sorted({result["machine"] for result in found.values()})
    return (
        "Medians of runs that take turns with the peer's. A ratio is the peer's time divided by ours, so more than 1\n"
        "means that `confidently` is faster; it is a single learner, AROW or another, unless a row says otherwise\n"
        f"(`train --rule arow`). Measured on: {'; and on: '.join(machines)}.\n"
        "`make bench` measures again and writes these sections; `python benchmarks/page.py --only dicts fit`\n"
        "measures parts of it, and `--quick` repeats little, on smaller files."
        + (quick and f"\n\nMeasured with `--quick`: {quick}.")
    )


def _table(lines: list[Line]) -> list[str]:
    rows = [f"| {line.work} | {line.peer} | {line.theirs} | {line.ours} | {_times(line.ratio)} |" for line in lines]
    return ["| work | peer | peer's | ours | ratio |", "|---|---|---:|---:|---:|", *rows]


def _times(ratio: float) -> str:
    return f"{ratio:.{0 if ratio >= 10 else 1 if ratio >= 1 else 2}f}x" if ratio else ""


def _slower(lines: list[Line]) -> list[str]:
    slower = sorted((line.ratio, line) for line in lines if line.ratio and line.ratio < 1)
    if not slower:
        return ["In none of these measurements."]
    return [f"* {line.work}: {ratio:.2f} times as fast as {line.peer}" for ratio, line in slower]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="run only these parts")
    parser.add_argument("--quick", action="store_true", help="few repetitions, and small files")
    parser.add_argument("--no-runs", action="store_true", help="write the page from the results of before")
    options = parser.parse_args()
    for name in [] if options.no_runs else options.only:
        run(name, options.quick)
    found = results()
    pictures = draw(found, PAGE.parent / "pictures")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(FIRST)
    after = rest.partition(LAST)[2]
    PAGE.write_text(f"{before}{FIRST}\n{page(found, pictures)}\n{LAST}{after}", encoding="utf-8")
    print(f"{PAGE}: {', '.join(found) or 'no results'}")


if __name__ == "__main__":
    main()
