"""Models of decisions trained on logs by a cluster."""

import json

import numpy as np
import pytest

from confidently.bandits import Action, DecisionModel, play, read_decisions
from confidently.data import DataError
from confidently.distributed import fit_decisions
from confidently.samples import routes
from confidently.samples.routes import MODELS

ACTIONS = [Action(name) for name in MODELS]


@pytest.fixture
def logs(tmp_path):
    for k in range(4):
        rows = (one | {"context": one["context"] | {"words": 0}} for one in routes(200, seed=k))
        (tmp_path / f"{k}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    return [str(tmp_path / f"{k}.jsonl") for k in range(4)]


@pytest.mark.long("three trainings on a cluster")
def test_the_result_is_that_of_one_process(client, logs):
    alone = DecisionModel(forget=False)
    for path in logs:
        play(alone, read_decisions(path), learn=True)
    for rounds in (1, 2):
        model = DecisionModel(forget=False)
        found = fit_decisions(model, logs, client=client, rounds=rounds)
        assert (model.n_learned, found.n_learned) == (0, 800)
        for one in routes(5, seed=9):
            context = {"task": one["context"]["task"]}
            np.testing.assert_allclose(found.scores(context, ACTIONS)[0], alone.scores(context, ACTIONS)[0], atol=1e-8)
        assert found.noise == pytest.approx(alone.noise, rel=0.1)


def test_what_cannot_be_trained(client, logs, tmp_path):
    with pytest.raises(ValueError, match="use forget=False"):
        fit_decisions(DecisionModel(), logs, client=client)
    with pytest.raises(ValueError, match="expected 1 to 4, the number of logs, got 5"):
        fit_decisions(DecisionModel(forget=False), logs, client=client, rounds=5)
    (tmp_path / "bad").write_text("{}\n")
    with pytest.raises(DataError, match="bad, line 1: not a decision"):
        fit_decisions(DecisionModel(forget=False), [*logs, str(tmp_path / "bad")], client=client)
