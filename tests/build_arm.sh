#!/usr/bin/env bash
# tests/build_arm.sh FOLDER: build FOLDER/arm_unit, which runs instructions of AArch64 on rows of operands, from tests/arm_unit.c. It
# needs the Debian packages gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user.
# tests/semantics/test_arm_profile.py runs it: HALFULP_ARM=FOLDER.
set -euo pipefail
for tool in aarch64-linux-gnu-gcc qemu-aarch64; do
    command -v "$tool" >/dev/null && continue
    echo "build_arm.sh: $tool not found; apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user" >&2
    exit 1
done
mkdir -p "$1"
aarch64-linux-gnu-gcc -std=gnu11 -O2 -Wall -Wextra -static -march=armv8.6-a+fp16fml \
    -o "$1/arm_unit.new" "$(dirname "$0")/arm_unit.c"
mv "$1/arm_unit.new" "$1/arm_unit"
