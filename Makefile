# Every command does its own set-up in .venv: a clean clone needs Python 3.11 or newer, make and a package registry.

PYTHON ?= python3
# For two cores: a third of the time, a test waits for a client that waits, and further workers have work meanwhile.
WORKERS ?= 4
# Most of the slow tests wait.
WORKERS_THAT_WAIT ?= 5
# Browsers and other people's programs have work of their own meanwhile.
WORKERS_WITH_PROGRAMS ?= 3

# Another interpreter has an environment of its own: make bench VENV=.cache/distribution PYTHON=/usr/bin/python3
VENV := .venv
BIN := $(VENV)/bin
COVERAGE := $(BIN)/coverage
PYTEST := $(BIN)/python -m pytest

# The stamps say which dependencies are in .venv; they age when pyproject.toml changes.
RUN := $(VENV)/.has-package
TEST := $(VENV)/.has-test
LINT := $(VENV)/.has-lint
DOCS := $(VENV)/.has-docs
BENCH := $(VENV)/.has-bench
# Other people's programs, from PyPI and npm, in environments of their own; that of PyPI runs their tests as well.
PEERS := .cache/.has-peers
# A .venv whose Python has gone (upgraded, moved) is made anew, and then holds nothing yet.
_ := $(shell [ -x $(BIN)/python ] || rm -f $(VENV)/.has-*)

# Tests start hundreds of processes: where bytecode may not be written, each would compile the package anew.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help serve test check lint format generated docs slow peers pictures soak fuzz bench lines visits mutation clean

help:  ## list these commands
	@sed -n 's/^\([a-z]*\):.*  ## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

serve: $(RUN)  ## start the stub (make serve ARGS="--port 0")
	@exec $(BIN)/petstore-mock serve $(ARGS)

test: $(TEST)  ## run the suite (make test TRACED=yes: report branch coverage as well)
	$(if $(TRACED),@$(COVERAGE) erase)
	$(if $(TRACED),$(COVERAGE) run,$(BIN)/python) -m pytest -n $(WORKERS) --dist worksteal
	$(if $(TRACED),@$(COVERAGE) combine --quiet)
	$(if $(TRACED),$(COVERAGE) report)

check: TRACED = yes
check: test lint docs slow peers  ## all that CI demands, branch coverage included

lint: $(LINT)  ## rules, format, types and layers, without running anything
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(if $(shell grep -F '[tool.pyright]' pyproject.toml),$(BIN)/pyright)
	$(BIN)/lint-imports
	$(BIN)/zizmor --offline --quiet .github

format: $(LINT)  ## format, and mend what ruff can mend safely
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

generated: $(TEST)  ## write the parts of the documents that are made from the code
	$(BIN)/python -m tools.static_types
	$(BIN)/python -m tools.documents

docs: $(DOCS)  ## build the site into build/site; a warning fails it, and so does a reference that leads nowhere
	$(BIN)/python -m sphinx -W -n --keep-going -q -b dirhtml docs build/site

slow: $(TEST)  ## the wheel in a clean environment, and other tests that take seconds
	$(PYTEST) -n $(WORKERS_THAT_WAIT) --dist worksteal -m "slow and not peers and not soak"

# It loads the console with a thousand requests a second, and wants the machine to itself.
QUIET := tests/peers/test_console_load.py

peers: $(PEERS)  ## the tests against other people's software, which it installs into .cache
	.cache/peers/bin/python -m pytest -n $(WORKERS_WITH_PROGRAMS) --dist worksteal -m "peers and not soak" --durations=5 \
		--ignore $(QUIET)
	.cache/peers/bin/python -m pytest -m peers $(QUIET)

pictures: $(PEERS)  ## take the documents' pictures of the console anew, in Chromium
	CONSOLE_PICTURES=$(CURDIR)/docs/pictures .cache/peers/bin/python -m pytest -m peers tests/peers/test_console_pictures.py

soak: $(TEST)  ## minutes of load: memory, threads and descriptors stay flat
	$(PYTEST) -m soak -o faulthandler_timeout=3600

fuzz: $(TEST)  ## minutes of random bytes over the wire and in bodies (make fuzz FUZZ_EXAMPLES=20000)
	$(PYTEST) --hypothesis-profile=fuzz --hypothesis-show-statistics -o faulthandler_timeout=0 \
		tests/property/test_fuzz_*.py

bench: $(BENCH)  ## measure against the peers; writes benchmarks/RESULTS.md (ARGS="--quick --only boot")
	@$(BIN)/python -m benchmarks $(ARGS)

lines:  ## count the lines that people wrote, beside the budgets
	@$(PYTHON) -m tools.lines

visits: $(TEST)  ## print the modules that a request visits (make visits ARGS=--turns)
	@$(BIN)/python -m tools.visits $(ARGS)

mutation: $(TEST)  ## kill mutants by the tests; goes on where it stopped (make mutation ARGS="--count 100")
	$(BIN)/python -m tools.mutation run $(ARGS)

clean:  ## take away .venv and all that the tools made
	rm -rf $(VENV) .cache .coverage .coverage.* htmlcov build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache \
		.import_linter_cache
	find petstore_mock tests benchmarks docs -name __pycache__ -prune -exec rm -rf {} +

# pip before 25.1, which older Pythons bring along, knows no --group.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo 'petstore_mock needs Python 3.11 or newer: name one with "make PYTHON=/path/to/python3".' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { echo 'This Python lacks the venv module: on Debian or Ubuntu, "apt install python3-venv" brings it.' >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)

INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check

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

# Without npm, the tests that need its programs are skipped, and say so.
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

$(BENCH): pyproject.toml $(TEST)
	$(INSTALL) --group bench
	@touch $@
