func.func @f(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %w: !shape.witness, %v: !shape.value_shape, %t: tensor<?x3xf32>, %b: i1) {
  %r0 = shape.const_shape [1, 2, 3] : !shape.shape
  %r1 = shape.const_size 3
  %r2 = shape.const_size 3 {a}
  %r3 = shape.const_witness true
  %r4 = shape.broadcast %s, %s : !shape.shape, !shape.shape -> !shape.shape
  %r5 = shape.broadcast %s, %s {error = "x", b} : !shape.shape, !shape.shape -> !shape.shape
  %r6 = "shape.any"(%s, %e) : (!shape.shape, tensor<?xindex>) -> !shape.shape
  %r7 = shape.any %s, %e : !shape.shape, tensor<?xindex> -> !shape.shape
  %r8 = shape.meet %s, %s, error="q" : !shape.shape, !shape.shape -> !shape.shape
  %r9 = shape.add %z, %i : !shape.size, index -> !shape.size
  %r10 = shape.div %z, %z : !shape.size, !shape.size -> !shape.size
  %r11 = shape.mul %i, %i : index, index -> index
  %r12 = shape.max %s, %s : !shape.shape, !shape.shape -> !shape.shape
  %r13 = shape.rank %s : !shape.shape -> !shape.size
  %r14 = shape.num_elements %e : tensor<?xindex> -> index
  %r15 = shape.get_extent %s, %z : !shape.shape, !shape.size -> !shape.size
  %r16 = shape.get_extent %s, %i : !shape.shape, index -> !shape.size
  %r17 = shape.dim %t, %i : tensor<?x3xf32>, index -> index
  %r18 = shape.dim %t, %z : tensor<?x3xf32>, !shape.size -> !shape.size
  %r19 = shape.from_extents %z, %i : !shape.size, index
  %r20 = shape.from_extent_tensor %e : tensor<?xindex>
  %r21 = shape.to_extent_tensor %s : !shape.shape -> tensor<?xindex>
  %r22 = shape.size_to_index %z : !shape.size
  %r23 = shape.size_to_index %i : index
  %r24 = shape.index_to_size %i
  %r25 = shape.concat %s, %e : !shape.shape, tensor<?xindex> -> !shape.shape
  %h26, %r26 = "shape.split_at"(%s, %i) : (!shape.shape, index) -> (!shape.shape, !shape.shape)
  %r27 = shape.shape_eq %s, %e : !shape.shape, tensor<?xindex>
  %r28 = shape.is_broadcastable %s, %e : !shape.shape, tensor<?xindex>
  %r29 = shape.shape_of %t : tensor<?x3xf32> -> tensor<2xindex>
  %r30 = shape.shape_of %t {a} : tensor<?x3xf32> -> !shape.shape
  %r31 = shape.value_of %v : tensor<?xf32>
  %r32 = shape.with_shape %v, %s : !shape.value_shape, !shape.shape
  %r33 = shape.with_shape %t, %e : tensor<?x3xf32>, tensor<?xindex>
  %r34 = "shape.value_as_shape"(%e) : (tensor<?xindex>) -> !shape.shape
  %r35 = shape.value_as_shape %e : tensor<?xindex> -> !shape.shape
  %r36 = shape.cstr_broadcastable %s, %e : !shape.shape, tensor<?xindex>
  %r37 = shape.cstr_eq %s, %e : !shape.shape, tensor<?xindex>
  %r38 = shape.cstr_require %b, "msg"
  %r39 = shape.assuming_all %w, %w
  %r40 = shape.assuming %w -> index { shape.assuming_yield %i : index }
  shape.assuming %w { shape.assuming_yield }
  shape.assuming %w { }
  shape.assuming %w { "foo.bar"() : () -> () }
  %r44 = "shape.debug_print"(%s) : (!shape.shape) -> !shape.shape
  %r45 = shape.reduce(%s, %z) : !shape.shape -> !shape.size { ^bb0(%a: index, %d: !shape.size, %c: !shape.size): shape.yield %c : !shape.size }
  %r46 = shape.cstr_broadcastable %s, %e {a} : !shape.shape, tensor<?xindex>
  %r47 = "shape.cstr_eq"(%s) : (!shape.shape) -> !shape.witness
  %r48 = "shape.const_size"() {value = 3 : index} : () -> !shape.size
  return
}
