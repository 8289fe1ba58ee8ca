"keep.opaque"() {value = #dialect<"opaque attribute data">} : () -> ()
// -----
// With a mnemonic, and one with a body.
"keep.opaque"() {a = #foo.bar, b = #foo.bar<1, 2>, c = #foo.bar<>} : () -> ()
// -----
// Brackets of every kind balance inside.
"keep.opaque"() {value = #foo.bar<(a, [b, {c = <d>}]) -> "e > f">} : () -> ()
// -----
// With a type.
"keep.opaque"() {a = #foo<"x"> : i32, b = #foo.bar<y> : tensor<2xf32>} : () -> ()
// -----
// Inside arrays and dictionaries.
"keep.opaque"() {value = [#foo.a, {b = #foo.b<[1]>}]} : () -> ()
// -----
// Behind an alias.
#mine = #foo.bar<"x">
"keep.opaque"() {value = #mine} : () -> ()
// -----
// The longer spelling of a mnemonic.
"keep.opaque"() {value = #foo<bar<1, 2>>} : () -> ()
// -----
// Arrows and operators inside.
"keep.opaque"() {value = #foo.map<d0 -> d0 + 1 * 2 - 3>} : () -> ()
