"""What a topic model has learned, as attributes and methods in scikit-learn's manner."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .learner import TopicLearner
from .views import relevances


class TopicAttributes:
    """Base of :class:`confidently.OnlineMedLDA`, whose docstring lists the attributes."""

    learner_: TopicLearner
    n_features_in_: int

    def top_words(self, feature_names: Any = None, n: int = 10, relevance: float = 1.0) -> list[list[str]]:
        """The words that stand for every topic, the most relevant first.

        Parameters
        ----------
        feature_names : sequence of str, optional
            The words, by column, as ``CountVectorizer.get_feature_names_out()`` gives them; by default those of the
            data frame learned from, else ``x0``, ``x1``, ...
        n : int
            Words a topic.
        relevance : float
            In [0, 1]. 1: words by their probability in the topic; 0: by how much likelier they are in it than in all
            texts, rare ones first; between them by both, of which 0.6 reads well (Sievert & Shirley 2014).
        """
        check_is_fitted(self)
        names = self._words_by_name() if feature_names is None else feature_names
        names = [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names)
        if len(names) != self.n_features_in_:
            raise ValueError(f"{len(names)} feature names were given for {self.n_features_in_} words")
        scores = relevances(self._fitted.topics(), relevance).reshape(self.n_topics_, -1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        return [[str(names[j]) for j in row] for row in order]

    def _words_by_name(self) -> Any:
        features = getattr(self, "features_", None)
        return getattr(self, "feature_names_in_", None) if features is None else features.names

    @property
    def components_(self) -> np.ndarray:
        return self._fitted.topics().reshape(self.n_topics_, -1)

    @property
    def coef_(self) -> np.ndarray:
        return self._fitted.means().reshape(-1, self._fitted.settings.n_topics)

    @property
    def variance_(self) -> np.ndarray:
        diagonals = np.diagonal(self._fitted.covariances(), axis1=2, axis2=3)
        return diagonals.reshape(-1, self._fitted.settings.n_topics).copy()

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
    def _fitted(self) -> TopicLearner:
        if "learner_" not in vars(self):
            raise AttributeError("the topic model has learned nothing yet: call fit or partial_fit")
        return self.learner_
