"""One list of settings: the estimators, the command line and model files have the same names, defaults and ranges."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, fields
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import numpy as np
import pytest

from confidently import OnlineClassifier, OnlineRegressor
from confidently.cli import cli
from confidently.cli.commands.train import train
from confidently.cli.options.regression import choose_task
from confidently.cli.output.progress import Quiet
from confidently.covariances.settings import ADDED_SETTINGS, NAMES_IN_FILES, Settings
from confidently.covariances.table import COVARIANCES
from confidently.estimators.parameters import saved_training
from confidently.rules import REGRESSION_RULES, RULES, RegressionRule, Ridge, make_rule
from confidently.rules.rule import Rule

SETTINGS = {setting.name: setting for setting in fields(Settings)}
BY_MULTICLASS = {"task"}  # estimators have multiclass=, which with the labels determines the task
OF_PRODUCTS_AND_KERNELS = {"rows_per_product", "kernel", "kernel_params", "budget"}  # not for streams of single rows
ESTIMATOR_OWN = {
    *saved_training(OnlineClassifier()), "multiclass", "calibration", "device", "view", "coverage_by", "encoder", "tol",
    "verbose",
}  # fmt: skip
RIVER_OWN = {"multiclass", "calibration", "view", "hash_bits"}
OUTSIDE = [  # a value outside the range of each setting that has one
    (name, value)
    for name, setting in SETTINGS.items()
    if setting.metadata["range"] is not None
    for value in (-1, setting.metadata["range"].high * 2, "x")
]


def default_of(setting: Any) -> Any:
    return setting.default_factory() if setting.default is MISSING else setting.default


def parameters_of(cls: type) -> dict[str, Any]:
    """Defaults by name."""
    return {name: p.default for name, p in inspect.signature(cls).parameters.items()}


def river() -> list[type]:
    pytest.importorskip("river", reason="River is not installed")
    from confidently.river import OnlineClassifier, OnlineMultiLabelClassifier

    return [OnlineClassifier, OnlineMultiLabelClassifier]


def documented(cls: type) -> dict[str, str]:
    """The parameters that a docstring describes, each with its type and default."""
    doc = inspect.getdoc(cls) or ""
    section = re.split(r"\n\n(?=\w+\n-+\n)", doc)
    text = next(part for part in section if part.startswith("Parameters"))
    found = {}
    for names, about in re.findall(r"^(\w[\w, ]*?)(?: : (.*))?$", text, re.MULTILINE):
        found |= dict.fromkeys(names.split(", "), about)
    return {name: about for name, about in found.items() if name != "Parameters"}


def test_every_setting_says_what_it_means() -> None:
    assert all(setting.metadata["meaning"] for setting in SETTINGS.values())


def test_the_estimator_has_all_settings() -> None:
    found = parameters_of(OnlineClassifier)
    assert found.keys() == (SETTINGS.keys() - BY_MULTICLASS) | ESTIMATOR_OWN
    for name in SETTINGS.keys() - BY_MULTICLASS - {"rule", "kernel", "average"}:
        assert found[name] == default_of(SETTINGS[name]), name
    assert (found["average"], default_of(SETTINGS["average"])) == (
        "auto",
        False,
    )  # by the rule, where rows are shuffled
    assert make_rule(found["rule"]) == default_of(SETTINGS["rule"])
    default_kernel = OnlineClassifier(covariance="kernel", kernel=None).fit([[0.0], [1.0]], [0, 1])
    assert default_kernel.learner_.settings.kernel == found["kernel"]


def test_the_regressor_has_all_settings_but_a_lower_bound_of_variances() -> None:
    found, of_classes = parameters_of(OnlineRegressor), parameters_of(OnlineClassifier)
    own = ESTIMATOR_OWN - {"multiclass", "class_weight", "tol"}
    assert found.keys() == (SETTINGS.keys() - BY_MULTICLASS - {"min_variance"}) | own | {"bounds"}
    for name in found.keys() - {"rule", "covariance", "view", "bounds", "average", "shuffle"}:
        assert found[name] == of_classes[name], name
    assert (found["shuffle"], of_classes["shuffle"]) == (False, "auto")  # rows cannot be sorted by class
    assert (found["view"], of_classes["view"]) == (None, "auto")  # regressions learn rows as they are, by default


def test_the_river_classes_have_the_settings_of_single_rows() -> None:
    for cls in river():
        found = parameters_of(cls)
        assert found.keys() == (SETTINGS.keys() - BY_MULTICLASS - OF_PRODUCTS_AND_KERNELS) | RIVER_OWN
        for name in found.keys() - {"hash_bits", "view", "average"}:
            assert found[name] == parameters_of(OnlineClassifier)[name], name
        assert found["view"] is None  # one dict does not show what the others are


def with_parameters(package: ModuleType) -> list[type]:
    """The public classes whose docstrings have a section of parameters: estimators, views, bandits, ..."""
    public = (getattr(package, name) for name in package.__all__)
    return [cls for cls in public if isinstance(cls, type) and "\nParameters\n---" in (inspect.getdoc(cls) or "")]


@pytest.mark.parametrize("package", ["confidently", "confidently.bandits", "confidently.river"])
def test_docstrings_describe_every_parameter_and_its_default(package: str) -> None:
    pytest.importorskip("river", reason="River is not installed")
    classes = with_parameters(import_module(package))
    assert {cls.__name__ for cls in classes} & {"OnlineClassifier", "ContextualBandit"}
    for cls in classes:
        found, defaults = documented(cls), parameters_of(cls)
        assert list(found) == list(defaults), cls
        for name, about in found.items():
            if about and defaults[name] is not inspect.Parameter.empty:
                where, default = f"{cls.__name__}: {name} : {about}", about.partition("default=")[2]
                assert about.endswith("optional") if default == "" else eval(default) == defaults[name], where
                assert (defaults[name] is None) or not about.endswith("optional"), where


def test_the_documentation_lists_every_covariance() -> None:
    page = (Path(__file__).parents[1] / "docs" / "full-covariance.md").read_text(encoding="utf-8")
    listed = re.findall(r'^\| `"(\w+)"`', page, flags=re.M)
    assert set(listed) == set(COVARIANCES), "the table of docs/full-covariance.md and covariances/table.py differ"


@pytest.mark.parametrize(("name", "value"), OUTSIDE)
def test_values_outside_a_range_are_rejected(name: str, value: Any) -> None:
    settings: dict[str, Any] = {name: value} | ({"covariance": "kernel"} if name == "budget" else {})
    with pytest.raises((ValueError, TypeError), match=name):
        OnlineClassifier(**settings).fit([[0.0], [1.0]], [0, 1])
    if name not in OF_PRODUCTS_AND_KERNELS:
        for cls in river():
            with pytest.raises((ValueError, TypeError), match=name):
                cls(**settings)


def test_the_command_line_has_the_settings_of_streams() -> None:
    parent = click.Context(cli, **cli.context_settings)  # a command keeps its first help option, which pages then show
    arguments = ["rows.svm", "-o", "model.cw", "--classification"]
    context = train.make_context("train", arguments, parent, resilient_parsing=True)
    options = context.params
    assert not choose_task(context, ["rows.svm"], options, Quiet())
    for name in SETTINGS.keys() - BY_MULTICLASS - OF_PRODUCTS_AND_KERNELS - {"rule", "fit_intercept"}:
        assert options[name] == default_of(SETTINGS[name]), name
    assert make_rule(options["rule"]) == default_of(SETTINGS["rule"])
    assert bool(options["no_intercept"]) != default_of(SETTINGS["fit_intercept"])
    assert {"multiclass", "multilabel"} <= options.keys()


def test_the_server_has_the_settings_of_streams() -> None:
    pytest.importorskip("msgspec", reason="the server's packages are not installed")
    from confidently.serve.model.settings import DEFAULTS, OF_LEARNERS, ModelSettings

    served = ModelSettings()
    by_task = {"rule", "covariance"}  # None: the default of the task
    assert SETTINGS.keys() - BY_MULTICLASS - OF_PRODUCTS_AND_KERNELS - by_task == OF_LEARNERS
    for name in OF_LEARNERS:
        assert getattr(served, name) == default_of(SETTINGS[name]), name
    assert {getattr(served, name) for name in by_task} == {None}
    assert make_rule(DEFAULTS["classes"]["rule"]) == default_of(SETTINGS["rule"])
    assert {"multiclass", "multilabel", "view", "calibration"} <= set(ModelSettings.__struct_fields__)


@pytest.mark.parametrize("rule", [*(rule() for rule in (RULES | REGRESSION_RULES).values()), Ridge(r=None)], ids=repr)
def test_a_model_file_keeps_all_settings(rule: Rule) -> None:
    task = "regression" if isinstance(rule, RegressionRule) else "binary"
    for projection in ("precision", "moments"):
        settings = Settings(
            rule, "full", task, prior_variance=0.5, rows_per_product=7, average=True, projection=projection
        )
        header = settings.header()
        kept = SETTINGS.keys() - {name for name, before in ADDED_SETTINGS.items() if getattr(settings, name) == before}
        assert header.keys() == {NAMES_IN_FILES.get(name, name) for name in kept}
        assert Settings.from_header(header) == settings


def test_settings_of_files_without_a_projection_keep_precisions() -> None:
    header = Settings("arow").header()
    assert "projection" not in header
    header["rule"] = {"name": "probit", "parameters": {"noise": 0.1}}
    assert Settings.from_header(header).projection == "precision"
    assert Settings("probit").projection == "moments"


def test_scikit_learn_s_types_are_stored_as_plain_ones() -> None:
    settings = Settings(prior_variance=np.float32(0.5), fit_intercept=np.True_, rows_per_product=np.int64(3))
    assert [type(value) for value in (settings.prior_variance, settings.fit_intercept, settings.rows_per_product)] == [
        float, bool, int,
    ]  # fmt: skip
