func.func private @integers(i1, i2, i8, i16, i32, i64, i128, i1024)
// -----
func.func private @signed(si1, si8, si32, ui1, ui8, ui32, ui128)
// -----
// The widest integer type.
func.func private @widest(i16777215)
// -----
// Zero bits.
func.func private @nothing(i0) -> i0
// -----
func.func private @sizes(index, tensor<?xindex>, vector<2xindex>)
// -----
func.func private @pairs(complex<f32>, complex<i32>, complex<f8E4M3FN>, complex<f128>, tensor<2xcomplex<f64>>, complex<si8>)
// -----
func.func private @tuples(tuple<>, tuple<f32>, tuple<i32, f32, tensor<i1>, i5>, tuple<tuple<>, tuple<i1>>)
// -----
// More than sixteen parts get an alias.
func.func private @many(tuple<i1, i2, i3, i4, i5, i6, i7, i8, i9, i10, i11, i12, i13, i14, i15, i16, i17>)
// -----
// A long tuple inside another, used twice.
!long = tuple<i1, i2, i3, i4, i5, i6, i7, i8, i9, i10, i11, i12, i13, i14, i15, i16, i17, i18>
func.func private @many(tuple<!long, !long>, !long)
// -----
func.func @none_type() {
  %none_val = "foo.unknown_op"() : () -> none
  return
}
// -----
func.func private @functions(() -> (), (i32) -> i32, (i32, i32) -> (i32, i32)) -> ((i32) -> i32)
// -----
// Functions that return functions.
func.func private @curried() -> ((i32) -> ((i32) -> i32))
// -----
// A tensor of each kind of shape.
func.func private @tensors(tensor<?x?x?x?xf32>, tensor<?x?x13x?xf32>, tensor<17x4x13x4xf32>, tensor<f32>, tensor<0x42xf32>, tensor<0xf32>, tensor<*xf32>)
// -----
// Spaces around the dimensions.
func.func private @spaced(tensor<17 x 4 x f32>, tensor<? x ? x i8>, vector<2 x 3 x f32>, memref<4 x ? x i1>)
// -----
// Encodings of several kinds.
func.func private @encoded(tensor<?x?xf64, "rows">, tensor<2xi8, 1 : i32>, tensor<2xi8, {block = 4 : i8}>, tensor<2xf32, #foo.layout<x>>, tensor<4xi1, affine_map<(d0) -> (d0)>>, tensor<1xi1, @symbol>, tensor<1xi1, [1, 2]>)
// -----
// An encoding behind an alias.
#csr = "csr"
func.func private @encoded(tensor<?x?xf64, #csr>)
// -----
// Any type may be the element of a tensor.
func.func private @elements(tensor<2x!foo.bar>, tensor<2x!quant.uniform<i8:f32, 1.0>>, tensor<2xvector<4xf32>>, tensor<2xcomplex<i8>>, tensor<2xi0>)
// -----
func.func private @memrefs(memref<2xf32>, memref<?x4xi8>, memref<f32>, memref<0x1xf32>, memref<*xf32>, memref<*xf32, 10>)
// -----
// Layouts: strided and affine.
func.func private @layouts(memref<2x3xf32, strided<[1, 2]>>, memref<2x3xf32, affine_map<(d0, d1) -> (d1, d0)>>, memref<?xf32, strided<[?], offset: ?>>)
// -----
// The identity is no layout.
func.func private @identity(memref<2x3xf32, affine_map<(i, j) -> (i, j)>>, memref<?xi8, affine_map<(d0) -> (d0)>, 3>)
// -----
// Memory spaces of several kinds.
func.func private @spaces(memref<2xf32, 1>, memref<2xf32, 1 : i32>, memref<2xf32, "shared">, memref<2xf32, {bank = 2 : i8}>, memref<2xf32, 0>)
// -----
// A layout and a memory space.
func.func private @both(memref<4x4xf32, strided<[8, 1], offset: 2>, 3>, memref<4x4xf32, affine_map<(d0, d1) -> (d0 floordiv 2, d1, d0 mod 2)>, "vmem">)
// -----
// A layout with symbols.
#tiled = affine_map<(d0, d1)[s0, s1] -> (d0 floordiv s0, d1 floordiv s1, d0 mod s0, d1 mod s1)>
func.func private @dynamic(memref<?x?xf32, #tiled>)
// -----
// Buffers of vectors, of indices, of buffers.
func.func private @nested(memref<4xvector<4xf32>>, memref<2xindex>, memref<2xmemref<4xf32>>, memref<2xcomplex<f32>>)
// -----
func.func private @vectors(vector<3x42xi32>, vector<[4]xf32>, vector<[2]x[8]xf32>, vector<4x[4]xf32>, vector<2x[4]x8xf32>, vector<f32>, vector<1xindex>)
// -----
// Opaque and unregistered types.
func.func private @foreign(!foo.bar, !foo.bar<a, b>, !foo<"text">, !foo.bar<[1, {x = "y"}], (z) -> w>, !foo.a.b.c)
// -----
// An alias of a type within others.
!element = f8E5M2
!matrix = tensor<4x4x!element>
func.func private @aliased(!matrix, tuple<!matrix, !element>) -> !matrix
// -----
// Types in the results of generic operations.
%0:3 = "keep.make"() : () -> (i32, tensor<*xf32>, () -> ())
"keep.take"(%0#0, %0#1, %0#2) : (i32, tensor<*xf32>, () -> ()) -> ()
// -----
// The type of a function that takes and returns nothing.
%0 = "keep.make"() : () -> (() -> ())
// -----
// The opaque type of the builtin dialect's document is spelled with its dialect.
func.func private @opaque(!llvm_like<"struct<(i32, float)>">, !pdl_like<"value">)
// -----
// Deep nesting.
func.func private @deep(tuple<tuple<tuple<tuple<tuple<tuple<tuple<tuple<i1>>>>>>>>)
// -----
// A dimension of zero before types whose names begin with hexadecimal digits.
func.func private @zero(tensor<0xf4E2M1FN, "e">, tensor<2x0xf8E4M3FN, "e">, tensor<0xbf16, "e">, memref<0xf8E5M2, 1>, tensor<0xcomplex<f32>>)
// -----
// Memory spaces: integers of every type, strings, dictionaries, by an alias; zero is none.
#space = "near"
#number = 3 : i32
"keep.space"() {a = memref<4xf32, 3>, b = memref<4xf32, 3 : i32>, c = memref<4xf32, -1>, d = memref<*xf32, 1 : index>, e = memref<4xf32, true>} : () -> ()
"keep.space"() {a = memref<4xf32, "x">, b = memref<4xf32, "">, c = memref<*xf32, {a = 1}>, d = memref<4xf32, {}>} : () -> ()
"keep.space"() {a = memref<4xf32, #space>, b = memref<4xf32, #number>, c = memref<4xf32, strided<[2]>, #space>} : () -> ()
"keep.space"() {a = memref<4xf32, 0>, b = memref<4xf32, 0 : i8>, c = memref<*xf32, false>} : () -> ()

// -----

// Brackets after a word that are not one pair: the type keeps its own around them.
func.func private @opaque(!llvm_like<dense<"struct<(i32, float)>"> : tensor<2xi8>>, !llvm_like<a<b> c<d>>, !llvm_like<a<b<c>>>)
