// Parallel loops and choices that mlir-opt rejects.
func.func @f() {
  scf.parallel () = () to () step () {
  }
  return
}
// -----
func.func @f(%i: index) {
  %c0 = arith.constant 0 : index
  scf.parallel (%a) = (%i) to (%i) step (%c0) {
  }
  return
}
// -----
func.func @f(%i: index) {
  "scf.parallel"(%i, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%a: index, %b: index):
    scf.reduce
  }) : (index, index, index) -> ()
  return
}
// -----
func.func @f(%i: index) {
  "scf.parallel"(%i, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%a: i32):
    scf.reduce
  }) : (index, index, index) -> ()
  return
}
// -----
func.func @f(%i: index) {
  scf.parallel (%a) = (%i) to (%i) step (%i) {
    func.return
  }
  return
}
// -----
func.func @f(%i: index) {
  %r = scf.parallel (%a) = (%i) to (%i) step (%i) -> index {
  }
  return
}
// -----
func.func @f(%i: index) {
  %r = scf.parallel (%a) = (%i) to (%i) step (%i) init (%i) -> index {
  }
  return
}
// -----
func.func @f(%i: index, %x: f32) {
  %r = scf.parallel (%a) = (%i) to (%i) step (%i) init (%i) -> index {
    scf.reduce(%x : f32) {
    ^bb0(%b: f32, %c: f32):
      scf.reduce.return %b : f32
    }
  }
  return
}
// -----
func.func @f(%i: index) {
  %r = scf.parallel (%a) = (%i) to (%i) step (%i) init (%i) -> index {
    scf.reduce(%a : index) {
    ^bb0(%b: index, %c: i32):
      scf.reduce.return %b : index
    }
  }
  return
}
// -----
func.func @f(%i: index, %x: i32) {
  %r = scf.parallel (%a) = (%i) to (%i) step (%i) init (%i) -> index {
    scf.reduce(%a : index) {
    ^bb0(%b: index, %c: index):
      scf.reduce.return %x : i32
    }
  }
  return
}
// -----
func.func @f(%i: index) {
  scf.forall (%a, %b) in (4) {
  }
  return
}
// -----
func.func @f(%i: index) {
  scf.forall (%a) in (4) {
  } {mapping = [#gpu.thread<x>, #gpu.thread<y>]}
  return
}
// -----
func.func @f(%i: index) {
  scf.forall (%a) in (4) {
  } {mapping = [3]}
  return
}
// -----
func.func @f(%i: index) {
  scf.forall (%a) in (4) {
  } {mapping = [#gpu.thread<x>, #gpu.mask<1>, #gpu.mask<2>]}
  return
}
// -----
func.func @f(%t: tensor<4xf32>) {
  %0:2 = scf.forall (%a) in (4) shared_outs(%o = %t) -> (tensor<4xf32>, tensor<4xf32>) {
  }
  return
}
// -----
func.func @f(%t: tensor<4xf32>) {
  %0 = scf.forall (%a) in (4) shared_outs(%o = %t) -> tensor<4xf32> {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %t[0] [4] [1] : tensor<4xf32> into tensor<4xf32>
    }
  }
  return
}
// -----
func.func @f(%t: tensor<4xf32>) {
  %0 = scf.forall (%a) in (4) shared_outs(%o = %t) -> tensor<4xf32> {
    scf.forall.in_parallel {
      %c = arith.constant 0 : index
    }
  }
  return
}
// -----
func.func @f(%i: index, %t: tensor<4xf32>) {
  "scf.forall"(%t) <{operandSegmentSizes = array<i32: 0, 0, 0, 1>, staticLowerBound = array<i64: 0>, staticStep = array<i64: 1>, staticUpperBound = array<i64: 4>}> ({
  ^bb0(%a: index, %o: tensor<5xf32>):
    "scf.forall.in_parallel"() ({
    ^bb0:
    }) : () -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
// -----
func.func @f(%i: index) {
  "scf.forall"(%i) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, staticLowerBound = array<i64: 0>, staticStep = array<i64: 1>, staticUpperBound = array<i64: 4>}> ({
  ^bb0(%a: index):
    "scf.forall.in_parallel"() ({
    ^bb0:
    }) : () -> ()
  }) : (index) -> ()
  return
}
// -----
func.func @f(%i: index) {
  scf.index_switch %i
  case 1 {
  }
  default {
  }
  return
}
// -----
func.func @f(%i: index) {
  scf.index_switch %i
  case 1 {
    scf.yield
  }
  case 1 {
    scf.yield
  }
  default {
  }
  return
}
// -----
func.func @f(%i: index) {
  %0 = scf.index_switch %i -> i32
  default {
    scf.yield %i : index
  }
  return
}
// -----
func.func @f(%i: index) {
  "scf.index_switch"(%i) <{cases = array<i64: 1>}> ({
    scf.yield
  }) : (index) -> ()
  return
}
// -----
// The name of one of several results for an argument.
func.func @f(%x: index, %a: i32) {
  %r:2 = scf.for %i = %x to %x step %x iter_args(%r#1 = %a, %q = %a) -> (i32, i32) { scf.yield %q, %q : i32, i32 }
  return
}
// -----
func.func @f(%x: index, %a: i32) {
  scf.parallel (%i#1) = (%x) to (%x) step (%x) { }
  return
}
// -----
func.func @f(%x: index, %a: i32) {
  scf.forall (%i#1) in (3) { }
  return
}
