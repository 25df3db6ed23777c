"""The compiled topic model equals its reference implementation, draw for draw, and obeys its laws."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats
from scipy.sparse import csr_matrix

from confidently import OnlineMedLDA, _core, load
from confidently.topics.inputs import bags_of
from confidently.topics.learner import TopicLearner
from confidently.topics.settings import TopicSettings
from tests.twins.topic_reference import ReferenceTopics

SETTINGS = TopicSettings(
    task="binary", classifier="gibbs", n_topics=5, nonparametric=False, document_prior=0.5, word_prior=0.3,
    stick_prior=1.5, c=1.0, epsilon=8.0, prior_variance=2.0, step_size=3.0, n_inner=1, n_samples=2, burn_in=1,
    batch_size=7, topic_expectation="ratio", prediction_samples=3, prediction_burn_in=2, seed=11,
)  # fmt: skip
AVERAGING = replace(SETTINGS, classifier="averaging", n_samples=1, burn_in=0, step_size=2.0)
CASES = {
    "gibbs": SETTINGS,
    "gibbs, two rounds, digamma": replace(SETTINGS, n_inner=2, topic_expectation="digamma", batch_size=4),
    "gibbs, one-vs-rest": replace(SETTINGS, task="one-vs-rest"),
    "gibbs, labels": replace(SETTINGS, task="multilabel", n_inner=2),
    "gibbs, nonparametric": replace(SETTINGS, nonparametric=True, document_prior=4.0, n_inner=2),
    "averaging, a document at a time": replace(AVERAGING, n_inner=2, batch_size=1),
    "averaging, one-vs-rest": replace(AVERAGING, task="one-vs-rest", n_inner=3, batch_size=1),
    "averaging, labels": replace(AVERAGING, task="multilabel", batch_size=1, n_inner=2, nonparametric=True),
    "averaging, batches, samples": replace(AVERAGING, n_samples=3, batch_size=4, c=5.0),
}


def documents(n=20, words=30, seed=0):
    """Short documents, one of them empty, with signs of three classes."""
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 4, (n, words)) * (rng.random((n, words)) < 0.2)
    X[3] = 0
    signs = np.where(rng.integers(0, 3, n)[:, None] == np.arange(3), 1, -1).astype(np.int8)
    return bags_of(csr_matrix(X, dtype=float)), signs


def signs_for(settings, signs):
    return {"binary": signs[:, None, :1], "one-vs-rest": signs[:, :, None], "multilabel": signs[:, None, :]}[
        settings.task
    ]


def learned(settings, bags, signs, threads=1, weights=None):
    learner = TopicLearner(settings, 3, bags.n_words)
    learner.learn(bags, np.ascontiguousarray(signs_for(settings, signs)), threads, weights=weights)
    return learner


@pytest.mark.few(1)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_equals_the_reference(settings, weighted):
    bags, signs = documents()
    weights = np.random.default_rng(2).choice([0.2, 1.0, 3.0], 20) if weighted else None
    fast, slow = learned(settings, bags, signs, weights=weights), ReferenceTopics(settings, 3, bags.n_words)
    slow.learn(bags, signs_for(settings, signs), weights)
    assert fast.state.keys() == slow.state.keys()
    for name in slow.state.keys() - {"counters"}:
        np.testing.assert_allclose(fast.state[name], slow.state[name], rtol=1e-6, atol=1e-6, err_msg=name)
    new, _ = documents(seed=1)
    np.testing.assert_allclose(fast.proportions(new), slow.proportions(new), atol=1e-12)
    assert fast.n_seen == 20


@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_a_common_weight_multiplies_the_step_size(settings):
    bags, signs = documents()
    twice, weighted = (
        learned(replace(settings, step_size=2 * settings.step_size), bags, signs),
        learned(settings, bags, signs, weights=np.full(20, 2.0)),
    )
    for name in twice.state.keys() - {"looked.weights"}:
        assert twice.state[name].tobytes() == weighted.state[name].tobytes(), name


@pytest.mark.long("thousands of samples")
@pytest.mark.parametrize(
    "settings", [SETTINGS, AVERAGING, CASES["gibbs, labels"]], ids=["gibbs", "averaging", "labels"]
)
def test_an_integer_weight_equals_repetitions_in_expectation(settings):
    """A batch of one document of weight 4, or of it four times: the same means of all that is learned."""
    start, signs = documents()
    once = start.rows(np.array([0]))
    found = {}
    for name, copies, weight in (("weighted", 1, 4.0), ("repeated", 4, 1.0)):
        runs = []
        for seed in range(300):
            learner = learned(replace(settings, batch_size=20, n_inner=1, seed=1), start, signs)
            learner.settings = replace(learner.settings, seed=seed)
            own = signs_for(settings, np.repeat(signs[:1], copies, axis=0))
            learner.learn(once.rows(np.zeros(copies, dtype=int)), own, weights=np.full(copies, weight))
            runs.append(
                np.concatenate(
                    [learner.state[k].ravel() for k in ("words", "shift", "precision") if k in learner.state]
                )
            )
        found[name] = np.array(runs)
    gap = found["weighted"].mean(axis=0) - found["repeated"].mean(axis=0)
    error = np.sqrt((found["weighted"].var(axis=0) + found["repeated"].var(axis=0)) / 300)
    moving = error > 1e-9 * np.abs(found["repeated"].mean(axis=0))
    assert moving.any() and np.abs(gap[~moving]).max(initial=0.0) < 1e-6
    assert np.abs(gap[moving] / error[moving]).max() < 5


@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_threads_change_nothing(settings):
    bags, signs = documents(n=60)
    one = learned(settings, bags, signs)
    for threads in (2, 5):
        several = learned(settings, bags, signs, threads)
        for name, array in one.state.items():
            assert array.tobytes() == several.state[name].tobytes(), (threads, name)
        assert one.proportions(bags).tobytes() == several.proportions(bags, threads).tobytes()


def test_results_depend_on_the_seed_alone():
    bags, signs = documents()
    first, again = learned(SETTINGS, bags, signs), learned(SETTINGS, bags, signs)
    other = learned(replace(SETTINGS, seed=12), bags, signs)
    assert first.state["words"].tobytes() == again.state["words"].tobytes() != other.state["words"].tobytes()


@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_every_word_is_counted_once(settings):
    """Mass of the topics = K V gamma + step_size x words seen, in every model."""
    bags, signs = documents()
    learner = learned(settings, bags, signs)
    words = settings.step_size * bags.counts.sum()
    prior = settings.n_topics * bags.n_words * settings.word_prior
    np.testing.assert_allclose(learner.topics().sum(axis=(1, 2)), prior + words)
    np.testing.assert_allclose(learner.state["totals"], learner.state["words"].sum(axis=0))
    assert learner.state["counters"].tolist() == [20, bags.counts.sum()]


@pytest.mark.parametrize("settings", [SETTINGS, AVERAGING, CASES["gibbs, labels"]])
@pytest.mark.parametrize("scale", [0.25, 8.0])
def test_scale_of_the_weights_is_free(settings, scale):
    """(s w, s epsilon, s^2 sigma^2, c/s) is the same model in another unit; powers of two are exact."""
    bags, signs = documents()
    other = replace(
        settings, epsilon=scale * settings.epsilon, prior_variance=scale**2 * settings.prior_variance,
        c=settings.c / scale,
    )  # fmt: skip
    plain, scaled = learned(settings, bags, signs), learned(other, bags, signs)
    np.testing.assert_allclose(scaled.means(), scale * plain.means(), rtol=1e-9)
    np.testing.assert_array_equal(scaled.state["words"], plain.state["words"])


def test_inverse_gaussian():
    """1/lambda ~ IG(mean 1/b, shape 1): mean 1/b, variance 1/b^3, E lambda = b + 1."""
    for b in (0.05, 1.0, 30.0):
        x = _core.inverse_gaussian(1 / b, 3, 200_000)
        assert abs(x.mean() * b - 1) < 5 * (b * len(x)) ** -0.5
        assert abs((1 / x).mean() / (b + 1) - 1) < 0.02
        assert stats.kstest(x, stats.invgauss(mu=1 / b, scale=1.0).cdf).pvalue > 1e-3
    x = _core.inverse_gaussian(0.5, 4, 1_000_000)
    assert abs(x.var() * 8 - 1) < 0.02


def test_special_functions():
    x = np.concatenate([np.geomspace(1e-12, 1, 50), np.linspace(1, 700, 2000)])
    np.testing.assert_allclose([_core.exp_of_negative(-v) for v in x], np.exp(-x), rtol=1e-9)
    x = np.geomspace(1e-6, 1e8, 500)
    np.testing.assert_allclose([_core.digamma(v) for v in x], special.digamma(x), rtol=1e-13, atol=1e-13)


def test_extreme_classifiers_do_not_break_the_sampler():
    """Exponents far beyond the range of doubles: every word goes to one topic."""
    bags, signs = documents()
    learner = TopicLearner(replace(SETTINGS, n_topics=2, step_size=1.0, c=1e4, epsilon=1e4), 3, bags.n_words)
    learner.state["shift"][0, 0] = [3e5, -3e5]
    learner.learn(bags, np.ascontiguousarray(signs[:, None, :1]))
    assert np.isfinite(learner.means()).all()
    assert (learner.state["words"] >= 0).all()


def test_memory_does_not_grow_with_the_stream():
    bags, signs = documents()
    learner = learned(SETTINGS, bags, signs)
    sizes = {name: array.nbytes for name, array in learner.state.items()}
    for _ in range(5):
        learner.learn(bags, np.ascontiguousarray(signs[:, None, :1]))
    assert {name: array.nbytes for name, array in learner.state.items()} == sizes


@pytest.mark.parametrize("classifier", ["gibbs", "averaging"])
def test_the_largest_settings_and_weights_give_a_model_that_can_be_loaded(classifier, tmp_path):
    rng = np.random.default_rng(4)
    X, y = rng.poisson(1.0, size=(40, 12)), rng.integers(0, 2, 40)
    model = OnlineMedLDA(n_topics=3, c=1e30, classifier=classifier, random_state=0)
    model.partial_fit(X, y, classes=[0, 1], sample_weight=np.full(40, 1e-300))
    model.partial_fit(X, y, sample_weight=np.full(40, 1e9))
    model.save(tmp_path / "model.cw")
    assert np.isfinite(load(tmp_path / "model.cw").predict_proba(X)).all()
    with pytest.raises(ValueError, match="c must be in"):
        OnlineMedLDA(n_topics=3, c=1e31, classifier=classifier).fit(X, y)


def test_documents_that_take_the_model_out_of_range_are_one_error_and_undone():
    rng = np.random.default_rng(4)
    X, y = rng.poisson(1.0, size=(40, 12)), rng.integers(0, 2, 40)
    model = OnlineMedLDA(n_topics=3, c=1e30, random_state=0).partial_fit(X, y, classes=[0, 1])
    model.learner_.state["shift"][:] = 1e308  # no parameters lead there
    before = {name: array.tobytes() for name, array in model.learner_.state.items()}
    with pytest.raises(ValueError, match="out of the range of float64"):
        model.partial_fit(X, y, sample_weight=np.full(40, 1e9))
    assert {name: array.tobytes() for name, array in model.learner_.state.items()} == before


def test_any_number_of_threads_may_be_asked_for():
    bags, signs = documents()
    one, many = (TopicLearner(SETTINGS, 3, bags.n_words) for _ in range(2))
    one.learn(bags, signs_for(SETTINGS, signs))
    many.learn(bags, signs_for(SETTINGS, signs), n_threads=10**12)
    assert one.state["words"].tobytes() == many.state["words"].tobytes()
    assert np.array_equal(one.proportions(bags), many.proportions(bags, n_threads=10**12))


def test_an_interruption_is_undone():
    bags, signs = documents(n=100)
    learner = TopicLearner(SETTINGS, 2, bags.n_words)
    learner.learn(bags, signs_for(SETTINGS, signs))
    before = {name: array.tobytes() for name, array in learner.state.items()}

    def interrupt(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learner.learn(bags, signs_for(SETTINGS, signs), progress=interrupt)
    assert {name: array.tobytes() for name, array in learner.state.items()} == before


def test_documents_take_no_copy_of_all_words():
    """Copies of a large vocabulary for every few documents took six times as long as learning them."""
    bags, signs = documents(n=20)
    learner = TopicLearner(SETTINGS, 2, 2_000_000)
    tracemalloc.start()
    learner.learn(bags, signs_for(SETTINGS, signs))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < learner.state["words"].nbytes / 10
