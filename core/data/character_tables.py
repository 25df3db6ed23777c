"""Write character_tables.hpp from the Unicode tables of this Python: ``python core/data/character_tables.py``."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

HEADER = Path(__file__).with_suffix(".hpp")
KINDS = ("separator", "space", "letter", "mark", "alone")
CASED, IGNORABLE = 8, 16  # flags beside the kind
# Scripts without spaces between words, and pictographs: these characters are words of their own.
ALONE = (
    (0x2600, 0x27BF),  # symbols, dingbats
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x3007),  # ideographic marks and zero
    (0x3021, 0x3029),  # numerals
    (0x3040, 0x30FF),  # hiragana, katakana
    (0x31F0, 0x31FF),  # more katakana
    (0x3400, 0x9FFF),  # ideographs
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),  # katakana of half width
    (0x1B000, 0x1B16F),  # more kana
    (0x1F000, 0x1FAFF),  # pictographs
    (0x20000, 0x3FFFF),  # ideographs
)


def kind_of(code: int) -> str:
    """Return what a character is in a text of words."""
    category = unicodedata.category(chr(code))
    if chr(code).isspace():
        return "space"
    if category == "Cn" and (code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF):  # never to be assigned
        return "separator"
    if category[0] == "M":
        return "mark"
    if (category[0] in "LNS" or category == "Cn") and any(first <= code <= last for first, last in ALONE):
        return "alone"
    return "letter" if category[0] in "LN" or category == "Cn" or chr(code) == "_" else "separator"


def flags_of(code: int) -> int:
    """Return whether the lower case of a capital sigma beside the character depends on it, or on what is behind it."""
    if f"A\u03a3{chr(code)}".lower()[1] == "\u03c3":
        return CASED
    return IGNORABLE if f"A\u03a3{chr(code)}A".lower()[1] == "\u03c3" else 0


def codes() -> Iterator[int]:
    """Yield all code points of text."""
    return (code for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF)


def runs() -> Iterator[int]:
    """Yield the first code point of each run of alike ones, shifted by a byte, and what they are."""
    for alike, run in groupby(codes(), lambda code: KINDS.index(kind_of(code)) | flags_of(code)):
        yield next(iter(run)) << 8 | alike


def lower_cases() -> Iterator[tuple[int, int, int, int]]:
    """Yield first and last code point, step and offset of ranges with a lower case of one code point."""
    first = last = step = offset = 0
    for code in codes():
        low = chr(code).lower()
        if len(low) > 1 or ord(low) == code:
            continue
        gap = code - last
        if ord(low) - code == offset and (gap == step or (first == last and gap <= 2)):
            last, step = code, gap
            continue
        if step:
            yield first, last, step, offset
        first, last, step, offset = code, code, 1, ord(low) - code
    yield first, last, step, offset


def listed(items: list[str]) -> str:
    """Return the items of an array on lines of 140 characters."""
    lines = [""]
    for item in items:
        if len(lines[-1]) + len(item) > 134:
            lines.append("")
        lines[-1] += f" {item},"
    return "\n".join(f"   {line}" for line in lines)


def header() -> str:
    """Return the text of the header."""
    ranges = [f"{{{first:#x}, {last:#x}, {step}, {offset}}}" for first, last, step, offset in lower_cases()]
    return f"""// Unicode {unicodedata.unidata_version}, written by character_tables.py: do not edit.
#pragma once

#include <cstdint>

namespace confidently {{

enum class CharacterKind : std::uint8_t {{ {", ".join(KINDS)} }};

inline constexpr std::uint8_t kKindBits = {CASED - 1}, kCased = {CASED}, kIgnorable = {IGNORABLE};

// Runs of characters that are alike: the first one's code point times 256, its kind and flags.
inline constexpr std::uint32_t kCharacterRuns[] = {{
{listed([f"{run:#x}" for run in runs()])}
}};

// Every step-th character from first to last: its lower case is so far away.
struct LowerCases {{
    std::uint32_t first, last, step;
    std::int32_t offset;
}};
inline constexpr LowerCases kLowerCases[] = {{
{listed(ranges)}
}};

}}  // namespace confidently
"""


if __name__ == "__main__":
    HEADER.write_text(header(), encoding="utf-8", newline="\n")
