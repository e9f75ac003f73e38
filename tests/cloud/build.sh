#!/bin/sh
# usage: build.sh
#
# Builds the library and the tool with the feature `cloud`, and the Python environment of its tests.
# They have a target folder of their own and no debug information, because there are some hundred
# crates more. The Makefile exports the variables.
set -eu
cd "$(dirname "$0")/../.."
sh cmake/need.sh @cloud
sh cmake/venv.sh "${CLOUD_VENV:-target/venv-cloud}" cloud
CARGO_TARGET_DIR=target/cloud CARGO_PROFILE_DEV_DEBUG=0 "${CARGO:-cargo}" build --locked \
    --package holdall --package holdall-cli --features holdall/cloud
