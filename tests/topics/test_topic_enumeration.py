"""Steps of the topic model on corpora so small that all assignments of topics to words can be enumerated."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import digamma, gammaln, logsumexp
from scipy.stats import multivariate_normal

from confidently.topics.inputs import bags_of
from confidently.topics.learner import TopicLearner
from tests.topics.test_topic_learner import SETTINGS
from tests.twins.topic_reference import document_prior, expected_topics, lambda_rate, words_of

K, V = 2, 3
COUNTS = np.array([[2, 1, 0], [0, 1, 2], [1, 0, 1], [0, 0, 1]])
SIGNS = np.array([1, -1, 1, -1])
SMALL = replace(SETTINGS, n_topics=K, epsilon=1.5, c=1.3, prior_variance=2.0, step_size=1.0, n_samples=1, burn_in=0,
                batch_size=len(COUNTS), topic_expectation="digamma")  # fmt: skip


def state(settings, seed=0):
    """A state away from the prior, so that every term matters."""
    learner = TopicLearner(settings, 2, V)
    rng = np.random.default_rng(seed)
    learner.state["words"][:, 0] = rng.uniform(0.2, 3, (V, K))
    learner.state["totals"][0] = learner.state["words"][:, 0].sum(axis=0)
    root = rng.normal(size=(K, K))
    learner.state["precision"][0, 0] += root @ root.T
    learner.state["shift"][0, 0] = [1.5, -0.7]
    if settings.nonparametric:
        learner.state["sticks"][0] = [[2.0, 1.2], [1.1, 0.8]]
    return learner


def posteriors(s, globals_):
    """Per document: its words, all assignments, their proportions, q and 1/lambda, and the log of the sum."""
    words, totals, precision, shift, sticks = globals_
    likelihood = np.log(expected_topics(s, words, totals, V))
    prior = document_prior(s, sticks)
    sigma = np.linalg.inv(precision)
    mu = sigma @ shift
    found = []
    for row, sign in enumerate(SIGNS):
        w = np.repeat(np.arange(V), COUNTS[row])
        assignments = list(product(range(K), repeat=len(w)))
        log_q, rates = [], []
        for z in assignments:
            C = np.bincount(z, minlength=K)
            share = C / len(w)
            rate = lambda_rate(s, sign, share, mu, sigma)
            rates.append(rate)
            log_q.append(
                (gammaln(prior + C) - gammaln(prior)).sum() + gammaln(prior.sum()) - gammaln(prior.sum() + len(w))
                + likelihood[w, z].sum() - s.c * (s.epsilon - sign * mu @ share) - rate
            )  # fmt: skip
        total = logsumexp(log_q)
        shares = np.array([np.bincount(z, minlength=K) / len(w) for z in assignments])
        found.append((w, assignments, shares, np.exp(log_q - total), 1 / np.array(rates), total))
    return found


def moved(s, before, found):
    """The optimal globals for the exact distribution of topics and lambda."""
    words, totals, precision, shift, sticks = before
    counts, precision, shift = np.zeros((V, K)), precision.copy(), shift.copy()
    for (w, assignments, shares, q, inverse, _), sign in zip(found, SIGNS, strict=True):
        for z, p in zip(assignments, q, strict=True):
            np.add.at(counts, (w, list(z)), p)
        precision += s.c**2 * np.einsum("s,si,sj->ij", q * inverse, shares, shares)
        shift += s.c * sign * (q * (1 + s.c * s.epsilon * inverse)) @ shares
    return words + counts, totals + counts.sum(axis=0), precision, shift, sticks


def divergences(s, now, before):
    """KL of the Gaussians and of the Dirichlets."""
    P, P0 = now[2], before[2]
    m = np.linalg.solve(P, now[3]) - np.linalg.solve(P0, before[3])
    gaussian = 0.5 * (
        np.trace(P0 @ np.linalg.inv(P)) + m @ P0 @ m - K + np.linalg.slogdet(P)[1] - np.linalg.slogdet(P0)[1]
    )
    a, b = now[0] + s.word_prior, before[0] + s.word_prior
    dirichlet = (
        gammaln(a.sum(axis=0)) - gammaln(a).sum(axis=0) - gammaln(b.sum(axis=0)) + gammaln(b).sum(axis=0)
        + ((a - b) * (digamma(a) - digamma(a.sum(axis=0)))).sum(axis=0)
    )  # fmt: skip
    return gaussian + dirichlet.sum()


def globals_of(learner):
    return (
        learner.state["words"][:, 0], learner.state["totals"][0], learner.state["precision"][0, 0],
        learner.state["shift"][0, 0], learner.state["sticks"][0] if learner.settings.nonparametric else None,
    )  # fmt: skip


def test_the_objective_never_rises():
    """KL - E log p(X | Phi, Z) + the bound of the loss after each round, with exact expectations."""
    before = globals_of(state(SMALL))
    now, objective = before, []
    for _ in range(30):
        found = posteriors(SMALL, now)
        objective.append(divergences(SMALL, now, before) - sum(total for *_, total in found))
        now = moved(SMALL, before, found)
    assert objective[0] - objective[-1] > 0.1
    assert (np.diff(objective) < 1e-12).all()
    assert objective[-2] - objective[-1] < 1e-6


def test_gaussian_divergence_by_sampling():
    """The divergences of the test above equal their estimates from samples."""
    before = globals_of(state(SMALL))
    now = moved(SMALL, before, posteriors(SMALL, before))
    q, p = (multivariate_normal(np.linalg.solve(g[2], g[3]), np.linalg.inv(g[2])) for g in (now, before))
    draws = q.rvs(200_000, random_state=0)
    sampled = (q.logpdf(draws) - p.logpdf(draws)).mean()
    same_words = (before[0], before[1], now[2], now[3], None)
    assert abs(divergences(SMALL, same_words, before) - sampled) < 0.01


@pytest.mark.parametrize("nonparametric", [False, True])
@pytest.mark.parametrize("expectation", ["ratio", "digamma"])
def test_the_compiled_chain_has_the_enumerated_means(nonparametric, expectation):
    """One round with many samples against the exact expectation over all assignments, lambda integrated out."""
    samples = 60_000
    s = replace(SMALL, n_samples=samples, burn_in=20, topic_expectation=expectation, nonparametric=nonparametric,
                document_prior=2.0 if nonparametric else 0.5)  # fmt: skip
    learner = state(s)
    before = tuple(None if a is None else a.copy() for a in globals_of(learner))
    learner.learn(bags_of(csr_matrix(COUNTS.astype(float))), SIGNS.astype(np.int8)[:, None, None])
    found = posteriors(s, before)
    expected, chain = moved(s, before, found), globals_of(learner)
    for name, exact, sampled in zip(("words", "totals", "precision", "shift"), expected, chain, strict=False):
        np.testing.assert_allclose(sampled, exact, atol=0.02, err_msg=name)
    if nonparametric:
        prior = document_prior(s, before[4])
        atoms = sum(
            q @ (prior * (digamma(prior + shares * len(w)) - digamma(prior))) for w, _, shares, q, _, _ in found
        )
        np.testing.assert_allclose(chain[4] - before[4], [atoms, [atoms[1], 0]], atol=0.02)


def test_words_of_documents():
    bags = bags_of(csr_matrix(COUNTS.astype(float)))
    assert [words_of(bags, r).tolist() for r in range(4)] == [[0, 0, 1], [1, 2, 2], [0, 2], [2]]
