# Every command sets up .venv or .cache itself: a clean clone needs Python 3.11 or newer, make and a package registry.

PYTHON ?= python3
# For two cores. Tests spend a third of their time waiting for clients, so more workers than cores are faster.
WORKERS ?= 4
# Most slow tests run the machine, which uses a core. The clients that it checks have timeouts of a second.
WORKERS_THAT_WAIT ?= 3
# Fewer workers, because browsers and third-party programs need the cores too.
WORKERS_WITH_PROGRAMS ?= 3

# To use another interpreter, name another environment: make bench VENV=.cache/distribution PYTHON=/usr/bin/python3
VENV := .venv
BIN := $(VENV)/bin
COVERAGE := $(BIN)/coverage
PYTEST := $(BIN)/python -m pytest

# Each stamp file shows that .venv has a group of dependencies. After a change of pyproject.toml, make installs again.
RUN := $(VENV)/.has-package
TEST := $(VENV)/.has-test
LINT := $(VENV)/.has-lint
DOCS := $(VENV)/.has-docs
BENCH := $(VENV)/.has-bench
# Third-party programs, in two environments: one for PyPI, one for npm. The tests run in the environment for PyPI.
PEERS := .cache/.has-peers
# If the Python of .venv is gone (upgraded, moved), make creates .venv again. The new one has no dependencies yet.
_ := $(shell [ -x $(BIN)/python ] || rm -f $(VENV)/.has-*)

# Tests start hundreds of processes. If Python could not write bytecode, each would compile the package again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help serve test check lint format generated docs slow peers pictures soak fuzz bench lines density mutation clean

help:  ## list these commands
	@sed -n 's/^\([a-z]*\):.*  ## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

serve: $(RUN)  ## start the stub (make serve ARGS="--port 0")
	@exec $(BIN)/petstore-mock serve $(ARGS)

test: $(TEST)  ## run the suite, 2 to 4 minutes on two cores (make test TRACED=yes adds longer tests and branch coverage)
	@echo 'The suite takes 2 to 4 minutes on two cores, and twice as long with TRACED=yes.'
	$(if $(TRACED),@$(COVERAGE) erase)
	$(if $(TRACED),$(COVERAGE) run,$(BIN)/python) -m pytest -n $(WORKERS) --dist worksteal \
		$(if $(TRACED),-m "not peers and not slow and not soak")
	$(if $(TRACED),@$(COVERAGE) combine --quiet)
	$(if $(TRACED),$(COVERAGE) report)

check: TRACED = yes
check: test lint docs slow peers  ## run the checks of CI on one Python, with branch coverage

lint: $(LINT)  ## check rules, format, types, layers and density, without running the code
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(if $(shell grep -F '[tool.pyright]' pyproject.toml),$(BIN)/pyright)
	$(BIN)/lint-imports
	$(BIN)/zizmor --offline --quiet .github
	$(BIN)/python -m tools.density --check --worst 0

format: $(LINT)  ## format the code, and apply the safe fixes of ruff
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

generated: $(TEST)  ## write the static types and the generated parts of the documents
	$(BIN)/python -m tools.static_types
	$(BIN)/python -m tools.plugin_settings
	$(BIN)/python -m tools.node_types
	$(BIN)/python -m tools.documents
	$(BIN)/python -m tools.documents.corpus

docs: $(DOCS)  ## build the site into build/site; warnings and broken references are errors
	$(BIN)/python -m sphinx -E -W -n --keep-going -q -b dirhtml docs build/site

slow: $(TEST)  ## run the tests that take seconds, such as the wheel in a clean environment
	$(PYTEST) -n $(WORKERS_THAT_WAIT) --dist worksteal -m "slow and not peers and not soak"

# This test loads the console with a thousand requests a second, so no other test may run meanwhile.
QUIET := tests/peers/test_console_load.py

