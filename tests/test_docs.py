"""The documentation is current: code, commands and examples run; links, paths, names and options exist."""

import ast
import builtins
import contextlib
import doctest
import importlib
import importlib.util
import io
import os
import pkgutil
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import warnings
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path

import click
import pytest

import confidently
from confidently.cli import cli, run

ROOT = Path(__file__).parent.parent
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if page.exists()]
TEXTS = [*PAGES, *(page for page in sorted(ROOT.glob("*.md")) if page not in PAGES)]
NEEDS_SPARK, HAS_SPARK = ("confidently.spark", "spark.md"), importlib.util.find_spec("pyspark") is not None
ON_SPARK = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore"),  # those of Spark
    pytest.mark.skipif(not HAS_SPARK or shutil.which("java") is None, reason="needs pyspark and Java"),
]
MODULES = [
    "confidently",
    *(
        module.name
        for module in pkgutil.walk_packages(confidently.__path__, "confidently.")
        if not module.name.endswith(("__main__", "_core")) and (HAS_SPARK or not module.name.startswith(NEEDS_SPARK))
    ),
]
SHELL = re.compile(r"[|<>&;$*?~`]")  # what makes a command more than words
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
COMMAND = "$ "
RUN = "confidently", "curl ", "kill "  # what commands of a page have that are run
SLOW_PAGES = (
    "clicks.md", "distributed.md", "drifting-prices.md", "migrating-from-river.md", "model-router.md",
    "prediction-sets.md", "topics-tutorial.md",
)  # fmt: skip
SLOW_MODULES = (
    "confidently.distributed.fitting",
    *(f"confidently.estimators.river.{of}" for of in ("classifiers", "regressors")),
)
FOREIGN = {  # messages of the FAQ that are not the package's
    "CMake ... could not find",
    "fatal error: Python.h",
    "ModuleNotFoundError: No module named 'confidently._core'",
    "No such file or directory",
    "X has ... features, but",
}
IN_ORDER = "Run the snippets from top to bottom in one session"
WIDTH = 88  # columns of code that the site shows without scrolling
NOT_RUN = re.compile(r"<!-- not run: \S.* -->")
FOLDERS = ("src", "core", "tests", "benchmarks", "docs", "fuzz", "deploy")
PATH = re.compile(rf"(?<![\w./-])(?:{'|'.join(FOLDERS)})/[\w.*/-]*[\w*/]")
FILE = re.compile(r"`([\w/]+\.(?:py|pyi|hpp|cpp))`")
NAME = re.compile(r"`(confidently(?:\.[A-Za-z_]\w*)+)")
REFERENCE = ROOT / "docs" / "api" / "index.md"
LISTED = re.compile(r"^\.\. currentmodule:: ([\w.]+)|^   ([\w.]+)$", re.MULTILINE)  # in the reference
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
THEIR_OPTIONS = {  # options of vw
    "migrating-from-vowpal-wabbit.md": re.compile(r"^\|[^|]*\||`-l`,[^.]*", re.MULTILINE),
    **dict.fromkeys(("README.md", "comparison-of-packages.md"), re.compile(r"\|[^|]*\|$", re.MULTILINE)),
}


def long(values, *slow):
    """The values as parameters, of which the slow ones (named so, or files of such names) are long."""
    assert {*slow} <= {getattr(value, "name", value) for value in values}
    marks = {
        name: ON_SPARK if name.startswith(NEEDS_SPARK)
        else [pytest.mark.long("minutes")] if name in slow else []
        for name in (getattr(value, "name", value) for value in values)
    }  # fmt: skip
    return [pytest.param(value, marks=marks[getattr(value, "name", value)]) for value in values]


@dataclass
class Block:
    """A fenced block of a page; line is that of its first line of content, from 1."""

    language: str
    text: str
    line: int
    run: bool
    follows: bool = False  # whether nothing is between the block and the one before

    def commands(self):
        """The block's shell commands."""
        return [command for command, _ in self.sessions()]

    def sessions(self):
        """Each command with what is shown after it; a backslash at the end of a line continues it."""
        found = []
        for line in self.text.replace("\\\n", " ").splitlines(keepends=True):
            if line.startswith(COMMAND):
                found.append((line.removeprefix(COMMAND).rstrip("\n"), ""))
            elif found:
                found[-1] = (found[-1][0], found[-1][1] + line)
        return found


