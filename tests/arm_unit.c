/* arm_unit OPERATION FPCR: run one AArch64 instruction on rows of operands. OPERATION: a name of LIST. FPCR: the control register,
   a number. On stdin, each row has three operand codes; on stdout, the result's code and the status register FPSR. Each is a
   uint64, the least significant byte first. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 4096

/* Operands are in registers 0, 1 and 2, the result in register 0. An integer passes through x9. */
#define INTEGER_OPERAND "fmov x9, d0\n\t"
#define INTEGER_RESULT "\n\tfmov d0, x9"

#define ROUND(X, t, mode) X(frint##mode##_##t, "frint" #mode " " #t "0, " #t "0")
#define BINARY(X, t, op) X(op##_##t, #op " " #t "0, " #t "0, " #t "1")
#define TERNARY(X, t, op) X(op##_##t, #op " " #t "0, " #t "0, " #t "1, " #t "2")
#define COMPARE(X, t, op) X(op##_##t, #op " " #t "0, " #t "1\n\tmrs x9, nzcv\n\tlsr x9, x9, 28" INTEGER_RESULT)
#define CONVERT(X, op, t, s) X(op##_##t##_##s, #op " " #t "0, " #s "0")
#define TO_INTEGER(X, op, i, s) X(op##_##i##_##s, #op " " #i "9, " #s "0" INTEGER_RESULT)
#define FROM_INTEGER(X, op, t, i) X(op##_##t##_##i, INTEGER_OPERAND #op " " #t "0, " #i "9")
#define TO_BOTH(X, mode, i, t) TO_INTEGER(X, fcvt##mode##s, i, t) TO_INTEGER(X, fcvt##mode##u, i, t)
/* The lanes beside the first are zero, and raise no flag. */
#define WIDENED(X, op, s, lanes, narrow) \
    X(op##_##s, #op " v2." #lanes ", v0." #narrow ", v1." #narrow "\n\tfmov s0, s2")

#define WITH_INTEGERS(X, t, i) \
    TO_BOTH(X, n, i, t) TO_BOTH(X, p, i, t) TO_BOTH(X, m, i, t) TO_BOTH(X, z, i, t) TO_BOTH(X, a, i, t) \
    FROM_INTEGER(X, scvtf, t, i) FROM_INTEGER(X, ucvtf, t, i)
#define WITH_FLOATS(X, t) \
    BINARY(X, t, fadd) BINARY(X, t, fsub) BINARY(X, t, fmul) BINARY(X, t, fdiv) X(fsqrt_##t, "fsqrt " #t "0, " #t "0") \
    TERNARY(X, t, fmadd) TERNARY(X, t, fmsub) TERNARY(X, t, fnmadd) TERNARY(X, t, fnmsub) \
    BINARY(X, t, fmin) BINARY(X, t, fmax) BINARY(X, t, fminnm) BINARY(X, t, fmaxnm) COMPARE(X, t, fcmp) COMPARE(X, t, fcmpe) \
    ROUND(X, t, n) ROUND(X, t, p) ROUND(X, t, m) ROUND(X, t, z) ROUND(X, t, a) ROUND(X, t, i) ROUND(X, t, x)
#define LIST(X) \
    WITH_FLOATS(X, h) WITH_FLOATS(X, s) WITH_FLOATS(X, d) \
    WITH_INTEGERS(X, h, w) WITH_INTEGERS(X, h, x) WITH_INTEGERS(X, s, w) WITH_INTEGERS(X, s, x) \
    WITH_INTEGERS(X, d, w) WITH_INTEGERS(X, d, x) TO_INTEGER(X, fjcvtzs, w, d) \
    CONVERT(X, fcvt, h, s) CONVERT(X, fcvt, h, d) CONVERT(X, fcvt, s, h) CONVERT(X, fcvt, s, d) CONVERT(X, fcvt, d, h) \
    CONVERT(X, fcvt, d, s) CONVERT(X, fcvtxn, s, d) CONVERT(X, bfcvt, h, s) \
    WIDENED(X, fmlal, h, 2s, 2h) WIDENED(X, fmlsl, h, 2s, 2h) WIDENED(X, bfmlalb, h, 4s, 8h)

#define FUNCTION(name, text) \
    static void name(const uint64_t (*rows)[3], uint64_t (*results)[2], size_t count) { \
        for (size_t k = 0; k < count; k++) \
            __asm__ volatile("fmov d0, %2\n\tfmov d1, %3\n\tfmov d2, %4\n\tmsr fpsr, xzr\n\t" text "\n\tmrs %1, fpsr\n\tfmov %0, d0" \
                : "=&r"(results[k][0]), "=&r"(results[k][1]) : "r"(rows[k][0]), "r"(rows[k][1]), "r"(rows[k][2]) \
                : "v0", "v1", "v2", "x9", "cc"); \
    }
LIST(FUNCTION)

#define ENTRY(name, text) {#name, name},
static const struct {
    const char *name;
    void (*run)(const uint64_t (*)[3], uint64_t (*)[2], size_t);
} OPERATIONS[] = {LIST(ENTRY)};

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: arm_unit OPERATION FPCR\n");
        return 2;
    }
    size_t which = 0, known = sizeof OPERATIONS / sizeof *OPERATIONS;
    while (which < known && strcmp(OPERATIONS[which].name, argv[1]))
        which++;
    if (which == known) {
        fprintf(stderr, "arm_unit: unknown operation %s\n", argv[1]);
        return 2;
    }
    static uint64_t rows[ROWS][3], results[ROWS][2];
    uint64_t control = strtoull(argv[2], NULL, 0);
    for (size_t count; (count = fread(rows, sizeof *rows, ROWS, stdin)) > 0;) {
        __asm__ volatile("msr fpcr, %0" : : "r"(control));
        OPERATIONS[which].run(rows, results, count);
        __asm__ volatile("msr fpcr, xzr");
        if (fwrite(results, sizeof *results, count, stdout) != count)
            return 1;
    }
    return ferror(stdin) || fflush(stdout) ? 1 : 0;
}
