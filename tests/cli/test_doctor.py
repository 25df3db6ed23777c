"""Reports about the installation, and completion in shells."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from importlib import metadata

import numpy as np
import pytest

import confidently
from confidently import OnlineClassifier, _core
from confidently.cli import COMMANDS, environment
from confidently.cli.environment import Requirement

SCRIPTS = sysconfig.get_path("scripts")


def test_the_version_comes_first_and_needs_no_numpy():
    code = "import sys; from confidently.cli import run; run(['--version']); sys.exit('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, "NumPy was imported"
    assert done.stdout.splitlines()[0] == f"confidently {confidently.__version__}"
    assert _core.build()["compiler"] in done.stdout


def test_the_compilers_facts_are_those_of_the_system():
    facts = _core.build()
    assert facts["standard"] == "C++20"
    assert facts["compiler"].split()[0] in ("GCC", "Clang")
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            flags = {word for line in file if line.startswith("flags") for word in line.split()}
        if flags:  # of x86
            assert {name for name in ("sse2", "avx2", "fma") if name in flags} == set(facts["processor"])


def test_doctor_lists_what_is_installed(ok):
    text, facts = ok("doctor"), json.loads(ok("doctor", "--json"))
    assert "No problems found." in text
    assert facts["problems"] == []
    assert set(facts["checks"].values()) == {None}
    found = {package["name"]: package["installed"] for package in facts["packages"]}
    assert found["numpy"] == np.__version__ and f"{np.__version__} (" in text
    assert {"click", "rich", "scipy", "pyarrow", "safetensors", "matplotlib", "torch", "river"} <= set(found)
    assert "pytest" not in found
    assert any(library["internal_api"] in ("openblas", "mkl", "blis") for library in facts["libraries"])


def test_doctor_finds_old_and_missing_packages(call, monkeypatch):
    real = metadata.version

    def version(name):
        if name == "rich":
            raise metadata.PackageNotFoundError(name)
        return {"click": "7.1.2", "torch": "1.0"}.get(name) or real(name)

    monkeypatch.setattr(environment.metadata, "version", version)
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    code, out, _ = call("doctor")
    assert code == 1
    problems = out.partition("Problems:\n")[2]
    assert "rich is not installed" in problems
    assert "click 7.1.2 is installed" in problems and "torch 1.0 is installed" in problems
    assert len(problems.splitlines()) == 3 + ("threadpoolctl" in problems)


@pytest.mark.parametrize(
    ("installed", "least", "old"),
    [("1.26.4", "1.26", False), ("1.9", "1.26", True), ("2.0rc1", "2.0", False), ("8.1", "8.1.0", False),
     (None, "1", False), ("2024.8.1", "2024.8", False), ("2024.7", "2024.8", True), ("15", "15.0.1", True)],
)  # fmt: skip
def test_versions_compare_by_their_numbers(installed, least, old):
    assert Requirement("package", installed, least, None).is_old == old


def test_doctor_finds_a_core_that_computes_wrongly(call, monkeypatch):
    monkeypatch.setattr(OnlineClassifier, "coef_", property(lambda self: np.zeros((1, 50))))
    code, out, _ = call("doctor")
    assert code == 1
    assert "the check of full covariance failed: ArithmeticError: the largest error is 2.5" in out


def completions(arguments, shell="bash"):
    """What a shell would be told for the last of some arguments."""
    variables = {"_CONFIDENTLY_COMPLETE": f"{shell}_complete", "COMP_WORDS": " ".join(["confidently", *arguments])}
    variables["COMP_CWORD"] = arguments[-1] if shell == "fish" else str(len(arguments))
    command = [sys.executable, "-m", "confidently"]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.long("starts eight processes")
def test_commands_options_choices_and_files_are_completed():
    assert completions([""]) == [f"plain,{name}" for name in COMMANDS]
    assert completions(["tr"]) == ["plain,train"]
    assert completions(["topics", ""]) == ["plain,train", "plain,predict", "plain,show"]
    assert "plain,--passes" in completions(["train", "--pa"])
    covariances = ["diag", "full", "shared", "low_rank", "sparse", "auto"]
    assert completions(["train", "--covariance", ""]) == [f"plain,{name}" for name in covariances]
    assert completions(["train", "data"]) == ["file,data"]
    assert completions(["predict", "model.cw", "data.svm", "-o", "out"]) == ["file,out"]


def test_completing_commands_imports_none_of_them():
    code = "import sys; from confidently.cli import run; run([]); sys.exit('click' in sys.modules and any("
    code += "'cli.commands.' in name for name in sys.modules))"
    variables = {"_CONFIDENTLY_COMPLETE": "bash_complete", "COMP_WORDS": "confidently ", "COMP_CWORD": "1"}
    assert (
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, **variables}, stdout=subprocess.DEVNULL
        ).returncode
        == 0
    )


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_see_descriptions(shell):
    assert COMMANDS["train"] in "\n".join(completions(["tra"], shell))


@pytest.mark.long("starts shells")
@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_bash_completes_with_the_script():
    lines = ['eval "$(confidently completion bash)"', "COMP_WORDS=(confidently train --shuf) COMP_CWORD=2"]
    lines += ["$(complete -p confidently | sed 's/.*-F \\([^ ]*\\) .*/\\1/') confidently", 'echo "${COMPREPLY[@]}"']
    variables = {**os.environ, "PATH": os.pathsep.join([SCRIPTS, os.environ["PATH"]])}
    done = subprocess.run(["bash", "--norc", "-c", "\n".join(lines)], env=variables, capture_output=True, text=True)
    assert done.stdout.split()[0].startswith("--shuffle"), done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_as_json(ok, shell):
    found = json.loads(ok("completion", shell, "--json"))
    assert found["script"] == ok("completion", shell).rstrip("\n")
    assert found["shell"] == shell and "confidently" in found["file"]
    program = shutil.which(shell)
    if program:
        arguments = ["-n"] if shell != "fish" else ["--no-execute"]
        assert subprocess.run([program, *arguments], input=found["script"], text=True).returncode == 0
