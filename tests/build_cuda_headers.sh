#!/usr/bin/env bash
# tests/build_cuda_headers.sh FOLDER: build FOLDER/functions.so, conversions and arithmetic of NVIDIA's headers cuda_fp16, cuda_bf16,
# cuda_fp8, cuda_fp6 and cuda_fp4 on arrays (tests/cuda_headers/functions.cpp), for the processor of this machine. pip fetches the
# headers into FOLDER/headers, if they are not there. It needs pip and a C++ compiler.
# tests/semantics/test_cuda_headers.py calls the functions: HALFULP_CUDA_HEADERS=FOLDER.
set -euo pipefail
source=$(cd "$(dirname "$0")/cuda_headers" && pwd)/functions.cpp
mkdir -p "$1" && cd "$1"
if [[ ! -d headers ]]; then
    rm -rf headers.new
    wheels=(nvidia-cuda-runtime==13.5.37 nvidia-cuda-crt==13.5.37 nvidia-cuda-cccl==13.3.5.0.6)
    python3 -m pip install --quiet --no-deps --only-binary :all: --target headers.new "${wheels[@]}" >pip.log 2>&1 || {
        echo "pip cannot install ${wheels[*]} from its package index; $PWD/pip.log has its messages" >&2
        exit 2
    }
    mv headers.new headers
fi
# -isystem: what the compiler thinks of the headers does not matter here.
include=$PWD/headers/nvidia/cu13/include
"${CXX:-c++}" -std=c++17 -O2 -Wall -Wextra -shared -fPIC -isystem "$include" -isystem "$include/cccl" -o functions.so "$source"
