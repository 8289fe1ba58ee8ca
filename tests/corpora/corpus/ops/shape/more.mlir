func.func @f(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %w: !shape.witness) {
  %0 = shape.min %z, %z {tag} : !shape.size, !shape.size -> !shape.size
  %m = shape.min %s, %s : !shape.shape, !shape.shape -> !shape.shape
  %1 = "shape.min"(%z, %z) : (!shape.size, !shape.size) -> !shape.size
  %2 = shape.meet %e, %s : tensor<?xindex>, !shape.shape -> !shape.shape
  shape.assuming %w {
  } {tag}
  %9 = shape.reduce(%s, %z) : !shape.shape -> !shape.size {
  ^bb0(%i: index, %x: !shape.size, %y: !shape.size):
    shape.yield %x : !shape.size
  } {tag = 1 : i8}
  return
}
