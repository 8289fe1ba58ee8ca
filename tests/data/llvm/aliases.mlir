#alias_scope_domain = #llvm.alias_scope_domain<id = "domain", description = "of f">
#tbaa_root = #llvm.tbaa_root<id = "a language">
#tbaa_root1 = #llvm.tbaa_root
#alias_scope = #llvm.alias_scope<id = "scope", domain = #alias_scope_domain, description = "one">
#tbaa_type_desc = #llvm.tbaa_type_desc<id = "any", members = {<#tbaa_root, 0>}>
#tbaa_type_desc1 = #llvm.tbaa_type_desc<id = "other", members = {<#tbaa_root1, 0>}>
#tbaa_type_desc2 = #llvm.tbaa_type_desc<id = "pair", members = {<#tbaa_type_desc, 0>, <#tbaa_type_desc1, 8>}>
#tbaa_tag = #llvm.tbaa_tag<base_type = #tbaa_type_desc2, access_type = #tbaa_type_desc, offset = 0>
#tbaa_tag1 = #llvm.tbaa_tag<base_type = #tbaa_type_desc2, access_type = #tbaa_type_desc1, offset = 8, constant = true>
module {
  llvm.func @f(%arg0: !llvm.ptr, %arg1: f32) {
    llvm.store %arg1, %arg0 {alias_scopes = [#alias_scope], noalias_scopes = [#alias_scope], tbaa = [#tbaa_tag]} : f32, !llvm.ptr
    %0 = llvm.load %arg0 {noalias_scopes = [#alias_scope], tbaa = [#tbaa_tag1]} : !llvm.ptr -> f32
    llvm.return
  }
}

