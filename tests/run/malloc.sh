# shellcheck shell=sh
# Sourced before the tests of the simulated disk. They allocate and free millions of buffers, and
# returning them to the system each time takes as long as the tests.
export MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=1073741824
