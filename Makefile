# `make demo` and `make test` do everything that is needed before them: system packages, a virtual
# environment, the build. What is there already is left alone.

PY := .venv/bin/python
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export CMAKE_GENERATOR := Ninja

# the package with every factorization, from the sources as they are now
PIP_INSTALL := $(PY) -m pip install --quiet --disable-pip-version-check --no-build-isolation \
	-C cmake.define.SAPWOOD_LAPACK=ON -C cmake.define.SAPWOOD_CHOLMOD=ON
SOURCES := $(shell find csrc python cmake -name __pycache__ -prune -o -print) \
	CMakeLists.txt pyproject.toml
C_FILES := $(shell find csrc tests/c examples -name '*.[ch]')

.PHONY: help demo test test-c test-race test-python test-sanitized mutate check lint format types warnings tidy clean

help:
	@echo 'make demo     run the main job: 40 bodies dropped into a box; results/'
	@echo 'make test     all tests: C (address and undefined-behaviour sanitizers), then Python'
	@echo 'make check    static checks: formatting, linting, types, compiler warnings, clang-tidy'
	@echo 'make format   format C and Python sources'
	@echo 'make test-sanitized   Python tests on an extension module with sanitizers'
	@echo 'make mutate   small mistakes in the sources, one at a time: does a test notice each?'
	@echo 'make clean    remove everything that was built, .venv included'

# ---- what is run -------------------------------------------------------------------------------

demo: .venv/demo
	$(PY) -m sapwood clutter --bodies 40 --walls --seconds 10 --out results/

test: test-c test-race test-python

test-c: .venv/setup
	cmake --preset debug
	cmake --build --preset debug
	ctest --preset debug

test-race: .venv/setup
	cmake --preset race
	cmake --build --preset race
	ctest --preset race

test-python: .venv/test
	$(PY) -m pytest $(PYTEST_ARGS)

# the extension module under the sanitizers, with the Python tests that drive it hardest
test-sanitized: .venv/test
	rm -rf build/sanitized
	$(PIP_INSTALL) --no-deps --target build/sanitized -C build-dir=build/sanitized-objects \
		-C cmake.build-type=Debug -C cmake.define.SAPWOOD_SANITIZE=ON -C install.strip=false .
	LD_PRELOAD=$$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 \
		PYTHONMALLOC=malloc PYTHONPATH=build/sanitized \
		$(PY) -m pytest -m 'not slow' $(PYTEST_ARGS)

# some 10 minutes; MUTATE_ARGS=newton selects
mutate: .venv/test
	$(PY) scripts/mutate $(MUTATE_ARGS)

# ---- static checks -----------------------------------------------------------------------------

check: lint types warnings tidy

lint: .venv/test
	ruff check
	ruff format --check
	clang-format --dry-run -Werror $(C_FILES)
	$(PY) scripts/mutate --check

types: .venv/test
	mypy
	stubtest --mypy-config-file pyproject.toml sapwood._core

warnings: .venv/test
	cmake --preset check
	cmake --build --preset check

tidy: warnings
	run-clang-tidy.py -quiet -p build/check csrc

format: .venv/test
	ruff check --fix
	ruff format
	clang-format -i $(C_FILES)

# ---- set-up ------------------------------------------------------------------------------------

.venv/setup: scripts/setup
	scripts/setup
	@touch $@

.venv/demo: .venv/setup $(SOURCES)
	$(PIP_INSTALL) '.[all]'
	@touch $@

.venv/test: .venv/setup $(SOURCES)
	$(PIP_INSTALL) '.[dev]'
	@touch $@

clean:
	rm -rf .venv build results
