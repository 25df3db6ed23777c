"""Text that a spreadsheet does not take for a formula.

A spreadsheet computes a cell that begins with =, +, - or @, quoted or not. A formula can send the table elsewhere or
start a program. With an apostrophe before it, a cell is text.
"""

from __future__ import annotations

import re

SPREADSHEETS = ("csv", "tsv")  # formats that they open
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_BEGINS = r'("*)(?=[=+\-@＝＋－＠])'
_FORMULA = re.compile(
    r"\A(?=[\t\r\n])"  # which are left out at the beginning of a cell
    rf"|\A{_BEGINS}(?!{_NUMBER}\Z)"
    rf"|(?<=[;,\t\r\n]){_BEGINS}(?!{_NUMBER}(?:[;\t\r\n]|\Z))"  # marks that begin a cell in other countries
)


def harmless(text: str) -> str:
    """Return text with an apostrophe before what a spreadsheet would compute; numbers stay as they are.

    >>> [harmless(text) for text in ("=1+1", "@SUM(A1)", "-1.5", "+3e-4", "-x", "a=b", "x;=1+1", "-")]
    ["'=1+1", "'@SUM(A1)", '-1.5', '+3e-4', "'-x", 'a=b', "x;'=1+1", "'-"]
    """
    return _FORMULA.sub(lambda found: (found[1] or found[2] or "") + "'", text)
