# Everything is set up on first use: a virtual environment in .venv, and what the
# project needs in it.

# The first interpreter that runs and is new enough; `make PYTHON=...` chooses another.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python3.14; do \
  $$python -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$python && break; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
MYSQL_STAMP := $(VENV)/.installed-mysql
DEMO_STAMP := $(VENV)/.installed-demo
# What the demo needs is there where everything is.
DEMO := $(or $(wildcard $(STAMP)),$(DEMO_STAMP))
PIP_INSTALL = $(BIN)/python -m pip install --disable-pip-version-check $(PIP_ARGS)
EXTRAS := dev,docs,example,bench,fast,cli,celery,s3
SQLITE_TESTS ?= tests/unit tests/integration tests/acceptance tests/upgrade
# By variable and not by -X dev, so that the workers of xdist have it too. Its checks of
# memory are for extensions in C, and cost a tenth of the time.
PYTEST := PYTHONDEVMODE=1 PYTHONMALLOC=pymalloc $(BIN)/python -m pytest $(PYTEST_ARGS)

.PHONY: help demo run serve worker beat engine test test-sqlite test-postgresql test-mysql \
  test-reliability forget-skipped soak bench walks mutants lint docs pictures messages clean

help:
	@echo "make demo   load cities, build their sitemaps, show what there is"
	@echo "make run    serve the example project, and build what you edit in it"
	@echo "make serve  serve the example project at http://localhost:8000"
	@echo "make worker run a Celery worker of it; a second one in another terminal"
	@echo "make beat   have its workers look for changes and notify engines every 30 seconds"
	@echo "make engine play a search engine at http://127.0.0.1:8100, print what it gets"
	@echo "make test   run all tests"
	@echo "make soak   run the reliability tests at full length, which takes hours"
	@echo "make bench  measure against django.contrib.sitemaps and django-icv-sitemaps"
	@echo "make walks  count the files and functions that a request, a save, a build pass"
	@echo "make mutants  plant known mistakes, see that the tests catch each"
	@echo "make lint   format, style, types, layers, and limits of size"
	@echo "make docs   build the documentation"
	@echo "make pictures  draw the pictures of the README, with Chromium"
	@echo "make messages  note new texts in the translations, and compile them"
	@echo "make clean  remove all that was made, the environment and the data too"

# Makes the environment and installs extras, $(1), into it; a dot is a package.
define install
@$(or $(PYTHON),false) -c '$(NEW_ENOUGH)' || { \
  echo "Python 3.11 or newer is needed. Install it (on Debian: apt install python3"; \
  echo "python3-venv), or say where it is: make PYTHON=/path/to/python3.12 ..."; \
  exit 1; }
@$(PYTHON) -m venv $(VENV) || { \
  echo "A virtual environment cannot be made; on Debian: apt install python3-venv"; \
  exit 1; }
@rm -f $@
@printf '%s ' "Installing $(2) into $(VENV):"
@{ $(PIP_INSTALL) -e ".[$(1)]" && touch $@; } | while read -r word rest; do \
  if [ "$$word" = Collecting ]; then printf .; fi; done; echo
@test -e $@
endef

$(STAMP): pyproject.toml
	$(call install,$(EXTRAS),all that the project needs (1.1 GB))

$(DEMO_STAMP): pyproject.toml
	$(call install,demo,what the demo needs (320 MB))

# Compiled on most machines, so it is installed only where its tests can run.
$(MYSQL_STAMP): $(STAMP)
	@$(PIP_INSTALL) --quiet --quiet -e ".[mysql]" || { \
	  echo "mysqlclient needs: apt install build-essential libmariadb-dev pkg-config"; \
	  exit 1; }
	@touch $@

demo: $(DEMO)
	$(BIN)/python manage.py migrate --verbosity 0
	$(BIN)/python manage.py load_atlas $(LOAD_ARGS)
	$(BIN)/python manage.py build_sitemaps
	@echo
	@echo "Try next:"
	@echo "1. make run, then open http://localhost:8000/sitemap.xml"
	@echo "2. $(BIN)/python manage.py createsuperuser, then rename a city at"
	@echo "   http://localhost:8000/admin/atlas/city/: its page is built in seconds"
	@echo "3. see the dashboard at http://localhost:8000/admin/sitemaps_plus/dashboard/"
	@echo "4. make engine plays a search engine, and prints what it gets. It is told of what"
	@echo "   you edit once the site knows it: end make run, and start it again by"
	@echo "   INDEXNOW_ENDPOINT=http://127.0.0.1:8100/indexnow \\"
	@echo "   INDEXNOW_KEY=3f1d0c5a9be24e6f8f0f7a4b1c2d3e4f make run"
	@echo "5. make worker and make beat, with a Redis: many machines share the work. They run"
	@echo "   beside make run, which is faster; end it, and a save wakes the workers alone:"
	@echo "   REDIS_URL=redis://127.0.0.1:6379/0 make serve"

