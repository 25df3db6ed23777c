"""Foreign text, made safe to print: control characters become visible escapes.

Names of features, classes and files come from data and models of others. On a terminal their control characters could
move the cursor, set the title or the clipboard, or turn the direction of the text that follows.
"""

from __future__ import annotations

import re

MOST = 1500  # characters of a message
_CONTROLS = (
    (0x00, 0x1F), (0x7F, 0x9F),  # C0, delete and C1
    (0x061C, 0x061C), (0x200E, 0x200F), (0x202A, 0x202E), (0x2066, 0x2069),  # of the direction of text
    (0x2028, 0x2029), (0xD800, 0xDFFF),  # ends of lines and paragraphs; surrogates, which no encoding can write
)  # fmt: skip
_PATTERN = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in _CONTROLS) + "]")


def printable(text: str, keep: str = "") -> str:
    r"""Return text with its control characters, except those to ``keep``, as escapes.

    >>> print(printable("\x1b]0;title\x07spam\u202e"))
    \x1b]0;title\x07spam\u202e
    """
    return _PATTERN.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


class PrintableError(ValueError):
    """Base of the errors that quote foreign text; their messages are safe to print, and of bounded length."""

    def __str__(self) -> str:
        text = printable(super().__str__(), keep="\n")
        return text if len(text) <= MOST else f"{text[: MOST // 2]} [...] {text[-MOST // 2 :]}"
