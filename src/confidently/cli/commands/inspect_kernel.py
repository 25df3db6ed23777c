"""``confidently inspect`` of a model with a kernel: the examples it keeps."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ..common import ABSENT, table
from ..output.model_facts import facts_of, facts_text

if TYPE_CHECKING:
    from ...models.inspection import Kept
    from ...models.model import Model


def show_kernel(model: Model, path: str, top: int, class_name: str | None, as_json: bool) -> None:
    """What it is, and the examples with the largest coefficients."""
    from ...models.inspection import kept_examples

    views = kept_examples(model, top)
    if class_name is not None and len(views) > 1:
        views = [view for view in views if str(view[0]) == class_name]
    facts = facts_of(model, path)
    if as_json:
        listed = [{"class": name, "decisive": [asdict(kept) for kept in found]} for name, found in views]
        click.echo(json.dumps({**facts, "kept": listed}))
        return
    click.echo("\n\n".join([facts_text(facts), *(_view_text(name, found) for name, found in views)]))


def _view_text(name: Any, found: list[Kept]) -> str:
    title = f"{ABSENT if name is None else name}: the kept examples with the largest coefficients"
    if not found:
        return f"{title}: none"
    rows = [["example", "coefficient", "features"]]
    rows += [[f"{kept.number:,}", f"{kept.coefficient:+.4g}", _features(kept)] for kept in found]
    return f"{title} (positive ones speak for it)\n{table(rows, str.ljust)}"


def _features(kept: Kept) -> str:
    return " ".join(f"{feature}:{value:.4g}" for feature, value in kept.features.items())
