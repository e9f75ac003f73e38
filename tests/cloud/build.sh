#!/bin/sh
# usage: build.sh
#
# Builds all Rust code with the dev profile and object stores, as the Rust tests do, and the Python
# environment of the tests of object stores. The Makefile exports the variables.
set -eu
cd "$(dirname "$0")/../.."
sh cmake/need.sh @cloud
sh cmake/venv.sh "${CLOUD_VENV:-target/venv-cloud}" cloud
[ -n "${HOLDALL_BUILT:-}" ] ||
    "${CARGO:-cargo}" build --locked --workspace --lib --bins --tests --features holdall/cloud
