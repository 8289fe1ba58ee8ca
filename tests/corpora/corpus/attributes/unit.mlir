// A unit attribute with its value written.
func.func private @verbose_form() attributes {dialectName.unitAttr = unit}
// -----
func.func private @simple_form() attributes {dialectName.unitAttr}
// -----
"keep.unit"() {a, b = unit, c = [unit, unit]} : () -> ()
// -----
func.func private @argument(i32 {keep.self}, f32) -> (i1 {keep.flag = unit})
