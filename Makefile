# make demo: from a fresh clone to labels for every node.   make test: everything that CI runs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
SOURCES := pyproject.toml constraints.txt CMakeLists.txt $(wildcard src/altopt/kernels/native/*)

.PHONY: setup demo check test bench docs clean

setup: .make/dev

demo: .make/run
	$(BIN)/altopt demo

test: setup check

check: .make/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

bench: .make/dev
	$(BIN)/python -m altopt.experiments.accuracy --out results/accuracy.jsonl --page docs/accuracy.md

docs: .make/dev
	$(BIN)/sphinx-build -q -W -b html docs docs/_build

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# the package alone, for the demo
.make/run: $(SOURCES) | $(BIN)/python
	$(INSTALL) -e .
	@mkdir -p .make && touch $@

# the package with everything tests, docs and comparisons need
.make/dev: $(SOURCES) | $(BIN)/python
	$(INSTALL) -e ".[dev]"
	@mkdir -p .make && touch $@ .make/run

clean:
	rm -rf .venv .make demo docs/_build
