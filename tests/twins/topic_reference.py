"""The online topic model in plain NumPy: the specification, and the reference for the compiled one.

The formulas are those of `docs/topics.md`, with every exponent computed in full for every word. Only the random numbers
are generated as in the compiled model, so that both can be compared draw for draw.
"""

from __future__ import annotations

from math import cos, log, pi, sqrt
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import digamma

from confidently.covariances.state import State
from confidently.topics.bags import Bags
from confidently.topics.settings import TopicSettings
from confidently.topics.state import SCORED, new_state

MASK = 2**64 - 1
NOT_PER_MODEL = ("counters", *SCORED)  # arrays without an axis of models
GOLDEN = 0x9E3779B97F4A7C15


def mix64(x: int) -> int:
    """SplitMix64's finalizer."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def key(*parts: int) -> int:
    """Return a seed made of several numbers."""
    found = parts[0]
    for part in parts[1:]:
        found = mix64((found + GOLDEN * (part + 1)) & MASK)
    return found


class Stream:
    """Random numbers of one document."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def next(self) -> int:
        self.state = (self.state + GOLDEN) & MASK
        return mix64(self.state)

    def uniform(self) -> float:
        return ((self.next() >> 11) + 0.5) * 2.0**-53

    def below(self, n: int) -> int:
        return ((self.next() >> 32) * n) >> 32

    def normal(self) -> float:
        radius = sqrt(-2 * log(self.uniform()))
        return radius * cos(2 * pi * self.uniform())

    def inverse_gaussian(self, mean: float) -> float:
        y = self.normal() ** 2
        x = mean + mean**2 * y / 2 - mean / 2 * sqrt(4 * mean * y + (mean * y) ** 2)
        return x if self.uniform() <= mean / (mean + x) else mean**2 / x


def expected_topics(s: TopicSettings, counts: np.ndarray, totals: np.ndarray, n_words: int) -> np.ndarray:
    """Return the weight of each word (row) in each topic (column)."""
    delta, total = counts + s.word_prior, totals + s.word_prior * n_words
    return np.exp(digamma(delta) - digamma(total)) if s.topic_expectation == "digamma" else delta / total


def document_prior(s: TopicSettings, sticks: np.ndarray | None) -> np.ndarray:
    """Return alpha for every topic, or a exp(E log fraction) of the truncated sticks."""
    if sticks is None:
        return np.full(s.n_topics, s.document_prior)
    u, v = sticks
    rest = np.concatenate([[0], np.cumsum(digamma(v) - digamma(u + v))[:-1]])
    prior: np.ndarray = s.document_prior * np.exp(digamma(u) - digamma(u + v) + rest)
    return prior


def gibbs_exponent(
    s: TopicSettings, sign: float, lam: float, n: int, others: np.ndarray, mu: np.ndarray, sigma: np.ndarray
) -> np.ndarray:
    """Return what a Gibbs classifier adds to the log weight of every topic for a word; ``others`` counts the rest."""
    linear = sign * s.c * (s.c * s.epsilon + lam) * mu / (n * lam)
    quadratic = mu**2 + np.diag(sigma) + 2 * (mu * (mu @ others) + sigma @ others)
    exponent: np.ndarray = linear - s.c**2 / (2 * n**2 * lam) * quadratic
    return exponent


def lambda_rate(s: TopicSettings, sign: float, share: np.ndarray, mu: np.ndarray, sigma: np.ndarray) -> float:
    """Return b, where 1/lambda is inverse Gaussian with mean 1/b and shape 1."""
    return s.c * sqrt((s.epsilon - sign * mu @ share) ** 2 + share @ sigma @ share)


