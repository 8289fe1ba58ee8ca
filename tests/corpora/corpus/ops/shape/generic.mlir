"builtin.module"() ({
  "func.func"() <{function_type = (!shape.shape, tensor<?xindex>, !shape.size, index, !shape.witness, !shape.value_shape, tensor<?x3xf32>, i1) -> (), sym_name = "f"}> ({
  ^bb0(%arg0: !shape.shape, %arg1: tensor<?xindex>, %arg2: !shape.size, %arg3: index, %arg4: !shape.witness, %arg5: !shape.value_shape, %arg6: tensor<?x3xf32>, %arg7: i1):
    %0 = "shape.const_shape"() <{shape = dense<[1, 2, 3]> : tensor<3xindex>}> {tag} : () -> !shape.shape
    %1 = "shape.const_size"() <{value = 3 : index}> {tag} : () -> !shape.size
    %2 = "shape.const_size"() <{value = 3 : index}> {a} : () -> !shape.size
    %3 = "shape.const_witness"() <{passing = true}> {tag} : () -> !shape.witness
    %4 = "shape.broadcast"(%arg0, %arg0) {tag} : (!shape.shape, !shape.shape) -> !shape.shape
    %5 = "shape.broadcast"(%arg0, %arg0) <{error = "x"}> {b} : (!shape.shape, !shape.shape) -> !shape.shape
    %6 = "shape.any"(%arg0, %arg1) {tag} : (!shape.shape, tensor<?xindex>) -> !shape.shape
    %7 = "shape.any"(%arg0, %arg1) {tag} : (!shape.shape, tensor<?xindex>) -> !shape.shape
    %8 = "shape.meet"(%arg0, %arg0) <{error = "q"}> {tag} : (!shape.shape, !shape.shape) -> !shape.shape
    %9 = "shape.add"(%arg2, %arg3) {tag} : (!shape.size, index) -> !shape.size
    %10 = "shape.div"(%arg2, %arg2) {tag} : (!shape.size, !shape.size) -> !shape.size
    %11 = "shape.mul"(%arg3, %arg3) {tag} : (index, index) -> index
    %12 = "shape.max"(%arg0, %arg0) {tag} : (!shape.shape, !shape.shape) -> !shape.shape
    %13 = "shape.rank"(%arg0) {tag} : (!shape.shape) -> !shape.size
    %14 = "shape.num_elements"(%arg1) {tag} : (tensor<?xindex>) -> index
    %15 = "shape.get_extent"(%arg0, %arg2) {tag} : (!shape.shape, !shape.size) -> !shape.size
    %16 = "shape.get_extent"(%arg0, %arg3) {tag} : (!shape.shape, index) -> !shape.size
    %17 = "shape.dim"(%arg6, %arg3) {tag} : (tensor<?x3xf32>, index) -> index
    %18 = "shape.dim"(%arg6, %arg2) {tag} : (tensor<?x3xf32>, !shape.size) -> !shape.size
    %19 = "shape.from_extents"(%arg2, %arg3) {tag} : (!shape.size, index) -> !shape.shape
    %20 = "shape.from_extent_tensor"(%arg1) {tag} : (tensor<?xindex>) -> !shape.shape
    %21 = "shape.to_extent_tensor"(%arg0) {tag} : (!shape.shape) -> tensor<?xindex>
    %22 = "shape.size_to_index"(%arg2) {tag} : (!shape.size) -> index
    %23 = "shape.size_to_index"(%arg3) {tag} : (index) -> index
    %24 = "shape.index_to_size"(%arg3) {tag} : (index) -> !shape.size
    %25 = "shape.concat"(%arg0, %arg1) {tag} : (!shape.shape, tensor<?xindex>) -> !shape.shape
    %26:2 = "shape.split_at"(%arg0, %arg3) {tag} : (!shape.shape, index) -> (!shape.shape, !shape.shape)
    %27 = "shape.shape_eq"(%arg0, %arg1) {tag} : (!shape.shape, tensor<?xindex>) -> i1
    %28 = "shape.is_broadcastable"(%arg0, %arg1) {tag} : (!shape.shape, tensor<?xindex>) -> i1
    %29 = "shape.shape_of"(%arg6) {tag} : (tensor<?x3xf32>) -> tensor<2xindex>
    %30 = "shape.shape_of"(%arg6) {a} : (tensor<?x3xf32>) -> !shape.shape
    %31 = "shape.value_of"(%arg5) {tag} : (!shape.value_shape) -> tensor<?xf32>
    %32 = "shape.with_shape"(%arg5, %arg0) {tag} : (!shape.value_shape, !shape.shape) -> !shape.value_shape
    %33 = "shape.with_shape"(%arg6, %arg1) {tag} : (tensor<?x3xf32>, tensor<?xindex>) -> !shape.value_shape
    %34 = "shape.value_as_shape"(%arg1) {tag} : (tensor<?xindex>) -> !shape.shape
    %35 = "shape.value_as_shape"(%arg1) {tag} : (tensor<?xindex>) -> !shape.shape
    %36 = "shape.cstr_broadcastable"(%arg0, %arg1) {tag} : (!shape.shape, tensor<?xindex>) -> !shape.witness
    %37 = "shape.cstr_eq"(%arg0, %arg1) {tag} : (!shape.shape, tensor<?xindex>) -> !shape.witness
    %38 = "shape.cstr_require"(%arg7) <{msg = "msg"}> {tag} : (i1) -> !shape.witness
    %39 = "shape.assuming_all"(%arg4, %arg4) {tag} : (!shape.witness, !shape.witness) -> !shape.witness
    %40 = "shape.assuming"(%arg4) ({
      "shape.assuming_yield"(%arg3) {tag} : (index) -> ()
    }) : (!shape.witness) -> index
    "shape.assuming"(%arg4) ({
      "shape.assuming_yield"() : () -> ()
    }) : (!shape.witness) -> ()
    "shape.assuming"(%arg4) ({
      "shape.assuming_yield"() : () -> ()
    }) : (!shape.witness) -> ()
    "shape.assuming"(%arg4) ({
      "foo.bar"() : () -> ()
      "shape.assuming_yield"() : () -> ()
    }) : (!shape.witness) -> ()
    %41 = "shape.debug_print"(%arg0) {tag} : (!shape.shape) -> !shape.shape
    %42 = "shape.reduce"(%arg0, %arg2) ({
    ^bb0(%arg8: index, %arg9: !shape.size, %arg10: !shape.size):
      "shape.yield"(%arg10) {tag} : (!shape.size) -> ()
    }) : (!shape.shape, !shape.size) -> !shape.size
    %43 = "shape.cstr_broadcastable"(%arg0, %arg1) {a} : (!shape.shape, tensor<?xindex>) -> !shape.witness
    %44 = "shape.cstr_eq"(%arg0) {tag} : (!shape.shape) -> !shape.witness
    %45 = "shape.const_size"() <{value = 3 : index}> {tag} : () -> !shape.size
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
