# Needs python3 (3.11 or newer) with pip and venv; everything else goes into .venv.

PYTHON ?= python3
PYTEST_ARGS ?=
# regret.py takes many hours, open_report.py a browser: BENCH=bench/regret.py.
BENCH ?= $(filter-out bench/regret.py bench/open_report.py,$(sort $(wildcard bench/[a-z]*.py)))

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq

.DEFAULT_GOAL := help
.PHONY: help demo test lint format docs bench clean

help:  ## List the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

demo: .venv/.demo  ## Install the package with its command line and run the demonstration
	$(BIN)/rahbo demo

# One thread for linear algebra: the workers already fill the cores.
test: export OMP_NUM_THREADS ?= 1
test: .venv/.test  ## Run all tests and doctests (PYTEST_ARGS="-k space" to choose)
	$(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

lint: .venv/.lint  ## Check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.lint  ## Format the code and apply the safe fixes
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

# Material announces its end of life at every build.
docs: export NO_MKDOCS_2_WARNING = 1
docs: .venv/.docs  ## Build the documentation into build/site, strictly
	$(BIN)/mkdocs build --strict

bench: .venv/.bench  ## Run the benchmarks (BENCH=bench/import_time.py to choose)
	@for script in $(BENCH); do echo "== $$script"; $(BIN)/python "$$script" || exit 1; done

clean:  ## Remove everything that these targets made
	rm -rf .venv rahbo-demo.png build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	$(PYTHON) -m venv .venv

# A stamp a group of dependencies, renewed when pyproject.toml changes. The install is
# editable, so a changed source needs no new one.
.venv/.%: pyproject.toml | .venv/bin/python
	@echo "Installing rahbo[$*] into .venv"
	@$(PIP) install -e ".[$*]"
	@touch $@
