# `make` alone lists the targets. Everything is installed into .venv, but for PgBouncer and the browser of test-all;
# nothing is downloaded but packages.
PYTHON ?= python3
BIN    := .venv/bin
# Material for MkDocs would tell on every build of a MkDocs 2 that is not allowed here.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs
PIP    := $(BIN)/python -m pip install --quiet -c constraints.txt
# A worker for each core; a file's tests stay together, since they share their servers.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist loadfile

# What llama-index-core carries, so that no target downloads a vocabulary.
VOCABULARIES := $(wildcard .venv/lib/python3*/site-packages/llama_index/core/_static/tiktoken_cache)
ifneq ($(VOCABULARIES),)
export TIKTOKEN_CACHE_DIR ?= $(abspath $(VOCABULARIES))
endif

# The question goes through the environment as it was typed: quotes, apostrophes and $ survive make and the shell.
export CTXASSEMBLY_QUESTION := $(value Q)
unexport Q

.PHONY: help demo notebooks picture docs docs-serve test test-fast check test-engines test-all dist release sbom lock fuzz frozen bench curve bench-retrieval bench-endtoend bench-scale bench-speed bench-instructions clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*  ## /\1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '  make %-18s %s\n' "$$name" "$$text"; done

demo: .venv/demo  ## index the Python language reference, ask Q="..." and show what the model reads: ARGS=-v for each step
	@PYTHONPATH=notebooks $(BIN)/python -m demo $(ARGS) -- "$$CTXASSEMBLY_QUESTION"

notebooks: .venv/notebooks  ## execute the notebooks on fresh kernels and store what they show: ARGS="01 04" for some
	@PYTHONPATH=notebooks $(BIN)/python -m tour.execute $(ARGS)

picture: .venv/notebooks .venv/browser  ## draw the pictures of the readme, light and dark, with Chromium
	@PYTHONPATH=notebooks $(BIN)/python -m tour.picture

docs: .venv/docs  ## build the documentation into site/; a broken link, an unlisted page or a missing anchor is an error
	@$(MKDOCS) build --strict

docs-serve: .venv/docs  ## show the documentation on http://127.0.0.1:8000, and again when a page is saved
	@$(MKDOCS) serve

test: .venv/test .venv/pgbouncer  ## run all tests that need no torch, those on an embedded Postgres included
	$(PYTEST)

FAST := $(wildcard tests/engine tests/adapters)
test-fast: .venv/test  ## run the tests of engine and adapters that need no server, in about a minute
	$(PYTEST) -m "not (semantic or bench or browser or notebooks or site or release or engines or postgres)" $(FAST)

check: .venv/test .venv/pgbouncer  ## run the whole gate: ruff, mypy strict, import contracts, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PYTEST)

test-all: check docs .venv/semantic .venv/bench .venv/browser .venv/notebooks .venv/release  ## run the gate, then what needs sentence-transformers, the peers, a browser, a kernel, MkDocs or the wheel
	$(PYTEST) -m "semantic or browser or notebooks or site or release"
	$(BIN)/python -m pytest -m bench  # by themselves: they compare times
	@$(MAKE) --no-print-directory release

# A server that the environment names is used as it is. Else one is started in Docker, and removed after it.
ENGINES := docker compose --file tests/stores/engines.yml
TEST_ENGINES := $(BIN)/python -m pytest -m "" tests/stores/test_engine_servers.py
test-engines: .venv/test  ## run the cases of an index on a server: the one at CTXASSEMBLY_QDRANT_URL, else one in Docker
	@if [ -n "$$CTXASSEMBLY_QDRANT_URL" ]; then \
	  exec $(TEST_ENGINES); \
	elif ! $(ENGINES) ps > /dev/null 2>&1; then \
	  echo 'make test-engines needs Docker with compose, or CTXASSEMBLY_QDRANT_URL'; exit 1; \
	fi; \
	trap '$(ENGINES) down --volumes' EXIT; \
	$(ENGINES) up --detach --wait && CTXASSEMBLY_QDRANT_URL=http://localhost:6333 $(TEST_ENGINES)