peers: $(PEERS)  ## run the tests with third-party software, which it installs into .cache
	.cache/peers/bin/python -m pytest -n $(WORKERS_WITH_PROGRAMS) --dist worksteal -m "peers and not soak" --durations=5 \
		--ignore $(QUIET)
	.cache/peers/bin/python -m pytest -m peers $(QUIET)

pictures: $(PEERS)  ## take the pictures of the console for the documents again, in Chromium
	CONSOLE_PICTURES=$(CURDIR)/docs/pictures .cache/peers/bin/python -m pytest -m peers tests/peers/test_console_pictures.py

soak: $(TEST)  ## run minutes of load: memory, threads and descriptors stay flat; then check most twins of reported bugs
	$(PYTEST) -m soak -o faulthandler_timeout=3600

fuzz: $(TEST)  ## send random bytes and bodies for minutes (make fuzz FUZZ_EXAMPLES=20000)
	$(PYTEST) --hypothesis-profile=fuzz --hypothesis-show-statistics -o faulthandler_timeout=0 \
		tests/property/test_fuzz_*.py

bench: $(BENCH)  ## measure against the peers; writes benchmarks/RESULTS.md (ARGS="--quick --only boot")
	@$(BIN)/python -m benchmarks $(ARGS)

lines:  ## show the size of each product of the package, and of everything around it, in lines
	@$(PYTHON) -m tools.lines

density:  ## show how much a statement of each room asks of its reader, and the worst places
	@$(PYTHON) -m tools.density $(ARGS)

mutation: $(TEST)  ## run the tests on mutants; continues where it stopped (make mutation ARGS="--count 100")
	$(BIN)/python -m tools.mutation $(ARGS)

clean:  ## remove .venv and all files that the tools made
	rm -rf $(VENV) .cache .coverage .coverage.* htmlcov build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache \
		.import_linter_cache
	find petstore_mock tests tools benchmarks docs -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo 'petstore_mock needs Python 3.11 or newer. Run "make PYTHON=/path/to/python3".' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { echo 'This Python lacks the module venv. On Debian or Ubuntu, run "apt install python3-venv".' >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)

INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Older Pythons bring a pip before 25.1, which has no option --group.
$(VENV)/.has-pip: | $(BIN)/python
	$(INSTALL) --upgrade 'pip>=25.1'
	@touch $@

$(RUN): pyproject.toml $(VENV)/.has-pip
	$(INSTALL) --editable .
	@touch $@

$(TEST): pyproject.toml $(VENV)/.has-pip
	$(INSTALL) --editable '.[hypothesis]' --group test
	@touch $@ $(RUN)

$(LINT): pyproject.toml $(TEST)
	$(INSTALL) --group lint
	@touch $@

$(DOCS): pyproject.toml $(TEST)
	$(INSTALL) --group docs
	@touch $@

# Without npm, pytest skips the tests of its programs. The recipe prints a warning.
$(PEERS): tests/peers/requirements.txt tests/peers/package.json pyproject.toml
	$(PYTHON) -m venv .cache/peers
	.cache/peers/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	.cache/peers/bin/python -m pip install --quiet --disable-pip-version-check \
		--editable '.[hypothesis]' --group test --requirement tests/peers/requirements.txt
	mkdir -p .cache/npm
	cp tests/peers/package.json .cache/npm/package.json
	@command -v npm >/dev/null || echo 'npm is not installed: the tests of its programs will be skipped.' >&2
	! command -v npm >/dev/null || npm install --prefix .cache/npm --no-audit --no-fund --no-package-lock --loglevel=error
	@touch $@

# Without npm, the benchmarks leave its programs out.
$(BENCH): pyproject.toml benchmarks/peers/package.json $(TEST)
	$(INSTALL) --group bench
	mkdir -p .cache/bench
	cp benchmarks/peers/package.json .cache/bench/package.json
	! command -v npm >/dev/null || npm install --prefix .cache/bench --no-audit --no-fund --no-package-lock --loglevel=error
	@touch $@
