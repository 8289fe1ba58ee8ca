// A bench of mx_dot.sv in C++, for Verilator: it reads vectors of blocks of 32 elements in TestFloat's form, and prints their
// operands with the results of the unit, for halfulp vectors check. It serves both elements: a code tells its width.
#include "Vmx_dot.h"
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

enum { BLOCK = 32, LANES = 8, OPERANDS = 2 * BLOCK + 3 };

static void tick(Vmx_dot &unit)
{
    for (int level = 0; level < 2; level++) {
        unit.clk = level;
        unit.eval();
    }
}

int main()
{
    Vmx_dot unit;
    unit.clk = 0;
    unit.reset = 0;
    unit.valid_in = 1;
    std::vector<char> line(1 << 12);
    while (fgets(line.data(), (int)line.size(), stdin) != nullptr) {
        uint64_t given[OPERANDS]; // the elements of a and of b, c, scale_a, scale_b
        char *end = line.data();
        int digits = 0;
        for (int k = 0; k < OPERANDS; k++) {
            char *begin = end;
            given[k] = strtoull(begin, &end, 16);
            digits = k == 0 ? (int)(end - begin) : digits;
            if (begin == end) {
                fprintf(stderr, "not a vector: %s", line.data());
                return 2;
            }
        }
        unit.c = given[2 * BLOCK];
        unit.scale_a = given[2 * BLOCK + 1];
        unit.scale_b = given[2 * BLOCK + 2];
        for (int step = 0; step < BLOCK; step += LANES) {
            uint64_t a = 0, b = 0;
            for (int k = 0; k < LANES; k++) {
                a |= given[step + k] << 4 * digits * k;
                b |= given[BLOCK + step + k] << 4 * digits * k;
            }
            unit.a = a;
            unit.b = b;
            unit.first = step == 0;
            unit.last = step + LANES == BLOCK;
            tick(unit);
        }
        printf("%s %08x\n", std::string(line.data(), end).c_str(), (unsigned)unit.result);
    }
    return 0;
}
