"""The parts of this installation and checks of its results, for bug reports."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from .. import __version__, _core
from ..memory import UNLIMITED, available_bytes

REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)\s*>=\s*(?P<least>[\d.]+)\s*(?:;\s*extra\s*==\s*[\"'](?P<extra>\w+)[\"'])?$"
)
EXTRA_OF_DEVELOPERS = "test"
TOLERANCE = 1e-12


class Requirement(NamedTuple):
    """A package, the version that is installed, if any, the oldest that is supported, and the extra that needs it."""

    name: str
    installed: str | None
    least: str
    extra: str | None

    @property
    def is_old(self) -> bool:
        """Whether a version is installed that is older than the oldest that is supported."""
        return self.installed is not None and _release(self.installed) < _release(self.least)


def version_text() -> str:
    """Return the version and how the core was built, without importing NumPy."""
    build = _core.build()
    return "\n".join([
        f"confidently {__version__}",
        f"core    {build['compiler']}, {build['standard']}, {platform.machine()}",
        f"Python  {platform.python_version()} ({platform.python_implementation()}), {platform.system()}",
    ])  # fmt: skip


def environment() -> dict[str, Any]:
    """Return the facts that a report of a bug needs, as plain data."""
    found = checks()
    needed = list(requirements())
    memory = available_bytes()
    return {
        "version": __version__,
        "folder": str(Path(__file__).parents[1]),
        "core": _core.build(),
        "python": {
            "version": platform.python_version(),
            "implementation": platform.python_implementation(),
            "executable": sys.executable,
        },
        "system": {
            "platform": platform.platform(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "cores_available": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "memory": None if memory == UNLIMITED else memory,
        },
        "packages": [r._asdict() for r in needed],
        "libraries": _libraries(),
        "terminal": {"encoding": sys.stdout.encoding, "columns": shutil.get_terminal_size().columns},
        "checks": found,
        "problems": [
            *(f"{r.name} {r.installed} is installed, {r.least} or later is needed" for r in needed if r.is_old),
            *(f"{r.name} is not installed" for r in needed if r.installed is None and r.extra is None),
            *(f"the check of {name} failed: {failure}" for name, failure in found.items() if failure is not None),
        ],
    }


def requirements() -> Iterator[Requirement]:
    """Yield the packages that the library and its extras need."""
    for text in metadata.requires("confidently") or ():
        found = REQUIREMENT.match(text)
        if found is not None and found["extra"] != EXTRA_OF_DEVELOPERS:
            yield Requirement(found["name"], _installed(found["name"]), found["least"], found["extra"])


def checks() -> dict[str, str | None]:
    """Return the failure of each check of the library, or ``None`` where it passed."""
    return {name: _failure(check) for name, check in CHECKS.items()}


def _libraries() -> list[dict[str, Any]]:
    """Return the libraries with threads that are loaded, such as those of matrix products."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:  # a problem, which is reported as that of a package
        return []
    keys = ("internal_api", "version", "num_threads", "architecture", "filepath")
    return [{key: library.get(key) for key in keys} for library in threadpool_info()]


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version up to the first part that is not one; zeros at the end do not count."""
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, re.sub(r"(\.0+)+$", "", numbers[0]).split("."))) if numbers else ()


def _failure(check: Callable[[], None]) -> str | None:
    try:
        check()
    except Exception as error:  # whatever is broken is what the report is for
        return f"{type(error).__name__}: {error}".strip(": ")
    return None


def _check_rules() -> None:
    """AROW's step has a closed form."""
    from ..rules import step

    _expect(step("arow", 0.25, 2.0, r=0.5), (0.75 / 2.5, 2.0, 1.0))


def _check_full_covariance() -> None:
    """AROW's updates by matrix products are those row by row."""
    import numpy as np

    from ..estimators.classifier import OnlineClassifier
    from ..rules import AROW

    generator, d, r = np.random.default_rng(0), 50, 0.1
    X = generator.normal(size=(200, d)) / np.sqrt(d)
    y = np.where(X @ generator.normal(size=d) > 0, 1, -1)
    classifier = OnlineClassifier(AROW(r=r), covariance="full", fit_intercept=False, view=None).fit(X, y)
    mean, covariance = np.zeros(d), np.eye(d)
    for x, label in zip(X, y, strict=True):
        moved = covariance @ x
        margin, variance = label * (mean @ x), x @ moved
        if margin < 1:
            mean += label * (1 - margin) / (variance + r) * moved
            covariance -= np.outer(moved, moved) / (variance + r)
    _expect(classifier.coef_[0], mean)


def _check_files() -> None:
    """A model that is saved and loaded predicts the same."""
    import tempfile

    from ..estimators.classifier import OnlineClassifier
    from ..estimators.loading import load
    from ..samples import clicks

    rows = list(clicks(100))
    X = [[row["price"]] for row in rows]
    classifier = OnlineClassifier(view=None).fit(X, [row["click"] for row in rows])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cw"
        classifier.save(path)
        _expect(load(path).decision_function(X), classifier.decision_function(X))


def _expect(found: Any, expected: Any) -> None:
    import numpy as np

    largest = np.abs(np.subtract(found, expected)).max()
    if not largest <= TOLERANCE:
        raise ArithmeticError(f"the largest error is {largest:.3g}, {TOLERANCE:g} is allowed")


CHECKS = {"rules": _check_rules, "full covariance": _check_full_covariance, "model files": _check_files}
