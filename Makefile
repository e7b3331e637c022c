# `make` lists what there is to do; the text after ## is the list.
VENV ?= .venv
PYTHON := $(VENV)/bin/python

.DEFAULT_GOAL := help
.PHONY: help setup kernels check format test slow sanitize fuzz mutants coverage lowest package bench docs demo clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-8s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: ## make .venv, install everything for development, install the commit hooks
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install -e '.[dev]'
	$(VENV)/bin/pre-commit install

kernels: ## rebuild the compiled kernels after a change to the C++, showing any error
	LINEARLY_REQUIRE_COMPILED=1 $(VENV)/bin/pip install -v --no-build-isolation --no-deps -Cbuild-dir=build/kernels -e .

check: ## lint, formatting, types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

format: ## let ruff fix and format
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

test: ## the tests, on the compiled kernels and on the NumPy kernels
	$(PYTHON) -m pytest
	LINEARLY_KERNELS=reference $(PYTHON) -m pytest

slow: ## the tests that take their time
	$(PYTHON) -m pytest -m slow

sanitize: ## the kernels' tests on kernels that watch their memory and arithmetic, then their threads
	tests/sanitize/run.sh address,undefined
	tests/sanitize/run.sh thread

fuzz: ## formulas, model files, CSV, Parquet and Arrow that nobody would write, for some minutes
	$(PYTHON) tests/fuzz --cases 20000

mutants: ## small mistakes in the algorithms, and whether a test notices
	$(PYTHON) tests/mutants --map --sample 100

coverage: ## which lines and branches of the package no test executes
	$(PYTHON) -m pytest --cov --cov-branch

lowest: ## the tests on the oldest versions that pyproject.toml allows, in build/lowest
	python3 -m venv build/lowest
	$(PYTHON) tests/lowest.py > build/lowest/constraints.txt
	build/lowest/bin/pip install -c build/lowest/constraints.txt -e '.[test]'
	build/lowest/bin/python -m pytest

package: ## build the sdist and a wheel into dist, and try them in an environment of their own
	$(PYTHON) -m build --outdir dist
	$(PYTHON) -m twine check --strict dist/*
	$(PYTHON) -m pytest -n0 -m slow tests/test_packaging.py

bench: ## compare speed and memory with the peers that are installed
	$(PYTHON) -m benchmarks --quick

docs: ## build the documentation into docs/_build; needs the docs extra
	$(PYTHON) -m sphinx -W --keep-going -q docs docs/_build

demo: ## tell the story of the handwritten digits and write its report
	@$(VENV)/bin/linearly demo

clean: ## remove what builds and tests leave behind
	rm -rf build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .coverage .coverage.* htmlcov docs/_build
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
