"""Help of the command line: every command, every parameter of every rule, and the page made of it."""

import importlib.util
import os
import shlex
import subprocess
import sys
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import click
import pytest

from confidently import REGRESSION_RULES, RULES
from confidently.cli import COMMANDS, cli
from confidently.cli.options.rules import PARAMETERS, parameter_help
from confidently.cli.options.sections import SECTIONS

DOCS = Path(__file__).parents[2] / "docs"


def option_of(command, option):
    (found,) = [p for p in cli.get_command(None, command).params if f"--{option}" in p.opts]
    return found


def help_of(command, option):
    return option_of(command, option).help


def commands():
    """Every command and the commands below groups, by what is typed."""
    for name in COMMANDS:
        command = cli.get_command(None, name)
        yield (name,), command
        for below in command.list_commands(None) if isinstance(command, click.Group) else ():
            yield (name, below), command.get_command(None, below)


@pytest.mark.parametrize("arguments", [[], *(list(name) for name, _ in commands())])
def test_help_works_everywhere(ok, arguments):
    assert "Usage: confidently" in ok(*arguments, "--help")


def test_every_module_of_commands_is_in_the_list():
    for group in (cli, cli.get_command(None, "topics")):
        modules = {module.name for module in iter_modules(import_module(group.package).__path__)}
        assert modules == set(group.about), f"complete the list of {group.package}"


def test_lists_of_commands_repeat_the_commands_help():
    lists = {(): COMMANDS, ("topics",): cli.get_command(None, "topics").about}
    for name, command in commands():
        assert command.help.split("\n\n")[0].replace("\n", " ") == lists[name[:-1]][name[-1]]


def entries(text):
    """The options of a help text: the title of their section, the option, and the number of lines of its help."""
    found, title = [], ""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            title = line.removesuffix(":")
        elif line.startswith("  -") and title in SECTIONS:
            option, _, beside = line.strip().partition("  ")
            found.append([title, option, int(bool(beside))])
        elif line.startswith("      ") and found and title != "Examples":
            found[-1][2] += 1
    return found


LEAVES = [(name, command) for name, command in commands() if not isinstance(command, click.Group)]
SCREEN = 48  # lines
EVERY_LEAF = pytest.mark.parametrize(("name", "command"), LEAVES, ids=["-".join(name) for name, _ in LEAVES])


@EVERY_LEAF
def test_help_is_short_and_grouped_in_the_order_of_use(ok, monkeypatch, name, command):
    """In 80 columns no line is longer, no option takes more than three lines, and examples come last."""
    monkeypatch.setenv("COLUMNS", "80")
    text = ok(*name, "--help-all" if command.first else "--help")
    assert max(map(len, text.splitlines())) <= 80
    found = entries(text)
    assert len(found) == sum(isinstance(option, click.Option) for option in command.get_params(click.Context(command)))
    assert {option: n for _, option, n in found if n > 3} == {}
    titles = list(dict.fromkeys(title for title, _, _ in found))
    assert titles == [title for title in SECTIONS if title in titles]
    assert found[-1][1] == "-h, --help" or "Output" not in titles
    *_, examples = text.split("\nExamples:\n")
    assert command.examples and examples.splitlines() == [f"  {line}" for line in command.examples]


