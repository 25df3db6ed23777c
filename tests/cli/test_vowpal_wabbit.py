"""Vowpal Wabbit's options: the documentation has each of them, and typing one here ends in what to do instead."""

import re
from pathlib import Path

import click
import pytest

from confidently.cli import COMMANDS, cli
from confidently.cli.options.vowpal_wabbit import BY_NAME, INSTEAD

ROOT = Path(__file__).resolve().parents[2]
VW_OPTIONS = (ROOT / "tests" / "tables" / "vw_options.txt").read_text().split()  # of VW 9.11: vw --help
PAGE = (ROOT / "docs" / "migrating-from-vowpal-wabbit.md").read_text()


def own_options():
    """All options of all commands."""
    group = cli
    found, groups = set(), [group]
    while groups:
        group = groups.pop()
        for name in group.list_commands(click.Context(group)):
            command = group.get_command(click.Context(group), name)
            if isinstance(command, click.Group):
                groups.append(command)
            found |= {option for parameter in command.params for option in parameter.opts}
    return found


def test_the_page_has_every_option():
    missing = [name for name in VW_OPTIONS if f"`{name}`" not in PAGE]
    assert len(VW_OPTIONS) > 400 and not missing


def test_what_is_named_instead_exists():
    own, known = own_options(), set(VW_OPTIONS)
    for names, instead in INSTEAD.items():
        assert known >= set(names), "all are options of Vowpal Wabbit"
        assert own >= set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", instead)), instead
        assert {"topics", *COMMANDS} >= set(re.findall(r"confidently ([a-z]+)", instead)), instead
    columns = re.findall(r"^\|.*\| (`[^|]*) \|[^|]*\|$", PAGE, re.MULTILINE)
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", " ".join(columns)))
    assert len(columns) > 30 and own >= named - {"--help", "--version"}


@pytest.mark.parametrize("option", BY_NAME)
def test_typing_an_option_says_what_to_do_instead(call, tmp_path, option):
    train = click.Context(cli).command.get_command(click.Context(cli), "train")
    if any(option in parameter.opts for parameter in train.params):
        return  # an option here, too
    for command in (["train"], []):
        code, out, err = call(*command, option, "7", tmp_path / "rows.vw")
        assert (code, out) == (2, "")
        assert f"error: {option} is an option of Vowpal Wabbit; here, {BY_NAME[option]}; 'Migrating from" in err


def test_initials_of_namespaces_are_not_taken_for_files(call, ok, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.vw").write_text("1 |a x |b y\n-1 |a z |b y\n" * 5)
    code, _, err = call("train", "--rule=arow", "-q", "ab", "rows.vw")
    assert code == 2 and "-q is --quiet; for -q ab of Vowpal Wabbit, use --pairs A,B" in err
    (tmp_path / "rows.vw").rename("ab")
    ok("train", "--rule=arow", "-q", "ab", "--format", "vw")


def test_unknown_options_are_still_unknown(call):
    code, _, err = call("train", "--rule=arow", "--learning", "1")
    assert code == 2 and "No such option" in err and "Vowpal" not in err
