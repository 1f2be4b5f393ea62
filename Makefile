# Two commands do everything on a fresh machine with Python 3.11 or newer:
#   make demo     install into .venv, then run the main job in about a minute
#   make test     install into .venv, then check format, lint, types, imports and run the tests
# Also: make soak (long proofs), make lock (refresh .ci/requirements.lock), make clean.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test soak lock clean

demo: $(READY)
	@$(BIN)/runrig demo

test: $(READY)
	@bash .ci/check $(BIN)

soak: $(READY)
	$(BIN)/python -m pytest -m soak --timeout 3600

$(READY): pyproject.toml .ci/requirements.lock .ci/setup
	@bash .ci/setup $(PYTHON) $(VENV)
	@touch $(READY)

lock: $(READY)
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
		--no-annotate --no-header --quiet --upgrade --output-file .ci/requirements.lock

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
