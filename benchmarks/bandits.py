"""Bandits: mean reward on ten classification sets beside MABWiser and VW, after a change, and time per decision.

A classification set becomes a bandit: an arm per class, reward 1 for the right class (of multilabel rows, for one of
the labels) and 0 otherwise. Every learner sees the same rows in the same order, once, and decides one after the other;
the mean reward of all rows counts, so exploring costs. The sets have 9 to 300 columns; rows have unit L2 norm, and
pixels of mnist are averaged 2 by 2. All learners have their default parameters. Ours are ContextualBandit, which has
LinUCB with alpha = 1 on ridge regression with a noise of variance 1/4, and DecisionModel, which draws from its
propensities. VW has the products of context and action that it needs to tell arms apart (-q sa), one of its explorers,
and draws from its propensities.

The numbers are means over --seeds orders of the rows. --change rotates the rewards of all arms at half of the rows: the
reward of the second half is compared with that of a new DecisionModel that begins there.

Needs ``pip install mabwiser bayesianbandits vowpalwabbit``. --only, --players, --rows, --seeds, --change and --speed
run parts. The policies of the Open Bandit Pipeline are those of MABWiser; its package needs older
versions of others.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from harness import arguments, have_data, load, machine, markdown, table, write_json
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

from confidently.bandits import Action, Actions, ContextualBandit, DecisionModel

SETS = ("digits", "letter", "usps", "mnist", "shuttle", "spambase", "phishing", "a9a", "yeast", "scene")
N_ARMS, N_FEATURES, N_WORDS, N_LEARNED = 10_000, 100_000, 50, 20_000  # of the speed of decisions
N_TIMED = 300


class Player(Protocol):
    """A bandit of any package: arms are numbers."""

    def choose(self, x: np.ndarray) -> int: ...
    def learn(self, x: np.ndarray, arm: int, reward: float) -> None: ...


class Ours:
    def __init__(self, n_arms: int, seed: int) -> None:
        self.bandit = ContextualBandit(range(n_arms), random_state=seed)

    def choose(self, x: np.ndarray) -> int:
        return self.bandit.predict(x[None])[0]

    def learn(self, x: np.ndarray, arm: int, reward: float) -> None:
        self.bandit.partial_fit([arm], [reward], x[None])


class Decisions:
    """The model that a server hosts: it draws, and begins again when its predictions get worse."""

    def __init__(self, n_arms: int, seed: int) -> None:
        self.bandit, self.n = DecisionModel(seed=seed), 0
        self.actions = Actions([Action(str(k)) for k in range(n_arms)])

    def choose(self, x: np.ndarray) -> int:
        self.n += 1
        return self.bandit.decide(self._context(x), self.actions, str(self.n)).chosen

    def learn(self, x: np.ndarray, arm: int, reward: float) -> None:
        self.bandit.learn(self._context(x), Action(str(arm)), reward)

    @staticmethod
    def _context(x: np.ndarray) -> dict[str, float]:
        return {str(j): x[j] for j in np.flatnonzero(x)}


class MABWiser:
    def __init__(self, n_arms: int, seed: int, policy: str) -> None:
        from mabwiser.mab import MAB, LearningPolicy

        self.bandit = MAB(list(range(n_arms)), getattr(LearningPolicy, policy)(), seed=seed)
        self.n_arms, self.random, self.fitted = n_arms, np.random.default_rng(seed), False

    def choose(self, x: np.ndarray) -> int:  # it must be fitted before it predicts
        return int(self.bandit.predict(x[None])) if self.fitted else int(self.random.integers(self.n_arms))

    def learn(self, x: np.ndarray, arm: int, reward: float) -> None:
        (self.bandit.partial_fit if self.fitted else self.bandit.fit)([arm], [reward], x[None])
        self.fitted = True


class BayesianBandits:
    def __init__(self, n_arms: int, seed: int) -> None:
        from bayesianbandits import Arm, ContextualAgent, NormalInverseGammaRegressor, ThompsonSampling

        arms = [Arm(k, learner=NormalInverseGammaRegressor()) for k in range(n_arms)]
        self.bandit = ContextualAgent(arms, ThompsonSampling(), random_seed=seed)

    def choose(self, x: np.ndarray) -> int:
        return int(self.bandit.pull(x[None])[0])

    def learn(self, x: np.ndarray, arm: int, reward: float) -> None:
        self.bandit.update(x[None], np.array([reward]))


class VowpalWabbit:
    def __init__(self, n_arms: int, seed: int, explorer: str) -> None:
        from vowpalwabbit import Workspace

        self.bandit = Workspace(f"--cb_explore_adf {explorer} -q sa --random_seed {seed + 1} --quiet")
        self.actions = [f"|a k{k}" for k in range(n_arms)]
        self.random, self.propensity = np.random.default_rng(seed), 1.0

    def choose(self, x: np.ndarray) -> int:
        p = np.array(self.bandit.predict([self._shared(x), *self.actions]))
        arm = int(self.random.choice(len(p), p=p / p.sum()))
        self.propensity = float(p[arm])
        return arm

    def learn(self, x: np.ndarray, arm: int, reward: float) -> None:
        actions = list(self.actions)
        actions[arm] = f"0:{-reward}:{self.propensity:.6g} {actions[arm]}"
        self.bandit.learn([self._shared(x), *actions])

    @staticmethod
    def _shared(x: np.ndarray) -> str:
        return "shared |s " + " ".join(f"f{j}:{x[j]:.6g}" for j in np.flatnonzero(x))


PLAYERS: dict[str, Callable[[int, int], Player]] = {
    "ContextualBandit": Ours,
    "DecisionModel": Decisions,
    "MABWiser LinUCB": lambda n, seed: MABWiser(n, seed, "LinUCB"),
    "MABWiser LinTS": lambda n, seed: MABWiser(n, seed, "LinTS"),
    "MABWiser LinGreedy": lambda n, seed: MABWiser(n, seed, "LinGreedy"),
    "bayesianbandits": BayesianBandits,
    "VW squarecb": lambda n, seed: VowpalWabbit(n, seed, "--squarecb"),
    "VW cover": lambda n, seed: VowpalWabbit(n, seed, "--cover 3"),
    "VW bag": lambda n, seed: VowpalWabbit(n, seed, "--bag 5"),
}


def rows_of(name: str, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return contexts, and the reward of every arm for each."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(y))[:n_rows]
        X, y = X[order], y[order]
    else:
        X, y = load(name, n_rows, 1)[:2]
        X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    if name == "mnist":
        X = X.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(len(X), -1)
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    rewards = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
    if rewards.ndim == 1:
        rewards = rewards[:, None] == np.unique(rewards)
    return np.ascontiguousarray(X, dtype=np.float64), rewards.astype(float)


def play(player: Player, X: np.ndarray, rewards: np.ndarray) -> float:
    """Return the mean reward of all rows."""
    total = 0.0
    for x, reward in zip(X, rewards, strict=True):
        arm = player.choose(x)
        player.learn(x, arm, float(reward[arm]))
        total += float(reward[arm])
    return total / len(X)


def mean_rewards(names: list[str], players: list[str], n_rows: int, n_seeds: int) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        X, rewards = rows_of(name, n_rows)
        found[name] = {"rows": len(X), "columns": X.shape[1], "arms": rewards.shape[1], "random": float(rewards.mean())}
        for who in players:
            make = PLAYERS[who]
            begun = time.process_time()
            orders = [np.random.default_rng(seed).permutation(len(X)) for seed in range(n_seeds)]
            values = [play(make(rewards.shape[1], seed), X[o], rewards[o]) for seed, o in enumerate(orders)]
            found[name][who] = float(np.mean(values))
            found[name][f"{who}, seconds"] = (time.process_time() - begun) / n_seeds
        print(name, {who: round(found[name][who], 3) for who in players}, flush=True)
    return found


def after_change(names: list[str], n_rows: int, n_seeds: int) -> dict[str, dict[str, float]]:
    """Return the mean rewards of the second half by a model that saw other rewards in the first, and by a new one."""
    found = {}
    for name in names:
        X, rewards = rows_of(name, n_rows)
        half, values = len(X) // 2, []
        for seed in range(n_seeds):
            order = np.random.default_rng(seed).permutation(len(X))
            before, after = order[:half], order[half:]
            rotated = np.roll(rewards, 1, axis=1)
            model = Decisions(rewards.shape[1], seed)
            play(model, X[before], rewards[before])
            values.append([
                play(model, X[after], rotated[after]),
                play(Decisions(rewards.shape[1], seed), X[after], rotated[after]),
                model.bandit.n_restarts,
            ])  # fmt: skip
        found[name] = dict(zip(("changed", "new", "restarts"), np.mean(values, axis=0).tolist(), strict=True))
        print(name, found[name], flush=True)
    return found


def speed() -> dict[str, float]:
    """Return milliseconds per decision with many arms and many sparse features."""
    random = np.random.default_rng(0)

    def contexts(n: int) -> csr_array:
        columns = (N_FEATURES * random.random((n, N_WORDS)) ** 3).astype(np.int64)  # few words are common
        X = csr_array((np.ones(columns.size), columns.ravel(), np.arange(n + 1) * N_WORDS), shape=(n, N_FEATURES))
        X.sum_duplicates()
        return X

    found = {}
    for policy in ("lin_ucb", "epsilon_greedy", "lin_ts"):
        bandit = ContextualBandit(range(N_ARMS), policy, random_state=0)
        X, timed = contexts(N_LEARNED), contexts(N_TIMED)
        begun = time.process_time()
        bandit.partial_fit(random.integers(N_ARMS, size=N_LEARNED).tolist(), random.integers(2, size=N_LEARNED), X)
        found[f"{policy}: learn"] = (time.process_time() - begun) / N_LEARNED * 1e3
        rows = [timed[[i]] for i in range(N_TIMED)]
        for what, ask in (("predict", bandit.predict), ("decide and log", bandit.decide)):
            begun = time.process_time()
            for row in rows:
                ask(row)
            found[f"{policy}: {what}"] = (time.process_time() - begun) / N_TIMED * 1e3
    return found | speed_of_decisions(random)


def speed_of_decisions(random: np.random.Generator) -> dict[str, float]:
    """Return milliseconds of a DecisionModel with as many actions, of which 3,000 rewards are known."""
    found = {}
    actions = [Action(str(k), {f"topic{k % 20}": 1.0, "price": random.random()}) for k in range(N_ARMS)]
    numbers = random.integers(N_ARMS, size=3000).tolist()

    def context() -> dict[str, Any]:
        return {"city": f"c{random.integers(10)}", "device": f"d{random.integers(3)}", "hour": random.random()}

    for shared in (False, True):
        name, model = "shared" if shared else "own", DecisionModel(shared=shared)
        rows = [(context(), actions[k], float(random.random() < 0.3)) for k in numbers]
        begun = time.process_time()
        for row in rows:
            model.learn(*row)
        found[f"DecisionModel, {name}: learn"] = (time.process_time() - begun) / len(rows) * 1e3
        for n in (10, N_ARMS):
            some, questions = Actions(actions[:n]), [context() for _ in range(N_TIMED)]
            model.decide(questions[0], some, "")
            begun = time.process_time()
            for i, question in enumerate(questions):
                model.decide(question, some, str(i))
            found[f"DecisionModel, {name}: {n:,} actions"] = (time.process_time() - begun) / N_TIMED * 1e3
    return found


def main() -> None:
    args = arguments(
        __doc__ or "",
        ("--only", {"metavar": "NAMES", "default": ",".join(SETS)}),
        ("--players", {"metavar": "NAMES", "default": ",".join(PLAYERS)}),
        ("--rows", {"type": int, "default": 2000}),
        ("--seeds", {"type": int, "default": 2}),
        ("--change", {"action": "store_true", "help": "rewards that change at half of the rows only"}),
        ("--speed", {"action": "store_true", "help": "time decisions only"}),
    )
    print(machine())
    if args.speed:
        times = speed()
        print(table(["", "ms"], [[name, f"{value:.3f}"] for name, value in times.items()]))
        if args.json:
            write_json(args.json, times)
        return
    if not have_data():
        return
    if args.change:
        changes = after_change(args.only.split(","), args.rows, args.seeds)
        lines = [
            [name, f"{row['changed']:.3f}", f"{row['new']:.3f}", f"{row['changed'] / row['new']:.2f}"]
            for name, row in changes.items()
        ]
        print(markdown(["set", "after the change", "new model", "ratio"], lines))
        if args.json:
            write_json(args.json, changes)
        return
    players = args.players.split(",")
    warnings.simplefilter("ignore")  # of other packages
    found = mean_rewards(args.only.split(","), players, args.rows, args.seeds)
    best = [max(players, key=lambda who, row=row: row[who]) for row in found.values()]  # type: ignore[misc]
    lines = [
        [name, str(row["arms"]), f"{row['random']:.3f}", *(f"{row[who]:.3f}" for who in players)]
        for name, row in found.items()
    ]
    print(markdown(["set", "arms", "at random", *players], lines))
    print(f"ours best on {sum(who in ('ContextualBandit', 'DecisionModel') for who in best)} of {len(found)} sets")
    if args.json:
        write_json(args.json, found)


if __name__ == "__main__":
    main()
