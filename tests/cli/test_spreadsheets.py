"""The first things that someone does with a spreadsheet: the right answer, a warning, or one clear error."""

import json
import random
import shutil

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same table from a German spreadsheet, with a byte order mark, and as programs write it."""
    folder = tmp_path_factory.mktemp("tables")
    found = list(rows())
    with open(folder / "german.csv", "w", encoding="utf-8-sig", newline="") as file:
        file.write("label;price;share;way;day\r\n")
        for label, price, share, way, day in found:
            cells = (
                label, "" if price is None else german(price), f"{german(share, 1)} %", f"{german(way)} km",
                "/".join(day),
            )  # fmt: skip
            file.write(";".join(cells) + "\r\n")
    with open(folder / "plain.csv", "w") as file:
        file.write("label,price,share,way,day\n")
        for label, price, share, way, day in found:
            cells = label, "" if price is None else f"{price:.2f}", f"{share:.1f}", f"{way:.2f}", "-".join(day[::-1])
            file.write(",".join(cells) + "\n")
    return folder


@pytest.fixture
def files(folder, tmp_path):
    for name in ("german.csv", "plain.csv"):
        shutil.copy(folder / name, tmp_path / name)
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
    predictions = [ok(call, "predict", files / f"{m}.cw", files / d, "-q", "--proba") for m, d in
                   (("g", "german.csv"), ("p", "plain.csv"))]  # fmt: skip
    assert predictions[0] == predictions[1]
    evaluations = [ok(call, "evaluate", files / f"{m}.cw", files / d, "-q", "--json") for m, d in
                   (("g", "german.csv"), ("p", "plain.csv"))]  # fmt: skip
    assert evaluations[0] == evaluations[1]
    compared = [json.loads(ok(call, "compare", files / d, "-q", "--json", "--rules", "arow", *o)) for d, o in
                (("german.csv", OPTIONS), ("plain.csv", []))]  # fmt: skip
    assert compared[0]["trials"][0]["error"] == compared[1]["trials"][0]["error"]


def test_caches_checkpoints_and_conversions_read_it_alike(call, files):
    expected = learned(call, files / "p.cw", files / "plain.csv")[1]
    ok(call, "cache", files / "german.csv", "-q", "-o", files / "g.cache", "--normalize", "none", "--zeros", *OPTIONS)
    assert learned(call, files / "c.cw", files / "g.cache", "--view", "standard")[1] == expected
    assert learned(call, files / "t.cw", files / "german.csv", "--cache", files / "own", *OPTIONS)[1] == expected
    code, _, err = call("train", files / "g.cache", "--rule=arow", "--decimal", ",")
    assert code == 2 and "a cache stores how its rows were read; omit --decimal" in err
    first = learned(call, files / "1.cw", files / "german.csv", "--decimal", ",", "--cache", files / "own")[1]
    assert first != expected  # the cache of other options is not used
    for name, options in (("german", OPTIONS), ("plain", [])):
        ok(call, "convert", files / f"{name}.csv", "-o", files / f"{name}.svm", *options)
    assert (files / "german.svm").read_bytes() == (files / "plain.svm").read_bytes()
    ok(call, "train", files / "german.csv", "--rule=arow", "-q", "-o", files / "i.cw", *OPTIONS)
    ok(call, "train", files / "german.csv", "-q", "-o", files / "i2.cw", "--init-model", files / "i.cw")
    ok(call, "train", files / "plain.csv", "--rule=arow", "-q", "-o", files / "j.cw")
    ok(call, "train", files / "plain.csv", "-q", "-o", files / "j2.cw", "--init-model", files / "j.cw")
    models = [[a.tobytes() for a in Model.load(str(files / f"{m}.cw")).arrays().values()] for m in ("i2", "j2")]
    assert models[0] == models[1]


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


def test_rows_without_a_label(call, files):
    text = (files / "plain.csv").read_text().splitlines()
    text[7] = text[7][text[7].index(",") :]
    (files / "gap.csv").write_text("\n".join(text) + "\n")
    code, _, err = call("train", files / "gap.csv", "--rule=arow", "-q")
    assert code == 2 and "gap.csv, line 8: the row has no label" in err and "--missing-label skip" in err
    del text[7]
    (files / "without.csv").write_text("\n".join(text) + "\n")
    source, model = learned(call, files / "m.cw", files / "gap.csv", "--missing-label", "skip")
    assert model == learned(call, files / "n.cw", files / "without.csv")[1] and source["missing_label"] == "skip"
    assert (
        json.loads(ok(call, "train", files / "gap.csv", "--rule=arow", "-q", "--json", "--missing-label", "skip"))[
            "skipped"
        ]
        == 1
    )
    code, _, err = call("evaluate", files / "n.cw", files / "gap.csv", "-q")
    assert code == 2 and "--missing-label skip" in err
    found = ok(call, "evaluate", files / "n.cw", files / "gap.csv", "-q", "--json", "--missing-label", "skip")
    assert found == ok(call, "evaluate", files / "n.cw", files / "without.csv", "-q", "--json")
    assert ok(call, "predict", files / "n.cw", files / "gap.csv", "-q").count("\n") == 400
