# `make demo` shows the library at work, `make check` runs the tests. Both install what they need
# on Debian and Ubuntu, and list what is missing on other systems. `make help` lists the targets.
#
# CMakeLists.txt builds and installs; Cargo.toml is the Rust package. All results go to target/.
PREFIX ?= /usr/local
DESTDIR ?=
CARGO ?= cargo
PYTHON ?= python3
CMAKE_FLAGS ?=
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)
# Parts of `check`; by default all that need no network and no further tools.
PART ?=
# Rigs of `check-long`, and their sizes.
RIG ?= disk seeds crashes beside kills flips peers calls soak valgrind reproducible abi miri
STATES ?= 25
SEEDS ?= 10000
CRASHES ?= 2000
COMMITS ?= 200
KILLS ?= 100
FLIPS ?= 300
TIMES ?= 100
SECONDS ?= 60
CASES ?= 1000000
# Seconds of `fuzz`.
TIME ?= 600
# Parts of `bench`, or two versions to compare.
PARTS ?= b2nd blpk bcolz ctable records bag index start scaling real cold memory
OLD ?=
NEW ?= $(HOLDALL_LIB)

# Relative, because the path of this folder may contain spaces; recipes therefore do not contain it.
# They take absolute paths from the environment, or build them from $$PWD.
BUILD := target/cmake
STAGE := target/prefix
VENV := target/venv
BLZ_VENV := target/venv-blz
CATERVA_VENV := target/venv-caterva
CLOUD_VENV := target/venv-cloud
DOCS_VENV := target/venv-docs
ENGINES_VENV := target/venv-engines

# Files that the original tools wrote, for the tests.
HOLDALL_FIXTURES ?= $(shell cd $(firstword $(wildcard ../shared/fixtures) tests/fixtures) && pwd)
# The library and tool for the tests in other languages, as the target `stage` installs them.
export HOLDALL_TOOL := $(CURDIR)/$(STAGE)/bin/holdall
export HOLDALL_LIB := $(CURDIR)/$(BUILD)/lib/libholdall.$(if $(filter Darwin,$(shell uname)),dylib,so)
# For tests/run/*.sh.
export HOLDALL_FIXTURES MAKE CARGO PYTHON JOBS BUILD STAGE VENV CLOUD_VENV DOCS_VENV ENGINES_VENV

# The steps below run in order: after a failure, later ones do not run.
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory
.PHONY: help build stage venv install uninstall demo check check-engines check-fast check-long
.PHONY: bench debs docs fuzz clean

help:
	@echo 'make demo        builds, installs below target/, runs examples/demo.c on real data'
	@echo 'make build       the libraries and the tool, in $(BUILD)'
	@echo 'make install     installs the build (and builds if necessary): PREFIX=$(PREFIX) DESTDIR='
	@echo 'make uninstall   removes that again'
	@echo 'make debs        packages for Debian, in target/deb'
	@echo 'make docs        the site (guides, and the references of all languages) and man pages, in'
	@echo '                 target/docs'
	@echo 'make clean       removes target/'
	@echo 'For developers (CONTRIBUTING.md says what to run after which change):'
	@echo 'make check-fast  type checks, lints and the fast Rust unit tests, in less than a minute'
	@echo 'make check       every test, or PART="...": scripts rust c counts consumers tool docs peers'
	@echo '                 languages engines;'
	@echo '                 default (all of these); further parts: cloud mpi packages supply'
	@echo '                 large engines: make check-engines, or ENGINE="...": beam ray spark torch'
	@echo 'make check-long  the rigs at length, or RIG="...": $(RIG); further: suite tsan site;'
	@echo '                 STATES=$(STATES) SEEDS=$(SEEDS) CRASHES=$(CRASHES) COMMITS=$(COMMITS)'
	@echo '                 KILLS=$(KILLS) FLIPS=$(FLIPS) TIMES=$(TIMES) SECONDS=$(SECONDS)'
	@echo '                 CASES=$(CASES)'
	@echo 'make fuzz        every fuzzer, TIME=$(TIME) seconds in sum; needs nightly Rust'
	@echo 'make bench       compares with other libraries: PARTS="$(PARTS)";'
	@echo '                 or two versions of holdall, each a file or a revision: OLD=main NEW=...'
	@echo 'make stage       installs what make build made in $(STAGE), for the tests'
	@echo 'make venv        the Python packages of the tests, in $(VENV)'
	@echo 'CMAKE_FLAGS goes to cmake; CARGO, PYTHON and JOBS choose those.'

