# Two commands do all the set-up and their job: `make demo` and `make test`.
# `make help` lists the rest.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
# Without bytecode each pytest process would compile, and rewrite the assertions of, all tests again.
unexport PYTHONDONTWRITEBYTECODE
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
# A file's tests stay together, so that its brokers start once; tests/turns.py says which files come first.
# One more than two cores: tests that start brokers wait for them.
WORKERS ?= 3
PARALLEL := --numprocesses=$(WORKERS) --dist=loadfile --no-loadscope-reorder
# The files of tests/seconds.txt take turns by the seed: a seventh of them, so that a run ends within twelve minutes.
# What else changes by the seed, as the release of Kafka, does so by twos, threes or eights: each file meets all of it.
TURNS ?= 7
RESULTS := build/bench/results
DIST := dist
# Beside it numba keeps what it compiled: it compiles again what has changed.
MACHINE_CODE := build/machine_code
OLDEST := build/oldest
# What Python is to find before, or beside, the packages of .venv: another Spark, and what is too large to be there.
LAKES := build/lakes
PIPELINES := build/pipelines
SPHINX := build/sphinx

.DEFAULT_GOAL := help
.PHONY: help setup java browser unpacker compiler demo test test-long test-oldest test-pipelines test-pythons test-nojit test-filesystems mutants \
  lint format docs dist dist-aarch64 bench bench-quick bench-stores bench-suites bench-report bench-floors bench-compare clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(VENV)/.done ## make .venv with everything, at the versions of constraints.txt

$(VENV)/.done: $(VENV)/.demo
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[all]' --group dev
	@touch $@

$(VENV)/.demo: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "epochlog needs Python 3.11 or later; run make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1' -c constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[cli,spark]'
	@touch $@

java: ## look for a Java 17+ development kit and Maven; on Debian as root, install them
	@tests/install jdk maven

browser: ## look for Chromium and its driver; on Debian as root, install them
	@tests/install chromium

unpacker: ## look for xz, which unpacks the data of the documentation's examples; on Debian as root, install it
	@tests/install xz

compiler: ## look for a C compiler; on Debian as root, install one
	@tests/install compiler

demo: $(VENV)/.demo ## the main job, an audit, on replicas of a real Kafka cluster (with Java 17+ also with Spark)
	@tests/install java
	@$(BIN)/epochlog demo

test: setup java browser unpacker compiler $(SPHINX)/.done ## the test suite, with a rotating share of each campaign and of what takes long; TURNS=1 for all files
	$(BIN)/epochlog warm > /dev/null  # or each worker compiles the kernels
	$(BIN)/python -m tests.class_archives
	TURNS=$(TURNS) TEST_SECONDS=build/test-seconds.txt $(PYTEST) $(PARALLEL) --durations=20 --ignore=tests/pipelines tests bench
	$(MAKE) --no-print-directory test-nojit

test-oldest: $(OLDEST)/.done java browser unpacker compiler ## the tests on the oldest release of each dependency; with SHARE=5 a fifth of them
	$(OLDEST)/bin/epochlog warm > /dev/null
	# PySpark 4.1 leaves the sockets by which results come to the garbage collector.
	OLDEST=1 $(OLDEST)/bin/python -m pytest $(PARALLEL) -W 'ignore:unclosed <socket.socket:ResourceWarning' \
	  $$($(BIN)/python -m tests.oldest files $(or $(SHARE),1))

$(OLDEST)/.done: pyproject.toml tests/oldest.py | setup
	rm -rf $(OLDEST)
	$(PYTHON) -m venv $(OLDEST)
	$(BIN)/python -m tests.oldest releases > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(OLDEST)/bin/python -m pip install --quiet -c $(OLDEST)/constraints.txt --editable '.[all]' --group dev
	@touch $@

test-pythons: ## the core and its tests on each other Python that is found; PYTHONS='3.13' for one
	tests/pythons $(or $(PYTHONS),3.12 3.13 3.14)

test-pipelines: setup java $(LAKES)/.done $(PIPELINES)/.done ## the examples for Delta Lake, Iceberg, Airflow and Dagster (they take 1 GB)
	$(BIN)/epochlog warm > /dev/null
	$(PYTEST) $(PARALLEL) tests/pipelines

$(LAKES)/.done: pyproject.toml | setup
	rm -rf $(LAKES)
	$(BIN)/python -m pip install --quiet --target $(LAKES) --no-deps --group lakes
	@touch $@

$(PIPELINES)/.done: pyproject.toml constraints.txt | setup
	rm -rf $(PIPELINES)
	$(BIN)/python -m pip install --quiet --target $(PIPELINES) -c constraints.txt --group pipelines
	@touch $@

test-nojit: setup ## the kernels once more, as plain Python
	NUMBA_DISABLE_JIT=1 $(PYTEST) $(PARALLEL) tests/logstore/kernels tests/epoch/test_bulk.py

test-long: setup java browser unpacker compiler $(SPHINX)/.done $(LAKES)/.done $(PIPELINES)/.done ## every campaign at its full count (hours)
	CAMPAIGN=full $(PYTEST) tests

