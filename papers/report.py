"""Reports of experiments: figures, tables and claims, reproduced or not, as files and as one HTML page."""

from __future__ import annotations

import base64
import csv
import html
import io
import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confidently.data.sources.whole_files import new_file, new_text_file
from confidently.printable import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PACKAGES = ("confidently", "numpy", "scipy", "scikit-learn")
REPRODUCED, NOT_REPRODUCED = "reproduced", "not reproduced"
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
h1 { font-size: 1.7rem; margin-bottom: 0 } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ddd }
img { max-width: 100%; height: auto } figure { margin: 1.5rem 0 } figcaption { color: #555; font-size: .92rem }
table { border-collapse: collapse; font-size: .85rem; margin: .5rem 0 } .wide { overflow-x: auto }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #eee; white-space: nowrap }
th:first-child, td:first-child { text-align: left } thead th { border-bottom: 1px solid #999 }
.claim { border-left: .4rem solid #2a7d3f; padding: .2rem 0 .2rem .8rem; margin: 1rem 0 }
.claim.no { border-color: #b3402a } .verdict { font-weight: 600 } .paper { color: #555; margin-top: .2rem }
"""


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, the result, and, where the two differ, the reason."""

    says: str
    found: str
    holds: bool
    why: str = ""

    @property
    def verdict(self) -> str:
        return REPRODUCED if self.holds else NOT_REPRODUCED


@dataclass(frozen=True)
class Table:
    """Rows of numbers and strings under a header."""

    name: str
    caption: str
    header: list[str]
    rows: list[list[Any]]

    def cells(self) -> list[list[str]]:
        """Return the cells as text."""
        return [[_number(cell) for cell in row] for row in self.rows]


@dataclass
class Section:
    """A section of a report."""

    title: str
    parts: list[Any] = field(default_factory=list)  # str, Claim, Table, (name, caption, Figure)


class Report:
    """Results of an experiment, section by section.

    Parameters
    ----------
    name, title : str
    settings : dict
        Plain data: everything needed to run it again.
    """

    def __init__(self, name: str, title: str, settings: dict[str, Any]) -> None:
        self.name, self.title, self.settings = name, title, settings
        self.sections: list[Section] = []
        self.numbers: dict[str, Any] = {}

    def section(self, title: str, text: str = "") -> None:
        """Begin a section."""
        self.sections.append(Section(title, [text] if text else []))

    def text(self, text: str) -> None:
        self.sections[-1].parts.append(text)

    def claim(self, says: str, found: str, holds: bool, why: str = "") -> None:
        """Add a claim of the paper; ``why`` explains one that does not hold."""
        self.sections[-1].parts.append(Claim(says, found, bool(holds), why))

    def table(self, name: str, caption: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self.sections[-1].parts.append(Table(name, caption, list(header), [list(row) for row in rows]))

    def figure(self, name: str, caption: str, figure: Figure) -> None:
        self.sections[-1].parts.append((name, caption, figure))

    def parts(self, kind: type) -> list[Any]:
        """Return all parts of a kind, in order."""
        return [part for section in self.sections for part in section.parts if isinstance(part, kind)]

    def results(self) -> dict[str, Any]:
        """Return all results as plain data."""
        return {
            "name": self.name,
            "title": self.title,
            "settings": self.settings,
            "sections": [{"title": s.title, "parts": [_plain(part) for part in s.parts]} for s in self.sections],
            "claims": [asdict(c) | {"verdict": c.verdict} for c in self.parts(Claim)],
            "numbers": self.numbers,
            "tables": {t.name: {"header": t.header, "rows": t.rows} for t in self.parts(Table)},
        }

    def write(self, folder: Path) -> None:
        """Write figures as PNG and SVG, tables as CSV, ``results.json`` and ``report.html``."""
        folder.mkdir(parents=True, exist_ok=True)
        pictures = {name: _save(figure, folder / name) for name, _, figure in self.parts(tuple)}
        for table in self.parts(Table):
            with new_text_file(folder / f"{table.name}.csv") as file:
                csv.writer(file, lineterminator="\n").writerows([table.header, *table.rows])
        with new_text_file(folder / "results.json") as file:
            json.dump(self.results(), file, indent=1)
            file.write("\n")
        with new_text_file(folder / "report.html") as file:
            file.write(self._html(pictures))

    def _html(self, pictures: dict[str, bytes]) -> str:
        lines = [
            "<!doctype html>", '<html lang="en">', '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">', f"<title>{_escaped(self.name)}</title>",
            f"<style>{STYLE}</style>", f"<h1>{_escaped(self.name)}, reproduced</h1>",
            f'<p class="paper">{_escaped(self.title)}</p>', _summary(self.parts(Claim)),
        ]  # fmt: skip
        for section in self.sections:
            lines.append(f"<h2>{_escaped(section.title)}</h2>")
            lines += [_part(part, pictures) for part in section.parts]
        rows = "".join(
            f"<tr><td>{_escaped(key)}</td><td>{_escaped(str(value))}</td></tr>"
            for key, value in (self.settings | surroundings()).items()
        )
        return "\n".join([*lines, "<h2>Settings</h2>", f"<table>{rows}</table>", "</html>", ""])


def _plain(part: Any) -> dict[str, Any]:
    """Return a part of a section as plain data: text, a claim, or the name and caption of a table or figure."""
    if isinstance(part, str):
        return {"text": part}
    if isinstance(part, Claim):
        return {"claim": asdict(part) | {"verdict": part.verdict}}
    if isinstance(part, Table):
        return {"table": part.name, "caption": part.caption}
    return {"figure": part[0], "caption": part[1]}


def surroundings() -> dict[str, str]:
    """Return the versions of the software and the type of the machine."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return {"software": f"Python {platform.python_version()}, {versions}", "machine": platform.machine()}


def setting_text(setting: dict[str, float]) -> str:
    """Return parameters and their values as text."""
    return ", ".join(f"{key}={value:.4g}" for key, value in setting.items())


def new_figure(
    columns: int = 1, rows: int = 1, width: float = 5.6, height: float = 4.0, **options: Any
) -> tuple[Figure, Any]:
    """Create a figure without a window, and its axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, **options)


def _summary(claims: list[Claim]) -> str:
    held = sum(claim.holds for claim in claims)
    return f"<p>{held} of {len(claims)} claims reproduced.</p>"


def _part(part: Any, pictures: dict[str, bytes]) -> str:
    if isinstance(part, str):
        return f"<p>{_escaped(part)}</p>"
    if isinstance(part, Claim):
        why = f"<br>Why: {_escaped(part.why)}" if part.why else ""
        return (
            f'<div class="claim{"" if part.holds else " no"}">Claim: {_escaped(part.says)}<br>'
            f'<span class="verdict">{part.verdict.capitalize()}.</span> {_escaped(part.found)}{why}</div>'
        )
    if isinstance(part, Table):
        head = "".join(f"<th>{_escaped(cell)}</th>" for cell in part.header)
        body = "".join("<tr>" + "".join(f"<td>{_escaped(cell)}</td>" for cell in row) + "</tr>" for row in part.cells())
        return (
            f"<figure><figcaption>{_escaped(part.caption)}</figcaption>"
            f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></figure>'
        )
    name, caption, _ = part
    source = base64.b64encode(pictures[name]).decode()
    return (
        f'<figure><img alt="{_escaped(caption)}" src="data:image/png;base64,{source}">'
        f"<figcaption>{_escaped(caption)}</figcaption></figure>"
    )


def _number(cell: Any) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _save(figure: Figure, path: Path) -> bytes:
    """Write PNG and SVG; return the bytes of the PNG."""
    import matplotlib

    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    figure.set_layout_engine("none")  # keeps the current layout
    with new_file(path.with_suffix(".png")) as temporary:
        Path(temporary).write_bytes(picture.getvalue())
    with matplotlib.rc_context({"svg.hashsalt": path.name}), new_file(path.with_suffix(".svg")) as file:
        figure.savefig(file, format="svg", metadata={"Date": None})
    return picture.getvalue()


def _escaped(text: str) -> str:
    return html.escape(printable(text, keep="\n"))
