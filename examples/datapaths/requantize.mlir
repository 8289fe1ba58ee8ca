// Requantisation: an accumulator of 32 bits, times a multiplier of 31 fraction bits, shifted to the right, to 8 bits. The
// shift rounds halves up. The zero point is added, and the result saturates.
func.func @requantize(%acc: i32, %multiplier: i32, %shift: i8) -> i8 {
  %one = arith.constant 1 : i64
  %zero_point = arith.constant -5 : i64
  %low = arith.constant -128 : i64
  %high = arith.constant 127 : i64
  %x = arith.extsi %acc : i32 to i64
  %m = arith.extsi %multiplier : i32 to i64
  %product = arith.muli %x, %m : i64
  %s = arith.extui %shift : i8 to i64
  %s1 = arith.subi %s, %one : i64
  %half = arith.shli %one, %s1 : i64
  %rounded = arith.addi %product, %half : i64
  %shifted = arith.shrsi %rounded, %s : i64
  %moved = arith.addi %shifted, %zero_point : i64
  %above = arith.maxsi %moved, %low : i64
  %within = arith.minsi %above, %high : i64
  %y = arith.trunci %within : i64 to i8
  return %y : i8
}
