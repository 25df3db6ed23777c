"""What policies would have earned on logged decisions: right values, with intervals, and what is left out."""

import numpy as np
import pytest

from confidently.bandits.evaluation import evaluate_policy
from confidently.bandits.policies import make_policy
from confidently.serve.engine.engine import MAX_EVALUATIONS
from confidently.serve.model.evaluating import BASELINE, LOGGED, Collected, policy_named
from confidently.serve.model.logged_decisions import Decided, decided_in
from confidently.serve.model.settings import Deciding
from tests.serve.test_decisions import SHOP, decided, refused, rewarded, teach


@pytest.fixture
def shop(with_model):
    return with_model({"task": "decisions", "policy": {"least_share": 0.3}}, name=SHOP)


def evaluated(one, *policies, **more):
    answer = one("GET", f"{SHOP}/evaluate", params={"policy": list(policies)} | more)
    assert answer.status_code == 200, answer.text
    return answer.json()


def logged(one, n):
    """The decisions d0, d1, ... as the log keeps them."""
    [hosted] = one.engine.hosted.values()
    find = lambda log, request: [log.find(hosted.number, f"d{k}").note for k in range(n)]  # noqa: E731
    return [decided_in(note) for note in one.engine.writer.write(find)]


def made(n, random, apprentice=False):
    """Decisions of a made-up log with three actions of the mean rewards .2, .4 and .6, whose model is of little use."""
    found = []
    for k in range(n):
        p = random.dirichlet([1.0] * 3) * 0.85 + 0.05
        chosen = int(random.choice(3, p=p))
        if apprentice:
            p = np.array([1.0, 0.0, 0.0])
        mean = np.clip(random.normal([0.2, 0.4, 0.6], 0.2), 0, 1)
        one = Decided(
            0 if apprentice else chosen, ["a", "b", "c"], p.tolist(), mean.tolist(), [0.04] * 3, Deciding(), 1, k, 0,
            b"{}", would=chosen if apprentice else None,
        )  # fmt: skip
        found.append((1000 * k, float(random.random() < [0.2, 0.4, 0.6][one.chosen]), one))
    return found


def collected(decisions, *names):
    found = Collected({name: policy_named(name) for name in (LOGGED, BASELINE, *names)})
    for k in range(0, len(decisions), 100):
        found.add(decisions[k : k + 100])
    return found


# --- values ----------------------------------------------------------------------------------------------------------


def test_values_are_those_of_the_estimators():
    decisions = made(600, np.random.default_rng(0))
    found = collected(decisions, "lin_ucb:alpha=2").result(None, False)["policies"][-1]
    mean, variance = (np.array([getattr(one, name) for _, _, one in decisions]) for name in ("mean", "variance"))
    dist = make_policy("lin_ucb", alpha=2.0).propensities(mean, variance)
    p = np.array([one.probabilities[one.chosen] for _, _, one in decisions])
    reward, action = np.array([reward for _, reward, _ in decisions]), [one.chosen for _, _, one in decisions]
    mean[: np.flatnonzero(np.diff(reward))[0] + 2] = reward[0]  # within the rewards before
    mean[0] = 0.0
    values = {one.estimator: one for one in evaluate_policy(reward, action, dist, p, mean, min_pscore=1e-3)}
    assert found["estimates"] == pytest.approx({name: one.value for name, one in values.items()}, rel=1e-5)
    assert found["value"] == found["estimates"]["dr"]
    assert found["effective_rows"] == pytest.approx(values["ipw"].effective_rounds)
    assert found["largest_weight"] == pytest.approx(values["ipw"].largest_weight)


@pytest.mark.long("40 logs of 400 decisions")
def test_intervals_cover_what_is_true():
    random, truth = np.random.default_rng(1), {"always:b": 0.4, "always:c": 0.6, "uniform": 0.4, "baseline": 0.2}
    covered, gained, n = dict.fromkeys(truth, 0), 0, 40
    for _ in range(n):
        for one in collected(made(400, random), *truth).result(None, False)["policies"]:
            covered[one["policy"]] += one["low"] <= truth[one["policy"]] <= one["high"]
            if one["policy"] == "always:c":
                gained += one["gain"]["low"] <= 0.4 <= one["gain"]["high"]
    assert min(covered.values()) >= 0.85 * n and gained >= 0.95 * n


def test_costs_and_least_shares_count(shop):
    for k in range(30):
        actions = [{"id": "a", "cost": 100.0}, {"id": "b", "least": 0.25}, "c"]
        rewarded(shop, f"d{k}", 1.0) if decided(shop, f"d{k}", actions=actions) else None
    collected = Collected({name: policy_named(name) for name in (LOGGED, BASELINE, "greedy")})
    collected.add([(k, 1.0, one) for k, one in enumerate(logged(shop, 30))])
    chosen = collected._judged["greedy"][0][0]
    for one, p in zip(logged(shop, 30), chosen, strict=True):
        best = np.argmax(np.array(one.mean)[1:]) + 1
        tied = len(set(one.mean[1:])) == 1
        assert one.chosen or p == 0.0
        assert tied or p == pytest.approx(0.25 * (one.chosen == 1) + 0.75 * (one.chosen == best))


def test_an_action_that_is_not_there_gives_way_to_the_baseline():
    decisions = made(50, np.random.default_rng(0))
    found = {one["policy"]: one for one in collected(decisions, "always:z").result(None, False)["policies"]}
    assert found["always:z"]["value"] == found["baseline"]["value"]


