"""The option for files that are opened in a spreadsheet."""

from __future__ import annotations

import click

from ...spreadsheets import SPREADSHEETS

csv_safe_option = click.option(
    "--csv-safe",
    is_flag=True,
    help="CSV and TSV: write an apostrophe before text that begins with =, +, - or @, which spreadsheets compute.",
)


def check_csv_safe(safe: bool, kind: str) -> None:
    """Reject the option for a format that is not for spreadsheets."""
    if safe and kind not in SPREADSHEETS:
        raise click.UsageError(f"--csv-safe is for {' and '.join(SPREADSHEETS)}, got the format {kind}")
