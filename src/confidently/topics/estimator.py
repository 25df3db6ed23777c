"""The topic model as a scikit-learn estimator: topics of documents that discriminate their classes.

`array_training.py` has what :meth:`OnlineMedLDA.fit` and :meth:`OnlineMedLDA.partial_fit` do; `documents.py` reads the
streams of the command line.
"""

from __future__ import annotations

import numbers
import os
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..arrays import predicted_numbers
from ..data.class_order import ClassOrder
from ..data.features import Features
from ..data.memory.labels import check_labels, plain, plain_class_weight, training_of, with_class_weight
from ..data.memory.validation import validated
from ..data.warning import warn
from ..rules.ranges import UNIT, check_number
from ..similar import hinting
from ..tasks.conformal import NO_ANSWERS, SEVERAL_LABELS, UNCALIBRATED, ConformalSets
from ..wording import counted
from .array_training import ArrayTraining
from .bags import Bags
from .inputs import bags_of, check_counts
from .learner import CollapseWarning as CollapseWarning
from .learner import TopicLearner, collapse_message
from .model import TopicModel
from .views import relevances

MAX_PREDICTIONS = 300  # of training documents that fit checks for a collapse


class OnlineMedLDA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator):
    """Online max-margin topic model: topics of documents, learned in one pass, that discriminate the classes.

    Every word of a document is drawn from one of K topics. A classifier N(mu, Sigma) over weights of topics scores z,
    the proportions of the topics among the words of the document::

        theta ~ Dirichlet(alpha),  topic of a word ~ theta,  word ~ its topic's Dirichlet(gamma) distribution
        score = mu.z,   loss = max(0, epsilon - y score)

    Every batch of documents moves topics and classifier together, as little as its words and labels allow (online
    Bayesian passive-aggressive learning). The topics of the words are sampled. Two classes have one model, several
    classes have one model each against the rest, and all labels of the multilabel task share one topic model.

    Parameters
    ----------
    n_topics : int or None, default=20
        Number of topics K, per model. None infers it from the documents, up to ``max_topics`` (truncated stick
        breaking).
    classifier : {"gibbs", "averaging"}, default="gibbs"
        Minimize the expected loss of the posterior's classifiers, or the loss of their mean.
    doc_topic_prior : float, optional
        alpha, > 0, by default 0.5; with ``n_topics=None`` the concentration of all topics together, by default 5.
    topic_word_prior : float, default=0.1
        gamma, > 0.
    stick_prior : float, default=1.0
        Larger values lead to more topics with ``n_topics=None``; > 0.
    max_topics : int, default=50
        Maximum number of topics with ``n_topics=None``.
    c : float, optional
        Weight of the loss, > 0; by default 1 (gibbs) or 25 (averaging).
    epsilon : float, optional
        Required margin, > 0; by default the mean number of words of the documents in the first call.
    prior_variance : float, optional
        Prior variance of the classifiers' weights, > 0; by default K (gibbs) or 0.1 (averaging).
    step_size : float, optional
        Number of times that every document counts, > 0; by default 10 (gibbs) or 1 (averaging). Gibbs classifiers of
        many topics fall to chance where both it and ``prior_variance`` are 1.
    n_inner : int, optional
        Rounds between topics and classifiers per batch; by default 1 (gibbs) or 2 (averaging, which learns nothing
        with fewer).
    n_samples : int, optional
        Sweeps over the words of a batch that are averaged per round; by default 3 (gibbs) or 1 (averaging).
    burn_in : int, default=0
        Sweeps before those.
    batch_size : int, optional
        Number of documents learned together; by default 32 (gibbs) or 1 (averaging).
    topic_expectation : {"ratio", "digamma"}, default="ratio"
        Weight of a word in a topic: its expected probability, or exp of the expected logarithm.
    prediction_samples : int, default=10
        Sweeps over the words of a new document that are averaged.
    prediction_burn_in : int, default=5
        Sweeps before those.
    passes : int, default=1
        Number of passes of :meth:`fit`, each in a new random order. Each pass counts the documents once more.
    class_weight : dict, "balanced" or None, default=None
        Factor of the weights of the documents of each class; not for multilabel targets.
    calibration : {"progressive", None}, default="progressive"
        Calibrate probabilities by documents that are scored before they are learned (32 of every 128, after 1,024
        documents of every 512). None gives the uncalibrated posterior probabilities, which are far too confident.
    n_jobs : int, optional
        Number of threads; -1 for all processors. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the order of documents in :meth:`fit` and of all sampling.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted; in the multilabel task, the labels. Models, scores and coefficients are in this order.
    components_ : ndarray of shape (K of all models, n_features)
        Dirichlet parameters of the topics over words, model by model.
    coef_, variance_ : ndarray of shape (1 or n_classes, K)
        Mean and variance of the classifiers' weights; with several classes a row is about the topics of its own model.
    n_topics_ : int
        Number of topics of all models together, the columns of :meth:`transform`.
    epsilon_ : float
        The required margin.
    n_seen_ : int
        Number of documents learned, all passes together.
    alarms_, rows_since_alarm_ : int
        Drift alarms, at level .01, and the documents since the last one, of those scored.
    n_features_in_, feature_names_in_
        As in any scikit-learn estimator.
    source_, features_
        For a model trained by the command line: how rows were read, and the word of each column.

    Notes
    -----
    Rows of X are counts of words. Fractional counts are rounded up, so that any word present counts.
    A document without any word seen in training has the score 0 and the proportions 0.

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

    learner_: TopicLearner
    _class_order: ClassOrder
    n_features_in_: int

    @hinting
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
            Classes (numbers or strings, two or more), or multilabel targets.
        sample_weight : array of shape (n,), optional
            How often each document counts, >= 0: its words in the topics, its loss in the classifiers, and itself in
            the calibration. An integer weight equals repetitions of the document in expectation; documents of weight 0
            are skipped.
        progress : callable, optional
            Called repeatedly with the number of documents learned.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For invalid parameters or input; the model stays as it was.

        Warns
        -----
        CollapseWarning
            If a sample of up to 300 training documents is predicted to be all of one class.
        """
        with training_of(self):
            for name in ("learner_", "_class_order", "source_", "features_"):
                self.__dict__.pop(name, None)
            bags, signs = self._learn(X, y, None, sample_weight, progress, partial=False)
            checked = bags.part(0, min(len(bags), MAX_PREDICTIONS))
        if len(checked) and (np.ptp(signs[: len(checked)], axis=0) > 0).any():
            _warn_of_collapse(self._decision(checked), self.learner_.task.multilabel)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        progress: Callable[[int], None] | None = None,
    ) -> Self:
        """Learn more documents, in the given order.

        Parameters
        ----------
        X, y, sample_weight, progress
            As in :meth:`fit`. X may have more columns than before: new words after the known ones.
        classes : array, optional
            All classes, to which later calls cannot add; by default, those of ``y`` in the first call.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For invalid parameters or input, or new classes; the model stays as it was.
        """
        with training_of(self):
            self._learn(X, y, classes, sample_weight, progress, partial=True)
        return self

    def _learn(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, progress: Any, partial: bool
    ) -> tuple[Bags, np.ndarray]:
        before = None if "learner_" not in vars(self) else (self.learner_, self._class_order)
        check_labels(y)
        reset = before is None or self._brings_words(X)
        X, y = validated(self, X, y, accept_sparse="csr", reset=reset, multi_output=True)
        training = ArrayTraining(self.get_params(), before, partial)
        learned = training.run(check_counts(X, self), y, classes, sample_weight, progress)
        self.learner_, self._class_order = training.learner, training.order
        return learned

    def _brings_words(self, X: Any) -> bool:
        """Return whether X has more columns than are known, checking that the known ones come first."""
        shape, before = getattr(X, "shape", None) or np.shape(X), self.learner_.n_features
        if len(shape) != 2 or shape[1] <= before:
            return False
        if getattr(self, "features_", None) is not None:
            raise ValueError(
                f"X: the model has {before} named words and columns of new words have no names, got {shape[1]} "
                f"columns; use {before}"
            )
        names, new = getattr(self, "feature_names_in_", None), getattr(X, "columns", None)
        if names is not None and (new is None or list(new[:before]) != list(names)):
            raise ValueError(
                f"X: the columns do not begin with the {before} known words, got "
                f"{counted(shape[1], 'column')}; put new words last"
            )
        return True

    # --- prediction ----------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> np.ndarray:
        """Return the proportions of the topics among the words of each document, model by model: (n, ``n_topics_``)."""
        return self._by_model(self._proportions(self._bags(X)), axis=1).reshape(-1, self.n_topics_)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores mu.z: (n,) for two classes, positive for ``classes_[1]``; otherwise (n, n_classes)."""
        return self._decision(self._bags(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the largest score, shape (n,); multilabel: an indicator matrix (n, n_labels).

        Warns
        -----
        CollapseWarning
            If 100 documents or more are all predicted to be of one class.
        """
        scores = self.decision_function(X)
        labels = self.learner_.task.multilabel
        _warn_of_collapse(scores, labels)
        if labels:
            return (scores > 0).astype(int)
        return self.classes_[predicted_numbers(scores)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of every class, in rows that sum to 1; multilabel: that of every label.

        With the score f it is 1/(1 + exp(-a f)) for two classes, ~ exp(a f_k) for several, and
        1/(1 + exp(-(a f + b))) for a label. a and b are fitted to the last 512 documents that were scored before they
        were learned.

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        proportions = self._proportions(self._bags(X))
        return self._class_order.columns(self.learner_.probabilities(proportions))

    def predict_set(self, X: Any, coverage: float = 0.9, *, by_class: bool = True) -> np.ndarray:
        """Return sets of classes that have the true one with a probability of ``coverage``.

        They are made as those of :meth:`confidently.OnlineClassifier.predict_set`, from the documents that were scored
        before they were learned (``calibration``). The levels do not follow what was missed of late.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_words)
        coverage : float
            The probability, in (0, 1).
        by_class : bool
            Whether documents of each class are covered so often. Without, those of all classes together are.

        Returns
        -------
        ndarray of bool, shape (n, n_classes)
            Which of ``classes_`` are in the set of each document; perhaps none, perhaps all. In multilabel data the
            labels that cannot be excluded: each relevant label is in the set with a probability of ``coverage``.

        Raises
        ------
        ValueError, TypeError
            For another ``coverage``; with ``calibration=None``, which scores no documents.

        Warns
        -----
        confidently.data.DataWarning
            If fewer documents count than 1/(1 - coverage) - 1; sets then have every class. Of 1,000 documents 224 are
            scored, of 10,000 about 800.

        Notes
        -----
        The probability is that of documents in random order with those of training, however wrong the model is.
        """
        check_number("predict_set", "coverage", coverage, UNIT)
        if text := self._calibrated("predict_set").warning(coverage, by_class):
            warn(f"predict_set: {text}")
        proportions = self._proportions(self._bags(X))
        sets = self.learner_.conformal.sets(self.learner_.probabilities(proportions), coverage, by_class)
        return self._class_order.columns(sets)

    def abstain(self, X: Any, risk: float = 0.01) -> np.ndarray:
        """Return which documents to leave unanswered, so that at most a fraction ``risk`` of the answers is wrong.

        As :meth:`confidently.OnlineClassifier.abstain`, from the documents that were scored before they were learned.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_words)
        risk : float
            The fraction, in (0, 1).

        Returns
        -------
        ndarray of bool, shape (n,)
            True where :meth:`predict` should not be relied on.

        Raises
        ------
        ValueError, TypeError
            For another ``risk``; with ``calibration=None``; for multilabel data, whose answers are not right or wrong
            as a whole: :meth:`predict_set` bounds what each label misses.

        Warns
        -----
        confidently.data.DataWarning
            If no answers are known to be wrong that rarely; all documents are then left unanswered. Without a mistake,
            it takes log(.01)/log(1 - risk) scored documents, 90 for a risk of .05.

        Notes
        -----
        If documents come in random order, the error among the answers is above ``risk`` with a probability of about
        .01.
        """
        check_number("abstain", "risk", risk, UNIT)
        learned = self._calibrated("abstain")
        if self.learner_.task.multilabel:
            raise ValueError(f"abstain: {SEVERAL_LABELS}")
        least = learned.least_probability(risk)
        if least > 1.0:
            warn(f"abstain: every document is left unanswered: {NO_ANSWERS.format(risk)}")
        return self.predict_proba(X).max(axis=1) < least

    def _calibrated(self, method: str) -> ConformalSets:
        """Return what was learned of the probabilities of true classes."""
        check_is_fitted(self)
        if self.learner_.settings.calibration is None:
            raise ValueError(f"{method}: {UNCALIBRATED}")
        return self.learner_.conformal

    def margin_distribution(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of the scores of a classifier drawn from its Gaussian.

        Returns
        -------
        mean, variance : ndarray
            mu.z and z' Sigma z, both of the shape of :meth:`decision_function`.
        """
        proportions = self._proportions(self._bags(X))
        mean, variance = self.learner_.scores(proportions), self.learner_.score_variances(proportions)
        return self._scores(mean), variance[:, 0] if self._is_binary else self._class_order.columns(variance)

    def _bags(self, X: Any) -> Bags:
        check_is_fitted(self)
        return bags_of(check_counts(validated(self, X, accept_sparse="csr", reset=False), self))

    def _proportions(self, bags: Bags) -> np.ndarray:
        return self.learner_.proportions(bags, effective_n_jobs(self.n_jobs))

    def _decision(self, bags: Bags) -> np.ndarray:
        return self._scores(self.learner_.scores(self._proportions(bags)))

    def _scores(self, columns: np.ndarray) -> np.ndarray:
        return self._class_order.scores(columns[:, 0] if self._is_binary else columns, self._is_binary)

    def _by_model(self, values: np.ndarray, axis: int) -> np.ndarray:
        """Return values by model in the order of the classes, if each has a model of its own."""
        own_models = self.learner_.task.several
        return np.take(values, self._class_order.numbers, axis) if own_models else values

    @property
    def _is_binary(self) -> bool:
        return self.learner_.task.binary

    # --- what was learned ----------------------------------------------------------------------------------------

    def top_words(self, feature_names: Any = None, n: int = 10, relevance: float = 1.0) -> list[list[str]]:
        """Return the most relevant words of every topic, most relevant first.

        Parameters
        ----------
        feature_names : sequence of str, optional
            Words by column, as from ``CountVectorizer.get_feature_names_out()``; by default the column names of the
            data frame trained on, otherwise ``x0``, ``x1``, ...
        n : int
            Words per topic.
        relevance : float
            In [0, 1]. 1 orders words by their probability in the topic, 0 by how much likelier they are in it than in
            all texts, rare ones first. Values between weigh both; 0.6 reads well (Sievert & Shirley 2014).
        """
        check_is_fitted(self)
        names = self._word_names() if feature_names is None else feature_names
        names = [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names)
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"feature_names: expected {counted(self.n_features_in_, 'name')}, one per word, got {len(names)}"
            )
        scores = relevances(self._by_model(self._fitted.topics(), axis=0), relevance).reshape(self.n_topics_, -1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        return [[str(names[j]) for j in row] for row in order]

    def _word_names(self) -> Any:
        features = getattr(self, "features_", None)
        return getattr(self, "feature_names_in_", None) if features is None else features.names

    @property
    def components_(self) -> np.ndarray:
        return self._by_model(self._fitted.topics(), axis=0).reshape(self.n_topics_, -1)

    @property
    def coef_(self) -> np.ndarray:
        mean = self._fitted.means().reshape(-1, self._fitted.settings.n_topics)
        return self._class_order.scores(mean.T, self._is_binary).T

    @property
    def variance_(self) -> np.ndarray:
        diagonals = np.diagonal(self._fitted.covariances(), axis1=2, axis2=3)
        variance = diagonals.reshape(-1, self._fitted.settings.n_topics).copy()
        return variance if self._is_binary else self._class_order.columns(variance.T).T

    @property
    def classes_(self) -> np.ndarray:
        if "_class_order" not in vars(self):
            raise AttributeError("the topic model is not fitted yet; call fit or partial_fit")
        return self._class_order.classes

    @property
    def n_topics_(self) -> int:
        return self._fitted.state["totals"].size

    @property
    def epsilon_(self) -> float:
        return self._fitted.settings.epsilon

    @property
    def n_seen_(self) -> int:
        return self._fitted.n_seen

    @property
    def alarms_(self) -> int:
        return self._fitted.conformal.alarms

    @property
    def rows_since_alarm_(self) -> int:
        return self._fitted.conformal.rows_since_alarm

    @property
    def _fitted(self) -> TopicLearner:
        if "learner_" not in vars(self):
            raise AttributeError("the topic model is not fitted yet; call fit or partial_fit")
        return self.learner_

    # --- scikit-learn --------------------------------------------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        return self.n_topics_

    def __sklearn_is_fitted__(self) -> bool:
        return "learner_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.poor_score = True  # on two measurements per row, which are not documents
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    # --- files ---------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file; :func:`confidently.load` reads it.

        The file appears only when it is complete. Training that continues from it gives the same model, bit for bit, as
        uninterrupted training.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        params = {name: value for name, value in self._plain_params().items() if name != "class_weight"}
        estimator = {name: None if value is None else plain(value) for name, value in params.items()}
        estimator["class_weight"] = plain_class_weight(self.class_weight)
        features = getattr(self, "features_", None if names is None else Features.named(list(names)))
        classes = [plain(c) for c in self._class_order.names]
        TopicModel(self.learner_, classes, features, estimator, getattr(self, "source_", {})).save(path)

    def _plain_params(self) -> dict[str, Any]:
        """The parameters that a file can hold, which excludes a generator of random numbers."""
        params: dict[str, Any] = self.get_params()
        if not isinstance(self.random_state, numbers.Integral):
            params["random_state"] = None
        return params

    @classmethod
    def of(cls, model: TopicModel) -> Self:
        """Return the estimator of a model file; ``TypeError`` if its settings are not those of this class."""
        self = cls(**with_class_weight(model.estimator))
        self.learner_, self._class_order = model.learner, ClassOrder(model.classes)
        self.n_features_in_ = model.learner.n_features
        if model.source:
            self.source_, self.features_ = model.source, model.features
        elif model.features is not None:
            self.feature_names_in_ = np.array(list(model.features.names), dtype=object)
        return self


def _warn_of_collapse(scores: np.ndarray, multilabel: bool) -> None:
    """Warn if the scores predict the same for all documents."""
    if message := collapse_message(scores, multilabel):
        warnings.warn(message, CollapseWarning, stacklevel=3)