@pytest.mark.parametrize("name", [(), *(name for name, _ in LEAVES)], ids=lambda name: "-".join(name) or "confidently")
def test_help_fits_a_screen(ok, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    assert len(ok(*name, "--help").splitlines()) <= SCREEN


@pytest.mark.parametrize("name", [name for name, command in LEAVES if command.first])
def test_short_help_has_the_first_options_and_says_how_to_see_all(ok, name):
    command = dict(LEAVES)[name]
    found, every = ([option for _, option, _ in entries(ok(*name, text))] for text in ("--help", "--help-all"))
    assert len(found) == len(command.first) + 2 < len(every) and set(found) < set(every)
    assert found[-2:] == ["--help-all", "-h, --help"]


SLOW = [("demo",)]
IN_ORDER = sorted(LEAVES, key=lambda leaf: leaf[0] != ("sample",))


def serves(line):
    """Whether a command line runs until it is stopped."""
    return line.startswith("confidently serve") and "--check" not in line


def run_server(folder, line, environment):
    """Run a server until it says where it is, on a free port instead of the usual one."""
    command = [*shlex.split(line), "--port", "0"]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert " at http://127.0.0.1:" in server.stdout.readline()
        server.terminate()
        assert server.wait() == 0


def run_examples(ok, folder, command):
    environment = os.environ | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    for line in command.examples:
        program, *arguments = shlex.split(line)
        assert program == "confidently"
        if serves(line):
            run_server(folder, line, environment)
        else:
            ok(*arguments)


@pytest.mark.long("runs all examples")
@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")
def test_examples_run_in_their_order(ok, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, command in IN_ORDER:
        if name not in SLOW:
            run_examples(ok, tmp_path, command)
    written = {path.name for path in tmp_path.iterdir()}
    assert {"spam.cw", "clicks.cw", "predicted.csv", "messages.svm", "both.cw", "topics.cw", "five.cw"} <= written


@pytest.mark.long("runs all examples")
@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")
@pytest.mark.parametrize("name", SLOW)
def test_examples_that_take_long_run(ok, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    run_examples(ok, tmp_path, dict(LEAVES)[name])


def test_every_command_has_json():
    for name, command in commands():
        assert isinstance(command, click.Group) or any("--json" in p.opts for p in command.params), name


def test_every_option_has_help_of_one_form():
    """A sentence that begins with a capital letter or a name, and then the default."""
    for name, command in commands():
        for option in command.params:
            if isinstance(option, click.Option):
                text = option.help.split("  [default: ")[0]
                assert text.endswith("."), (name, option.name)
                assert text[0].isupper() or ": " in text, (name, option.name)


@pytest.mark.parametrize("rule", RULES)
def test_options_say_what_a_parameter_means_for_each_rule(rule):
    for field in fields(RULES[rule]):
        text, _, defaults = help_of("train", field.name).partition("  [default: ")
        assert rule in PARAMETERS[field.name][field.metadata["meaning"]]
        assert f"{', '.join(PARAMETERS[field.name][field.metadata['meaning']])}: {field.metadata['meaning']}" in text
        value = RULES[rule]().get_params()[field.name]
        if value is not None:
            given = [part.rpartition(": ") for part in defaults.rstrip("]").split("; ")]
            assert f"{value:g}" in [text for names, _, text in given if not names or rule in names.split(", ")]


def test_a_parameter_of_several_rules_has_all_their_meanings():
    rules = [*RULES.values(), *REGRESSION_RULES.values()]
    assert set(PARAMETERS) == {field.name for rule in rules for field in fields(rule)}
    assert parameter_help("tau") == "quantile: the quantile.  [default: 0.5]"
    text = parameter_help("c")
    assert "iellip: depth of the first cut" in text and "bayespa, gibbs_pa, gibbs_pa_exact: weight of the loss" in text
    assert text.endswith("[default: iellip: 0.1; bayespa: 0.5; gibbs_pa, gibbs_pa_exact: 8]")


def test_defaults_in_help_are_those_of_the_modules_that_apply_them():
    """Help is shown before NumPy is imported, so it repeats some defaults."""
    from confidently.covariances.names import AUTO
    from confidently.covariances.table import COVARIANCES
    from confidently.data import ReaderOptions
    from confidently.data.stream import ROWS_TO_INFER
    from confidently.learner.recipe import MAX_FULL
    from confidently.topics.inputs import DEFAULTS

    named = [name for name, kind in COVARIANCES.items() if not kind.keeps_examples]
    assert list(option_of("train", "covariance").type.choices) == [*named, AUTO]
    assert f"up to {MAX_FULL:,} columns" in help_of("train", "covariance")
    assert f"[default: {ReaderOptions(format='vw').bits}]" in help_of("train", "bits")
    assert f"inferred from the first {ROWS_TO_INFER:,} rows" in help_of("train", "multilabel")
    (train,) = [command for name, command in commands() if name == ("topics", "train")]
    for option, parameter in {"c": "c", "step_size": "step_size", "inner": "n_inner", "samples": "n_samples",
                              "batch_size": "batch_size"}.items():  # fmt: skip
        (text,) = [p.help for p in train.params if p.name == option]
        gibbs, averaging = (DEFAULTS[classifier][parameter] for classifier in ("gibbs", "averaging"))
        assert text.endswith(f"[default: {gibbs:g}; averaging: {averaging:g}]")


def test_the_default_number_of_rounds_is_in_the_help():
    pytest.importorskip("distributed")
    from confidently.rounds.preparation import DEFAULT_ROUNDS

    assert f"[default: {DEFAULT_ROUNDS}]" in help_of("train", "rounds")


def test_the_page_of_the_command_line_is_current():
    spec = importlib.util.spec_from_file_location("command_line_page", DOCS / "command_line.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), f"docs are stale; run: {module.REFRESH}"
