"""The classes of a stream: the number of each label, known at its first row.

With two classes, label ``1`` is positive, whatever the other one is (-1, 0, 2, ...) and whichever comes first; without
a label ``1``, the label seen second is positive. So a learner for two classes can learn from the first row on. A class
that has not been seen yet is called ``None``. Every later class takes the next number. Multilabel classes are numbered
in the order in which they are seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .batch import DataError

Name = int | str
INTEGER = re.compile(r"([+-]?[0-9]+)(\.0*)?")


class ClassTable:
    """Numbers of classes by name.

    Parameters
    ----------
    names : sequence
        Known classes, by number; ``None``: one of two classes, not seen yet.
    multilabel : bool
        Whether rows have any number of labels.
    closed : bool
        Whether other labels are errors.

    Attributes
    ----------
    numbers : dict
        The number of every known class.

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
        self.numbers = {name: k for k, name in enumerate(names) if name is not None}

    def __len__(self) -> int:
        """Number of classes that a learner needs: at least two, unless rows are multilabel."""
        return len(self.names) if self.multilabel else max(2, len(self.names))

    def number(self, name: Name) -> int:
        """Return the number of a class; a new class takes the next one.

        Raises
        ------
        LookupError
            If the class is new and the table is closed; the message lists the known ones.
        """
        if name not in self.numbers:
            if self.closed:
                known = ", ".join(str(known) for known in self.names)
                raise LookupError(f"the label {str(name)!r} is not one of the classes ({known})")
            self.numbers[name] = self._add(name)
        return self.numbers[name]

    def get(self, name: Name) -> int | None:
        """Return the number of a class, or ``None`` if it is unknown."""
        return self.numbers.get(name)

    def check(self, noun: str = "row") -> None:
        """Check that rows (documents) have had labels to discriminate, as :func:`check_classes`."""
        check_classes(self.names, self.multilabel, noun)

    def _add(self, name: Name) -> int:
        if not self.multilabel and not self.names:
            self.names = [None, name] if name == 1 else [name, None]
            return self.names.index(name)
        if None in self.names[:2]:  # of more classes each has a name
            number = self.names.index(None)
            self.names[number] = name
            return number
        self.names.append(name)
        return len(self.names) - 1


def class_named(text: str) -> Name:
    """Return the class that a label with this text has; all spellings of an integer are one class.

    >>> class_named("spam"), class_named("+1.0")
    ('spam', 1)
    """
    number = INTEGER.fullmatch(text)
    return int(number[1]) if number else text


def check_classes(names: Sequence[Name | None], multilabel: bool, noun: str = "row") -> None:
    """Check that rows (documents) have labels to discriminate: two classes, or multilabel, one label.

    Raises
    ------
    DataError
        If they do not.
    """
    seen = [repr(str(name)) for name in names if name is not None]
    if not seen:
        raise DataError(f"no {noun} has a label; at least {'one is' if multilabel else 'two are'} needed")
    if not multilabel and len(seen) < 2:
        raise DataError(
            f"the {noun}s have one class only ({seen[0]}), at least two are needed; use more {noun}s, or name all "
            "classes beforehand"
        )
