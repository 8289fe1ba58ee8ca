// Small programs of the kinds that people write, which `halfulp fuzz --from=mutated` changes.

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>

// --- structured ops on tensors

func.func @matmul(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>, %c: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %r = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<2x3xf32>, tensor<3x2xf32>) outs(%c : tensor<2x2xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

func.func @integer_matmul(%a: tensor<2x3xi32>, %b: tensor<3x2xi32>, %c: tensor<2x2xi32>) -> tensor<2x2xi32> {
  %r = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<2x3xi32>, tensor<3x2xi32>) outs(%c : tensor<2x2xi32>) {
  ^bb0(%x: i32, %y: i32, %z: i32):
    %p = arith.muli %x, %y : i32
    %s = arith.addi %z, %p : i32
    linalg.yield %s : i32
  } -> tensor<2x2xi32>
  return %r : tensor<2x2xi32>
}

func.func @matvec_of_bytes(%a: tensor<3x4xi8>, %b: tensor<4xi8>) -> tensor<3xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<3xi32>
  %c = linalg.fill ins(%zero : i32) outs(%e : tensor<3xi32>) -> tensor<3xi32>
  %r = linalg.generic {indexing_maps = [#ij, #col, #row], iterator_types = ["parallel", "reduction"]}
      ins(%a, %b : tensor<3x4xi8>, tensor<4xi8>) outs(%c : tensor<3xi32>) {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %wide = arith.extsi %x : i8 to i32
    %other = arith.extui %y : i8 to i32
    %p = arith.muli %wide, %other : i32
    %s = arith.addi %z, %p : i32
    linalg.yield %s : i32
  } -> tensor<3xi32>
  return %r : tensor<3xi32>
}

func.func @named_matmul(%a: tensor<2x3xbf16>, %b: tensor<3x2xbf16>) -> tensor<2x2xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x2xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
  %r = linalg.matmul ins(%a, %b : tensor<2x3xbf16>, tensor<3x2xbf16>) outs(%c : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

func.func @bias_and_relu(%a: tensor<2x4xf32>, %bias: tensor<4xf32>) -> tensor<2x4xf32> {
  %e = tensor.empty() : tensor<2x4xf32>
  %r = linalg.generic {indexing_maps = [#ij, #col, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%a, %bias : tensor<2x4xf32>, tensor<4xf32>) outs(%e : tensor<2x4xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %zero = arith.constant 0.0 : f32
    %s = arith.addf %x, %y : f32
    %m = arith.maximumf %s, %zero : f32
    linalg.yield %m : f32
  } -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

func.func @sum_of_a_transpose(%a: tensor<2x3xi16>, %init: tensor<2xi16>) -> tensor<2xi16> {
  %e = tensor.empty() : tensor<3x2xi16>
  %t = linalg.generic {indexing_maps = [#ij, #ji], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<2x3xi16>) outs(%e : tensor<3x2xi16>) {
  ^bb0(%x: i16, %out: i16):
    linalg.yield %x : i16
  } -> tensor<3x2xi16>
  %r = linalg.reduce ins(%t : tensor<3x2xi16>) outs(%init : tensor<2xi16>) dimensions = [0]
    (%x: i16, %sum: i16) {
      %s = arith.addi %x, %sum : i16
      linalg.yield %s : i16
    }
  return %r : tensor<2xi16>
}

func.func @largest(%a: tensor<2x3xf16>) -> tensor<2xf16> {
  %low = arith.constant 0xFC00 : f16
  %e = tensor.empty() : tensor<2xf16>
  %init = linalg.fill ins(%low : f16) outs(%e : tensor<2xf16>) -> tensor<2xf16>
  %r = linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<2x3xf16>) outs(%init : tensor<2xf16>) {
  ^bb0(%x: f16, %max: f16):
    %m = arith.maximumf %x, %max : f16
    linalg.yield %m : f16
  } -> tensor<2xf16>
  return %r : tensor<2xf16>
}

func.func @slices(%a: tensor<4x4xi8>, %b: tensor<2x2xi8>) -> (tensor<2x4xi8>, tensor<4x4xi8>) {
  %s = tensor.extract_slice %a[1, 0] [2, 4] [1, 1] : tensor<4x4xi8> to tensor<2x4xi8>
  %i = tensor.insert_slice %b into %a[1, 1] [2, 2] [2, 1] : tensor<2x2xi8> into tensor<4x4xi8>
  return %s, %i : tensor<2x4xi8>, tensor<4x4xi8>
}

func.func @padded(%a: tensor<2x3xf32>) -> tensor<12xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %a low[1, 0] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<2x3xf32> to tensor<3x4xf32>
  %c = tensor.collapse_shape %p [[0, 1]] : tensor<3x4xf32> into tensor<12xf32>
  return %c : tensor<12xf32>
}

func.func @elementwise(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xi32> {
  %s = arith.subf %a, %b : tensor<4xf32>
  %less = arith.cmpf olt, %a, %b : tensor<4xf32>
  %c = arith.select %less, %s, %b : tensor<4xi1>, tensor<4xf32>
  %bits = arith.bitcast %c : tensor<4xf32> to tensor<4xi32>
  return %bits : tensor<4xi32>
}

// --- vectors

func.func @part_of_memory(%from: memref<4xi32>, %to: memref<4xi32>, %n: index) -> vector<4xi32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 7 : i32
  %mask = vector.create_mask %n : vector<4xi1>
  %v = vector.transfer_read %from[%c0], %pad, %mask {in_bounds = [true]} : memref<4xi32>, vector<4xi32>
  %w = arith.addi %v, %v : vector<4xi32>
  vector.transfer_write %w, %to[%c0], %mask {in_bounds = [true]} : vector<4xi32>, memref<4xi32>
  return %v : vector<4xi32>
}

func.func @read_under_a_mask(%t: tensor<4xf32>, %n: index) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 1.0 : f32
  %mask = vector.create_mask %n : vector<4xi1>
  %v = vector.mask %mask {
    vector.transfer_read %t[%c0], %pad {in_bounds = [true]} : tensor<4xf32>, vector<4xf32>
  } : vector<4xi1> -> vector<4xf32>
  return %v : vector<4xf32>
}

func.func @written_with_a_mask(%v: vector<4xi32>, %t: tensor<4xi32>, %mask: vector<4xi1>) -> tensor<4xi32> {
  %c0 = arith.constant 0 : index
  %r = vector.transfer_write %v, %t[%c0], %mask {in_bounds = [true]} : vector<4xi32>, tensor<4xi32>
  return %r : tensor<4xi32>
}

func.func @masked_sum(%v: vector<4xf32>, %start: f32, %n: index) -> f32 {
  %mask = vector.create_mask %n : vector<4xi1>
  %r = vector.mask %mask { vector.reduction <add>, %v, %start : vector<4xf32> into f32 } : vector<4xi1> -> f32
  return %r : f32
}

func.func @masked_rows(%v: vector<2x3xi16>, %init: vector<2xi16>, %mask: vector<2x3xi1>) -> vector<2xi16> {
  %r = vector.mask %mask {
    vector.multi_reduction <maxsi>, %v, %init [1] : vector<2x3xi16> to vector<2xi16>
  } : vector<2x3xi1> -> vector<2xi16>
  return %r : vector<2xi16>
}

func.func @contraction(%a: vector<2x3xf32>, %b: vector<3x2xf32>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
  %r = vector.contract {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"],
                        kind = #vector.kind<add>} %a, %b, %c
      : vector<2x3xf32>, vector<3x2xf32> into vector<2x2xf32>
  return %r : vector<2x2xf32>
}

func.func @gathered(%m: memref<8xf32>, %v: vector<4xindex>, %mask: vector<4xi1>, %pass: vector<4xf32>) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant dense<7> : vector<4xindex>
  %i = arith.andi %v, %c7 : vector<4xindex>
  %r = vector.gather %m[%c0] [%i], %mask, %pass
      : memref<8xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  return %r : vector<4xf32>
}

func.func @loaded_under_a_mask(%m: memref<4xi8>, %mask: vector<4xi1>, %pass: vector<4xi8>) -> vector<4xi8> {
  %c0 = arith.constant 0 : index
  %r = vector.maskedload %m[%c0], %mask, %pass : memref<4xi8>, vector<4xi1>, vector<4xi8> into vector<4xi8>
  vector.maskedstore %m[%c0], %mask, %pass : memref<4xi8>, vector<4xi1>, vector<4xi8>
  return %r : vector<4xi8>
}

func.func @moved_elements(%v: vector<2x2xi32>, %w: vector<4xi32>, %x: i32) -> vector<4xi32> {
  %c = vector.shape_cast %v : vector<2x2xi32> to vector<4xi32>
  %s = vector.shuffle %c, %w [0, 5, 2, 7] : vector<4xi32>, vector<4xi32>
  %i = vector.insert %x, %s [1] : i32 into vector<4xi32>
  %e = vector.extract %i[2] : i32 from vector<4xi32>
  %b = vector.broadcast %e : i32 to vector<4xi32>
  %r = arith.xori %b, %i : vector<4xi32>
  return %r : vector<4xi32>
}

func.func @strided_slices(%v: vector<4xf16>, %w: vector<2xf16>) -> (vector<2xf16>, vector<4xf16>) {
  %e = vector.extract_strided_slice %v {offsets = [1], sizes = [2], strides = [1]} : vector<4xf16> to vector<2xf16>
  %i = vector.insert_strided_slice %w, %v {offsets = [2], strides = [1]} : vector<2xf16> into vector<4xf16>
  return %e, %i : vector<2xf16>, vector<4xf16>
}

// --- loops, memory and scalars

func.func @sum_of_a_loop(%m: memref<4xi32>, %x: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%sum = %x) -> (i32) {
    %v = memref.load %m[%i] : memref<4xi32>
    %s = arith.addi %sum, %v : i32
    scf.yield %s : i32
  }
  return %r : i32
}

func.func @affine_loop(%m: memref<6xf32>) {
  affine.for %i = 0 to 4 step 2 {
    %v = affine.load %m[%i + 1] : memref<6xf32>
    %w = arith.mulf %v, %v : f32
    affine.store %w, %m[%i] : memref<6xf32>
  }
  return
}

func.func @buffer(%m: memref<4xi16>, %x: i16) -> i16 {
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<4xi16>
  memref.copy %m, %a : memref<4xi16> to memref<4xi16>
  memref.store %x, %a[%c1] : memref<4xi16>
  %s = memref.subview %a[1] [2] [1] : memref<4xi16> to memref<2xi16, strided<[1], offset: 1>>
  %r = memref.load %s[%c1] : memref<2xi16, strided<[1], offset: 1>>
  memref.dealloc %a : memref<4xi16>
  return %r : i16
}

func.func @branches(%x: i8, %y: i8) -> i8 {
  %c = arith.cmpi slt, %x, %y : i8
  cf.cond_br %c, ^bb1(%x : i8), ^bb2
^bb1(%a: i8):
  %s = arith.addi %a, %y : i8
  return %s : i8
^bb2:
  %d = arith.subi %x, %y : i8
  cf.br ^bb1(%d : i8)
}

func.func @choice(%x: i16, %y: i16) -> i16 {
  %c = arith.cmpi ult, %x, %y : i16
  %r = scf.if %c -> (i16) {
    %a = arith.shli %x, %y : i16
    scf.yield %a : i16
  } else {
    %b = arith.divui %x, %y : i16
    scf.yield %b : i16
  }
  return %r : i16
}

func.func @integers(%x: i8, %y: i8) -> (i8, i1) {
  %c3 = arith.constant 3 : i8
  %a = arith.muli %x, %c3 : i8
  %b = arith.shrsi %a, %y : i8
  %c = arith.maxsi %b, %x : i8
  %d = arith.cmpi sge, %c, %y : i8
  return %c, %d : i8, i1
}

func.func @narrow_and_wide(%x: i8, %y: i16) -> i16 {
  %a = arith.extsi %x : i8 to i32
  %b = arith.extui %y : i16 to i32
  %c = arith.andi %a, %b : i32
  %d = arith.trunci %c : i32 to i16
  return %d : i16
}

func.func @floats(%x: f32, %y: f32, %z: f32) -> (f32, f16, i32) {
  %a = arith.mulf %x, %y : f32
  %b = arith.addf %a, %z : f32
  %c = arith.negf %b : f32
  %d = arith.minnumf %c, %x : f32
  %e = arith.truncf %d : f32 to f16
  %f = arith.fptosi %y : f32 to i32
  return %d, %e, %f : f32, f16, i32
}

func.func @conversions(%x: i32, %y: bf16) -> (f32, f32) {
  %a = arith.sitofp %x : i32 to f32
  %b = arith.extf %y : bf16 to f32
  %c = arith.divf %a, %b : f32
  %d = arith.cmpf une, %c, %a : f32
  %e = arith.select %d, %c, %b : f32
  return %c, %e : f32, f32
}

func.func @indices(%i: index, %x: i32) -> (index, i32) {
  %c4 = arith.constant 4 : index
  %a = arith.index_cast %x : i32 to index
  %b = arith.remui %i, %c4 : index
  %c = arith.addi %a, %b : index
  %d = arith.ceildivsi %c, %c4 : index
  %e = arith.index_castui %d : index to i32
  return %d, %e : index, i32
}

func.func @called(%x: i16) -> i16 {
  %a = call @helper(%x) : (i16) -> i16
  %b = call @helper(%a) : (i16) -> i16
  return %b : i16
}

func.func private @helper(%x: i16) -> i16 {
  %c1 = arith.constant 1 : i16
  %r = arith.addi %x, %c1 overflow<nsw> : i16
  return %r : i16
}
