"""``confidently doctor``: what is installed, and whether it works."""

from __future__ import annotations

import json
from typing import Any

import click

from ...extras import install
from ..environment import environment
from ..options.arguments import json_option
from ..options.command import Command
from ..output.text import say, table

PROBLEMS = 1  # exit code


EXAMPLES = ("confidently doctor",)


@click.command(cls=Command, examples=EXAMPLES)
@json_option
def doctor(as_json: bool) -> None:
    """Show what this installation is made of and check that it works.

    Lists versions, the compiler, instruction sets, the libraries of matrix products and the extras, and compares some
    results with their closed forms. Add the output to reports of bugs. The exit code is 1 if there is a problem.
    """
    found = environment()
    say(json.dumps(found, indent=1) if as_json else _report(found))
    if found["problems"]:
        raise click.exceptions.Exit(PROBLEMS)


def _report(found: dict[str, Any]) -> str:
    core, python, system, terminal = (found[key] for key in ("core", "python", "system", "terminal"))
    memory = "unknown" if system["memory"] is None else f"{system['memory'] / 2**30:.1f} GiB"
    compiled = ", ".join(core["instruction_sets"]) or "the processor's baseline"
    rows = [
        ["confidently", f"{found['version']}, in {found['folder']}"],
        ["core", f"{core['compiler']}, {core['standard']}, compiled for {compiled}"],
        ["processor", f"{system['machine']} with {', '.join(core['processor']) or 'unknown instruction sets'}"],
        ["path", f"{core['path']} of {', '.join(core['paths'])}"],
        ["system", f"{system['platform']}, {system['cores_available']} of {system['cores']} cores, memory {memory}"],
        ["Python", f"{python['version']} ({python['implementation']}), {python['executable']}"],
        ["terminal", f"{terminal['encoding']}, {terminal['columns']} columns"],
        *([library["internal_api"], _library(library)] for library in found["libraries"]),
        *([package["name"], _package(package)] for package in found["packages"]),
        *([f"check of {name}", failure or "passed"] for name, failure in found["checks"].items()),
    ]
    problems = [f"  {problem}" for problem in found["problems"]]
    return "\n".join([table(rows, str.ljust), "", *(["Problems:", *problems] if problems else ["No problems found."])])


def _library(library: dict[str, Any]) -> str:
    facts = [library["version"], library["architecture"], f"{library['num_threads']} threads"]
    return ", ".join(fact for fact in facts if fact)


def _package(package: dict[str, Any]) -> str:
    if package["installed"] is None:
        extra = package["extra"]
        return "not installed" + (f"; {install(extra)}" if extra else "")
    extra = f", for the extra {package['extra']}" if package["extra"] else ""
    return f"{package['installed']} ({package['least']} or later{extra})"
