"""The classes of a stream: which number a label gets, before anyone has seen the whole file.

Two classes: ``1`` is the positive one, whichever comes first and whatever the other is (-1, 0, 2, ...); of two
labels that are both not 1 the second to appear is. So the number of a class is known at its first row, and a
learner for two classes learns from the start; the class that is still missing is called ``None``. Every later class
takes the next number. Labels of sets are numbered as they come.
"""

from __future__ import annotations

from collections.abc import Sequence

Name = int | str


class ClassTable:
    """Numbers of classes by name.

    Parameters
    ----------
    names : sequence
        Classes known so far, by number; ``None`` stands for one of two that has not appeared.
    multilabel : bool
        Whether the names are labels of sets.
    closed : bool
        Whether there are no others.

    Examples
    --------
    >>> table = ClassTable()
    >>> table.number("spam"), table.number("ham"), table.names
    (0, 1, ['spam', 'ham'])
    >>> table = ClassTable()
    >>> table.number(1), table.number(-1), table.names
    (1, 0, [-1, 1])
    """

    def __init__(self, names: Sequence[Name | None] = (), multilabel: bool = False, closed: bool = False) -> None:
        self.names: list[Name | None] = list(names)
        self.multilabel, self.closed = multilabel, closed
        self._numbers = {name: k for k, name in enumerate(names) if name is not None}

    def __len__(self) -> int:
        """Classes a learner must have room for: two at least, where each row has one."""
        return len(self.names) if self.multilabel else max(2, len(self.names))

    def number(self, name: Name) -> int:
        """The number of a class, a new one if it is new.

        Raises
        ------
        LookupError
            If it is new and the table is closed; the message says what is known.
        """
        if name not in self._numbers:
            if self.closed:
                known = ", ".join(str(known) for known in self.names)
                raise LookupError(f"the label {str(name)!r} is none of the classes announced ({known})")
            self._numbers[name] = self._add(name)
        return self._numbers[name]

    def get(self, name: Name) -> int | None:
        """The number of a class, ``None`` if it is not known."""
        return self._numbers.get(name)

    def _add(self, name: Name) -> int:
        if not self.multilabel and not self.names:
            self.names = [None, name] if name == 1 else [name, None]
        elif None in self.names:
            self.names[self.names.index(None)] = name
        else:
            self.names.append(name)
        return self.names.index(name)
