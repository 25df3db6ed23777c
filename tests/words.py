"""The words of a text, by the definition in docs/data-formats.md, in plain Python."""

import runpy
from functools import cache
from pathlib import Path

CORE = Path(__file__).parents[1] / "core" / "data"
TABLES = runpy.run_path(str(CORE / "character_tables.py"))


@cache
def kind_of(character):
    return TABLES["kind_of"](ord(character))


def words_of(text):
    """Runs of letters, numbers and _, which marks continue, in lower case; some characters stand alone."""
    words, inside = [], False
    for character in text.lower():
        kind = kind_of(character)
        continues = kind == "letter" or (kind == "mark" and inside)
        if kind == "alone" or (continues and not inside):
            words.append("")
        if kind == "alone" or continues:
            words[-1] += character
        inside = continues
    return words
