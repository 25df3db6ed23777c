# Commands for a bare clone: each creates the virtual environment, builds and installs what it needs.
PYTHON ?= python3
# Set in many containers, it makes each of the many processes that tests start compile the package again.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv
BIN := $(VENV)/bin
# Each process runs neighboring tests, which share servers and clusters. Its threads would only wait for the others'.
PARALLEL := -n auto --dist worksteal
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
SOURCES := $(shell find core -type f) CMakeLists.txt pyproject.toml

.PHONY: demo test short pages browser spark test-all test-lowest raises mutants bench lint format stub docs pictures papers sanitize tsan fuzz torture clean

demo: $(VENV)/built
	$(BIN)/confidently demo

# Side by side, so that no processor waits while the last of one kind of checks ends.
test: $(VENV)/installed
	$(MAKE) --no-print-directory -j3 lint pages short

short: $(VENV)/installed
	$(ONE_THREAD) $(BIN)/python -m pytest $(PARALLEL) -q

# Tests of a file share a server. They wait for the browser most of the time, so that two files are tested at once.
ON_PAGES = $(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist loadfile -q -p no:cacheprovider
pages: $(VENV)/installed browser
	$(ON_PAGES) -m "browser and not long" tests/serve/page

browser:
	@command -v chromium || command -v chromium-browser || command -v google-chrome \
	  || (apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium) >/dev/null 2>&1 \
	  || echo "Left out are the tests of the server's page: there is no Chromium, and it could not be installed."

# Tests on Spark, which needs Java, their page and their notebook. They share a session; make test-all has the long ones.
spark: $(VENV)/spark
	$(ONE_THREAD) $(BIN)/python -m pytest -q -p no:cacheprovider -m "spark and not long" tests/spark tests/test_docs.py tests/test_examples.py

# What make test leaves out: the tests marked as long. PART=2/3 runs the second of three parts of them, and CHANGED=1 with it
# those of all rooms that have changed since all ran. Of all, tests/last_full_run.txt notes the commit.
SOME := $(PART:%=--part %) $(if $(CHANGED),--changed)
REPORTS := build/long_tests.xml build/long_page_tests.xml
test-all: $(VENV)/installed browser
	$(ON_PAGES) -m "browser and long" --junitxml=build/long_page_tests.xml $(SOME) tests/serve/page || test $$? = 5 # none in the part
	$(ONE_THREAD) $(BIN)/python -m pytest $(PARALLEL) -q -m "long and not browser" --junitxml=build/long_tests.xml $(SOME)
	$(if $(PART),,$(BIN)/python -m tests.full_run $(REPORTS))

# The tests of what other packages do for us, with the oldest versions of them that pyproject.toml promises to work with.
LOWEST := $(VENV)-lowest
LOWEST_TESTS := $(addprefix tests/cli/test_,snapshots.py doctor.py refusals.py tables.py convert.py) \
	$(addprefix tests/data/test_,formats.py csv.py arrow_tables.py foreign_tables.py tables_learn_alike.py compression.py) \
	$(addprefix tests/estimators/test_,classifier.py sklearn_contract.py migrating_from_sklearn.py river.py) \
	tests/models tests/plots tests/views/test_exported_views.py tests/evaluation tests/distributed/test_views.py
test-lowest: $(LOWEST)/installed
	$(ONE_THREAD) $(LOWEST)/bin/python -m pytest $(PARALLEL) -q -p no:cacheprovider -W ignore::DeprecationWarning $(wildcard $(LOWEST_TESTS))

# The tests, with a copy of the package that marks the raise statements that they reach; one that they do not is an error.
RAISES := $(VENV)-raises
NO_PACKAGE := $(addprefix tests/test_,docs.py house.py import_law.py packaging.py scripts.py settings.py typing.py fuzzers.py)
raises: $(VENV)/installed
	test -x $(RAISES)/bin/python || $(BIN)/python -m venv --without-pip $(RAISES)
	$(BIN)/python tests/raises.py install $(RAISES)/lib/python3*/site-packages
	$(ONE_THREAD) $(RAISES)/bin/python -m pytest $(PARALLEL) -q -p no:cacheprovider -m "not browser" $(NO_PACKAGE:%=--ignore=%)
	$(BIN)/python tests/raises.py report $(RAISES)/lib/python3*/site-packages

# Faults put into modules, one at a time: MODULES="src/confidently/tasks/conformal.py", N=60, and WHOLE=1 to run all
# short tests where those of the module's room catch nothing.
N := 60
mutants: $(VENV)/installed
	$(ONE_THREAD) $(BIN)/python -m tests.mutants -n $(N) $(if $(WHOLE),--whole) $(MODULES)

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/ruff format --check --line-length 88 README.md docs/*.md docs/recipes/*.md
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(LAID_OUT)

# The layout of Python and C++ code, by their formatters; .clang-format has the rules for C++.
LAID_OUT := $(shell find core fuzz -name "*.?pp")
format: $(VENV)/installed
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(LAID_OUT)

# The type stub of the compiled module, for a change of its bindings; a test compares both.
stub: $(VENV)/installed
	$(BIN)/python -m nanobind.stubgen --quiet --module confidently._core --output-file src/confidently/_core.pyi
	$(BIN)/ruff format --quiet src/confidently/_core.pyi

# The benchmarks of speed, which write their sections of docs/benchmarks.md. PARTS="dicts fit" runs some: page.py --help.
bench: $(VENV)/installed
	$(BIN)/python -m pip install --quiet vowpalwabbit
	$(BIN)/python benchmarks/page.py $(if $(PARTS),--only $(PARTS))

# The documentation as a site in build/site. Warnings and broken internal links are errors. SITE_URL=https://...: where
# the site will be.
docs: $(VENV)/docs
	rm -rf build/site docs/api/generated docs/notebooks # with pages of earlier names
	$(BIN)/python -m sphinx -q -n -W --keep-going docs build/site
	$(BIN)/python docs/site/check_links.py build/site
	$(BIN)/python docs/site/check_pages.py build/site

# The pictures of the front page, of docs/gallery.md, docs/active-learning.md, docs/uncertainty.md,
# docs/streams-that-move.md, docs/prediction-sets.md, docs/design.md and docs/recipes.
pictures: $(VENV)/installed
	$(BIN)/python docs/pictures/house.py
	$(BIN)/python docs/pictures/front.py
	$(BIN)/python docs/pictures/gaussian.py
	$(BIN)/python docs/pictures/bars.py
	$(BIN)/python docs/pictures/draw.py
	$(BIN)/python docs/pictures/growth.py
	$(BIN)/python docs/pictures/cases.py

# All experiments of the papers, with reports in out/, and their pages from these. DATA: folder of the data sets.
DATA ?= ../shared/data
papers: $(VENV)/installed
	nice $(BIN)/python -m papers cw2008 --out out/cw2008 --data $(DATA) --jobs 2
	nice $(BIN)/python -m papers ellipsoid2009 --out out/ellipsoid2009 --data $(DATA) --jobs 2
	nice $(BIN)/python -m papers bayespa2014 --out out/bayespa2014 --data $(DATA) --jobs 2
	$(BIN)/python docs/write_papers.py out

# Every test that reaches compiled code, with AddressSanitizer and UndefinedBehaviorSanitizer, and the fuzzers of files.
# Left out: what runs no compiled code of its own (plots, papers: the same calls again; documents, types, layout), clusters
# of Dask, whose processes are not sanitized, and tests that limit or measure memory, of which a sanitizer needs terabytes.
# TESTS=tests/data runs a part.
TESTS ?= tests
UNSANITIZED := tests/plots tests/papers tests/distributed $(NO_PACKAGE)
ASAN_RUN = LD_PRELOAD="$(shell $(CXX) -print-file-name=libasan.so) $(shell $(CXX) -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=32 PYTHONMALLOC=malloc
sanitize: $(VENV)-sanitize/installed
	$(ASAN_RUN) $(VENV)-sanitize/bin/python -m pytest $(PARALLEL) -q -p no:cacheprovider $(TESTS) $(UNSANITIZED:%=--ignore=%) \
	  -k "not memory and not fails_in_a_team"
	$(MAKE) -C fuzz structured RUN_PYTHON='env $(ASAN_RUN) ../$(VENV)-sanitize/bin/python'

# Threads of the core, of readers and of callers, with ThreadSanitizer.
tsan: $(VENV)-tsan/installed
	LD_PRELOAD="$$($(CXX) -print-file-name=libtsan.so)" TSAN_OPTIONS="halt_on_error=1 suppressions=$(CURDIR)/tests/tsan.supp" \
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
	$(VENV)-tsan/bin/python -m pytest -q -p no:cacheprovider tests/test_threads.py tests/data/test_lines_in_parallel.py tests/data/test_line_pieces.py tests/data/test_cache_index.py \
	  -k "not fails_in_a_team"

# Thirty seconds of fuzzing per compiled reader and format of files; make fuzz SECONDS=3600 takes an hour of each.
fuzz: $(VENV)/installed
	$(MAKE) -C fuzz

# System calls of each command that fail, power cuts, kills of commands, of clusters and of servers with clients.
KILLS ?= 200
torture: $(VENV)/installed
	nice $(BIN)/python -m tests.torture --kills $(KILLS) --servers $(KILLS)

# The package and what its demo needs. Python compiles those modules of packages that are imported, instead of pip all.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile
$(VENV)/built: $(SOURCES)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "confidently needs Python 3.11 or later; use make PYTHON=python3.x")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) "scikit-build-core>=1.0" "nanobind>=2.9.2" cmake ninja
	$(INSTALL) --no-build-isolation --editable ".[plots]"
	touch $@

# What the tests need too: the package is there, so that only those of its requirements are installed that are missing.
$(VENV)/installed: $(VENV)/built
	$(INSTALL) "confidently[test]"
	touch $@

# As large as all else together.
$(VENV)/spark: $(VENV)/installed
	$(INSTALL) "confidently[spark]"
	touch $@

$(VENV)/docs: $(VENV)/spark
	$(INSTALL) --upgrade "pip>=25.1" # which knows groups
	$(INSTALL) --group docs
	touch $@

$(LOWEST)/installed: $(SOURCES) $(shell find src -name "*.py") | $(VENV)/installed
	$(BIN)/python -m pip install --quiet uv
	test -x $(LOWEST)/bin/python || $(BIN)/python -m venv --without-pip $(LOWEST)
	printf '%s\n' 'wordllama>=0; sys_platform == "none"' > $(LOWEST)/overrides.txt # since it needs NumPy 2
	$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --requirements pyproject.toml --extra test \
	  --overrides $(LOWEST)/overrides.txt
	rm -rf build/lowest
	$(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir build/lowest .
	$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --no-deps --reinstall build/lowest/*.whl
	touch $@

# An environment with the packages of the usual one, and a core that is compiled with sanitizers.
SANITIZERS_sanitize := address,undefined
SANITIZERS_tsan := thread
$(VENV)-%/installed: $(SOURCES) $(shell find src -name "*.py") | $(VENV)/installed
	test -x $(VENV)-$*/bin/python || $(BIN)/python -m venv --without-pip $(VENV)-$*
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	  > $$($(VENV)-$*/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/packages.pth
	$(BIN)/python -m pip --python $(VENV)-$*/bin/python install --quiet --force-reinstall --no-deps --no-build-isolation \
	  --config-settings=cmake.define.SANITIZE=$(SANITIZERS_$*) --config-settings=build-dir=build/$* .
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-* build out
