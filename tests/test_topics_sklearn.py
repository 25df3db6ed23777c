"""scikit-learn's own checks of the topic model, without exception."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from confidently import OnlineMedLDA


@parametrize_with_checks([OnlineMedLDA(5), OnlineMedLDA(n_topics=None, max_topics=6, classifier="averaging")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
