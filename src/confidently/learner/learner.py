"""An online learner over numbered features and classes: settings, sizes and a state.

It imports NumPy only, so that the command line starts fast. :class:`confidently.OnlineClassifier` wraps it for
scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import _core
from ..covariances.examples import Examples, Progressive
from ..covariances.settings import Settings
from ..covariances.state import Size, State, out_of_range
from ..covariances.table import make_covariance, of_classes, resolved
from ..data.memory.matrix import check_rows, is_checked, largest_value, refuse
from ..tasks.moved_columns import moved_after
from ..views.columns import Columns
from ..views.view import Labelled, View
from .backup import Transaction, Unprotected
from .example_checks import check_examples
from .predictor import ROWS_PER_VIEW, Predictor

# Rows trained on between two reports of progress, at which an interruption takes effect.
ROWS_PER_STRIDE = 8192
# Rows are checked during training if the state, which must then be copied, is smaller than they are by this factor.
STATE_TO_ROWS = 4
BYTES_PER_ENTRY = 12  # of a matrix: a value and its column

Fault = tuple[str, int, int, float] | None  # reason, row, column and value of the first row that cannot be trained on


class Learner(Predictor):
    """An online learner over numbered features and numbered classes.

    Parameters
    ----------
    settings : Settings
        The update rule, the covariance, the task and their parameters.
    n_classes, n_features : int
        Both may grow later.
    view : View, optional
        What the learner sees of a row; by default the row.
    columns : Columns, optional
        What is known about the features, for the view; by default they are plain.
    device : str, optional
        Device of the matrix products of a full or shared covariance: a PyTorch device ("cpu", "cuda") or "cupy". By
        default, the BLAS of NumPy and SciPy runs them. Not saved with a model.
    state : dict of arrays, optional
        What was learned before; by default nothing.

    Attributes
    ----------
    state : dict of arrays
        Everything learned (:mod:`confidently.covariances.state`), the view's arrays included.
    undoes : bool
        Whether an error or an interruption undoes what was learned from the rows before. Without, training may be
        faster, and the learner is of no use after an error. The default is True.

    Raises
    ------
    ValueError
        If the covariance does not allow the settings, or a multiclass task has fewer than two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from confidently.covariances.settings import Settings
    >>> from confidently.data.memory.matrix import as_matrix
    >>> learner = Learner(Settings("arow"), n_features=2)
    >>> X = as_matrix(np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> learner.learn(X, np.array([1, 0], dtype=np.int32))
    >>> learner.predict(X)
    array([1, 0])
    """

    undoes = True

    def __init__(
        self,
        settings: Settings,
        n_classes: int = 2,
        n_features: int = 0,
        *,
        view: View | None = None,
        columns: Columns | None = None,
        device: str | None = None,
        state: State | None = None,
    ) -> None:
        settings = resolved(settings, n_features)
        settings.task.check_outputs(n_classes)
        super().__init__(settings, n_classes, n_features, {} if state is None else state, view)
        self.device = device
        if state is None:
            if view is not None:
                known = Columns.alike(n_features) if columns is None else columns
                self.state = view.grown(view.new_arrays(n_classes), known, n_classes)
            self.state = self.covariance.new_state(self.size) | self.state

    # --- for streams ---------------------------------------------------------------------------------------------

    @property
    def learns_rows(self) -> bool:
        """Whether :class:`confidently._core.BoundMembers` may train it on single rows, while arrays stay the same."""
        of_one = self.task.one_class or self.task.regression
        return self.device is None and of_one and self.covariance.is_ready(self.state)

    @property
    def by_products(self) -> bool:
        """Whether rows may be learned together by matrix products, whose last digits depend on the number of rows."""
        return self.covariance.by_products

    @property
    def begins_classes(self) -> bool:
        """Whether classes may begin at any row within a call of :meth:`learn` (``class_start``)."""
        return not self.covariance.by_products and self.view is None

    @property
    def bytes_per_feature(self) -> int:
        """Bytes per feature."""
        return self.covariance.bytes_per_feature(self.state)

    @property
    def wants_columns(self) -> bool:
        """Whether :meth:`grow` needs to know what the columns are."""
        return self.view is not None

    @property
    def rows_to_prepare(self) -> int:
        """The number of first rows that :meth:`prepare` needs together; 0 if none."""
        return self.view.rows_foreseen if self.view is not None and self.shuffled and not self.n_seen else 0

    def prepare(self, X: _core.Matrix, *known: Any, weight: np.ndarray | None = None, **others: Any) -> None:
        """Get ready for rows that are trained on next; the arguments are those of a stack that chooses its members."""
        if self.shuffled:
            self.foresee(X, weight)

    def sizes(self) -> np.ndarray:
        """Return the largest absolute weight of every feature, over all columns that a view makes of it."""
        sizes = self.covariance.largest_means(self.state, self.width)
        return sizes if self.view is None else self.view.by_feature(self.state, sizes)

    # --- growing -------------------------------------------------------------------------------------------------

    def grow(
        self, n_features: int = 0, n_classes: int = 0, multiclass: str | None = None, columns: Columns | None = None
    ) -> None:
        """Make room for more features or classes, which start at the prior; smaller numbers change nothing.

        A binary learner that gets a third class becomes a ``multiclass`` one, with the same beliefs about the first
        two. By default the task is the rule's own and ``covariance="full"`` becomes "shared". ``columns`` is what is
        known about the new features; by default they are plain.
        """
        several = None
        if n_classes > 2:
            covariance, task = of_classes(self.settings.rule, self.settings.covariance, multiclass)
            if self.settings.task.binary:
                several = make_covariance(replace(self.settings, covariance=covariance, task=task))
        new = Size(max(n_features, self.n_features), max(n_classes, self.n_classes))
        state, width = self.state, new.n_features if self.view is None else self.width
        if self.view is not None and new != (self.n_features, self.n_classes):
            known = Columns.alike(new.n_features - self.n_features) if columns is None else columns
            state = state | self.view.grown(state, known, new.n_classes)
            width = self.view.n_columns(state, new.n_features)
        wider = Size(max(width, self.width), new.n_classes)
        self.settings, self.state = self.covariance.grown(state, self.size, wider, several)
        self.n_features, self.n_classes = new

    # --- learning ------------------------------------------------------------------------------------------------

    def learn(
        self,
        X: _core.Matrix,
        labels: np.ndarray,
        label_start: np.ndarray | None = None,
        *,
        weight: np.ndarray | None = None,
        class_weight: np.ndarray | None = None,
        order: np.ndarray | None = None,
        class_start: np.ndarray | None = None,
        calibrate: bool = True,
        log_loss: np.ndarray | None = None,
        progress: Callable[[int], None] | None = None,
        targets: np.ndarray | None = None,
        values: Sequence[str] | None = None,
    ) -> None:
        """Train on rows, one after the other.

        Parameters
        ----------
        X : matrix of :func:`confidently.data.memory.matrix.as_matrix`
            n rows; at most ``n_features`` columns.
        labels : int32 array
            Class numbers from 0, one per row; multilabel: the labels of all rows, one row after the other; regression:
            0 for every row.
        label_start : int64 array of shape (n + 1,), optional
            Multilabel: positions at which each row's labels start.
        weight : float64 array of shape (n,), optional
            Weights of the rows, >= 0; a row of weight 0 is ignored.
        class_weight : float64 array of shape (n_classes,), optional
            Factors of the weights, by class.
        order : int64 array, optional
            Row numbers in the order of training.
        class_start : int64 array of shape (k,), optional
            Positions in the order of training, ascending, from which on the last k classes exist. By default, all
            classes exist from the first row. A class that does not exist yet has no score, so it is no rival. Only
            where the covariance learns row by row, without a view.
        calibrate : bool
            Whether the margins, computed before their labels are used, calibrate the probabilities.
        log_loss : float64 array of shape (1,), optional
            Incremented by -log of the probability of each row's label before the label is used (multilabel: summed over
            all labels known so far). All rows count equally. Needs ``calibrate``.
        progress : callable, optional
            Called with the number of rows done.
        targets : float64 array of shape (n, n_classes), optional
            Regression: the numbers to predict.
        values : sequence of str, optional
            The rows' values of the column by which sets or intervals cover; needed with ``calibrate`` if there are
            ``groups``.

        Raises
        ------
        ValueError
            If labels are out of range, lengths do not match, or rows have values that are not finite or too large; the
            state is then unchanged. ``OutOfRange`` if a weight would become too large for the type of the state; after
            this or any other error, or an interruption, what was learned from the rows before is undone.
        """
        examples = Examples(X, labels, label_start, weight, class_weight, order, class_start, targets)
        groups = self.groups if calibrate else None
        recorded = Progressive(log_loss)
        if groups is not None:
            groups.check_values(values)
            recorded = Progressive.of_scores(log_loss, examples)
        with self.begin(examples, log_loss) as transaction:
            self.train(examples, transaction, calibrate, recorded, progress)
        if groups is not None and values is not None and recorded.scores is not None:
            self.groups = groups.learned(values, recorded.scores, labels, order, self.n_classes, label_start)
        if calibrate:
            self.moved = moved_after(self.moved, X, order, weight, self.n_features)
            self.centered = 0.0

    def begin(self, examples: Examples, log_loss: np.ndarray | None = None) -> Transaction:
        """Check examples; return the context within which to :meth:`train` on them, which undoes that on an error.

        Raises
        ------
        ValueError
            As :meth:`learn`, for everything that is known before training.
        """
        check_examples(examples, self.settings.task, self.n_classes, self.settings.rule)
        if examples.targets is not None:
            self.targets.check(examples.targets)
        self.check_width(examples.X)
        row_by_row = self.covariance.is_row_by_row(self.state, self.device)
        if examples.class_start is not None and (not row_by_row or self.view is not None):
            raise ValueError("class_start needs a covariance that learns row by row, and no view")
        checks_while_learning = row_by_row and self.view is None
        if checks_while_learning and not self.undoes and examples.order is None:
            return Unprotected()
        if checks_while_learning:
            self._check_before_learning(examples)
        elif not is_checked(examples.X, self.settings.dtype):  # all at once, since a matrix product mixes rows
            check_rows(examples.X, self.settings.dtype)
        self.make_writable()
        return Transaction(self, examples, log_loss, row_by_row, self.device)

    def train(
        self, examples: Examples, transaction: Transaction, calibrate: bool, progressive: Progressive,
        progress: Callable[[int], None] | None = None,
    ) -> None:  # fmt: skip
        """Train on examples, or a part of them, within the context of :meth:`begin`."""
        if self.view is None:
            self.train_seen(examples, transaction, calibrate, progressive, progress)
            return
        for seen, first, last in self.seen(examples, transaction):
            self.train_seen(seen, transaction, calibrate, progressive.block(first, last))
            if progress is not None:
                progress(last)

    def train_seen(
        self, examples: Examples, transaction: Transaction, calibrate: bool, progressive: Progressive,
        progress: Callable[[int], None] | None = None,
    ) -> None:  # fmt: skip
        """Train on examples that the view has made."""
        learn = self._learn_rows if self.covariance.is_row_by_row(self.state, self.device) else self._learn_products
        try:
            fault = learn(examples, calibrate, progressive, progress, transaction.log)
        except OverflowError:
            raise out_of_range(self.settings.dtype) from None
        if fault is not None and fault[0] == "range":
            raise out_of_range(self.settings.dtype)
        refuse(fault, examples.X.shape[1], self.settings.dtype)

    def without_view(self, state: State) -> State:
        """Return the arrays of the covariance."""
        if self.view is None:
            return state
        prefixes = self.view.prefixes
        return {name: array for name, array in state.items() if not name.startswith(prefixes)}

    def seen(self, examples: Examples, transaction: Transaction) -> Iterator[tuple[Examples, int, int]]:
        """Yield what the view makes of rows ``first`` to ``last - 1`` in the order of training, and these numbers.

        Each row is counted in after it was seen.
        """
        assert self.view is not None
        for first in range(0, len(examples), ROWS_PER_VIEW):
            block = examples.block(first, min(first + ROWS_PER_VIEW, len(examples)))
            rows = Labelled(
                examples.X, block.order, first if block.order is None else 0, block.labels, block.label_start,
                block.weight, block.class_weight, self.n_classes, block.targets,
            )  # fmt: skip
            arrays, seen = self.view.learn(self.state, rows, transaction.counted)
            self.take_view(arrays, transaction)
            X = seen.matrix(self.width)
            made = Examples(X, block.labels, block.label_start, block.weight, block.class_weight, targets=block.targets)
            yield made, first, first + block.n

    def take_view(self, arrays: State, transaction: Transaction) -> None:
        """Continue with the arrays of the view; weights grow with the columns that it makes."""
        transaction.keep(self.state)
        size = self.size
        self.state = self.state | arrays
        if self.size != size:
            _, self.state = self.covariance.grown(self.state, size, self.size)

    def settle(self, shuffled: bool = False) -> None:
        """End training on rows, for good if they came in random order, and let sets of classes follow misses again."""
        if shuffled:
            self.settle_view()
        super().settle(shuffled)

    def foresee(self, X: _core.Matrix, weight: np.ndarray | None = None) -> None:
        """Let the view begin with what does not depend on labels, of rows that are trained on in random order next."""
        if self.view is None or self.n_seen or not self.view.rows_foreseen:
            return
        counted = np.arange(X.shape[0]) if weight is None else np.flatnonzero(weight > 0.0)
        n = min(len(counted), self.view.rows_foreseen)
        if n:
            order = counted[np.arange(n) * len(counted) // n]
            self.state = self.state | self.view.foreseen(self.state, X, order)

    def settle_view(self) -> None:
        """Let the view end training on rows in random order."""
        if self.view is not None:
            self.state = self.state | self.view.settled(self.state, self.task.regression)

    def _learn_products(
        self, examples: Examples, calibrate: bool, progressive: Progressive,
        progress: Callable[[int], None] | None, log: _core.UndoLog | None,
    ) -> Fault:  # fmt: skip
        """Train by products of matrices, of checked rows."""
        self.state = self.covariance.learn(
            self.state, examples, self.size, device=self.device, calibrate=calibrate, progressive=progressive,
            progress=progress, log=log,
        )  # fmt: skip
        return None

    def _learn_rows(
        self, examples: Examples, calibrate: bool, progressive: Progressive,
        progress: Callable[[int], None] | None, log: _core.UndoLog | None,
    ) -> Fault:  # fmt: skip
        """Train row by row; return the fault of the first row that cannot be trained on."""
        covariance, X = self.covariance, examples.X
        covariance.begin_rows(self.state, examples)
        core, n = covariance.compiled(), len(examples)
        limit = largest_value(self.settings.dtype)
        largest = 0.0 if is_checked(X, self.settings.dtype) else limit
        first = 0
        while first < n:
            last = min(first + ROWS_PER_STRIDE, n)
            fault = core.learn(self.state, X, examples.compiled(first, last, calibrate, progressive), largest, log)
            if fault is not None and fault[0] == "room":
                _, last, needed, _ = fault
                self.state = covariance.with_room(self.state, needed)
                log = None  # which is about the arrays that are replaced, and undoes all that they have learned
            elif fault is not None:
                return fault
            first = last
            if progress is not None:
                progress(last)
        if largest and examples.order is None:
            X.checked = limit
        return None

    def _check_before_learning(self, examples: Examples) -> None:
        """Check rows beforehand where that costs less than to undo what was learned before an invalid one.

        Checking a row just before training on it is fastest, since it is then in the cache.
        """
        X, size = examples.X, sum(array.nbytes for array in self.state.values())
        if not is_checked(X, self.settings.dtype) and (
            examples.order is not None or size * STATE_TO_ROWS > X.stored * BYTES_PER_ENTRY
        ):
            check_rows(X, self.settings.dtype)

    def make_writable(self) -> None:
        """Replace arrays of the state that cannot be written to."""
        for name, array in self.state.items():
            if not array.flags.writeable:  # memory-mapped by joblib, say
                self.state[name] = array.copy()

    # --- as plain data -------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """Return everything that is not an array, as plain data; with :attr:`state` it defines the learner."""
        more: dict[str, Any] = {} if self.view is None else {"view": self.view.header()}
        if self.centered:
            more["centered"] = self.centered
        return {"settings": self.settings.header(), "n_classes": self.n_classes, "n_features": self.n_features, **more}

    @classmethod
    def from_header(cls, header: dict[str, Any], state: State) -> Learner:
        """Return the learner of a :meth:`header` and a state."""
        view = None
        if header.get("view"):
            from ..views.table import view_of  # imported here to save start-up time

            view = view_of(header["view"])
        settings = Settings.from_header(header["settings"])
        return cls(settings, header["n_classes"], header["n_features"], view=view, state=state)
