"""scikit-learn's contract over the online topic model: topics of documents that tell their classes apart."""

from __future__ import annotations

import numbers
import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from ..data.features import Features
from ..data.memory.labels import (
    check_class_weight,
    class_weights,
    example_weights,
    is_multilabel,
    known_classes,
    known_labels,
    places,
    plain,
    plain_class_weight,
    with_class_weight,
)
from ..data.memory.unchanged import rollback_on_error
from .attributes import TopicAttributes
from .inputs import bags_of, check_counts, chosen_settings
from .learner import Bags, TopicLearner, TopicSettings, check_whole
from .model import TopicModel

# What the state is made for and cannot change once something was learned.
LASTING = ("classifier", "n_topics", "nonparametric", "word_prior", "prior_variance")
MAX_SEED = 2**31 - 1
# Fewer predictions may well be of one class by chance; so many training documents are looked at after fit.
MIN_PREDICTIONS, MAX_PREDICTIONS = 100, 300


class CollapseWarning(UserWarning):
    """All documents are predicted to be of one class: the classifiers have not taken hold of the topics."""


class OnlineMedLDA(TopicAttributes, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator):
    """Online max-margin topic model: topics of documents, learned in one pass, that tell the classes apart.

    Every word of a document is drawn from one of K topics. The shares of the topics among the document's words, z, are
    what a classifier N(mu, Sigma) over weights of topics scores::

        theta ~ Dirichlet(alpha),  topic of a word ~ theta,  word ~ its topic's Dirichlet(gamma) distribution
        score = mu.z,   loss = max(0, epsilon - y score)

    Every batch of documents moves topics and classifier together, as little as its words and labels allow (online
    Bayesian passive-aggressive learning); the words' topics are sampled. Two classes have one model, several a model
    each against the rest, sets of labels share one topic model.

    Parameters
    ----------
    n_topics : int or None, default=20
        Topics, K; of each class's model, if there are several classes. None: as many as the documents ask for, up to
        ``max_topics`` (truncated stick breaking).
    classifier : {"gibbs", "averaging"}, default="gibbs"
        The expected loss of the posterior's classifiers, or the loss of their mean.
    doc_topic_prior : float, optional
        alpha, > 0, by default 0.5; with ``n_topics=None`` the concentration of all topics together, by default 5.
    topic_word_prior : float, default=0.1
        gamma, > 0.
    stick_prior : float, default=1.0
        With ``n_topics=None``: the larger, the more topics; > 0.
    max_topics : int, default=50
        Truncation of ``n_topics=None``.
    c : float, optional
        Weight of the loss, > 0; by default 1 (gibbs) or 25 (averaging).
    epsilon : float, optional
        Margin asked for, > 0; by default the mean number of words of the first call's documents.
    prior_variance : float, optional
        Variance of the classifiers' weights before anything is seen, > 0; by default K (gibbs) or 0.1 (averaging).
    step_size : float, optional
        Every document counts so many times, > 0; by default 10 (gibbs) or 1 (averaging). Gibbs classifiers of many
        topics fall to chance where both it and ``prior_variance`` are 1.
    n_inner : int, optional
        Rounds between topics and classifiers in every batch; by default 1 (gibbs) or 2 (averaging, which learns
        nothing with fewer).
    n_samples : int, optional
        Sweeps over a batch's words that are averaged in every round; by default 3 (gibbs) or 1 (averaging).
    burn_in : int, default=0
        Sweeps before those.
    batch_size : int, optional
        Documents learned together; by default 32 (gibbs) or 1 (averaging).
    topic_expectation : {"ratio", "digamma"}, default="ratio"
        A word's weight in a topic: its expected probability, or exp of the expected logarithm.
    prediction_samples, prediction_burn_in : int, default=10, 5
        Sweeps over a new document's words that are averaged, and sweeps before those.
    passes : int, default=1
        How often :meth:`fit` learns the documents, each time in a new order. Each pass counts them once more.
    class_weight : dict, "balanced" or None, default=None
        Factor to the weight of the documents of each class; not for sets of labels.
    calibration : {"progressive", None}, default="progressive"
        Probabilities are calibrated by documents that were scored before they were learned (32 of every 128, after
        1,024 documents of every 512); or they are the vote of the posterior's classifiers, which is far too sure.
    n_jobs : int, optional
        Threads; -1 for all processors. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the order of documents in :meth:`fit` and of all sampling.

    Attributes
    ----------
    classes_ : ndarray
        The classes; for sets of labels, the labels.
    components_ : ndarray of shape (K of all models, n_features)
        The topics' Dirichlet parameters over words; of several classes one class's topics after the other's.
    coef_, variance_ : ndarray of shape (1 or n_classes, K)
        Mean and variance of the classifiers' weights of topics; of several classes each row is about the class's own.
    n_topics_ : int
        Topics of all models together, the columns of :meth:`transform`.
    epsilon_ : float
        The margin asked for.
    n_seen_ : int
        Documents learned.
    n_features_in_, feature_names_in_
        As in any scikit-learn estimator.
    source_, features_
        Of a model that the command line trained: how rows were read, and which column is which word.

    Notes
    -----
    Rows of X are counts of words; numbers that are not whole are rounded up, so that any word present counts.
    A document none of whose words was seen in training has the score 0 and no shares.

    References
    ----------
    Shi & Zhu, Online Bayesian passive-aggressive learning, ICML 2014. `docs/topics.md` has every formula.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> texts = ["goal match team", "vote law party", "team match win", "party vote win"] * 20
    >>> X = CountVectorizer().fit_transform(texts)
    >>> model = OnlineMedLDA(n_topics=4, random_state=0).fit(X, ["sport", "politics"] * 40)
    >>> model.predict(X[:2]).tolist()
    ['sport', 'politics']
    """

    def __init__(
        self,
        n_topics: int | None = 20,
        classifier: str = "gibbs",
        *,
        doc_topic_prior: float | None = None,
        topic_word_prior: float = 0.1,
        stick_prior: float = 1.0,
        max_topics: int = 50,
        c: float | None = None,
        epsilon: float | None = None,
        prior_variance: float | None = None,
        step_size: float | None = None,
        n_inner: int | None = None,
        n_samples: int | None = None,
        burn_in: int = 0,
        batch_size: int | None = None,
        topic_expectation: str = "ratio",
        prediction_samples: int = 10,
        prediction_burn_in: int = 5,
        passes: int = 1,
        class_weight: dict[Any, float] | str | None = None,
        calibration: str | None = "progressive",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.classifier = classifier
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.stick_prior = stick_prior
        self.max_topics = max_topics
        self.c = c
        self.epsilon = epsilon
        self.prior_variance = prior_variance
        self.step_size = step_size
        self.n_inner = n_inner
        self.n_samples = n_samples
        self.burn_in = burn_in
        self.batch_size = batch_size
        self.topic_expectation = topic_expectation
        self.prediction_samples = prediction_samples
        self.prediction_burn_in = prediction_burn_in
        self.passes = passes
        self.class_weight = class_weight
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.random_state = random_state

    # --- learning ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, progress: Callable[[int], None] | None = None) -> Self:
        """Learn from scratch, in ``passes`` over the documents, each in random order.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_words)
            Counts of words, >= 0.
        y : array of shape (n,), or indicator matrix of shape (n, n_labels)
            Classes (numbers or strings, two or more), or sets of labels.
        sample_weight : array of shape (n,), optional
            How often each document counts, >= 0: its words in the topics, its loss in the classifiers, and itself in
            the calibration. Whole weights are repetitions of the document in expectation; one of weight 0 is not seen.
        progress : callable, optional
            Called now and then with the number of documents learned.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For bad parameters or input; what was learned before stays as it was.

        Warns
        -----
        CollapseWarning
            If all training documents looked at afterwards are predicted to be of one class.
        """
        with rollback_on_error(self):
            for name in ("learner_", "classes_", "source_", "features_"):
                self.__dict__.pop(name, None)
            bags, signs = self._learn(X, y, None, sample_weight, progress, partial=False)
            looked_at = bags.part(0, min(len(bags), MAX_PREDICTIONS))
        if len(looked_at) and (np.ptp(signs[: len(looked_at)], axis=0) > 0).any():
            _warn_of_collapse(self._decision(looked_at), self.learner_.settings.task == "multilabel")
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        progress: Callable[[int], None] | None = None,
    ) -> Self:
        """Learn some more documents, in the order given.

        Parameters
        ----------
        X, y, sample_weight, progress
            As in :meth:`fit`. X may have more columns than before: new words, after those known.
        classes : array, optional
            All classes there are. Needed at the first call unless ``y`` is an indicator matrix.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For bad parameters or input, or new classes; what was learned stays as it was.
        """
        with rollback_on_error(self):
            self._learn(X, y, classes, sample_weight, progress, partial=True)
        return self

    def _learn(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, progress: Any, partial: bool
    ) -> tuple[Bags, np.ndarray]:
        first = "learner_" not in vars(self)
        reset = first or self._brings_words(X)
        X, y = validate_data(self, X, y, accept_sparse="csr", reset=reset, multi_output=True)
        known, signs = self._targets(y, classes, first, partial)
        bags, weights = bags_of(check_counts(X, self)), self._weights(sample_weight, y, len(signs), known, partial)
        seen = np.flatnonzero(weights)
        bags, signs, weights = bags.rows(seen), signs[seen], weights[seen]
        task = "multilabel" if is_multilabel(y) else "binary" if len(known) == 2 else "one-vs-rest"
        settings = self._settings(bags, weights, task, None if first else self.learner_.settings)
        if first:
            self.learner_ = TopicLearner(settings, len(known), bags.n_words)
        else:
            self.learner_ = self.learner_.with_settings(settings)
            self.learner_.grow(bags.n_words)
        self.classes_ = known
        threads = effective_n_jobs(self.n_jobs)
        if partial:
            self.learner_.learn(bags, signs, threads, progress, weights=weights)
            return bags, signs
        random = check_random_state(self.random_state)
        for number in range(self.passes):
            order = random.permutation(len(bags))
            shuffled = bags.rows(order), signs[order]
            told = _counting_from(number * len(bags), progress)
            self.learner_.learn(*shuffled, threads, told, new=number == 0, weights=weights[order])
        return shuffled

    def _weights(self, sample_weight: Any, y: Any, n: int, known: np.ndarray, partial: bool) -> np.ndarray:
        """How often each document counts."""
        weights = np.ones(n) if sample_weight is None else example_weights(sample_weight, n, partial)
        check_class_weight(self.class_weight, partial)
        of_class = class_weights(self.class_weight, known, y, is_multilabel(y))
        return weights if of_class is None else weights * of_class[places(y, known)]

    def _brings_words(self, X: Any) -> bool:
        """Whether X has columns beyond those known; their names, if they have any, must come after the old ones."""
        shape, before = getattr(X, "shape", None) or np.shape(X), self.learner_.n_features
        if len(shape) != 2 or shape[1] <= before:
            return False
        if getattr(self, "features_", None) is not None:
            raise ValueError(
                f"X has {shape[1]} columns, and the model read from a file knows {before} words by name: columns of "
                "new words have no names"
            )
        names, new = getattr(self, "feature_names_in_", None), getattr(X, "columns", None)
        if names is not None and (new is None or list(new[:before]) != list(names)):
            raise ValueError(f"X has {shape[1]} columns, the first {before} of which must be the words known by name")
        return True

    def _targets(self, y: Any, classes: Any, first: bool, partial: bool) -> tuple[np.ndarray, np.ndarray]:
        """Classes or labels, and a sign for every document, model and task."""
        multilabel = is_multilabel(y)
        before = None if first else self.classes_
        if not first and multilabel != (self.learner_.settings.task == "multilabel"):
            raise ValueError("y changed between one class a row and an indicator matrix of labels")
        if multilabel:
            chosen = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
            return known_labels(y, before), np.where(chosen != 0, 1, -1).astype(np.int8)[:, None, :]
        y = column_or_1d(y, warn=True)
        known = known_classes(y, classes, before, partial)
        if before is not None and len(known) > len(before):
            raise ValueError(
                f"a topic model cannot take new classes ({known[len(before) :].tolist()}): it would have learned "
                "nothing from the documents before; announce all in the first partial_fit(..., classes=...)"
            )
        numbers = places(y, known)
        wanted = np.array([1]) if len(known) == 2 else np.arange(len(known))
        return known, np.where(numbers[:, None] == wanted, 1, -1).astype(np.int8)[:, :, None]

    def _settings(self, bags: Bags, weights: np.ndarray, task: str, before: TopicSettings | None) -> TopicSettings:
        """The settings the parameters mean; what the first call's data decided stays."""
        check_whole("passes", self.passes, 1)
        settings = chosen_settings(self.get_params(), task, bags, weights)
        if before is None:
            return replace(settings, seed=int(check_random_state(self.random_state).randint(MAX_SEED)))
        settings = replace(settings, seed=before.seed, epsilon=self.epsilon or before.epsilon)
        changed = [name for name in LASTING if getattr(settings, name) != getattr(before, name)]
        if changed:
            raise ValueError(f"{', '.join(changed)} cannot change once something was learned: fit anew, or put back")
        return settings

    # --- answering -----------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> np.ndarray:
        """Shares of topics among each document's words, ``(n, n_topics_)``; of several classes model after model."""
        return self._shares(self._bags(X)).reshape(-1, self.n_topics_)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores mu.z: shape (n,) for two classes, positive for ``classes_[1]``; else (n, n_classes)."""
        return self._decision(self._bags(X))

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest score, shape (n,); for sets of labels an indicator matrix (n, n_labels).

        Warns
        -----
        CollapseWarning
            If a hundred documents or more are all predicted to be of one class.
        """
        scores = self.decision_function(X)
        labels = self.learner_.settings.task == "multilabel"
        _warn_of_collapse(scores, labels)
        if labels:
            return (scores > 0).astype(int)
        predicted: np.ndarray = self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]
        return predicted

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class, rows that sum to 1; for sets of labels the probability of every label.

        Of two classes it is 1/(1 + exp(-a f)), of several ~ exp(a f_k), of a label 1/(1 + exp(-(a f + b))), with the
        score f. a and b are fitted to documents that were scored before they were learned, the last 512 of them.

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        shares = self._shares(self._bags(X))
        p = self.learner_.probabilities(shares)
        return np.column_stack([1.0 - p, p]) if self.learner_.settings.task == "binary" else p

    def margin_distribution(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the scores when the classifier is drawn from its Gaussian.

        Returns
        -------
        mean, variance : ndarray
            mu.z and z' Sigma z, both of the shape of :meth:`decision_function`.
        """
        shares = self._shares(self._bags(X))
        return self._presented(self.learner_.scores(shares)), self._presented(self.learner_.score_variances(shares))

    def _bags(self, X: Any) -> Bags:
        check_is_fitted(self)
        return bags_of(check_counts(validate_data(self, X, accept_sparse="csr", reset=False), self))

    def _shares(self, bags: Bags) -> np.ndarray:
        return self.learner_.shares(bags, effective_n_jobs(self.n_jobs))

    def _decision(self, bags: Bags) -> np.ndarray:
        return self._presented(self.learner_.scores(self._shares(bags)))

    def _presented(self, columns: np.ndarray) -> np.ndarray:
        return columns[:, 0] if self.learner_.settings.task == "binary" else columns

    # --- scikit-learn --------------------------------------------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        return self.n_topics_

    def __sklearn_is_fitted__(self) -> bool:
        return "learner_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.poor_score = True  # on two measurements a row, which are no documents
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    # --- files ---------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file; see :func:`confidently.load`.

        The file is written beside its place and renamed: it is whole or not there. Training on after loading gives
        bit for bit what training without a break would have given.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        params = {name: value for name, value in self._lasting_params().items() if name != "class_weight"}
        estimator = {name: None if value is None else plain(value) for name, value in params.items()}
        estimator["class_weight"] = plain_class_weight(self.class_weight)
        features = getattr(self, "features_", None if names is None else Features.named(list(names)))
        classes = [plain(c) for c in self.classes_.tolist()]
        TopicModel(self.learner_, classes, features, estimator, getattr(self, "source_", {})).save(path)

    def _lasting_params(self) -> dict[str, Any]:
        """The parameters that a file can keep: a generator's state it cannot."""
        params: dict[str, Any] = self.get_params()
        if not isinstance(self.random_state, numbers.Integral):
            params["random_state"] = None
        return params

    @classmethod
    def of(cls, model: TopicModel) -> Self:
        """The estimator a file held; ``TypeError`` where its settings are none of this class."""
        self = cls(**with_class_weight(model.estimator))
        self.learner_, self.classes_ = model.learner, np.array(model.classes)
        self.n_features_in_ = model.learner.n_features
        if model.source:
            self.source_, self.features_ = model.source, model.features
        elif model.features is not None:
            self.feature_names_in_ = np.array(list(model.features.names), dtype=object)
        return self


def _counting_from(before: int, progress: Callable[[int], None] | None) -> Callable[[int], None] | None:
    """Tells of the documents of this pass and those before it."""
    return None if progress is None else lambda n: progress(before + n)


def _warn_of_collapse(scores: np.ndarray, labels: bool) -> None:
    """Warn if the scores of all documents say the same: one class, or one set of labels."""
    if told := collapse_told(scores, labels):
        warnings.warn(told, CollapseWarning, stacklevel=3)


def collapse_told(scores: np.ndarray, labels: bool) -> str | None:
    """What to tell about scores that all say the same, of documents enough for that to be no chance."""
    said = scores > 0 if labels or scores.ndim == 1 else scores.argmax(axis=1)
    if len(said) < MIN_PREDICTIONS or (said != said[0]).any():
        return None
    return (
        f"all {len(said)} documents are predicted to be of one class. If that cannot be, let every document count "
        "more (a larger step_size), take fewer topics, or, with averaging, n_inner of 2 or more"
    )
