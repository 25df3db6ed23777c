"""Whatever a file or a request holds, a reader of it gives the right result or one error that says what is wrong."""

import bz2
import gzip
import io
import json
import lzma
import warnings
import zipfile
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

from confidently import ModelFileError, OnlineClassifier, load
from confidently.bandits import (
    Action,
    ContextualBandit,
    DecisionModel,
    read_cb_adf,
    read_decisions,
    read_log,
    write_log,
)
from confidently.data import DataError
from confidently.entities import EntityModels
from tests.command_line import here, rows
from tests.serve.conftest import local  # noqa: F401 (a fixture)
from tests.stopping import Stop, stopping_after

X, Y = np.random.default_rng(0).normal(size=(40, 3)).round(3), np.arange(40) % 2
LINES = [{"id": k, "a": float(X[k, 0]), "t": f"word{k % 3}", "label": f"c{k % 2}"} for k in range(40)]
DSJSON = {
    "EventId": "e",
    "_label_cost": -1,
    "_label_probability": 0.5,
    "_labelIndex": 0,
    "a": [1, 2],
    "p": [0.5, 0.5],
    "c": {"u": {"x": 1}, "_multi": [{"f": 1}, {"f": 2}]},
}
VW_JSON = '{"_labelIndex":1,"_label":"2:0:0.5","g":{"a":1},"_multi":[{"f":"x"},{"_text":"b c"}]}\n'
CB_JSON = '{"_label_Action":2,"_label_Cost":0,"_label_Probability":0.5,"g":{"a":1,"b":"x"}}\n'
DECISIONS = [
    {"chosen": "ab"[k % 2], "probability": 0.5, "reward": k % 3 / 2, "position": k % 3, **LINES[k]} for k in range(40)
]
CB_ADF = "shared |u x:1\n0:1:0.5 |a f\n|a g\n\nshared |u x:2\n|a f\n0:0:0.5 |a g\n\n"

RESUMED = ["train", "rows.svm", "-o", "resumed.cw", "--rule", "arow", "--passes", "5", "--checkpoint-every", "10", "-q"]


def in_memory(write):
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def zipped():
    def write(buffer):
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("bandit.json", "{}")

    return in_memory(write)


def sound_files(folder):
    """Sound files of every kind that is read, by name."""
    table = pa.Table.from_pylist(LINES)
    csv = "id,a,t,label\n" + "".join(f"{r['id']},{r['a']},{r['t']},{r['label']}\n" for r in LINES)
    found = {
        "rows.svm": rows(40).encode(),
        "rows.vw": "".join(f"{2 * y - 1} |n a:{x:.2f} b\n" for x, y in zip(X[:, 0], Y, strict=True)).encode(),
        "rows.csv": csv.encode(),
        "rows.tsv": csv.replace(",", "\t").encode(),
        "rows.csv.gz": gzip.compress(csv.encode()),
        "rows.csv.xz": lzma.compress(csv.encode()),
        "rows.csv.bz2": bz2.compress(csv.encode()),
        "rows.jsonl": "".join(f"{json.dumps(r)}\n" for r in LINES).encode(),
        "rows.txt": b"spam\tone two\nham\tthree four\n" * 20,
        "rows.parquet": in_memory(lambda file: parquet.write_table(table, file)),
        "rows.feather": in_memory(lambda file: feather.write_feather(table, file)),
        "log.dsjson": f"{json.dumps(DSJSON)}\n".encode() * 20,
        "log.adf": CB_ADF.encode() * 10,
        "log.cb": b"1:0:0.5 |u x:1\n2 1:1:0.25 'tag |u x:2 |v y\n" * 10,
        "log.json": (VW_JSON + CB_JSON).encode() * 10,
        "log.csv": in_memory(lambda file: arrow_csv.write_csv(pa.Table.from_pylist(DECISIONS), file)),
        "log.parquet": in_memory(lambda file: parquet.write_table(pa.Table.from_pylist(DECISIONS), file)),
    }
    for name, content in found.items():
        (folder / name).write_bytes(content)
    bandit, decisions = ContextualBandit(["a", "b"], random_state=0), DecisionModel()
    for k in range(20):
        bandit.decide(X[k], id=k)
        bandit.reward(k, k % 2)
        decisions.learn({"x": k % 3}, Action("ab"[k % 2]), k % 2)
    OnlineClassifier().fit(X, Y).save(folder / "model.cw")
    bandit.save(folder / "arms.bandit")
    write_log(bandit.log, folder / "log.jsonl")
    decisions.save(folder / "actions.bandit")
    EntityModels().fit(X, Y, key=Y.tolist()).save(folder / "model.ent")
    for arguments in (
        ["train", "rows.csv", "-o", "stack.cw", "-q"],
        ["cache", "rows.svm", "-o", "rows.cache", "-q"],
        ["look", "rows.csv", "--save", "schema.json"],
    ):
        done = here(*arguments, cwd=folder)
        assert done.returncode == 0, done.stderr
    with stopping_after(1), pytest.raises(Stop):
        here(*RESUMED, cwd=folder)
    names = (
        "model.cw",
        "arms.bandit",
        "log.jsonl",
        "actions.bandit",
        "model.ent",
        "stack.cw",
        "rows.cache",
        "schema.json",
    )
    found |= {name: (folder / name).read_bytes() for name in (*names, "resumed.cw.checkpoint")}
    return found