# --- what a log cannot tell ------------------------------------------------------------------------------------------


def test_few_effective_rows_are_warned_of(shop):
    teach(shop, 20)
    found = evaluated(shop, "always:games")["policies"][0]
    assert "rounds say as much" in found["warning"]
    assert found["high"] - found["low"] > 0.2


def test_a_policy_without_overlap_is_warned_of(with_model):
    one = with_model({"task": "decisions", "policy": {"name": "lin_ucb"}}, name=SHOP)
    teach(one, 80)
    found = evaluated(one, "uniform")["policies"][0]
    assert found["overlap"] < 0.6 and "had the probability 0" in found["warning"]
    assert found["high"] - found["low"] > 0.9 * (1 - found["overlap"])


def test_of_an_apprentice_only_the_baseline_is_known(with_model):
    one = with_model({"task": "decisions", "policy": {"apprentice": True}}, name=SHOP)
    for k in range(60):
        decided(one, f"d{k}", baseline="sport")
        rewarded(one, f"d{k}", float(k % 2))
    found = evaluated(one, "baseline", "uniform", "always:sport")
    values = {one["policy"]: one["value"] for one in found["policies"]}
    assert values == {"baseline": 0.5, "uniform": None, "always:sport": 0.5}
    assert "only that can be evaluated" in found["policies"][1]["warning"]


def test_decisions_of_an_apprentice_are_left_out_beside_others():
    random = np.random.default_rng(0)
    found = collected([*made(100, random, apprentice=True), *made(300, random)], "always:c").result(None, False)
    assert (found["evaluated"], found["left_out"]) == (300, {"apprentice": 100})


def test_decisions_without_a_usable_reward_are_counted(shop):
    for id in ("waiting", "erased", "bad", "good"):
        decided(shop, id)
    for id, batch in (("erased", "x"), ("bad", "bad"), ("good", "good")):
        shop("POST", f"{SHOP}/rewards?wait=learned&batch={batch}", {"id": id, "reward": 1.0})
    shop("POST", f"{SHOP}/predict", {"id": "no decision", "features": {"arm": "news"}})
    assert shop("DELETE", f"{SHOP}/examples/erased").status_code == 200
    assert shop("DELETE", f"{SHOP}/batches/bad?wait=live").status_code == 200
    found = evaluated(shop)
    assert found["left_out"] == {"waiting": 1, "erased": 1, "taken-out": 1}
    assert found["evaluated"] == 1


def test_nothing_is_known_before_the_first_reward(shop):
    decided(shop, "d0")
    found = evaluated(shop, "uniform", periods="3")
    assert found["logged"]["value"] is None and found["periods"] == [] and found["reward_range"] is None


# --- periods ---------------------------------------------------------------------------------------------------------


def test_periods_are_parts_of_the_decisions():
    decisions = made(300, np.random.default_rng(0))
    found = collected(decisions).result(4, False)
    assert [one["decisions"] for one in found["periods"]] == [75] * 4
    assert sum(one["actions"]["c"] for one in found["periods"]) == sum(one.chosen == 2 for _, _, one in decisions)
    means = [np.mean([reward for _, reward, _ in decisions[k : k + 75]]) for k in range(0, 300, 75)]
    assert [one["value"] for one in found["logged"]["periods"]] == pytest.approx(means)


def test_days_are_periods():
    day = 86_400_000
    given = enumerate(made(7, np.random.default_rng(0)))
    decisions = [(k * day // 2 + day // 4, reward, one) for k, (_, reward, one) in given]
    found = collected(decisions).result(None, True)
    assert [one["decisions"] for one in found["periods"]] == [2, 2, 2, 1]


def test_only_the_most_frequent_actions_are_shown():
    decisions = [
        (k, 1.0, Decided(0, [f"a{min(k, 20) % 12}"], [1.0], [0.0], [1.0], Deciding(), 1, 0, 0, b"{}"))
        for k in range(40)
    ]
    [period] = collected(decisions).result(1, False)["periods"]
    assert len(period["actions"]) == 8 and period["others"] == 40 - sum(period["actions"].values()) > 0


# --- requests --------------------------------------------------------------------------------------------------------


def test_a_range_of_rewards_may_be_given(shop):
    teach(shop, 40)
    narrow, wide = evaluated(shop, "uniform"), evaluated(shop, "uniform", reward_range="-1,3.5")
    assert (narrow["reward_range"], wide["reward_range"]) == ([0.0, 1.0], [-1.0, 3.5])
    ends = [(one["logged"]["low"], one["logged"]["high"]) for one in (narrow, wide)]
    assert ends[1][0] <= ends[0][0] < ends[0][1] <= ends[1][1] and ends[0] != ends[1]
    answer = shop("GET", f"{SHOP}/evaluate?reward_range=0,0.5")
    assert refused(answer)[:2] == (422, "invalid-parameter") and "has the reward 1" in answer.json()["detail"]


def test_few_evaluations_run_at_once(shop):
    for _ in range(MAX_EVALUATIONS):
        assert shop.engine.evaluations.acquire(blocking=False)
    assert refused(shop("GET", f"{SHOP}/evaluate"))[:2] == (503, "overloaded")
    for _ in range(MAX_EVALUATIONS):
        shop.engine.evaluations.release()
    assert shop("GET", f"{SHOP}/evaluate").status_code == 200
    assert refused(shop("GET", f"{SHOP}/evaluate?reward_range=0"))[0] == 422
    assert shop("GET", f"{SHOP}/evaluate").status_code == 200
