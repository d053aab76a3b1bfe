# `make` alone lists the targets. Everything is installed into .venv, but for the browser of test-all;
# nothing is downloaded but packages.
PYTHON ?= python3
BIN    := .venv/bin
PIP    := $(BIN)/python -m pip install --quiet -c constraints.txt

# The question goes through the environment as it was typed: quotes, apostrophes and $ survive make and the shell.
export CTXASSEMBLY_QUESTION := $(value Q)
unexport Q

.PHONY: help demo notebooks test check test-all fuzz bench bench-retrieval bench-speed bench-instructions clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*  ## /\1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '  make %-18s %s\n' "$$name" "$$text"; done

demo: .venv/demo  ## index the Python language reference, ask Q="..." and show what the model reads; CTXASSEMBLY_MODEL answers
	@PYTHONPATH=notebooks $(BIN)/python -m demo -- "$$CTXASSEMBLY_QUESTION"

notebooks: .venv/notebooks  ## execute the notebooks on fresh kernels and store what they show: ARGS="01 04" for some
	@PYTHONPATH=notebooks $(BIN)/python -m tour.execute $(ARGS)

test: .venv/test  ## run all tests that need no torch, those on an embedded Postgres included
	$(BIN)/python -m pytest

check: .venv/test  ## run the whole gate: ruff, mypy strict, import contracts, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest

test-all: check .venv/semantic .venv/bench .venv/browser .venv/notebooks  ## run the gate, then what needs sentence-transformers, the peers, a browser or a kernel
	$(BIN)/python -m pytest -m "semantic or bench or browser or notebooks"

fuzz: .venv/test  ## make 100,000 assemblies of every option with hostile values: ARGS="--seed 7" repeats one
	@PYTHONPATH="tests:tests/engine$${PYTHONPATH:+:$$PYTHONPATH}" $(BIN)/python -m fuzz --assemblies 100000 --jobs 2 $(ARGS)

# Without DATA the question set is made of Python's own language reference. tests/bench/README.md tells of others.
OUT  ?= results
SETS := $(or $(DATA),$(OUT)/sets/python)
bench: .venv/bench $(if $(DATA),,$(SETS))  ## compare with peers by evidence in the context: DATA="folder ..." OUT=folder ARGS="--every 4"
	@PYTHONPATH="tests/bench$${PYTHONPATH:+:$$PYTHONPATH}" $(BIN)/python -m quality $(SETS) --out $(OUT) $(ARGS)

bench-retrieval: .venv/bench .venv/semantic $(if $(DATA),,$(SETS))  ## evidence among the best 5, 10, 20 chunks by way of retrieving: DATA="folder ..." OUT=folder
	@PYTHONPATH="tests/bench$${PYTHONPATH:+:$$PYTHONPATH}" $(BIN)/python -m recall $(SETS) --out $(OUT)

$(OUT)/sets/python: .venv/bench
	@PYTHONPATH=tests/bench $(BIN)/python -m quality.prepare python --out $@

# Both import what `python -m` finds in tests/bench. What they print stands in tests/bench/README.md.
bench-speed: .venv/bench  ## time beside the reference and the peers, by hits, budget, stage, in threads, under load; memory: ARGS="--only hits"
	@PYTHONPATH="tests/bench$${PYTHONPATH:+:$$PYTHONPATH}" $(BIN)/python -m speed $(ARGS)

bench-instructions: .venv/bench  ## instructions of one assembly, counted by valgrind: ARGS="--write" keeps them as the baseline
	@PYTHONPATH="tests/bench$${PYTHONPATH:+:$$PYTHONPATH}" $(BIN)/python -m speed.instructions $(ARGS)

# Below the temporary folder, as demo.store has it. In a database of yours the demo's schema stays: ctxassembly_demo.
DEMO_DATA = $$($(PYTHON) -c 'import os, tempfile; print(os.path.join(tempfile.gettempdir(), f"ctxassembly-demo-{os.geteuid()}"))')
clean:  ## remove all that was made here: the environment, results, caches, the demo's database
	rm -rf .venv dist results .benchmarks .coverage .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
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

.venv/notebooks: .venv/demo
	@$(PIP) --group notebooks
	@touch $@
