// Record what an NVIDIA GPU computes by mma.sync.m16n8k16.f32.f16.f16.f32: one element of D for each row of rows.bin.
// Build: nvcc -arch=sm_80 -o record record.cu      Run: ./record rows.bin results.bin
#include <cstdint>
#include <cstdio>
#include <vector>

constexpr int K = 16;
struct Row { uint16_t a[K], b[K]; uint32_t c; };  // bit patterns: a row of A, a column of B, an element of C

// The place along K of element i of a lane that holds row 0 of A or column 0 of B: lanes 0 to 3.
__host__ __device__ constexpr int k_of(int lane, int i) { return 2 * (lane % 4) + i % 2 + 8 * (i / 2); }

__global__ void multiply(const Row *rows, uint32_t *results) {
    const Row &row = rows[blockIdx.x];
    int lane = threadIdx.x;
    uint16_t a[4] = {}, b[4] = {};
    for (int i = 0; i < 4 && lane < 4; ++i) { a[i] = row.a[k_of(lane, i)]; b[i] = row.b[k_of(lane, i)]; }
    uint32_t a0 = a[0] | a[1] << 16, a2 = a[2] | a[3] << 16, b0 = b[0] | b[1] << 16, b1 = b[2] | b[3] << 16, zero = 0;
    uint32_t d[4], c0 = lane == 0 ? row.c : 0;  // lane 0 holds element (0, 0) of C and D
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(a0), "r"(zero), "r"(a2), "r"(zero), "r"(b0), "r"(b1), "r"(c0), "r"(zero), "r"(zero), "r"(zero));
    if (lane == 0) results[blockIdx.x] = d[0];
}

int main(int count, char **names) {
    FILE *in = count == 3 ? fopen(names[1], "rb") : nullptr, *out = in ? fopen(names[2], "wb") : nullptr;
    if (!out) { fprintf(stderr, "usage: record rows.bin results.bin\n"); return 2; }
    std::vector<Row> rows;
    for (Row row; fread(&row, sizeof row, 1, in) == 1;) rows.push_back(row);
    Row *given; uint32_t *results;
    cudaMallocManaged(&given, rows.size() * sizeof(Row));
    cudaMallocManaged(&results, rows.size() * 4);
    for (size_t n = 0; n < rows.size(); ++n) given[n] = rows[n];
    multiply<<<rows.size(), 32>>>(given, results);
    if (cudaDeviceSynchronize() != cudaSuccess) { fprintf(stderr, "the kernel failed\n"); return 1; }
    return fwrite(results, 4, rows.size(), out) == rows.size() && fclose(out) == 0 ? 0 : 1;
}
