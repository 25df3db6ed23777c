"""Write capabilities.md, what each estimator can do: python docs/capabilities.py.

``tests/test_capabilities.py`` does what the table says yes to, and compares the errors of the rest.
"""

from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).with_name("capabilities.md")
REFRESH = "python docs/capabilities.py"
ESTIMATORS = (
    "OnlineClassifier", "OnlineRegressor", "AutoClassifier", "AutoRegressor", "MIRA", "OnlineMedLDA",
    "ContextualBandit",
)  # fmt: skip

# Title and page of each, in groups.
GROUPS = {
    "What is learned": {
        "three_classes": ("more than two classes", "choosing-an-algorithm.md"),
        "label_sets": ("several labels per row", "multilabel.md"),
        "several_targets": ("several numbers per row", "regression.md"),
        "new_classes": ("classes that come later", "quick-start.md"),
        "example_weights": ("weights of examples", "uncertainty.md"),
        "class_weights": ("weights of classes", "choosing-an-algorithm.md"),
    },
    "Rows": {
        "sparse_rows": ("sparse matrices", "quick-start.md"),
        "data_frames": ("data frames, by the names of columns", "data-frames-and-export.md"),
        "tables": ("frames with strings, dates and missing values, dicts, texts", "data-frames-and-export.md"),
        "files": ("files of any format, in Python", "data-formats.md"),
        "commands": ("files, on the command line", "command-line.md"),
        "dicts": ("dicts, in River's pipelines", "migrating-from-river.md"),
        "dicts_of_labels": ("dicts with several labels", "migrating-from-river.md"),
        "later_rows": ("rows that come later", "large-files.md"),
        "several_passes": ("several passes", "large-files.md"),
        "exact_resume": ("saved and resumed, bit for bit", "model-file.md"),
        "merging": ("merging of models", "merging.md"),
        "clusters": ("clusters", "distributed.md"),
        "entities": ("a model per user around it", "entities.md"),
        "serving": ("learning on a server", "serve.md"),
    },
    "What is predicted": {
        "probabilities": ("probabilities of classes", "uncertainty.md"),
        "intervals": ("intervals of numbers", "regression.md"),
        "variances": ("variances of predictions", "uncertainty.md"),
        "abstention": ("abstention", "uncertainty.md"),
        "class_sets": ("sets of classes", "uncertainty.md"),
        "group_sets": ("sets or intervals that cover by the values of a column", "prediction-sets.md"),
        "bounded_risk": ("abstention that bounds the error", "uncertainty.md"),
        "novelty": ("p-values of rows unlike all before", "prediction-sets.md"),
        "active_learning": ("choice of rows to label", "active-learning.md"),
        "onnx": ("export to ONNX", "data-frames-and-export.md"),
        "coefficients": ("export to a predictor of scikit-learn", "data-frames-and-export.md"),
    },
    "What is shown": {
        "measures": ("measures of predictions of files and frames", "data-frames-and-export.md"),
        "validation": ("progressive validation, over the rows", "comparing.md"),
        "comparison": ("comparison of rules in one pass", "comparing.md"),
        "importances": ("importance of features", "inspecting.md"),
        "inspection": ("weights of features", "inspecting.md"),
        "explanations": ("contributions to the prediction of a row", "inspecting.md"),
        "drawn_weights": ("weights, drawn", "inspecting.md"),
        "drawn_rows": ("contributions, drawn", "inspecting.md"),
        "decision_maps": ("map of decisions over two columns", "gallery.md"),
    },
}  # fmt: skip
CAPABILITIES = {name: found for group in GROUPS.values() for name, found in group.items()}


class No(NamedTuple):
    """Why an estimator does not do something, and the error that it raises, as a pattern; None: it is not asked."""

    reason: str
    error: str | None


NUMBERS = No("It predicts numbers, which have no classes.", None)
CLASSES = "It predicts classes; use `OnlineRegressor`."
MIRA = "MIRA is the baseline of a paper, in memory and without a Gaussian; use `OnlineClassifier`."
TOPIC_MODEL = "A topic model is a model of documents; `confidently topics` trains and shows it."
BANDIT = "A bandit is trained by decisions and rewards; its `model` is any of the first two."
STACK = "A stack has no single row of coefficients; use `to_onnx`."

