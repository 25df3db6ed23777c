"""The expected gain of more labels: curves with a known law, and curves that promise nothing."""

import math
import random

import numpy as np
import pytest

from confidently.serve.model.gain import LOWER, expected_gain
from confidently.serve.model.metrics import Curve

FIRST = "/v1/models/m"


def curve_of(error, n, seed, rows=25):
    """Points of rows whose mistakes are drawn with the error of their number."""
    chance = random.Random(seed)
    return [
        (0.0, rows, sum(chance.random() < error(k) for k in range(first + 1, first + rows + 1)), 0.0)
        for first in range(0, n, rows)
    ]


@pytest.mark.parametrize("b", [0.15, 0.3, 0.5])
def test_the_gain_is_that_of_the_law_that_made_the_mistakes(b):
    n, a = 6000, 0.6

    def error(k):
        return min(a * k**-b, 0.5)

    found = [expected_gain(curve_of(error, n, seed)) for seed in range(40)]
    assert None not in found
    rows, errors = np.median([gain.rows for gain in found]), np.median([gain.error for gain in found])
    assert rows == pytest.approx(n * (LOWER ** (-1 / b) - 1), rel=0.2)
    assert errors == pytest.approx(error(n), rel=0.1)
    assert all(gain.then == pytest.approx(LOWER * gain.error) for gain in found)


def test_the_law_is_that_of_weighted_least_squares():
    """Of parts that are whole points, as numpy fits it."""
    points = [(0.0, 100 * 2 ** max(k - 1, 0), 40 * (k + 2), 0.0) for k in range(6)]
    ends = np.cumsum([rows for _, rows, *_ in points])
    starts = ends - [rows for _, rows, *_ in points]
    x = np.log(np.sqrt(np.maximum(starts, 1) * ends))
    mistakes = np.array([wrong for _, _, wrong, _ in points])
    y = np.log(mistakes / np.array([rows for _, rows, *_ in points]))
    slope, at_one = np.polyfit(x, y, 1, w=np.sqrt(mistakes))
    found = expected_gain(points)
    assert found.error == pytest.approx(math.exp(at_one + slope * math.log(ends[-1])))
    assert found.rows == math.ceil(ends[-1] * (LOWER ** (1 / slope) - 1))


@pytest.mark.parametrize(
    "error", [lambda k: 0.3, lambda k: min(0.1 + k / 10_000, 0.5), lambda k: 0.0], ids=["flat", "rising", "perfect"]
)
def test_curves_that_do_not_fall_promise_nothing(error):
    found = [expected_gain(curve_of(error, 3000, seed)) for seed in range(40)]
    assert sum(gain is None for gain in found) >= 36, "at two standard errors, one of forty falls by chance"
    assert expected_gain([]) is None
    assert expected_gain(curve_of(error, 50, 0)) is None


def test_the_server_tells_the_gain(with_model):
    server = with_model({"view": "none"})
    assert server("GET", f"{FIRST}/queue").json()["progress"]["gain"] is None
    curve = Curve()
    for point in curve_of(lambda k: min(0.6 * k**-0.4, 0.5), 4000, 1):
        curve.add(*point)
    server.engine.find("m").metrics.curve = curve
    found = server("GET", f"{FIRST}/metrics").json()["labelling"]["gain"]
    assert found == expected_gain(curve.points)._asdict()
    assert server("GET", f"{FIRST}/queue").json()["progress"]["gain"] == found
