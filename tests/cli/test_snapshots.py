"""What every command says, whole: its text and its JSON, as files in snapshots/.

The clock stands still, so that seconds are 0. Numbers may differ in the digits that compilers and libraries change.
After a change of what is said: python -m tests.cli.test_snapshots, which leaves such digits as they are, and read the
difference.
"""

import contextlib
import difflib
import io
import json
import math
import re
import shutil
import tempfile
from pathlib import Path
from unittest import mock

import click
import pytest

from confidently.cli import COMMANDS, cli, run
from tests.cli.refusals import REFUSALS, write_more_files
from tests.command_line import rows

FOLDER = Path(__file__).with_name("snapshots")
CLOCKS = ("monotonic", "perf_counter", "process_time", "thread_time", "time")
NUMBER = re.compile(r"(?<![\w.])[-+]?[0-9][0-9,]*(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?")
SIZE = re.compile(r'[0-9,]+(?= bytes)|(?<=bytes": )[0-9]+')  # of files, which have the folder's name in them
DIGITS = 1e-4  # relative, and absolute below 1

TRAIN = [
    "train two.svm --rule arow -o m.cw", "train two.svm --rule arow --json",
    "train two.svm -q --rule pa --covariance full",
]  # fmt: skip
COMMAND_LINES = {
    "look": [
        "look table.csv --label bought", "look table.csv", "look table.csv --json", "look two.svm", "look words.txt",
        "look numbers.csv", "look numbers.csv --json", "look sets.svm",
    ],
    "train": [
        *TRAIN,
        "train two.svm -o stack.cw",
        "train numbers.csv",
        "train three.svm --multiclass one-vs-rest --rule cw_stdev --average -o three.cw",
        "train three.svm --rule logistic --calibration none -o soft.cw",
        "train sets.svm --rule arow --multilabel -o sets.cw",
        "train two.svm three.svm --rule arow --passes 3 --holdout 0.2 --early-stop --checkpoint-every 300",
        "train two.svm -q --rule arow --json --passes 3 --validation few.svm --early-stop --patience 2",
        "train bad.svm --rule arow --on-error skip --classes -1,1",
        "train bad.svm --rule arow --on-error skip --json -q",
        "train gaps.csv --rule arow --missing-label skip",
        "train two.svm -q --init-model m.cw",
        "train bad.svm",
        "train two.svm --resume -o m.cw",
        "train two.svm -q --rule cellip --gamma 5 --a 1",
        "train numbers.csv --covariance auto -o numbers.cw",
        "train numbers.csv --rule arow_eps --holdout 0.1 --json",
        *(f"train three.svm --no-shuffle --covariance {options}" for options in (
            "full", "full -q", "full --multiclass joint", "full --classes x,y,z", "full --multiclass one-vs-rest",
            "full --rule logistic --multiclass softmax", "full --rule logistic", "shared", "diag")),
        "train sets.svm --no-shuffle --covariance full", "train sets.svm --covariance full --multiclass joint",
        "train two.svm --no-shuffle --covariance full",
        *(f"train incomes.{kind} -q --view none --rule arow" for kind in ("csv", "svm")),
        "train --bandit decisions.jsonl -o shop.bandit",
        "train --bandit decisions.vw --policy square_cb --json",
        "train --bandit two.svm",
        "train --bandit shown.csv --on-error skip", "train --bandit shown.csv --on-error skip --json",
    ],
    "predict": [
        "predict m.cw few.svm --proba --margin --std --variance --ranking",
        "predict m.cw few.svm --output-format csv",
        "predict m.cw few.svm --json --proba --std",
        "predict three.cw few.svm --abstain 0.9 --proba",
        "predict three.cw few.svm --json --abstain 0.9 --ranking",
        "predict sets.cw few.svm --proba --ranking",
        "predict sets.cw few.svm --json --margin",
        "predict words.cw few.txt --json",
        "predict n3.cw few.svm --set 0.9 --max-risk 0.1",
        "predict sets.cw few.svm --json --set 0.9",
        "predict n.numbers.cw fewnumbers.csv --std --interval 0.9",
        "predict n.bandit visits.csv --actions news,sport", "predict odd.cw odd.csv --keep proba --proba",
        "predict odd.cw gaps.csv",
        "predict doubt.cw few.svm --max-risk 0.5", "predict doubt.cw few.svm --set 0.6 --json",
    ],
    "evaluate": [
        "evaluate m.cw two.svm", "evaluate m.cw two.svm --json", "evaluate three.cw three.svm",
        "evaluate sets.cw sets.svm", "evaluate sets.cw sets.svm --json", "evaluate many.cw many.svm",
        "evaluate three.cw two.svm", "evaluate m.cw two.svm --abstain 1",
        "evaluate n.cw two.svm --risk-coverage --abstain 0.5",
        "evaluate three.cw three.svm --risk-coverage --abstain 0.9 --json", "evaluate n.numbers.cw numbers.csv",
        "evaluate m.cw two.svm --set 0.9 --max-risk 0.01", "evaluate sets.cw sets.svm --set 0.9 --json",
        "evaluate n.numbers.cw numbers.csv --json",
        "evaluate n.bandit decisions.jsonl --policy greedy", "evaluate n.bandit decisions.jsonl --json",
        "evaluate n.bandit decisions.jsonl --by visitor",
        "evaluate odd.cw gaps.csv", "evaluate odd.cw gaps.csv --missing-label skip",
    ],
    "compare": [
        "compare two.svm -q --rules pa,arow,cw_stdev", "compare two.svm -q --rules pa,arow --json",
        "compare three.svm -q --rules pa1,arow --grid", "compare bad.svm -q --rules pa --on-error skip",
        "compare two.svm -q --auto --rules pa,arow", "compare incomes.csv -q --view none --rules pa,arow",
    ],
    "inspect": [
        "inspect m.cw", "inspect m.cw --json --top 2", "inspect three.cw --top 2 --class x", "inspect sets.cw --top 1",
        "inspect words.cw", "inspect words.cw --row 'a\tred green blue'", "inspect words.cw --json --row 'a\tred blue'",
        "inspect m.cw --row '1 3:1 4:2'", "inspect many.cw --top 1",
        "inspect n.numbers.cw", "inspect n.numbers.cw --json --top 1",
        'inspect n.numbers.cw --row \'{"a": 1, "b": 2, "c": 3}\'',
    ],
    "merge": ["merge m.cw n.cw -o all.cw", "merge m.cw n.cw --how mean -o all.cw --json", "merge {parts} -o all.cw",
              "merge n.numbers.cw n2.numbers.cw -o all.cw"],
    "cache": ["cache two.svm -o two.cache", "cache bad.svm --on-error skip -o bad.cache --json"],
    "convert": ["convert few.svm -o few.jsonl", "convert few.svm -o few.csv --json"],
    "sample": ["sample messages -o s.jsonl", "sample clicks --rows 1 --seed 2 -o s.csv --json"],
    "rules": ["rules", "rules arow", "rules cw_stdev --json", "rules ridge"],
    "topics train": [
        "topics train words.txt --topics 2 -o t.topics", "topics train words.txt --topics 2 --json --passes 2",
        "topics train words.txt --topics any --stream --classes a,b -q",
    ],
    "topics show": ["topics show t.topics --words 3", "topics show t.topics --json --words 2 --top 1"],
    "topics predict": ["topics predict t.topics few.txt --proba", "topics predict t.topics few.txt --json --no-topics"],
}  # fmt: skip
SNAPSHOTS = COMMAND_LINES | {f"refused {about}": lines for about, lines in REFUSALS.items()}
# Long, or not the same everywhere; they have their own tests.
ELSEWHERE = {"demo", "doctor", "completion", "serve"}


