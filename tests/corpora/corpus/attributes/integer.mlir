"keep.integer"() {value = 10 : i32} : () -> ()
// -----
"keep.integer"() {value = 10} : () -> ()
// -----
"keep.integer"() {yes = true, no = false, one = 1 : i1, zero = 0 : i1, minus = -1 : i1} : () -> ()
// -----
// Zero bits hold zero.
"keep.integer"() {value = 0 : i0} : () -> ()
// -----
// The ends of the signless types; the upper half is printed negative.
"keep.integer"() {a = 127 : i8, b = 128 : i8, c = 255 : i8, d = -128 : i8} : () -> ()
// -----
// Signed and unsigned.
"keep.integer"() {a = -128 : si8, b = 127 : si8, c = 255 : ui8, d = 0 : ui8, e = 18446744073709551615 : ui64} : () -> ()
// -----
// Index is signed with 64 bits.
"keep.integer"() {a = 0 : index, b = -1 : index, c = 9223372036854775807 : index, d = -9223372036854775808 : index} : () -> ()
// -----
// Hexadecimal.
"keep.integer"() {a = 0x0 : i8, b = 0xff : i8, c = 0xDEADBEEF : i32, d = -0x10 : i32, e = 0x10} : () -> ()
// -----
// Widths that are no power of two.
"keep.integer"() {a = 3 : i2, b = -4 : i3, c = 31 : i5, d = 4095 : i12, e = -1 : i47} : () -> ()
// -----
// 128 bits and more.
"keep.integer"() {a = 170141183460469231731687303715884105727 : i128, b = -170141183460469231731687303715884105728 : i128, c = 340282366920938463463374607431768211455 : ui128, d = 1 : i1024} : () -> ()
// -----
// Leading zeros.
"keep.integer"() {a = 007 : i8, b = 0x00000001 : i2, c = 00} : () -> ()
// -----
// A wide constant used by an op.
func.func @wide() -> i256 {
  %0 = arith.constant 115792089237316195423570985008687907853269984665640564039457584007913129639935 : i256
  return %0 : i256
}
