"""A little of what make torture does: failing system calls, power cuts and kills, for each command."""

import sys

import pytest

from tests.torture.failures import failures
from tests.torture.kills import kill
from tests.torture.power import check_power_cuts, operations
from tests.torture.runs import CALLS, Runs
from tests.torture.scenarios import SCENARIOS, Folder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="preloads a library for glibc")
NAMES = [scenario.name for scenario in SCENARIOS]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("torture")
    try:
        runs = Runs(place)
    except (OSError, ValueError) as error:
        pytest.skip(f"no compiler: {error}")
    with runs:
        found = {}
        for scenario in SCENARIOS:
            (place / scenario.name).mkdir()
            found[scenario.name] = Folder(runs, scenario, place / scenario.name)
        yield found


@pytest.mark.parametrize("limit", [1, pytest.param(2, marks=pytest.mark.long("two failures of each call"))])
@pytest.mark.parametrize("name", NAMES)
def test_a_failing_call_leaves_whole_files_and_names_the_file(folders, name, limit):
    tried = list(failures(folders[name], limit))
    assert {call for call, _ in tried} == {call for call in CALLS if folders[name].counts[call]}


@pytest.mark.parametrize("name", NAMES)
def test_a_power_cut_leaves_whole_files(folders, name):
    assert check_power_cuts(folders[name].log, folders[name].old, folders[name].new) > 50


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_written_synced_and_renamed_and_its_folder_synced(folders, name):
    """In this order, whatever else happens in between."""
    found = operations(folders[name].log)
    renamed = [k for k, step in enumerate(found) if step.kind == "r"]
    assert renamed
    for k in renamed:
        inode = found[k].inode
        kinds = [step.kind for step in found[:k] if step.inode == inode]
        born = len(kinds) - 1 - kinds[::-1].index("c")  # numbers of files are used again
        assert "".join(dict.fromkeys(kinds[born:])) in ("cws", "ctws"), kinds
        assert kinds[-1] == "s"
        following = found[k + 1]
        assert following.kind == "d", following


def test_a_torn_file_is_found(folders):
    """The check of power cuts can fail: without the records of one kind of operation it does."""
    folder = folders["train"]
    for kind in ("s", "d"):
        log = b"".join(
            b"%s %d %d %d\n" % (step.kind.encode(), step.inode, step.other, len(step.data)) + step.data
            for step in operations(folder.log)
            if step.kind != kind
        )
        with pytest.raises(AssertionError, match=r"is torn|is lost"):
            check_power_cuts(log, folder.old, folder.new)


@pytest.mark.parametrize(
    ("kills", "stride"), [(2, 5), pytest.param(20, 1, marks=pytest.mark.long("20 kills of each command"))]
)
def test_kills_change_nothing(folders, kills, stride):
    assert kill(list(folders.values())[::stride], kills, seed=0).total() >= kills
