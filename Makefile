# `make demo` and `make test` do everything that is needed before them: system packages, a virtual
# environment, the build. What is there already is left alone.

PY := .venv/bin/python
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export CMAKE_GENERATOR := Ninja
export CMAKE_EXPORT_COMPILE_COMMANDS := ON
# objects that another folder has compiled from the same files are not compiled again
export CMAKE_C_COMPILER_LAUNCHER := $(shell command -v ccache)

# the package from the sources as they are now
PIP_INSTALL := $(PY) -m pip install --quiet --disable-pip-version-check --no-build-isolation
# the same in .venv; the folder of the build can make the C tests as well
DEFINES ?=
INSTALL = $(PIP_INSTALL) -C build-dir=build/python -C build.targets=_core \
	-C cmake.define.SAPWOOD_TESTS=ON $(DEFINES)
SOURCES := $(shell find csrc python cmake -name __pycache__ -prune -o -print) \
	CMakeLists.txt pyproject.toml
C_FILES := $(shell find csrc tests/c tests/fuzz examples -name '*.[ch]')

# tests of the library that take seconds; PYTEST_ARGS='-k stepper' selects among all tests
PYTEST_ARGS = -m 'not slow and not nightly' --ignore=tests/benchmarks --ignore=tests/studies \
	-n 2 --dist worksteal

.PHONY: help demo quick test test-all test-nightly test-c test-race test-python test-slow \
	test-claims test-figures test-bridges test-engines test-free-threaded test-sanitized \
	fuzz coverage mutate docs wheels check lint format types warnings tidy clean

help:
	@echo 'make demo     run the main job: 40 bodies dropped into a box; results/'
	@echo 'make quick    the tests that concern FILE=path, or a few of all; under half a minute'
	@echo 'make test     the tests of the library, in C and in Python: five minutes'
	@echo 'make test-all slow tests, benchmarks, studies, races, sanitizers and fuzzers as well: an hour'
	@echo 'make test-nightly     figures, notebooks, all models, PyTorch, JAX and other MuJoCos as well'
	@echo 'make check    static checks: formatting, linting, types, compiler warnings, clang-tidy'
	@echo 'make format   format C and Python sources'
	@echo 'make fuzz     look for inputs that break it, for FUZZ_SECONDS=600'
	@echo 'make coverage lines of the C core that tests run; build/coverage/report.html'
	@echo 'make test-sanitized   C tests, and Python tests on an extension module, with sanitizers'
	@echo 'make mutate   small mistakes in the sources, one at a time: does a test notice each?'
	@echo 'make docs     the documentation as a site; build/docs/VERSION'
	@echo 'make wheels   wheels and the source archive, tried in clean environments; dist/'
	@echo 'make clean    remove everything that was built, .venv included'

# ---- what is run -------------------------------------------------------------------------------

demo: .venv/demo
	$(PY) -m sapwood clutter --bodies 40 --walls --seconds 10 --out results/

# FILE=csrc/step/gather.c, for example
quick: .venv/test
	cmake --preset debug
	cmake --build --preset debug --target test_sapwood test_threads
	$(PY) scripts/quick $(FILE)

test: test-python test-c

test-all: test
	$(MAKE) test-slow
	$(MAKE) test-race
	$(MAKE) test-sanitized
	$(MAKE) fuzz FUZZ_SECONDS=60

# PyTorch and JAX come last: what all others need does without them
test-nightly: test-all
	$(MAKE) tidy
	$(MAKE) test-figures
	$(MAKE) test-engines
	$(MAKE) fuzz
	$(MAKE) test-bridges

test-python: .venv/test
	$(PY) -m pytest $(PYTEST_ARGS)

# on the objects of the package, optimized as they are installed
test-c: .venv/test
	cmake --build build/python
	ctest --test-dir build/python --output-on-failure --parallel 2

test-race: .venv/setup
	cmake --preset race
	cmake --build --preset race
	ctest --preset race

# what `make test` leaves out but for the nightly tests; one process, as some measure times
test-slow: .venv/test
	$(PY) -m pytest -m 'slow and not nightly'

# of these, what the papers and the front page claim
test-claims: .venv/test
	$(PY) -m pytest -m 'claim and not nightly' -n 2 --ignore=tests/benchmarks

# the nightly tests; every figure in its quick version is made from an empty folder
test-figures: .venv/test
	rm -rf build/quick
	timeout 1200 $(PY) -m sapwood figure all --quick --quiet --out build/quick/results
	SAPWOOD_QUICK_RESULTS=$(CURDIR)/build/quick/results $(PY) -m pytest -m nightly

