"""One list of settings: the fields of ``TopicSettings``, the parameters of the estimator and the options agree."""

import inspect
from dataclasses import fields, replace

import click
import pytest

from confidently import OnlineMedLDA
from confidently.cli import cli
from confidently.cli.commands.topics.train import train
from confidently.cli.training.topics import OPTION_OF
from confidently.topics.inputs import DEFAULTS, PARAMETER_OF, chosen_settings
from confidently.topics.settings import TopicSettings
from tests.topics.test_topic_learner import SETTINGS, documents

SETTING = {setting.name: setting for setting in fields(TopicSettings)}
PARAMETER = inspect.signature(OnlineMedLDA).parameters
OPTION = {option.name: option for option in train.params}
NOT_SETTINGS = {"max_topics", "passes", "class_weight", "n_jobs", "random_state"}
WITHOUT_OPTION = {"prediction_samples", "prediction_burn_in", "class_weight"}
OTHER_OPTION = {"n_jobs": "jobs", "random_state": "seed"}  # whose defaults differ on purpose


def option_of(parameter):
    return OPTION[OTHER_OPTION.get(parameter, OPTION_OF.get(parameter, parameter))]


def test_every_setting_is_a_parameter_of_the_estimator():
    assert set(PARAMETER_OF.values()) | NOT_SETTINGS == set(PARAMETER)
    assert set(SETTING) - set(PARAMETER_OF) == {"task", "nonparametric", "seed"}


def test_every_parameter_has_an_option():
    found = {option_of(parameter).name for parameter in PARAMETER if parameter not in WITHOUT_OPTION}
    assert len(found) == len(PARAMETER) - len(WITHOUT_OPTION)


@pytest.mark.parametrize("parameter", sorted(set(PARAMETER) - WITHOUT_OPTION - set(OTHER_OPTION)))
def test_defaults_of_options_are_those_of_the_estimator(parameter):
    parent = click.Context(cli, **cli.context_settings)  # a command keeps its first help option, which pages then show
    options = train.make_context("train", ["documents.jsonl"], parent).params
    assert options[option_of(parameter).name] == PARAMETER[parameter].default


@pytest.mark.parametrize("name", sorted(set(PARAMETER_OF) - {"n_topics"}))
def test_options_allow_what_the_settings_allow(name):
    allowed, parameter = SETTING[name].metadata, PARAMETER_OF[name]
    if parameter in WITHOUT_OPTION:
        return
    kind = option_of(parameter).type
    if "choices" in allowed:
        assert list(kind.choices) == [str(choice).lower() for choice in allowed["choices"]]
    elif "minimum" in allowed:
        assert isinstance(kind, click.IntRange) and (kind.min, kind.max) == (allowed["minimum"], None)
    else:
        bounds = allowed["range"]
        assert isinstance(kind, click.FloatRange) and not bounds.closed_low
        assert (kind.min, kind.min_open, kind.max) == (bounds.low, True, None)


@pytest.mark.parametrize("name", SETTING)
def test_every_setting_is_checked(name):
    allowed = SETTING[name].metadata
    if "choices" in allowed:
        wrong = ["other"]
    elif "minimum" in allowed:
        wrong = [allowed["minimum"] - 1, allowed["minimum"] + 0.5, True]
    else:
        wrong = [0.0, -1.0, float("inf"), float("nan"), "1"]
    for value in wrong:
        with pytest.raises((ValueError, TypeError), match=name):
            replace(SETTINGS, **{name: value})


@pytest.mark.parametrize("classifier", DEFAULTS)
def test_parameters_reach_the_settings(classifier):
    bags, _ = documents()
    given = OnlineMedLDA(7, classifier).get_params()
    chosen = chosen_settings(given, "binary", bags)
    for name, parameter in PARAMETER_OF.items():
        default = DEFAULTS[classifier].get(parameter)
        if given[parameter] is not None:
            assert getattr(chosen, name) == given[parameter]
        elif default is not None:
            assert getattr(chosen, name) == default
