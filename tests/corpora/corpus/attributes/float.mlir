// f4E2M1FN: decimals.
"keep.float"() {one = 1.0 : f4E2M1FN, minus = -2.0 : f4E2M1FN, large = 6.0 : f4E2M1FN, small = 0.5 : f4E2M1FN, huge = 1.0e400 : f4E2M1FN} : () -> ()
// -----
// f4E2M1FN: bit patterns.
"keep.float"() {first = 0x1 : f4E2M1FN, zero = 0x0 : f4E2M1FN, highest = 0x8 : f4E2M1FN, random = 0x5 : f4E2M1FN} : () -> ()
// -----
// f6E2M3FN: decimals.
"keep.float"() {one = 1.0 : f6E2M3FN, minus = -2.0 : f6E2M3FN, large = 7.5 : f6E2M3FN, small = 0.125 : f6E2M3FN, huge = 1.0e400 : f6E2M3FN} : () -> ()
// -----
// f6E2M3FN: bit patterns.
"keep.float"() {first = 0x1 : f6E2M3FN, zero = 0x0 : f6E2M3FN, highest = 0x20 : f6E2M3FN, random = 0x3D : f6E2M3FN} : () -> ()
// -----
// f6E3M2FN: decimals.
"keep.float"() {one = 1.0 : f6E3M2FN, minus = -2.0 : f6E3M2FN, large = 28.0 : f6E3M2FN, small = 0.0625 : f6E3M2FN, huge = 1.0e400 : f6E3M2FN} : () -> ()
// -----
// f6E3M2FN: bit patterns.
"keep.float"() {first = 0x1 : f6E3M2FN, zero = 0x0 : f6E3M2FN, highest = 0x20 : f6E3M2FN, random = 0x9 : f6E3M2FN} : () -> ()
// -----
// f8E3M4: decimals.
"keep.float"() {one = 1.0 : f8E3M4, minus = -2.0 : f8E3M4, large = 15.5 : f8E3M4, small = 0.015625 : f8E3M4, huge = 1.0e400 : f8E3M4} : () -> ()
// -----
// f8E3M4: bit patterns.
"keep.float"() {infinity = 0x70 : f8E3M4, nan0 = 0x71 : f8E3M4, nan1 = 0xFF : f8E3M4, first = 0x1 : f8E3M4, zero = 0x0 : f8E3M4, highest = 0x80 : f8E3M4, random = 0x65 : f8E3M4} : () -> ()
// -----
// f8E4M3: decimals.
"keep.float"() {one = 1.0 : f8E4M3, minus = -2.0 : f8E4M3, large = 240.0 : f8E4M3, small = 0.001953125 : f8E4M3, huge = 1.0e400 : f8E4M3} : () -> ()
// -----
// f8E4M3: bit patterns.
"keep.float"() {infinity = 0x78 : f8E4M3, nan0 = 0x79 : f8E4M3, nan1 = 0xFF : f8E4M3, first = 0x1 : f8E4M3, zero = 0x0 : f8E4M3, highest = 0x80 : f8E4M3, random = 0xA7 : f8E4M3} : () -> ()
// -----
// f8E4M3B11FNUZ: decimals.
"keep.float"() {one = 1.0 : f8E4M3B11FNUZ, minus = -2.0 : f8E4M3B11FNUZ, large = 30.0 : f8E4M3B11FNUZ, small = 1.220703125e-04 : f8E4M3B11FNUZ, huge = 1.0e400 : f8E4M3B11FNUZ} : () -> ()
// -----
// f8E4M3B11FNUZ: bit patterns.
"keep.float"() {nan0 = 0x80 : f8E4M3B11FNUZ, first = 0x1 : f8E4M3B11FNUZ, zero = 0x0 : f8E4M3B11FNUZ, highest = 0x80 : f8E4M3B11FNUZ, random = 0xD : f8E4M3B11FNUZ} : () -> ()
// -----
// f8E4M3FN: decimals.
"keep.float"() {one = 1.0 : f8E4M3FN, minus = -2.0 : f8E4M3FN, large = 448.0 : f8E4M3FN, small = 0.001953125 : f8E4M3FN, huge = 1.0e400 : f8E4M3FN} : () -> ()
// -----
// f8E4M3FN: bit patterns.
"keep.float"() {nan0 = 0x7F : f8E4M3FN, nan1 = 0xFF : f8E4M3FN, first = 0x1 : f8E4M3FN, zero = 0x0 : f8E4M3FN, highest = 0x80 : f8E4M3FN, random = 0x13 : f8E4M3FN} : () -> ()
// -----
// f8E4M3FNUZ: decimals.
"keep.float"() {one = 1.0 : f8E4M3FNUZ, minus = -2.0 : f8E4M3FNUZ, large = 240.0 : f8E4M3FNUZ, small = 9.765625e-04 : f8E4M3FNUZ, huge = 1.0e400 : f8E4M3FNUZ} : () -> ()
// -----
// f8E4M3FNUZ: bit patterns.
"keep.float"() {nan0 = 0x80 : f8E4M3FNUZ, first = 0x1 : f8E4M3FNUZ, zero = 0x0 : f8E4M3FNUZ, highest = 0x80 : f8E4M3FNUZ, random = 0xD3 : f8E4M3FNUZ} : () -> ()
// -----
// f8E5M2: decimals.
"keep.float"() {one = 1.0 : f8E5M2, minus = -2.0 : f8E5M2, large = 57344.0 : f8E5M2, small = 1.52587890625e-05 : f8E5M2, huge = 1.0e400 : f8E5M2} : () -> ()
// -----
// f8E5M2: bit patterns.
"keep.float"() {infinity = 0x7C : f8E5M2, nan0 = 0x7D : f8E5M2, nan1 = 0xFE : f8E5M2, first = 0x1 : f8E5M2, zero = 0x0 : f8E5M2, highest = 0x80 : f8E5M2, random = 0x89 : f8E5M2} : () -> ()
// -----
// f8E5M2FNUZ: decimals.
"keep.float"() {one = 1.0 : f8E5M2FNUZ, minus = -2.0 : f8E5M2FNUZ, large = 57344.0 : f8E5M2FNUZ, small = 7.62939453125e-06 : f8E5M2FNUZ, huge = 1.0e400 : f8E5M2FNUZ} : () -> ()
// -----
// f8E5M2FNUZ: bit patterns.
"keep.float"() {nan0 = 0x80 : f8E5M2FNUZ, first = 0x1 : f8E5M2FNUZ, zero = 0x0 : f8E5M2FNUZ, highest = 0x80 : f8E5M2FNUZ, random = 0x19 : f8E5M2FNUZ} : () -> ()
// -----
// f8E8M0FNU: decimals.
"keep.float"() {one = 1.0 : f8E8M0FNU, minus = 2.0 : f8E8M0FNU, large = 128.0 : f8E8M0FNU, small = 0.5 : f8E8M0FNU, huge = 1.0e38 : f8E8M0FNU} : () -> ()
// -----
// f8E8M0FNU: bit patterns.
"keep.float"() {nan0 = 0xFF : f8E8M0FNU, first = 0x1 : f8E8M0FNU, zero = 0x0 : f8E8M0FNU, highest = 0x80 : f8E8M0FNU, random = 0x5D : f8E8M0FNU} : () -> ()
// -----
// f16: decimals.
"keep.float"() {one = 1.0 : f16, minus = -2.0 : f16, large = 65504.0 : f16, small = 5.9604644775390625e-08 : f16, huge = 1.0e400 : f16} : () -> ()
// -----
// f16: bit patterns.
"keep.float"() {infinity = 0x7C00 : f16, nan0 = 0x7C01 : f16, nan1 = 0xFFFF : f16, first = 0x1 : f16, zero = 0x0 : f16, highest = 0x8000 : f16, random = 0x9531 : f16} : () -> ()
// -----
// bf16: decimals.
"keep.float"() {one = 1.0 : bf16, minus = -2.0 : bf16, large = 1.0e38 : bf16, small = 9.18e-41 : bf16, huge = 1.0e400 : bf16} : () -> ()
// -----
// bf16: bit patterns.
"keep.float"() {infinity = 0x7F80 : bf16, nan0 = 0x7F81 : bf16, nan1 = 0xFFC1 : bf16, first = 0x1 : bf16, zero = 0x0 : bf16, highest = 0x8000 : bf16, random = 0xED9 : bf16} : () -> ()
// -----
// tf32: decimals.
"keep.float"() {one = 1.0 : tf32, minus = -2.0 : tf32, large = 3.4e38 : tf32, small = 1.5 : tf32, huge = 1.0e400 : tf32} : () -> ()
// -----
// tf32: bit patterns.
"keep.float"() {infinity = 0x3FC00 : tf32, nan0 = 0x3FC01 : tf32, nan1 = 0x7FFFF : tf32, first = 0x1 : tf32, zero = 0x0 : tf32, highest = 0x40000 : tf32, random = 0x74713 : tf32} : () -> ()
// -----
// f32: decimals.
"keep.float"() {one = 1.0 : f32, minus = -2.0 : f32, large = 3.4028234663852886e+38 : f32, small = 1.4e-45 : f32, huge = 1.0e400 : f32} : () -> ()
// -----
// f32: bit patterns.
"keep.float"() {infinity = 0x7F800000 : f32, nan0 = 0x7F800001 : f32, nan1 = 0xFFC12345 : f32, first = 0x1 : f32, zero = 0x0 : f32, highest = 0x80000000 : f32, random = 0x81E74EF5 : f32} : () -> ()
// -----
// f64: decimals.
"keep.float"() {one = 1.0 : f64, minus = -2.0 : f64, large = 1.7976931348623157e+308 : f64, small = 4.9e-324 : f64, huge = 1.0e400 : f64} : () -> ()
// -----
// f64: bit patterns.
"keep.float"() {infinity = 0x7FF0000000000000 : f64, nan0 = 0x7FF0000000000001 : f64, nan1 = 0xFFF8DEADBEEF0001 : f64, first = 0x1 : f64, zero = 0x0 : f64, highest = 0x8000000000000000 : f64, random = 0x99950D836F675CD : f64} : () -> ()
// -----
// f80: decimals.
"keep.float"() {one = 1.0 : f80, minus = -2.0 : f80, large = 1.5 : f80, small = 0.1 : f80, huge = 1.0e400 : f80} : () -> ()
// -----
// f80: bit patterns.
"keep.float"() {infinity = 0x7FFF8000000000000000 : f80, nan0 = 0x7FFF8000000000000001 : f80, nan1 = 0xFFFFC000000000ABCDEF : f80, zero = 0x0 : f80, half = 0x3FFE8000000000000000 : f80} : () -> ()
// -----
// f128: decimals.
"keep.float"() {one = 1.0 : f128, minus = -2.0 : f128, large = 1.5 : f128, small = 0.1 : f128, huge = 1.0e400 : f128} : () -> ()
// -----
// f128: bit patterns.
"keep.float"() {infinity = 0x7FFF0000000000000000000000000000 : f128, nan0 = 0x7FFF0000000000000000000000000001 : f128, nan1 = 0xFFFF80000000000000000000DEADBEEF : f128, first = 0x1 : f128, zero = 0x0 : f128, highest = 0x80000000000000000000000000000000 : f128, random = 0x8D116ECE1738F7D93D9C172411E20B8F : f128} : () -> ()
// -----
// The default type is f64.
"keep.float"() {a = 42.0, b = -0.0, c = 1.0e-3, d = 5., e = 6.e2, f = 0.1} : () -> ()
// -----
// Exponents with and without signs.
"keep.float"() {a = 1.0e3 : f32, b = 1.0E+3 : f32, c = 1.0e-3 : f32, d = 12.34e2 : f32} : () -> ()
// -----
// Values that need nine, and seventeen, digits.
"keep.float"() {a = 0.1 : f32, b = 16777216.0 : f32, c = 0x3DCCCCCE : f32, d = 0.1 : f64, e = 0.30000000000000004 : f64} : () -> ()
// -----
// Decimals go through f64 before they are rounded.
"keep.float"() {a = 1.000488281250000001 : f16, b = 0.1 : f128, c = 0.1 : f80} : () -> ()
// -----
// Very many digits.
"keep.float"() {a = 3.14159265358979323846264338327950288419716939937510 : f32, b = 0.00000000000000000000000000000000000000000000000000001 : f64} : () -> ()
// -----
// Half ways between two numbers.
"keep.float"() {a = 2049.0 : f16, b = 2051.0 : f16, c = 16777217.0 : f32, d = 1.25 : f4E2M1FN, e = 1.75 : f4E2M1FN} : () -> ()
