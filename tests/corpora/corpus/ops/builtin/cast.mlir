// From nothing.
%result = builtin.unrealized_conversion_cast to !bar.tuple_type<>
// -----
%operand = "keep.make"() : () -> !foo.type
%result1 = builtin.unrealized_conversion_cast %operand : !foo.type to !bar.lowered_type
// -----
// One to several.
%tuple = "keep.make"() : () -> !foo.tuple_type<!foo.type, !foo.type>
%results2:2 = builtin.unrealized_conversion_cast %tuple : !foo.tuple_type<!foo.type, !foo.type> to !foo.type, !foo.type
// -----
// Several to one.
%operand = "keep.make"() : () -> !foo.type
%result3 = builtin.unrealized_conversion_cast %operand, %operand : !foo.type, !foo.type to !bar.tuple_type<!foo.type, !foo.type>
// -----
// The dialect may be left out at the top level.
%a = unrealized_conversion_cast to i32
%b = unrealized_conversion_cast %a : i32 to index
// -----
// Attributes.
func.func @cast(%x: i64) -> index {
  %0 = builtin.unrealized_conversion_cast %x : i64 to index {keep.why = "lowering"}
  %1 = builtin.unrealized_conversion_cast to i1 {keep.a}
  return %0 : index
}
// -----
// Generic form, from nothing and to several.
func.func @cast(%x: i64) {
  %0 = "builtin.unrealized_conversion_cast"() : () -> f32
  %1:2 = "builtin.unrealized_conversion_cast"(%0, %x) {keep.a} : (f32, i64) -> (i8, i9)
  return
}
// -----
// There and back.
func.func @cast(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = builtin.unrealized_conversion_cast %x : tensor<4xf32> to vector<2xf32>, vector<2xf32>
  %1 = builtin.unrealized_conversion_cast %0#0, %0#1 : vector<2xf32>, vector<2xf32> to tensor<4xf32>
  return %1 : tensor<4xf32>
}
