memref.global @m : memref<?xf32>

// -----

memref.global constant @m : memref<2xf32> = "text"

// -----

"memref.global"() <{initial_value = dense<1.0> : tensor<3xf32>, sym_name = "m", type = memref<2xf32>}> : () -> ()

// -----

func.func @f() {
  %0 = memref.get_global @missing : memref<2xf32>
  return
}

// -----

func.func @f(%m: memref<2xf32>) {
  %0 = memref.reinterpret_cast %m to offset: [0], sizes: [2], strides: [2] : memref<2xf32> to memref<2xf32>
  return
}

// -----

func.func @f(%m: memref<6xf32>) {
  %0 = memref.expand_shape %m [[0, 1]] output_shape [2, 4] : memref<6xf32> into memref<2x4xf32>
  return
}

// -----

func.func @f(%m: memref<2x3xf32, strided<[4, 1]>>) {
  %0 = memref.collapse_shape %m [[0, 1]] : memref<2x3xf32, strided<[4, 1]>> into memref<6xf32>
  return
}

// -----

func.func @f(%m: memref<2xi32>, %i: index, %v: i32) {
  %0 = memref.atomic_rmw addf %v, %m[%i] : (i32, memref<2xi32>) -> i32
  return
}

// -----

func.func @f(%m: memref<2xf32>, %i: index) {
  %0 = memref.generic_atomic_rmw %m[%i] : memref<2xf32> {
  ^bb0(%old: f32):
    memref.store %old, %m[%i] : memref<2xf32>
    memref.atomic_yield %old : f32
  }
  return
}

// -----

func.func @f(%m: memref<2xf32>, %i: index) {
  memref.prefetch %m[%i], both, locality<0>, data : memref<2xf32>
  return
}

// -----

func.func @f(%m: memref<16xi8>, %i: index) {
  %0 = memref.view %m[%i][] : memref<16xi8> to memref<?xf32>
  return
}

// -----

func.func @f(%m: memref<2x3xf32>) {
  %0 = memref.subview %m[0, 0] [2, 4] [1, 1] : memref<2x3xf32> to memref<2x4xf32, strided<[3, 1]>>
  return
}
// -----
// A part without elements that begins outside.
func.func @f(%arg1 : memref<3x3xi8>) {
  %0 = memref.subview %arg1[3, 0] [0, 2] [1, 1] : memref<3x3xi8> to memref<0x2xi8, strided<[3, 1], offset: 9>>
  return
}
// -----
func.func @f(%a : memref<0xi8>) { %0 = memref.subview %a[0] [0] [1] : memref<0xi8> to memref<0xi8>
  return }
