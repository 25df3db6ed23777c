"""The estimators with nothing to tune: several learners on different views of the same rows, and their mixture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..covariances.table import kind_of
from ..learner.recipe import default_passes
from ..similar import hinting
from ..stack.choice import new_stack
from ..stack.label_stack import LabelStack
from ..stack.members import WEIGHTS
from ..stack.number_choice import new_number_stack
from ..stack.number_stack import NumberStack
from ..stack.plan import Plan
from ..stack.stack import Stack
from ..tasks.targets import Bounds, check_bounds
from ..views.table import AUTO
from .base_classifier import BaseOnlineClassifier
from .base_regressor import BaseOnlineRegressor
from .classifier import OnlineClassifier
from .mixture import MixtureEstimator
from .regressor import OnlineRegressor

if TYPE_CHECKING:
    from onnx import ModelProto


class AutoClassifier(MixtureEstimator[Stack], BaseOnlineClassifier[Stack]):
    """Several online learners on different views of the same rows, and a mixture of what they say; nothing to tune.

    With l_gk the calibrated score of class k by member g, P(k) is proportional to exp(sum_g w_g l_gk). The members
    learn every row, each as its view shows it; the weights w_g follow the log-loss of the mixture by damped Newton
    steps. Those of three windows, which forget rows older than about 50, 300 and 5000, are mixed by how well each has
    predicted of late, and some members forget, so that streams that move are followed. Members that the mixture can do
    without are dropped after 3000, 10000, 30000, ... rows. One pass is enough, and training can continue at any time.

    Parameters
    ----------
    members : "auto" or list of OnlineClassifier, default="auto"
        The members. "auto" chooses them by the columns of the first rows, at most 1000. A narrow table, of up to 128
        numeric columns, has these standardized: AROW with all covariances and logistic learn them, products of two, and
        random cosines of all for Gaussian kernels of three widths; some forget. If there are 1000 first rows, logistic
        also learns bins of the columns, and products of two bins of at most 20, and one kernel is of ranks. Embeddings,
        dense rows of unit norm whose 32 to 1536 columns have one scale, have class means, logistic with all
        covariances, and logistic on standardized columns. Other rows are standardized if they are a table, or have unit
        norm: AROW and logistic learn these; products of two columns, if there are few; with up to 128 columns AROW with
        all covariances, and two that forget; for many sparse columns, such as words, AROW on ``idf`` and ``nb``, and
        naive Bayes; for many dense ones logistic on rows of unit norm, and AROW on random cosines of these and, if few
        values are 0, of ranks. For more than 64 classes, they have no products and no ``nb``, and for words no
        logistic. Of label sets, all members have one variance per weight (see the guide). Of an OnlineClassifier, its
        rule, covariance, view and ``forget`` count, and of label sets ``multiclass``.
    passes : "auto" or int, default="auto"
        Number of passes of :meth:`fit` over the rows; calibration and weights are learned in the first. "auto" is two
        for an array of fewer than 3000 rows and at most 128 columns, and otherwise one. Of several over an array of 500
        rows or more, a tenth of the rows is left out and learned once, after them: sets are made of its scores.
    tol : float, optional
        End the passes of :meth:`fit` after one whose fraction of mistakes, each made before the row was trained on, is
        not at least ``tol`` below the least of the passes before; by default all passes are made.
    shuffle : "auto" or bool, default="auto"
        Whether :meth:`fit` visits the rows in a new random order in each pass. "auto" is yes: the rows of an array are
        all there, and may be sorted. Use False for rows in the order of time, of which the last count most.
        ``partial_fit`` and streams are never shuffled. In random order nothing moves: there are no members that forget,
        unless you passed them, and one window; the first rows that follow begin both.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weight of the examples of each class; not for multilabel data.
    random_state : int, RandomState or None, default=0
        Seed of the shuffling: with the same one, the same rows give the same model. None: another order each time.
    dtype : {"float64", "float32"}, default="float64"
        Type of the members' states.
    coverage_by : str or int, optional
        The column by whose values :meth:`predict_set` covers: sets of rows with each value have the true class, or each
        of their labels, as often as is asked for. Its name; or its number in an array. Up to 256 values have scores of
        their own; rows with others, or with values of few rows, are compared with all of these together.
    encoder : str, object or callable, optional
        What makes a vector of a text; ``X`` is then a list of texts or a column of a frame. An object with ``encode``
        or ``embed`` of a list of texts, as those of sentence-transformers, model2vec and wordllama, a function of one,
        or "wordllama", which an extra installs. Arrays are taken for its vectors. The vectors of the last texts are
        kept; a blank text is a row of zeros. A model file has its name and answers by which it is recognized.
    trees : bool, default=True
        Whether there are members on boosted trees, where these can help: for tables. See :class:`confidently.Trees`.
    verbose : bool, default=False
        Whether training shows a bar of the rows done, on standard error or in the notebook.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted; for multilabel data, the labels.
    members_ : dict of str to OnlineClassifier, NaiveBayes or ClassMeans
        The members by name, as they are now; ``learner_.dropped`` names those that were dropped, and after how many
        rows. Their ``coef_`` are weights of what their view makes of a row: of a standardized column per standard
        deviation, on ``pairs`` also of products of two columns, which ``confidently inspect`` names. Their
        probabilities are those of a sigmoid or temperature, without the correction that a learner by itself learns.
    moves_ : list of int
        The rows at which the mixture moved to shorter memories and back in turn.
    weights_ : ndarray of shape (n_members,)
        What each contributes to the mixture. They need not be positive, nor add up to 1. For multilabel data, those of
        each label, shape (n_labels, n_members).
    n_iter_ : int
        Passes that :meth:`fit` has made.
    n_seen_, mistakes_ : int
        Rows trained on, in all passes; those whose class was not the most probable before the update, and in multilabel
        data those of which a label scored no higher than one that they lack.
    feature_importances_ : ndarray of shape (n_features,)
        The part of each feature in the squared effects on the mixed score over the rows learned; they add up to 1. Of
        tables read by columns, one each.
    alarms_, rows_since_alarm_ : int
        Drift alarms of the first pass, and the rows since the last one, or since the first row. If rows come in random
        order, there is an alarm with a probability of at most .01 until the first one, and so again from each.
    alarm_columns_ : list or None
        The columns that moved near the last drift alarm, by name or number; empty if none did, so that the classes of
        rows changed and not their columns. None: there was no alarm, or the columns are not known (yet).
    moved_columns_ : dict or None
        The row at which each column moved last, of those that did. If rows come in random order, any does with a
        probability of about .01. None: there are more than 256 columns, or the model is merged.
    n_features_in_, feature_names_in_
        As in any scikit-learn estimator.
    source_, features_
        After training from files: how their rows were read, and the names of the features.

    Notes
    -----
    The class with the largest probability is predicted, always; in multilabel data, where ``y`` is an indicator matrix,
    labels above half of the progressive F1. Each label then has a mixture of its own. With "auto", the rows of the
    first call choose the members: give it a few hundred.

    References
    ----------
    Wolpert, Stacked generalization, Neural Networks 5, 1992. Herbster & Warmuth, Tracking the best expert, Machine
    Learning 32, 1998. The members cite their own.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AutoClassifier().fit(X[:400], y[:400])
    >>> round(model.score(X[400:], y[400:]), 2)
    0.98
    >>> list(model.members_)[:2]
    ['arow with all covariances on standard', 'arow with all covariances on standard without unit norm']
    """

    _member_kind = OnlineClassifier
    chooses_passes = True

    @hinting
    def __init__(
        self,
        members: str | Sequence[OnlineClassifier] = AUTO,
        *,
        passes: int | str = AUTO,
        tol: float | None = None,
        shuffle: bool | str = AUTO,
        class_weight: dict[Any, float] | str | None = None,
        random_state: int | np.random.RandomState | None = 0,
        dtype: str = "float64",
        coverage_by: str | int | None = None,
        encoder: Any = None,
        trees: bool = True,
        verbose: bool = False,
    ) -> None:
        self.members = members
        self.passes = passes
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.random_state = random_state
        self.dtype = dtype
        self.coverage_by = coverage_by
        self.encoder = encoder
        self.trees = trees
        self.verbose = verbose

    def _passes(self, shape: tuple[int, int] | None = None) -> int:
        if self.passes != AUTO:
            return super()._passes(shape)
        return 1 if shape is None else default_passes(*shape)

    def _new_stack(self, multilabel: bool, **options: Any) -> Stack:
        return new_stack(multilabel=multilabel, **options, trees=self.trees)

    def _stack_of(self, plans: list[Plan], multilabel: bool, **options: Any) -> Stack:
        return (LabelStack if multilabel else Stack)(plans, **options)

    def to_onnx(self, dtype: str = "float32") -> ModelProto:
        """Return the predictor as an ONNX graph (opset 17), for any runtime; needs the extra ``onnx``.

        Parameters
        ----------
        dtype : {"float32", "float64"}
            Of the input ``X``, shape (n, n_features), of all numbers within, and of ``probabilities``.

        Returns
        -------
        onnx.ModelProto
            With the outputs of :meth:`confidently.OnlineClassifier.to_onnx`.

        Raises
        ------
        ImportError
            If ONNX is not installed.
        ValueError
            For an unknown type, or a member that cannot be exported: a kernel, or a covariance of all classes.
        """
        from ..models.stack_export import stack_to_onnx  # only here, to save start-up time

        check_is_fitted(self)
        return stack_to_onnx(self.learner_, self._class_order, self._feature_names(), dtype)

    @property
    def moves_(self) -> list[int]:
        moves = self._fitted.moves
        return list(moves.rows) if moves is not None else []

    @property
    def weights_(self) -> NDArray[np.float64]:
        weights = self._fitted.state[WEIGHTS]
        return self._class_order.columns(weights.T).T.copy() if weights.ndim == 2 else weights.copy()


class AutoRegressor(MixtureEstimator[NumberStack], BaseOnlineRegressor[NumberStack]):
    """Several online regressions on different views of the same rows, and a mixture of these; nothing to tune.

    With m_g the prediction of member g, sum_g w_g m_g is predicted. The members learn every row, each as its view shows
    it; the weights w_g, which add up to 1, are those with the least squared error of the predictions made before the
    targets were used. Those of three windows, which forget rows older than about 50, 300 and 5000, are mixed by how
    well each has predicted of late. The last members learn what the mixture of the others leaves, and are added. Of
    several numbers per row, each has a mixture of its own over the same members. One pass is enough, and training can
    continue at any time.

    Parameters
    ----------
    members : "auto" or list of OnlineRegressor, default="auto"
        The members. "auto" chooses them by the columns of the first rows, at most 1000. All are ridge regressions: on
        the rows as they are; for tables of up to 1000 columns on bins of the columns, on 400 random cosines of the
        standardized columns and of their ranks (200 for fewer than 1000 rows), on standardized columns with a short
        memory and, for up to 64 values per row, on products of two columns. Then products of 6 bins of each column, and
        for up to 20 values per row of 36 and 216, learn what these leave. If the first targets are positive and skewed,
        as prices and counts are, three of the members are also there for their logarithms. For more than 1000 columns
        on rows of unit norm and on ``idf``. Of an OnlineRegressor, its rule, covariance and view count.
    passes : int, default=1
        Number of passes of :meth:`fit` over the rows; calibration and weights are learned in the first. Of several over
        an array of 500 rows or more, a tenth of the rows is left out and learned once, after them.
    shuffle : "auto" or bool, default="auto"
        Whether :meth:`fit` visits the rows in a new random order in each pass. "auto" is yes: the rows of an array are
        all there, and may be sorted. Use False for rows in the order of time, of which the last count most.
        ``partial_fit`` and streams are never shuffled. In random order nothing moves: there are no members that forget,
        unless you passed them, and one window; the first rows that follow begin both.
    random_state : int, RandomState or None, default=0
        Seed of the shuffling: with the same one, the same rows give the same model. None: another order each time.
    dtype : {"float64", "float32"}, default="float64"
        Type of the members' states.
    bounds : tuple of float or None, optional
        The least and the largest possible target, such as ``(0, 1)`` for shares, ``(0, None)`` for prices or
        ``(None, None)`` for none. Predictions and limits stay within; a target beyond them is an error. By default, no
        prediction or limit is negative as long as no target was.
    coverage_by : str or int, optional
        The column by whose values :meth:`predict_interval` covers: intervals of rows with each value contain the target
        as often as is asked for. Its name; or its number in an array. Up to 256 values have errors of their own; rows
        with others, or with values of few rows, are compared with all of these together.
    encoder : str, object or callable, optional
        What makes a vector of a text; ``X`` is then a list of texts or a column of a frame. An object with ``encode``
        or ``embed`` of a list of texts, as those of sentence-transformers, model2vec and wordllama, a function of one,
        or "wordllama", which an extra installs. Arrays are taken for its vectors. The vectors of the last texts are
        kept; a blank text is a row of zeros. A model file has its name and answers by which it is recognized.
    trees : bool, default=True
        Whether there are members on boosted trees, where these can help: for tables. See :class:`confidently.Trees`.
    verbose : bool, default=False
        Whether training shows a bar of the rows done, on standard error or in the notebook.

    Attributes
    ----------
    members_ : dict of str to OnlineRegressor
        The members by name, as they are now; those "of logarithms" predict these. The ``coef_`` of "ridge on rows" are
        weights of the columns; of other members they are weights of what their view makes of a row: of products of two
        columns, which ``confidently inspect`` names, and of cosines, each of all columns.
    weights_ : ndarray of shape (n_members,) or (n_outputs, n_members)
        What each contributes to the mixture. They need not be positive. Those of members "of the rest" do not count in
        the sum of 1.
    feature_importances_ : ndarray of shape (n_features,)
        The part of each feature in the squared effects on the mixed score over the rows learned; they add up to 1. Of
        tables read by columns, one each.
    alarms_, rows_since_alarm_ : int
        How often the errors said that the order of the rows matters, at level .01, and the rows since the last time.
    alarm_columns_ : list or None
        The columns that moved near the last drift alarm, by name or number; empty if none did, so that what depends on
        the columns changed, not these. None: there was no alarm, or the columns are not known (yet).
    moved_columns_ : dict or None
        The row at which each column moved last, of those that did. If rows come in random order, any does with a
        probability of about .01. None: there are more than 256 columns, or the model is merged.
    rmse_, mae_ : float or ndarray of shape (n_outputs,)
        Progressive validation: root mean squared and mean absolute error of the predictions made in training, each
        before its target was used.
    n_seen_ : int
        Rows trained on, in all passes.
    n_features_in_, feature_names_in_
        As in any scikit-learn estimator.
    source_, features_
        After training from files: how their rows were read, and the names of the features.

    Notes
    -----
    With "auto", the rows of the first call choose the members: give it a few hundred. The time per row does not depend
    on the number of rows; that of a table is about that of two regressions with 400 columns each. In later passes,
    members "of the rest" do not train.

    References
    ----------
    Wolpert, Stacked generalization, Neural Networks 5, 1992; Breiman, Stacked regressions, Machine Learning 24, 1996;
    Friedman, Greedy function approximation, Annals of Statistics 29, 2001; Rahimi & Recht, Random features for
    large-scale kernel machines, NIPS 2007.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(2000, noise=1.0, random_state=0)
    >>> model = AutoRegressor().fit(X[:1500], y[:1500])
    >>> round(model.score(X[1500:], y[1500:]), 2)
    0.92
    >>> list(model.members_)[:2]
    ['ridge on rows', 'ridge on products']
    """

    _member_kind = OnlineRegressor

    @hinting
    def __init__(
        self,
        members: str | Sequence[OnlineRegressor] = AUTO,
        *,
        passes: int = 1,
        shuffle: bool | str = AUTO,
        random_state: int | np.random.RandomState | None = 0,
        dtype: str = "float64",
        bounds: Bounds | None = None,
        coverage_by: str | int | None = None,
        encoder: Any = None,
        trees: bool = True,
        verbose: bool = False,
    ) -> None:
        self.members = members
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state
        self.dtype = dtype
        self.bounds = bounds
        self.coverage_by = coverage_by
        self.encoder = encoder
        self.trees = trees
        self.verbose = verbose

    def _check_members(self, members: Any) -> None:
        super()._check_members(members)
        for member in members:
            if member.covariance != AUTO and kind_of(member.covariance).keeps_examples:
                raise ValueError(f"members: covariance={member.covariance!r} is not supported in a stack")

    def _check_parameters(self, partial: bool) -> None:
        check_bounds(self.bounds)
        super()._check_parameters(partial)

    def _follow_parameters(self) -> None:
        self._check_bounds()
        super()._follow_parameters()

    def _new_stack(self, multilabel: bool, **options: Any) -> NumberStack:
        return new_number_stack(**options, bounds=check_bounds(self.bounds), trees=self.trees)

    def _saved_parameters(self) -> dict[str, Any]:
        return super()._saved_parameters() | {"one_dimensional": self._one_dimensional}

    def _stack_of(self, plans: list[Plan], multilabel: bool, **options: Any) -> NumberStack:
        return NumberStack(plans, **options, bounds=check_bounds(self.bounds))

    def to_onnx(self, dtype: str = "float32") -> ModelProto:
        """Return the predictor as an ONNX graph (opset 17), for any runtime; needs the extra ``onnx``.

        Parameters
        ----------
        dtype : {"float32", "float64"}
            Of the input ``X``, shape (n, n_features), of all numbers within, and of the outputs.

        Returns
        -------
        onnx.ModelProto
            With the outputs of :meth:`confidently.OnlineRegressor.to_onnx`.

        Raises
        ------
        ImportError
            If ONNX is not installed.
        ValueError
            For an unknown type.
        """
        from ..models.stack_export import number_stack_to_onnx  # only here, to save start-up time

        check_is_fitted(self)
        return number_stack_to_onnx(self.learner_, self._feature_names(), dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @property
    def weights_(self) -> NDArray[np.float64]:
        learner = self._fitted
        weights: NDArray[np.float64] = self._of_outputs(learner.state[WEIGHTS].reshape(learner.n_classes, -1))
        return weights.copy()
