# `make demo` shows the library at work, `make check` runs every test there is; both install what
# they need on Debian and Ubuntu, and say what is missing elsewhere. `make help` lists the rest.
#
# CMakeLists.txt builds and installs, Cargo.toml is the Rust side. All that is made goes to target/.
PREFIX ?= /usr/local
DESTDIR ?=
CARGO ?= cargo
PYTHON ?= python3
CMAKE_FLAGS ?=
# Of the long tests.
TIME ?= 600
TIMES ?= 100
STATES ?= 25
KILLS ?= 100
FLIPS ?= 300
CRASHES ?= 2000
COMMITS ?= 200
SEEDS ?= 10000
SECONDS ?= 60
# Of the benchmarks.
PARTS ?= b2nd blpk bcolz records bag index start scaling real cold memory
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)

# Relative: the path of this folder may hold spaces, and then stands in no recipe. Recipes take an absolute path from
# the environment, or make it of $$PWD.
BUILD := target/cmake
STAGE := target/prefix
VENV := target/venv
BLZ_VENV := target/venv-blz
CATERVA_VENV := target/venv-caterva
CLOUD_VENV := target/venv-cloud

# Files that the real tools made, for the tests.
HOLDALL_FIXTURES ?= $(shell cd $(firstword $(wildcard ../shared/fixtures) tests/fixtures) && pwd)
export HOLDALL_FIXTURES CARGO PYTHON
# What the tests in other languages use, as installed by the target `stage`.
export HOLDALL_TOOL := $(CURDIR)/$(STAGE)/bin/holdall
export HOLDALL_LIB := $(CURDIR)/$(BUILD)/lib/libholdall.$(if $(filter Darwin,$(shell uname)),dylib,so)

# The steps below are in their order: one fails, and those after it do not run.
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory
.PHONY: help build install uninstall demo bench bench-compare docs fuzz clean stage venv debs static-tool
.PHONY: need-build need-check need-languages need-cloud need-mpi need-packages need-static need-bench
.PHONY: check check-scripts check-rust check-c check-counts check-consumers check-tool check-docs check-peers check-languages
.PHONY: cloud check-cloud check-mpi check-packages
.PHONY: check-tsan check-miri check-abi check-supply
.PHONY: check-long check-disk check-seeds check-crashes check-beside check-kills check-flips check-calls check-soak check-valgrind check-reproducible tests-of-c

help:
	@echo 'make demo      build, install below target/, compile examples/demo.c against it, run it on real data'
	@echo 'make check     every test; its parts: check-scripts check-rust check-c check-counts check-consumers check-tool check-docs check-peers'
	@echo '                 check-languages (Go, Julia and Python)'
	@echo 'make check-cloud   the same of what CMAKE_FLAGS=-DHOLDALL_CLOUD=ON builds, on emulators of object stores'
	@echo 'make check-mpi  four ranks write and read, and are killed; needs an MPI'
	@echo 'make check-packages  packages for Debian (make debs), the tool as one static file (make static-tool), cargo cinstall; needs cargo-c'
	@echo 'make check-tsan  the tests of threads under the thread sanitizer; needs nightly Rust with its source'
	@echo 'make check-miri  the C functions under Miri; needs nightly Rust with it'
	@echo 'make check-abi   what programs that are built rely on, against c-tests/package/abi.xml'
	@echo 'make check-long  the rigs at length: STATES=$(STATES) KILLS=$(KILLS) FLIPS=$(FLIPS) TIMES=$(TIMES) SECONDS=$(SECONDS), and builds that are the same;'
	@echo '                 its parts: check-disk check-seeds check-crashes check-beside check-kills check-flips check-calls check-soak check-valgrind check-reproducible check-abi check-miri'
	@echo 'make check-supply  the crates, their licences and known faults; needs cargo-deny'
	@echo 'make fuzz      every fuzzer, TIME=$(TIME) seconds in sum; needs nightly Rust'
	@echo 'make build     the libraries and the tool, in $(BUILD)'
	@echo 'make install   what make build made (builds first where nothing is built): PREFIX=$(PREFIX) DESTDIR='
	@echo 'make uninstall removes that again'
	@echo 'make bench     compare with other libraries: tests/bench/results/PART.md and BENCHMARKS.md; PARTS="$(PARTS)"'
	@echo 'make bench-compare  two versions of the library, each a file or a revision: OLD=$(OLD) NEW=...'
	@echo 'make docs      the manual and the guides as HTML with a search, and as man pages, in target/docs'
	@echo 'make clean     remove target/'
	@echo 'CMAKE_FLAGS goes to cmake; CARGO, PYTHON and JOBS choose those.'

