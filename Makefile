# Two commands on a fresh machine: `make run` and `make test`. Everything else is for those who work on it.
# The first of these that is new enough. Apple's own python3 is 3.9.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c '$(NEW_ENOUGH)' 2>/dev/null && { echo $$python; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
READY := $(VENV)/.ready
DEV := $(VENV)/.dev

# Tests wait more than they compute, so there are more workers than cores. The real clients and browsers
# compute: one for each core.
WORKERS ?= 4
E2E_WORKERS ?= 2

.PHONY: run test check lint types types-macos unit install stubs e2e campaign bench pictures lock clean

run: $(READY)
	@$(BIN)/fazm-memory run

test: $(DEV)
	@$(MAKE) --no-print-directory -j4 lint types types-macos unit

check: lint types types-macos

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)
	$(BIN)/mypy

types-macos: $(DEV)
	$(BIN)/mypy --platform darwin --enable-error-code deprecated --cache-dir .mypy_cache/darwin -p fazm_memory.macos

unit: $(DEV)
	$(BIN)/python -m pytest -m "not e2e and not campaign" -n $(WORKERS) --dist worksteal

# Everything that `test` and `e2e` need; with -j4 all at once.
install: $(DEV) tests/e2e/clients/node_modules tests/e2e/mcp_suites/node_modules tests/page/node_modules

# Type stubs of what the macOS package uses of pyobjc.
stubs: $(DEV)
	$(BIN)/python -m tests.appkit.sdk.stubs

# Real agent clients, offline against a scripted model; the page in real browsers; wheels for both kinds of Mac.
e2e: install
	$(BIN)/python -m pytest -m e2e -n $(E2E_WORKERS) --dist loadfile tests/e2e tests/page tests/packaging

# The crash, tamper and fuzz runs at full length.
campaign: $(DEV)
	CAMPAIGN=1 $(BIN)/python -m pytest -m campaign --timeout 0

# All benchmarks, or those named: make bench ARGS="log --events 100000".
bench: $(DEV)
	$(BIN)/python -m benchmarks $(ARGS)

# Take the pictures of the documents again, from the story of the page tests.
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

# An environment of an older Python cannot be repaired. It is removed and made again.
ifneq ($(wildcard $(BIN)/python),)
ifneq ($(shell $(BIN)/python -c '$(NEW_ENOUGH)' 2>/dev/null || echo old),)
$(shell rm -rf $(VENV))
endif
endif

# Nothing is made before the version is checked.
$(VENV)/bin/python:
	@$(or $(PYTHON),false) -c '$(NEW_ENOUGH)' 2>/dev/null || { \
		echo "Fazm Memory needs Python 3.11 or newer. Found: $$($(or $(PYTHON),python3) --version 2>&1)."; \
		echo "Install one from python.org or with Homebrew (brew install python@3.12), then run make again."; \
		echo "A Python elsewhere: make PYTHON=/path/to/python3.12 …"; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)

$(READY): $(VENV)/bin/python pyproject.toml requirements.lock
	@echo "Installing Fazm Memory into $(VENV) …"
	@$(PIP) --require-hashes -r requirements.lock
	@$(PIP) --no-deps -e .
	@touch $@

# Everything in requirements.lock is in requirements-dev.lock too. uv installs it in a fraction of pip's time, but
# does not read pip's configuration: where it cannot reach an index, pip installs.
$(DEV): $(VENV)/bin/python pyproject.toml requirements-dev.lock tests/appkit/rumps.lock
	@echo "Installing Fazm Memory and its tools into $(VENV) …"
	@sed -n '/^uv==/,/^    # via/p' requirements-dev.lock > $(VENV)/uv.lock
	@$(PIP) --require-hashes -r $(VENV)/uv.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements-dev.lock \
		|| $(PIP) --require-hashes -r requirements-dev.lock
	@$(PIP) --require-hashes --no-deps --no-build-isolation -r tests/appkit/rumps.lock
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $(READY) $@

tests/e2e/mcp_suites/node_modules: tests/e2e/mcp_suites/package-lock.json
	tests/e2e/mcp_suites/install
	@touch $@

tests/e2e/clients/node_modules: tests/e2e/clients/package-lock.json tests/e2e/clients/hermes.lock
	PYTHON=$(PYTHON) tests/e2e/clients/install
	@touch $@

tests/page/node_modules: tests/page/package-lock.json
	tests/page/install
	@touch $@
