"""What ``confidently train`` trains without options of a learner, and what asks for a single one."""

import json

import click
import numpy as np
import pytest

from confidently.cli import cli
from confidently.cli.options.learner import AUTO_KEEPS
from confidently.data import open_stream
from tests.command_line import rows

NOTE = "several learners are trained and mixed (--auto); --rule {} trains a single one, which is faster\n"
TRAIN = cli.get_command(click.Context(cli), "train")
VALUES = {
    "--rule": "pa", "--rule-param": "r=1", "--covariance": "full", "--projection": "moments", "--rank": "8",
    "--multiclass": "one-vs-rest", "--view": "ranks", "--pairs": "age,income", "--calibration": "none",
}  # fmt: skip
SINGLE = [
    max(option.opts, key=len)
    for option in TRAIN.params
    if getattr(option, "section", None) in ("Rule", "Learner") and option.name not in AUTO_KEEPS
]


def with_value(name):
    (option,) = (option for option in TRAIN.params if name in option.opts)
    if option.is_flag:
        return [name]
    parameter_of = {"--r": "arow", "--C": "pa1"}
    rule = ["--rule", parameter_of[name]] if name in parameter_of else []
    return [*rule, name, VALUES.get(name, "0.5")]


def write_texts(path):
    lines = [f"{'ab'[k % 2]}\t{' '.join(f'w{(k * j) % 7 + 5 * (k % 2)}' for j in range(5))}\n" for k in range(200)]
    path.write_text("".join(lines))


def write_label_sets(path):
    labels, lines = ["1", "2", "1,2", "3"], rows(300).splitlines()
    path.write_text("".join(f"{labels[k % 4]} {line.split(' ', 1)[1]}\n" for k, line in enumerate(lines)))


def write_numbers(path):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 3)).round(3)
    path.write_text("label,a,b,c\n" + "".join(f"{x[0] - x[1] * x[2]:.4f},{x[0]},{x[1]},{x[2]}\n" for x in X))


@pytest.mark.long("two stacks of each kind of rows")
@pytest.mark.parametrize(("name", "write", "rule"), [
    ("rows.svm", lambda path: path.write_text(rows()), "arow"), ("texts.txt", write_texts, "arow"),
    ("sets.svm", write_label_sets, "arow"), ("numbers.csv", write_numbers, "ridge"),
])  # fmt: skip
def test_several_learners_are_the_default(call, tmp_path, name, write, rule):
    write(tmp_path / name)
    models = [tmp_path / "default.cw", tmp_path / "auto.cw"]
    code, out, err = call("train", tmp_path / name, "-o", models[0])
    assert code == 0 and " members, " in out and NOTE.format(rule) in err
    code, _, err = call("train", tmp_path / name, "--auto", "-o", models[1])
    assert code == 0 and "--rule" not in err
    assert models[0].read_bytes() == models[1].read_bytes()
    code, out, err = call("train", tmp_path / name, "--rule", rule)
    assert code == 0 and f"learner    {rule}(" in out and "--auto" not in err


def test_json_lines_say_so(ok, table):
    first, *_, result = map(json.loads, ok("train", table, "--json").splitlines())
    assert first == {"event": "learner", "auto": True} and "members" in result
    first, *_, result = map(json.loads, ok("train", table, "--rule", "arow", "--json").splitlines())
    assert first["event"] == "view" and result["rule"]["name"] == "arow"


@pytest.mark.long("a training for each option")
@pytest.mark.parametrize("name", SINGLE)
def test_each_option_of_a_single_learner_asks_for_one_and_does_not_go_with_auto(call, table, name):
    arguments = ["train", table, *with_value(name)]
    code, out, err = call(*arguments, "--auto")
    assert code == 2 and "--auto chooses its learners; omit" in err and name in err
    code, out, err = call(*arguments)
    assert code or " members, " not in out
    assert "several learners" not in err
    assert code == 0 or "unknown parameter" in err or "for --regression" in err  # of another rule or task


@pytest.mark.long("four stacks of 1,500 rows")
@pytest.mark.parametrize("options", [[], ["--classes", "no,yes"], ["--dtype", "float32"], ["--classification"]])
def test_other_options_go_with_several_learners(ok, table, options):
    assert " members, " in ok("train", table, "-q", *options)


@pytest.mark.long("twelve trainings")
@pytest.mark.parametrize(("suffix", "options", "view"), [
    ("txt", (), "unit"), ("csv", ("--label", "label"), "standard"), ("svm", (), None),
])  # fmt: skip
def test_a_cache_trains_the_same_several_learners_and_the_same_single_one(ok, tmp_path, table, suffix, options, view):
    path, cache = tmp_path / f"data.{suffix}", tmp_path / "rows.cache"
    if suffix == "txt":
        write_texts(path)
    else:
        path.write_text(rows() if suffix == "svm" else table.read_text())
    ok("cache", path, *options, "-q", "-o", cache)
    sources = ((path, *options), (cache,))
    for learner in ([], ["--rule", "arow"]):
        found = [json.loads(ok("train", *data, *learner, "-q", "--json")) for data in sources]
        for same in ("mistakes", "log_loss", "features", "members"):
            assert found[0].get(same) == found[1].get(same)
    assert [one["name"] for one in found[1]["view"]] == ([view] if view else [])
    of_file, of_cache = (json.loads(ok("compare", *data, "--rules", "arow,pa", "-q", "--json")) for data in sources)
    for trial, other in zip(of_file["trials"], of_cache["trials"], strict=True):
        assert [trial[key] for key in ("rule", "mistakes")] == [other[key] for key in ("rule", "mistakes")]


def test_a_cache_of_rows_that_lack_zeros_needs_a_single_learner(call, ok, tmp_path):
    path, cache = tmp_path / "towns.csv", tmp_path / "rows.cache"
    path.write_text("label,town\n" + "a,Rome\nb,Oslo\na,Bonn\n" * 50)
    ok("train", path, "--rule", "arow", "--cache", cache, "-q")
    with open_stream(cache) as stream:
        assert not stream.reading.zeros
    code, _, err = call("train", cache)
    assert code == 2 and "several learners (--auto) need rows as they are" in err and "--rule arow" in err
    assert "covariance diag, binary" in ok("train", cache, "--rule", "arow", "-q")
