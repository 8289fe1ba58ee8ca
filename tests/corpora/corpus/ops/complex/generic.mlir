"builtin.module"() ({
  "func.func"() <{function_type = (f32, f64, complex<f32>, complex<f64>, i32, complex<i32>) -> (), sym_name = "f"}> ({
  ^bb0(%arg0: f32, %arg1: f64, %arg2: complex<f32>, %arg3: complex<f64>, %arg4: i32, %arg5: complex<i32>):
    %0 = "complex.constant"() <{value = [1 : i32, 2 : i32]}> {tag} : () -> complex<i32>
    %1 = "complex.bitcast"(%arg2) {tag} : (complex<f32>) -> f64
    %2 = "complex.bitcast"(%arg2) {tag} : (complex<f32>) -> complex<f32>
    %3 = "complex.powi"(%arg2, %arg4) {tag} : (complex<f32>, i32) -> complex<f32>
    %4 = "complex.abs"(%arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>) -> f32
    %5 = "complex.angle"(%arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>) -> f32
    %6 = "complex.conj"(%arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>) -> complex<f32>
    %7 = "complex.cos"(%arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>) -> complex<f32>
    %8 = "complex.exp"(%arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>) -> complex<f32>
    %9 = "complex.expm1"(%arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>) -> complex<f32>
    %10 = "complex.im"(%arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>) -> f32
    %11 = "complex.log"(%arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>) -> complex<f32>
    %12 = "complex.log1p"(%arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>) -> complex<f32>
    %13 = "complex.neg"(%arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>) -> complex<f32>
    %14 = "complex.re"(%arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>) -> f32
    %15 = "complex.rsqrt"(%arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>) -> complex<f32>
    %16 = "complex.sign"(%arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>) -> complex<f32>
    %17 = "complex.sin"(%arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>) -> complex<f32>
    %18 = "complex.sqrt"(%arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>) -> complex<f32>
    %19 = "complex.tan"(%arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>) -> complex<f32>
    %20 = "complex.tanh"(%arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>) -> complex<f32>
    %21 = "complex.atan2"(%arg2, %arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>, complex<f32>) -> complex<f32>
    %22 = "complex.add"(%arg2, %arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>, complex<f32>) -> complex<f32>
    %23 = "complex.div"(%arg2, %arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>, complex<f32>) -> complex<f32>
    %24 = "complex.mul"(%arg2, %arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>, complex<f32>) -> complex<f32>
    %25 = "complex.pow"(%arg2, %arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>, complex<f32>) -> complex<f32>
    %26 = "complex.sub"(%arg2, %arg2) <{fastmath = #arith.fastmath<nnan>}> {a} : (complex<f32>, complex<f32>) -> complex<f32>
    %27 = "complex.constant"() <{value = [0x7FC00000 : f32, -0.000000e+00 : f32]}> {b} : () -> complex<f32>
    %28 = "complex.constant"() <{value = [1 : i4, 2 : i4]}> {tag} : () -> complex<i4>
    %29 = "complex.powi"(%arg2, %arg4) <{fastmath = #arith.fastmath<fast>}> {a} : (complex<f32>, i32) -> complex<f32>
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
"builtin.module"() ({
  "func.func"() <{function_type = (f32, i32, tensor<2xcomplex<f32>>) -> (), sym_name = "f"}> ({
  ^bb0(%arg0: f32, %arg1: i32, %arg2: tensor<2xcomplex<f32>>):
    %0 = "complex.constant"() <{value = [1.000000e-01, -1.000000e+00]}> {tag} : () -> complex<f64>
    %1 = "complex.create"(%arg0, %arg0) {a} : (f32, f32) -> complex<f32>
    %2 = "complex.re"(%1) <{fastmath = #arith.fastmath<nnan>}> {tag} : (complex<f32>) -> f32
    %3 = "complex.abs"(%1) <{fastmath = #arith.fastmath<fast>}> {b} : (complex<f32>) -> f32
    %4 = "complex.add"(%1, %1) <{fastmath = #arith.fastmath<nnan,contract>}> {tag} : (complex<f32>, complex<f32>) -> complex<f32>
    %5 = "complex.eq"(%1, %1) {tag} : (complex<f32>, complex<f32>) -> i1
    %6 = "complex.angle"(%1) <{fastmath = #arith.fastmath<none>}> {tag} : (complex<f32>) -> f32
    %7 = "complex.conj"(%1) <{fastmath = #arith.fastmath<none>}> {tag} : (complex<f32>) -> complex<f32>
    %8 = "complex.powi"(%1, %arg1) <{fastmath = #arith.fastmath<nnan>}> {tag} : (complex<f32>, i32) -> complex<f32>
    %9 = "complex.bitcast"(%1) {tag} : (complex<f32>) -> i64
    %10 = "complex.atan2"(%1, %1) <{fastmath = #arith.fastmath<none>}> {tag} : (complex<f32>, complex<f32>) -> complex<f32>
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
"func.func"() <{function_type = (complex<f32>, complex<f64>) -> (), sym_name = "f"}> ({
^bb0(%a: complex<f32>, %b: complex<f64>):
  %0 = "complex.neq"(%a, %a) {tag} : (complex<f32>, complex<f32>) -> i1
  "func.return"() : () -> ()
}) : () -> ()
