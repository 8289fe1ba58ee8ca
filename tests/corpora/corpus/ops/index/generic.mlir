"builtin.module"() ({
  "func.func"() <{function_type = (index, index, i32, si32, vector<4xindex>, f32) -> (), sym_name = "f"}> ({
  ^bb0(%arg0: index, %arg1: index, %arg2: i32, %arg3: si32, %arg4: vector<4xindex>, %arg5: f32):
    %0 = "index.casts"(%arg0) {tag} : (index) -> si32
    %1 = "index.constant"() <{value = -9223372036854775808 : index}> {tag} : () -> index
    %2 = "index.bool.constant"() <{value = true}> {tag} : () -> i1
    %3 = "index.bool.constant"() <{value = false}> {a} : () -> i1
    %4 = "index.constant"() <{value = 3 : index}> {a} : () -> index
    %5 = "index.cmp"(%arg0, %arg1) <{pred = #index<cmp_predicate ult>}> {a} : (index, index) -> i1
    %6 = "index.sizeof"() {a} : () -> index
    %7 = "index.casts"(%arg3) {tag} : (si32) -> index
    %8 = "index.cmp"(%arg0, %arg1) <{pred = #index<cmp_predicate ult>}> {tag} : (index, index) -> i1
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
"builtin.module"() ({
  "func.func"() <{function_type = (index, index, i32) -> (), sym_name = "f"}> ({
  ^bb0(%arg0: index, %arg1: index, %arg2: i32):
    %0 = "index.add"(%arg0, %arg1) {x} : (index, index) -> index
    %1 = "index.cmp"(%arg0, %arg1) <{pred = #index<cmp_predicate ult>}> {tag} : (index, index) -> i1
    %2 = "index.constant"() <{value = -3 : index}> {tag} : () -> index
    %3 = "index.bool.constant"() <{value = true}> {tag} : () -> i1
    %4 = "index.sizeof"() {tag} : () -> index
    %5 = "index.casts"(%arg0) {tag} : (index) -> i32
    %6 = "index.castu"(%arg2) {tag} : (i32) -> index
    %7 = "index.ceildivs"(%arg0, %arg1) {tag} : (index, index) -> index
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
