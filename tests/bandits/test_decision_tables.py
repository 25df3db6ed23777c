"""Logs of decisions as tables: the columns of the Open Bandit Dataset and others, and what is invalid."""

import json
import warnings

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet
import pytest

from confidently.bandits import flat, in_slot, read_decisions
from confidently.data import DataError, DataWarning

OPEN_BANDIT = """\
,timestamp,item_id,position,click,propensity_score,user_feature_0,user_feature_1,user-item_affinity_0
0,2019-11-24 00:00:00.001747+00:00,14,1,0,0.0125,81ce,03a5,0.0
1,2019-11-24 00:00:00.5+00:00,3,3,1,0.025,4ae3,03a5,1.5
2,2019-11-24 00:00:01.5+00:00,5,2,,0.25,81ce,,
"""
REQUESTS = [  # what a server would get
    ({"user_feature_0": "81ce", "user_feature_1": "03a5", "user-item_affinity_0": 0.0}, "1"),
    ({"user_feature_0": "4ae3", "user_feature_1": "03a5", "user-item_affinity_0": 1.5}, "3"),
    ({"user_feature_0": "81ce"}, "2"),
]


HEADER = "chosen,probability,reward,x\n"


def expected_contexts():
    found = [in_slot(context, {"position": position}) for context, position in REQUESTS]
    return [{name: value for name, value in one.items() if value} for one in found]


def converted(folder, name):
    """The log in another format."""
    path = folder / name
    if name.endswith(".csv"):
        path.write_text(OPEN_BANDIT)
    elif name.endswith(".tsv"):
        path.write_text(OPEN_BANDIT.replace(",", "\t"))
    else:
        parquet.write_table(arrow_csv.read_csv(pa.BufferReader(OPEN_BANDIT.encode())), path)
    return path


@pytest.mark.parametrize("name", ["log.csv", "log.tsv", "log.parquet"])
def test_the_columns_of_the_open_bandit_dataset(tmp_path, name):
    with warnings.catch_warnings(action="error"):
        found = list(read_decisions(converted(tmp_path, name)))
    assert [flat(one.context) for one in found] == expected_contexts()
    assert [one.id for one in found[0].actions] == ["3", "5", "14"]
    assert [(one.chosen, one.probability, one.reward) for one in found] == [
        (2, 0.0125, 0), (0, 0.025, 1), (1, 0.25, None)
    ]  # fmt: skip
    place = "row 1" if name.endswith("parquet") else "line 2"
    assert found[0].place == f"{tmp_path / name}, {place}"


