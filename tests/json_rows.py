"""Reference implementation of how JSON rows become features, on the objects of Python's json."""

import json

from tests.words import words_of


def below(path, name):
    return name if path is None else f"{path}.{name}"


class Row:
    """One object: ``features`` by name, ``labels``, ``weight``, and ``kept`` values.

    ``number(value)`` is the text of a number in the file.
    """

    def __init__(self, row, label="label", weight=None, drop=(), category=(), text=(), keep=(), number=json.dumps):
        self.named = dict.fromkeys(category, "category") | dict.fromkeys(text, "text")
        self.named |= dict.fromkeys(drop, "drop") | {weight: "weight", label: "label"}
        self.keep, self.number = keep, number
        self.features, self.labels, self.weight, self.kept = {}, [], 1.0, {}
        for key, value in row.items():
            self.visit(key, value, "feature")

    def visit(self, path, value, around):
        role = self.named.get(path, around)
        if path in self.keep and value is not None:
            self.kept[path] = value
        self.take(path, value, role)

    def take(self, path, value, role):
        if isinstance(value, dict):
            for key, member in value.items():
                self.visit(f"{path}.{key}", member, role)
        elif isinstance(value, list):
            for position, element in enumerate(value):
                if role == "feature" and isinstance(element, (bool, int, float, list)):
                    self.visit(f"{path}.{position}", element, role)
                else:
                    self.take(path, element, role)
        elif value not in (None, ""):
            self.scalar(path, value, role)

    def scalar(self, path, value, role):
        written = value if isinstance(value, str) else self.number(value)
        if role == "label":
            self.labels += [int(value) if isinstance(value, bool) else value]
        elif role == "weight":
            self.weight = float(value)
        elif role == "text":
            for word in words_of(written):
                self.add(f"{path}:{word}", 1.0)
        elif role == "category" or (role == "feature" and isinstance(value, str)):
            self.add(f"{path}={written}", 1.0)
        elif role == "feature" and value:
            self.add(path, float(value))

    def add(self, name, value):
        self.features[name] = self.features.get(name, 0.0) + value
