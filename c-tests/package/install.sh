#!/bin/sh
# usage: install.sh CMAKE BUILD PREFIX
# A fresh installation of the build, for the tests that look at what users get.
set -eu
rm -rf "$3"
"$1" --install "$2" --prefix "$3"