# Both end with Ctrl+C.
run: $(DEMO)
	@$(BIN)/python manage.py run_sitemaps & worker=$$!; \
	  trap "kill $$worker 2>/dev/null; wait $$worker" EXIT; trap : INT; \
	  $(BIN)/python manage.py runserver

serve: $(DEMO)
	$(BIN)/python manage.py runserver

# The web site has workers too when it knows the broker:
# `REDIS_URL=redis://127.0.0.1:6379/0 make serve`.
worker beat: export REDIS_URL ?= redis://127.0.0.1:6379/0

worker: $(DEMO)
	$(BIN)/celery -A example_project.worker worker --loglevel INFO \
	  --hostname "worker-$$$$@%h"

beat: $(DEMO)
	$(BIN)/celery -A example_project.worker beat --loglevel INFO \
	  --schedule var/beat-schedule

engine: $(DEMO)
	$(BIN)/python -m tests.support.servers.engine --port 8100 --site http://127.0.0.1:8000 \
	  $(ENGINE_ARGS)

# In the end it says what was skipped, and why, in all of its runs.
test: export TEST_SKIPPED := $(CURDIR)/$(VENV)/skipped.txt
test: forget-skipped test-sqlite test-reliability test-postgresql test-mysql
	@if [ -s $(TEST_SKIPPED) ]; then echo "Skipped:"; cat $(TEST_SKIPPED); fi

forget-skipped: $(STAMP)
	@rm -f $(TEST_SKIPPED)

# Four processes: on two cores, each waits for others half of its time. By file, since
# some make a site for all of their tests.
test-sqlite: $(STAMP)
	TEST_DB=sqlite $(PYTEST) -n 4 --dist loadfile --no-loadscope-reorder $(SQLITE_TESTS)

# Without the checks of Python's development mode: they make thousands of forks slow.
test-reliability: $(STAMP)
	TEST_DB=sqlite $(BIN)/python -m pytest -n 4 --dist worksteal tests/reliability

# What a database can decide.
test-postgresql: $(STAMP)
	TEST_DB=postgresql $(PYTEST) -n 3 -m database tests/integration tests/reliability

ifdef TEST_MYSQL_URL
test-mysql: $(MYSQL_STAMP)
	TEST_DB=mysql $(PYTEST) -n 3 -m database tests/integration \
	  tests/reliability/test_outside_transactions.py
else
test-mysql:
	@echo "SKIPPED: tests on MariaDB, since TEST_MYSQL_URL is not set" \
	  | tee -a $${TEST_SKIPPED:-/dev/null}
endif

soak: export SOAK = 1
soak: test-reliability test-postgresql

bench: $(STAMP)
	$(BIN)/python -m tests.benchmarks $(BENCH_ARGS)

walks: $(STAMP)
	$(BIN)/python -m tests.benchmarks.walks

mutants: $(STAMP)
	$(BIN)/python -m pytest -q tests/reliability/test_mutants.py
	$(BIN)/python -m tests.reliability.mutants $(MUTANTS)

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python -m tests.benchmarks.house

docs: $(STAMP)
	$(BIN)/sphinx-build -n -W -q docs build/docs
	@echo "The documentation is in build/docs/index.html"

# Needs Chromium, and Playwright by the extra "browser".
pictures: $(STAMP)
	$(BIN)/python -m tests.acceptance.pictures

# Without the date of the run, which would change each time.
messages: DJANGO = ../$(BIN)/django-admin
messages: $(STAMP)
	cd django_sitemaps_plus && $(DJANGO) makemessages -l de -l he --add-location file --no-obsolete
	sed -i '/^"POT-Creation-Date/d' django_sitemaps_plus/locale/*/LC_MESSAGES/django.po
	cd django_sitemaps_plus && $(DJANGO) compilemessages

clean:
	rm -rf $(VENV) build dist var .coverage .coverage.* *.egg-info
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
