# `make demo`, `make test`, `make lint` and `make docs` are all a contributor needs; each sets up what
# it needs.
# PYTHON=/path/to/python chooses the interpreter of a new environment.

VENV := .venv
OLDEST := .venv-oldest
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTHON ?=
# In the order of the files: by numbers of tests, files with few long tests would come last.
PYTEST_FLAGS ?= --timeout=600 --numprocesses=2 --dist=loadfile --no-loadscope-reorder

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test suite test-oldest test-browser docs figures wheel-test slow fuzz lint lock format bench clean distclean
.DELETE_ON_ERROR:

help:
	@echo "make demo       what CLIP can do, in a minute"
	@echo "make test       lint and the test suite"
	@echo "make docs       build the site (site/index.html), check its links, run its code"
	@echo "make figures    draw docs/figures again, from the stores of results/"
	@echo "make test-browser  the pages of clipgnn report and compare, in a headless Chromium"
	@echo "make slow       the tests that take long"
	@echo "make fuzz       100,000 random inputs (EXAMPLES=, OUTPUT=counts.md, SEED=)"
	@echo "make lint       ruff, mypy, import-linter"
	@echo "make format     let ruff rewrite the code"
	@echo "make lock       write requirements-dev.txt, the hashes of the pins (INDEX_URL=)"
	@echo "make bench      speed and memory against PyG, and how the cost grows (ten minutes)"
	@echo "make clean      remove caches and build outputs (make distclean: environments too)"

demo: $(READY)
	$(BIN)/clipgnn demo

# Small products gain nothing from threads, and lose much where cores are shared.
suite test-oldest test-browser docs wheel-test slow: export OMP_NUM_THREADS := $(or $(OMP_NUM_THREADS),1)
# Otherwise each process would compile the sources of the package and of the tests again.
suite test-oldest test-browser docs wheel-test slow: export PYTHONDONTWRITEBYTECODE :=

# At the same time: mypy uses one core only, and tests that start processes wait for them.
test: $(READY)
	@$(MAKE) --no-print-directory --jobs=2 lint suite

# The tests without the linters. CLIPGNN_TEST_WITHOUT=igraph,grakel,pandas,pyarrow,ray blocks optional packages.
suite: $(READY)
	$(BIN)/python -m pytest $(PYTEST_FLAGS)

# The tests with the oldest supported release of every dependency, in an environment of its own.
test-oldest: $(OLDEST)/.ready
	$(OLDEST)/bin/python -m pytest $(PYTEST_FLAGS)

# Skipped with a message where no Chromium is installed (Debian: apt install chromium).
test-browser: $(READY)
	$(BIN)/python -m pytest -n0 -rs -m browser tests/browser

# Warnings, such as links to pages or headings that do not exist, are errors.
docs: $(READY)
	$(BIN)/python -m sphinx -W --keep-going -q -c docs . site
	$(BIN)/python -m pytest -n0 -m "" tests/test_docs.py tests/test_site.py
	@echo "site/index.html"

figures: $(READY)
	$(BIN)/python tools/figures.py

# Builds the wheel, installs it in a new environment and uses it from another folder.
wheel-test: $(READY)
	$(BIN)/python -m pytest -n0 -m slow tests/test_wheel.py

# Tests that take long: memory, killed clusters, the wheel, a soak.
slow: $(READY)
	$(BIN)/python -m pytest -n0 -m "slow and not gpu" tests

fuzz: $(READY)
	$(BIN)/python -m tests.faults.fuzz $(if $(EXAMPLES),--examples $(EXAMPLES)) \
	    $(if $(OUTPUT),--output $(OUTPUT)) $(if $(SEED),--seed $(SEED))

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/lock.py --check

# After a change of constraints.txt. Any Python 3.11 will do; nothing needs to be installed.
lock:
	$(or $(PYTHON),python3) tools/lock.py $(if $(INDEX_URL),--index-url $(INDEX_URL))

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(READY)
	$(BIN)/clipgnn bench

# A working environment is kept, with its Python. Every package but torch must match a hash of the
# lock; torch and the CUDA packages that it pins itself come next, and the last step downloads
# nothing: a dependency that is missing in the lock is an error. The build backend is locked too,
# because an isolated build would not see the pins.
$(READY): pyproject.toml constraints.txt requirements-dev.txt
	@fits='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))'; \
	if ! $(BIN)/python -c "$$fits" 2>/dev/null || ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	    chosen=; \
	    for candidate in $(if $(PYTHON),"$(PYTHON)",python3.11 python3.12 python3 python); do \
	        if "$$candidate" -c "$$fits" 2>/dev/null; then chosen=$$candidate; break; fi; \
	    done; \
	    if [ -z "$$chosen" ]; then \
	        echo "clipgnn needs Python 3.11 or 3.12; $(if $(PYTHON),'$(PYTHON)' is neither.,none was found.)" >&2; \
	        echo "Install one of them, or name it: make PYTHON=/path/to/python3.11" >&2; \
	        exit 1; \
	    fi; \
	    echo "Creating $(VENV) with $$($$chosen --version) ($$chosen)"; \
	    "$$chosen" -m venv --clear $(VENV) || { \
	        echo "$$chosen cannot create a virtual environment; on Debian and Ubuntu the package" >&2; \
	        echo "python3-venv is missing. Or name another one: make PYTHON=/path/to/python3.11" >&2; \
	        exit 1; \
	    }; \
	fi
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps --requirement requirements-dev.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-index --no-build-isolation --editable '.[dev]'
	@touch $@

$(OLDEST)/.ready: pyproject.toml constraints-oldest.txt
	$(or $(PYTHON),python3.11) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --constraint constraints-oldest.txt --editable '.[baselines,igraph,molecules,pandas,ray,test]'
	@touch $@

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean
	rm -rf $(VENV) $(OLDEST)