def make_files(folder):
    """Write the data and the models that the commands read."""
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        write_files()


def write_files():
    labels, two, three = ["a", "b", "a,b", "c"], rows(300).splitlines(), ("x", "y", "z")
    texts = {
        "two.svm": rows(1500, d=12),
        "three.svm": rows(700, three, d=12, seed=1),
        "few.svm": rows(6, d=14, seed=2),
        "bad.svm": rows(40, d=12) + "1 1:x\n" + rows(40, d=12) + "-1 0:1\n",
        "many.svm": rows(900, [f"c{k}" for k in range(40)], d=60),
        "sets.svm": "".join(f"{labels[k % 4]} {line.split(' ', 1)[1]}\n" for k, line in enumerate(two)),
        "words.txt": "a\tred green red\nb\tblue green sky\na\tred rose\nb\tblue sea\n" * 30,
        "few.txt": "a\tred rose\nb\tblue\n",
    }
    numbers = [f"{0.5 * (k % 7) - 0.1 * (k % 11) + 0.01 * (k % 13):.3f},{k % 7},{k % 11}\n" for k in range(1200)]
    texts |= {"numbers.csv": "label,a,b\n" + "".join(numbers), "fewnumbers.csv": "a,b\n1,2\n6,0\n"}
    towns, days = ("Delft", "Lund", ""), [f"2026-0{month}-{day}" for month in (1, 2) for day in range(10, 25)]
    table = [f"{'yes' if k % 3 else 'no'},{k % 40 or 'NA'},{towns[k % 3]},{days[k % 30]}\n" for k in range(60)]
    texts["table.csv"] = "bought,age,town,day\n" + "".join(table)
    shown = [f"2026-01-01,{k % 3},{k % 2},{int(k % 6 == 2)},{0.3333 if k % 30 else 3},u{k % 2}\n" for k in range(90)]
    texts["shown.csv"] = "timestamp,item_id,position,click,propensity_score,user_feature_0\n" + "".join(shown)
    incomes = [f"{'ab'[k % 7 > 2]},{k % 5},{k % 7},{50_000 + k * k % 997}\n" for k in range(1000)]
    texts["incomes.csv"] = "label,a,b,income\n" + "".join(incomes)
    numbered = (line[:-1].split(",") for line in incomes)
    texts["incomes.svm"] = "".join(f"{label} 1:{a} 2:{b} 7:{c}\n" for label, a, b, c in numbered)
    texts |= {"visits.csv": "visitor\nfan\nreader\n"} | decisions()
    for name, text in texts.items():
        Path(name).write_text(text)
    one = "train --rule arow"
    made = [f"{one} many.svm -o many.cw", f"{one} words.txt -o words.cw", f"{one} three.svm -o n3.cw"]
    made += ["train three.svm --rule pa1 -o doubt.cw"]
    made += [f"{one} two.svm -o m.cw", f"{one} few.svm -o n.cw", *(f"{one} few.svm -o part{k}.cw" for k in range(23))]
    made += ["train three.svm --multiclass one-vs-rest -o three.cw", f"{one} sets.svm --multilabel -o sets.cw"]
    made += [f"train numbers.csv --covariance auto -o {name}.numbers.cw" for name in ("n", "n2")]
    made += ["topics train words.txt --topics 2 -o t.topics", "train --bandit decisions.jsonl -o n.bandit"]
    for line in made:
        assert run([*line.split(), "-q"]) == 0
    write_more_files(run)