def of_command(*arguments):
    def read(path):
        done = here(*(path if one == "FILE" else one for one in arguments), cwd=path.parent)
        assert done.returncode in (0, 2), done
        assert "Traceback" not in done.stderr and len(done.stderr) < 9000, done.stderr
        if done.returncode:
            *_, last = done.stderr.strip().splitlines()
            assert last.startswith("confidently: error: "), done.stderr

    return read


DATA = tuple(
    f"rows.{end}"
    for end in ("svm", "vw", "csv", "tsv", "csv.gz", "csv.xz", "csv.bz2", "jsonl", "txt", "parquet", "feather", "cache")
)
LOGS = ("log.dsjson", "log.cb", "log.json", "log.csv", "log.parquet")
READERS = {  # of files: which, and what reads one
    "train": (DATA, of_command("train", "FILE", "--rule", "arow", "-o", "new.cw")),
    "look": (DATA[:-1], of_command("look", "FILE")),
    "stack": (("rows.csv", "rows.jsonl"), of_command("train", "FILE", "-o", "new.cw")),
    "schema": (("schema.json",), of_command("train", "rows.csv", "--schema", "FILE", "-o", "new.cw")),
    "inspect": (("model.cw", "stack.cw", "model.ent", "actions.bandit"), of_command("inspect", "FILE")),
    "predict": (("model.cw", "stack.cw"), of_command("predict", "FILE", "rows.csv")),
    "init model": (("model.cw", "stack.cw"), of_command("train", "rows.csv", "--init-model", "FILE", "-o", "new.cw")),
    "resume": (
        ("resumed.cw.checkpoint",),
        of_command(*RESUMED, "--resume"),
    ),
    "bandit": (("log.dsjson", "log.adf", "log.csv"), of_command("train", "--bandit", "FILE", "-o", "new.bandit")),
    "evaluate": (("actions.bandit",), of_command("evaluate", "FILE", "log.dsjson")),
    "load": (("model.cw", "stack.cw"), load),
    "ContextualBandit": (("arms.bandit",), ContextualBandit.load),
    "DecisionModel": (("actions.bandit",), DecisionModel.load),
    "EntityModels": (("model.ent",), EntityModels.load),
    "read_log": (("log.jsonl",), read_log),
    "read_decisions": (("log.dsjson", "log.adf", "log.csv", "log.parquet"), lambda path: list(read_decisions(path))),
    "of --cb": (("log.cb", "log.json"), lambda path: list(read_decisions(path, actions=4))),
    "skipped": (LOGS, lambda path: list(read_decisions(path, actions=["a", "b"], on_error="skip"))),
    "contexts": (
        ("log.dsjson", "log.cb", "log.parquet"),
        lambda path: list(read_decisions(path, actions=["a", "b"], labeled=False)),
    ),
    "read_cb_adf": (("log.adf",), lambda path: list(read_cb_adf(path))),
}
READ_ALIKE = ("look", "stack", "schema", "contexts", "skipped")  # as "train" and "read_decisions" do
TEXTS = (".csv", ".jsonl", ".dsjson", ".json", "model.cw")
DEEP = 100_000
ODD = {  # whatever is read
    "nothing": b"",
    "a zero": b"\0",
    "a line end": b"\n",
    "one byte": b"x",
    "an array": b"[" * DEEP,
    "an object": b'{"a":' * DEEP,
    "a number": b"9" * DEEP,
    "a large number": b'{"a": 1e999, "label": "x"}\n',
    "a surrogate": b'{"a": "\\ud800", "label": "\\udfff"}\n',
    "no UTF-8": b"\xff\xfe\xfd label\n",
    "UTF-16": "a,label\n1,x\n".encode("utf-16"),
    "an archive": zipped(),
    "half an archive": zipped()[:40],
    "gzip of nothing": gzip.compress(b""),
    "a long line": b"a," * DEEP,
    "quotes": b'"' * 999,
    "a bomb": gzip.compress(bytes(10**6)),
}


