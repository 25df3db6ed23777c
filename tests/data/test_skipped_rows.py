"""Skipped rows leave no trace: the model is that of the file without them, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confidently.data import DataError, open_stream, request
from tests.data.test_streams import assert_same, trained
from tests.line_rows import parsers_of, pieces_of

GOOD = {
    "svmlight": ["+1 1:1 2:0.5", "-1 2:1 cost:2", "+1 7:2 3:1", "-1 cost:0.5 9:1 # comment", "+1", "", "# nothing"],
    "vw": ["1 |f a b:2", "-1 2 't|g c |f a", "1 | :1 :2", "-1 0.5 0 tag| d", "1 |", ""],
    "text": ["spam\tone two", "ham\ttwo two three", "spam\t", "ham\tnothing here", ""],
    "jsonl": ['{"label": 1, "a": 2}', '{"label": -1, "b": "x", "weight": 2}', '{"label": 1, "c": {"d": [1, 2]}}', ""],
}
BAD = {  # all but the last have new labels, new features or both before what is wrong
    "svmlight": ["new 500:1 600:x", "newer 400:1 cost:-1", "other,another 3:1", "-1 300:1 301:nan", "0.5 1:1"],
    "vw": ["new 3 'tag|new p q r:nan", "newer | s :1 :x1:2 :-y", "a,b | t u", "1 7 8 9 | a", "1:2:3 | a"],
    "text": ["nan\tfour five", "no tab", "-inf\tsix seven", "\xff\teight", "0.5\tone"],
    "jsonl": [
        '{"label": "new", "p": 1, "q": }', '{"r": 1, "label": [], "s": 2}', '{"t": 1, "label": 1', '{"label": 1.5}',
        '{"label": "a", "x": 1e400}',
    ],
}  # fmt: skip
HOW = {"svmlight": {}, "vw": {"bits": 10}, "text": {"ngrams": (1, 2)}, "jsonl": {"weight": "weight"}}


def everything(path, **how):
    """All that a stream says of its rows, but for where they stand."""
    with open_stream(path, **how) as stream:
        batches = list(stream)
        named = [batch.new_features for batch in batches if batch.new_features is not None]
        return stream.skipped, (
            [np.diff(batch.start).tolist() for batch in batches if len(batch)],
            *(
                np.concatenate([getattr(batch, x) for batch in batches]).tolist()
                for x in ("columns", "values", "labels")
            ),
            [w for b in batches for w in (np.ones(len(b)) if b.weights is None else b.weights).tolist()],
            [new.name for batch in batches for new in batch.new_labels],
            [name for new in named for name in new.names],
            [key for new in named for key in new.key.tolist()],
            [text for batch in batches for kept in batch.kept.values() for text in kept],
        )


def written(path, lines):
    path.write_bytes("".join(line + "\n" for line in lines).encode("latin-1"))
    return path


@pytest.mark.long("45 trainings of each format")
@pytest.mark.parametrize("kind", GOOD)
def test_skipped_rows_leave_no_trace(tmp_path_factory, kind):
    folder = tmp_path_factory.mktemp(kind)
    lines = st.lists(st.sampled_from(GOOD[kind]) | st.sampled_from(BAD[kind]), max_size=25)

    @settings(max_examples=15)
    @given(lines)
    def check(mixed):
        mixed = GOOD[kind][:2] + mixed
        bad = [line for line in mixed if line in BAD[kind]]
        with_bad = written(folder / "mixed", mixed)
        without = written(folder / "good", [line for line in mixed if line not in bad])
        how = {"format": kind, **HOW[kind]}
        if kind == "vw":
            how["keep"] = ("tag",)
        if kind == "text":
            how["multilabel"] = False
        skipped, rows = everything(with_bad, on_error="skip", **how)
        assert skipped == len(bad)
        assert (0, rows) == everything(without, **{"multilabel": False} | how)
        same = trained(without, how={"multilabel": False} | how)
        assert_same(trained(with_bad, how={"on_error": "skip"} | how), same)
        assert_same(trained(with_bad, chunk_bytes=23, how={"on_error": "skip"} | how), same)

    check()


@pytest.mark.parametrize("kind", GOOD)
def test_so_many_may_be_wrong_and_no_more(tmp_path, kind):
    path = written(tmp_path / "mixed", [GOOD[kind][0], BAD[kind][0], GOOD[kind][1], BAD[kind][1], BAD[kind][3]])
    how = {"format": kind, "multilabel": kind == "text" or None, **HOW[kind]}
    skipped, _ = everything(path, on_error=3, **how)
    assert skipped == 3
    for size in (16, 1 << 20):
        with pytest.raises(DataError, match=r"more than 2 invalid rows; the first: .*mixed, line 2"):
            everything(path, on_error=2, chunk_bytes=size, **how)
    with pytest.raises(DataError, match="mixed, line 2"):
        everything(path, **how)


def test_weights_and_tags_of_svmlight(tmp_path):
    path = written(
        tmp_path / "rows", ["1 cost:2.5 1:1", "-1 qid:3 sid:x 2:1 cost:0", "qid:1 1:1", "cost:3 4:1", "1 1:1"]
    )
    [batch] = open_stream(path, multilabel=True)
    assert batch.weights.tolist() == [2.5, 0.0, 1.0, 3.0, 1.0]
    assert batch.columns.tolist() == [0, 1, 0, 3, 0] and np.diff(batch.label_start).tolist() == [1, 1, 0, 0, 1]
    for wrong in ("cost:", "cost:x", "cost:-1", "cost:nan", "cost:1e10", "cost:1,5"):
        written(path, ["1 1:1", f"1 {wrong} 1:1"])
        with pytest.raises(DataError, match=f"line 2, column 3: weight '{wrong}' is not a number from 0 to 1e9"):
            list(open_stream(path))


def test_a_weight_is_as_if_the_row_were_learned_with_it(tmp_path):
    light = [f"{(-1) ** i} {1 + i % 5}:1 {6 + i % 3}:0.5" for i in range(40)]
    heavy = written(tmp_path / "heavy", [f"{line} cost:{1 + i % 4}" for i, line in enumerate(light)])
    learner = trained(written(tmp_path / "plain", light))
    weighted = trained(heavy)
    assert not np.array_equal(learner.learner.weights, weighted.learner.weights)
    vw = [f"{line.split()[0]} {1 + i % 4} | " + " ".join(line.split()[1:]) for i, line in enumerate(light)]
    same = trained(written(tmp_path / "rows.vw", vw), how={"normalize": "none"})
    assert sorted(weighted.learner.weights.ravel()) == sorted(same.learner.weights.ravel())


FULL = {  # of six features five are known; each line has more, the first of which are looked up before what is wrong
    "vw": ("1 | a b c d e", "1 | :1 :2 f:nan", "-1 | :1 :2"),
    "jsonl": ('{"a":1,"b":1,"c":1,"d":1,"e":1}', '{"f":1,"g":"x","h":1,"i":"y","j":1,}', '{"f":1,"g":1}'),
}


@pytest.mark.parametrize("kind", FULL)
def test_features_of_skipped_rows_take_no_room(monkeypatch, kind):
    """Wherever a stream is cut, and however many parsers share it."""
    monkeypatch.setattr(request, "MAX_COLUMNS", 6)
    known, bad, many = FULL[kind]
    for n in (1, 2, 3):
        for last in ([], [many]):
            text = "\n".join([known, known, bad, known, *last, ""]).encode()
            for cuts in ((), (len(known) + 1,), range(0, len(text), 7)):
                parsers = parsers_of({"format": kind}, n, skip_errors=True, ignore_labels=kind == "jsonl")
                if last:
                    with pytest.raises(ValueError, match="more than 6 different features"):
                        pieces_of(parsers, text, cuts)
                else:
                    found = pieces_of(parsers, text, cuts)
                    assert [sum(len(piece["start"]) - 1 for piece in found), sum(p["n_skipped"] for p in found)] == [
                        3,
                        1,
                    ]
