func.func @empty(%n: index) {
  %0 = tensor.empty() : tensor<4xf32>
  %1 = tensor.empty(%n) : tensor<?x2xi8>
  %2 = tensor.empty(%n, %n) : tensor<?x3x?xf8E4M3FN>
  %3 = tensor.empty() : tensor<f32>
  return
}
// -----
// Attributes, an encoding, generic form.
func.func @empty(%n: index) {
  %0 = tensor.empty() {keep.a} : tensor<4xf32, "enc">
  %1 = "tensor.empty"(%n) : (index) -> tensor<?xi1>
  %2 = tensor.empty() : tensor<0xindex>
  return
}
// -----
func.func @splat(%x: f32, %i: index) {
  %0 = tensor.splat %x : tensor<4xf32>
  %1 = tensor.splat %i : tensor<2x2xindex>
  %2 = tensor.splat %x : tensor<f32>
  return
}
// -----
func.func @splat(%x: f32, %n: index) {
  %0 = tensor.splat %x[%n] : tensor<?xf32>
  %1 = tensor.splat %x[%n, %n] {keep.a} : tensor<?x4x?xf32>
  %2 = tensor.splat %x {keep.b} : tensor<1xf32>
  return
}
// -----
// Splats in generic form.
func.func @splat(%x: i8, %n: index) -> tensor<?xi8> {
  %0 = "tensor.splat"(%x, %n) : (i8, index) -> tensor<?xi8>
  %1 = "tensor.splat"(%x) : (i8) -> tensor<2xi8>
  return %0 : tensor<?xi8>
}
// -----
func.func @from_elements(%a: f32, %b: f32) {
  %0 = tensor.from_elements %a, %b : tensor<2xf32>
  %1 = tensor.from_elements %a, %b, %b, %a : tensor<2x2xf32>
  %2 = tensor.from_elements %a : tensor<f32>
  %3 = tensor.from_elements %a : tensor<1x1xf32>
  return
}
// -----
// No elements; attributes; generic form.
func.func @from_elements(%a: i8) {
  %0 = tensor.from_elements : tensor<0xi8>
  %1 = tensor.from_elements %a, %a {keep.a} : tensor<2xi8>
  %2 = "tensor.from_elements"(%a, %a) : (i8, i8) -> tensor<1x2xi8>
  return
}
// -----
func.func @extract(%t: tensor<4x?xf32>, %i: index, %s: tensor<i8>) -> (f32, i8) {
  %0 = tensor.extract %t[%i, %i] : tensor<4x?xf32>
  %1 = tensor.extract %s[] : tensor<i8>
  return %0, %1 : f32, i8
}
// -----
// Attributes and generic form.
func.func @extract(%t: tensor<4xindex>, %i: index) {
  %0 = tensor.extract %t[%i] {keep.a} : tensor<4xindex>
  %1 = "tensor.extract"(%t, %0) : (tensor<4xindex>, index) -> index
  return
}
// -----
func.func @insert(%x: f32, %t: tensor<?x4xf32>, %i: index, %s: tensor<f32>) -> tensor<?x4xf32> {
  %0 = tensor.insert %x into %t[%i, %i] : tensor<?x4xf32>
  %1 = tensor.insert %x into %s[] : tensor<f32>
  %2 = tensor.insert %x into %0[%i, %i] {keep.a} : tensor<?x4xf32>
  return %2 : tensor<?x4xf32>
}
// -----
func.func @insert(%x: i1, %t: tensor<3xi1>, %i: index) -> tensor<3xi1> {
  %0 = "tensor.insert"(%x, %t, %i) : (i1, tensor<3xi1>, index) -> tensor<3xi1>
  return %0 : tensor<3xi1>
}
// -----
func.func @dim(%t: tensor<4x?xf32>, %u: tensor<*xi8>, %i: index) -> index {
  %c1 = arith.constant 1 : index
  %0 = tensor.dim %t, %c1 : tensor<4x?xf32>
  %1 = tensor.dim %u, %i : tensor<*xi8>
  %2 = tensor.dim {keep.a} %t, %i : tensor<4x?xf32>
  %3 = "tensor.dim"(%t, %2) : (tensor<4x?xf32>, index) -> index
  return %3 : index
}
// -----
func.func @cast(%a: tensor<4xf32>, %b: tensor<*xf32>, %c: tensor<?x?xi8>) {
  %0 = tensor.cast %a : tensor<4xf32> to tensor<?xf32>
  %1 = tensor.cast %0 : tensor<?xf32> to tensor<4xf32>
  %2 = tensor.cast %b : tensor<*xf32> to tensor<?x2xf32>
  %3 = tensor.cast %c : tensor<?x?xi8> to tensor<*xi8>
  %4 = tensor.cast %c {keep.a} : tensor<?x?xi8> to tensor<3x?xi8>
  %5 = "tensor.cast"(%c) : (tensor<?x?xi8>) -> tensor<?x4xi8>
  return
}
// -----
// A cast to the same type.
func.func @cast(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensor.cast %a : tensor<4xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
// Tensors of other things than numbers.
func.func @elements(%x: !foo.bar, %i: index) -> !foo.bar {
  %0 = tensor.from_elements %x, %x : tensor<2x!foo.bar>
  %1 = tensor.insert %x into %0[%i] : tensor<2x!foo.bar>
  %2 = tensor.extract %1[%i] : tensor<2x!foo.bar>
  return %2 : !foo.bar
}
// -----
// Suggested names are made unique.
func.func @names(%x: f32, %i: index) -> f32 {
  %a = tensor.splat %x : tensor<2xf32>
  %b = tensor.splat %x : tensor<2xf32>
  %c = tensor.insert %x into %a[%i] : tensor<2xf32>
  %d = tensor.extract %c[%i] : tensor<2xf32>
  %e = tensor.extract %b[%i] : tensor<2xf32>
  %f = tensor.dim %b, %i : tensor<2xf32>
  %g = tensor.cast %b : tensor<2xf32> to tensor<?xf32>
  return %e : f32
}
// -----
// A loop over the elements of a tensor.
func.func @sum(%t: tensor<?xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %t, %c0 : tensor<?xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) {
    %x = tensor.extract %t[%i] : tensor<?xf32>
    %s = arith.addf %acc, %x : f32
    scf.yield %s : f32
  }
  return %sum : f32
}
// -----
// An index as the scalar of a splat with dynamic sizes.
func.func @splat(%n: index) -> tensor<?xindex> {
  %0 = tensor.splat %n[%n] : tensor<?xindex>
  return %0 : tensor<?xindex>
}
// -----
// Complex and wide elements.
func.func @wide(%a: complex<f32>, %b: i1024, %i: index) {
  %0 = tensor.from_elements %a, %a : tensor<2xcomplex<f32>>
  %1 = tensor.from_elements %b : tensor<1xi1024>
  %2 = tensor.extract %0[%i] : tensor<2xcomplex<f32>>
  return
}
