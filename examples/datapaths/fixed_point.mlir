// A multiply-add in fixed point: 16 bits with 12 of them behind the point. The product has 24 bits behind the point. The unit
// adds the addend to it, rounds to 12 bits, to nearest with halves up, and saturates.
func.func @multiply_add(%a: i16, %b: i16, %c: i16) -> i16 {
  %half = arith.constant 2048 : i64
  %place = arith.constant 12 : i64
  %low = arith.constant -32768 : i64
  %high = arith.constant 32767 : i64
  %x = arith.extsi %a : i16 to i64
  %y = arith.extsi %b : i16 to i64
  %z = arith.extsi %c : i16 to i64
  %product = arith.muli %x, %y : i64
  %addend = arith.shli %z, %place : i64
  %sum = arith.addi %product, %addend : i64
  %more = arith.addi %sum, %half : i64
  %rounded = arith.shrsi %more, %place : i64
  %above = arith.maxsi %rounded, %low : i64
  %within = arith.minsi %above, %high : i64
  %d = arith.trunci %within : i64 to i16
  return %d : i16
}
