"""The base of rules and views: a frozen dataclass of parameters with their ranges."""

from __future__ import annotations

from dataclasses import Field, FrozenInstanceError, dataclass, field, fields, replace
from typing import Any, ClassVar, Self, dataclass_transform

from ..similar import hint, hinting
from .ranges import Range, check_number


def parameter(allowed: Range | None, meaning: str, *, default: Any, grid: tuple[float, ...] = ()) -> Any:
    """Define a parameter: its allowed interval, its meaning, its default and the values that a grid search tries.

    Without an interval the class itself checks the value.
    """
    return field(default=default, metadata={"range": allowed, "meaning": meaning, "grid": grid})


@dataclass_transform(frozen_default=True, field_specifiers=(parameter,))
class Parametric:
    """Base of rules and views: comparison, hashing, ``get_params`` and ``with_params``."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    name: ClassVar[str]

    def __init_subclass__(cls) -> None:
        # Only __init__ differs between classes. Generating the other five methods of a frozen dataclass for every one
        # would take a tenth of the start of the command line.
        dataclass(repr=False, eq=False)(cls)
        cls.__init__ = hinting(cls.__init__)  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if f.metadata["range"] is not None and (value is not None or f.default is not None):
                check_number(type(self).__name__, f.name, value, f.metadata["range"])

    def __setattr__(self, name: str, value: object) -> None:
        if name in vars(self) or name not in self.__dataclass_fields__:
            raise FrozenInstanceError(
                f"{type(self).__name__} is immutable; use with_params({name}=...) for a changed copy"
            )
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"{type(self).__name__} is immutable: {name} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        return self.get_params() == other.get_params() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        known = vars(self)
        if "_hash" not in known:
            known["_hash"] = hash((type(self), *self.get_params().values()))
        return known["_hash"]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.get_params().items())})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as in scikit-learn."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def with_params(self, **changes: Any) -> Self:
        """Return a copy with some parameters changed."""
        known = [f.name for f in fields(self)]
        for name in changes:
            if name not in known:
                remedy = f"expected {', '.join(known)}" if known else f"{self.name} has no parameters"
                raise ValueError(f"{type(self).__name__}: unknown parameter {name!r}{hint(name, known)}; {remedy}")
        return replace(self, **changes)

    def __getstate__(self) -> dict[str, Any]:
        return self.get_params()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