def test_columns_may_have_other_names_and_actions_may_be_named(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("page;shown with;income;day;w\nnews;0,5;2;2024-01-31;2\nsport;0,25;;2024-02-01;1\n")
    options = {"chosen": "page", "probability": "shown with", "reward": "income", "weight": "w", "decimal": ","}
    with pytest.warns(DataWarning, match="dates and times"):
        first, second = read_decisions(path, actions=["sport", "news", "games"], **options)
    assert (first.chosen, first.probability, first.reward, first.weight) == (1, 0.5, 2, 2)
    assert (second.chosen, second.probability, second.reward) == (0, 0.25, None)
    assert set(first.context) == {"day.time", "day.weekday"}
    one, _ = read_decisions(path, actions=["sport", "news"], drop=["day"], **options)
    assert one.context == {}


def test_the_actions_are_those_of_all_tables(tmp_path):
    for name, chosen in (("a.csv", "b"), ("b.csv", "a")):
        (tmp_path / name).write_text(f"chosen,probability,reward,x\n{chosen},0.5,1,2\n{chosen},0.5,0,3\n")
    found = list(read_decisions([tmp_path / "a.csv", tmp_path / "b.csv"]))
    assert [[action.id for action in one.actions] for one in found] == [["a", "b"]] * 4
    assert [one.chosen for one in found] == [1, 1, 0, 0]


def test_a_column_of_too_many_actions_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("confidently.bandits.decision_tables.MAX_ACTIONS", 3)
    path = tmp_path / "log.csv"
    path.write_text(HEADER + "".join(f"{k},0.5,1,2\n" for k in range(4)))
    with pytest.raises(DataError, match=r"log\.csv: more than 3 actions in column 'chosen'; use --chosen for another"):
        list(read_decisions(path))


def test_contexts_need_no_label(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("x,city\n2,rome\n3,oslo\n")
    found = list(read_decisions(path, actions=["a", "b"], labeled=False))
    assert [one.context for one in found] == [{"x": 2, "city=rome": 1}, {"x": 3, "city=oslo": 1}]
    with pytest.raises(
        DataError, match=r"no column with the chosen action, expected one of chosen, action, .*--actions"
    ):
        list(read_decisions(path, labeled=False))


@pytest.mark.parametrize(("text", "message"), [
    ("a,,1,2\n", "line 2: not a decision: it lacks a probability"),
    ("a,0.5,1,2\na,2,1,2\n", r"line 3: not a decision: probability must be in \(0, 1\], got 2.0"),
    ("a,0.5,1,2\na,half,1,2\n", "line 3: not a decision: expected a number, got 'half'"),
    ("a,0.5,1,2\na,0.5,yes,2\n", "line 3: not a decision: expected a number, got 'yes'"),
    ("c,0.5,1,2\n", "line 2: not a decision: chosen 'c' is not among the actions"),
    (",0.5,1,2\n", "line 2: not a decision: chosen '' is not among the actions"),
    ("a,0.5,1,2\na,0.5,1\n", "line 3"), ("a,n.d.,1,2\n", "line 2: not a decision: it lacks a probability"),
])  # fmt: skip
def test_invalid_rows(tmp_path, text, message):
    path = tmp_path / "log.csv"
    path.write_text(HEADER + text + "b,0.25,0,7\n")
    with pytest.raises(DataError, match=rf"log\.csv, {message}"):
        list(read_decisions(path, actions=["a", "b"], missing=["n.d."]))
    log = read_decisions(path, actions=["a", "b"], on_error="skip", missing=["n.d."])
    assert [one.context for one in log] == [{"x": 2}] * text.count("a,0.5,1,2") + [{"x": 7}] and log.skipped == 1
    assert len(log.skipped_examples) == 1


@pytest.mark.parametrize(("options", "message"), [
    ({"chosen": "chose"}, r"no column 'chose' \(--chosen\) \(did you mean 'chosen'\?\); there are 'chosen', "),
    ({"slot": "place"}, r"no column 'place' \(--slot\)"),
    ({"chosen": "probability"}, "no column with its probability, expected one of .*; use --probability COLUMN"),
    ({"format": "jsonl", "chosen": "x"}, "--chosen is for tables"), ({"format": "vw", "drop": ["x"]}, "--drop is for"),
])  # fmt: skip
def test_columns_that_are_not_there(tmp_path, options, message):
    path = tmp_path / "log.csv"
    path.write_text(HEADER + "a,0.5,1,2\n")
    with pytest.raises(DataError, match=message):
        list(read_decisions(path, **options))


def test_a_table_without_a_suffix_and_an_odd_one(tmp_path):
    for name in ("log.csv", "log.parquet"):
        path = converted(tmp_path, name)
        assert len(list(read_decisions(path.rename(tmp_path / "log")))) == 3
    with pytest.raises(DataError, match="is empty"):
        (tmp_path / "log.txt").write_text("")
        list(read_decisions(tmp_path / "log.txt"))


def test_invalid_arguments(tmp_path):
    for options, message in (
        ({"actions": 0}, "actions: expected a number from 1 to 100,000, got 0"),
        ({"actions": ["a", "a"]}, "'a' is there twice"),
        ({"on_error": "no"}, "on_error must be"), ({"format": "svmlight"}, "format: expected one of jsonl, vw, csv"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            read_decisions(tmp_path / "log", **options)


def nested(n):
    return '{"a":' * n + "1" + "}" * n


@pytest.mark.parametrize(("line", "message"), [
    ('{"actions": "ab", "chosen": "a", "probability": 1, "reward": 1}', "actions: expected a list, got 'ab'"),
    ('{"actions": 3, "chosen": "a", "probability": 1, "reward": 1}', "actions: expected a list, got 3"),
    ('{"actions": {"a": 1}, "chosen": "a", "probability": 1, "reward": 1}', "actions: expected a list, got "),
    ('{"actions": [null, []], "chosen": "None", "probability": 1, "reward": 1}', "actions: expected ids"),
    (nested(3000), "nested too deeply"), (f'{{"c": {{"u": {nested(3000)}, "_multi": [{{}}]}}}}', "nested too deeply"),
    ('{"c": 3, "a": [1], "p": [1]}', "not a decision"), ('{"c": {"_multi": 3}}', "_multi: expected a list"),
])  # fmt: skip
def test_invalid_lines_of_json_cost_one_line(tmp_path, line, message):
    sound = json.dumps({"actions": ["a", "b"], "chosen": "a", "probability": 0.5, "reward": 1})
    path = tmp_path / "log.jsonl"
    path.write_text(f"{sound}\n{line}\n{sound}\n")
    with pytest.raises(DataError, match=rf"log\.jsonl, line 2: .*({message})"):
        list(read_decisions(path))
    log = read_decisions(path, on_error="skip")
    assert [one.reward for one in log] == [1, 1] and log.skipped == 1


@pytest.mark.parametrize("n", range(200, 1000, 50))
def test_levels_that_json_has_and_features_may_not(tmp_path, n):
    path, deep = tmp_path / "log.jsonl", nested(n)
    path.write_text(
        f'{{"actions": ["a"], "chosen": "a", "probability": 1, "reward": 1, "context": {deep}}}\n'
        f'{{"c": {{"u": {deep}, "_multi": [{{}}]}}, "a": [1], "p": [1]}}\n'
        f'{{"_labelIndex": 0, "_label": "1:1:1", "_multi": [{deep}]}}\n'
    )
    log = read_decisions(path, on_error="skip")
    assert len(list(log)) + log.skipped == 3
    assert all("nested too deeply" in one for one in log.skipped_examples)
