// Record what an AMD GPU computes by v_mfma_f32_16x16x16_f16: one element of D for each row of rows.bin.
// Build: hipcc --offload-arch=gfx90a -o record record.hip.cpp      Run: ./record rows.bin results.bin
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>
#include <hip/hip_runtime.h>

constexpr int K = 16;
struct Row { uint16_t a[K], b[K]; uint32_t c; };  // bit patterns: a row of A, a column of B, an element of C
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float4_ __attribute__((ext_vector_type(4)));

// The place along K of element i of a lane that holds row 0 of A or column 0 of B: lanes 0, 16, 32 and 48.
__host__ __device__ constexpr int k_of(int lane, int i) { return 4 * (lane / 16) + i; }

__global__ void multiply(const Row *rows, uint32_t *results) {
    const Row &row = rows[blockIdx.x];
    int lane = threadIdx.x;
    half4 a = {}, b = {};
    float4_ c = {};
    for (int i = 0; i < 4 && lane % 16 == 0; ++i) {
        a[i] = __builtin_bit_cast(_Float16, row.a[k_of(lane, i)]);
        b[i] = __builtin_bit_cast(_Float16, row.b[k_of(lane, i)]);
    }
    if (lane == 0) c[0] = __builtin_bit_cast(float, row.c);  // lane 0 holds element (0, 0) of C and D
    float4_ d = __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0);
    if (lane == 0) results[blockIdx.x] = __builtin_bit_cast(uint32_t, d[0]);
}

int main(int count, char **names) {
    FILE *in = count == 3 ? fopen(names[1], "rb") : nullptr, *out = in ? fopen(names[2], "wb") : nullptr;
    if (!out) { fprintf(stderr, "usage: record rows.bin results.bin\n"); return 2; }
    std::vector<Row> rows;
    for (Row row; fread(&row, sizeof row, 1, in) == 1;) rows.push_back(row);
    Row *given; uint32_t *results;
    if (hipMallocManaged(&given, rows.size() * sizeof(Row)) || hipMallocManaged(&results, rows.size() * 4)) return 1;
    for (size_t n = 0; n < rows.size(); ++n) given[n] = rows[n];
    multiply<<<rows.size(), 64>>>(given, results);
    if (hipDeviceSynchronize() != hipSuccess) { fprintf(stderr, "the kernel failed\n"); return 1; }
    return fwrite(results, 4, rows.size(), out) == rows.size() && fclose(out) == 0 ? 0 : 1;
}
