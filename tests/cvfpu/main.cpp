// cvfpu OP FROM TO MODE <vectors >results: the FPU's results and flags for the operands of vectors in TestFloat's form.
// OP is a name of a float unit's operation in halfulp (fcvt, fcvt_to_si, fmadd …), FROM the type of the operands (of the
// factors), TO that of the result, MODE a rounding mode. halfulp vectors check compares what it prints.
#include "Vunit.h"
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

struct Operation {
    int code, modifier, operands, first; // first: the port of the first operand
};

static const std::map<std::string, Operation> OPERATIONS = {
    {"fmadd", {0, 0, 3, 0}},        {"fmsub", {0, 1, 3, 0}},      {"fnmsub", {1, 0, 3, 0}},
    {"fnmadd", {1, 1, 3, 0}},       {"fadd", {2, 0, 2, 1}},       {"fsub", {2, 1, 2, 1}},
    {"fmul", {3, 0, 2, 0}},         {"fcvt", {10, 0, 1, 0}},      {"fcvt_to_si", {11, 0, 1, 0}},
    {"fcvt_to_ui", {11, 1, 1, 0}},  {"fcvt_from_si", {12, 0, 1, 0}}, {"fcvt_from_ui", {12, 1, 1, 0}},
};

struct Type {
    int bits, code;
};

static const std::map<std::string, Type> FLOATS = {
    {"f32", {32, 0}}, {"f64", {64, 1}}, {"f16", {16, 2}}, {"f8E5M2", {8, 3}}, {"bf16", {16, 4}},
};
static const std::map<std::string, Type> INTEGERS = {{"i8", {8, 0}}, {"i16", {16, 1}}, {"i32", {32, 2}}, {"i64", {64, 3}}};
static const std::map<std::string, int> MODES = {
    {"to_nearest_even", 0}, {"toward_zero", 1}, {"downward", 2}, {"upward", 3}, {"to_nearest_away", 4}, {"to_odd", 5},
};

template <typename Value>
static const Value *find(const std::map<std::string, Value> &table, const std::string &name)
{
    auto found = table.find(name);
    return found == table.end() ? nullptr : &found->second;
}

int main(int count, char **words)
{
    const Operation *op = count == 5 ? find(OPERATIONS, words[1]) : nullptr;
    const int *mode = count == 5 ? find(MODES, words[4]) : nullptr;
    if (op == nullptr || mode == nullptr) {
        fprintf(stderr, "cvfpu OP FROM TO MODE <vectors >results\n");
        return 2;
    }
    Vunit unit;
    unit.operation = op->code;
    unit.modifier = op->modifier;
    unit.rounding = *mode;
    int bits[2];
    for (int end = 0; end < 2; end++) {
        const Type *floating = find(FLOATS, words[2 + end]), *integer = find(INTEGERS, words[2 + end]);
        if (floating == nullptr && integer == nullptr) {
            fprintf(stderr, "cvfpu has no type %s\n", words[2 + end]);
            return 2;
        }
        bits[end] = floating != nullptr ? floating->bits : integer->bits;
        if (integer != nullptr)
            unit.width = integer->code;
        else
            (end == 0 ? unit.source : unit.target) = floating->code;
    }
    uint64_t mask = ~UINT64_C(0) >> (64 - bits[1]);
    char line[256];
    while (fgets(line, sizeof line, stdin) != nullptr) {
        uint64_t ports[3] = {0, 0, 0};
        char *rest = line;
        for (int k = 0; k < op->operands; k++) {
            char *from = rest;
            ports[op->first + k] = strtoull(from, &rest, 16);
            if (rest == from) {
                fprintf(stderr, "not a vector: %s", line);
                return 2;
            }
        }
        unit.a = ports[0];
        unit.b = ports[1];
        unit.c = ports[2];
        unit.eval();
        printf("%.*s %0*llx %02x\n", (int)(rest - line), line, bits[1] / 4, (unsigned long long)(unit.result & mask),
               (unsigned)unit.flags);
    }
    return 0;
}
