# Each target starts from a clean clone and a Python of 3.11 or later; it makes the virtual environment it needs.
# make PYTHON=/path/to/python3.13 demo    picks the interpreter; JOBS=4 sets the number of test processes.

JOBS ?= 2
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)

.PHONY: help demo test check bench clean

help:
	@echo "make demo    train a network on handwritten digits (about a minute)"
	@echo "make test    every test, against PyTorch"
	@echo "make check   ruff and mypy"
	@echo "make bench   time Pellucid against PyTorch, side by side"
	@echo "make clean   remove the virtual environments and what the tools left"

demo: .venv-demo/installed
	.venv-demo/bin/pellucid demo

test: .venv-test/installed
	.venv-test/bin/python -m pytest -n $(JOBS) --dist worksteal tests/

check: .venv-test/installed
	.venv-test/bin/ruff check .
	.venv-test/bin/mypy

bench: .venv-test/installed
	.venv-test/bin/python -m benchmarks

.venv-demo/installed: extras =
.venv-test/installed: extras = [test,dev]
.venv-demo/installed .venv-test/installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Pellucid needs Python 3.11 or later; install one, or say make PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".$(extras)"
	@touch $@

clean:
	rm -rf .venv-demo .venv-test dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
