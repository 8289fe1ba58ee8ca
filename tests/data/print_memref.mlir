func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
func.func private @printMemrefF64(memref<*xf64>) attributes {llvm.emit_c_interface}
func.func private @printMemrefF16(memref<*xf16>) attributes {llvm.emit_c_interface}
func.func private @printMemrefBF16(memref<*xbf16>) attributes {llvm.emit_c_interface}
func.func private @printMemrefI8(memref<*xi8>) attributes {llvm.emit_c_interface}
func.func private @printMemrefI16(memref<*xi16>) attributes {llvm.emit_c_interface}
func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}
func.func private @printMemrefI64(memref<*xi64>) attributes {llvm.emit_c_interface}
func.func private @printMemrefInd(memref<*xindex>) attributes {llvm.emit_c_interface}
func.func private @printMemrefShapeF32(memref<*xf32>) attributes {llvm.emit_c_interface}
func.func private @printMemref0dF32(memref<f32>) attributes {llvm.emit_c_interface}
func.func private @printMemref1dF32(memref<?xf32>) attributes {llvm.emit_c_interface}
func.func private @printMemref2dF32(memref<?x?xf32, strided<[?, ?], offset: ?>>) attributes {llvm.emit_c_interface}
func.func private @printMemref1dI8(memref<?xi8>) attributes {llvm.emit_c_interface}
func.func private @printMemref1dInd(memref<?xindex>) attributes {llvm.emit_c_interface}
func.func private @printNewline()
func.func private @printComma()
func.func private @printOpen()
func.func private @printClose()
func.func private @printI64(i64)
func.func private @printU64(i64)
func.func private @printF32(f32)
func.func private @printF64(f64)
func.func private @verifyMemRefF32(memref<*xf32>, memref<*xf32>) -> i64 attributes {llvm.emit_c_interface}
func.func private @verifyMemRefI32(memref<*xi32>, memref<*xi32>) -> i64 attributes {llvm.emit_c_interface}
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %m = memref.alloc() : memref<2x3xf32>
  scf.for %i = %c0 to %c2 step %c1 {
    scf.for %j = %c0 to %c3 step %c1 {
      %a = arith.muli %i, %c3 : index
      %b = arith.addi %a, %j : index
      %k = arith.index_cast %b : index to i32
      %f = arith.sitofp %k : i32 to f32
      %h = arith.constant 1.1 : f32
      %g = arith.mulf %f, %h : f32
      memref.store %g, %m[%i, %j] : memref<2x3xf32>
    }
  }
  %u = memref.cast %m : memref<2x3xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  call @printMemrefShapeF32(%u) : (memref<*xf32>) -> ()
  %s = memref.subview %m[0, 1] [2, 2] [1, 1] : memref<2x3xf32> to memref<2x2xf32, strided<[3, 1], offset: 1>>
  %su = memref.cast %s : memref<2x2xf32, strided<[3, 1], offset: 1>> to memref<*xf32>
  call @printMemrefF32(%su) : (memref<*xf32>) -> ()
  %s1 = memref.subview %m[1, 1] [1, 1] [1, 1] : memref<2x3xf32> to memref<1x1xf32, strided<[3, 1], offset: 4>>
  %s1u = memref.cast %s1 : memref<1x1xf32, strided<[3, 1], offset: 4>> to memref<*xf32>
  call @printMemrefF32(%s1u) : (memref<*xf32>) -> ()
  %d = memref.cast %s : memref<2x2xf32, strided<[3, 1], offset: 1>> to memref<?x?xf32, strided<[?, ?], offset: ?>>
  call @printMemref2dF32(%d) : (memref<?x?xf32, strided<[?, ?], offset: ?>>) -> ()
  %r0 = memref.alloc() : memref<f32>
  %nan = arith.constant 0xFFC00000 : f32
  memref.store %nan, %r0[] : memref<f32>
  %r0u = memref.cast %r0 : memref<f32> to memref<*xf32>
  call @printMemrefF32(%r0u) : (memref<*xf32>) -> ()
  call @printMemref0dF32(%r0) : (memref<f32>) -> ()
  %h3 = memref.alloc() : memref<2x1x2x2xi32>
  scf.for %i = %c0 to %c2 step %c1 {
    scf.for %j = %c0 to %c2 step %c1 {
      scf.for %k = %c0 to %c2 step %c1 {
        %a = arith.muli %i, %c2 : index
        %b = arith.addi %a, %j : index
        %e = arith.muli %b, %c2 : index
        %g = arith.addi %e, %k : index
        %x = arith.index_cast %g : index to i32
        %y = arith.constant 3 : i32
        %z = arith.subi %x, %y : i32
        memref.store %z, %h3[%i, %c0, %j, %k] : memref<2x1x2x2xi32>
      }
    }
  }
  %h3u = memref.cast %h3 : memref<2x1x2x2xi32> to memref<*xi32>
  call @printMemrefI32(%h3u) : (memref<*xi32>) -> ()
  %i8 = memref.alloc() : memref<3xi8>
  %z8 = arith.constant 90 : i8
  %n8 = arith.constant -1 : i8
  memref.store %z8, %i8[%c0] : memref<3xi8>
  memref.store %z8, %i8[%c1] : memref<3xi8>
  memref.store %n8, %i8[%c2] : memref<3xi8>
  %i8u = memref.cast %i8 : memref<3xi8> to memref<*xi8>
  call @printMemrefI8(%i8u) : (memref<*xi8>) -> ()
  %i8d = memref.cast %i8 : memref<3xi8> to memref<?xi8>
  call @printMemref1dI8(%i8d) : (memref<?xi8>) -> ()
  %ix = memref.alloc() : memref<2xindex>
  %m1 = arith.constant -1 : index
  memref.store %m1, %ix[%c0] : memref<2xindex>
  memref.store %c3, %ix[%c1] : memref<2xindex>
  %ixu = memref.cast %ix : memref<2xindex> to memref<*xindex>
  call @printMemrefInd(%ixu) : (memref<*xindex>) -> ()
  %ixd = memref.cast %ix : memref<2xindex> to memref<?xindex>
  call @printMemref1dInd(%ixd) : (memref<?xindex>) -> ()
  %f16 = memref.alloc() : memref<2xf16>
  %v16 = arith.constant -1.1 : f16
  %w16 = arith.constant 65504.0 : f16
  memref.store %v16, %f16[%c0] : memref<2xf16>
  memref.store %w16, %f16[%c1] : memref<2xf16>
  %f16u = memref.cast %f16 : memref<2xf16> to memref<*xf16>
  call @printMemrefF16(%f16u) : (memref<*xf16>) -> ()
  %bf = memref.alloc() : memref<1xbf16>
  %vb = arith.constant 3.140625 : bf16
  memref.store %vb, %bf[%c0] : memref<1xbf16>
  %bfu = memref.cast %bf : memref<1xbf16> to memref<*xbf16>
  call @printMemrefBF16(%bfu) : (memref<*xbf16>) -> ()
  %f64 = memref.alloc() : memref<1xf64>
  %v64 = arith.constant 1.0e+100 : f64
  memref.store %v64, %f64[%c0] : memref<1xf64>
  %f64u = memref.cast %f64 : memref<1xf64> to memref<*xf64>
  call @printMemrefF64(%f64u) : (memref<*xf64>) -> ()
  %i64 = memref.alloc() : memref<1xi64>
  %w64 = arith.constant -9223372036854775808 : i64
  memref.store %w64, %i64[%c0] : memref<1xi64>
  %i64u = memref.cast %i64 : memref<1xi64> to memref<*xi64>
  call @printMemrefI64(%i64u) : (memref<*xi64>) -> ()
  %i16 = memref.alloc() : memref<1xi16>
  %n16 = arith.constant -2 : i16
  memref.store %n16, %i16[%c0] : memref<1xi16>
  %i16u = memref.cast %i16 : memref<1xi16> to memref<*xi16>
  call @printMemrefI16(%i16u) : (memref<*xi16>) -> ()
  call @printOpen() : () -> ()
  call @printI64(%w64) : (i64) -> ()
  call @printComma() : () -> ()
  call @printU64(%w64) : (i64) -> ()
  call @printComma() : () -> ()
  call @printF32(%nan) : (f32) -> ()
  call @printComma() : () -> ()
  call @printF64(%v64) : (f64) -> ()
  call @printClose() : () -> ()
  call @printNewline() : () -> ()
  %e = call @verifyMemRefF32(%u, %u) : (memref<*xf32>, memref<*xf32>) -> i64
  call @printI64(%e) : (i64) -> ()
  call @printNewline() : () -> ()
  %e1 = call @verifyMemRefF32(%su, %u) : (memref<*xf32>, memref<*xf32>) -> i64
  call @printI64(%e1) : (i64) -> ()
  call @printNewline() : () -> ()
  %e2 = call @verifyMemRefF32(%r0u, %r0u) : (memref<*xf32>, memref<*xf32>) -> i64
  call @printI64(%e2) : (i64) -> ()
  call @printNewline() : () -> ()
  return
}
