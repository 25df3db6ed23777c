"""A table with columns of all kinds in a Dask frame is learned and predicted as the pandas frame is."""

import numpy as np
import pytest

import confidently
from tests.mixed_table import mixed_table

dask = pytest.importorskip("dask", reason="Dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
pytest.importorskip("distributed")
from confidently import distributed  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")


@pytest.mark.parametrize(
    ("kind", "label", "method"),
    [
        ("OnlineClassifier", "label", "predict_proba"), ("AutoClassifier", "label", "predict_proba"),
        ("OnlineRegressor", "price", "predict"), ("AutoRegressor", "price", "predict"),
    ],
)  # fmt: skip
def test_frames_of_dask_are_those_of_pandas(kind, label, method):
    table = mixed_table().drop(columns="price" if label == "label" else "label")
    rows, estimator = table.drop(columns=label), getattr(confidently, kind)
    model = estimator().fit(table, label)
    expected, parts = getattr(model, method)(rows), dd.from_pandas(rows, npartitions=3)
    for frame in (parts, parts[list(rows.columns[::-1])]):
        np.testing.assert_array_equal(getattr(model, method)(frame), expected)
    by_part = [getattr(model, method)(part) for part in dask.compute(*parts.to_delayed())]
    np.testing.assert_allclose(np.concatenate(by_part), expected, rtol=1e-12)
    by_dask = estimator().fit(dd.from_pandas(table, npartitions=3), label)
    np.testing.assert_array_equal(getattr(by_dask, method)(rows), expected)


def test_a_cluster_learns_frames_of_numbers(client):
    """Of others, one error names the columns and what to do; files of the same rows are learned."""
    frame = dd.from_pandas(mixed_table().drop(columns="price"), npartitions=2)
    problem = r"data: no numbers in columns 'town' \(.*\), 'level' \(category\), 'id' \(.*\) and \d more; write the f"
    with pytest.raises(ValueError, match=problem):
        distributed.fit(confidently.OnlineClassifier(), frame, "label", client=client)
