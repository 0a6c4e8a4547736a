# `make demo` and `make test` set up what they need by themselves.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
BUILD := build/make
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
export FLAMBEAU_BUILD_DIR := $(CURDIR)/$(BUILD)
export PYTHONPATH := $(CURDIR)/$(BUILD)/python
JOBS ?= 2

.PHONY: demo test test-all integrations releases check unit sanitize fuzz env setup build compile-times bench models coverage docs site clean
demo: build
	$(PY) examples/demo.py

# Everything that every change must pass.
test: build unit
	$(PY) -m pytest -q -n $(JOBS) --dist loadgroup tests

# The whole matrix: every operator case at every opset.
test-all: build unit
	FLAMBEAU_TEST_ALL=1 $(PY) -m pytest -q -n $(JOBS) --dist loadgroup tests

# Libraries that export through torch.onnx, in an environment of their own: what .venv has, and what they need besides.
INTEGRATIONS := build/integrations
$(INTEGRATIONS)/.stamp: tools/beside.sh $(wildcard tests/integrations/requirements*.txt) | $(VENV)/.stamp
	tools/beside.sh $(VENV) $(INTEGRATIONS) tests/integrations

integrations: build $(INTEGRATIONS)/.stamp
	FLAMBEAU_INTEGRATIONS=1 $(INTEGRATIONS)/bin/python -m pytest -q -W ignore tests/integrations --ignore tests/integrations/test_transformers.py
	$(PY) -m pytest -q tests/integrations/test_transformers.py

# The package with other releases of torch, an environment each: the first that it supports, the last, and some between.
RELEASES := 2.7.1 2.9.1 2.11.0 2.14.1
ON_RELEASES := tests/python tests/onnx tests/torchscript
build/torch-%/.stamp: tools/with_torch.sh tests/requirements.txt | $(VENV)/.stamp
	tools/with_torch.sh $(VENV) $* build/torch-$*

releases: build $(RELEASES:%=build/torch-%/.stamp)
	for release in $(RELEASES); do build/torch-$$release/bin/python -m pytest -q -W ignore $(ON_RELEASES) || exit 1; done

# One operator, or whatever pytest's -k selects: every case, mode and opset. `make check K=addcmul`
check: build
	$(PY) -m pytest -q tests/ops -k "$(K)"

unit: build
	ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) --no-tests=error -Q -O $(BUILD)/ctest.log || { cat $(BUILD)/ctest.log; exit 1; }
	tail -n 3 $(BUILD)/ctest.log

# The C++ tests under the address and undefined-behaviour sanitizers.
sanitize:
	cmake --preset asan && cmake --build --preset asan -j $(JOBS)
	UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 ctest --test-dir build/asan --output-on-failure -j $(JOBS) --no-tests=error -Q -O build/asan/ctest.log \
	  || { cat build/asan/ctest.log; exit 1; }

# Each fuzzer for SECONDS_EACH, with clang 19; mutated archives (those in SEEDS) through the sanitized command line; and
# generated programs and modules with state through every capture, and scripts of nested lists, compared with PyTorch.
SECONDS_EACH ?= 600
SEEDS ?= tests/data/archives
fuzz: build
	cmake --preset fuzz && cmake --build --preset fuzz -j $(JOBS)
	for target in $(notdir $(wildcard fuzz/corpus/*)); do mkdir -p .cache/corpus/$$target; \
	  build/fuzz/fuzz/$${target}_fuzz -max_total_time=$(SECONDS_EACH) -rss_limit_mb=2048 -timeout=20 .cache/corpus/$$target fuzz/corpus/$$target || exit 1; done
	$(PYTHON) fuzz/archives.py build/fuzz/bin/flambeau $(SEEDS) --seconds $(SECONDS_EACH)
	$(PY) fuzz/generated_programs.py --seconds $(SECONDS_EACH)
	$(PY) fuzz/stateful_modules.py --seconds $(SECONDS_EACH)
	$(PY) fuzz/aliased_lists.py --seconds $(SECONDS_EACH)
	$(PY) fuzz/scripted_modules.py --seconds $(SECONDS_EACH)
	$(PY) fuzz/layers.py --seconds $(SECONDS_EACH)

env:
	@echo "export FLAMBEAU_BUILD_DIR=$(FLAMBEAU_BUILD_DIR) PYTHONPATH=$(PYTHONPATH) OMP_NUM_THREADS=1"

setup: $(VENV)/.stamp
$(VENV)/.stamp: tools/setup.sh tests/requirements.txt
	PYTHON=$(PYTHON) tools/setup.sh $(VENV)
	touch $@

build: setup
	@mkdir -p .cache
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O2" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
	  -DFLAMBEAU_BUILD_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/$(PY) > .cache/configure.log 2>&1 || { cat .cache/configure.log; exit 1; }
	cmake --build $(BUILD) -j $(JOBS)

# The operators' files are the largest; each is to compile within a minute on one core.
compile-times: build
	$(PYTHON) tools/compile_times.py $(BUILD) src/lower --limit 60

bench: build
	$(PY) bench/run.py --write docs/benchmarks.md

models: build
	$(PY) tools/model_table.py --write docs/models.md

# OPINFO: the folder of the tool that runs OpInfo's samples; OPINFO_TORCH: its summary of torch's exporters.
coverage: build
	$(PY) tools/operator_coverage.py --tool $(OPINFO) --torch-summary $(OPINFO_TORCH) --results .cache/coverage --write docs/coverage.md

docs: build
	(printf '# Operators\n\nWritten by `make docs`. Each row is a schema that is translated; forms that are not are named beside it.\n\n'; \
	  $(BUILD)/bin/flambeau ops --format markdown) > docs/operators.md
	command -v doxygen > /dev/null || { echo "the C++ reference needs doxygen: apt-get install doxygen" >&2; exit 1; }
	mkdir -p build/reference && doxygen docs/Doxyfile

# docs/ as a site in build/site; a link that leads nowhere fails. MkDocs gets an environment of its own.
site: setup
	@mkdir -p build
	@[ -x build/mkdocs/bin/mkdocs ] || { $(PYTHON) -m venv build/mkdocs && build/mkdocs/bin/python -m pip install -q --disable-pip-version-check -r tools/requirements-site.txt; }
	build/mkdocs/bin/mkdocs build --strict --clean

clean:
	rm -rf build