build: need-build
	cmake -S . -B $(BUILD) -DHOLDALL_TESTS=OFF $(CMAKE_FLAGS)
	cmake --build $(BUILD) --parallel $(JOBS)

# Not after `build`: under sudo there often is no Rust.
install:
	@test -f $(BUILD)/cmake_install.cmake || $(MAKE) build
	@sh cmake/need.sh make cmake
	DESTDIR='$(DESTDIR)' cmake --install $(BUILD) --prefix '$(PREFIX)'
	@cat $(BUILD)/install_manifest.txt >>$(BUILD)/installed.txt && echo >>$(BUILD)/installed.txt

# What `make install` has installed there, from this folder.
uninstall:
	@DESTDIR='$(DESTDIR)' sh cmake/uninstall.sh $(BUILD)/installed.txt '$(PREFIX)'

# A fresh installation below target/.
stage:
	@rm -rf "$(STAGE)"
	@DESTDIR= cmake --install $(BUILD) --prefix "$$PWD/$(STAGE)" >$(BUILD)/install.log || { cat $(BUILD)/install.log; exit 1; }

# What these targets use, as cmake/need.sh lists it.
need-build need-check need-languages need-cloud need-mpi need-packages need-static need-bench:
	@sh cmake/need.sh @$(@:need-%=%)

demo: build stage
	@sh examples/demo.sh $(STAGE) target/demo

# Rust's tests beside the others, as both have long stretches of one thread; they are shown last.
# Rust's tests beside the others, as both have long stretches of one thread; they are shown last. A part that fails is named at the
# end, and those after it run.
check: need-check
	@mkdir -p target
	@$(MAKE) check-rust >target/check-rust.log 2>&1 & rust=$$!; failed=; \
	for part in check-scripts check-c check-counts check-consumers check-tool check-docs check-peers check-languages; do \
	    $(MAKE) $$part || failed="$$failed $$part"; \
	done; \
	wait $$rust || failed="$$failed check-rust"; \
	cat target/check-rust.log; \
	[ -z "$$failed" ] || { echo "== make check: failed:$$failed" >&2; exit 1; }
	@echo '== make check: all passed'

# Shell scripts, and what a path with spaces does to the recipes here.
check-scripts:
	@echo '== Scripts'
	@failed=; \
	for check in terms.py layers.py; do "$$PYTHON" tests/scripts/$$check || failed="$$failed $$check"; done; \
	for check in lint paths need uninstall; do sh tests/scripts/$$check.sh target/check-$$check || failed="$$failed $$check"; done; \
	[ -z "$$failed" ] || { echo "check-scripts: failed:$$failed" >&2; exit 1; }

# cargo-nextest where it is installed; it does not run the examples in the documentation.
check-rust:
	@echo '== Rust tests'
	@# the lints that the layers deny; clippy is no part of every Rust
	@if "$$CARGO" clippy --version >/dev/null 2>&1; then "$$CARGO" clippy --locked --lib -- -D warnings; fi
	@if "$$CARGO" nextest --version >/dev/null 2>&1; then \
	    "$$CARGO" nextest run --locked && "$$CARGO" test --locked --doc; \
	else \
	    "$$CARGO" test --locked; \
	fi

check-c:
	@echo '== C tests'
	cmake -S . -B $(BUILD) -DHOLDALL_TESTS=ON -DHOLDALL_FIXTURES="$$HOLDALL_FIXTURES" $(CMAKE_FLAGS)
	cmake --build $(BUILD) --parallel $(JOBS)
	cd $(BUILD) && ctest --output-on-failure --parallel $(JOBS)

# How many instructions the hot paths take; tests/bench/counts.py says how to have others.
check-counts: stage
	@echo '== Instructions'
	@"$$PYTHON" tests/bench/counts.py $(STAGE) target/counts

check-consumers: stage
	@echo '== Consumers'
	@sh c-tests/consumers/run.sh $(STAGE) target/consumers

check-tool: stage
	@echo '== Command-line tool'
	@sh tests/abreast.sh $(JOBS) "$$PYTHON" tools/tests/test_*.py tests/crash/test_crash.py

# Every block of code in the documents is run, and the pages of the manual are made.
check-docs: stage
	@echo '== Documents'
	@"$$PYTHON" tests/docs/test_blocks.py target/check-docs/tests
	@"$$PYTHON" tests/docs/blocks.py $(STAGE) target/check-docs/blocks
	@"$$PYTHON" tests/docs/pages.py target/check-docs/pages
	@"$$PYTHON" docs/figures/draw.py --check
	@"$$PYTHON" tests/bench/report.py --check

