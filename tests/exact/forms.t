#!/bin/bash
# SPDX-License-Identifier: MIT
# What programs.t runs, of the same programs linked in other ways: static, static-pie, no-pie, stripped.
set -u
here=$(cd "$(dirname "$0")" && pwd)
BUILD=${BUILD:-$here/../../build}
cd "$BUILD/tests/progs/exact" || exit 1
mapfile -t forms < <(find . -mindepth 2 -type f -executable -printf '%P\n' | LC_ALL=C sort)
BUILD=$BUILD exec bash "$here/programs.t" "${forms[@]}"
