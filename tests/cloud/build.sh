#!/bin/sh
# usage: build.sh
#
# Builds the library with the feature `cloud`, and the Python environment of its tests. It has a
# target folder of its own and no debug information, because it has some hundred crates more. The
# Makefile exports the variables.
set -eu
cd "$(dirname "$0")/../.."
sh cmake/need.sh @cloud
sh cmake/venv.sh "${CLOUD_VENV:-target/venv-cloud}" cloud
CARGO_TARGET_DIR=target/cloud CARGO_PROFILE_DEV_DEBUG=0 "${CARGO:-cargo}" rustc --locked --lib \
    --crate-type cdylib --features cloud
