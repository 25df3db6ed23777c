"""Models with dense covariances learn blocks of rows; however rows come in, the model is that of ``train``."""

import random
import shutil

import pytest

from confidently.serve import offline
from confidently.serve.model.served import ROWS_FOR_PRODUCTS, ServedModel
from confidently.serve.model.settings import ModelSettings
from tests.serve.rows import examples, made, trained
from tests.serve.running import kind_of, lines_of, teach, wait_until
from tests.serve.test_set_aside import FAR, FAR_OPTIONS, MODEL, TINY
from tests.serve.test_set_aside import trained as of_lines

KINDS = {
    "full": ({"covariance": "full"}, ("--covariance=full",)),
    "shared": ({"covariance": "shared"}, ("--covariance=shared",)),
    "low rank": ({"covariance": "low_rank", "rank": 3}, ("--covariance=low_rank", "--rank=3")),
    "a matrix per class": (
        {"covariance": "full", "multiclass": "one-vs-rest"}, ("--covariance=full", "--multiclass=one-vs-rest")
    ),
    "a class that comes late": ({"covariance": "full"}, ("--covariance=full",)),
}  # fmt: skip
VIEW = {"view": "standard"}, ("--view=standard",)


def several(n, late=False):
    """Rows of some hundred columns and three classes."""
    rows = made(n, "mixed", seed=7)
    return [(x, "other" if k % 5 == 4 and (k > 130 or not late) else label) for k, (x, label) in enumerate(rows)]


def in_pieces(server, rows, sizes):
    """Send rows in pieces of random size; yield the number of rows sent so far."""
    chance, at = random.Random(3), 0
    while at < len(rows):
        n = chance.choice(sizes)
        teach(server, rows[at : at + n], at)
        at += n
        yield min(at, len(rows))


def one_by_one(local, rows, folder):
    server = local(folder)
    for _ in in_pieces(server, rows, [1]):
        pass
    return server


def in_batches(local, rows, folder):
    """With questions in between, which change nothing."""
    server = local(folder)
    for _ in in_pieces(server, rows, [1, 5, 64, 97]):
        assert server("POST", f"{MODEL}/predict", {"features": {"a": 1, "new": 2}}).status_code == 200
        assert server("POST", f"{MODEL}/explain", {"features": {"a": 1}}).status_code == 200
    return server


def restarted(local, rows, folder):
    """From snapshots in the middle of blocks, and once from a copy, as after a kill: a snapshot and rows after it."""
    server, at = local(folder), 0
    for number, n in enumerate([40, 1, 50, 60, 3, len(rows)]):
        teach(server, rows[at : at + n], at)
        at += n
        if number == 2:
            assert server("POST", "/v1/snapshot").json()["snapshots"]["m"] == at
        elif number == 3:
            shutil.copytree(folder, folder.parent / "killed")
            folder = folder.parent / "killed"
            server = local(folder)
        elif number < 5:
            server.stop()
            server = local(folder)
        assert server("GET", MODEL).json()["rows"] == min(at, len(rows))
    return server


@pytest.mark.long("200 rows of each kind, trained three times")
@pytest.mark.few(1)
@pytest.mark.parametrize("way", [in_batches, restarted, one_by_one], ids=lambda way: way.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_the_served_model_is_that_of_train(local, tmp_path, kind, way):
    (settings, options), (view, of_view), folder = KINDS[kind], VIEW, tmp_path / "rows"
    rows = several(200, late="late" in kind)
    server = local(folder)
    assert server("PUT", MODEL, settings | view).status_code == 201
    server.stop()
    server = way(local, rows, folder)
    file = server("GET", f"{MODEL}/file").content
    assert file == trained(tmp_path, rows, *options, *of_view)
    server.stop()
    assert of_lines(tmp_path, offline.export(server.engine.folder, "m"), *options, *of_view) == file


@pytest.mark.long("a stack of 1,100 rows")
def test_a_stack_that_learns_row_by_row_is_that_of_train(tmp_path):
    """Beyond the rows that decide, its members with dense covariances continue their blocks, too."""
    rows = made(1100, "numbers", seed=2)
    model, given = ServedModel(ModelSettings(auto=True)), examples(rows)
    model.learn(given[:990])
    for one in given[990:]:
        model.learn([one])
    assert any(member.by_products for member in model.stream.learner.members if hasattr(member, "by_products"))
    model.model().save(tmp_path / "served.cw")
    assert (tmp_path / "served.cw").read_bytes() == trained(tmp_path, rows, "--auto")


def test_a_row_that_is_refused_is_told_at_once(local, tmp_path):
    """In the middle of a block, too, and counted; what others are told of rows before it is true."""
    server = local()
    server("PUT", MODEL, FAR | {"covariance": "full"})
    rows = [(features, "spam" if label == "spam" else "ham") for features, label in made(40, "numbers")]
    teach(server, rows[:20], 0)
    assert server("GET", MODEL).json()["rows"] == 20
    answer = server("POST", f"{MODEL}/learn?wait=learned", {"id": "tiny", **TINY})
    assert (answer.status_code, kind_of(answer)) == (422, "set-aside")
    teach(server, rows[20:], 20)
    facts = server("GET", MODEL).json()
    assert (facts["rows"], facts["refused"], facts["waiting"]) == (40, 1, 0)
    wait_until(lambda: [one["id"] for one in lines_of(server("GET", f"{MODEL}/set-aside"))] == ["tiny"])
    file = server("GET", f"{MODEL}/file").content
    assert file == trained(tmp_path, rows, *FAR_OPTIONS, "--covariance=full")


@pytest.mark.parametrize(("d", "least"), [(10, 1), (120, ROWS_FOR_PRODUCTS)])
def test_rows_of_products_wait_for_others(d, least):
    """Only where they are learned by products: a matrix of few columns learns row by row."""
    model = ServedModel(ModelSettings(covariance="full", view="none"))
    rows = [({f"f{j}": (j + k) % 7 for j in range(d)}, "ab"[k % 2]) for k in range(20)]
    model.learn(examples(rows))
    assert model.least_rows == least
