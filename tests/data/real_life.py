"""Files as other programs write them, with a signal that can be learned: what is in them, and how it should be read."""

import csv
import gzip
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

N = 600
TOWNS = ("Delft", "Lund", "Köln", "Malmö")
AGE, TOWN = "number", "category"  # the types of these columns
FILES = {}
# What training on each file says, one a line.
SAID = Path(__file__).parents[1] / "tables" / "messages_of_files.txt"
MESSAGES = dict(line.split(": ", 1) for line in SAID.read_text(encoding="utf-8").splitlines())


class File(NamedTuple):
    """A file, and what training should make of it.

    Attributes
    ----------
    make : callable
        Returns its bytes.
    label : str, optional
        The column of labels; ``None``: the format has no columns.
    types : dict
        The type of each column of features, as ``look`` names it.
    options : tuple of str
        The options that a message names, without which the file is not read as meant.
    message : str
        The line of that message, or of what is assumed.
    regression : bool
        Whether labels are numbers.
    refused : bool
        Whether no option helps: the message says what to do with the file.
    """

    make: Callable[[], bytes]
    label: str | None
    types: dict[str, str]
    options: tuple[str, ...]
    message: str
    regression: bool
    refused: bool


def file(name, label="label", types=None, options=(), regression=False, refused=False):
    """Register the function that makes a file."""

    def register(make):
        FILES[name] = File(make, label, types or {}, tuple(options), MESSAGES.get(name, ""), regression, refused)
        return make

    return register


def people():
    """Return rows of which age, town and balance tell whether someone left, and what they paid."""
    random, found = Random(1), []
    for k in range(N):
        age, town, balance = random.randint(18, 80), random.choice(TOWNS), random.gauss(2000, 800)
        score = (age - 49) / 12 + (1.5 if town in TOWNS[:2] else -1.5) + (balance - 2000) / 1000
        found.append({
            "id": 10_000 + k, "age": age, "town": town, "balance": round(abs(balance) + 1, 2),
            "member": random.random() < 0.5, "month": random.randint(1, 12), "day": random.randint(1, 28),
            "left": random.gauss(score, 0.3) > 0, "paid": round(100 + 20 * score + random.gauss(0, 5), 2),
        })  # fmt: skip
    return found


def yes(one):
    return "yes" if one["left"] else "no"


def date(one):
    return f"2024-{one['month']:02d}-{one['day']:02d}"


def text(rows, header=(), encoding="utf-8", end="\r\n", **how):
    """Return CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=end, **how)
    writer.writerows([header] if header else [])
    writer.writerows(rows)
    return out.getvalue().encode(encoding)


def german(number):
    """Return a number as 1.234,56."""
    return f"{number:,.2f}".translate({ord(","): ".", ord("."): ","})


BASIC = {"age": AGE, "town": TOWN}
WITH_BALANCE = BASIC | {"balance": "number"}
CELLS = {
    "label": yes, "target": lambda one: int(one["left"]), "joined": date, "source": lambda one: "crm",
    "late": lambda one: str(one["day"] > 9).upper(), "member": lambda one: "Yes" if one["member"] else "No",
}  # fmt: skip


def table(name, columns, before=b"", behind=b"", named=True, cells=(), how=None, **facts):
    """Register a table of CSV; cells are those of people, of ``CELLS``, and of others by the name of their column."""
    columns, makers = columns.split(","), CELLS | dict(cells)

    @file(name, **facts)
    def _():
        rows = [[makers[c](one) if c in makers else one[c] for c in columns] for one in people()]
        return before + text(rows, columns if named else (), **(how or {})) + behind


# --- spreadsheets ----------------------------------------------------------------------------------------------------

PLAIN, BALANCED = "age,town,label", "age,town,balance,label"
UNIX = {"end": "\n"}
# Excel's "CSV UTF-8": a byte order mark and carriage returns; empty lines at the end
table("excel.csv", BALANCED, b"\xef\xbb\xbf", b"\r\n\r\n", types=WITH_BALANCE)
UNICODE = {"encoding": "utf-16", "delimiter": "\t"}  # Excel's "Unicode text", under another name and its own
table("excel_utf16.csv", PLAIN, how=UNICODE, types=BASIC)
table("excel_unicode.txt", PLAIN, how=UNICODE, types=BASIC, options=("--format", "tsv"))
table(  # of a German Windows
    "excel_german.csv", BALANCED, how={"encoding": "cp1252", "delimiter": ";"}, types=WITH_BALANCE,
    cells={"balance": lambda one: f"{one['balance']:.2f}".replace(".", ",")},
    options=("--encoding", "cp1252", "--decimal", ","),
)  # fmt: skip
# a first line that tells Excel the delimiter
table("excel_sep.csv", PLAIN, b"sep=;\r\n", how={"delimiter": ";"}, types=BASIC)
table(
    "thousands.csv", BALANCED, how={"delimiter": ";"}, types=WITH_BALANCE,
    cells={"balance": lambda one: german(one["balance"])},
)  # fmt: skip
table(
    "money.csv", BALANCED, types=WITH_BALANCE, cells={"balance": lambda one: f"${one['balance']:,.0f}"},
    options=("--units", "balance", "--thousands", ","),
)  # fmt: skip
table(
    "units.csv", "age,town,weight,rate,label", types=BASIC | {"weight": "number", "rate": "number"},
    cells={"weight": lambda one: f"{one['balance'] / 50:.1f} kg", "rate": lambda one: f"{one['month']}%"},
    options=("--units", "weight,rate"),
)  # fmt: skip
# a title and an empty line above the header
table("title.csv", PLAIN, b"Customers, all regions\n\n", how=UNIX, refused=True, types=BASIC)


@file("workbook.xlsx", refused=True)
def _():
    """A workbook."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return out.getvalue()


