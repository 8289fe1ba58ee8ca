"keep.dictionary"() {value = {}} : () -> ()
// -----
"keep.dictionary"() {value = {attr_name = "string attribute"}} : () -> ()
// -----
"keep.dictionary"() {value = {int_attr = 10, "string attr name" = "string attribute"}} : () -> ()
// -----
// Sorted by name when printed.
"keep.dictionary"() {value = {zebra = 1, apple = 2, "Mango" = 3, _x = 4, a.b = 5}} : () -> ()
// -----
// Units need no value.
"keep.dictionary"() {value = {set, also = unit, "quoted name"}} : () -> ()
// -----
// Nested.
"keep.dictionary"() {value = {outer = {inner = {}}, list = [{a = 1}, {}]}} : () -> ()
// -----
// Keywords as names.
"keep.dictionary"() {i32 = 1, true = 2, loc = 3, dense = 4, array = 5, f32 = i1, affine_map = 6, unit = 7} : () -> ()
// -----
// Names with dots, dollars and digits.
"keep.dictionary"() {a.b.c = 1, a$b = 2, a1 = 3, _0 = 4} : () -> ()
// -----
// Names that need quotes.
"keep.dictionary"() {"0" = 1, "a b" = 2, "a-b" = 3, "é" = 4, "\22" = 5} : () -> ()
// -----
// An empty dictionary on an operation disappears.
"keep.dictionary"() {} : () -> ()
// -----
// Names with brackets that only look like types.
"keep.dictionary"() {tensor = 1, vector = 2, memref = 3, tuple, none, index = 4} : () -> ()
