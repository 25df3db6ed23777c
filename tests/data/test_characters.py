"""Words, white space and lower case in every character of Unicode, as Python has them."""

import unicodedata
from collections import Counter

import pytest

from tests.data.test_text_lines import PLAIN, read
from tests.words import CORE, TABLES, kind_of, words_of

HEADER = (CORE / "character_tables.hpp").read_text(encoding="utf-8")
SAME_UNICODE = HEADER.startswith(f"// Unicode {unicodedata.unidata_version},")
needs_same_unicode = pytest.mark.skipif(not SAME_UNICODE, reason="this Python has the tables of another Unicode")
CODES = list(TABLES["codes"]())
MANY = 1 << 12
SOME = [pytest.param(CODES[::7], id="some"), pytest.param(CODES, id="all", marks=pytest.mark.long("every character"))]


def one_row(text, **how):
    [(_, _, row)] = read(f"1\t{text}\n".encode(), how=PLAIN | how)
    return row


@pytest.mark.long("every character")
@needs_same_unicode
def test_the_tables_are_those_the_script_writes():
    assert TABLES["header"]() == HEADER


def check(form, expected, codes=CODES, **how):
    """Compare the rows of all characters in a form, except those that end a line, many in a text."""
    places = [form.format(chr(code)) for code in codes if chr(code) not in "\n\r\t"]
    texts = [" ".join(places[k : k + MANY]) for k in range(0, len(places), MANY)]
    rows = read("".join(f"1\t{text}\n" for text in texts).encode(), how=PLAIN | how)
    for text, (_, _, row) in zip(texts, rows, strict=True):
        assert row == Counter(expected(text))


@pytest.mark.long("all characters of Unicode")
@needs_same_unicode
@pytest.mark.parametrize("codes", SOME)
def test_words_of_every_character(codes):
    check("{0} a{0}a", words_of, codes)


@needs_same_unicode
@pytest.mark.long("every character, twice")
def test_lower_case_of_a_sigma_beside_every_character():
    beyond = {run >> 8 for run in TABLES["runs"]()}  # where little differs
    codes = [code for code in CODES if code < 0x20000 or code in beyond]
    check("A\u03a3{0} A{0}\u03a3 A\u03a3{0}A", words_of, codes)


@needs_same_unicode
@pytest.mark.parametrize("codes", SOME)
def test_every_character_is_in_pythons_lower_case(codes):
    how = {"analyzer": "char", "ngrams": (1, 1)}
    check("{0}", lambda text: [c for c in text.lower() if not c.isspace() and c > " "], codes, **how)


@needs_same_unicode
@pytest.mark.parametrize("codes", SOME)
def test_words_are_pythons_but_for_marks_and_what_stands_alone(codes):
    """Letters are the word characters of ``re``, which scikit-learn's users know, apart from the stated differences."""
    for code in codes:
        kind, character = kind_of(chr(code)), chr(code)
        if kind in ("letter", "alone") and unicodedata.category(character)[0] not in "SC":
            assert character.isalnum() or character == "_", hex(code)
        elif kind in ("separator", "space", "mark"):
            assert not character.isalnum(), hex(code)


@pytest.mark.parametrize(("text", "words"), [
    ("ΆΝΘΡΩΠΟΣ Ο ΌΜΗΡΟΣ", "άνθρωπος ο όμηρος"), ("ȘTIINȚĂ", "știință"), ("TIẾNG VIỆT", "tiếng việt"),
    ("ЂЃ ҐҒ Ѡ", "ђѓ ґғ ѡ"),
    ("ΣΑΣ'Σ Σ ΑΣ. ΑΣ'Α", "σασ ς σ ας ασ α"),  # an apostrophe is within a word for Unicode's final sigma
    ("ما هذا؟ كتاب، قلم", "ما هذا كتاب قلم"), ("यह क्या है। हिन्दी", "यह क्या है हिन्दी"),
    ("בֵּית־סֵפֶר", "בֵּית סֵפֶר"), ("\ufeffone\ufefftwo", "one two"), ("人々が❤️コーヒー🎉🎉", "人 々 が ❤ コ ー ヒ ー 🎉 🎉"),
    ("Straße STRASSE ẞ İ K", "straße strasse ß i̇ k"), ("50 % ½ m² a_b x–y «z»", "50 ½ m² a_b x y z"),
])  # fmt: skip
def test_words_of_many_scripts(text, words):
    row = one_row(text)
    assert row == {word: float(words.split().count(word)) for word in words.split()}
    assert list(row) == list(dict.fromkeys(words.split()))
