# `make` lists what there is to do; the text after ## is the list.
VENV ?= .venv
PYTHON := $(VENV)/bin/python

.DEFAULT_GOAL := help
.PHONY: help setup kernels check format test slow bench docs demo clean

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

bench: ## compare speed and memory with the peers that are installed
	$(PYTHON) -m benchmarks --quick

docs: ## run every example in the pages and follow every link between them
	$(PYTHON) -m pytest -n 0 -m '' tests/test_docs.py

demo: ## fit the diabetes data and print the summary
	@$(PYTHON) -c "import linearly as ly; from sklearn.datasets import load_diabetes; d = load_diabetes(as_frame=True, scaled=False); print(ly.LinearRegression().fit(d.data, d.target).summary())"

clean: ## remove what builds and tests leave behind
	rm -rf build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .coverage .coverage.* htmlcov docs/_build
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
