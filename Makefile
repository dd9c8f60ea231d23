# What a person does with this repository. `make` lists it.
SHELL := /bin/sh
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.PHONY: help demo demo-reset test test-deep smoke lint types fmt lock static binaries messages

PYTHON := .venv/bin/python
SOURCES := $(filter-out tests,$(patsubst %/,%,$(dir $(wildcard */__init__.py))))
# Reading the settings needs these; nothing is connected to.
SETTINGS := BERTH_SECRET_KEY=none DATABASE_URL=postgresql:///none REDIS_URL=redis://none \
	OIDC_ISSUER=none OIDC_AUTHORIZATION_ENDPOINT=none OIDC_TOKEN_ENDPOINT=none \
	OIDC_USERINFO_ENDPOINT=none OIDC_JWKS_ENDPOINT=none
# How many tests at once, and anything else for pytest: `make test ARGS="-k quota"`.
WORKERS ?= 2
ARGS ?=

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: .venv/.synced static messages ## the whole portal with a cluster of its own; ctrl-C ends it
	@$(PYTHON) -m dev.demo

demo-reset: .venv/.synced ## forget what `make demo` kept
	@$(PYTHON) -m dev.demo --reset

test: lint types static messages binaries ## lint, types and all tests but the long ones
	$(PYTHON) -m pytest -n $(WORKERS) -m "not deep" $(ARGS)

test-deep: .venv/.synced static messages binaries ## the tests that take long
	$(PYTHON) -m pytest -n $(WORKERS) -m deep $(ARGS)

smoke: .venv/.synced static messages binaries ## the main journey on a stack of its own, timed; JSON last
	@$(PYTHON) -m dev.smoke

lint: .venv/.synced ## style and import errors
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

types: .venv/.synced ## mypy
	@echo "mypy $(SOURCES)"
	@$(SETTINGS) $(PYTHON) -m mypy $(SOURCES)

fmt: .venv/.synced ## format the code
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

lock: .venv/.synced ## bring uv.lock and package-lock.json up to date
	.tools/uv/bin/uv lock --upgrade
	npm install --package-lock-only --ignore-scripts

static: .venv/.synced # what pages load, from npm by lock file
	@$(PYTHON) -m dev.frontend

messages: .venv/.synced # translations, compiled
	@if ls locale/*/LC_MESSAGES/django.po >/dev/null 2>&1; then \
		$(PYTHON) -m babel.messages.frontend --quiet compile --directory locale --domain django; \
	fi

# Without them the tests that need a cluster are skipped, each with the reason.
binaries: .venv/.synced # etcd, kube-apiserver and the rest: found, or built once
	@$(PYTHON) -m dev.binaries || test "$$BERTH_REQUIRE_CLUSTER" != 1

.venv/.synced: pyproject.toml uv.lock dev/bootstrap
	@dev/bootstrap
