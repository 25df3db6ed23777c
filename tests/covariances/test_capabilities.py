"""What a covariance cannot do it says behind every public door: a covariance that can do nothing shows it."""

import inspect

import numpy as np
import pytest

from confidently import OnlineClassifier, distributed, merge
from confidently.cli.commands.train import train
from confidently.covariances.covariance import CAPABILITIES, Covariance
from confidently.covariances.diagonal import Diagonal
from confidently.covariances.names import AUTO
from confidently.covariances.settings import Settings
from confidently.covariances.table import COVARIANCES


class Bare(Diagonal):
    """Predicts and learns, and lacks every capability."""

    name = "bare"
    unsupported = {capability: f"a bare covariance lacks {capability}" for capability in CAPABILITIES}  # noqa: RUF012


@pytest.fixture
def bare(monkeypatch):
    """A classifier with that covariance; its model file is ``m.cw`` where ``save`` puts it."""
    monkeypatch.setitem(COVARIANCES, "bare", Bare)
    return OnlineClassifier(covariance="bare").fit(np.eye(4), [0, 1, 0, 1])


def river_classifier():
    pytest.importorskip("river", reason="River is not installed")
    from confidently.river import OnlineClassifier as RiverClassifier

    return RiverClassifier(covariance="bare")


def fitted_on_a_cluster(classifier, folder):
    pytest.importorskip("dask.distributed", reason="Dask is not installed")
    (folder / "rows.svm").write_text("1 1:1\n-1 2:1\n")
    return distributed.fit(OnlineClassifier(covariance="bare"), folder / "rows.svm", workers=1)


DOORS = {
    "export": {"to_sklearn": lambda c, folder: c.to_sklearn(), "to_onnx": lambda c, folder: c.to_onnx()},
    "merge": {"merge": lambda c, folder: merge([c, c])}, "explain": {},
    "sample": {"sample_weights": lambda c, folder: c.sample_weights(3)},
    "distribute": {"distributed.fit": fitted_on_a_cluster},
    "forget": {
        "fit": lambda c, folder: OnlineClassifier(covariance="bare", forget=0.1).fit(np.eye(2), [0, 1]),
        "partial_fit": lambda c, folder: OnlineClassifier(covariance="bare", forget=0.1).partial_fit(
            np.eye(2), [0, 1], classes=[0, 1]
        ),
    },
    "stream": {"river": lambda c, folder: river_classifier()},
}  # fmt: skip
COMMANDS = {
    "merge": [("merge", "m.cw", "more.cw", "-o", "merged.cw")],
    "explain": [("inspect", "m.cw"), ("inspect", "m.cw", "--json"), ("inspect", "m.cw", "--row", "1:1")],
}


def test_every_capability_has_a_door():
    assert set(DOORS) == set(CAPABILITIES)
    assert all(doors or COMMANDS[capability] for capability, doors in DOORS.items())


@pytest.mark.parametrize(
    ("capability", "door"), [(capability, door) for capability, doors in DOORS.items() for door in doors]
)
def test_what_is_lacking_is_said_in_python(bare, capability, door, tmp_path):
    with pytest.raises(ValueError, match=f"a bare covariance lacks {capability}"):
        DOORS[capability][door](bare, tmp_path)


@pytest.mark.parametrize(
    ("capability", "command"), [(capability, command) for capability, found in COMMANDS.items() for command in found]
)
def test_what_is_lacking_is_said_on_the_command_line(bare, capability, command, tmp_path, call, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bare.save("m.cw")
    bare.partial_fit(np.eye(4), [1, 1, 0, 0]).save("more.cw")
    code, out, err = call(*command)
    assert code == 2 and out == ""
    assert f"a bare covariance lacks {capability}" in err and err.count("\n") == 1


STREAMED = [name for name, kind in COVARIANCES.items() if "stream" not in kind.unsupported]


def test_the_command_line_offers_the_covariances_that_train_on_streams():
    [option] = [parameter for parameter in train.params if parameter.name == "covariance"]
    offered = set(option.type.choices) - {AUTO}
    assert set(STREAMED) <= offered <= set(COVARIANCES), "core/covariances/table.hpp and covariances/table.py differ"


@pytest.mark.parametrize("name", [name for name in STREAMED if "forget" in COVARIANCES[name].unsupported])
def test_training_on_the_command_line_says_why_it_cannot_forget(name, data, tmp_path, call):
    code, _, err = call("train", data, "--covariance", name, "--forget", 0.1, "-o", tmp_path / "m.cw")
    assert code == 2 and COVARIANCES[name].unsupported["forget"] in err


KINDS = dict.fromkeys(base for kind in COVARIANCES.values() for base in kind.__mro__ if issubclass(base, Covariance))


def left_open(kind):
    """The methods that a kind leaves to those derived from it."""
    methods = [(name, method) for name, method in vars(kind).items() if inspect.isfunction(method)]
    return [(kind, name) for name, method in methods if "_undefined" in method.__code__.co_names]


@pytest.mark.parametrize(("kind", "method"), [case for kind in KINDS for case in left_open(kind)])
def test_a_method_that_a_kind_does_not_define_is_named(kind, method):
    class Unfinished(kind):
        pass

    unfinished = getattr(Unfinished(Settings("arow")), method)
    with pytest.raises(NotImplementedError, match=f"^Unfinished.{method} is not defined$"):
        unfinished(**dict.fromkeys(inspect.signature(unfinished).parameters))


def test_a_capability_that_does_not_exist():
    with pytest.raises(KeyError, match="unknown capability 'fly'; expected one of export, "):
        Diagonal.require("fly")