def move_gibbs(
    s: TopicSettings, signs: np.ndarray, proportions: np.ndarray, inverse: np.ndarray, copies: np.ndarray,
    P: np.ndarray, h: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return precision and shift after copies of documents with proportions (n, S, K) and 1/lambda (n, S)."""
    part = copies / proportions.shape[1]
    P = P + s.c**2 * np.einsum("d,ds,dsi,dsj->ij", part, inverse, proportions, proportions)
    return P, h + s.c * np.einsum("d,ds,d,dsi->i", part, 1 + s.c * s.epsilon * inverse, signs, proportions)


def move_averaging(
    s: TopicSettings, signs: np.ndarray, proportions: np.ndarray, copies: np.ndarray, mu: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return the mean after copies of documents with mean proportions (n, K), and the multipliers of an optimizer."""
    signed = signs[:, None] * proportions
    gap, gram = s.epsilon - signed @ mu, s.prior_variance * signed @ signed.T
    most = 2 * s.c * copies
    if len(gap) == 1:
        tau = np.clip(gap / gram[0], 0, most)
    else:
        tau = minimize(
            lambda t: (t @ gram @ t / 2 - gap @ t, gram @ t - gap), np.zeros(len(gap)), jac=True, method="L-BFGS-B",
            bounds=[(0, each) for each in most], options={"ftol": 1e-16, "gtol": 1e-11, "maxiter": 10_000},
        ).x  # fmt: skip
    return mu + s.prior_variance * tau @ signed, tau


class ReferenceTopics:
    """The reference of the compiled learner: the same state, learned batch by batch."""

    def __init__(self, settings: TopicSettings, n_classes: int, n_words: int) -> None:
        self.s, self.n_words, self.seen = settings, n_words, 0
        self.state: State = new_state(settings, n_classes, n_words)

    def learn(self, bags: Bags, signs: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Learn documents; signs (n, L, T), weights (n,) > 0."""
        copies = self.s.step_size * (np.ones(len(bags)) if weights is None else weights)
        for first in range(0, len(bags), self.s.batch_size):
            last = min(first + self.s.batch_size, len(bags))
            rows = [r for r in range(first, last) if bags.start[r] < bags.start[r + 1]]  # empty ones are dropped
            for model in range(self.state["totals"].shape[0] if rows else 0):
                self._learn_batch(bags, signs, copies, rows, model)
        self.seen += len(bags)

    def _learn_batch(self, bags: Bags, signs: np.ndarray, copies: np.ndarray, rows: list[int], l: int) -> None:  # noqa: E741
        s = self.s
        before = {name: a[:, l].copy() if name == "words" else a[l].copy()
                  for name, a in self.state.items() if name not in NOT_PER_MODEL}  # fmt: skip
        now: dict[str, Any] = dict(before)
        streams = [Stream(key(s.seed, l, self.seen + r)) for r in rows]
        words = [words_of(bags, r) for r in rows]
        topics = [np.array([stream.below(s.n_topics) for _ in w]) for stream, w in zip(streams, words, strict=True)]
        tau, lam = np.zeros((len(rows), signs.shape[2])), np.zeros((len(rows), signs.shape[2]))
        for inner in range(s.n_inner):
            kept = [
                self._sample(now, signs[r, l], w, z, stream, tau[d] / copies[r], lam[d], inner == 0)
                for d, (r, w, z, stream) in enumerate(zip(rows, words, topics, streams, strict=True))
            ]
            prior = document_prior(s, now.get("sticks"))
            now = self._moved(before, prior, signs[rows, l], copies[rows], words, kept, tau)
        for name, array in now.items():
            if name == "words":
                self.state["words"][:, l] = array
            else:
                self.state[name][l] = array

    def _sample(
        self, now: State, signs: np.ndarray, words: np.ndarray, z: np.ndarray, stream: Stream, tau: np.ndarray,
        lam: np.ndarray, first: bool,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Return kept topics (S, n) and 1/lambda (S, T) of a document, changing z and lam; tau is per copy."""
        s, n, K = self.s, len(words), self.s.n_topics
        likelihood = expected_topics(s, now["words"], now["totals"], self.n_words)
        prior = document_prior(s, now.get("sticks"))
        gibbs = s.classifier == "gibbs"
        mu, sigma = now["shift"], np.empty((len(signs), 0, 0))
        if gibbs:
            sigma = np.linalg.inv(now["precision"])
            mu = np.einsum("tij,tj->ti", sigma, now["shift"])

        def redraw() -> None:
            share = np.bincount(z, minlength=K) / n
            for t, sign in enumerate(signs):
                lam[t] = 1 / stream.inverse_gaussian(1 / lambda_rate(s, sign, share, mu[t], sigma[t]))

        if gibbs and first:
            redraw()
        kept, inverse = [], []
        for sweep in range(s.burn_in + s.n_samples):
            for i, word in enumerate(words):
                others = np.bincount(np.delete(z, i), minlength=K)
                exponent = np.zeros(K)
                for t, sign in enumerate(signs):
                    if gibbs:
                        exponent += gibbs_exponent(s, sign, lam[t], n, others, mu[t], sigma[t])
                    else:
                        exponent += tau[t] * sign * mu[t] / n
                p = np.log(prior + others) + np.log(likelihood[word]) + exponent
                p = np.cumsum(np.exp(p - p.max()))
                z[i] = np.searchsorted(p, stream.uniform() * p[-1], side="right")
            if gibbs:
                redraw()
            if sweep >= s.burn_in:
                kept.append(z.copy())
                inverse.append(1 / lam if gibbs else lam)
        return np.array(kept), np.array(inverse)

    def _moved(
        self, before: State, prior: np.ndarray, signs: np.ndarray, copies: np.ndarray, words: list[np.ndarray],
        kept: list[tuple[np.ndarray, np.ndarray]], tau: np.ndarray,
    ) -> State:  # fmt: skip
        """Return the state after a batch from the state before it; tau is replaced."""
        s, K = self.s, self.s.n_topics
        counts, proportions = np.zeros_like(before["words"]), np.zeros((len(words), s.n_samples, K))
        atoms = np.zeros(K)
        for d, (w, (z, _)) in enumerate(zip(words, kept, strict=True)):
            for sample in range(s.n_samples):
                np.add.at(counts, (w, z[sample]), copies[d] / s.n_samples)
                C = np.bincount(z[sample], minlength=K)
                proportions[d, sample] = C / len(w)
                atoms += copies[d] / s.n_samples * prior * (digamma(prior + C) - digamma(prior))
        now = {**before, "words": before["words"] + counts, "totals": before["totals"] + counts.sum(axis=0)}
        if s.nonparametric:
            later = np.concatenate([np.cumsum(atoms[::-1])[::-1][1:], [0]])
            now["sticks"] = before["sticks"] + [atoms, later]
        shifts, precisions = [], []
        for t in range(signs.shape[1]):
            if s.classifier == "gibbs":
                inverse = np.array([i[:, t] for _, i in kept])
                P, h = before["precision"][t], before["shift"][t]
                precision, shift = move_gibbs(s, signs[:, t], proportions, inverse, copies, P, h)
                precisions.append(precision)
            else:
                shift, tau[:, t] = move_averaging(s, signs[:, t], proportions.mean(axis=1), copies, before["shift"][t])
            shifts.append(shift)
        now["shift"] = np.array(shifts)
        if s.classifier == "gibbs":
            now["precision"] = np.array(precisions)
        return now

    def proportions(self, bags: Bags) -> np.ndarray:
        """Shares of topics of new documents: (n, L, K)."""
        s, K = self.s, self.s.n_topics
        out = np.zeros((len(bags), *self.state["totals"].shape))
        for r in range(len(bags)):
            for l in range(out.shape[1]):  # noqa: E741
                counts = self.state["words"][:, l]
                likelihood = expected_topics(s, counts, self.state["totals"][l], self.n_words)
                prior = document_prior(s, self.state["sticks"][l] if s.nonparametric else None)
                words = words_of(bags, r)
                entries = slice(bags.start[r], bags.start[r + 1])
                content = np.column_stack([bags.words[entries], bags.counts[entries]])
                stream = Stream(key(s.seed, l, *content.ravel().tolist()))
                words = words[counts[words].any(axis=1)]
                z = np.array([stream.below(K) for _ in words], dtype=int)
                for sweep in range(s.prediction_burn_in + s.prediction_samples):
                    for i, word in enumerate(words):
                        others = np.bincount(np.delete(z, i), minlength=K)
                        p = np.cumsum((prior + others) * likelihood[word])
                        z[i] = np.searchsorted(p, stream.uniform() * p[-1], side="right")
                    if sweep >= s.prediction_burn_in and len(words):
                        out[r, l] += np.bincount(z, minlength=K) / len(words) / s.prediction_samples
        return out


def words_of(bags: Bags, row: int) -> np.ndarray:
    """Return the words of a document, each as often as it occurs."""
    entries = slice(bags.start[row], bags.start[row + 1])
    return np.repeat(bags.words[entries], bags.counts[entries])
