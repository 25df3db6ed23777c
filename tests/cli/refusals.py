"""Command lines that are refused, by what they are about; the snapshots ``refused-*.txt`` have what is said of them.

Data and models are those of :mod:`tests.cli.test_snapshots` and of :func:`write_more_files`.
"""

import gzip
from pathlib import Path

from tests.command_line import rows

REFUSALS = {
    "usage": [
        "train", "nonsense", "trian two.svm", "topics shows", "train ''",
        "train missing.svm --rule=arow", "train folder --rule=arow", "train empty.svm --rule=arow",
        "train wrong.svm --rule=arow", "train truncated.svm --rule=arow", "train two.svm rows.vw --rule=arow",
        "train two.svm --rule=arow -o two.svm", "train two.svm --rule=arow -o folder",
        "train two.svm --rule=arow -o ''",
        "train two.svm --rule=arow -o no/m.cw", "train two.svm --rule=arow -o /dev/null", "demo --out d --seed -1",
        "compare two.svm --rules arow,none", "compare numbers.csv --rules arow,ridge", "rules nonsense",
        "compare two.svm --covariance shared --multiclass one-vs-rest --classes=-1,+1,2", "compare one.svm --rules pa",
        "look two.cache", "look -", "look table.csv --label buoght", "look empty.svm",
        "look two.svm --encoder wordllama",
        "convert two.svm", "convert two.svm -o two.svm", "convert two.svm -o x.bin", "convert two.svm -o x.txt",
        "convert - -o x.csv", "convert wrong.svm -o x.vw", "convert two.svm -o x.vw --to xml",
        "cache two.svm -o two.svm", "sample nothing -o x.jsonl",
    ],
    "training": [
        "train two.svm --rule=arow --passes 0", "train two.svm --rule=arow --passes 9223372036854775808",
        "train two.svm --rule nonsense", "train two.svm --eta 0.9", "train two.svm --rule cw_var --eta 0.5",
        "train two.svm --rule cw_var --eta 0.9 --phi 1", "train two.svm --r nan", "train two.svm --rule-param r",
        "train two.svm --r 1 --rule-param r=2", "train two.svm --rule-param c=1 --rule-param c=2",
        "train two.svm --rule-param c=x", "train two.svm --rule pa1 --c 0.5", "train two.svm --prior-variance 0",
        "train two.svm --covariance shared --multiclass one-vs-rest", "train two.svm --rule=arow --multiclass softmax",
        "train two.svm --rule=arow --classes a", "train two.svm --rule=arow --classes a,a",
        "train two.svm --rule=arow --classes 1,+1", "train three.svm --rule=arow --classes x,y",
        "train two.svm --rule=arow --dtype float16", "train one.svm --rule=arow -q", "train unlabelled.csv -q",
        "train unlabelled.csv --multilabel -q", "train two.svm --rule=arow --checkpoint-every 5",
        "train two.svm --rule=arow --resume", "train two.svm --rule=arow --holdout 0.1 --validation few.svm",
        "train two.svm --rule=arow --holdout 1", "train two.svm --rule=arow --holdout x",
        "train two.svm --rule=arow --validation -", "train two.svm --rule=arow --early-stop --passes 3",
        "train two.svm --rule=arow --early-stop --holdout 0.1", "train two.svm --rule=arow --patience 2",
        "train two.svm --rule=arow -q --validation three.svm", "train two.svm --rule=arow --on-error limit=x",
        "train two.svm --rule=arow -o k.cw --resume",
        "train two.svm --auto --rule pa", "train two.svm --auto --view standard --r 0.5",
        "train two.svm --policy greedy",
        "train numbers.csv --auto --regression --prior-variance 2", "train m.cw two.svm",
        *(f"train two.svm --rule=arow {options}" for options in (
            "--shuffle-partitions", "--shuffle --shuffle-buffer 1", "--no-shuffle --seed 5",
            "--no-shuffle --shuffle-buffer 5", "--shuffle --seed 1 --workers 2")),
        "compare two.svm --seed 3",
    ],
    "reading": [
        "train two.svm --rule=arow --bits 10", "train rows.vw --rule=arow --bits 10 --vocabulary",
        "train rows.vw --rule=arow --bits 31", "train rows.vw --rule=arow --zero-based",
        "train rows.vw --rule=arow --label y",
        "train table.csv --rule=arow --label bought --drop bought", "train table.csv --rule=arow --ngrams 2",
        "train rows.vw --rule=arow --counts binary", "train words.txt --rule=arow --ngrams a",
        "train words.txt --rule=arow --ngrams 3-1", "train table.csv --label bought --rule=arow --thousands .",
        "train table.csv --label bought --rule=arow --delimiter x",
        "train table.csv --label bought --rule=arow --units ages",
        "train table.csv --label bought --rule=arow --date-format %d",
        "train table.csv --label bought --rule=arow --units age --category age",
        "train table.csv --label bought --coverage-by Town", "train two.svm --coverage-by 3",
        "train table.csv --label bought --rule=arow --coverage-by town --calibration none",
        "train words.txt --encoder foo", "train words.txt --encoder wordllama --ngrams 2",
        "train words.txt --encoder wordllama --drop x", "train words.txt --encoder wordllama --normalize l2",
        "train two.svm --encoder wordllama", "train two.cache --rule=arow --decimal ,",
        "train two.svm --rule=arow --keep 1", "train words.txt --rule=arow --ignore a",
        "cache two.svm", "cache two.cache --zero-based -o x.cache", "train two.cache --rule=arow --format svmlight",
        "train two.svm --rule=arow --cache m.cw", "train two.svm --rule=arow --cache two.svm",
        "train classes.csv --schema people.json", "train strangers.csv --schema people.json",
        "train people.csv --schema wrong.json", "train two.svm --schema people.json", "look two.svm --save x.json",
        *(f"train table.csv --label bought --rule=arow {options}" for options in (
            "--keep age --ignore age", "--keep z", '--drop "age', '--drop "a"ge,town', '--drop town,"age')),
    ],
    "continuing": [
        "train two.svm --init-model m.cw --rule pa --zero-based", "train two.svm --init-model missing.cw",
        "train two.svm --init-model m.cw --normalize l2", "train classes.csv --init-model n.numbers.cw",
        "train two.svm --init-model several.numbers.cw", "train two.svm --init-model t.topics",
        "train words.txt --init-model m.cw", "merge m.cw m.cw -o x.cw", "merge m.cw missing.cw -o x.cw",
        "merge m.cw two.svm -o x.cw", "merge m.cw r1.cw -o x.cw", "merge m.cw n.cw --base r1.cw -o x.cw",
        "merge m.cw words.cw -o x.cw", "merge m.cw n.cw --how sum -o x.cw", "merge m.cw n.cw -o m.cw",
        "merge n.numbers.cw m.cw -o x.cw", "merge m.cw n.numbers.cw -o x.cw",
        "merge m.cw three.cw -o x.cw",
    ],
    "predicting": [
        "predict two.svm two.svm", "predict m.cw two.svm --strict", "predict two.svm m.cw", "evaluate two.svm m.cw",
        "predict m.cw wrong.svm", "evaluate m.cw sets.svm", "predict m.cw few.svm --abstain nan",
        "predict m.cw few.svm --abstain 1.5", "predict m.cw few.svm --output-format parquet",
        "predict m.cw few.svm --output-format csv --json", "predict m.cw few.svm --output-format xml",
        "predict m.cw few.svm -o few.svm", "predict m.cw few.svm -o m.cw", "predict m.cw few.svm --keep class",
        "predict m.cw few.svm --keep a,a", "predict m.cw few.svm --keep a --proba",
        *(f"predict odd.cw odd.csv --proba --std --keep {name}{form}" for form in ("", " --json")
          for name in ("class", "proba:a", "std", "x --keep x", "x,,proba")),
        "predict odd.cw odd.csv --keep proba --proba --json",
        "predict n.numbers.cw two.svm --format svmlight", "predict m.cw two.svm --encoding latin-77",
        "inspect latin.cw --row '|a €'",
        "predict sets.cw few.svm --abstain 0.9",
        "evaluate sets.cw sets.svm --abstain 0.9", "evaluate sets.cw sets.svm --risk-coverage",
        "evaluate m.cw two.svm --plot x.png", "predict m.cw few.svm --max-risk 0.1 --abstain 0.9",
        *(f"{command} m.cw two.svm {option} {value}" for command in ("predict", "evaluate")
          for option in ("--set", "--max-risk") for value in ("0", "1", "90", "nan")),
        *(f"{command} {rest}" for command in ("predict", "evaluate") for rest in (
            "sets.cw sets.svm --max-risk 0.1", "three.cw three.svm --set-together", "uncalibrated.cw two.svm --set 0.9",
            "uncalibrated.cw two.svm --max-risk 0.1", "n.numbers.cw numbers.csv --set 0.9",
            "t.topics words.txt --set 0.9")),
        "predict uncalibrated.cw two.svm --novelty", "evaluate n.numbers.cw numbers.csv --by nothing",
        "predict n.numbers.cw numbers.csv --proba --top 2", "predict m.cw two.svm --interval 0.9",
        "predict n.numbers.cw numbers.csv --interval 1", "predict n.numbers.cw numbers.csv --std --keep std",
        "evaluate n.numbers.cw numbers.csv --abstain 0.9", "evaluate n.numbers.cw classes.csv",
        "evaluate several.numbers.cw numbers.csv", "inspect several.numbers.cw --row '1:1'",
        "inspect n.bandit --row x", "predict n.bandit decisions.jsonl --proba",
        "evaluate n.bandit decisions.jsonl --abstain 0.9",
        "inspect several.numbers.cw --class 3", "inspect n.numbers.cw --class x", "inspect m.cw --class x",
        "inspect words.cw --row", "inspect n.numbers.cw --row numbers.csv", "inspect n.numbers.cw --row 1,2",
        "topics show n.numbers.cw", "topics show m.cw", "topics predict m.cw two.svm", "inspect t.topics",
        "topics show t.topics --class x", "topics predict labels.topics sets.svm --max-risk 0.1",
        "topics predict t.topics few.txt --set-together", "topics predict uncalibrated.topics few.txt --set 0.9",
    ],
    "numbers": [
        "train numbers.csv --regression --rule arow", "train numbers.csv --classification --rule ridge",
        "train numbers.csv --regression --auto --average", "train numbers.csv --regression --multilabel",
        "train numbers.csv --classification --covariance auto", "train numbers.csv --regression --forget 1",
        "train numbers.csv --classification", "train numbers.csv --rule arow", "train numbers.csv --classes 1,2",
        *(f"train numbers.csv --regression --bounds={bounds}" for bounds in ("1,0", "0", "a,b", "0,1,2", "0,0.5")),
        "train numbers.csv --auto --regression --classes a,b", "train classes.csv --regression",
    ],
    "clusters": [
        "train two.svm --rule=arow --partitions 2 --rounds 3",
        "train two.svm --rule=arow --workers 2 --scheduler tcp://x:1",
        "train two.svm --rule=arow --workers 2 --cache c", "train two.svm --rule=arow --workers 2 --holdout 0.1",
        "train two.svm --rule=arow --workers 0", "train - --rule=arow --workers 2",
        "train numbers.csv --regression --workers 2 --covariance kernel",
        "train numbers.csv --regression --workers 2 --forget 0.1",
        "train table.csv --label bought --coverage-by town --workers 2",
    ],
    "topics": [
        "topics train one.svm", "topics train unread.svm --on-error skip", "topics train wordless.svm",
        "topics train negative.svm", "topics train two.svm --topics none", "topics train two.svm --stream",
        "topics train three.svm --classes x,y -q", "topics train two.svm --stop-words english",
        "topics train two.svm --stop-words nowhere", "topics train two.svm --step-size 0",
        "topics train two.svm --c 1e31",
        "topics train two.svm --c inf", "topics train two.svm --topics 99999999999",

        "topics train unread.svm --stream --classes 1,2 --on-error skip -q", "topics train scaled.cache -q",
        "topics train two.svm --resume", "topics train two.svm --checkpoint-every 5",
        "topics train words.txt --init-model t.topics --topics 9",
        "topics train words.txt --init-model t.topics --label y",
        "topics train words.txt --init-model words.cw", "topics train other.txt --init-model t.topics -q",
    ],
    "keys and decisions": [
        "train people.csv --label bought --max-age 5", "train people.csv --label bought --key town --encoder wordllama",
        "train people.csv --label bought --key town --passes 2", "train people.csv --label bought --key bought",
        "train people.csv --label bought --key twon", "train people.csv --key town --init-model town.keys --rule arow",
        "train people.csv --key day --init-model town.keys", "predict town.keys people.csv --margin",
        "evaluate town.keys people.csv --set 0.9", "inspect town.keys --key Lundd", "inspect town.keys --row '{}'",
        "train --bandit decisions.jsonl --rule arow", "train --bandit decisions.jsonl --policy x",
        "train --bandit empty",
        "train --bandit waiting", "train --bandit decisions.jsonl --reward-range 1 1",
        "train --bandit decisions.jsonl --reward-range 0 .5", "train --bandit decisions.jsonl --min-propensity .5",
        "train --bandit decisions.jsonl --init-model n.bandit --own", "evaluate n.bandit decisions.jsonl --by visitor",
        "evaluate n.bandit broken", "evaluate m.cw two.svm --policy greedy", "train --bandit costs.vw",
        "train --bandit costs.vw --cb 2", "train --bandit costs.vw --cb 0", "train --bandit shown.csv --chosen itme",
        "train --bandit shown.csv --on-error limit=0", "train two.svm --cb 2", "predict m.cw few.svm --on-error skip",
        "predict n.bandit decisions.jsonl --drop x", "train --bandit decisions.jsonl --slot x",
        "merge n.bandit n2.bandit -o x.bandit --how mean", "merge town.keys n.bandit -o x.keys",
    ],
}  # fmt: skip