# --- databases -------------------------------------------------------------------------------------------------------

TABS = UNIX | {"delimiter": "\t"}


def known(mark):
    """Return how an age is written of which some are missing."""
    return lambda one: one["age"] if one["month"] > 1 else mark


table(  # PostgreSQL's COPY: no header, \N for NULL
    "postgres.tsv", BALANCED, named=False, how=TABS, types=WITH_BALANCE, options=("--columns", BALANCED),
    cells={"age": known(r"\N"), "label": lambda one: "t" if one["left"] else "f"},
)  # fmt: skip
# mysql --batch: a header, NULL in words
table("mysql.tsv", PLAIN, how=TABS, types=BASIC, cells={"age": known("NULL"), "label": CELLS["target"]})


@file("app.sqlite", refused=True)
def _():
    connection = sqlite3.connect(":memory:")
    connection.execute("create table people (age, label)")
    return connection.serialize()


table("pipes.csv", PLAIN, how={"delimiter": "|"}, types=BASIC)


@file("export.parquet", label="target", types=BASIC | {"joined": "date", "member": "boolean"})
def _():
    import datetime

    table = pa.table({
        "age": [one["age"] for one in people()], "town": [one["town"] for one in people()],
        "joined": [datetime.date(2024, one["month"], one["day"]) for one in people()],
        "member": [one["member"] for one in people()], "target": [yes(one) for one in people()],
    })  # fmt: skip
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


# --- tools of statistics ---------------------------------------------------------------------------------------------


@file("r_write_csv.csv", types=BASIC, label="y")
def _():
    """R's write.csv: quoted words, row names under an empty header."""
    lines = ['"","age","town","y"']
    lines += [f'"{k}",{one["age"]},"{one["town"]}","{yes(one)}"' for k, one in enumerate(people(), 1)]
    return "\n".join(lines).encode() + b"\n"


@file("r_write_table.tsv", refused=True, types=BASIC)
def _():
    """R's write.table(sep="\\t"): quoted words, a header without the column of row names."""
    lines = ['"age"\t"town"\t"label"']
    lines += [f'"{k}"\t{one["age"]}\t"{one["town"]}"\t"{yes(one)}"' for k, one in enumerate(people(), 1)]
    return "\n".join(lines).encode() + b"\n"


@file("weka.arff", label=None, refused=True)
def _():
    lines = ["% comment", "@RELATION people", "", "@ATTRIBUTE age NUMERIC", f"@ATTRIBUTE town {{{','.join(TOWNS)}}}"]
    lines += ["@ATTRIBUTE class {yes,no}", "", "@DATA"]
    lines += [f"{one['age']},{one['town']},{yes(one)}" for one in people()]
    return "\n".join(lines).encode() + b"\n"


@file("adult.data", types=BASIC, options=("--format", "csv", "--columns", "age,town,label"))  # fmt: skip
def _():
    """A file of the UCI repository: no header, spaces after commas, ? for missing."""
    rows = [(one["age"] if one["month"] > 1 else "?", one["town"], ">50K" if one["left"] else "<=50K")
            for one in people()]  # fmt: skip
    return "".join(", ".join(map(str, row)) + "\n" for row in rows).encode()


@file(
    "spss.csv", label="class", types={"q1": "category", "q2": "category", "age": AGE}, options=("--category", "q1,q2")
)
def _():
    """A survey with answers from 1 to 5, and 99 and -9 for those missing."""
    random = Random(2)
    rows = [
        (random.choice((1, 2, 3, 4, 5, 99)), round(one["balance"] / 800) if one["month"] > 1 else -9, one["age"],
         1 + one["left"])
        for one in people()
    ]  # fmt: skip
    return text(rows, ("q1", "q2", "age", "class"))


# the index without a name
table(
    "pandas.csv", ",age,town,balance,target", how=UNIX, label="target", types=WITH_BALANCE,
    cells={"": lambda one: one["id"] - 10_000},
)  # fmt: skip
# the label first, all numbers, without a header
table(
    "wine.csv", "label,age,balance", named=False, how=UNIX, cells={"label": lambda one: 1 + one["left"]},
    types={"age": AGE, "balance": "number"}, options=("--columns", "label,age,balance"),
)  # fmt: skip