# with PyTorch and JAX, which take 0.8 GB (as builds for the CPU) and half a minute to install
test-bridges: .venv/bridges
	SAPWOOD_BRIDGES=1 $(PY) -m pytest tests/bridges \
		'tests/packaging/test_extras.py::test_an_extra_brings_what_its_code_imports[torch]' \
		'tests/packaging/test_extras.py::test_an_extra_brings_what_its_code_imports[jax]' \
		'tests/studies/test_notebooks.py::test_a_notebook_runs[friction_in_torch]'

# with the oldest MuJoCo that is supported, the last of series 3, and 4.0.1, each in an environment
# of its own in build/engines: some ten minutes
test-engines: .venv/test
	$(PY) scripts/engines

# with a CPython without a GIL, FREE=/opt/python/bin/python3.13t, in an environment of its own in
# build/free: tests of calls of many threads; those of steps are skipped where MuJoCo has no wheel
FREE = python3.14t
FREE_TESTS = $(addprefix tests/,solver/test_threads.py solver/test_batch.py solver/test_forked_solver.py \
	solver/test_sensitivity_batch.py lcp/test_lcp.py stepping mujoco/test_batch_processes.py \
	mujoco/test_batch_failures.py mujoco/test_rollout.py mujoco/test_same_bits.py)

test-free-threaded:
	$(FREE) -m venv build/free
	build/free/bin/pip install --quiet --only-binary :all: numpy scipy pytest hypothesis \
		scikit-build-core cmake ninja
	build/free/bin/pip install --quiet --only-binary :all: 'mujoco-core>=4.0.1' || true
	build/free/bin/pip install --quiet --no-build-isolation --no-deps \
		-C build-dir=build/free-objects -C build.targets=_core .
	PYTHON_GIL=0 build/free/bin/python -P -m pytest -m 'not slow and not nightly' $(FREE_TESTS)
	PYTHON_GIL=0 build/free/bin/python -P tests/isolated/hostile_threads.py

# inputs that look for what breaks, in C and then among files; what they find is left in build/fuzz.
# FUZZ_SEED=1, or any number but 0, tries the same ones again while the code is the same, and
# FUZZ_RUNS as many of them: the C fuzzer learns from numbers that are compared, addresses too, so
# that these are fixed where the system lets them
FUZZ_SECONDS = 600
FUZZ_SEED = 0
FUZZ_RUNS = -1
FUZZ = $$(( $(FUZZ_SECONDS) / 2 ))
FUZZ_OPTIONS = -timeout=20 -rss_limit_mb=2048 -seed=$(FUZZ_SEED) -runs=$(FUZZ_RUNS) \
	-print_final_stats=1 -verbosity=0 -reload=0 -artifact_prefix=build/fuzz/
FIXED_ADDRESSES = $$(setarch -R true 2>/dev/null && echo setarch -R)

fuzz: .venv/test .venv/fuzz
	cmake --preset fuzz
	cmake --build --preset fuzz
	mkdir -p build/fuzz/problem build/fuzz/files
	$(FIXED_ADDRESSES) build/fuzz/tests/fuzz/fuzz_problem $(FUZZ_OPTIONS) -max_total_time=$(FUZZ) \
		-max_len=512 build/fuzz/problem tests/fuzz/corpus/problem
	$(PY) tests/fuzz/fuzz_files.py $(FUZZ_OPTIONS) -max_total_time=$(FUZZ) -max_len=256 \
		build/fuzz/files tests/fuzz/corpus/files

# lines and branches of the C core that the C tests and the Python tests run
coverage: .venv/test .venv/coverage
	rm -rf build/coverage build/covered
	cmake --preset coverage
	cmake --build --preset coverage
	ctest --preset coverage
	$(PIP_INSTALL) --no-deps --target build/covered -C build-dir=build/coverage/python \
		-C cmake.build-type=Debug -C cmake.define.SAPWOOD_COVERAGE=ON -C install.strip=false .
	PYTHONPATH=build/covered $(PY) -m pytest $(PYTEST_ARGS)
	gcovr --root . --filter csrc/ --merge-mode-functions=separate --print-summary --txt \
		--html-nested build/coverage/report.html build/coverage

