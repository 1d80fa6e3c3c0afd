# Two commands on a fresh machine: `make run` and `make test`. Everything else is for those who work on it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV := $(VENV)/.dev

.PHONY: run test check stubs e2e campaign bench pictures lock clean

run: $(READY)
	@$(BIN)/fazm-memory run

test: check
	$(BIN)/python -m pytest -m "not e2e and not campaign"

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform darwin --enable-error-code deprecated -p fazm_memory.macos

# What the macOS room uses of pyobjc, as types.
stubs: $(DEV)
	$(BIN)/python -m tests.appkit.sdk.stubs

# Real agent clients, offline against a scripted model; the page in real browsers; wheels for both kinds of Mac.
e2e: $(DEV) tests/e2e/clients/node_modules tests/e2e/mcp_suites/node_modules tests/page/node_modules
	$(BIN)/python -m pytest -m e2e tests/e2e tests/page tests/packaging

# The crash, tamper and fuzz runs at full length.
campaign: $(DEV)
	CAMPAIGN=1 $(BIN)/python -m pytest -m campaign

bench: $(READY)
	$(BIN)/fazm-memory bench

# The pictures of the docs, taken anew of the story that the tests of the page tell.
pictures: $(DEV)
	$(BIN)/python -m tests.page.pictures docs/pictures

lock: $(DEV)
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --generate-hashes --no-header \
		--no-emit-index-url --python-version 3.11 -q -o requirements-dev.lock
	$(BIN)/uv pip compile pyproject.toml --universal --generate-hashes --no-header \
		--no-emit-index-url --python-version 3.11 -q -o requirements.lock

clean:
	rm -rf $(VENV) build dist *.egg-info tests/e2e/clients/node_modules \
		tests/e2e/mcp_suites/node_modules tests/page/node_modules

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Fazm Memory needs Python 3.11 or newer: make PYTHON=python3.12 …"; exit 1; }

$(READY): $(VENV)/bin/python pyproject.toml requirements.lock
	@echo "Installing Fazm Memory into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

$(DEV): $(READY) requirements-dev.lock tests/appkit/rumps.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
		--no-build-isolation -r tests/appkit/rumps.lock
	@touch $@

tests/e2e/mcp_suites/node_modules: tests/e2e/mcp_suites/package-lock.json
	tests/e2e/mcp_suites/install
	@touch $@

tests/e2e/clients/node_modules: tests/e2e/clients/package-lock.json
	tests/e2e/clients/install
	@touch $@

tests/page/node_modules: tests/page/package-lock.json
	tests/page/install
	@touch $@
