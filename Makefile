# `make demo` and `make test` each work alone, in a fresh clone: all they need is make, git and Python 3.11 or newer.

PYTHON ?= python3
WORKERS ?= 2
TEST_ARGS ?=
EXTRAS ?= test
MOST ?= 5
ONLY ?=
RESULTS ?=
BASE ?=
DEMO_FILE ?= examples/f8_add.mlir
DEMO_INPUTS ?= --input="4xf8E4M3FN=1 0.3 -2.5 448" --input="4xf8E4M3FN=0.0625 0.3 2.5 32"

VENV := .venv
RUN := $(VENV)/bin/python -m
PYTEST = $(RUN) pytest -n $(WORKERS) --dist worksteal

# Where Python must not keep what it compiles, each of the hundreds of processes that tests start compiles it again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-long test-exhaustive added conformance docs notebooks lint bench clean
.DELETE_ON_ERROR:

help:
	@echo 'make demo             install into .venv and run $(DEMO_FILE)'
	@echo 'make test             install into .venv and run the tests (TEST_ARGS="-k name", WORKERS=2, MOST=5 sets of parameters)'
	@echo 'make test-long        what `make test` leaves out: tests of seconds, and sets of parameters beyond $(MOST): minutes'
	@echo 'make test-exhaustive  the tests over whole domains: hours'
	@echo 'make added            the tests that a new format, op, oracle or format of vectors must satisfy: a minute'
	@echo 'make conformance      compare with every tool that is installed, into docs/conformance.md: 20 to 40 minutes'
	@echo 'make docs             build the documentation into site/index.html, after what it takes from the code'
	@echo 'make notebooks        execute the notebooks of examples/, and keep their outputs'
	@echo 'make lint             ruff, mypy --strict on the wheel and on the tests, pyright on examples, tests of documents and wheel'
	@echo 'make bench            measure against peers: 3 minutes (ONLY="f32 to f8", RESULTS=benchmarks/RESULTS.md)'
	@echo 'make bench BASE=main  compare the speed of a commit with that of the tree, row by row (ONLY="f32 to f8")'
	@echo 'make clean            remove everything that make made'
	@echo 'PYTHON=python3.12 chooses the interpreter for .venv.'

demo: $(VENV)/.installed
	@cat $(DEMO_FILE)
	$(VENV)/bin/halfulp run $(DEMO_FILE) --function=main $(DEMO_INPUTS)

test: $(VENV)/.installed-test
	$(PYTEST) --most $(MOST) --durations=15 --durations-min=2 -m 'not lint' $(TEST_ARGS)

test-long test-exhaustive: test-%: $(VENV)/.installed-test
	$(PYTEST) --most $(MOST) --durations=15 -m '$* and not lint' $(TEST_ARGS)

added: $(VENV)/.installed-test
	$(PYTEST) -q -m added $(TEST_ARGS) $$(grep -rl 'mark\.added' tests --include='test_*.py')

conformance: $(VENV)/.installed-iree
	$(VENV)/bin/halfulp verify --level=full -o docs/conformance.md
	$(VENV)/bin/halfulp fuzz --pass=all -n 200 -o docs/passes.md
	$(VENV)/bin/python docs/generate.py

# The theme would print an advertisement each time.
docs: $(VENV)/.installed-docs
	$(VENV)/bin/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build --strict --quiet
	@echo 'site/index.html'

notebooks: $(VENV)/.installed-test
	$(VENV)/bin/python tests/notebooks.py

# mypy reads the wheel, not the tree: only there do the folders bear their import names. The wheel is built from a clean
# build/, since setuptools packs whatever an earlier build left in build/lib. The tests are a second run: their modules are
# named from tests/, as pytest names them. The two runs share nothing, so each takes a core.
lint: $(VENV)/.installed-test
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	rm -rf build
	$(RUN) pip wheel --quiet --no-deps --wheel-dir build/wheel .
	$(RUN) pip install --quiet --no-deps --no-index --target build/site build/wheel/*.whl
	(cd build/site && ../../$(RUN) mypy --config-file ../../pyproject.toml --cache-dir ../../.mypy_cache/halfulp -p halfulp) & \
	    MYPYPATH=tests:build/site $(RUN) mypy --explicit-package-bases --cache-dir .mypy_cache/tests tests; \
	    tests=$$?; wait $$! && exit $$tests
	$(VENV)/bin/python tests/documents.py build/examples
	$(VENV)/bin/basedpyright --pythonpath $(VENV)/bin/python
	HALFULP_LONG=$${HALFULP_LONG:-1} $(PYTEST) -m lint $$(grep -rl 'mark\.lint' tests --include='test_*.py')

bench: $(VENV)/.installed-bench
	$(RUN) benchmarks $(if $(ONLY),--only='$(ONLY)') $(if $(RESULTS),--markdown='$(RESULTS)') \
	    $(if $(BASE),--base='$(BASE)')

clean:
	rm -rf $(VENV) build dist site *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The last thing that `python -m venv` makes is pip: where it is, the venv is whole.
$(VENV)/bin/pip:
	@command -v '$(PYTHON)' >/dev/null || { \
	    echo 'error: $(PYTHON) not found: halfulp needs Python 3.11 or newer, chosen by PYTHON=...' >&2; exit 1; }
	@'$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "error: halfulp needs Python 3.11 or newer, $(PYTHON) is $$('$(PYTHON)' --version 2>&1):" \
	         'choose another by PYTHON=..., for example PYTHON=python3.12' >&2; exit 1; }
	'$(PYTHON)' -m venv $(VENV)

# What setuptools warns of at length, a folder named like the package, cannot be: tests/test_packaging.py sees to it.
INSTALL := PYTHONWARNINGS='ignore:Editable installation' $(RUN) pip install --quiet --disable-pip-version-check --editable

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/pip
	$(INSTALL) .
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(VENV)/bin/pip
	$(INSTALL) '.[$(EXTRAS)]'
	@touch $@

$(VENV)/.installed-docs: pyproject.toml | $(VENV)/bin/pip
	$(INSTALL) '.[docs]'
	@touch $@

$(VENV)/.installed-bench: pyproject.toml | $(VENV)/bin/pip
	$(INSTALL) '.[bench]'
	@touch $@

$(VENV)/.installed-iree: pyproject.toml | $(VENV)/bin/pip
	$(INSTALL) '.[iree]'
	@touch $@
