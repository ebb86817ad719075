# Sets up, shows, tests and checks this project; `make help` lists what there is.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest

# Tests that share a file share its servers, so a file stays in one process.
PARALLEL := -n 2 --dist loadfile

# A stamp is older than what it was made from only when that has changed.
RUN_READY := .venv/run.stamp
DEV_READY := .venv/dev.stamp

.PHONY: help demo test check crash lock tools clean

help: ## Say what there is.
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-6s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(RUN_READY) ## Tell the whole story on this machine (MODE=poll: without a webhook; KEEP=1: leave it running).
	@$(BIN)/the-loop demo $(if $(MODE),--mode '$(MODE)') $(if $(filter-out 0,$(KEEP)),--keep)

test: $(DEV_READY) tools ## Set up what the tests need and run all of them but the crash matrix.
	$(PYTEST) $(PARALLEL) -m "not crash"

check: $(DEV_READY) ## Check style, types, layers, dependencies, spelling and that docs and code agree.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .
	$(BIN)/codespell
	$(PYTEST) tests/tidy

crash: $(DEV_READY) tools ## Run the long crash matrix.
	$(PYTEST) -n 2 --dist load -m crash

lock: $(DEV_READY) ## Choose new versions of all dependencies and write requirements/ anew.
	bash scripts/lock.sh

tools: ## Install what only tests use and Python cannot bring, where it can be had.
	@bash scripts/test_tools.sh

clean: ## Remove the environment, the tools and what tests and checks keep.
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist

$(RUN_READY): requirements/run.txt pyproject.toml scripts/environment.sh
	@PYTHON='$(PYTHON)' bash scripts/environment.sh run
	@touch $@

$(DEV_READY): requirements/dev.txt $(RUN_READY)
	@PYTHON='$(PYTHON)' bash scripts/environment.sh dev
	@touch $@
