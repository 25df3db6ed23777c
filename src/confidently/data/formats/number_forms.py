"""Numbers and dates in forms that the readers do not expect, in the first cells of columns, and what reads them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ... import _core

# Decimal mark and separator of groups; of several that read the same cells, the first is the most common.
FORMS = (
    (".", ""), (".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"), (".", "_"),
)  # fmt: skip
SHELL = {" ": "' '", "'": '"\'"'}  # as the marks are typed
COMMA_IS_POINT = (",", "")
MIN_FRACTION = 0.9  # of the cells have one unit, or are dates of one form
DATE_FORMATS = (
    "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y", "%d.%m.%Y", "%d.%m.%y", "%d-%m-%Y", "%m-%d-%Y", "%d-%m-%y",
    "%m-%d-%y", "%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d. %m. %Y", "%d. %b %Y", "%b %d, %Y", "%Y.%m.%d",
)  # fmt: skip
RARE_FORMATS = ("%y.%m.%d", "%y.%d.%m")  # if no other is that of the cells
HALF_DAYS = ("%I:%M %p", "%I:%M:%S %p")
TIMES = ("", *(between + time for between in (" ", ", ") for time in ("%H:%M", "%H:%M:%S", *HALF_DAYS)))
# Of ctime and of Twitter, of RFC 2822, of Apache's logs, and of syslog.
MOMENTS = (
    "%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M:%S.%f %Y", "%a %b %d %H:%M:%S %z %Y", "%a, %d %b %Y %H:%M:%S %z",
    "%d %b %Y %H:%M:%S %z", "%d/%b/%Y:%H:%M:%S %z", "[%d/%b/%Y:%H:%M:%S %z]",
    "%b %d %H:%M:%S", "%b %d %H:%M:%S.%f", *HALF_DAYS,
    *(f"{day} {time}" for day in ("%Y-%m-%d", "%Y/%m/%d") for time in HALF_DAYS),
)  # fmt: skip
MAX_YEARS = 2  # different first numbers of dates, with more last ones, that may be years: the logs of Spark begin so
TIME_OF_DAY, AFTERNOON = re.compile(r"[0-2]?[0-9]:[0-5][0-9](:[0-5][0-9]([.,][0-9]+)?)?"), "12"
CURRENCIES = (
    "USD", "EUR", "GBP", "JPY", "CNY", "CHF", "AUD", "CAD", "INR", "BRL", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF",
    "RUB", "TRY", "MXN", "ZAR", "KRW", "SGD", "HKD", "NZD", "ILS", "THB", "IDR", "MYR", "PHP", "AED",
)  # fmt: skip


def is_number(text: str) -> bool:
    """Return whether Python reads a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


class NumberForm(NamedTuple):
    """How cells write numbers.

    Attributes
    ----------
    marks : list of (str, str)
        The decimal mark and the separator of groups; more than one if cells are the same in several forms.
    unit : str
        The unit, if there is one.
    n : int
        How many of the cells are such numbers.
    example : str
        The first of them.
    """

    marks: list[tuple[str, str]]
    unit: str
    n: int
    example: str

    def options(self, marks: tuple[str, str], column: str) -> str:
        """Return the options that read such cells."""
        decimal, thousands = marks
        parts = [f"--decimal {decimal}"] * (decimal != ".")
        parts += [f"--thousands {SHELL.get(thousands, thousands)}"] * (thousands != "")
        return " ".join(parts + [f"--units {column}"] * bool(self.unit))

    @property
    def is_surely_a_number(self) -> bool:
        """Whether few cells show it: letters behind a number may be part of a name, such as a house's."""
        return all(unicodedata.category(c) == "Sc" or c in "%\u2030" for c in self.unit)


def number_form(samples: Sequence[str]) -> NumberForm | None:
    """Return the form in which most cells are numbers; ``None`` if none is a number in any form.

    Examples
    --------
    >>> number_form(["1.234,56", "12,5"])
    NumberForm(marks=[(',', '.')], unit='', n=2, example='1.234,56')
    >>> number_form(["$12.34", "$5"]).options((".", ""), "price")
    '--units price'
    """
    cells = [text for text in samples if _begins_like_a_number(text)]
    best: NumberForm | None = None
    for unit in (False, True) if cells else ():
        for marks in FORMS:
            form = _core.NumberFormat(decimal=marks[0], thousands=marks[1], units=unit)
            read = [(text, found[1]) for text in cells if (found := form.read(text)) is not None]
            units = Counter(name for _, name in read if name)
            if not read or (unit and sum(units.values()) * MIN_FRACTION > max(units.values(), default=0)):
                continue
            if unit and len(read) < MIN_FRACTION * len(samples):  # letters behind the digits of some codes
                continue
            if best is None or len(read) > best.n:
                best = NumberForm([marks], units.most_common(1)[0][0].decode() if unit else "", len(read), read[0][0])
            elif len(read) == best.n and unit == bool(best.unit):
                best.marks.append(marks)
    return best


def _begins_like_a_number(text: str) -> bool:
    """Return whether text is a number with a unit behind it, or an amount of money, rather than a code."""
    text = text.lstrip("+-\u2212.,' ")
    return text[:1].isdigit() or unicodedata.category(text[:1] or "x") == "Sc" or text[:3] in CURRENCIES


def date_formats(samples: Sequence[str]) -> list[str]:
    """Return the formats in which most cells are dates.

    Examples
    --------
    >>> date_formats(["31/12/2025", "1/2/2025"]), date_formats(["3/4/2025 10:30"])
    (['%d/%m/%Y'], ['%d/%m/%Y %H:%M', '%m/%d/%Y %H:%M'])
    """
    if not samples or not any(map(str.isdigit, samples[0])):
        return []
    found = list(_formats(samples, (*DATE_FORMATS, *MOMENTS))) or list(_formats(samples, RARE_FORMATS))
    if [form[:8] for form in found] in (["%d/%m/%y"], ["%d.%m.%y"]):
        days, years = ({text[part] for text in samples} for part in (slice(2), slice(6, 8)))
        if len(days) <= MAX_YEARS < len(years):
            found += _formats(samples, ["%y" + found[0][2:6] + "%d" + found[0][8:]], [""])
    return found


def are_times_of_day(samples: Sequence[str]) -> bool:
    """Return whether all cells are times of day, as hh:mm; without one in the afternoon they may be durations."""
    return may_be_times_of_day(samples) and max(text.split(":")[0].zfill(2) for text in samples) >= AFTERNOON


def may_be_times_of_day(samples: Sequence[str]) -> bool:
    """Return whether there are cells, and all are as times of day are, hh:mm."""
    return bool(samples) and all(map(TIME_OF_DAY.fullmatch, samples))


def _formats(samples: Sequence[str], days: Sequence[str], times: Sequence[str] = TIMES) -> Iterator[str]:
    for form in (day + time for day in days for time in (times if day not in MOMENTS else ("",))):
        if not any(_core.is_date(text, form) for text in samples[:2]):
            continue  # most columns have no dates, and formats are many
        if sum(_core.is_date(text, form) for text in samples) >= MIN_FRACTION * len(samples):
            yield form
