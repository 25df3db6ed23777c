"""scikit-learn's own checks of the topic model."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from confidently import OnlineMedLDA
from tests.combinations import sampled

# the tests of calibration check the same with counts
REPEATED = "weights equal repetitions in expectation, since topics are sampled; the learner's tests compare the means"
NEGATIVE = "it uses negative numbers, which are not counts of words"
FAILING = {
    "check_decision_proba_consistency": NEGATIVE,
    "check_class_weight_classifiers": NEGATIVE,
    "check_sample_weight_equivalence_on_dense_data": REPEATED,
    "check_sample_weight_equivalence_on_sparse_data": REPEATED,
}


@sampled(
    parametrize_with_checks(
        [OnlineMedLDA(5), OnlineMedLDA(n_topics=None, max_topics=6, classifier="averaging")],
        expected_failed_checks=lambda estimator: FAILING,
    )
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
