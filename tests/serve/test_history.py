"""Rates of the last hour: complete quarters of a minute, empty ones too, the same after a restart."""

import time

from confidently.serve.model.history import POINT_SECONDS, POINTS, History

NOON = 1_700_000_000 // POINT_SECONDS * POINT_SECONDS


def test_rates_of_points(monkeypatch):
    history = History()
    for seconds, learned, predicted, asked in [(0, 30, 0, 0), (14, 15, 60, 6), (31, 3, 0, 0), (44, 0, 15, 15)]:
        monkeypatch.setattr(time, "time", lambda at=seconds: NOON + at + 0.5)
        history.add(learned, predicted, asked)
    assert [one["learned"] for one in history.shown()] == [3.0, 0.0], "the third point is not complete"
    monkeypatch.setattr(time, "time", lambda: NOON + 61.0)
    for found in (history, History(history.as_list())):
        assert found.shown() == [
            {"time": NOON, "learned": 3.0, "predicted": 4.0, "asked": 0.1},
            {"time": NOON + 15, "learned": 0.0, "predicted": 0.0, "asked": None},
            {"time": NOON + 30, "learned": 0.2, "predicted": 1.0, "asked": 1.0},
            {"time": NOON + 45, "learned": 0.0, "predicted": 0.0, "asked": None},
        ]


def test_what_is_older_than_an_hour_is_forgotten(monkeypatch):
    history = History()
    for k in range(3 * POINTS):
        monkeypatch.setattr(time, "time", lambda k=k: NOON + k * POINT_SECONDS + 1.0)
        history.add(learned=k)
        assert len(history.as_list()) <= POINTS
    assert len(history.shown()) == POINTS - 1
    monkeypatch.setattr(time, "time", lambda: NOON + 10 * POINTS * POINT_SECONDS)
    assert history.shown() == []
    history.add(predicted=1)
    assert history.shown() == []
