"""Help in sections: options are grouped by topic, in the order in which they are used."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

READING, RULE, LEARNER, TOPICS, OPTIONS, BANDIT, TRAINING, CLUSTER, OUTPUT = SECTIONS = (
    "Reading data", "Rule", "Learner", "Topic model", "Options", "Bandit", "Training", "Cluster", "Output",
)  # fmt: skip
SHARED = {  # names of options that several commands share
    READING: "on_error strict cache",
    RULE: "rule_names grid auto",
    TRAINING: "passes shuffle shuffle_buffer seed validation holdout early_stop patience init_model checkpoint_every "
    "resume threads jobs",
    OUTPUT: "output_path output_format plot quiet as_json",
}
SECTION_OF = {name: title for title, names in SHARED.items() for name in names.split()}

Decorator = Callable[[Any], Any]


def adding(options: Iterable[Decorator], section: str | None = None) -> Decorator:
    """Return a decorator that adds options to a command; its help lists them in this order, in a section if named."""

    def decorate(command: Any) -> Any:
        for option in reversed(list(options)):
            command = option(command)
            last: Any = (command.params if isinstance(command, click.Command) else command.__click_params__)[-1]
            if section is not None:
                last.section = section
        return command

    return decorate


def options_by_section(command: click.Command, ctx: click.Context) -> dict[str, list[click.Option]]:
    """Return the options of a command by the title of their section, in the order in which they are used.

    The few options of a small command have one section.
    """
    found: dict[str, list[click.Option]] = {title: [] for title in SECTIONS}
    for option in command.get_params(ctx):
        if isinstance(option, click.Option):
            default = OUTPUT if "--help" in option.opts else SECTION_OF.get(str(option.name), OPTIONS)
            found[getattr(option, "section", default)].append(option)
    found = {title: options for title, options in found.items() if options}
    if set(found) <= {OPTIONS, OUTPUT}:
        return {OPTIONS: [option for options in found.values() for option in options]}
    return found
