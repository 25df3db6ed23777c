"""Write papers.md and its pictures from the results of `make papers`: python docs/write_papers.py out.

Results of ``--quick`` are rejected without ``--reduced``, with which the page marks them. The page is the reports in
Markdown: their text, figures, tables and claims, in their order. A paper without results keeps its section of the page.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PAGE = FOLDER / "papers.md"
PAPERS = {
    "cw2008": "Exact convex confidence-weighted learning (Crammer, Dredze & Pereira 2008)",
    "ellipsoid2009": "Online learning by ellipsoid method (Yang, Jin & Ye 2009)",
    "bayespa2014": "Online Bayesian passive-aggressive learning (Shi & Zhu 2014)",
}
TOO_WIDE = ("text_error",)  # tables that only the report has
HEAD = """# The papers, reproduced

`confidently reproduce` runs the experiments of three papers and reports for each claim whether it was reproduced. It
writes one page (`report.html`, with all figures in it), the figures as PNG and SVG, the tables as CSV, and every number
in `results.json`. `--quick` runs at a reduced size, `--seed` is the random seed, `--data` is the folder of the data
sets (experiments without their data are skipped), `--jobs` the number of processes, `--axes` the shape of the points
that `cw2008` draws. The guarantees are in [mathematics](mathematics.md#guarantees).

<!-- not run: takes minutes -->
```console
$ confidently reproduce cw2008 --out out/cw2008 --quick
$ confidently reproduce ellipsoid2009 --out out/ellipsoid2009 --data DATA --jobs 2
$ confidently reproduce bayespa2014 --out out/bayespa2014 --data DATA --jobs 2
```

`docs/write_papers.py` generates the rest of this page from `results.json`; `make papers` runs all experiments in full
and updates the page. The claims are the papers' unless they are marked as ours.
"""


def page(results: dict[str, Any]) -> str:
    """Return the whole page; sections without results stay as they are."""
    sections = _sections() | {PAPERS[name]: _paper(PAPERS[name], found) for name, found in results.items()}
    return "\n".join([HEAD, *(sections[title] for title in PAPERS.values() if title in sections)])


def _sections() -> dict[str, str]:
    """Return the sections of the page by title."""
    parts = PAGE.read_text(encoding="utf-8").split("\n## ")[1:] if PAGE.exists() else []
    return {part.partition("\n")[0]: f"## {part}".rstrip("\n") + "\n" for part in parts}


def _paper(title: str, found: dict[str, Any]) -> str:
    held = sum(claim["holds"] for claim in found["claims"])
    settings = ", ".join(f"{key} {_cell(value)}" for key, value in found["settings"].items() if _is_plain(value))
    lines = [f"## {title}", "", f"{held} of {len(found['claims'])} claims were reproduced. Settings: {settings}.", ""]
    if found["settings"]["quick"]:
        lines += ["**These are results at the reduced size of `--quick`, not of the full run.**", ""]
    for section in found["sections"]:
        lines += [f"### {section['title']}", ""]
        for part in section["parts"]:
            lines += _part(part, found)
    return "\n".join(lines)


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
    PAGE.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if argument != "--reduced"]
    main(Path(given[0] if given else "out"), "--reduced" in sys.argv)