NO_SCORES = "It does not learn the scores of true classes before it learns their rows."

ENTITIES = "Entities deviate from one Gaussian over weights; use `OnlineClassifier` or `OnlineRegressor`."

NO: dict[tuple[str, str], No] = {
    **{
        ("entities", name): No(ENTITIES, "expected an OnlineClassifier or an OnlineRegressor")
        for name in ("AutoClassifier", "AutoRegressor", "MIRA", "OnlineMedLDA", "ContextualBandit")
    },
    **{
        (name, estimator): NUMBERS
        for name in (
            "three_classes", "label_sets", "dicts_of_labels", "new_classes", "class_weights", "probabilities",
            "abstention", "class_sets", "bounded_risk", "decision_maps",
        )
        for estimator in ("OnlineRegressor", "AutoRegressor")
    },
    **{
        ("several_targets", name): No(CLASSES, error)
        for name, error in {
            "OnlineClassifier": "Unknown label type: continuous-multioutput", "MIRA": "y should be a 1d array",
            "AutoClassifier": "Unknown label type: continuous-multioutput",
            "OnlineMedLDA": "Unknown label type: continuous-multioutput",
        }.items()
    },
    **{
        ("intervals", name): No("It predicts classes, with probabilities.", "has no attribute 'predict_interval'")
        for name in ("OnlineClassifier", "AutoClassifier", "MIRA", "OnlineMedLDA")
    },
    **{
        ("validation", name): No("Its `rmse_` and `mae_` are progressive, of all rows.", "whose rmse_ and mae_ are")
        for name in ("OnlineRegressor", "AutoRegressor")
    },
    **{
        ("comparison", name): No("`compare` is for classifiers.", "is not a class: labels are integers or strings")
        for name in ("OnlineRegressor", "AutoRegressor")
    },
    **{
        ("active_learning", name): No("Active learning asks about classes.", "takes an OnlineClassifier or")
        for name in ("OnlineRegressor", "AutoRegressor")
    },
    **{
        ("coefficients", name): No(STACK, "has no attribute 'to_sklearn'")
        for name in ("AutoClassifier", "AutoRegressor")
    },
    ("serving", "OnlineRegressor"): No("The server learns classes and labels.", "predicts numbers"),
    ("serving", "AutoRegressor"): No("The server learns classes and labels.", "unknown field"),
    **{
        (capability, name): No(NO_SCORES, f"no attribute '{method}'")
        for capability, method in (
            ("class_sets", "predict_set"), ("bounded_risk", "abstain"), ("novelty", "novelty")
        )
        for name in ("MIRA", "ContextualBandit")
    },
    **{
        ("group_sets", name): No(NO_SCORES, "has no parameter 'coverage_by'")
        for name in ("MIRA", "ContextualBandit")
    },
    ("group_sets", "OnlineMedLDA"): No(
        "A document has words and no column of values.", "has no parameter 'coverage_by'"
    ),
    ("novelty", "OnlineMedLDA"): No(
        "Words that training has not seen are left out, so that a topic model does not see what is new in a document.",
        "no attribute 'novelty'",
    ),
    **{
        (name, "MIRA"): No(MIRA, error)
        for name, error in {
            "tables": "could not convert string", "measures": "evaluate takes a classifier or",
            "label_sets": "y should be a 1d array", "example_weights": "unexpected keyword argument 'sample_weight'",
            "class_weights": "has no parameter 'class_weight'", "files": "no attribute 'fit_stream'",
            "commands": "unknown rule 'mira'", "dicts": "no attribute 'MIRA'",
            "dicts_of_labels": "no attribute 'MIRA'", "exact_resume": "no attribute 'save'",
            "merging": "merge takes", "clusters": "MIRA", "serving": "unknown rule 'mira'",
            "probabilities": "no attribute 'predict_proba'", "variances": "no attribute 'margin_distribution'",
            "abstention": "unknown rule 'mira'", "active_learning": "takes an OnlineClassifier or",
            "importances": "no attribute 'feature_importances_'", "coefficients": "no attribute 'to_sklearn'",
            "inspection": "unknown rule 'mira'", "explanations": "unknown rule 'mira'",
            "drawn_weights": "unknown rule 'mira'", "drawn_rows": "unknown rule 'mira'",
            "decision_maps": "margin_distribution",
        }.items()
    },
    **{
        (name, "OnlineMedLDA"): No(TOPIC_MODEL, error)
        for name, error in {
            "tables": "could not convert string", "measures": "evaluate takes a classifier or",
            "files": "no attribute 'fit_stream'", "dicts": "no attribute 'OnlineMedLDA'",
            "dicts_of_labels": "no attribute 'OnlineMedLDA'", "merging": "merge takes",
            "clusters": "OnlineMedLDA", "serving": "unknown field", "abstention": "got a topic model",
            "active_learning": "takes an OnlineClassifier or", "onnx": "no attribute 'to_onnx'",
            "coefficients": "no attribute 'to_sklearn'", "importances": "no attribute 'feature_importances_'",
            "inspection": "got a topic model",
            "explanations": "got a topic model", "drawn_weights": "got a topic model",
            "drawn_rows": "got a topic model",
        }.items()
    },
    ("new_classes", "OnlineMedLDA"): No(
        "Topics are fitted to all classes; name them in the first call.", "a topic model cannot add classes"
    ),
    ("decision_maps", "OnlineMedLDA"): No("Rows are counts of words, not points of a plane.", "Negative values"),
    **{
        (name, "ContextualBandit"): No(BANDIT, error)
        for name, error in {
            "tables": "could not convert string", "measures": "evaluate takes a classifier or",
            "label_sets": "unhashable", "several_targets": "unhashable", "data_frames": "feature_names_in_",
            "example_weights": "unexpected keyword argument 'sample_weight'",
            "class_weights": "has no parameter 'class_weight'",
            "several_passes": "has no parameter 'passes'", "files": "no attribute 'fit_stream'",
            "new_classes": "unexpected keyword argument 'classes'", "three_classes": "or use add_arm first",
            "commands": "unknown rule 'contextualbandit'", "dicts": "no attribute 'ContextualBandit'",
            "dicts_of_labels": "no attribute 'ContextualBandit'",
            "merging": "merge takes", "clusters": "ContextualBandit", "serving": "unknown field",
            "probabilities": "no attribute 'predict_proba'", "intervals": "no attribute 'predict_interval'",
            "abstention": "unknown rule", "active_learning": "takes an OnlineClassifier or",
            "onnx": "no attribute 'to_onnx'", "coefficients": "no attribute 'to_sklearn'",
            "importances": "no attribute 'feature_importances_'", "validation": "Cannot clone object",
            "inspection": "unknown rule", "explanations": "unknown rule",
            "drawn_weights": "unknown rule", "drawn_rows": "unknown rule", "decision_maps": "margin_distribution",
        }.items()
    },
}  # fmt: skip


def answer(capability: str, estimator: str) -> No | None:
    """Return why an estimator does not have a capability, or None if it has."""
    return NO.get((capability, estimator))


def page() -> str:
    """Return the whole page."""
    reasons = list(dict.fromkeys(no.reason for no in NO.values()))
    parts = [
        "# Capabilities of the estimators\n\n"
        f"<!-- written by {REFRESH} -->\n\n"
        "Each *yes* is done by a test, and each number refers to a reason below. The test compares the error that\n"
        "you get instead.\n"
    ]
    head = f"| | {' | '.join(f'`{name}`' for name in ESTIMATORS)} |\n|---|{'---|' * len(ESTIMATORS)}\n"
    for title, group in GROUPS.items():
        lines = []
        for name, (what, link) in group.items():
            found = (answer(name, estimator) for estimator in ESTIMATORS)
            cells = ("yes" if no is None else f"no ({reasons.index(no.reason) + 1})" for no in found)
            lines.append(f"| [{what}]({link}) | {' | '.join(cells)} |\n")
        parts.append(f"## {title}\n\n{head}{''.join(lines)}")
    parts.append("## Reasons\n\n" + "".join(f"{k}. {reason}\n" for k, reason in enumerate(reasons, 1)))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