# The C tests; then the extension module, with the Python tests that drive it hardest; parameters
# named `reference` are mirrors in Python and run none of it. What is noticed goes to a file, as
# pytest swallows it with the process, and any such file is a failure, of child processes too.
# AddressSanitizer finds the exceptions of C++ where its library is loaded at the start. Left out is
# what it disturbs: a child that is forked while another thread allocates waits for ever for a lock;
# and the large sets of problems and models, which show other numbers and no other code.
SANITIZED_FILES = laws lcp invdyn geometry problem solver stepping trajectory fem mujoco fuzz
SANITIZED_TESTS = $(addprefix tests/,$(SANITIZED_FILES)) -m 'not slow and not nightly and not undisturbed' \
	-k 'not reference or test_reference'
SANITIZED = $(CURDIR)/build/sanitized
# ON leaves out the wide kernels, most of the time of this build
ONE_ISA = OFF
SANITIZER_OPTIONS = log_path=$(SANITIZED)/report

test-sanitized: .venv/test
	cmake --preset debug -D SAPWOOD_ONE_ISA=$(ONE_ISA)
	cmake --build --preset debug
	ctest --preset debug
	rm -rf $(SANITIZED)
	$(PIP_INSTALL) --no-deps --target $(SANITIZED) -C build-dir=build/sanitized-objects \
		-C cmake.build-type=Debug -C 'cmake.define.CMAKE_C_FLAGS_DEBUG=-O1 -g' \
		-C cmake.define.SAPWOOD_SANITIZE=ON -C cmake.define.SAPWOOD_ONE_ISA=$(ONE_ISA) \
		-C install.strip=false .
	env -u SAPWOOD_DATA \
		LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0:$(SANITIZER_OPTIONS) UBSAN_OPTIONS=$(SANITIZER_OPTIONS) \
		PYTHONMALLOC=malloc PYTHONPATH=$(SANITIZED) \
		$(PY) -m pytest $(PYTEST_ARGS) $(SANITIZED_TESTS); \
	status=$$?; ! cat $(SANITIZED)/report.* 2>/dev/null && exit $$status

# some 10 minutes; MUTATE_ARGS=newton selects
mutate: .venv/test
	$(PY) scripts/mutate $(MUTATE_ARGS)

# the site in build/docs/VERSION, beside those of other versions; notebooks are run, and figures of
# the gallery made, where they or the package have changed
DOCS_OPTIONS =
docs: .venv/test
	$(INSTALL) '.[docs]'
	$(PY) -m sphinx -W --keep-going -q -b html $(DOCS_OPTIONS) docs \
		build/docs/$$($(PY) -c 'import sapwood; print(sapwood.__version__)')
	@echo 'open build/docs/index.html'

# wheels in dist/ for every Python 3.11 or newer on the path, each tried in clean environments
wheels: .venv/test
	$(INSTALL) '.[wheels]'
	$(PY) scripts/wheels dist

# ---- static checks -----------------------------------------------------------------------------

check: lint types warnings tidy

lint: .venv/test
	ruff check
	ruff format --check
	clang-format --dry-run -Werror $(C_FILES)
	! git grep -nE '^.{101,}' -- '*.c' '*.h'
	scripts/layers build/python
	$(PY) scripts/mutate --check

types: .venv/test
	mypy
	stubtest --mypy-config-file pyproject.toml sapwood._core

warnings: .venv/test
	cmake --preset check
	cmake --build --preset check

# TIDY=FILE... reads those alone
TIDY = csrc
tidy: .venv/test
	run-clang-tidy.py -quiet -p build/python $(TIDY)

format: .venv/test
	ruff check --fix
	ruff format
	clang-format -i $(C_FILES)

# ---- set-up ------------------------------------------------------------------------------------

.venv/setup: scripts/setup
	scripts/setup
	@touch $@

.venv/demo: .venv/setup $(SOURCES)
	$(INSTALL) '.[all]'
	@touch $@

.venv/dev: .venv/setup pyproject.toml csrc/include/sapwood.h
	$(INSTALL) '.[dev]'
	@touch $@

# brings the installed package up to date without pip: compiles what has changed, copies Python files.
# It is no editable installation, whose import hook would hide packages on PYTHONPATH
.venv/test: .venv/dev $(SOURCES)
	cmake --build build/python --target _core
	site=$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("platlib"))') && \
	cmake --install build/python --component python --strip --prefix "$$site" && \
	find "$$site/sapwood" -name '*.py' -delete && cp -rp python/sapwood "$$site"
	@touch $@

.venv/fuzz .venv/coverage .venv/bridges: .venv/%: .venv/setup | .venv/test
	scripts/setup $*
	@touch $@

clean:
	rm -rf .venv build results
