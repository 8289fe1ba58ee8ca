#!/usr/bin/env bash
# tests/build_testfloat.sh FOLDER: build testfloat_ver of Berkeley TestFloat 3e for RISC-V and SSE in FOLDER, from the published
# sources. It needs git, make and a C compiler. tests/conformance/vectors/test_testfloat_ver.py runs it: HALFULP_TESTFLOAT=FOLDER.
set -euo pipefail
mkdir -p "$1" && cd "$1"
for part in softfloat testfloat; do
    [[ -d berkeley-$part-3 ]] || git clone --quiet "https://github.com/ucb-bar/berkeley-$part-3"
done
git -C berkeley-softfloat-3 checkout --quiet a0c6494
git -C berkeley-testfloat-3 checkout --quiet a9c849f
platform=build/Linux-x86_64-GCC
for kind in RISCV 8086-SSE; do
    for part in softfloat testfloat; do
        make --silent -C "berkeley-$part-3/$platform" clean
        make --silent -C "berkeley-$part-3/$platform" SPECIALIZE_TYPE="$kind"
    done
    mkdir -p "$kind" && cp berkeley-testfloat-3/$platform/testfloat_ver "$kind"
done
