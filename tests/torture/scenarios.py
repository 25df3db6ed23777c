"""The commands under torture, each in a folder of its own that can be restored."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from confidently.models.model import Model
from confidently.topics.model import TopicModel
from tests.command_line import rows
from tests.torture.runs import Outcome, Runs

TEMPORARY = re.compile(r"\..+\.[0-9]+\.[0-9a-f]{8}")  # names of unfinished files
TEXTS = ("a\tone two three four\n", "b\tone five six seven\n")


@dataclass
class Scenario:
    """A command and the files that it writes.

    ``before`` are the commands that make the folder; ``again`` is the command that completes the work after a failure.
    """

    name: str
    command: list[str]
    outputs: list[str]
    before: list[list[str]] = field(default_factory=list)
    resumes: bool = False

    def again(self, folder: Path) -> list[str]:
        """Return the command that completes what a failure left."""
        model = folder / self.outputs[-1]
        resume = self.resumes and (model.with_name(model.name + ".checkpoint").exists() or not model.exists())
        return [*(part for part in self.command if part != "--resume"), *(["--resume"] if resume else [])]


KINDS = {"topics": TopicModel, "regression": Model}  # of models; others are classifiers
TRAIN = ["train", "data.svm", "--rule=arow", "-q", "--passes", "2", "-o", "m.cw"]
CACHE = ["cache", "-o", "rows.cache"]
OLD = ["train", "other.svm", "--rule=arow", "-q", "-o", "m.cw"]
SCENARIOS = [
    Scenario("train", [*TRAIN, "--checkpoint-every", "120"], ["m.cw"], [OLD], resumes=True),
    Scenario(
        "validate", [*TRAIN, "--holdout", "0.2", "--early-stop", "--checkpoint-every", "150"], ["m.cw"], resumes=True
    ),
    Scenario(
        "regression",
        ["train", "data.svm", "--rule=ridge", "-q", "--passes", "2", "--checkpoint-every", "120", "-o", "m.cw"],
        ["m.cw"], [OLD], resumes=True,
    ),
    Scenario("train with a cache", [*TRAIN, "--cache", "rows.cache"], ["rows.cache", "m.cw"], resumes=True),
    Scenario("cache", [*CACHE, "data.svm"], ["rows.cache"], [[*CACHE, "other.svm"]]),
    Scenario(
        "merge", ["merge", "a.cw", "b.cw", "-o", "m.cw"], ["m.cw"],
        [
            OLD, ["train", "data.svm", "--rule=arow", "-q", "-o", "a.cw"],
            ["train", "other.svm", "--rule=arow", "-q", "-o", "b.cw"],
        ],
    ),
    Scenario("predict", ["predict", "m.cw", "data.svm", "--proba", "-o", "answers"], ["answers"], [OLD]),
    Scenario("convert", ["convert", "data.svm", "-o", "data.csv"], ["data.csv"]),
    Scenario("topics", ["topics", "train", "texts.txt", "-q", "--topics", "3", "-o", "m.cw"], ["m.cw"], resumes=True),
]  # fmt: skip


class Folder:
    """The folder of a scenario: as it is before the command, and the files that the command should write."""

    def __init__(self, runs: Runs, scenario: Scenario, folder: Path) -> None:
        self.runs, self.scenario, self.folder, self.saved = runs, scenario, folder / "here", folder / "saved"
        self.folder.mkdir()
        (self.folder / "data.svm").write_text(rows(200, d=12))
        (self.folder / "other.svm").write_text(rows(50, d=12, seed=1))
        (self.folder / "texts.txt").write_text("".join(TEXTS[k % 2] for k in range(60)))
        for command in scenario.before:
            assert runs.run(command, self.folder, armed=False).code == 0
        shutil.copytree(self.folder, self.saved)
        self.old = self.contents()
        log = folder / "log"
        outcome = runs.run(scenario.command, self.folder, log=log)
        assert outcome.status == 0, outcome.said
        self.counts, self.log = outcome.counts, log.read_bytes()
        self.new = {name: (self.folder / name).read_bytes() for name in scenario.outputs}
        self.restore()

    def restore(self) -> None:
        """Make the folder what it was before the command, with the same times."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.saved, self.folder)

    def contents(self) -> dict[str, bytes]:
        """Return the files by name."""
        return {path.name: path.read_bytes() for path in self.folder.iterdir()}

    def check(self, unfinished: bool = False) -> None:
        """Check that every file is the old one or the new one, whole; after a kill there may be unfinished ones."""
        found = self.contents()
        for name in self.scenario.outputs:
            assert found.get(name) in (self.old.get(name), self.new[name]), (
                f"{name} is neither the old nor the new file"
            )
        for name, content in self.old.items():
            assert name in self.scenario.outputs or found[name] == content, f"{name} has changed"
        for name in found.keys() - self.old.keys() - set(self.scenario.outputs):
            if ".checkpoint" in name and not TEMPORARY.fullmatch(name):
                KINDS.get(self.scenario.name, Model).load(self.folder / name)
            else:
                assert unfinished or name.endswith((".training-cache", ".training-holdout")), f"{name} is left"

    def check_failure(self, outcome: Outcome, names_a_file: bool) -> None:
        """Check the message of a run whose system call failed."""
        assert not outcome.killed and outcome.code in (0, 2), outcome.said
        lines = [line for line in outcome.said.splitlines() if not line.startswith("confidently: warning")]
        if outcome.code == 2:
            assert len(lines) == 1 and lines[0].startswith("confidently: error: "), outcome.said
            assert not names_a_file or any(name in lines[0] for name in self.written()), lines[0]

    def written(self) -> list[str]:
        return [name.removesuffix(".cw") for name in self.scenario.outputs]

    def complete(self) -> None:
        """Do the rest of the work, and check the result."""
        outcome = self.runs.run(self.scenario.again(self.folder), self.folder, armed=False)
        assert outcome.status == 0, outcome.said
        self.check_new()

    def check_new(self) -> None:
        """Check that the command's files are those of an undisturbed run."""
        for name, content in self.new.items():
            assert (self.folder / name).read_bytes() == content, f"{name} is not the file of an undisturbed run"
