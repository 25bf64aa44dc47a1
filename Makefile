# Needs python3 (3.11 or newer) with pip and venv; everything else goes into .venv.

PYTHON ?= python3
# Another environment: make check VENV=build/check has no more than that target installs.
VENV ?= .venv
PYTEST_ARGS ?=
# regret.py takes many hours, open_report.py a browser, simopt_truth.py SimOpt: BENCH=bench/regret.py.
BENCH ?= $(filter-out bench/regret.py bench/open_report.py bench/simopt_truth.py,$(sort $(wildcard bench/[a-z]*.py)))

# Windows has its programs in another folder.
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq

.DEFAULT_GOAL := help
.PHONY: help demo check coretest test lint format docs dist bench clean

help:  ## List the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

demo: $(VENV)/.demo  ## Install the package with its command line and run the demonstration
	$(BIN)/rahbo demo

# One thread for linear algebra: the workers already fill the cores.
check coretest test: export OMP_NUM_THREADS ?= 1

check: $(VENV)/.check lint  ## Lint, and run the tests that are quick and need no heavy library
	$(BIN)/python -m pytest -n 2 --core -m "not slow" --hypothesis-profile quick $(PYTEST_ARGS)

coretest: $(VENV)/.core-test  ## Run the tests that need no extra, the slow ones too
	$(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

test: $(VENV)/.test  ## Run all tests and doctests (PYTEST_ARGS="-k space" to choose)
	$(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

lint: $(VENV)/.lint  ## Check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.lint  ## Format the code and apply the safe fixes
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

# Material announces its end of life at every build.
docs: export NO_MKDOCS_2_WARNING = 1
docs: $(VENV)/.docs  ## Build the documentation into build/site, strictly
	$(BIN)/mkdocs build --strict

dist: $(VENV)/.dist  ## Build wheel and source archive into dist, check them, install the wheel
	rm -rf dist build/clean
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python .ci/check_wheel.py
	$(PYTHON) -m venv build/clean
	$(subst $(VENV),build/clean,$(PIP)) install dist/*.whl
	$(subst $(VENV),build/clean,$(BIN))/python -I -c "import rahbo; print(rahbo.__version__, 'imports')"

bench: $(VENV)/.bench  ## Run the benchmarks (BENCH=bench/import_time.py to choose)
	@for script in $(BENCH); do echo "== $$script"; $(BIN)/python "$$script" || exit 1; done

clean:  ## Remove everything that these targets made
	rm -rf $(VENV) rahbo-demo.png build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# A stamp a group of dependencies, renewed when pyproject.toml changes. The install is
# editable, so a changed source needs no new one.
$(VENV)/.%: pyproject.toml | $(BIN)/python
	@echo "Installing rahbo[$*] into $(VENV)"
	@$(PIP) install -e ".[$*]"
	@touch $@
