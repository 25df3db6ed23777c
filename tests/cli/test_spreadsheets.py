"""The first things that someone does with a spreadsheet: the right answer, a warning, or one clear error."""

import random

import pytest

from confidently.models.model import Model

RANDOM = random.Random(1)
OPTIONS = ["--decimal", ",", "--thousands", ".", "--units", "share,way", "--date-format", "%d/%m/%Y"]


def german(x, digits=2):
    return f"{x:,.{digits}f}".translate({ord(","): ".", ord("."): ","})


def rows(n=400):
    for k in range(n):
        price, share, way = RANDOM.gauss(0, 2000), RANDOM.uniform(0, 100), RANDOM.uniform(0, 5000)
        day = f"{RANDOM.randint(1, 28):02}", f"{RANDOM.randint(1, 12):02}", "2025"
        yield "yes" if price + 20 * share > 800 else "no", None if k % 17 == 0 else price, share, way, day


@pytest.fixture
def files(tmp_path):
    """The same table from a German spreadsheet, with a byte order mark, and as programs write it."""
    there, here = ["label;price;share;way;day"], ["label,price,share,way,day"]
    for label, price, share, way, day in rows():
        cells = ["" if price is None else german(price), f"{german(share, 1)} %", f"{german(way)} km", "/".join(day)]
        there.append(";".join([label, *cells]))
        cells = ["" if price is None else f"{price:.2f}", f"{share:.1f}", f"{way:.2f}", "-".join(day[::-1])]
        here.append(",".join([label, *cells]))
    (tmp_path / "german.csv").write_bytes("\r\n".join([*there, ""]).encode("utf-8-sig"))
    (tmp_path / "plain.csv").write_text("\n".join([*here, ""]))
    return tmp_path


pytestmark = pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")


def ok(call, *arguments):
    code, out, err = call(*arguments)
    assert code == 0, err
    return out


def learned(call, model, *arguments):
    ok(call, "train", *arguments, "--rule=arow", "-q", "-o", model)
    found = Model.load(str(model))
    return found.source, [array.tobytes() for array in found.arrays().values()]


def test_a_german_table_is_the_plain_one(call, files):
    source, german_model = learned(call, files / "g.cw", files / "german.csv", *OPTIONS)
    _, plain_model = learned(call, files / "p.cw", files / "plain.csv")
    assert german_model == plain_model
    assert source["unit_names"] == ["%", "km"] and source["delimiter"] == ";" and source["decimal"] == ","
    for command in (["predict", "--proba"], ["evaluate", "--json"]):
        german, plain = ((files / f"{name[0]}.cw", files / f"{name}.csv") for name in ("german", "plain"))
        assert ok(call, *command, *german, "-q") == ok(call, *command, *plain, "-q")
    for name, options in (("german", OPTIONS), ("plain", [])):
        ok(call, "convert", files / f"{name}.csv", "-o", files / f"{name}.svm", *options)
    assert (files / "german.svm").read_bytes() == (files / "plain.svm").read_bytes()
    ok(call, "cache", files / "german.csv", "-q", "-o", files / "g.cache", "--normalize", "none", "--zeros", *OPTIONS)
    assert learned(call, files / "c.cw", files / "g.cache", "--view", "standard")[1] == plain_model
    for name in "gp":
        path = files / {"g": "german.csv", "p": "plain.csv"}[name]
        ok(call, "train", path, "-q", "-o", files / f"{name}2.cw", "--init-model", files / f"{name}.cw")
    continued = [Model.load(str(files / f"{name}2.cw")).arrays().values() for name in "gp"]
    assert all((one == other).all() for one, other in zip(*continued, strict=True))


def test_data_to_predict_may_have_another_delimiter(call, files):
    learned(call, files / "p.cw", files / "plain.csv")
    other = files / "other.csv"
    other.write_text((files / "plain.csv").read_text().replace(",", ";"))
    code, _, err = call("predict", files / "p.cw", other, "-q")
    assert code == 2 and "--delimiter" in err and err.count("\n") == 1
    found = ok(call, "predict", files / "p.cw", other, "-q", "--delimiter", ";")
    assert found == ok(call, "predict", files / "p.cw", files / "plain.csv", "-q")
    tabs = files / "tabs.csv"
    tabs.write_text((files / "plain.csv").read_text().replace(",", "\t"))
    assert found == ok(call, "predict", files / "p.cw", tabs, "-q", "--delimiter", "tab")
