"keep.op"() {a = dense<1> : tensor<2x?xi32>} : () -> ()
// -----
"keep.op"() {a = dense<[1, 2]> : tensor<3xi32>} : () -> ()
// -----
"keep.op"() {a = dense<[[1, 2], [3]]> : tensor<2x2xi32>} : () -> ()
// -----
"keep.op"() {a = dense<[1, [2]]> : tensor<2x2xi32>} : () -> ()
// -----
"keep.op"() {a = dense<[1, 2, 3, 4]> : tensor<2x2xi32>} : () -> ()
// -----
"keep.op"() {a = dense<1.5> : tensor<2xi32>} : () -> ()
// -----
"keep.op"() {a = dense<1> : tensor<2xf32>} : () -> ()
// -----
"keep.op"() {a = dense<-0x1> : tensor<2xf32>} : () -> ()
// -----
"keep.op"() {a = dense<true> : tensor<2xi8>} : () -> ()
// -----
"keep.op"() {a = dense<"0x01020304"> : tensor<3xi8>} : () -> ()
// -----
"keep.op"() {a = dense<"0x0G"> : tensor<1xi8>} : () -> ()
// -----
"keep.op"() {a = dense<"0x0"> : tensor<1xi8>} : () -> ()
// -----
"keep.op"() {a = dense<"plain"> : tensor<2xi32>} : () -> ()
// -----
"keep.op"() {a = dense<(1, 2)> : tensor<2xf32>} : () -> ()
// -----
"keep.op"() {a = dense<1> : tensor<*xi8>} : () -> ()
// -----
"keep.op"() {a = dense<1> : i32} : () -> ()
// -----
"keep.op"() {a = dense<256> : tensor<2xi8>} : () -> ()
// -----
"keep.op"() {a = dense<-129> : tensor<2xi8>} : () -> ()
// -----
"keep.op"() {a = dense<-1> : tensor<1xui8>} : () -> ()
// -----
"keep.op"() {a = dense<0x1FFFF> : tensor<2xf16>} : () -> ()
// -----
"keep.op"() {a = dense<[1, 2> : tensor<2xi32>} : () -> ()
// -----
"keep.op"() {a = dense<1 : tensor<2xi32>} : () -> ()
// -----
"keep.op"() {a = dense<1>} : () -> ()
// -----
"keep.op"() {a = dense 1 : tensor<2xi32>} : () -> ()
// -----
"keep.op"() {a = dense<[]> : tensor<2xi8>} : () -> ()
// -----
"keep.op"() {a = dense<(1, 2, 3)> : tensor<1xcomplex<i8>>} : () -> ()
// -----
"keep.op"() {a = dense<(1.0)> : tensor<1xcomplex<f32>>} : () -> ()
// -----
"keep.op"() {a = sparse<[[0, 9]], [1]> : tensor<2x2xi32>} : () -> ()
// -----
"keep.op"() {a = sparse<[[0, 0]], [1, 2]> : tensor<2x2xi32>} : () -> ()
// -----
"keep.op"() {a = sparse<[[0]], [1]> : tensor<2x2xi32>} : () -> ()
// -----
"keep.op"() {a = sparse<1, 2> : i32} : () -> ()
// -----
"keep.op"() {a = array<i8: 256>} : () -> ()
// -----
"keep.op"() {a = array<i7: 1>} : () -> ()
// -----
"keep.op"() {a = array<!foo.bar: 1>} : () -> ()
// -----
"keep.op"() {a = array<f32: 1>} : () -> ()
// -----
"keep.op"() {a = array<i32: 1.0>} : () -> ()
// -----
"keep.op"() {a = array<i32 1>} : () -> ()
// -----
"keep.op"() {a = array<i1: 2>} : () -> ()
// -----
"keep.op"() {a = array<i32: >} : () -> ()
// -----
"keep.op"() {a = 300 : i8} : () -> ()
// -----
"keep.op"() {a = -129 : i8} : () -> ()
// -----
"keep.op"() {a = -1 : ui8} : () -> ()
// -----
"keep.op"() {a = 128 : si8} : () -> ()
// -----
"keep.op"() {a = 2 : i1} : () -> ()
// -----
"keep.op"() {a = 1 : i0} : () -> ()
// -----
"keep.op"() {a = 9223372036854775808 : index} : () -> ()
// -----
"keep.op"() {a = 1 : f32} : () -> ()
// -----
"keep.op"() {a = 1.0 : i32} : () -> ()
// -----
"keep.op"() {a = 1 : tensor<2xi32>} : () -> ()
// -----
"keep.op"() {a = 0x1FF : f8E4M3FN} : () -> ()
// -----
"keep.op"() {a = -0x1 : f32} : () -> ()
// -----
"keep.op"() {a = 1.0 : !foo.bar} : () -> ()
// -----
"keep.op"() {a = "unfinished} : () -> ()
// -----
"keep.op"() {a = "bad escape \q"} : () -> ()
// -----
"keep.op"() {a = @} : () -> ()
// -----
"keep.op"() {a = @a::b} : () -> ()
// -----
"keep.op"() {a = @a::} : () -> ()
// -----
"keep.op"() {a = affine_map<(d0) -> (d1)>} : () -> ()
// -----
"keep.op"() {a = affine_map<(d0) -> d0>} : () -> ()
// -----
"keep.op"() {a = affine_map<(d0, d1) -> (d0 * d1)>} : () -> ()
// -----
"keep.op"() {a = affine_map<(d0) -> (4 floordiv d0)>} : () -> ()
// -----
"keep.op"() {a = affine_map<(d0) -> (d0 mod d0)>} : () -> ()
// -----
"keep.op"() {a = affine_map<(d0, d0) -> (d0)>} : () -> ()
// -----
"keep.op"() {a = affine_map<(d0)[d0] -> (d0)>} : () -> ()
// -----
"keep.op"() {a = affine_map<(d0) -> (d0 +)>} : () -> ()
// -----
"keep.op"() {a = affine_map<(d0) -> (d0 + 1.5)>} : () -> ()
// -----
"keep.op"() {a = affine_map<(d0) -> (d0>} : () -> ()
// -----
"keep.op"() {a = affine_map<(d0 -> (d0)>} : () -> ()
// -----
"keep.op"() {a = affine_map<(d0) (d0)>} : () -> ()
// -----
"keep.op"() {a = affine_map<(d0) -> ((d0)>} : () -> ()
// -----
"keep.op"() {a = affine_map<(d0) -> (d0 d0)>} : () -> ()
// -----
"keep.op"() {a = affine_map<(1) -> (1)>} : () -> ()
// -----
"keep.op"() {a = affine_map<(d0) -> (99999999999999999999)>} : () -> ()
// -----
"keep.op"() {a = affine_set<(d0) : (d0)>} : () -> ()
// -----
"keep.op"() {a = affine_set<(d0) : (d0 > 0)>} : () -> ()
// -----
"keep.op"() {a = affine_set<(d0) : (d0 >= 0>} : () -> ()
// -----
"keep.op"() {a = affine_set<(d0) -> (d0 >= 0)>} : () -> ()
// -----
"keep.op"() {a = affine_set<(d0) : d0 >= 0>} : () -> ()
// -----
"keep.op"() {a = affine_map<(d0) : (d0 >= 0)>} : () -> ()
// -----
"keep.op"() {a = strided<[1, 2>} : () -> ()
// -----
"keep.op"() {a = strided<1>} : () -> ()
// -----
"keep.op"() {a = strided<[x]>} : () -> ()
// -----
"keep.op"() {a = strided<[1], offset>} : () -> ()
// -----
"keep.op"() {a = strided<[1], offset: x>} : () -> ()
// -----
"keep.op"() {a = strided<[1], stride: 2>} : () -> ()
// -----
"keep.op"() {a = strided<[1], offset: 1.0>} : () -> ()
// -----
"keep.op"() {a = distinct[0]} : () -> ()
// -----
"keep.op"() {a = distinct[x]<1>} : () -> ()
// -----
"keep.op"() {a = distinct<1>} : () -> ()
// -----
"keep.op"() {a = distinct[-1]<1>} : () -> ()
// -----
"keep.op"() {a = loc("f":1:)} : () -> ()
// -----
"keep.op"() {a = loc("f":-1:2)} : () -> ()
// -----
"keep.op"() {a = loc(callsite("a"))} : () -> ()
// -----
"keep.op"() {a = loc(callsite("a" at))} : () -> ()
// -----
"keep.op"() {a = loc(fused<>["a"])} : () -> ()
// -----
"keep.op"() {a = loc(fused["a")} : () -> ()
// -----
"keep.op"() {a = loc("a"("b")} : () -> ()
// -----
"keep.op"() {a = loc(1)} : () -> ()
// -----
"keep.op"() {a = loc(nothing)} : () -> ()
// -----
"keep.op"() {a = loc("f":1:2 to)} : () -> ()
// -----
"keep.op"() {a = loc("f":1:2 to 3)} : () -> ()
// -----
"keep.op"() {a = loc("f":99999999999:1)} : () -> ()
// -----
"keep.op"() {a = dense_resource<> : tensor<2xi8>} : () -> ()
// -----
"keep.op"() {a = dense_resource<a> : i8} : () -> ()
// -----
"keep.op"() {a = dense_resource<a>} : () -> ()
// -----
"keep.op"() {a = {a = 1, a = 2}} : () -> ()
// -----
"keep.op"() {a = {a = }} : () -> ()
// -----
"keep.op"() {a = {= 1}} : () -> ()
// -----
"keep.op"() {a = {1 = 2}} : () -> ()
// -----
"keep.op"() {a = {a b}} : () -> ()
// -----
"keep.op"() {a = [1, ]} : () -> ()
// -----
"keep.op"() {a = [1 2]} : () -> ()
// -----
"keep.op"() {a = [} : () -> ()
// -----
"keep.op"() {a = #undefined} : () -> ()
// -----
"keep.op"() {a = #foo.bar<} : () -> ()
// -----
"keep.op"() {a = #foo.bar<(>)} : () -> ()
// -----
"keep.op"() {a = #arith.fastmath} : () -> ()
// -----
"keep.op"() {a = #arith.fastmath<quick>} : () -> ()
// -----
"keep.op"() {a = #arith.nothing<1>} : () -> ()
// -----
"keep.op"() {a = #arith.overflow<nsw nuw>} : () -> ()
// -----
"keep.op"() {a = #builtin.thing} : () -> ()
// -----
"keep.op"() {a = unknown_word} : () -> ()
// -----
"keep.op"() {a = -} : () -> ()
// -----
"keep.op"() {a = - 1 : f32} : () -> ()
// -----
"keep.op"() {a = +1} : () -> ()
// -----
"keep.op"() {a = 0x : i32} : () -> ()
// -----
"keep.op"() {a = 1e5 : f32} : () -> ()
// -----
"keep.op"() {a = .5 : f32} : () -> ()
// -----
"keep.op"() {a = true : i1} : () -> ()
// -----
"keep.op"() {a = unit : i32} : () -> ()
// -----
"keep.here"() : () -> () loc("f":4294967296:1)
// -----
"keep.here"() : () -> () loc("f":1:4294967296)
// -----
"keep.here"() : () -> () loc("f":0x100000000:1)
// -----
"keep.here"() : () -> () loc("f":1:2 to 4294967296:3)
// -----
"keep.here"() : () -> () loc("f":1:2 to 3:4294967296)
// -----
"keep.here"() : () -> () loc("f":1:2 to :4294967296)
// -----
"keep.here"() : () -> () loc("f":1 to 2:3)
// -----
"keep.here"() {a = loc("f":1 to 2:3)} : () -> ()
// -----
"keep.here"() : () -> () loc(loc("a"))
// -----
"keep.here"() : () -> () loc("a" "b")
// -----
"keep.distinct"() {a = distinct[18446744073709551616]<1>} : () -> ()
// -----
"keep.distinct"() {a = distinct[0x10000000000000000
  ]<1>} : () -> ()
// -----
"keep.distinct"() {a = distinct[0]<1>, b =
  distinct[0]<2> } : () -> ()
// -----
#a = distinct[0]<@a>
#b = distinct[0]<[1, #a]>
