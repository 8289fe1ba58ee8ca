#access_group = #llvm.access_group<id = distinct[0]<>>
#access_group1 = #llvm.access_group<id = distinct[1]<>>
#loc = loc("a.c":1:2)
#loop_annotation = #llvm.loop_annotation<disableNonforced = false>
#loop_annotation1 = #llvm.loop_annotation<mustProgress = true>
#loop_annotation2 = #llvm.loop_annotation<>
#loop_interleave = #llvm.loop_interleave<count = 8 : i32>
#loop_licm = #llvm.loop_licm<disable = false, versioningDisable = true>
#loop_peeled = #llvm.loop_peeled<count = 8 : i32>
#loop_pipeline = #llvm.loop_pipeline<disable = false, initiationinterval = 1 : i32>
#loop_unroll = #llvm.loop_unroll<>
#loop_unswitch = #llvm.loop_unswitch<partialDisable = true>
#loop_vectorize = #llvm.loop_vectorize<disable = true>
#loc1 = loc(fused<"x">[#loc])
#loop_annotation3 = #llvm.loop_annotation<vectorize = #loop_vectorize, unroll = #loop_unroll>
#loop_distribute = #llvm.loop_distribute<disable = true, followupCoincident = #loop_annotation, followupSequential = #loop_annotation, followupFallback = #loop_annotation, followupAll = #loop_annotation>
#loop_unroll1 = #llvm.loop_unroll<disable = true, count = 4 : i32, runtimeDisable = false, full = true, followupUnrolled = #loop_annotation, followupRemainder = #loop_annotation, followupAll = #loop_annotation>
#loop_unroll_and_jam = #llvm.loop_unroll_and_jam<disable = false, count = 2 : i64, followupOuter = #loop_annotation, followupInner = #loop_annotation, followupRemainderOuter = #loop_annotation, followupRemainderInner = #loop_annotation, followupAll = #loop_annotation>
#loop_vectorize1 = #llvm.loop_vectorize<disable = false, predicateEnable = true, scalableEnable = false, width = 4 : i32, followupVectorized = #loop_annotation, followupEpilogue = #loop_annotation1, followupAll = #loop_annotation>
#loop_annotation4 = #llvm.loop_annotation<disableNonforced = true, vectorize = #loop_vectorize1, interleave = #loop_interleave, unroll = #loop_unroll1, unrollAndJam = #loop_unroll_and_jam, licm = #loop_licm, distribute = #loop_distribute, pipeline = #loop_pipeline, peeled = #loop_peeled, unswitch = #loop_unswitch, mustProgress = true, isVectorized = false, startLoc = #loc1, endLoc = #loc1, parallelAccesses = #access_group, #access_group1>
module {
  llvm.func @f() {
    llvm.br ^bb1 {loop_annotation = #loop_annotation4}
  ^bb1:  // pred: ^bb0
    llvm.br ^bb2 {loop_annotation = #loop_annotation2}
  ^bb2:  // pred: ^bb1
    llvm.br ^bb3 {loop_annotation = #loop_annotation3}
  ^bb3:  // pred: ^bb2
    llvm.return
  }
}

