#!/bin/sh
# usage: install.sh CMAKE BUILD PREFIX
#
# Installs the build into a new prefix, for the tests that check the installation.
set -eu
rm -rf "$3"
"$1" --install "$2" --prefix "$3"
