"""The tables of views, of the package and of the core, and the pages that list them."""

from pathlib import Path

import click
import pytest

from confidently import _core
from confidently.cli.options.view import VIEW_OPTIONS
from confidently.views.columns import ZERO, Columns
from confidently.views.table import NONE, VIEWS, make_view
from tests.twins import views as twins

ROOT = Path(__file__).parents[2]
AUTOMATIC = ["center"]  # which a learner chooses, but which may be named, too


def test_the_core_has_the_same_views():
    assert list(VIEWS) == _core.view_names(), "src/confidently/views/table.py and core/views/table.hpp differ"


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_has_a_twin_and_is_listed(name):
    assert hasattr(twins, VIEWS[name].__name__.removesuffix("Scale")), "tests/twins/views.py lacks it"
    assert f"\n| `{name}` |" in (ROOT / "docs" / "views.md").read_text(encoding="utf-8"), "docs/views.md lacks it"


@pytest.mark.parametrize("name", VIEWS)
def test_the_arrays_of_a_view_are_described(name):
    """Those that are saved."""
    view = make_view(name)
    arrays = view.grown(view.new_arrays(2), Columns.alike(1, ZERO), 2)
    page = (ROOT / "docs" / "model-file.md").read_text(encoding="utf-8")
    missing = [key for key in view.packed(arrays, 1) if f"`{key}`" not in page]
    assert not missing, f"docs/model-file.md lacks {', '.join(missing)}"


def test_the_command_line_lists_all():
    @VIEW_OPTIONS[0]
    @click.command()
    def command() -> None: ...

    (option,) = command.params
    assert isinstance(option, click.Option)
    listed = (option.help or "").partition("  ")[0].partition(f"{NONE}, ")[2].rstrip(".").split(", ")
    assert listed == [name for name in VIEWS if name not in AUTOMATIC]
