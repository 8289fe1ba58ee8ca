// Parallel loops, their reductions, and the choice by an index.

func.func @sums(%first: index, %last: index, %step: index, %start: f32, %memory: memref<4x4xindex>) -> (f32, index) {
  scf.parallel (%i, %j) = (%first, %first) to (%last, %last) step (%step, %step) {
    %sum = arith.addi %i, %j : index
    memref.store %sum, %memory[%i, %j] : memref<4x4xindex>
  }
  %0:2 = scf.parallel (%i) = (%first) to (%last) step (%step) init (%start, %first) -> (f32, index) {
    %word = arith.index_cast %i : index to i32
    %term = arith.sitofp %word : i32 to f32
    scf.reduce(%term, %i : f32, index) {
    ^bb0(%total: f32, %each: f32):
      %next = arith.addf %total, %each : f32
      scf.reduce.return %next : f32
    }, {
    ^bb0(%most: index, %each: index):
      %next = arith.maxsi %most, %each : index
      scf.reduce.return %next : index
    }
  } {note = "two reductions"}
  return %0#0, %0#1 : f32, index
}

func.func @parts(%count: index, %whole: tensor<4x8xf32>, %memory: memref<8xf32>, %x: f32) -> tensor<4x8xf32> {
  %0 = scf.forall (%i, %j) in (%count, 4) shared_outs(%out = %whole) -> (tensor<4x8xf32>) {
    %part = tensor.extract_slice %out[%i, %j] [1, 2] [1, 1] : tensor<4x8xf32> to tensor<1x2xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %part into %out[%i, %j] [1, 2] [1, 1] : tensor<1x2xf32> into tensor<4x8xf32>
    }
  } {mapping = [#gpu.thread<x>, #gpu.thread<y>]}
  scf.forall (%i) = (%count) to (8) step (2) {
    memref.store %x, %memory[%i] : memref<8xf32>
  }
  return %0 : tensor<4x8xf32>
}

func.func @chosen(%which: index) -> i32 {
  %0 = scf.index_switch %which -> i32
  case 2 {
    %c = arith.constant 10 : i32
    scf.yield %c : i32
  }
  case 5 {
    %c = arith.constant 20 : i32
    scf.yield %c : i32
  }
  default {
    %c = arith.constant 30 : i32
    scf.yield %c : i32
  }
  scf.index_switch %which {note = "nothing to choose"}
  default {
  }
  return %0 : i32
}

// -----

// Attributes of one's own, and a step that is an operand.
func.func @notes(%n: index, %x: f32, %whole: tensor<4xf32>, %part: tensor<1xf32>) {
  %0 = scf.parallel (%i) = (%n) to (%n) step (%n) init (%x) -> f32 {
    scf.reduce(%x : f32) {
    ^bb0(%total: f32, %each: f32):
      scf.reduce.return %total {note = 1 : i32} : f32
    } {note = 2 : i32}
  }
  %1 = scf.forall (%i) = (%n) to (%n) step (%n) shared_outs(%out = %whole) -> (tensor<4xf32>) {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %part into %out[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    } {note = 3 : i32}
  } {note = 4 : i32}
  return
}

// -----

// The same ops in generic form.
"builtin.module"() ({
  "func.func"() <{function_type = (index, index, index, f32, memref<4x4xindex>) -> (f32, index), sym_name = "sums"}> ({
  ^bb0(%arg9: index, %arg10: index, %arg11: index, %arg12: f32, %arg13: memref<4x4xindex>):
    "scf.parallel"(%arg9, %arg9, %arg10, %arg10, %arg11, %arg11) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
    ^bb0(%arg19: index, %arg20: index):
      %11 = "arith.addi"(%arg19, %arg20) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      "memref.store"(%11, %arg13, %arg19, %arg20) : (index, memref<4x4xindex>, index, index) -> ()
      "scf.reduce"() : () -> ()
    }) : (index, index, index, index, index, index) -> ()
    %6:2 = "scf.parallel"(%arg9, %arg10, %arg11, %arg12, %arg9) <{operandSegmentSizes = array<i32: 1, 1, 1, 2>}> ({
    ^bb0(%arg14: index):
      %7 = "arith.index_cast"(%arg14) : (index) -> i32
      %8 = "arith.sitofp"(%7) : (i32) -> f32
      "scf.reduce"(%8, %arg14) ({
      ^bb0(%arg17: f32, %arg18: f32):
        %10 = "arith.addf"(%arg17, %arg18) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
        "scf.reduce.return"(%10) : (f32) -> ()
      }, {
      ^bb0(%arg15: index, %arg16: index):
        %9 = "arith.maxsi"(%arg15, %arg16) : (index, index) -> index
        "scf.reduce.return"(%9) : (index) -> ()
      }) : (f32, index) -> ()
    }) {note = "two reductions"} : (index, index, index, f32, index) -> (f32, index)
    "func.return"(%6#0, %6#1) : (f32, index) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (index, tensor<4x8xf32>, memref<8xf32>, f32) -> tensor<4x8xf32>, sym_name = "parts"}> ({
  ^bb0(%arg1: index, %arg2: tensor<4x8xf32>, %arg3: memref<8xf32>, %arg4: f32):
    %4 = "scf.forall"(%arg1, %arg2) <{mapping = [#gpu.thread<x>, #gpu.thread<y>], operandSegmentSizes = array<i32: 0, 1, 0, 1>, staticLowerBound = array<i64: 0, 0>, staticStep = array<i64: 1, 1>, staticUpperBound = array<i64: -9223372036854775808, 4>}> ({
    ^bb0(%arg6: index, %arg7: index, %arg8: tensor<4x8xf32>):
      %5 = "tensor.extract_slice"(%arg8, %arg6, %arg7) <{operandSegmentSizes = array<i32: 1, 2, 0, 0>, static_offsets = array<i64: -9223372036854775808, -9223372036854775808>, static_sizes = array<i64: 1, 2>, static_strides = array<i64: 1, 1>}> : (tensor<4x8xf32>, index, index) -> tensor<1x2xf32>
      "scf.forall.in_parallel"() ({
        "tensor.parallel_insert_slice"(%5, %arg8, %arg6, %arg7) <{operandSegmentSizes = array<i32: 1, 1, 2, 0, 0>, static_offsets = array<i64: -9223372036854775808, -9223372036854775808>, static_sizes = array<i64: 1, 2>, static_strides = array<i64: 1, 1>}> : (tensor<1x2xf32>, tensor<4x8xf32>, index, index) -> ()
      }) : () -> ()
    }) : (index, tensor<4x8xf32>) -> tensor<4x8xf32>
    "scf.forall"(%arg1) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, staticLowerBound = array<i64: -9223372036854775808>, staticStep = array<i64: 2>, staticUpperBound = array<i64: 8>}> ({
    ^bb0(%arg5: index):
      "memref.store"(%arg4, %arg3, %arg5) : (f32, memref<8xf32>, index) -> ()
      "scf.forall.in_parallel"() ({
      ^bb0:
      }) : () -> ()
    }) : (index) -> ()
    "func.return"(%4) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (index) -> i32, sym_name = "chosen"}> ({
  ^bb0(%arg0: index):
    %0 = "scf.index_switch"(%arg0) <{cases = array<i64: 2, 5>}> ({
      %3 = "arith.constant"() <{value = 30 : i32}> : () -> i32
      "scf.yield"(%3) : (i32) -> ()
    }, {
      %2 = "arith.constant"() <{value = 10 : i32}> : () -> i32
      "scf.yield"(%2) : (i32) -> ()
    }, {
      %1 = "arith.constant"() <{value = 20 : i32}> : () -> i32
      "scf.yield"(%1) : (i32) -> ()
    }) : (index) -> i32
    "scf.index_switch"(%arg0) <{cases = array<i64>}> ({
      "scf.yield"() : () -> ()
    }) {note = "nothing to choose"} : (index) -> ()
    "func.return"(%0) : (i32) -> ()
  }) : () -> ()
}) : () -> ()
