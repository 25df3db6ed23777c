"""Write the pages of the papers and their pictures from the results of `make papers`: python docs/write_papers.py out.

papers.md is the overview, paper-NAME.md the page of a paper.

Results of ``--quick`` are rejected without ``--reduced``, with which the page marks them. The page of a paper is its
report in Markdown: a table of the verdicts, then text, figures, tables and claims, in their order. A paper without
results keeps its page.
"""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PAPERS = {
    "cw2008": "Exact convex confidence-weighted learning (Crammer, Dredze & Pereira 2008)",
    "ellipsoid2009": "Online learning by ellipsoid method (Yang, Jin & Ye 2009)",
    "bayespa2014": "Online Bayesian passive-aggressive learning (Shi & Zhu 2014)",
}
COUNT = re.compile(r"^(\d+ of \d+) claims were reproduced", re.MULTILINE)
TOO_WIDE = ("text_error",)  # tables that only the report has
HEAD = """# The papers, reproduced

In a clone, `python -m papers NAME` runs the experiments of a paper and reports which of its claims are reproduced.

| paper | claims reproduced |
| --- | ---: |
{papers}

The claims are the papers' unless they are marked as ours. Each page begins with the table of its claims.

```{{toctree}}
:hidden:

{pages}
```

## Running the experiments

The command writes one page (`report.html`, with all figures in it), the figures as PNG and SVG, the tables as CSV, and
every number in `results.json`. `--quick` runs at a reduced size, `--seed` is the random seed, `--data` is the folder of
the data sets (experiments without their data are skipped), `--jobs` the number of processes, `--axes` the shape of the
points that `cw2008` draws. The guarantees are in [mathematics](mathematics.md#guarantees).

<!-- not run: takes minutes -->
```console
$ python -m papers cw2008 --out out/cw2008 --quick
$ python -m papers ellipsoid2009 --out out/ellipsoid2009 --data DATA --jobs 2
$ python -m papers bayespa2014 --out out/bayespa2014 --data DATA --jobs 2
```

`make papers` runs all experiments in full. `docs/write_papers.py` generates these pages from `results.json`.
"""


def page_of(name: str) -> Path:
    """Return the page of a paper."""
    return FOLDER / f"paper-{name}.md"


def overview() -> str:
    """Return the page that lists the papers, with the numbers of claims on their pages."""
    pages = {name: page_of(name) for name in PAPERS if page_of(name).exists()}
    counts = {name: COUNT.search(page.read_text(encoding="utf-8")) for name, page in pages.items()}
    rows = [f"| [{PAPERS[name]}]({pages[name].name}) | {count[1] if count else ''} |" for name, count in counts.items()]
    return HEAD.format(papers="\n".join(rows), pages="\n".join(page.stem for page in pages.values()))


def paper(name: str, found: dict[str, Any]) -> str:
    """Return the page of a paper."""
    held = sum(claim["holds"] for claim in found["claims"])
    settings = ", ".join(f"{key} {_cell(value)}" for key, value in found["settings"].items() if _is_plain(value))
    lines = [
        f"# {PAPERS[name]}",
        "",
        f"{held} of {len(found['claims'])} claims were reproduced. Settings: {settings}.",
        "",
    ]
    if found["settings"]["quick"]:
        lines += ["**These are results at the reduced size of `--quick`, not of the full run.**", ""]
    lines += _verdicts(found)
    for section in found["sections"]:
        lines += [f"## {section['title']}", ""]
        for part in section["parts"]:
            lines += _part(part, found)
    return "\n".join(lines)


def _verdicts(found: dict[str, Any]) -> list[str]:
    """Return the table of the claims, those that were not reproduced first."""
    claims = [
        (part["claim"], section["title"])
        for section in found["sections"]
        for part in section["parts"]
        if "claim" in part
    ]
    rows = [
        f"| {claim['verdict']} | {_escaped(claim['says'])} | [{_escaped(title)}](#{_anchor(title)}) |"
        for claim, title in sorted(claims, key=lambda pair: pair[0]["holds"])
    ]
    return ["| verdict | claim | section |", "| --- | --- | --- |", *rows, ""] if rows else []


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _is_plain(value: Any) -> bool:
    return not isinstance(value, dict)


def _part(part: dict[str, Any], found: dict[str, Any]) -> list[str]:
    if "text" in part:
        return [_escaped(part["text"]), ""]
    if "claim" in part:
        claim = part["claim"]
        why = f" Why: {claim['why']}" if claim["why"] else ""
        return [
            f"* **{claim['verdict'].capitalize()}**: {_escaped(claim['says'])} {_escaped(claim['found'] + why)}",
            "",
        ]
    if "figure" in part:
        return [f"![{part['caption']}](pictures/{found['name']}-{part['figure']}.png)", ""]
    if part["table"] in TOO_WIDE:
        return [f"({part['caption']} By task and learner: `{part['table']}.csv` in the report's folder.)", ""]
    table = found["tables"][part["table"]]
    rows = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in [table["header"], *table["rows"]]]
    rows.insert(1, "| --- |" + " ---: |" * (len(table["header"]) - 1))
    return [part["caption"], "", *rows, ""]


def _escaped(text: str) -> str:
    return text.replace("*", r"\*").replace("|", r"\|").replace("_", r"\_").replace("<", r"\<")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return _escaped(str(value))


def main(out: Path, reduced: bool = False) -> None:
    found = {name: out / name / "results.json" for name in PAPERS}
    results = {name: json.loads(file.read_text()) for name, file in found.items() if file.exists()}
    if not results:
        raise SystemExit(f"there are no results in {out}; run make papers")
    if not reduced and any(found["settings"]["quick"] for found in results.values()):
        raise SystemExit("these are results of --quick; run make papers for the full ones, or use --reduced")
    for old in FOLDER.joinpath("pictures").glob("*-*.png"):
        if old.name.partition("-")[0] in results:
            old.unlink()
    for name, found in results.items():
        for section in found["sections"]:
            for part in section["parts"]:
                if "figure" in part:
                    picture = f"{part['figure']}.png"
                    shutil.copy(out / name / picture, FOLDER / "pictures" / f"{name}-{picture}")
        page_of(name).write_text(paper(name, found), encoding="utf-8")
    FOLDER.joinpath("papers.md").write_text(overview(), encoding="utf-8")


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if argument != "--reduced"]
    main(Path(given[0] if given else "out"), "--reduced" in sys.argv)