dist: .venv/release  ## build the wheel and the source distribution into dist/, and check them
	@rm -rf dist
	@$(BIN)/python -m build --outdir dist . > /dev/null
	@$(BIN)/twine check --strict dist/*

# pyenv's Pythons count, if there is a pyenv: each is named to its shims.
release: dist  ## install the wheel into empty environments, each extra alone and on every Python here, and run its examples: ARGS="-- --table"
	@PYENV_VERSION="$$(pyenv versions --bare 2> /dev/null | paste -sd: -)" $(BIN)/nox --reuse-venv no $(ARGS)

sbom: dist  ## list all that the wheel and its extras install, with versions and licenses: dist/sbom.json, in the form of CycloneDX
	@$(BIN)/nox --session sbom

lock: .venv/release  ## pin all that development installs, with hashes, in requirements-dev.txt: after a change of a dependency
	@$(BIN)/nox --session lock

fuzz: .venv/test  ## make 100,000 assemblies of every option with hostile values: ARGS="--seed 7" repeats one
	@PYTHONPATH="tests:tests/engine$${PYTHONPATH:+:$$PYTHONPATH}" $(BIN)/python -m fuzz --assemblies 100000 --jobs 2 $(ARGS)

frozen: .venv/test  ## compare 1,000 contexts with those on record: ARGS="--against main" shows what differs, ARGS=--renew records
	@PYTHONPATH="tests:tests/engine$${PYTHONPATH:+:$$PYTHONPATH}" $(BIN)/python -m frozen $(ARGS)

# Without DATA the question set is made of Python's own language reference. tests/bench/README.md tells of others.
OUT  ?= results
SETS := $(or $(DATA),$(OUT)/sets/python)
bench: .venv/bench $(if $(DATA),,$(SETS))  ## compare with peers by evidence in the context: DATA="folder ..." OUT=folder ARGS="--every 4"
	@PYTHONPATH="tests/bench$${PYTHONPATH:+:$$PYTHONPATH}" $(BIN)/python -m quality $(SETS) --out $(OUT) $(ARGS)

curve: .venv/bench .venv/semantic $(if $(DATA),,$(SETS))  ## draw the readme's recall over tokens, ours and the peers': DATA="folder ..." ARGS="--most 40"
	@PYTHONPATH="tests/bench$${PYTHONPATH:+:$$PYTHONPATH}" $(BIN)/python -m quality $(SETS) --out $(OUT) --strategies curve --retrieval given \
	  --budgets 250 500 1000 2000 4000 8000 $(ARGS)
	@cp $(OUT)/recall.png $(OUT)/recall-dark.png docs/assets/

bench-retrieval: .venv/bench .venv/semantic $(if $(DATA),,$(SETS))  ## evidence among the best 5, 10, 20 chunks by way of retrieving: DATA="folder ..." OUT=folder
	@PYTHONPATH="tests/bench$${PYTHONPATH:+:$$PYTHONPATH}" $(BIN)/python -m recall $(SETS) --out $(OUT)

bench-endtoend: .venv/bench .venv/semantic $(if $(DATA),,$(SETS))  ## evidence in the context, from retrieval to assembly, beside the peers: DATA="folder ..." OUT=folder ARGS="--every 4"
	@PYTHONPATH="tests/bench$${PYTHONPATH:+:$$PYTHONPATH}" $(BIN)/python -m endtoend $(SETS) --out $(OUT) $(ARGS)

bench-scale: .venv/bench  ## what a query costs as the table grows to a million chunks: ARGS="--chunks 10000 100000 --questions 100"
	@PYTHONPATH="tests/bench$${PYTHONPATH:+:$$PYTHONPATH}" $(BIN)/python -m scale --out $(OUT) $(ARGS)

$(OUT)/sets/python: .venv/bench
	@PYTHONPATH=tests/bench $(BIN)/python -m quality.prepare python --out $@

# Both import what `python -m` finds in tests/bench. What they print is in tests/bench/README.md.
bench-speed: .venv/bench  ## time by kind of text, compared with one encode, a reference and peers; by stage, under load; memory: ARGS="--only kinds"
	@PYTHONPATH="tests/bench$${PYTHONPATH:+:$$PYTHONPATH}" $(BIN)/python -m speed $(ARGS)

bench-instructions: .venv/bench  ## instructions of one assembly, counted by valgrind: ARGS="--write" keeps them as the baseline
	@PYTHONPATH="tests/bench$${PYTHONPATH:+:$$PYTHONPATH}" $(BIN)/python -m speed.instructions $(ARGS)

# Below the temporary folder, as demo.store has it. In a database of yours the demo's schema stays: ctxassembly_demo.
DEMO_DATA = $$($(PYTHON) -c 'import os, tempfile; print(os.path.join(tempfile.gettempdir(), f"ctxassembly-demo-{os.geteuid()}"))')
clean:  ## remove all that was made here: the environment, results, caches, the demo's database
	rm -rf .venv .nox dist results site .benchmarks .coverage .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name '*.egg-info' -type d -prune -exec rm -rf {} +
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf "$(DEMO_DATA)"

# A stamp is renewed whenever a requirement may have changed. --group needs a pip newer than many Pythons carry.
.venv/pip: pyproject.toml constraints.txt
	@echo 'Installing into .venv, which takes a minute or two ...'
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@touch $@

.venv/demo: .venv/pip
	@$(PIP) --editable '.[langchain,llamaindex,postgres,embedded]' --group demo
	@touch $@

.venv/test: .venv/demo
	@$(PIP) --editable '.[fast]' --group test --group lint
	@touch $@

.venv/semantic: .venv/test
	@$(PIP) --editable '.[semantic]' --group semantic
	@touch $@

.venv/release: .venv/test
	@$(PIP) --group release
	@touch $@

.venv/bench: .venv/demo
	@$(PIP) --group bench
	@touch $@

# The one thing that pip has not: the tests that look at pages ask a real Chromium.
CHROMIUM = for name in chromium chromium-browser google-chrome; do command -v $$name && exit; done
.venv/browser: .venv/test
	@if [ -z "$$($(CHROMIUM))" ]; then \
	  if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
	    echo 'make test-all needs Chromium, and only root can install it here, where there is apt-get:'; \
	    echo '  sudo apt-get install --no-install-recommends chromium'; exit 1; \
	  fi; \
	  echo 'Installing Chromium by apt-get ...'; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium; \
	fi
	@touch $@

# The tests of the index run behind a pooler, too. Where it can't be installed they are skipped, and say so.
.venv/pgbouncer: .venv/test
	@if PATH="$$PATH:/usr/sbin" command -v pgbouncer >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo 'Installing PgBouncer by apt-get ...'; \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends pgbouncer; } > /dev/null \
	    || echo 'PgBouncer could not be installed: tests behind it are skipped'; \
	else echo 'Tests behind PgBouncer are skipped: sudo apt-get install --no-install-recommends pgbouncer'; fi
	@touch $@

.venv/notebooks: .venv/demo
	@$(PIP) --group notebooks
	@touch $@

.venv/docs: .venv/demo
	@$(PIP) --group docs
	@touch $@
