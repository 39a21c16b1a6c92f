# Everything a fresh machine needs: Python 3.11 or newer, and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := runs/demo
LOCK := pyproject.toml --extra local --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet

.PHONY: demo test proof lock clean

demo: $(VENV)/.local ## the ladder of a real 1.5b model, in about ten minutes
	$(BIN)/evaluand models pull qwen2.5-coder-1.5b qwen2.5-coder-0.5b
	$(BIN)/evaluand bench --preset quick -o $(RUN)

test: $(VENV)/.dev ## formatting, types, layers, every test, branch coverage
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/evaluand models pull smollm2-135m
	$(BIN)/pytest --cov

proof: $(VENV)/.dev ## the long form of tests/proof, whose figures docs/reliability.md gives
	EVALUAND_PROOF=long $(BIN)/pytest tests/proof -s --timeout 7200

lock: ## pin every dependency by hash, without naming an index
	uv pip compile $(LOCK) --group build -o requirements/local.txt
	uv pip compile $(LOCK) --group build --group dev -o requirements/dev.txt

clean:
	rm -rf $(VENV) runs .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "evaluand needs Python 3.11 or newer, got " + sys.version.split()[0] + "; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.local: $(BIN)/python requirements/local.txt pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/local.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/.dev: $(BIN)/python requirements/dev.txt pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@ $(VENV)/.local
