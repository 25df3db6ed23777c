"""The members of a stack: grown, trained on the same rows, and asked together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import _core
from ..covariances.examples import Examples, Progressive
from ..covariances.state import COUNTS, Shapes, State, check_within, out_of_range, within
from ..data.memory.matrix import check_rows, is_checked
from ..learner.example_checks import check_examples
from ..learner.learner import Learner
from ..learner.predictor import check_width
from ..learner.promising import Promising
from ..tasks import conformal, novelty
from ..tasks.conformal import CONFORMAL
from ..tasks.groups import Groups
from ..tasks.moved_columns import moved_after
from ..tasks.novelty import VARIANCES
from ..tasks.task import Task
from ..views.columns import Columns
from ..views.view import COUNTED, View
from .averaging import Mean, with_slope
from .begun import Begun
from .bound import Bound, Group
from .class_means import RARITIES, ClassMeans
from .following import Following
from .moves import Moves
from .plan import Member, Plan, sees_trees
from .racing import next_race

if TYPE_CHECKING:
    from concurrent.futures import Executor

ROWS_PER_STRIDE = 2048  # of which what all members predict is kept until the mixture has learned it
MAX_OUTPUTS = 2**22  # of all members, kept at a time
WEIGHTS, ROWS, COUNTERS = "mixture.weights", "mixture.rows", "mixture.counters"
MAX_WEIGHT = 1e6
GAUSSIAN = "gaussian"  # the kind of members that are learners with a Gaussian
LOG = "log"  # the kind of those that learn the logarithms of the targets
REST = "rest"  # the kind of those that learn what the members before leave of the targets


class Members(Following, Promising):
    """Base of the stacks: several learners on the same rows. A stack has the interface of a learner.

    Parameters
    ----------
    plans : sequence of Plan, optional
        The members.
    n_classes, n_features : int
        Both may grow later.
    columns : Columns, optional
        What is known about the features.
    dtype : {"float64", "float32"}
        Type of the members' states.

    Attributes
    ----------
    members : list of Learner or Generative
    names : list of str
    multiclass : list of str or None
        What each member becomes when a third class appears.
    logs : int
        The number of members before the rests that learn the logarithms of the targets.
    rests : int
        The number of the last members that learn what the mixture of those before leaves of the targets.
    state : dict of arrays
        The mixture's own.
    columns : Columns
        What is known about the features, as long as this is needed to choose members.
    dropped : dict of str to int or None
        Members that races have dropped, and after how many rows; ``None`` if all that were given stay.
    moves : Moves or None
        When the mixture moved to shorter memories; ``None`` for stacks of several mixtures.
    """

    view = None
    moves: Moves | None = Moves()
    finds_best = False  # whether the best class is found without the scores of all: never, since scores are mixed
    doubt = None  # why sets and withheld answers promise nothing: they do, since members are mixed
    corrects = False  # whether a correction follows the offset of probabilities: never, since scores are mixed
    undoes = True  # whether an error or an interruption undoes what was learned from the rows before: always

    def __init__(
        self, plans: Sequence[Plan] = (), n_classes: int = 2, n_features: int = 0,
        columns: Columns | None = None, dtype: str = "float64",
    ) -> None:  # fmt: skip
        self.n_classes, self.n_features, self.dtype = n_classes, n_features, dtype
        self.columns = Columns.alike(n_features) if columns is None else columns
        self.members: list[Member] = []
        self.names: list[str] = []
        self.multiclass: list[str | None] = []
        self.logs = self.rests = 0
        self.state: State = {}
        self.dropped: dict[str, int] | None = None
        self._bound = Bound()
        if plans:
            self._take(plans)

    def _take(self, plans: Sequence[Plan], targets: np.ndarray | None = None) -> None:
        """Begin with members; ``targets`` are those of the rows that have chosen them."""
        self.members = [plan.make(self.n_classes, self.n_features, self.columns) for plan in plans]
        self.names, self.multiclass = [plan.name for plan in plans], [plan.multiclass for plan in plans]
        self.logs, self.rests = sum(plan.log for plan in plans), sum(plan.rest for plan in plans)
        self._begin_mixture()

    def _begin_mixture(self) -> None:
        """Make the mixture's arrays: the weights of the mean of the members that do not wait for trees to grow."""
        n = len(self.members)
        shapes = self.shapes(n, self.n_classes, self.rests, self.logs)
        self.state = {name: np.zeros(shape, dtype) for name, (shape, dtype) in shapes.items()}
        begins = np.array([not (isinstance(member, Learner) and sees_trees(member.view)) for member in self.members])
        self.state[WEIGHTS][:] = begins / begins.sum() if begins.any() else 1.0 / n

    def __copy__(self) -> Self:
        """Return a stack that may grow and learn features without this one."""
        new = object.__new__(type(self))
        vars(new).update(vars(self))
        new.members, new.state = [copy(member) for member in self.members], dict(self.state)
        for member in new.members:
            member.state = dict(member.state)
        return new

    def decides_by_probability(self, method: str | None) -> bool:
        """Whether decisions need probabilities besides scores: never, since scores are calibrated."""
        return False

    # --- what a kind of stack defines -----------------------------------------------------------------------------

    @staticmethod
    def shapes(members: int, n_outputs: int, rests: int = 0, logs: int = 0) -> Shapes:
        """Return shape and type of the mixture's arrays."""
        raise NotImplementedError

    @staticmethod
    def upgraded(mixture: State) -> State:
        """Return the mixture's arrays of a model file of an earlier format as they are kept now; others as they are."""
        return mixture

    @property
    def _outputs(self) -> int:
        """The number of what a member records of a row for the mixture."""
        raise NotImplementedError

    def check_values(self) -> None:
        """Raise ``ValueError`` unless the mixture's numbers are those that a file may hold."""
        check_within(WEIGHTS, self.state[WEIGHTS], within(MAX_WEIGHT))
        check_within(ROWS, self.state[ROWS], COUNTED)
        check_within(COUNTERS, self.state[COUNTERS], COUNTS)
        if self.moves is not None:
            self.moves.check(self.n_seen)
        self.mean.check(len(self.members))

    @property
    def shares(self) -> np.ndarray:
        """The shares of the windows of the mixture, shape (windows,)."""
        raise NotImplementedError

    def _follow(self, shares: np.ndarray, weight: np.ndarray, seen: int) -> None:
        """Note when the mixture moved, by the shares after each row; those without weight do not count."""
        assert self.moves is not None
        self.moves = self.moves.after(shares[weight > 0], seen)

    def _mix(self, outputs: np.ndarray, part: Examples, calibrate: bool, progressive: Progressive) -> None:
        """Learn from what the members have recorded, shape (members, n, ``_outputs``)."""
        raise NotImplementedError

    # --- what a stream asks ---------------------------------------------------------------------------------------

    @property
    def task(self) -> Task:
        """The task of the members."""
        raise NotImplementedError

    @property
    def by_products(self) -> bool:
        """Whether a member may learn rows together, by products of matrices."""
        return any(member.by_products for member in self.members if isinstance(member, Learner))

    @property
    def begins_classes(self) -> bool:
        """Whether classes may begin within a call of :meth:`learn`."""
        return False

    @property
    def bytes_per_feature(self) -> int:
        """Bytes that a feature takes."""
        return sum(member.bytes_per_feature for member in self.members)

    @property
    def wants_columns(self) -> bool:
        """Whether :meth:`grow` is to be told what the columns are."""
        return True

    def sizes(self) -> np.ndarray:
        """Return the largest absolute weight of every feature in any member."""
        sizes = [member.sizes() for member in self.members if isinstance(member, Learner)]
        return np.max(sizes, axis=0, initial=0.0) if sizes else np.zeros(self.n_features)

    @property
    def rows_to_prepare(self) -> int:
        """The number of first rows that :meth:`prepare` wants to see together; 0 if none."""
        return 0

    def prepare(
        self, X: _core.Matrix, n_classes: int = 0, targets: np.ndarray | None = None,
        new_classes: Sequence[int] = (), for_good: bool = False, weight: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        """Get ready for rows that are trained on next; the arguments are those of a stack that chooses its members."""
        if self.shuffled and not self.n_seen:
            self._rest()
            for member in self.members:
                if isinstance(member, Learner):
                    member.foresee(X, weight)

    def grow(
        self, n_features: int = 0, n_classes: int = 0, multiclass: str | None = None, columns: Columns | None = None
    ) -> None:
        """Make room for more features or classes; smaller numbers change nothing."""
        if n_features <= self.n_features and n_classes <= self.n_classes:
            return
        more = max(n_features - self.n_features, 0)
        known = Columns.alike(more) if columns is None else columns
        if n_classes > self.n_classes:
            self.drop_huge(n_classes)
        for member, own in zip(self.members, self.multiclass, strict=True):
            member.grow(n_features, n_classes, own, known)
        self.n_features, self.n_classes = self.n_features + more, max(n_classes, self.n_classes)

    # --- learning -------------------------------------------------------------------------------------------------

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
        """Train on rows, one after the other; the arguments are those of :class:`confidently.learner.learner.Learner`.

        Without ``calibrate``, the members learn and mistakes are counted, but neither calibrations nor the mixture
        change.

        Raises
        ------
        ValueError
            For invalid rows, labels, targets and weights, and for lists of labels where a row has one class; the stack
            is then unchanged.
        """
        if label_start is not None and not self.task.multilabel:
            raise ValueError(f"a stack learns one {self.task.noun} per row, got lists of labels")
        examples = Examples(X, labels, label_start, weight, class_weight, order, class_start, targets)
        if not is_checked(examples.X, self.dtype):
            check_rows(examples.X, self.dtype)
        self._learn_next(examples, calibrate, values, log_loss=log_loss, progress=progress)

    def _learn_next(self, examples: Examples, calibrate: bool, values: Sequence[str] | None, **others: Any) -> None:
        """Train on the next rows of a stream."""
        self._learn(examples, calibrate, values=values, **others)

    def _learn(
        self, examples: Examples, calibrate: bool = True, log_loss: np.ndarray | None = None,
        progress: Callable[[int], None] | None = None, values: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        """Train on rows; an error undoes that."""
        before = {name: array.copy() for name, array in self.state.items()}
        all_before = self.members, self.names, self.multiclass, self.dropped, self.moves, self.later, self.mean
        cost = None if log_loss is None else log_loss.copy()
        groups = self.groups if calibrate else None
        averages = calibrate and self.shuffled and self.task.one_class
        progressive = Progressive(log_loss)
        if groups is not None:
            groups.check_values(values)
            progressive = Progressive.of_scores(log_loss, examples)

        def learned(known: Groups, first: int, last: int) -> Groups:
            """Return what is known of groups after some of the rows."""
            assert values is not None and progressive.scores is not None
            scores = progressive.scores
            if last - first < len(examples):  # of one class each
                scores = np.full(len(examples), np.nan)
                scores[first:last] = progressive.scores[first:last]
            return known.learned(values, scores, examples.labels, examples.order, self.n_classes, examples.label_start)

        counted = 0
        try:
            if not self.shuffled:
                self.mean = Mean()
                self.follow()
            with ExitStack() as stack:
                begun = self._begin(examples, calibrate, stack)
                # left first, so that no thread still trains when an error or an interruption is undone
                threads = None
                if not begun.is_row:
                    threads = stack.enter_context(threads_for(len(self._groups()), len(examples)))
                first, stride = 0, self._rows_per_stride()
                while first < len(examples):
                    seen = self.n_seen
                    last = min(first + stride, len(examples), first + next_race(seen) - seen)
                    if averages:
                        last = int(min(last, first + self.mean.next_look(self.pass_rows) - self.mean.rows))
                    is_row = begun.is_row and examples.targets is None
                    part = examples if is_row else examples.part(first, last)
                    self._train(part, begun, calibrate, progressive.block(first, last), threads)
                    if averages:
                        slopes = [member.state["calibration"].tolist() for member in self.members]
                        weights = self.state[WEIGHTS].tolist()
                        self.mean = self.mean.after(last - first, self.pass_rows, weights, slopes)
                    if calibrate:
                        members, stay = len(self.members), self.race(seen)
                        if groups is not None and self.task.one_class and len(stay) < members:
                            groups = learned(groups, counted, last).renewed(0.0)
                            counted = last
                        begun = begun.of(stay)
                    first = last
                    if progress is not None:
                        progress(last)
        except BaseException:
            self.state = before
            self.members, self.names, self.multiclass, self.dropped, self.moves, self.later, self.mean = all_before
            if log_loss is not None and cost is not None:
                log_loss[...] = cost
            raise
        self.groups = self.groups if groups is None else learned(groups, counted, len(examples))
        if calibrate:
            self.moved = moved_after(self.moved, examples.X, examples.order, examples.weight, self.n_features)
            self.centered = 0.0

    def settle(self, shuffled: bool = False) -> None:
        """Forget misses as single learners do, and have the mean of the mixture over rows in random order."""
        if self.mean.weights:
            for member, slope in zip(self.members, self.mean.slopes, strict=True):
                member.state = with_slope(member.state, slope)
            self._take_mean(np.array(self.mean.weights))
        self.mean = Mean()
        if shuffled:
            self.settle_view()
        super().settle(shuffled)

    def settle_view(self) -> None:
        """Let the views end training on rows in random order."""
        for member in self.members:
            if isinstance(member, Learner):
                member.settle_view()

    def _take_mean(self, weights: np.ndarray) -> None:
        """Let the longest window, the only one of rows in random order, have the mean weights."""
        raise NotImplementedError

    def renew(self, ratio: float) -> None:
        """Let scores that sets are made of count less, as :meth:`confidently.learner.learner.Learner.renew` does.

        The members' calibrations stay, since their mixture is calibrated by its weights.
        """
        self.mean = self.mean.begun_again()
        if self.task.regression:
            return
        part = self._renew_scores(ratio)
        self.groups = None if self.groups is None else self.groups.renewed(ratio)
        for member in self.members:
            for name in {VARIANCES, RARITIES} & member.state.keys():
                member.state = member.state | {name: novelty.renewed(member.state[name], part)}

    def _renew_scores(self, ratio: float) -> float:
        """Let scores that sets are made of count less, and return by how much those of all rows do."""
        part = conformal.part_to_keep(self.state[CONFORMAL], ratio)
        self.state = self.state | {CONFORMAL: conformal.renewed(self.state[CONFORMAL], part)}
        return part

    def _doubt_scores(self) -> None:
        if not self.task.regression:
            self._renew_scores(0.0)

    def _begin(self, examples: Examples, calibrate: bool, stack: ExitStack) -> Begun:
        """Return the contexts within which members train on examples; that of members which the core trains, too."""
        begun = Begun(self.members, examples, stack, calibrate and not self.task.multilabel and examples.is_one_row)
        if begun.is_row:
            check_examples(examples, self.task, self.n_classes)
            check_width(examples.X, self.n_features)
            for k in self._checking:
                begun[k]
        else:
            for k in range(len(self.members)):
                begun[k]
        return begun

    def apart(self) -> Self:
        """Return a copy that may learn without this one."""
        new = copy(self)
        for part in parts_of(new):
            part.state = {name: array.copy() for name, array in part.state.items()}
        return new

    def _train(
        self, part: Examples, begun: Begun, calibrate: bool, progressive: Progressive, threads: Executor | None
    ) -> None:
        outputs = np.zeros((len(self.members), len(part), self._outputs))
        states = [] if calibrate else [member.state for member in self.members]
        kept = [state[name] for state in states for name in ("calibration", VARIANCES, RARITIES) if name in state]
        before = [array.copy() for array in kept]
        self._train_members(part, begun, outputs, calibrate, threads)
        self._mix(outputs, part, calibrate, progressive)
        for array, values in zip(kept, before, strict=True):
            array[...] = values

    def _train_members(
        self, part: Examples, begun: Begun, outputs: np.ndarray, calibrate: bool, threads: Executor | None
    ) -> None:
        """Train the members, and record what they predict of each row before it is used.

        In later passes, those whose views would tell the labels do not train.
        """
        self._train_groups(self._groups(calibrate), part, begun, outputs, threads)

    def _train_groups(
        self, groups: list[Group], part: Examples, begun: Begun, outputs: np.ndarray,
        threads: Executor | None,
    ) -> None:  # fmt: skip
        if begun.is_row:
            self._bound.begin(self.members, self.rests, learns=True)
            begun.bound = self._bound
            self._train_row(part, begun, outputs)
            return
        from .threads import run  # imported here, as in threads_for

        run(lambda group: self._train_group(*group, part, begun, outputs), groups, threads)

    def _train_row(
        self, part: Examples, begun: Begun, outputs: np.ndarray, targets: np.ndarray | None = None,
        members: slice = slice(None),
    ) -> None:  # fmt: skip
        """Train members on a single row: in the core, where it can, and the others as on many rows."""
        try:
            left = self._bound.learn(part, self.n_classes, outputs, targets, members)
        except OverflowError:
            raise out_of_range(self.dtype) from None
        for group in left:
            self._train_group(*group, part, begun, outputs)

    @property
    def _checking(self) -> list[int]:
        """The numbers of members that allow less than the stack does, and check single rows, too."""
        return []

    def _rows_per_stride(self) -> int:
        """Return of how many rows what all members predict is kept: fewer where that is much of a row."""
        return max(1, min(ROWS_PER_STRIDE, MAX_OUTPUTS // max(1, len(self.members) * self._outputs)))

    def _groups(self, calibrate: bool = True) -> list[Group]:
        """Return the numbers of the members, in later passes of those that train, with the same view together."""
        found = self._bound.groups_of(self.members, self.rests)
        return [(view, group) for view, group in found if calibrate or view is None or not view.sees_labels]

    def _train_group(
        self, view: View | None, group: list[int], part: Examples, begun: Begun, outputs: np.ndarray
    ) -> None:
        """Train members with the same view: the first makes the rows, and all keep the same arrays of the view."""
        if view is None:
            (k,) = group
            self.members[k].train(self._learned_by(k, part), begun[k], True, Progressive(None, outputs[k]))
            return
        learners = [member for k in group if isinstance(member := self.members[k], Learner)]
        for seen, first, last in learners[0].seen(part, begun[group[0]]):
            arrays = view.arrays(learners[0].state) if len(group) > 1 else {}
            for k, learner in zip(group, learners, strict=True):
                if learner is not learners[0]:
                    learner.take_view(arrays, begun[k])
                rows = self._learned_by(k, seen)
                learner.train_seen(rows, begun[k], True, Progressive(None, outputs[k][first:last]))

    def _learned_by(self, k: int, rows: Examples) -> Examples:
        """Return the rows with what a member learns of them."""
        return rows

    # --- predicting -----------------------------------------------------------------------------------------------

    def _ask(
        self, X: _core.Matrix, answer: Callable[[int, _core.Matrix, slice], None],
        scores: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        """Call a function with the number of every member, the rows that it sees, and where these are in X.

        Members with the same view are asked together, so that its rows are made once. If only ``scores`` are asked for,
        shape (members, n, columns), the core writes those of a single row where it can.
        """
        if not is_checked(X, self.dtype):
            check_rows(X, self.dtype)
        check_width(X, self.n_features)
        if scores is not None and X.shape[0] == 1:
            self._bound.begin(self.members, self.rests)
            groups = self._bound.score(X, scores)
            if not groups:
                return
        else:
            groups = [group for _, group in self._groups()]

        def ask(group: list[int]) -> None:
            first = 0
            for seen in self.members[group[0]].seen_rows(X):
                last = first + seen.shape[0]
                for k in group:
                    answer(k, seen, slice(first, last))
                first = last

        from .threads import run  # imported here, as in threads_for

        with threads_for(len(groups), X.shape[0]) as threads:
            run(ask, groups, threads)

    def novelty(self, X: _core.Matrix) -> np.ndarray:
        """Return the p-value of every row as one of those before, shape (n,).

        A member that has the means of classes decides alone, if there is one: what it counts depends on probabilities.
        """
        means = next((member for member in self.members if isinstance(member, ClassMeans)), None)
        if means is not None:
            if not is_checked(X, self.dtype):
                check_rows(X, self.dtype)
            return means.rarity_of(X)
        found = np.ones((len(self.members), X.shape[0]))
        gaussian = [k for k, member in enumerate(self.members) if isinstance(member, Learner)]

        def fill(k: int, seen: _core.Matrix, rows: slice) -> None:
            member = self.members[k]
            if isinstance(member, Learner):
                found[k, rows] = member.rarity_of(seen)

        self._ask(X, fill)
        rows = max(novelty.rows(self.members[k].state[VARIANCES]) for k in gaussian)
        return novelty.combined(self._conformity(X), list(found[gaussian]), rows)

    def _conformity(self, X: _core.Matrix) -> np.ndarray | None:
        """Return the p-values of the classes that rows conform to most, if rows have one class each."""
        return None

    # --- counts ---------------------------------------------------------------------------------------------------

    @property
    def member_weights(self) -> np.ndarray:
        """The members' weights in the mixture, shape (members,)."""
        return self.state[WEIGHTS]

    @property
    def n_seen(self) -> int:
        """Rows trained on, in all passes."""
        return int(self.state[COUNTERS][0]) if self.state else 0

    @property
    def mistakes(self) -> int:
        """Progressive mistakes of the mixture: rows whose class was not the most probable before training on them."""
        return int(self.state[COUNTERS][1]) if self.state else 0

    @property
    def updates(self) -> int:
        """Number of updates of all members' Gaussians."""
        return sum(member.updates for member in self.members if isinstance(member, Learner))

    @property
    def infeasible(self) -> int:
        """No member's rule has examples that it cannot satisfy."""
        return 0

    # --- as plain data --------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """Return everything that is not an array, as plain data."""
        members = [
            {"name": name, "multiclass": multiclass, **_header(member)}
            for name, multiclass, member in zip(self.names, self.multiclass, self.members, strict=True)
        ]
        for kind, last, n in ((LOG, len(members) - self.rests, self.logs), (REST, len(members), self.rests)):
            for member in members[last - n : last]:
                member["kind"] = kind
        sizes = {"n_classes": self.n_classes, "n_features": self.n_features}
        dropped = {} if self.dropped is None else {"dropped": self.dropped}
        more: dict[str, Any] = {} if self.moves in (None, Moves()) else {"moves": self.moves._asdict()}
        if self.centered:
            more["centered"] = self.centered
        if self.mean.rows:
            more["mean"] = self.mean._asdict()
        if self.later is not None:
            more["later"] = [one._asdict() for one in self.later]
        return {"settings": self._settings(), **sizes, "members": members, **dropped, **more}

    def _settings(self) -> dict[str, Any]:
        return {"dtype": self.dtype}

    @classmethod
    def of(
        cls, members: list[Member], names: list[str], multiclass: list[str | None], n_classes: int, n_features: int,
        dtype: str, state: State, rests: int = 0, dropped: dict[str, int] | None = None,
        logs: int = 0,
    ) -> Self:  # fmt: skip
        """Return the stack of members that were trained before."""
        stack = cls(n_classes=n_classes, n_features=n_features, dtype=dtype)
        stack.members, stack.names, stack.multiclass, stack.state = members, names, multiclass, state
        stack.logs, stack.rests, stack.dropped = logs, rests, dropped
        return stack


def parts_of(learner: Learner | Members) -> list[Member | Members]:
    """Return what has a state: the learner, or the members of a stack and the stack itself."""
    return [*learner.members, learner] if isinstance(learner, Members) else [learner]


def threads_for(groups: int, rows: int) -> AbstractContextManager[Executor | None]:
    """Return a context with threads for groups of members, or with none where there are too few rows."""
    from . import threads  # imported here since models of one learner start faster without

    return threads.threads_for(groups, rows)


def _header(member: Member) -> dict[str, Any]:
    own = member.header()
    return {"kind": GAUSSIAN, **{name: own[name] for name in own if name not in ("n_classes", "n_features")}}
