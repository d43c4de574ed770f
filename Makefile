# make demo: from a fresh clone to labels for every node.   make test: everything that CI runs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
SOURCES := pyproject.toml constraints.txt CMakeLists.txt $(wildcard src/altopt/operator/kernels/native/*)

.PHONY: setup demo check test reproduce results suggest performance docs sanitize clean

setup: .make/dev

demo: .make/run
	$(BIN)/altopt demo

test: setup check

check: .make/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

# the paper's tables and figures: runs that are not on record yet (hours), and the page about all of them
reproduce: .make/dev
	$(BIN)/altopt reproduce all --out results/runs.jsonl
	$(MAKE) results

results: .make/dev
	$(BIN)/python -m altopt_lab.experiments.page results/runs.jsonl docs/results.md

# whom to ask next, beside other ways of choosing; needs benchmark graphs
suggest: .make/dev
	$(BIN)/python -m altopt_lab.experiments.suggest --out results/suggest.jsonl --page docs/suggest.md

# every benchmark at every size beside every peer, and the page about them; takes hours
performance: .make/bench
	for size in cora arxiv products; do \
	  $(BIN)/altopt bench all --size $$size --record results/bench.jsonl || exit 1; done
	$(BIN)/python -m altopt_lab.bench.page results/bench.jsonl docs/performance.md

docs: .make/dev
	$(BIN)/sphinx-build -q -W -b html docs docs/_build

# the native kernels built with address and undefined-behaviour sanitizers, and their tests run on them
sanitize: .make/dev
	rm -rf build/sanitize && mkdir -p build/sanitize
	$(INSTALL) nanobind ninja "cmake>=3.18"
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DCMAKE_BUILD_TYPE=Debug -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python \
	  -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir) \
	  -DCMAKE_CXX_FLAGS="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
	$(BIN)/cmake --build build/sanitize
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
	  ALTOPT_NATIVE=build/sanitize $(BIN)/python -m pytest -q -p no:cacheprovider tests/kernels

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

# and the peers that benchmarks run beside
.make/bench: .make/dev
	$(INSTALL) -e ".[dev,bench]"
	@mkdir -p .make && touch $@

clean:
	rm -rf .venv .make demo docs/_build
