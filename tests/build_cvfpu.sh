#!/usr/bin/env bash
# tests/build_cvfpu.sh FOLDER: build FOLDER/bench, the FPU cvfpu of the OpenHW Group in Verilator with tests/cvfpu/main.cpp, from
# the published sources. It needs git, Verilator 5 and a C++ compiler. The folders FOLDER/cvfpu and FOLDER/common_cells are taken
# as they are if they are there. tests/conformance/vectors/test_cvfpu.py runs the bench: HALFULP_CVFPU=FOLDER.
set -euo pipefail
bench=$(cd "$(dirname "$0")/cvfpu" && pwd)
mkdir -p "$1" && cd "$1"
fetch() { # NAME OWNER COMMIT
    [[ -d $1 ]] && return
    git init --quiet "$1.new"
    git -C "$1.new" fetch --quiet --depth 1 "https://github.com/$2/$1" "$3"
    git -C "$1.new" checkout --quiet FETCH_HEAD
    mv "$1.new" "$1"
}
fetch cvfpu openhwgroup 0ad2cd7ff265fe6c9852faa87d296931e2cf380d
fetch common_cells pulp-platform 6aeee85d0a34fedc06c14f04fd6363c9f7b4eeea
sources=(common_cells/src/{cf_math_pkg,lzc,rr_arb_tree}.sv)
for part in pkg classifier rounding cast_multi fma fma_multi noncomp opgroup_{fmt,multifmt}_slice opgroup_block top; do
    sources+=("cvfpu/src/fpnew_$part.sv")
done
# Optimized by Verilator 5.006, the FPU no longer follows its operands after the first ones.
verilator --cc --exe --build --top unit -O0 -CFLAGS -O2 -Wno-lint -Wno-UNOPTFLAT -Icommon_cells/include -o ../bench \
    "${sources[@]}" "$bench/unit.sv" "$bench/main.cpp" >build.log || { cat build.log >&2; exit 1; }