def blocks(page):
    """The fenced blocks of a page, in order."""
    found, language, before = [], None, ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```") and language is None:
            language, start, content = line[3:].strip(), number + 1, []
        elif line.startswith("```"):
            run = not NOT_RUN.fullmatch(before)
            found.append(Block(language, "\n".join(content) + "\n", start, run, not before))
            language, before = None, ""
        elif language is not None:
            content.append(line)
        elif line.strip():
            before = line.strip()
    assert language is None, f"{page.name}: the block that begins in line {start} has no end"
    return found


def at_free_ports(found):
    """Blocks whose servers have ports that no other program has."""
    names = {port for block in found for port in re.findall(r"--port (\d+)", block.text)}
    with contextlib.ExitStack() as stack:
        taken = {name: stack.enter_context(socket.create_server(("127.0.0.1", 0))) for name in names}
        ports = {name: str(one.getsockname()[1]) for name, one in taken.items()}
    of_block = partial(re.sub, r"\b\d{4}\b", lambda match: ports.get(match[0], match[0]))
    return [replace(block, text=of_block(block.text)) for block in found]


def run_examples(text, namespace, name, line=1):
    """Run ``>>>`` examples and compare what they print."""
    test = doctest.DocTestParser().get_doctest(text, namespace, name, name, line - 1)
    report(test)
    namespace.update(test.globs)


def report(test):
    output = io.StringIO()
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=output.write, clear_globs=False)
    assert result.failed == 0, output.getvalue()


def run_python(block, namespace, page, shown):
    """Run Python; what it prints is what the page shows, a block without a language right after it."""
    if ">>>" in block.text:
        return run_examples(block.text, namespace, page.name, block.line)
    code = compile("\n" * (block.line - 1) + block.text, page, "exec")
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(code, namespace)
    printed = output.getvalue()
    assert bool(printed) == bool(shown), f"{page.name}, line {block.line} prints what the page does not show: {printed}"
    assert doctest.OutputChecker().check_output(shown, printed, OPTIONS), f"{page.name}, line {block.line}: {printed}"


def run_console(block, page):
    """Run commands; one that is shown with its output prints that."""
    for command, shown in block.sessions():
        code, out, err = run_command(command)
        where = f"{page.name}, line {block.line}: {command}\n{out}\n{err}"
        assert code == 0, where
        assert not shown or doctest.OutputChecker().check_output(shown, out, OPTIONS), where


