# Two commands do everything on a fresh machine with Python 3.11 or newer:
#   make demo     install into .venv, then run the main job in about a minute
#   make test     install into .venv, then check format, lint, types, imports and run the tests
# Also: make soak (long proofs), make lock (refresh .ci/*.lock), make clean.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
CORE   := $(VENV)/.ready-core
DEV    := $(VENV)/.ready-dev
LOCK   := uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
	--no-annotate --no-header --quiet

.PHONY: demo test soak lock clean

demo: $(CORE)
	@$(BIN)/runrig demo

test: $(DEV)
	@bash .ci/check $(BIN)

soak: $(DEV)
	$(BIN)/python -m pytest -m soak --timeout 3600

$(CORE): pyproject.toml .ci/core.lock .ci/setup
	@bash .ci/setup $(PYTHON) $(VENV) .ci/core.lock
	@touch $(CORE)

# The demo needs the core alone; agents' libraries, browsers and checkers come with the tests.
$(DEV): pyproject.toml .ci/dev.lock .ci/setup
	@bash .ci/setup $(PYTHON) $(VENV) .ci/dev.lock
	@touch $(CORE) $(DEV)

lock: $(DEV)
	$(BIN)/pip install --quiet uv
	$(BIN)/$(LOCK) --extra dev --upgrade --output-file .ci/dev.lock
	$(BIN)/$(LOCK) --constraint .ci/dev.lock --output-file .ci/core.lock

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
