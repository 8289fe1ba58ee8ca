func.func @f(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %w: !shape.witness, %v: !shape.value_shape, %t: tensor<?x3xf32>, %b: i1) {
  %0 = shape.const_shape [1, 2, 3] {a} : tensor<3xindex>
  return
}
// -----
func.func @f(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %w: !shape.witness, %v: !shape.value_shape, %t: tensor<?x3xf32>, %b: i1) {
  %0 = shape.const_shape {a} [1, 2, 3] : tensor<?xindex>
  return
}
// -----
func.func @f(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %w: !shape.witness, %v: !shape.value_shape, %t: tensor<?x3xf32>, %b: i1) {
  %0 = shape.const_shape [1, 2, 3] : tensor<2xindex>
  return
}
// -----
func.func @f(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %w: !shape.witness, %v: !shape.value_shape, %t: tensor<?x3xf32>, %b: i1) {
  %0 = shape.broadcast %s, %s, error = "x" : !shape.shape, !shape.shape -> !shape.shape
  return
}
// -----
func.func @f(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %w: !shape.witness, %v: !shape.value_shape, %t: tensor<?x3xf32>, %b: i1) {
  %0 = shape.broadcast %s, %s, error="x" : !shape.shape, !shape.shape -> !shape.shape
  return
}
// -----
func.func @f(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %w: !shape.witness, %v: !shape.value_shape, %t: tensor<?x3xf32>, %b: i1) {
  %0 = shape.min %z, %i : !shape.size, index -> !shape.size
  return
}
// -----
func.func @f(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %w: !shape.witness, %v: !shape.value_shape, %t: tensor<?x3xf32>, %b: i1) {
  %0 = shape.from_extents
  return
}
// -----
func.func @f(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %w: !shape.witness, %v: !shape.value_shape, %t: tensor<?x3xf32>, %b: i1) { %h, %0 = shape.split_at %s, %i : !shape.shape, index -> !shape.shape, !shape.shape
  return
}
// -----
func.func @f(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %w: !shape.witness, %v: !shape.value_shape, %t: tensor<?x3xf32>, %b: i1) { shape.assuming %w {x}
  return
}
// -----
func.func @f(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %w: !shape.witness, %v: !shape.value_shape, %t: tensor<?x3xf32>, %b: i1) {
  %0 = shape.debug_print %s : !shape.shape
  return
}
// -----
func.func @f(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %w: !shape.witness, %v: !shape.value_shape, %t: tensor<?x3xf32>, %b: i1) {
  %0 = shape.reduce(%s, %z, %i) : !shape.shape -> (!shape.size, index) { ^bb0(%a: index, %d: !shape.size, %c: !shape.size, %q: index): shape.yield %c, %q : !shape.size, index } {x}
  return
}
