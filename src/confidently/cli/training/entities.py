"""Training a model of entities on files, and its predictions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...data.reading import DEFAULT_LABEL
from ...entities import EntityModels
from ...estimators.classifier import OnlineClassifier
from ...estimators.regressor import OnlineRegressor
from ...similar import hint
from ..inputs import BadInput, reported
from ..options.learner import chosen_calibration, chosen_classes, chosen_settings
from ..options.rules import chosen_rule
from ..options.view import chosen_view_and_reading
from ..output.predictions import Column
from ..output.writers import format_of, writer

MOST_COMPARED = 10_000  # keys, to find a similar one
PROGRESS = ("log_loss", "error"), ("rmse", "mae")  # of classes, and of numbers


def train_entities(data: Sequence[str], options: dict[str, Any], regression: bool) -> dict[str, Any]:
    """Train on files, save the model, and return the summary."""
    given = {"on_error": options["on_error"], "progress": not options["quiet"]}
    with reported():
        if options["init_model"]:
            model = EntityModels.load(options["init_model"])
            if model.key != options["key"]:
                raise BadInput(f"--key: the model has the keys of {model.key!r}, got {options['key']!r}")
            model.partial_fit_stream(list(data), **given)
        else:
            model, reading = _new(data, options, regression)
            classes = chosen_classes(options["classes"]) or None
            model.fit_stream(list(data), classes, reading=reading, **given)
    found = entity_facts(model)
    if options["output_path"]:
        model.save(options["output_path"])
        found |= {"model": options["output_path"], "model_bytes": os.path.getsize(options["output_path"])}
    return found


def read_entities(path: str) -> EntityModels:
    """Read a model of entities."""
    with reported():
        return EntityModels.load(path)


def entity_facts(model: EntityModels) -> dict[str, Any]:
    """Return what is known about a model of entities."""
    names = PROGRESS[bool(getattr(model.shared_, "predicts_numbers", False))]
    return {
        "rows": model.n_seen_,
        "key": model.key,
        "entities": model.n_entities_,
        "features": model.n_features_in_,
        **{name: getattr(model, f"{name}_") for name in names},
        **_variances(model),
    }


def _variances(model: EntityModels) -> dict[str, Any]:
    """Return what is known of how much entities differ."""
    if hasattr(model, "entity_variance_"):
        return {
            "entity_variance": {str(name): one for name, one in model.entity_variance_.items()},
            "noise_variance": model.noise_variance_,
        }
    return {"variance_weights": {f"{variance:g}": weight for variance, weight in model.variance_weights_.items()}}


def deviation_facts(model: EntityModels, key: str, top: int) -> dict[str, Any]:
    """Return what an entity deviates by, its largest weights first."""
    known = model.keys_
    try:
        found = model.deviation(int(key) if known and isinstance(known[0], int) else key)
    except (KeyError, ValueError):
        meant = hint(key, [str(one) for one in known[:MOST_COMPARED]])
        raise BadInput(f"--key: no row had {model.key} = {key!r}{meant}") from None
    mean, std = (one.reshape(len(found.features), -1) for one in (found.mean, np.sqrt(found.variance)))
    order = np.argsort(-np.abs(mean).max(axis=1), kind="stable")[:top].tolist()
    several = mean.shape[1] > 1
    return {
        "key": key,
        "rows": found.rows,
        "rows_ago": found.age,
        "classes": [str(name) for name in model.classes_.tolist()] if several else None,
        "n_weights": len(found.features),
        "weights": [
            {
                "feature": str(found.features[k]),
                "mean": mean[k].tolist() if several else float(mean[k, 0]),
                "std": std[k].tolist() if several else float(std[k, 0]),
            }
            for k in order
        ],
    }


def _new(data: Sequence[str], options: dict[str, Any], regression: bool) -> tuple[EntityModels, Any]:
    """Return an untrained model, and how to read the data."""
    if options["key"] == (options["label"] or DEFAULT_LABEL):
        raise BadInput(f"--key: {options['key']!r} is the column of labels; name another one")
    drop = tuple(dict.fromkeys((*options["drop"], options["key"])))
    view, reading, _ = chosen_view_and_reading(options | {"drop": drop}, data, standardize=not regression)
    settings = chosen_settings(options) | {"calibration": chosen_calibration(options), "forget": options["forget"]}
    if regression:
        del settings["min_variance"]
        shared: Any = OnlineRegressor(chosen_rule(options), view=view, **settings)
    else:
        shared = OnlineClassifier(chosen_rule(options), multiclass=options["multiclass"], view=view, **settings)
    limits = {name: options[name] for name in ("max_entities", "max_age")}
    return EntityModels(options["key"], shared, **limits), reading


def write_predictions(path: str, data: Sequence[str], options: dict[str, Any], **opening: Any) -> None:
    """Write the predictions of a model of entities for files."""
    with reported():
        model = EntityModels.load(path)
        file_path, kept = options["output_path"], options["keep"]
        kind = options["output_format"] or ("jsonl" if options["as_json"] else format_of(file_path))
        numbers = bool(getattr(model.shared_, "predicts_numbers", False))
        names = [] if numbers else [str(name) for name in model.classes_.tolist()]
        columns = [*(Column(name, None, "string") for name in kept), *_columns(numbers, names, options)]
        with writer(kind, file_path, columns, names, options["csv_safe"]) as file:
            given = {name: value for name, value in opening.items() if value not in (None, False)}
            for batch, predicted in model.predict_batches(list(data), keep=kept, **given):
                own = _values(predicted, numbers, names, options)
                file.write([*(list(batch.kept[name]) for name in kept), *own])


def _columns(numbers: bool, names: Sequence[str], options: dict[str, Any]) -> Iterator[Column]:
    if numbers:
        yield Column("prediction", None, "number")
        if options["std"]:
            yield Column("std", None, "number")
        return
    yield Column("class", None, "class")
    if options["proba"]:
        yield from (Column("proba", name, "number") for name in names)


def _values(predicted: np.ndarray, numbers: bool, names: Sequence[str], options: dict[str, Any]) -> list[Any]:
    if numbers:
        return [predicted[:, 0], *([predicted[:, 1]] if options["std"] else [])]
    classes = [names[k] for k in predicted.argmax(axis=1).tolist()]
    return [classes, *(np.ascontiguousarray(predicted.T) if options["proba"] else [])]