def write_more_files(run):
    """Write what only refused commands read."""
    Path("folder").mkdir()
    texts = {
        "wrong.svm": "1 1:1\n1   2:x\n", "empty.svm": "", "one.svm": "1 1:1\n1 2:1\n", "rows.vw": "1 |a b\n-1 |a c\n",
        "unlabelled.csv": "label,x\n,1\n,2\n", "classes.csv": "label,a,b\nx,1,2\nz,2,3\n", "unread.svm": "1 a:b\n",
        "wordless.svm": "1\n2\n", "negative.svm": "+1 1:2\n-1 1:-3\n", "other.txt": "c\tred rose\n", "empty": "\n",
        "people.csv": "bought,age,town,day\n" + "yes,3,Lund,a\nno,4,Delft,b\n" * 20, "broken": '{"actions": ["a"]}\n',
        "strangers.csv": "bought,age,town,day\n" + "yes,old,Lund,a\n" * 20,
        "wrong.json": '{"columns": [{"name": "x", "role": "target", "kind": "number"}]}',
        "odd.csv": "label,class,proba:a,std,proba,x\n" + "a,1,2,3,4,5\nb,2,3,4,5,6\n" * 5,
        "gaps.csv": "label,class,proba:a,std,proba,x\n" + "a,1,2,3,4,5\n,9,9,9,9,9\nb,2,3,4,5,6\n" * 3,
        "costs.vw": "1:1:0.5 | a\n2:-2:0.5 | b\n",
        "waiting": '{"actions": ["a"], "chosen": "a", "probability": 1}\n',
    }  # fmt: skip
    for name, text in texts.items():
        Path(name).write_text(text)
    Path("truncated.svm").write_bytes(gzip.compress(rows(1000).encode(), mtime=0)[:-20])
    for line in (
        "train two.svm --rule arow --r 1 -o r1.cw", "train two.svm --rule arow --calibration none -o uncalibrated.cw",
        "cache two.svm -o two.cache", "cache two.svm --normalize l2 -o scaled.cache",
        "topics train sets.svm --topics 2 -o labels.topics", "train people.csv --label bought --key town -o town.keys",
        "topics train words.txt --topics 2 --calibration none -o uncalibrated.topics",
        "train --bandit decisions.jsonl -o n2.bandit", "look people.csv --label bought --save people.json",
        "train odd.csv --rule=arow -o odd.cw", "train rows.vw --rule=arow --encoding latin-1 -o latin.cw",
        "train two.svm --rule=arow -o k.cw.checkpoint",
    ):  # fmt: skip
        assert run([*line.split(), *([] if line.startswith("look") else ["-q"])]) == 0, line
    several_numbers()


def several_numbers():
    import numpy as np

    from confidently import OnlineRegressor

    X = np.arange(60.0).reshape(20, 3) % 7
    OnlineRegressor().fit(X, X @ [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]).save("several.numbers.cw")
