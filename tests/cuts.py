"""Random trainings, each cut in two ways into files, pieces, checkpoints, calls and threads.

``python -m tests.cuts SEED`` runs one case and prints it; ``python -m tests.cuts FIRST LAST`` runs many.
"""

import json
import sys
import tempfile
import warnings
from contextlib import ExitStack, redirect_stderr, redirect_stdout, suppress
from io import StringIO
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np

from confidently import OnlineClassifier, OnlineRegressor, load
from confidently.cli import run
from confidently.data.stream import open_stream
from tests.stopping import Stop, stopping_after

FORMATS = ("svmlight", "vw", "csv", "jsonl", "parquet", "arrays")
SUFFIXES = {"svmlight": "svm", "vw": "vw", "csv": "csv", "jsonl": "jsonl", "parquet": "parquet"}
CHOOSING = 1000  # rows by which a view, the members of a stack and the kind of labels are chosen


class Case:
    """What one seed trains, and how the second time is cut."""

    def __init__(self, seed):
        self.seed, self.random = seed, np.random.default_rng(seed)
        choose = self._choose
        self.format = choose(FORMATS)
        self.task = choose(["two", "three", "late", "numbers", "labels"], [0.3, 0.2, 0.2, 0.2, 0.1])
        if self.task == "labels" and self.format in ("parquet", "arrays"):
            self.task = "two"
        self.auto = self.format != "arrays" and self.random.random() < 0.15
        self.n = 1300 if self.auto else choose([90, 260, 430])
        self.d = choose([3, 12, 60, 110, 160])
        if self.auto:
            self.d = choose([3, 8, 20])
        self.density = choose([1.0, 0.4, 0.05])
        self.weighted = self.random.random() < 0.2
        self.late = self.random.random() < 0.5  # whether features appear one after the other
        self.options = self._options()
        self.cut = choose(["files", "pieces", "checkpoints", "resume", "init-model"])
        if self.format == "arrays":
            self.cut = choose(["calls", "rows", "saved"])
        self.parsers = choose([None, 0, 1, 3])
        first = CHOOSING if self.auto else 2
        inner = np.sort(self.random.choice(np.arange(first, self.n), size=choose([1, 2, 5]), replace=False))
        self.cuts = [int(at) for at in inner]
        self.every = choose([17, 64, 100, 137] if not self.auto else [137, 400])

    def _choose(self, values, p=None):
        return values[int(self.random.choice(len(values), p=p))]

    def _options(self):
        choose = self._choose
        if self.auto:
            return {"auto": True, "regression": self.task == "numbers"}
        options = {"covariance": choose(["diag", "full", "shared"], [0.3, 0.4, 0.3])}
        options["rule"] = choose(
            ["ridge", "quantile", "poisson"] if self.task == "numbers" else
            ["arow", "cw_stdev", "scw1", "iellip", "iellip_margin", "probit", "pa1", "cellip", "gibbs_pa", "nherd"]
        )  # fmt: skip
        if self.task in ("three", "late") and self.random.random() < 0.3:
            options["rule"], options["multiclass"] = "logistic", "softmax"
        elif self.task in ("three", "late"):
            options["multiclass"] = choose(["joint", "one-vs-rest"])
        if options.get("multiclass") == "one-vs-rest" and options["covariance"] == "shared":
            options["covariance"] = "full"
        if options["rule"] == "poisson":
            options["covariance"] = choose(["diag", "full"])
        if self.task == "labels":
            options["covariance"] = choose(["diag", "full"])
        options["average"] = self.random.random() < 0.2
        options["dtype"] = choose(["float64", "float32"], [0.8, 0.2])
        views = ["none", "unit", "standard", "idf", "nb", "pairs", "cosines", "first", "ranks", "bins"]
        options["view"] = choose(views, [0.36, *7 * [0.08], 0.04, 0.04])
        if self.task == "numbers" and options["view"] in ("nb", "pairs"):
            options["view"] = "standard"
        if options["covariance"] != "diag":  # matrices that are not too large for many cases
            self.d = min(self.d, 12) if options["view"] in ("pairs", "bins") else self.d
            if options["view"] == "cosines" and self.task in ("three", "late", "labels"):
                options["view"] = "standard"
        if options["rule"] != "pa1" and self.random.random() < 0.3:
            options["forget"] = 0.01
        options["passes"] = choose([1, 2], [0.8, 0.2])
        return options

    def __str__(self):
        known = {name: value for name, value in vars(self).items() if name != "random"}
        return f"python -m tests.cuts {self.seed}: {known}"

    # --- the rows -----------------------------------------------------------------------------------------------------

    def rows(self):
        """Yield values by column, the label and the weight."""
        random = np.random.default_rng(self.seed + 1)
        direction = random.normal(size=(self.d, 3))
        for i in range(self.n):
            there = random.random(self.d) < self.density
            if self.late:
                there &= np.arange(self.d) <= 2 + i * self.d // (self.n // 2 + 1)
            x = np.round(random.normal(size=self.d), 3) * there
            scores = x @ direction + random.normal(size=3)
            label = {
                "two": lambda s: "ab"[int(s[0] > 0)],
                "three": lambda s: "abc"[int(s.argmax())],
                "late": lambda s, i=i: "abcd"[int(s.argmax())] if 3 * i > self.n else "ab"[int(s[0] > 0)],
                "numbers": lambda s: f"{abs(s[0]):.3f}",
                "labels": lambda s: ",".join("123"[k] for k in np.flatnonzero(s > 0.5)),
            }[self.task](scores)
            if i < 2 and self.task in ("two", "three", "late"):
                label = "ab"[i]
            yield {j: x[j] for j in np.flatnonzero(x)}, label, [0.0, 0.5, 1.0, 2.0][random.integers(4)]

    def write(self, path, rows):
        """Write rows in the format of the case."""
        rows = list(rows)
        write = getattr(self, f"_write_{self.format}")
        path.parent.mkdir(exist_ok=True)
        write(path, rows)
        return path

    def _write_svmlight(self, path, rows):
        lines = [f"{label} " + " ".join(f"{j + 1}:{v}" for j, v in x.items()) for x, label, _ in rows]
        path.write_text("\n".join(lines) + "\n")

    def _write_vw(self, path, rows):
        def head(label, weight):
            if self.task == "labels":
                return label
            return f"{label} {weight}" if self.weighted else label

        numbers = {"a": "1", "b": "2", "c": "3", "d": "4"}
        lines = [
            f"{head(numbers.get(label, label), weight)} | " + " ".join(f"f{j}:{v}" for j, v in x.items())
            for x, label, weight in rows
        ]
        path.write_text("\n".join(lines) + "\n")

    def _columns(self):
        return [f"f{j}" for j in range(self.d)]

    def _write_csv(self, path, rows):
        lines = [",".join([*self._columns(), "w", "label"])]
        for x, label, weight in rows:
            lines.append(",".join([*(str(x.get(j, 0)) for j in range(self.d)), str(weight), f'"{label}"']))
        path.write_text("\n".join(lines) + "\n")

    def _write_jsonl(self, path, rows):
        lines = []
        for x, label, weight in rows:
            found = {f"f{j}": float(v) for j, v in x.items()} | {"w": weight}
            found["label"] = label.split(",") if self.task == "labels" else label
            if self.task == "labels" and not label:
                found["label"] = []
            if self.task == "numbers":
                found["label"] = float(label)
            lines.append(json.dumps(found))
        path.write_text("\n".join(lines) + "\n")

    def _write_parquet(self, path, rows):
        import pyarrow as pa
        from pyarrow import parquet

        table = {f"f{j}": [float(x.get(j, 0.0)) for x, _, _ in rows] for j in range(self.d)}
        table["w"] = [weight for _, _, weight in rows]
        table["label"] = [float(label) if self.task == "numbers" else label for _, label, _ in rows]
        parquet.write_table(pa.table(table), path, row_group_size=97)

    # --- training -----------------------------------------------------------------------------------------------------

    def arguments(self):
        """Return the options of the command."""
        found = ["-q", "--no-shuffle"] if self.cut == "init-model" else ["-q"]  # which continues in order
        for name, value in self.options.items():
            if value is True:
                found.append(f"--{name}")
            elif value is not False:
                found += [f"--{name}", str(value)]
        if self.format in ("csv", "jsonl", "parquet"):
            found += ["--weight", "w"] if self.weighted else ["--drop", "w"]
        if self.task == "labels":
            found.append("--multilabel")
        if self.task == "numbers" and "--regression" not in found:
            found.append("--regression")
        return found

    def both(self, folder):
        """Return the bytes of the model, trained at once and in parts; None if the options are none of a learner."""
        if self.format == "arrays":
            return self._arrays(folder)
        rows, suffix = list(self.rows()), SUFFIXES[self.format]
        whole = self.write(folder / f"all.{suffix}", rows)
        bounds = [0, *self.cuts, self.n]
        parts = [
            self.write(folder / f"part{k}.{suffix}", rows[first:last])
            for k, (first, last) in enumerate(pairwise(bounds))
        ]
        model, other = folder / "whole.cw", folder / "cut.cw"
        if not _train(whole, "-o", model, *self.arguments()):
            return None
        more = [*self.arguments(), "-o", other]
        with ExitStack() as stack:
            changed = {"parsers": self.parsers}
            if self.cut != "files":
                changed["chunk_bytes"] = int(self.random.choice([700, 5000, 1 << 20]))
            stack.enter_context(patch.dict(open_stream.__kwdefaults__, changed))
            if self.cut == "files":
                assert _train(*parts, *more)
            elif self.cut == "pieces":
                assert _train(whole, *more)
            elif self.cut == "checkpoints":
                assert _train(whole, *more, "--checkpoint-every", self.every)
            elif self.cut == "resume":
                self._stop(int(self.random.integers(1, 4)), whole, *more, "--checkpoint-every", self.every)
                other.unlink(missing_ok=True)  # where there were fewer checkpoints
                assert _train(whole, *more, "--checkpoint-every", self.every, "--resume")
            elif self.options.get("passes", 1) == 1:
                begun = folder / "begun.cw"
                assert _train(parts[0], *self.arguments(), "-o", begun)
                assert _train(*parts[1:], "-q", "--init-model", begun, "-o", other)
            else:
                assert _train(whole, *more)
        return model.read_bytes(), other.read_bytes()

    def _stop(self, after, *arguments):
        with stopping_after(after), suppress(Stop):
            _train(*arguments)

    def _arrays(self, folder):
        from scipy import sparse

        rows = list(self.rows())
        X = np.zeros((self.n, self.d))
        for i, (x, _, _) in enumerate(rows):
            X[i, list(x)] = list(x.values())
        options = {name: value for name, value in self.options.items() if name not in ("view", "passes")}
        options["view"] = None if self.options["view"] == "none" else self.options["view"]
        weight = np.array([w for _, _, w in rows]) if self.weighted else np.ones(self.n)
        sparsely = self.random.random() < 0.5
        estimator = OnlineRegressor if self.task == "numbers" else OnlineClassifier
        y = np.array([float(label) if self.task == "numbers" else label for _, label, _ in rows])
        if self.task != "numbers":
            options.setdefault("multiclass", "joint")

        def learn(model, first, last):
            part = X[first:last]
            classes = {} if self.task == "numbers" else {"classes": sorted(set(y))}
            model.partial_fit(
                sparse.csr_matrix(part) if sparsely else part, y[first:last], sample_weight=weight[first:last],
                **classes,
            )  # fmt: skip

        try:
            whole = estimator(**options)
            learn(whole, 0, self.n)
        except (ValueError, TypeError):
            return None
        model = estimator(**options)
        bounds = [0, *self.cuts, self.n] if self.cut != "rows" else [*range(60), self.n]
        for first, last in pairwise(bounds):
            learn(model, first, last)
            if self.cut == "saved":
                model.save(folder / "part.cw")
                model = load(folder / "part.cw")
            elif self.cut == "calls" and last < self.n:
                model.predict(X[:5])
        whole.save(folder / "whole.cw")
        model.save(folder / "cut.cw")
        return (folder / "whole.cw").read_bytes(), (folder / "cut.cw").read_bytes()


def _train(*arguments):
    """Train; return whether that went well. Options that do not fit each other are an error of the first training."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(["train", *map(str, arguments)])
    _train.said = err.getvalue()
    return code == 0


def same(seed):
    """Return whether both trainings of a case give the same bytes; None if its options fit no learner."""
    case = Case(seed)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = case.both(Path(folder))
    return None if found is None else found[0] == found[1]


if __name__ == "__main__":
    first, last = int(sys.argv[1]), int(sys.argv[-1]) + (len(sys.argv) == 2)
    counted = {True: 0, False: 0, None: 0}
    for number in range(first, last):
        try:
            found = same(number)
        except Exception as error:
            found = False
            print(f"{type(error).__name__}: {error} {getattr(_train, 'said', '')}")
        counted[found] += 1
        if found is False or last - first == 1:
            print("same" if found else "no learner" if found is None else "DIFFERENT", Case(number))
    print(counted)