test-filesystems: setup ## power loss on ext4, xfs and btrfs (minutes; root, loop devices and FUSE); KINDS=ext4 for one of them
	@tests/install filesystems
	$(BIN)/python -m pip install --quiet -c constraints.txt --group filesystems
	$(BIN)/python -m tests.filesystems $(KINDS)

mutants: setup ## faults put into the code, which the tests must notice (half an hour, without Java); SHARE=20 for a twentieth
	$(BIN)/epochlog warm > /dev/null
	$(BIN)/python -m tests.mutants --shares $(or $(SHARE),1) --least $(or $(LEAST),0.95) $(FILES)

lint: setup ## ruff, mypy, import contracts, and what nothing uses
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vulture epoch epochlog logstore replication $$(find logstore replication -name '*.pyi')

dist: setup compiler ## the wheel, with the kernels' machine code on Linux on x86-64, and the source distribution, in dist/
	rm -rf $(DIST)
	rm -rf $(MACHINE_CODE)/x86_64
	$(BIN)/python -m epoch.compiling.shipping logstore $(MACHINE_CODE)
	EPOCHLOG_MACHINE_CODE=$(MACHINE_CODE)/x86_64 $(BIN)/python -m hatchling build --target wheel --target sdist --directory $(DIST)

dist-aarch64: setup ## a wheel with machine code for aarch64, once that has passed the kernels' tests under emulation (Debian, root)
	tests/install emulator
	PYTHON=$(abspath $(BIN))/python tests/aarch64 $(MACHINE_CODE)
	EPOCHLOG_MACHINE_CODE=$(MACHINE_CODE)/aarch64 $(BIN)/python -m hatchling build --target wheel --directory $(DIST)

docs: setup $(SPHINX)/.done ## the documentation as a site, in build/docs; a broken link or anchor fails
	rm -rf build/docs  # or what was wrong in a page that has not changed since would not be said again
	PYTHONPATH=$(SPHINX) $(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -c docs . build/docs

$(SPHINX)/.done: pyproject.toml constraints.txt | setup
	rm -rf $(SPHINX)
	$(BIN)/python -m pip install --quiet --target $(SPHINX) -c constraints.txt --group docs
	@touch $@

format: setup ## rewrite the code in the house style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench-quick: setup ## every hot path once, beside sqlite and others, against what the same processor did before (two minutes, without Java)
	@mkdir -p build/bench
	@$(PYTEST) bench/bench_quick.py --benchmark-enable --benchmark-only --benchmark-quiet \
	  --benchmark-json=build/bench/quick.json > build/bench/quick.txt || { cat build/bench/quick.txt; exit 2; }
	@$(BIN)/python -m bench.quick build/bench/quick.json --picture build/bench/quick.svg

bench: setup java ## all benchmarks, measured, with Kafka's own classes beside ours, and the report of them (hours)
	rm -rf $(RESULTS)
	$(BIN)/python -m bench.limits --json $(RESULTS)/limits.json
	$(BIN)/python -m bench.peer --runs 3 --json $(RESULTS)/peer.json
	$(BIN)/python -m bench.cold_start --json $(RESULTS)/cold-start.json
	$(BIN)/python -m bench.scaling --json $(RESULTS)/scaling.json
	$(PYTEST) bench --benchmark-enable --benchmark-only --benchmark-json=$(RESULTS)/suites.json
	$(MAKE) --no-print-directory bench-report

bench-report: setup ## docs/performance.md and its pictures once more, from the results of the last `make bench`
	$(BIN)/python -m bench.report $(RESULTS)/*.json

bench-stores: setup ## beside other stores and clients of Python programs alone, and the report's part of them (half an hour)
	$(BIN)/python -m bench.peer --runs 3 --groups clients stores --json $(RESULTS)/stores.json
	$(BIN)/python -m bench.report $(RESULTS)/stores.json

bench-suites: setup java ## the suites alone, and the report's part of them (an hour)
	rm -f $(RESULTS)/suites.json
	$(PYTEST) bench --benchmark-enable --benchmark-only --benchmark-json=$(RESULTS)/suites.json
	$(BIN)/python -m bench.report $(RESULTS)/suites.json

bench-floors: setup java ## a short measurement: no ratio to Kafka, and no figure of a quarter of the suites, may be worse than its floor; SHARE=1 for all suites
	$(BIN)/python -m bench.peer --short --json build/bench/short.json
	$(PYTEST) $$($(BIN)/python -m bench.floors --benchmarks --shares $(or $(SHARE),4)) \
	  --benchmark-enable --benchmark-json=build/bench/suites-short.json
	$(BIN)/python -m bench.floors build/bench/short.json build/bench/suites-short.json --shares $(or $(SHARE),4)

bench-compare: setup ## the suites of two commits, in turn: make bench-compare REF=HEAD~1
	@[ -n '$(REF)' ] || { echo 'which commit? make bench-compare REF=HEAD~1'; exit 2; }
	@$(BIN)/python -m bench.compare '$(REF)' $(if $(ONLY),--only '$(ONLY)')

clean: ## remove everything that can be made again
	rm -rf $(VENV) build dist epochlog-demo*.html .mypy_cache .ruff_cache .pytest_cache .hypothesis