# With TESTS=ON also c-tests; TARGETS may select some. With DEV_TOOL=ON the tool and the Python module
# are those that the Rust tests build.
TESTS ?= OFF
DEV_TOOL ?= OFF
TARGETS ?=
build:
	@sh cmake/need.sh @build
	cmake -S . -B $(BUILD) -DHOLDALL_TESTS=$(TESTS) -DHOLDALL_DEV_TOOL=$(DEV_TOOL) \
	    $(if $(filter ON,$(TESTS)),-DHOLDALL_FIXTURES="$$HOLDALL_FIXTURES") $(CMAKE_FLAGS)
	cmake --build $(BUILD) --parallel $(JOBS) $(if $(TARGETS),--target $(TARGETS))
	@sh cmake/python_extension.sh $(BUILD)

# Does not depend on `build`: under sudo there is often no Rust.
install:
	@test -f $(BUILD)/cmake_install.cmake || $(MAKE) build
	@sh cmake/need.sh make cmake
	DESTDIR='$(DESTDIR)' cmake --install $(BUILD) --prefix '$(PREFIX)'
	@cat $(BUILD)/install_manifest.txt >>$(BUILD)/installed.txt && echo >>$(BUILD)/installed.txt

# Removes what `make install` has installed there, from this folder.
uninstall:
	@DESTDIR='$(DESTDIR)' sh cmake/uninstall.sh $(BUILD)/installed.txt '$(PREFIX)'

# Installs into a new folder below target/.
stage:
	@rm -rf "$(STAGE)"
	@DESTDIR= cmake --install $(BUILD) --prefix "$$PWD/$(STAGE)" >$(BUILD)/install.log || \
	    { cat $(BUILD)/install.log; exit 1; }

demo: build stage
	@sh examples/demo.sh $(STAGE) target/demo

check:
	@sh tests/run/check.sh $(PART)

check-engines:
	@sh tests/run/engines.sh $(ENGINE)

check-fast:
	@sh tests/run/fast.sh

check-long: export HOLDALL_STATES := $(STATES)
check-long: export HOLDALL_SEEDS := $(SEEDS)
check-long: export HOLDALL_CRASHES := $(CRASHES)
check-long: export HOLDALL_COMMITS := $(COMMITS)
check-long: export HOLDALL_KILLS := $(KILLS)
check-long: export HOLDALL_FLIPS := $(FLIPS)
check-long: export HOLDALL_TIMES := $(TIMES)
check-long: export HOLDALL_SECONDS := $(SECONDS)
check-long: export HOLDALL_CASES := $(CASES)
check-long:
	@sh cmake/need.sh @check
	@set -e; for rig in $(RIG); do sh tests/run/rig.sh $$rig; done
	@echo '== make check-long: all passed'

venv:
	@sh cmake/need.sh venv
	@sh cmake/venv.sh $(VENV) peers
	@sh cmake/blz.sh $(BLZ_VENV)
	@# there are wheels of it for Python 3.8 to 3.11
	@sh cmake/venv.sh $(CATERVA_VENV) caterva >$(CATERVA_VENV).log 2>&1 || { \
	    rm -rf $(CATERVA_VENV); \
	    echo 'caterva 0.7.3 could not be had ($(CATERVA_VENV).log says why): its tests are left out'; \
	}

# Measures each part of PARTS, writes its complete result to tests/bench/results, and generates
# BENCHMARKS.md from all results there. With OLD it compares both versions in turns, and fails if a
# path became slower or takes more memory.
bench: build stage $(if $(OLD),,venv)
ifdef OLD
	@"$$PYTHON" tests/bench/versus.py '$(OLD)' '$(NEW)' target/versus
else
	@sh cmake/need.sh @bench
	@sh cmake/venv.sh $(VENV) bench
	@set -e; for part in $(PARTS); do $(VENV)/bin/python tests/bench/bench_$$part.py; done
	@"$$PYTHON" tests/bench/report.py
endif

# One more build of the same libraries, for /usr, and with object stores.
debs:
	@sh cmake/need.sh @build dpkg-deb
	cmake -S . -B target/deb/build -DCMAKE_INSTALL_PREFIX=/usr -DHOLDALL_TESTS=OFF \
	    -DHOLDALL_CLOUD=ON $(CMAKE_FLAGS) >target/deb.log
	cmake --build target/deb/build --parallel $(JOBS) >>target/deb.log
	@rm -f target/deb/*.deb
	@sh cmake/deb.sh target/deb/build target/deb

# `build` generates and installs the man pages as well, with Python's standard library alone. The
# site has pages that the tool generates.
docs: build stage
	@sh cmake/need.sh venv
	@sh cmake/venv.sh $(DOCS_VENV) docs
	@$(DOCS_VENV)/bin/python docs/generate/site.py target/docs
	@"$$PYTHON" docs/generate/man.py target/docs/man3

fuzz:
	@sh fuzz/run.sh $(TIME)

clean:
	rm -rf target
