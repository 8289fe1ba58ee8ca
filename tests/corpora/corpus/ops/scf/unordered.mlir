// Loops whose iterations may run in any order, and the choice of a region by a number.
func.func @parallel(%lo: index, %hi: index, %step: index, %m: memref<?xf32>, %x: f32) -> (f32, i32) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : i32
  scf.parallel (%i) = (%lo) to (%hi) step (%step) {
    memref.store %x, %m[%i] : memref<?xf32>
  }
  scf.parallel (%i, %j) = (%lo, %lo) to (%hi, %hi) step (%step, %step) {
    "keep.op"(%i, %j) : (index, index) -> ()
    scf.reduce
  } {keep.a}
  %r = scf.parallel (%i) = (%lo) to (%hi) step (%step) init (%zero) -> f32 {
    %v = memref.load %m[%i] : memref<?xf32>
    scf.reduce(%v : f32) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      scf.reduce.return %s : f32
    }
  }
  %q:2 = scf.parallel (%i, %j) = (%lo, %lo) to (%hi, %hi) step (%step, %step) init (%r, %one) -> (f32, i32) {
    scf.reduce(%x, %one : f32, i32) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.maximumf %a, %b : f32
      scf.reduce.return %s {keep.b} : f32
    }, {
    ^bb0(%a: i32, %b: i32):
      %s = arith.muli %a, %b : i32
      scf.reduce.return %s : i32
    } {keep.c}
  } {keep.d}
  return %q#0, %q#1 : f32, i32
}
// -----
// Generic form.
func.func @generic(%lo: index, %hi: index, %step: index, %x: f32) -> f32 {
  "scf.parallel"(%lo, %hi, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    "scf.reduce"() : () -> ()
  }) : (index, index, index) -> ()
  %0 = "scf.parallel"(%lo, %hi, %step, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
  ^bb0(%i: index):
    "scf.reduce"(%x) ({
    ^bb0(%a: f32, %b: f32):
      "scf.reduce.return"(%a) : (f32) -> ()
    }) : (f32) -> ()
  }) {keep.b} : (index, index, index, f32) -> f32
  return %0 : f32
}
// -----
// Bounds of scf.forall: numbers and values, from zero by one or not; what runs the iterations.
func.func @forall(%lo: index, %hi: index, %step: index, %m: memref<?x?xf32>, %x: f32) {
  scf.forall (%i) in (4) {
  }
  scf.forall (%i, %j) in (%hi, 8) {
    memref.store %x, %m[%i, %j] : memref<?x?xf32>
  } {mapping = [#gpu.block<x>, #gpu.thread<linear_dim_3>]}
  scf.forall (%i, %j) = (%lo, 2) to (%hi, 8) step (3, %step) {
    "keep.op"(%i, %j) : (index, index) -> ()
    scf.forall.in_parallel {
    }
  } {keep.a, mapping = [#gpu.warp<y>, #gpu.lane<z>, #gpu.mask<0x1f>]}
  scf.forall (%i) in (%hi) {
  } {mapping = []}
  scf.forall (%i) = (0) to (%hi) step (1) {
  } {mapping = [#gpu.warpgroup<x>]}
  scf.forall (%i) = (0) to (4) step (2) {
  }
  return
}
// -----
// Tensors that the iterations share.
func.func @shared(%a: tensor<8xf32>, %b: tensor<4x?xf32>, %n: index, %x: f32) -> (tensor<8xf32>, tensor<4x?xf32>) {
  %0:2 = scf.forall (%i) in (%n) shared_outs(%o = %a, %p = %b) -> (tensor<8xf32>, tensor<4x?xf32>) {
    %s = tensor.extract_slice %o[%i] [2] [1] : tensor<8xf32> to tensor<2xf32>
    %t = tensor.extract_slice %p[0, %i] [4, 1] [1, 1] : tensor<4x?xf32> to tensor<4xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i] [2] [1] : tensor<2xf32> into tensor<8xf32>
      tensor.parallel_insert_slice %t into %p[0, %i] [4, 1] [1, 1] : tensor<4xf32> into tensor<4x?xf32>
    }
  } {mapping = [#gpu.thread<x>], keep.b}
  %1 = scf.forall (%i, %j) = (0, %n) to (4, 8) step (%n, 2) shared_outs(%o = %0#0) -> tensor<8xf32> {
    scf.forall.in_parallel {
    } {keep.c}
  }
  return %1, %0#1 : tensor<8xf32>, tensor<4x?xf32>
}
// -----
// Generic form.
func.func @generic(%n: index, %a: tensor<8xf32>) -> tensor<8xf32> {
  "scf.forall"(%n, %n, %n) <{
    operandSegmentSizes = array<i32: 1, 1, 1, 0>, staticLowerBound = array<i64: -9223372036854775808>,
    staticStep = array<i64: -9223372036854775808>, staticUpperBound = array<i64: -9223372036854775808>
  }> ({
  ^bb0(%i: index):
    "scf.forall.in_parallel"() ({
    ^bb0:
    }) : () -> ()
  }) {keep.b} : (index, index, index) -> ()
  %0 = "scf.forall"(%a) <{
    mapping = [#gpu.block<z>], operandSegmentSizes = array<i32: 0, 0, 0, 1>, staticLowerBound = array<i64: 0>,
    staticStep = array<i64: 2>, staticUpperBound = array<i64: 6>
  }> ({
  ^bb0(%i: index, %o: tensor<8xf32>):
    "scf.forall.in_parallel"() ({
    ^bb0:
    }) : () -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// -----
// A choice of a region.
func.func @switch(%n: index, %x: i32) -> (i32, i32, i32) {
  scf.index_switch %n
  case 0 {
    "keep.op"() : () -> ()
    scf.yield
  }
  case -9223372036854775808 {
    scf.yield
  }
  default {
    "keep.op"() : () -> ()
  }
  scf.index_switch %n {keep.a}
  default {
    scf.yield
  }
  %0 = scf.index_switch %n -> i32
  case 9223372036854775807 {
    scf.yield %x : i32
  }
  case -1 {
    scf.yield %x : i32
  }
  default {
    %c = arith.constant 7 : i32
    scf.yield %c : i32
  }
  %1:2 = "scf.index_switch"(%n) <{cases = array<i64: 3>}> ({
    "scf.yield"(%x, %0) : (i32, i32) -> ()
  }, {
    "scf.yield"(%0, %x) : (i32, i32) -> ()
  }) {keep.b} : (index) -> (i32, i32)
  "scf.index_switch"(%n) <{cases = array<i64>}> ({
    "scf.yield"() : () -> ()
  }) : (index) -> ()
  return %0, %1#0, %1#1 : i32, i32, i32
}
