"""A served model that answers with what other servers have learned, too.

Beside it there is the model that has only the rows of its own server, as if nothing was merged. With each contribution
that comes, what answers is made again of that model and the last contribution of each server, as ``confidently merge``
makes it. Then both learn the rows of this server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...memory import require_memory
from ...models import file
from ...models.merged_learner import MergeError
from ...models.model import Model
from ...models.stack_merging import merge_all
from ...stack.members import Members, parts_of
from ..log.contributions import Source
from .base import Learned, Merged
from .contributions import Contribution, file_of
from .learning import Example
from .served import ServedModel
from .settings import ModelSettings

OWN, OTHERS = "own", "contribution."  # arrays of snapshots, which have files
COPIES = 6  # of what is merged: the parts in double precision, where they are in the merged model, and that itself
OF_OWN = "saved"  # the entry of its training


class MergedModel(ServedModel):
    """A model that learns, and answers with what other servers have learned, too.

    Parameters
    ----------
    settings : ModelSettings
    model : Model
        What was merged, and has learned since.
    seq : int
        The event up to which it has.
    saved : dict
        What :meth:`saved` returned then.
    own : ServedModel
        What has only the rows of this server.
    contributions : dict of Contribution
        The last one of each origin.
    missing : dict of str
        Why contributions could not be merged, by origin.
    """

    def __init__(
        self, settings: ModelSettings, model: Model, seq: int, saved: dict[str, Any], own: ServedModel,
        contributions: dict[str, Contribution], missing: dict[str, str],
    ) -> None:  # fmt: skip
        super().__init__(settings, model, seq, saved)
        self._own, self._contributions, self.missing = own, contributions, missing

    @property
    def own(self) -> ServedModel:
        return self._own

    @property
    def contributions(self) -> Mapping[str, Contribution]:
        return self._contributions

    @property
    def merged(self) -> list[Merged]:
        return [
            Merged(origin, one.stated.seq, one.rows, self.missing.get(origin))
            for origin, one in sorted(self._contributions.items())
        ]

    def learn(self, examples: Sequence[Example]) -> Learned:
        """Learn rows; those that the model of this server's rows cannot learn are set aside.

        Where only what answers cannot learn a row, it does without it until the next merge.
        """
        self._own.learn(examples)
        refused = {one.seq: one.reason for one in self._own.take_aside()}
        found = super().learn([example for example in examples if example.seq not in refused])
        self._aside = [(example, refused[example.seq]) for example in examples if example.seq in refused]
        self.seq = examples[-1].seq
        return found

    @property
    def is_settled(self) -> bool:
        return self._own.is_settled

    def settle(self) -> None:
        self._own.settle()

    @property
    def least_rows(self) -> int:
        return max(super().least_rows, self._own.least_rows)

    def saved(self) -> dict[str, Any]:
        return super().saved() | {"missing": self.missing}

    def _more_arrays(self) -> dict[str, np.ndarray]:
        files = {OTHERS + origin: one.content for origin, one in self._contributions.items()}
        if self._own.has_begun:
            files[OWN] = file_of(self._own.model(), {OF_OWN: self._own.saved() | {"seq": self._own.seq}})
        return {name: np.frombuffer(content, dtype=np.uint8) for name, content in files.items()}


def with_contribution(
    before: ServedModel, contribution: Contribution, source: Source, settings: str, base: Model | None, seq: int
) -> MergedModel:
    """Return a model that answers with a contribution, too, merged at an event.

    Parameters
    ----------
    before : ServedModel
    contribution : Contribution
    source : Source
    settings : str
        Those of the model, as contributions state theirs.
    base : Model, optional
        The file with which the model and those of the other servers began.
    seq : int
    """
    own = before.own
    contributions = {**before.contributions, source.origin: contribution}
    merging = _Merging(own.model() if own.has_begun else None, source.own, settings, base)
    model, missing = merging.merged(contributions)
    if model is None:  # nothing was learned so far, and nothing can be merged
        raise MergeError(missing[source.origin])
    return MergedModel(before.settings, model, seq, before.saved(), own, contributions, missing)


def require_room(before: ServedModel, contribution: Contribution) -> None:
    """Raise ``MergeError`` if there is not enough memory to merge a contribution, which may declare many features."""
    learners = [one.model.learner for one in (*before.contributions.values(), contribution)]
    parts = [part for learner in (before.own.stream.learner, *learners) for part in parts_of(learner)]
    needed = COPIES * sum(array.nbytes for part in parts for array in part.state.values())
    try:
        require_memory(needed, "merging", "use a machine with more memory, or fewer features")
    except MemoryError as error:
        raise MergeError(str(error)) from None


def restored(settings: ModelSettings, contents: file.Contents, seq: int, training: dict[str, Any]) -> MergedModel:
    """Return the model of a snapshot; its file has those of the parts as arrays."""
    files = {name: contents.arrays.pop(name).tobytes() for name in list(contents.arrays) if _is_file(name)}
    contributions = {}
    for name, content in files.items():
        if name != OWN:
            one = Contribution.of(content)
            contributions[one.stated.origin] = one
    own = ServedModel(settings)
    if OWN in files:
        found = file.decoded(contents.path, files[OWN], *Model.kinds)
        saved = found.header.training.pop(OF_OWN)
        own = ServedModel(settings, Model.from_contents(found), int(saved["seq"]), saved)
    missing = {str(origin): str(reason) for origin, reason in training["missing"].items()}
    return MergedModel(settings, Model.from_contents(contents), seq, training, own, contributions, missing)


def is_merged(contents: file.Contents) -> bool:
    """Return whether the contents of a snapshot are those of a model with contributions."""
    return any(map(_is_file, contents.arrays))


def _is_file(name: str) -> bool:
    return name == OWN or name.startswith(OTHERS)


class _Merging:
    """Merges contributions into a model of own rows, of which there may be none yet."""

    def __init__(self, own: Model | None, origin: str, settings: str, base: Model | None) -> None:
        self.own, self.origin, self.settings, self.base = own, origin, settings, base

    def merged(self, contributions: Mapping[str, Contribution]) -> tuple[Model | None, dict[str, str]]:
        """Return the merged model, and why contributions are missing in it."""
        try:
            return self._made(contributions), {}
        except MergeError:
            missing = {origin: reason for origin, one in contributions.items() if (reason := self._reason(origin, one))}
        kept = {origin: one for origin, one in contributions.items() if origin not in missing}
        try:
            return self._made(kept) if kept or self.own is not None else None, missing
        except MergeError as error:  # each can be merged with this model, but not with the others
            return (None if self.own is None else self._made({})), dict.fromkeys(contributions, str(error))

    def _reason(self, origin: str, one: Contribution) -> str | None:
        """Return why one contribution cannot be merged, if it cannot."""
        try:
            self._made({origin: one})
        except MergeError as error:
            return str(error)
        return None

    def _made(self, contributions: Mapping[str, Contribution]) -> Model:
        """Return the product of the models, in the order of their origins, so that it is the same on all servers."""
        for one in contributions.values():
            self._check(one)
        models = {origin: one.model for origin, one in contributions.items()}
        if self.own is not None:
            models[self.origin] = self.own
        ordered = sorted(models)
        names = ["this server" if origin == self.origin else f"the server {origin}" for origin in ordered]
        return merge_all([models[origin] for origin in ordered], names, self.base, "the file of both")

    def _check(self, one: Contribution) -> None:
        """Raise ``MergeError`` if a contribution is that of another model."""
        if one.stated.settings != self.settings:
            raise MergeError(
                f"its settings are {one.stated.settings}, those of this model {self.settings}; merge models of the "
                "same settings and, if they began with a file, of the same file"
            )
        if isinstance(one.model.learner, Members) and self.base is None:
            raise MergeError(
                "models of several learners merge if they began with one file; upload it to both servers (PUT .../file)"
            )
        own = self.own
        if own is not None and own.source.get("closed") and (new := set(one.model.classes) - set(own.classes)):
            raise MergeError(f"it has classes that this model has not: {', '.join(map(str, sorted(new, key=str)))}")