def decisions():
    """Logs of uniform choices among three pages, in both forms."""
    ids, log, text = ("news", "sport", "games"), [], []
    for k in range(300):
        visitor, chosen = ("reader", "fan")[k // 3 % 2], k % 3
        reward = int(chosen == (k // 3) % 2 and k % 5 > 0)
        one = {"context": {"visitor": visitor}, "actions": ids, "chosen": ids[chosen], "probability": 0.3333}
        log.append(json.dumps(one | {"reward": reward if k % 20 else None}))
        lines = [f"{f'0:{-reward}:0.3333 ' if i == chosen else ''}|page {id}" for i, id in enumerate(ids)]
        text.append("\n".join([f"shared |user {visitor}", *lines, ""]))
    return {"decisions.jsonl": "\n".join([*log, ""]), "decisions.vw": "\n".join([*text, ""])}


def said(line):
    """The command line, its exit code, its standard output and its standard error."""
    line = line.replace("{parts}", " ".join(f"part{k}.cw" for k in range(23)))
    parts = [quoted or part for quoted, part in re.findall(r"'([^']*)'|(\S+)", line)]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.ExitStack() as stack:
        for clock in CLOCKS:
            stack.enter_context(mock.patch(f"time.{clock}", lambda: 0.0))
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        code = run(parts)
    shown = [f"$ confidently {line} [{code}]", SIZE.sub("0", readable(out.getvalue()))]
    return "\n".join([*shown, *(f"! {line}" for line in err.getvalue().splitlines()), ""])


def readable(text):
    """Text as it is; JSON with a line per entry."""
    lines = []
    for line in text.splitlines():
        try:
            lines.append(json.dumps(json.loads(line), indent=1, ensure_ascii=False))
        except ValueError:
            lines.append(line.rstrip())
    return "\n".join(lines)


def file_of(name):
    return FOLDER / f"{name.replace(' ', '-')}.txt"


def snapshot(name, files, folder):
    """What the command lines say in a copy of the files, as none of them is to find what another command has left."""
    shutil.copytree(files, folder, dirs_exist_ok=True)
    with contextlib.chdir(folder):
        return "\n".join(said(line) for line in SNAPSHOTS[name])


def assert_alike(found, expected):
    """The same words, and numbers that differ in their last digits at most."""
    assert NUMBER.sub("0", found) == NUMBER.sub("0", expected)
    for got, wanted in zip(NUMBER.findall(found), NUMBER.findall(expected), strict=True):
        a, b = (float(text.replace(",", "")) for text in (got, wanted))
        assert math.isclose(a, b, rel_tol=DIGITS, abs_tol=DIGITS), f"{got} instead of {wanted}"


def is_alike(found, expected):
    try:
        assert_alike(found, expected)
    except AssertionError:
        return False
    return True


def with_kept_digits(found, kept):
    """What is said now; lines of before take the place of those that differ in last digits of numbers at most."""
    new, old = found.splitlines(keepends=True), kept.splitlines(keepends=True)
    words = ([NUMBER.sub("0", line) for line in lines] for lines in (old, new))
    for block in difflib.SequenceMatcher(None, *words, autojunk=False).get_matching_blocks():
        for k in range(block.size):
            if is_alike(new[block.b + k], old[block.a + k]):
                new[block.b + k] = old[block.a + k]
    return "".join(new)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("snapshots")
    make_files(folder)
    return folder


@pytest.mark.filterwarnings("always::confidently.data.DataWarning")
@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_command_says_what_it_said(files, tmp_path, name):
    assert_alike(snapshot(name, files, tmp_path), file_of(name).read_text(encoding="utf-8"))


@pytest.mark.filterwarnings("always::confidently.data.DataWarning")
@pytest.mark.parametrize("about", REFUSALS)
def test_what_is_refused_is_one_line_and_leaves_all_files_as_they_were(files, tmp_path, monkeypatch, about):
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for line in REFUSALS[about]:
        first, out, *err = said(line).splitlines()
        assert (first, out) == (f"$ confidently {line} [2]", ""), err
        assert [one.startswith("! confidently: error: ") for one in err] == [False] * (len(err) - 1) + [True], err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_every_command_has_a_snapshot_of_its_text_and_its_json():
    names = set()
    for name in COMMANDS:
        command = cli.get_command(None, name)
        below = command.list_commands(None) if isinstance(command, click.Group) else ()
        names |= {f"{name} {part}" for part in below} or {name}
    assert names - ELSEWHERE == set(COMMAND_LINES)
    for name, lines in COMMAND_LINES.items():
        assert {"--json" in line for line in lines} == {True, False}, name


def test_a_difference_is_found():
    assert_alike("error 0.25000 (1,000 rows)", "error 0.25001 (1,000 rows)")
    for other in ("error 0.26 (1,000 rows)", "error 0.25 (1,001 row)", "error 0.25 (1,010 rows)"):
        with pytest.raises(AssertionError):
            assert_alike("error 0.25 (1,000 rows)", other)


def test_a_snapshot_changes_where_what_is_said_does():
    """Last digits alone, as another processor writes them, change nothing."""
    kept = "error 0.25000001\nrows 1,000\nloss 0.5\n"
    assert with_kept_digits("error 0.25000002\nrows 1,000\nloss 0.50000001\n", kept) == kept
    found = with_kept_digits("a line before\nerror 0.25000002\nrows 1,001\nloss 0.51\n", kept)
    assert found == "a line before\nerror 0.25000001\nrows 1,001\nloss 0.51\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as files:
        make_files(files)
        for name in SNAPSHOTS:
            with tempfile.TemporaryDirectory() as folder:
                found, file = snapshot(name, files, folder), file_of(name)
                kept = file.read_text(encoding="utf-8") if file.exists() else ""
                file.write_text(with_kept_digits(found, kept), encoding="utf-8")
