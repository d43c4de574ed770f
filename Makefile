# make demo: from a fresh clone to labels for every node.   make test: everything that CI runs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := -m pip install --quiet --disable-pip-version-check -c constraints.txt
INSTALL := $(BIN)/python $(PIP)
SOURCES := pyproject.toml lab/pyproject.toml constraints.txt CMakeLists.txt $(wildcard src/altopt/operator/kernels/native/*)
EMPTY := build/wheel

.PHONY: setup demo check coverage test wheel reproduce results breadth honesty suggest performance trust docs sanitize clean

setup: .make/dev

demo: .make/run
	$(BIN)/altopt demo

test: setup check

check: .make/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n 2 --dist worksteal --durations=15

# the same tests with what they cover, which takes half as long again
coverage: .make/dev
	$(BIN)/python -m pytest -q -n 2 --dist worksteal --cov --cov-report=term:skip-covered

# wheels and sdist in dist/; the wheel of altopt in an empty environment: a fit with the core, the demo with its extras
wheel: | $(BIN)/python
	rm -rf dist $(EMPTY)
	$(INSTALL) "build>=1.2"
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m build --wheel --outdir dist lab
	$(PYTHON) -m venv $(EMPTY)
	$(EMPTY)/bin/python $(PIP) dist/altopt-*.whl
	$(EMPTY)/bin/python .ci/core.py dist $(EMPTY)
	$(EMPTY)/bin/python $(PIP) "$$(ls dist/altopt-*.whl)[torch]"
	$(EMPTY)/bin/altopt demo --out $(EMPTY)/demo

# the paper's tables and figures: runs that are not on record yet (hours), and the page about all of them
reproduce: .make/dev
	$(BIN)/altopt reproduce all --out results/runs.jsonl
	$(MAKE) results

results: .make/dev
	$(BIN)/python -m altopt_lab.experiments.page results/runs.jsonl docs/results.md

# AltOpt() beside simple peers on data of many kinds: runs that are not on record yet (hours), and the page about them
breadth: .make/dev
	OMP_NUM_THREADS=1 $(BIN)/altopt reproduce breadth --out results/breadth.jsonl
	$(BIN)/python -m altopt_lab.breadth.page results/breadth.jsonl docs/breadth.md

# estimates beside the truth: runs that are not on record yet (hours), and the page about them
honesty: .make/dev
	OMP_NUM_THREADS=1 $(BIN)/python -m altopt_lab.experiments.honesty results/honesty.jsonl --page docs/honesty.md

# active learning by altopt suggest beside other strategies; needs benchmark graphs
suggest: .make/dev
	$(BIN)/python -m altopt_lab.experiments.suggest --out results/suggest.jsonl --page docs/suggest.md

# every benchmark at every size beside every peer, and the page about them; takes hours
performance: .make/bench
	for size in cora arxiv products; do \
	  $(BIN)/altopt bench all --size $$size --record results/bench.jsonl || exit 1; done
	$(BIN)/python -m altopt_lab.bench.page results/bench.jsonl results/scale.jsonl docs/performance.md

# 100,000 generated cases through every way in, and the page about them; at most an hour on two cores
trust: .make/dev
	$(BIN)/python -m altopt_lab.trust

# the handbook as HTML; warnings are errors
docs: .make/dev
	$(BIN)/python docs/modules.py && $(BIN)/python docs/command_line.py && $(BIN)/python docs/pictures.py
	$(BIN)/sphinx-build -q -W -b html docs docs/_build

# generated graphs, numbers and indices thrown at the native loops from C++, under each sanitizer; the thread sanitizer
# does not see what OpenMP's threads wait for, so that chunks go to std::thread there
NATIVE := src/altopt/operator/kernels/native
LOOPS := $(NATIVE)/step.cpp $(NATIVE)/rows.cpp $(NATIVE)/dropout.cpp $(NATIVE)/regression.cpp
HOSTILE := tests/operator/kernels/native/hostile.cpp $(LOOPS)
HOSTILE_FLAGS := -std=c++17 -g1 -w -DLEVEL=plain -DCHUNKS_BY_STD_THREAD -I$(NATIVE) -pthread

build/hostile-%: $(HOSTILE) $(wildcard $(NATIVE)/*.hpp)
	@mkdir -p build
	$(CXX) $(HOSTILE_FLAGS) -O$(if $(findstring thread,$*),0,1) -fsanitize=$* -fno-sanitize-recover=all $(HOSTILE) -o $@

# and the kernels' tests on a module built with address and undefined-behaviour sanitizers
sanitize: .make/dev build/hostile-address build/hostile-undefined build/hostile-thread
	build/hostile-address 1 200
	build/hostile-undefined 1 200
	build/hostile-thread 1 20
	rm -rf build/sanitize && mkdir -p build/sanitize
	$(INSTALL) nanobind ninja "cmake>=3.18"
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DCMAKE_BUILD_TYPE=Debug -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python \
	  -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir) \
	  -DCMAKE_CXX_FLAGS="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
	$(BIN)/cmake --build build/sanitize
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
	  ALTOPT_NATIVE=build/sanitize $(BIN)/python -m pytest -q -p no:cacheprovider tests/operator/kernels

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# the package with the extras that the demo shows
.make/run: $(SOURCES) | $(BIN)/python
	$(INSTALL) -e ".[torch]"
	@mkdir -p .make && touch $@

# altopt and altopt-lab with everything tests, docs and comparisons need
.make/dev: $(SOURCES) | $(BIN)/python
	$(INSTALL) -e ".[dev]" -e lab
	@mkdir -p .make && touch $@ .make/run

# and the peers that benchmarks run beside
.make/bench: .make/dev
	$(INSTALL) -e "lab[bench]"
	@mkdir -p .make && touch $@

clean:
	rm -rf .venv .make build dist demo docs/_build