def run_command(command):
    """Exit status, standard output and error of a command: of the package's in this process, if no shell is needed."""
    name, *arguments = shlex.split(command)
    if name == "confidently" and not SHELL.search(command):
        with (
            contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err,
            warnings.catch_warnings(),
        ):  # fmt: skip
            warnings.simplefilter("default")
            return run(arguments), out.getvalue(), err.getvalue()
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    shell = ["bash", "-o", "pipefail", "-c", command]
    done = subprocess.run(shell, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("page", long(PAGES, *SLOW_PAGES), ids=lambda page: page.name)
def test_blocks_of_pages_run(page, tmp_path, monkeypatch):
    """Python and console blocks in the order of the page, in one directory; Python blocks share their names.

    Outputs that the page shows are checked; ... stands for any text.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace = {"__name__": "__main__"}
    found = at_free_ports(blocks(page))
    try:
        for block, after in zip_longest(found, found[1:]):
            if block.run and block.language == "python":
                run_python(block, namespace, page, after.text if after and after.follows and not after.language else "")
            elif block.run and any(word in command for command in block.commands() for word in RUN):
                run_console(block, page)
    finally:
        for file in tmp_path.glob("*.pid"):  # of servers, where an error came before their end
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(file.read_text()), signal.SIGTERM)
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")  # too many open figures are a warning


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sections_run_alone_or_say_what_they_need(page):
    """A page says that its examples run in its order, if the code of a section uses names of an earlier one."""
    text = page.read_text(encoding="utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)
    for section in sections[1:] if IN_ORDER not in re.sub(r"\s+", " ", text) else ():
        known, title = set(dir(builtins)), section.partition("\n")[0]
        for code in re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL):
            if ">>>" not in code:
                used, bound = names_of(code)
                known |= bound
                assert used <= known, f"{page.name}, {title}: {used - known} are not there; write: {IN_ORDER}"


def names_of(code):
    """The names that code uses, and those that it binds."""
    nodes = list(ast.walk(ast.parse(code)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    bound |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler)}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    imports = (node.names for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
    return used, bound | {(name.asname or name.name).partition(".")[0] for group in imports for name in group}


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_code_of_pages_fits(page):
    """No line of a block is wider than the site shows; directives are not shown."""
    for block in blocks(page):
        for number, line in enumerate(block.text.splitlines(), block.line):
            assert len(line) <= WIDTH or block.language.startswith("{"), f"{page.name}, line {number}: {line}"


@pytest.mark.parametrize("module", long(MODULES, *SLOW_MODULES))
def test_examples_of_docstrings_run(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module)):
        report(test)
    if module.startswith("confidently.plots"):
        importlib.import_module("matplotlib.pyplot").close("all")  # too many open figures are a warning


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_links_between_pages_exist(page):
    """Every relative link leads to a file, and to a heading of it if it names one."""
    for target in re.findall(r"\]\(([^)\s]+)\)", outside_blocks(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in headings(file), f"{page.name} links to {target}, there are {headings(file)}"


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_paths_and_files_on_pages_exist(page):
    """A path is that of a file or folder, NAME standing for any name; a file in backticks exists in some folder."""
    text = page.read_text(encoding="utf-8").replace(r"\_", "_")
    for path in PATH.findall(text):
        assert any(ROOT.glob(path.rstrip("/").replace("NAME", "*"))), f"{page.name} names {path}, which does not exist"
    for file in FILE.findall(outside_blocks(page)):
        found = (path for folder in FOLDERS for path in (ROOT / folder).rglob(Path(file).name.replace("NAME", "*")))
        assert any(found), f"{page.name} names {file}, which does not exist"


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_names_on_pages_exist(page):
    """Names in backticks that begin with confidently."""
    names = NAME.findall(outside_blocks(page))
    for name in names if HAS_SPARK else (name for name in names if not name.startswith(NEEDS_SPARK)):
        try:
            pkgutil.resolve_name(name)
        except (ImportError, AttributeError) as error:
            raise AssertionError(f"{page.name} names {name}: {error}") from error


def test_the_reference_lists_all_public_names():
    """Every name of a public module has an entry, and every entry exists."""
    module, listed = "", set()
    for current, name in LISTED.findall(REFERENCE.read_text(encoding="utf-8")):
        module = current or module
        listed.add(f"{module}.{name}")
    listed = {name for name in listed if HAS_SPARK or not name.startswith(NEEDS_SPARK)}
    objects = {id(pkgutil.resolve_name(name)) for name in listed if not name.endswith(".")}
    constants = {*re.findall(r"^\.\. py:data:: (\w+)$", REFERENCE.read_text(encoding="utf-8"), re.MULTILINE)}
    found = {public.__name__: public for public in (confidently, *public_modules())}
    assert found.keys() > {"confidently.bandits", "confidently.data", "confidently.serve"}
    for module, public in found.items():
        missing = {name for name in public.__all__ if f"{module}.{name}" not in listed}
        missing = {name for name in missing if id(getattr(public, name)) not in objects}  # nor by another path
        assert missing <= constants, f"docs/api/index.md lacks {missing - constants} of {module}"


def public_modules():
    """The modules at the root of the package that say what is public in them."""
    for found in pkgutil.iter_modules(confidently.__path__, "confidently."):
        if not found.name.endswith(("__main__", "._core")) and (HAS_SPARK or found.name not in NEEDS_SPARK):
            module = importlib.import_module(found.name)
            if hasattr(module, "__all__"):
                yield module


@pytest.mark.parametrize("page", [page for page in TEXTS if page.name != "CHANGELOG.md"], ids=lambda page: page.name)
def test_options_on_pages_exist(page):
    """Options in inline code are those of some command, or of a script of the benchmarks or of the documentation."""
    text = outside_blocks(page)
    text = THEIR_OPTIONS[page.name].sub("|", text) if page.name in THEIR_OPTIONS else text
    scripts = "".join(path.read_text() for folder in ("benchmarks", "docs") for path in (ROOT / folder).glob("*.py"))
    known = options(cli) | set(OPTION.findall(scripts))
    for code in re.findall(r"`[^`\n]+`", text):
        for option in OPTION.findall(code):
            assert option in known, f"{page.name} names {option}, which no command has"


def options(command):
    """The options of a command and of all commands below it."""
    context = click.Context(command, help_option_names=["-h", "--help"])
    found = {name for one in command.get_params(context) for name in (*one.opts, *one.secondary_opts)}
    below = command.list_commands(context) if isinstance(command, click.Group) else ()
    return found.union(*(options(command.get_command(context, name)) for name in below))


def test_messages_of_the_faq_are_those_of_the_code():
    """Each part between ... of a message in the FAQ stands in one string of the package or of the core."""
    text = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
    tables = re.findall(r"^\| message .*\n\|.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert len(tables) == 4
    messages = [message for table in tables for message in re.findall(r"^\| `(.*?)`", table, re.MULTILINE)]
    strings = {
        node.value
        for file in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    core = (file.read_text(encoding="utf-8") for file in (ROOT / "core").rglob("*.[ch]pp"))
    known = "\0".join([*strings, *(re.sub(r'"\s*"', "", part) for part in core)])
    for message in messages:
        for part in message.split("..."):
            assert part.strip() in known or message in FOREIGN, f"no message of the code contains {part!r}"
    assert set(messages) >= FOREIGN


def test_the_front_page_has_the_measured_means():
    """The table of the front page repeats some means of the full table, which the benchmark wrote."""

    def rows(page, header):
        """The rows of the table whose header begins so, by their first cell."""
        table = page.read_text(encoding="utf-8").partition(f"| {header} |")
        lines = re.match(r"(?:\|.*\n)*", "".join(table[1:]))[0].splitlines()
        found = [re.split(r" *\| *", line)[1:-1] for line in lines]
        return {cells[0]: cells for cells in found}

    full = rows(ROOT / "docs/benchmarks.md", "test error in %")
    short = rows(ROOT / "docs/index.md", "learner | passes")
    mean = full["test error in %"].index("mean")
    both = [learner for learner in short if learner in full and learner.strip("-")]
    assert len(both) == 10
    assert {learner: short[learner][-1] for learner in both} == {learner: full[learner][mean] for learner in both}


def outside_blocks(page):
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def headings(page):
    """The anchors GitHub gives the headings of a page, those of a page that it includes too."""
    included = re.findall(r"^```{include} (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", outside_blocks(page), re.MULTILINE)
    titles += [title for other in included for title in headings(page.parent / other)]
    return [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]


def test_blocks_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "text\n\n```python\na = 1\n```\n\n<!-- not run: needs a network -->\n"
        "```console\n$ confidently rules \\\n  --json\nout\n```\n```console\n$ confidently rules | head -1\n```\n"
    )
    first, second, third = blocks(page)
    assert (first.language, first.line, first.run) == ("python", 4, True)
    assert (second.commands(), second.run) == (["confidently rules    --json"], False)
    assert (third.commands(), third.run) == (["confidently rules | head -1"], True)


def test_faint_code_is_found():
    spec = importlib.util.spec_from_file_location("check_pages", ROOT / "docs" / "site" / "check_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    style = ".highlight { background: #f0f0f0; }\n.highlight .go { color: #888888 } /* Generic.Output */\n"
    dark = 'body[data-theme="dark"] .highlight { background: #272822; color: #f8f8f2 }\n'
    assert module.faint(style + dark) == [".highlight .go #888888 has a contrast of 3.11"]
    assert module.contrast("#000", "#ffffff") == 21