def damaged(content, random):
    """Content that is cut, or in which a few bytes are others, twice there or absent."""
    if not content or random.random() < 0.2:
        return content[: random.randrange(len(content) + 1)]
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 3, 20))):
        at = random.randrange(len(changed))
        what = random.random()
        if what < 0.6:
            changed[at] = random.choice((0, 255, 34, 44, 45, 57, 91, 123, changed[at] ^ 1 << random.randrange(8)))
        elif what < 0.8:
            changed[at:at] = changed[at : at + random.choice((1, 8, 300))]
        else:
            del changed[at : at + random.choice((1, 8))]
        if not changed:
            break
    return bytes(changed)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("strangers")


@pytest.fixture(scope="module")
def sound(folder):
    return sound_files(folder)


def check(read, path, content):
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            read(path)
        except (DataError, ModelFileError, ValueError) as error:
            assert "\n" not in str(error)[:-1] and 0 < len(str(error)) < 2000, error


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("times", [2, pytest.param(300, marks=pytest.mark.long("thousands of files"))])
def test_files_of_strangers(name, times, folder, sound):
    """In the short form, files that are no text have only their own damage, and what is read alike less of all else."""
    files, read = READERS[name]
    for file in files:
        random, path = Random(f"{name} {file} {times}"), folder / file
        odd = ODD if times > 2 or file.endswith(TEXTS) else {}
        if times == 2 and name in READ_ALIKE:
            odd = dict(random.sample([*odd.items()], len(odd) // 4))
        contents = {"sound": sound[file], **odd} | {f"damaged {k}": damaged(sound[file], random) for k in range(times)}
        for what, content in contents.items():
            try:
                check(read, path, content)
            except BaseException as error:
                raise AssertionError(f"{name}, {file}, {what}: {type(error).__name__}: {str(error)[:300]}") from error
            finally:
                path.write_bytes(sound[file])


BODIES = ("m/learn", "m/predict", "m/label", "m/classes", "m/edits", "d/decide", "d/rewards")


@pytest.mark.parametrize("times", [2, pytest.param(100, marks=pytest.mark.long("thousands of requests"))])
def test_requests_of_strangers(times, local, sound):  # noqa: F811
    one = local()
    one("PUT", "/v1/models/d", {"task": "decisions"})
    one("PUT", "/v1/models/m", {"task": "classes"})
    one("POST", "/v1/models/m/learn", {"rows": [{"features": {"a": k}, "label": f"c{k % 2}"} for k in range(20)]})
    decide = json.dumps({"context": {"x": 1}, "actions": [{"id": "a"}, {"id": "b"}]}).encode()
    valid = json.dumps({"rows": [{"features": {"a": 1.0, "t": "x"}, "label": "c1"}]}).encode()
    requests = [
        ("PUT", "/v1/models/new", b'{"task": "classes", "classes": ["a", "b"]}'),
        ("PUT", "/v1/models/new/file", sound["actions.bandit"]),
    ]
    requests += [("PUT", "/v1/models/new/file", sound[name]) for name in ("model.ent", "stack.cw")]
    requests += [("POST", f"/v1/models/{path}", decide if path.startswith("d") else valid) for path in BODIES]
    for method, path, content in requests:
        random = Random(f"{path} {times}")
        odd = list(ODD.values()) if times > 2 or "file" not in path else []
        for body in (content, *odd, *(damaged(content, random) for _ in range(times))):
            answer = one(method, path, content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code < 500, (method, path, body[:200], answer.text[:300])
            if method == "PUT":
                one("DELETE", "/v1/models/new")
