// An induction variable has a bound and a step.
func.func @few_steps(%a: index) {
  scf.parallel (%i, %j) = (%a, %a) to (%a, %a) step (%a) {
  }
  return
}

// -----
// A reduction has a result.
func.func @no_result(%a: index, %x: f32) {
  scf.parallel (%i) = (%a) to (%a) step (%a) {
    scf.reduce(%x : f32) {
    ^bb0(%total: f32, %each: f32):
      scf.reduce.return %total : f32
    }
  }
  return
}

// -----
// The parts of a reduction have its type.
func.func @other_type(%a: index, %x: f32) -> f32 {
  %0 = scf.parallel (%i) = (%a) to (%a) step (%a) init (%x) -> f32 {
    scf.reduce(%x : f32) {
    ^bb0(%total: f32, %each: f64):
      scf.reduce.return %total : f32
    }
  }
  return %0 : f32
}

// -----
// A case is written once.
func.func @again(%which: index) {
  scf.index_switch %which
  case 1 {
  }
  case 1 {
  }
  default {
  }
  return
}

// -----
// All regions give the results.
func.func @fewer(%which: index) -> i32 {
  %0 = scf.index_switch %which -> i32
  case 1 {
    scf.yield
  }
  default {
    %c = arith.constant 30 : i32
    scf.yield %c : i32
  }
  return %0 : i32
}

// -----
// Only parts of tensors may be put in.
func.func @other_op(%count: index, %whole: tensor<4xf32>) -> tensor<4xf32> {
  %0 = scf.forall (%i) in (%count) shared_outs(%out = %whole) -> (tensor<4xf32>) {
    scf.forall.in_parallel {
      %c = arith.constant 0 : index
    }
  }
  return %0 : tensor<4xf32>
}

// -----

// A loop without dimensions.
func.func @no_dimension() {
  "scf.parallel"() <{operandSegmentSizes = array<i32: 0, 0, 0, 0>}> ({
    "scf.reduce"() : () -> ()
  }) : () -> ()
  return
}
