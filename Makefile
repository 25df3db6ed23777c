# Commands for a bare clone: each creates the virtual environment, builds and installs what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find core -type f) CMakeLists.txt pyproject.toml

.PHONY: demo test test-all bench lint stub docs pictures papers sanitize fuzz torture clean

demo: $(VENV)/installed
	$(BIN)/confidently demo

test: $(VENV)/installed lint
	$(BIN)/python -m pytest -n auto -q

# What make test leaves out: the tests marked as long.
test-all: $(VENV)/installed
	$(BIN)/python -m pytest -n auto -q -m long

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The type stub of the compiled module, for a change of its bindings; a test compares both.
stub: $(VENV)/installed
	$(BIN)/python -m nanobind.stubgen --quiet --module confidently._core --output-file src/confidently/_core.pyi
	$(BIN)/ruff format --quiet src/confidently/_core.pyi

bench: $(VENV)/installed
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/stream.py
	$(BIN)/python benchmarks/dicts.py
	$(BIN)/python benchmarks/drift.py
	$(BIN)/python benchmarks/cluster.py --no-errors
	$(BIN)/python -m pip install --quiet vowpalwabbit
	$(BIN)/python benchmarks/peers.py

# The documentation as a site in build/site. Warnings and broken internal links are errors.
docs: $(VENV)/docs
	$(BIN)/python -m sphinx -q -n -W --keep-going docs build/site
	$(BIN)/python docs/site/check_links.py build/site

# The pictures of the front page, of docs/plots.md, docs/active-learning.md and docs/design.md.
pictures: $(VENV)/installed
	$(BIN)/python docs/pictures/house.py
	$(BIN)/python docs/pictures/front.py
	$(BIN)/python docs/pictures/draw.py

# All experiments of the papers, with reports in out/, and docs/papers.md from these. DATA: folder of the data sets.
DATA ?= ../shared/data
papers: $(VENV)/installed
	nice $(BIN)/confidently reproduce cw2008 --out out/cw2008 --data $(DATA) --jobs 2
	nice $(BIN)/confidently reproduce ellipsoid2009 --out out/ellipsoid2009 --data $(DATA) --jobs 2
	nice $(BIN)/confidently reproduce bayespa2014 --out out/bayespa2014 --data $(DATA) --jobs 2
	$(BIN)/python docs/write_papers.py out

# The tests of compiled code, with AddressSanitizer and UndefinedBehaviorSanitizer.
sanitize: $(VENV)/sanitized
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
	$(VENV)-sanitize/bin/python -m pytest -q -p no:cacheprovider tests/estimators/test_bad_input.py \
	  tests/covariances/test_core_equals_reference.py tests/rules/test_rule_laws.py tests/rules/test_rule_moments.py tests/data/test_svmlight.py tests/data/test_streams.py \
	  tests/data/test_vw.py tests/data/test_text_lines.py tests/data/test_skipped_rows.py tests/learner/test_unknown_features.py tests/topics/test_topic_learner.py \
	  tests/data/test_json_lines.py tests/data/test_csv.py tests/covariances/test_forgetting.py tests/estimators/test_river.py

# Failing system calls, power cuts and kills of the commands: what is promised of files. KILLS: how many.
KILLS ?= 200
torture: $(VENV)/installed
	nice $(BIN)/python -m tests.torture --kills $(KILLS)

# Thirty seconds of fuzzing per compiled reader and format of files; make fuzz SECONDS=3600 takes an hour of each.
fuzz: $(VENV)/installed
	$(MAKE) -C fuzz

$(VENV)/installed: $(SOURCES)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "confidently needs Python 3.11 or later; use make PYTHON=python3.x")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet "scikit-build-core>=0.11" "nanobind>=2.9.2" cmake ninja
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[test]"
	touch $@

$(VENV)/docs: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

$(VENV)/sanitized: $(SOURCES)
	test -x $(VENV)-sanitize/bin/python || $(PYTHON) -m venv $(VENV)-sanitize
	$(VENV)-sanitize/bin/python -m pip install --quiet "scikit-build-core>=0.11" "nanobind>=2.9.2" cmake ninja
	$(VENV)-sanitize/bin/python -m pip install --quiet --no-build-isolation --config-settings=cmake.define.SANITIZE=ON --config-settings=build-dir=build/sanitize ".[test]"
	mkdir -p $(VENV) && touch $@

clean:
	rm -rf $(VENV) $(VENV)-sanitize build out
