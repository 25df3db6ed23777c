"""The tasks of classes and of labels by name."""

from confidently.tasks.table import TASKS

MULTICLASS = tuple(name for name, task in TASKS.items() if task.several)
MULTILABEL = {name: task.multiclass for name, task in TASKS.items() if task.multilabel}  # and what chooses them