# The tools whose files we read and write, against ours, both ways.
check-peers: stage venv
	@echo '== Peers'
	@sh tests/abreast.sh $(JOBS) $(VENV)/bin/python tests/peer/test_*.py

# Go under the race detector, Julia as its grammar and the compiler of C++ see it, Python beside NumPy, pyarrow, Polars and DuckDB.
check-languages: need-languages stage venv
	@sh cmake/venv.sh $(VENV) languages
	@echo '== Go'
	@sh tests/languages/go.sh $(STAGE) target/languages/go
	@echo '== The same in each language'
	@sh tests/languages/trips.sh $(STAGE) target/languages/trips $(VENV)/bin/python
	@echo '== Julia and Python'
	@PYTHONPATH="$$PWD/$(STAGE)/share/holdall/python" sh c-tests/run.sh target/languages/conform 0 \
	    $(VENV)/bin/python c-tests/conform.py all $(VENV)/bin/python tests/languages/conform_python.py
	@HOLDALL_PREFIX="$$PWD/$(STAGE)" sh tests/abreast.sh $(JOBS) $(VENV)/bin/python tests/languages/test_*.py

# In a folder of its own, and without debug information: it has some hundred crates more.
cloud: need-cloud
	@sh cmake/venv.sh $(CLOUD_VENV) cloud
	CARGO_TARGET_DIR=target/cloud CARGO_PROFILE_DEV_DEBUG=0 "$$CARGO" rustc --locked --lib --crate-type cdylib --features cloud

check-cloud: cloud
	@echo '== Object stores'
	@HOLDALL_LIB="$$PWD/target/cloud/debug/$${HOLDALL_LIB##*/}" $(CLOUD_VENV)/bin/python tests/cloud/test_cloud.py

# Under MPI: the programs of examples/mpi.
check-mpi: need-mpi build stage
	@echo '== MPI'
	@sh tests/mpi/header.sh $(STAGE)
	@cmake -S examples/mpi -B target/mpi -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$$PWD/$(STAGE)" >target/mpi.log && cmake --build target/mpi >>target/mpi.log || \
	    { cat target/mpi.log; exit 1; }
	@HOLDALL_MPI_PROGRAMS="$$PWD/target/mpi" "$$PYTHON" tests/mpi/test_mpi.py

