"""Progress on a terminal and in lines: what fits, what stays, and what an interruption shows."""

import io
import json

import pytest
from rich.cells import cell_len
from rich.console import Console

from confidently.cli.output import live, progress
from confidently.cli.output.counts import Counts
from confidently.cli.output.reporter import READING, ComparisonProgress
from confidently.cli.output.text import say
from confidently.tasks.table import BINARY, TASKS

CLASSIFIER = progress.kind_of(BINARY)
MANY = Counts(123_456_789, 123_456_789, 9_876_543, 100_000_000, 12_345_678.9, 9_876_543_210, 120.0, 12_345_678_901)


def lives(kind, width):
    """A bar, and the text that its terminal shows in the end."""
    report = live.Live(kind)
    report.console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    return report


def screen(report):
    """The lines on the terminal, without its control sequences."""
    lines = [""]
    text = report.console.file.getvalue()
    for escape, effect in (("\x1b[1A", "\x01"), ("\x1b[2K", "\x02"), ("\x1b[?25l", ""), ("\x1b[?25h", "")):
        text = text.replace(escape, effect)
    row = 0
    for character in text:
        if character == "\n":
            row += 1
            lines += [""] * (row - len(lines) + 1)
        elif character == "\x01":
            row -= 1
        elif character in "\r\x02":
            lines[row] = "" if character == "\x02" else lines[row]
        else:
            lines[row] += character
    assert "\x1b" not in text
    return [line.rstrip() for line in lines if line.strip()]


@pytest.mark.parametrize("kind", [CLASSIFIER, progress.TOPICS, READING], ids=["rows", "documents", "reading"])
@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("total", [None, 10**10])
def test_a_bar_fits_the_terminal(kind, width, total):
    report = lives(kind, width)
    report.begin(2, 4, Counts(), total)
    report.update(MANY)
    report.close()
    (line,) = screen(report)
    assert cell_len(line) <= width and "…" not in line and "..." not in line
    assert "pass 2/4" in line and "123,456,789" in line
    assert (total is None) == ("eta" not in line)
    if width >= 80:
        assert "error 0.0800" in line or kind is not CLASSIFIER
    if width == 120 and total is None:
        assert "1,028,807 rows/s" in line or "102,880,658 words/s" in line


@pytest.mark.parametrize("width", [80, 120])
def test_a_bar_of_a_comparison_fits_the_terminal(width):
    report = ComparisonProgress(None)
    report.best = "gibbs_pa_exact c=8 prior_variance=0.5"
    shown = lives(report.report.kind, width)
    shown.begin(1, 1, Counts(), 10**10)
    shown.update(MANY)
    shown.close()
    (line,) = screen(shown)
    assert cell_len(line) <= width and "…" not in line and "123,456,789 rows" in line


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_columns_for_its_measures(name):
    task, empty = TASKS[name], Counts()
    kind = progress.kind_of(task)
    assert len(kind.header) == len(kind.line(MANY, MANY)) == len(kind.line(empty, empty))
    assert {*kind.fields(MANY, MANY)} >= {*task.measures, *(f"{name}_since_last" for name in task.measures)}
    assert task.decisive in task.measures and len(kind.status(MANY)) <= 2 + len(task.measures)


def test_an_interrupted_bar_shows_the_rows_done():
    report = lives(CLASSIFIER, 80)
    report.begin(1, 1, Counts(), 1000)
    report.update(Counts(rows=10, bytes_read=10))
    report.update(Counts(rows=128_000, bytes_read=870))  # too soon after the first to be shown at once
    report.close()
    (line,) = screen(report)
    assert "87 %" in line and "128,000 rows" in line


def test_messages_are_printed_above_the_bar(monkeypatch):
    report = lives(CLASSIFIER, 80)
    monkeypatch.setattr("sys.stderr", report.console.file)
    report.begin(1, 1, Counts(), 1000)
    report.update(Counts(rows=10, bytes_read=10))
    say("confidently: warning: the rows are [sorted]", err=True)
    report.close()
    message, bar = screen(report)
    assert message == "confidently: warning: the rows are [sorted]" and "10 rows" in bar


def passes(report, n):
    for number in range(1, n + 1):
        report.begin(number, n, Counts(), 100)
        report.update(Counts(rows=50, learned=50, bytes_read=50))
        report.end(Counts(rows=100, learned=100, bytes_read=100))
        report.validated(number, {"pass": number, "error": 0.1, "log_loss": 0.2, "rows": 1, "best": False})
    report.close()


LISTED = [1, 2, 4, 8, 16, 32, 64, 128, 256, 400]


@pytest.mark.long("400 passes on a terminal")
def test_of_many_passes_few_bars_stay():
    report = lives(CLASSIFIER, 80)
    passes(report, 400)
    lines = screen(report)
    assert [int(line.split()[1].split("/")[0]) for line in lines if line.startswith("pass ")] == LISTED
    assert sum(line.startswith("validation after pass") for line in lines) == len(LISTED)


def test_of_many_passes_few_are_printed(capsys):
    passes(progress.Lines(CLASSIFIER), 400)
    lines = capsys.readouterr().err.splitlines()
    assert [int(line.split()[1]) for line in lines if line.startswith("pass ")] == LISTED
    assert len(lines) == 4 * len(LISTED) and lines[3].endswith("of 1 row, no better")


def test_a_long_pass_is_printed_whatever_its_number(capsys, monkeypatch):
    monkeypatch.setattr(progress, "MAX_SILENT_SECONDS", 0)
    passes(progress.Lines(CLASSIFIER), 20)
    assert capsys.readouterr().err.count("pass ") >= 20


def test_programs_read_every_pass(capsys):
    passes(progress.JsonLines(CLASSIFIER), 50)
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["pass"] for event in events if event["event"] == "progress"] == list(range(1, 51))


@pytest.mark.parametrize("n", [1, 5, 10])
def test_all_of_few_passes_are_listed(n):
    assert all(progress.is_listed(number, n) for number in range(1, n + 1))
