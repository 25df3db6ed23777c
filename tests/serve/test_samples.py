"""Models of made-up rows."""

import pytest

from confidently.samples.tickets import TEAMS, tickets
from confidently.serve.work.samples import N_LEARNED, N_WAITING, SAMPLES


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_a_model_that_has_learned_and_rows_that_wait(local, name):
    server = local()
    made = server("POST", "/v1/samples", {"sample": name})
    assert made.status_code == 201
    facts = server("GET", f"/v1/models/{name}").json()
    assert (facts["rows"], facts["to_label"] > 0.8 * N_WAITING) == (N_LEARNED, True)  # rows alike are asked about once
    measure, bound = {"messages": ("error", 0.2), "tickets": ("error", 0.3), "rents": ("mae", 150.0)}[name]
    assert facts["recent"][measure] < bound
    states = server("GET", f"/v1/models/{name}/facets").json()["state"]
    assert states == {"labelled": N_LEARNED, "unlabelled": N_WAITING}
    again = server("POST", "/v1/samples", {"sample": name})
    assert again.status_code == 409 and server("GET", f"/v1/models/{name}").json()["rows"] == N_LEARNED


def test_tickets_are_of_twenty_teams_and_the_same_everywhere():
    rows = list(tickets(2000, 1))
    assert {row["team"] for row in rows} == set(TEAMS) and len(TEAMS) == 20
    assert rows == list(tickets(2000, 1)) != list(tickets(2000, 2))
    assert list(tickets(0)) == []