# Packages for Debian; one more build, of the same libraries, that is for /usr.
debs: need-build
	cmake -S . -B target/deb/build -DCMAKE_INSTALL_PREFIX=/usr -DHOLDALL_TESTS=OFF $(CMAKE_FLAGS) >target/deb.log
	cmake --build target/deb/build --parallel $(JOBS) >>target/deb.log
	@rm -f target/deb/*.deb
	@sh cmake/deb.sh target/deb/build target/deb

# The tool as one file that runs on any Linux.
static-tool: need-static
	@sh cmake/static.sh "$$CARGO" target/static/holdall

# All that it needs is looked for before the first of its builds.
check-packages: need-packages debs static-tool
	@echo '== Packages'
	@sh tests/packages/debs.sh target/deb target/deb/test
	@sh tests/packages/static.sh target/static/holdall target/static/test
	@sh tests/packages/cinstall.sh "$$CARGO" target/deb/build target/cinstall
	@sh tests/packages/vendor.sh "$$CARGO" target/vendor

# Not in `check`: it needs nightly Rust, and builds Rust's standard library.
check-tsan:
	@echo '== Threads, under the thread sanitizer'
	@sh c-tests/tsan.sh target/tsan

# Nor is this: some minutes, and nightly Rust with Miri.
check-miri:
	@echo '== The C functions, under Miri'
	@sh c-tests/miri.sh target/miri

check-abi: build
	@echo '== What programs that are built rely on'
	@sh cmake/need.sh cc abidiff
	@sh c-tests/package/abi.sh include/holdall.h "$$HOLDALL_LIB" target/abi

check-supply:
	@echo '== What the library is made of'
	@sh cmake/supply.sh $(CARGO)

# What docs/promises.md has figures of. Each part stands alone.
check-long: need-check check-disk check-seeds check-crashes check-beside check-kills check-flips check-calls check-soak check-valgrind check-reproducible check-abi check-miri
	@echo '== make check-long: all passed'

# STATES times as many states of the simulated disk as `check` tries.
check-disk:
	@sh tests/disk.sh $(STATES) target/disk

# SEEDS contents and kinds of damage, in the tests that draw them at random.
check-seeds:
	@echo '== $(SEEDS) seeds of random damage'
	HOLDALL_SEEDS=$(SEEDS) "$$CARGO" test --locked --lib --profile rigs -- damage_at_several_positions corrupt_bytes_of_frames_by_other_writers one_writer_at_a_time

# CRASHES states of each change under each set of rules.
check-crashes: build stage
	@echo '== Crashes by system calls'
	HOLDALL_CRASHES=$(CRASHES) "$$PYTHON" tests/crash/test_crash.py

# COMMITS commits of each form beside holdall_verify().
check-beside: tests-of-c
	@echo '== Verifying beside writers'
	HOLDALL_COMMITS=$(COMMITS) sh c-tests/run.sh $(BUILD)/beside 0 $(BUILD)/c-tests/verify_beside_shared

# KILLS kills of each scenario, whose names and counts the tests print.
check-kills: build stage venv
	@set -e; for test in tests/peer/test_kill*.py; do \
	    echo "== Kills: $$test"; \
	    HOLDALL_KILLS=$(KILLS) $(VENV)/bin/python "$$test"; \
	done

# FLIPS changed bytes and a third as many cuts, of each kind of file, the peers beside.
check-flips: build stage venv
	@set -e; for test in tests/peer/test_flips*.py; do \
	    echo "== Flips: $$test"; \
	    HOLDALL_FLIPS=$(FLIPS) HOLDALL_CUTS=$$(($(FLIPS) / 3)) $(VENV)/bin/python "$$test"; \
	done

tests-of-c:
	cmake -S . -B $(BUILD) -DHOLDALL_TESTS=ON -DHOLDALL_FIXTURES="$$HOLDALL_FIXTURES" $(CMAKE_FLAGS)
	cmake --build $(BUILD) --parallel $(JOBS) --target calls_asan soak_shared verify_beside_shared

# The test of calls under the address sanitizer, from the first seed that `check` does not draw.
check-calls: tests-of-c
	@echo '== Sequences of calls'
	HOLDALL_SEED=60 HOLDALL_CALLS=$$((60 * $(TIMES))) sh c-tests/run.sh $(BUILD)/calls 0 $(BUILD)/c-tests/calls_asan

check-soak: tests-of-c
	@echo '== $(SECONDS) seconds of mixed work'
	HOLDALL_SECONDS=$(SECONDS) sh c-tests/run.sh $(BUILD)/soak 0 $(BUILD)/c-tests/soak_shared

# Python's conformance, as check-languages has it, under valgrind.
check-valgrind: stage venv
	@echo '== Python under valgrind'
	@sh tests/languages/valgrind_python.sh "$$PWD/$(STAGE)" "$$PWD/target/languages/valgrind" $(VENV)/bin/python

check-reproducible:
	@echo '== Two builds'
	@sh c-tests/reproducible.sh target/reproducible

fuzz:
	@sh fuzz/run.sh $(TIME)

venv:
	@sh cmake/venv.sh $(VENV) peers
	@sh cmake/blz.sh $(BLZ_VENV)
	@# there are wheels of it for Python 3.8 to 3.11
	@sh cmake/venv.sh $(CATERVA_VENV) caterva >$(CATERVA_VENV).log 2>&1 || { \
	    rm -rf $(CATERVA_VENV); \
	    echo 'caterva 0.7.3 could not be had ($(CATERVA_VENV).log says why): its tests are left out'; \
	}

# Measures each part of PARTS, writes its complete result to tests/bench/results, and generates BENCHMARKS.md from all results there.
bench: need-bench build stage venv
	@sh cmake/venv.sh $(VENV) bench
	@set -e; for part in $(PARTS); do $(VENV)/bin/python tests/bench/bench_$$part.py; done
	@"$$PYTHON" tests/bench/report.py

# Two versions of the library by turns, each a file or a revision; ends with an error where a path became slower, or holds more memory.
OLD ?= HEAD
NEW ?= $(HOLDALL_LIB)
export OLD NEW
bench-compare: need-bench stage
	@"$$PYTHON" tests/bench/versus.py "$$OLD" "$$NEW" target/versus

# Python's standard library is all that it needs; the man pages are made and installed by `build` as well.
docs:
	@"$$PYTHON" docs/make/make.py html target/docs
	@"$$PYTHON" docs/make/make.py man target/docs/man3

clean:
	rm -rf target
