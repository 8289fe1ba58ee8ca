// Computes the number of workgroups of the function @matmul from its workload:
//
//   halfulp iree workgroups examples/dispatch.mlir --input=1000 --input=4096 --input=64

func.func @matmul() {
  return
}

iree_codegen.dispatch_config @matmul workgroup_size = [64, 16, 1] subgroup_size = 64 {
^bb0(%m: index, %n: index, %k: index):
  %x = affine.apply affine_map<()[s0] -> (s0 ceildiv 256)>()[%n]
  %y = affine.apply affine_map<()[s0] -> (s0 ceildiv 128)>()[%m]
  %one = arith.constant 1 : index
  iree_codegen.yield %x, %y, %one : index, index, index
}
