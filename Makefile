# Everything is set up on first use: a virtual environment in .venv, and what the
# project needs in it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
EXTRAS := dev,docs,example,bench,fast,cli
PYTEST := $(BIN)/python -X dev -m pytest $(PYTEST_ARGS)

.PHONY: help demo serve test test-sqlite test-postgresql test-mysql bench lint docs clean

help:
	@echo "make demo   load cities, build their sitemaps, show what there is"
	@echo "make serve  serve the example project at http://localhost:8000"
	@echo "make test   run all tests"
	@echo "make bench  measure against django.contrib.sitemaps"
	@echo "make lint   format, style, types, layers"
	@echo "make docs   build the documentation"

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "The module venv is missing; on Debian: apt install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$(EXTRAS)]"
	@touch $@

demo: $(STAMP)
	$(BIN)/python manage.py migrate --verbosity 0
	$(BIN)/python manage.py load_atlas $(LOAD_ARGS)
	$(BIN)/python manage.py build_sitemaps
	@echo
	@echo "Serve it with 'make serve', then open http://localhost:8000/sitemap.xml"

serve: $(STAMP)
	$(BIN)/python manage.py runserver

test: test-sqlite test-postgresql test-mysql

test-sqlite: $(STAMP)
	TEST_DB=sqlite $(PYTEST) -n 2 tests/unit tests/integration tests/acceptance

test-postgresql: $(STAMP)
	TEST_DB=postgresql $(PYTEST) -n 2 tests/integration

test-mysql: $(STAMP)
ifdef TEST_MYSQL_URL
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[mysql]"
	TEST_DB=mysql $(PYTEST) -n 2 tests/integration
else
	@echo "SKIPPED: tests on MariaDB, since TEST_MYSQL_URL is not set"
endif

bench: $(STAMP)
	$(BIN)/python -m tests.benchmarks $(BENCH_ARGS)

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy

docs: $(STAMP)
	$(BIN)/sphinx-build -n -W -q docs build/docs
	@echo "The documentation is in build/docs/index.html"

clean:
	rm -rf $(VENV) build dist var *.egg-info