# --- surveys and forms -----------------------------------------------------------------------------------------------

QUESTION = "How old are you, in years?\n(an estimate will do)"
LAST = "Would you, all in all, come again?"


@file("google_forms.csv", label=LAST, types={"Timestamp": "category", QUESTION: AGE, "Where do you live?": TOWN},
      options=("--label", LAST))  # fmt: skip
def _():
    """Questions as headers, with commas and line breaks."""
    rows = [
        (f"{date(one).replace('-', '/')} 10:{one['age'] % 60:02d}:00 AM GMT+1", one["age"], one["town"], yes(one))
        for one in people()
    ]
    return text(rows, ("Timestamp", QUESTION, "Where do you live?", LAST), quoting=csv.QUOTE_ALL)


@file("notes.csv", types=BASIC | {"note": "text"})
def _():
    """Text with quotes and line breaks."""
    random, words = Random(3), ("broken", "late", "fine", "kind", "never", "again")
    rows = []
    for one in people():
        note = f'Dear team,\nit was "{random.choice(words)}", {random.choice(words)} and {random.choice(words)}.\n'
        rows.append((one["age"], one["town"], note + ("Goodbye" if one["left"] else "See you"), yes(one)))
    return text(rows, ("age", "town", "note", "label"))


table(
    "booleans.csv", "age,town,member,late,label", types=BASIC | {"member": "category", "late": "category"},
)  # fmt: skip
DATED = {"types": BASIC | {"joined": "date"}}
table("dates_iso.csv", "age,town,joined,label", **DATED)
table(
    "dates_us.csv", "age,town,joined,label", cells={"joined": lambda one: f"{one['month']}/{one['day']}/2024"}, **DATED
)
table(
    "dates_eu.csv", "age,town,joined,label", **DATED,
    cells={"joined": lambda one: f"{one['day']:02d}.{one['month']:02d}.2024"},
)  # fmt: skip


# --- logs and lines --------------------------------------------------------------------------------------------------


@file("access.log", label=None, refused=True)
def _():
    """The combined format of web servers."""
    return "".join(
        f'10.0.0.{one["day"]} - - [{one["day"]:02d}/Oct/2024:13:55:36 +0000] "GET /{one["town"]} HTTP/1.1" 200 '
        f'{one["age"]} "-" "Mozilla/5.0"\n'
        for one in people()
    ).encode()


@file("logfmt.log", label=None, refused=True)
def _():
    return "".join(f"level=info age={one['age']} town={one['town']} label={yes(one)}\n" for one in people()).encode()


def objects():
    return [{"age": one["age"], "place": {"town": one["town"]}, "label": yes(one)} for one in people()]


@file("events.jsonl", types={"age": AGE, "place.town": TOWN})
def _():
    return "".join(json.dumps(one) + "\n" for one in objects()).encode()


@file("array.json", refused=True, types={"age": AGE, "place.town": TOWN})
def _():
    """The answer of an API: one array."""
    return json.dumps(objects(), indent=2).encode()


@file("rows.libsvm", label=None)
def _():
    return "".join(
        f"{1 if one['left'] else -1} 1:{one['age'] / 80} {2 + TOWNS.index(one['town'])}:1 6:{one['balance'] / 4000}\n"
        for one in people()
    ).encode()


@file("ads.vw", label=None)
def _():
    return "".join(f"{1 if one['left'] else -1} |p age:{one['age'] / 80} {one['town']}\n" for one in people()).encode()


# --- broken and odd tables -------------------------------------------------------------------------------------------


# comments above the header
table("comments.csv", PLAIN, b"# exported 2024-01-31\n# by hand\n", how=UNIX, types=BASIC)
# a number of each row, and a column of one value
table("ids.csv", "id,age,town,source,label", types=BASIC | {"source": "category"}, options=("--drop", "id"))
# numbers to predict
table(
    "houses.csv", "age,town,balance,y", label="y", types=WITH_BALANCE, regression=True,
    cells={"y": lambda one: one["paid"]},
)  # fmt: skip


@file("ragged.csv", options=("--on-error", "skip"))
def _():
    """Some rows lack their last cells."""
    rows = [(one["age"], one["town"], yes(one))[: 2 if one["day"] == 7 else 3] for one in people()]
    return text(rows, ("age", "town", "label"))


@file("twice.csv", types={"town": TOWN}, options=("--drop", "age"))
def _():
    """Two columns of one name."""
    rows = [(one["age"], one["town"], one["month"], yes(one)) for one in people()]
    return text(rows, ("age", "town", "age", "label"))


@file("first.csv.gz", label="Class", types=BASIC)
def _():
    """Compressed; the label comes first, under another name."""
    rows = [(yes(one), one["age"], one["town"]) for one in people()]
    return gzip.compress(text(rows, ("Class", "age", "town"), end="\n"), mtime=0)
