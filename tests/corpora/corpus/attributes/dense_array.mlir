"keep.array"() {value = array<i8>} : () -> ()
// -----
"keep.array"() {value = array<i32: 10, 42>} : () -> ()
// -----
"keep.array"() {value = array<f64: 42., 12.>} : () -> ()
// -----
// Bools are words.
"keep.array"() {value = array<i1: true, false, true>} : () -> ()
// -----
// The ends of each width.
"keep.array"() {a = array<i8: -128, 127, 255>, b = array<i16: -32768, 32767>, c = array<i32: -2147483648, 2147483647>, d = array<i64: -9223372036854775808, 9223372036854775807>} : () -> ()
// -----
// Signed and unsigned elements.
"keep.array"() {a = array<si8: -1, 1>, b = array<ui8: 255, 0>} : () -> ()
// -----
// Odd widths that fill whole bytes.
"keep.array"() {a = array<i24: 8388607, -1>, b = array<i128: 170141183460469231731687303715884105727, -1>} : () -> ()
// -----
// Floats by their bits.
"keep.array"() {value = array<f32: 0x7F800000, 0xFF800001, 1.0, -0.0>} : () -> ()
// -----
"keep.array"() {value = array<f16: 0x7C01, 65504.0, 0x0001>} : () -> ()
// -----
"keep.array"() {value = array<bf16: 1.0, 0x7FC1, 0x0001>} : () -> ()
// -----
"keep.array"() {value = array<f8E4M3FN: 448.0, 0x7F, 0x01, 0x80>} : () -> ()
// -----
"keep.array"() {value = array<f8E5M2: 57344.0, 0x7C, 0x7D>} : () -> ()
// -----
"keep.array"() {value = array<f8E8M0FNU: 1.0, 0xFF, 0x00>} : () -> ()
// -----
"keep.array"() {a = array<f80: 1.0, 0x3FFF8000000000000001>, b = array<f128: 1.0, 0x7FFF8000000000000000000000000001>} : () -> ()
// -----
// Empty arrays of several types.
"keep.array"() {a = array<f32>, b = array<i1>, c = array<i64>} : () -> ()
// -----
// Hexadecimal integers.
"keep.array"() {value = array<i32: 0x10, 0xFFFFFFFF, -0x10>} : () -> ()
