#distinct = distinct[0]<42.0 : f32>
#distinct1 = distinct[1]<42.0 : f32>
#distinct2 = distinct[2]<array<i32: 10, 42>>
"keep.distinct"() {a = #distinct, b = #distinct1, c = #distinct2, d = #distinct} : () -> ()
// -----
// In place.
"keep.distinct"() {a = distinct[0]<"x">, b = distinct[1]<"x">, c = distinct[0]<"x">} : () -> ()
// -----
// Of the unit attribute.
"keep.distinct"() {a = distinct[0]<>, b = distinct[1]<>, c = distinct[2]<unit>} : () -> ()
// -----
// Numbered anew, in the order of printing.
"keep.distinct"() {a = distinct[17]<1 : i32>, b = distinct[5]<1 : i32>} : () -> ()
// -----
// One inside another.
"keep.distinct"() {value = distinct[1]<[distinct[0]<2 : i8>]>} : () -> ()
// -----
// In the metadata of a location.
"keep.distinct"() : () -> () loc(fused<distinct[0]<"scope">>["f":1:2])
// -----
// Shared by operations of several functions.
#scope = distinct[3]<i32>
func.func private @a() attributes {keep.scope = #scope}
func.func private @b() attributes {keep.scope = #scope}
// -----
// The largest number, and one in hexadecimal.
"keep.distinct"() {a = distinct[18446744073709551615]<1>, b = distinct[0x10]<1>, c = distinct[16]<1>} : () -> ()
